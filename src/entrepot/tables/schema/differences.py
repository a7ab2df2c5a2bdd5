"""Differences between the lock and the models, classified by seed 000's migration guidelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Verdict = Literal["safe", "migration", "impossible"]


class Difference(NamedTuple):
    """One difference, and what it takes."""

    verdict: Verdict
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.where}: {self.what}"


def compare(locked: Mapping[str, Any], declared: Mapping[str, Any]) -> list[Difference]:
    """Every difference, the gravest first."""
    found = list(_tables(locked, declared))
    order = {"impossible": 0, "migration": 1, "safe": 2}
    return sorted(
        found, key=lambda difference: (order[difference.verdict], difference.where, difference.what)
    )


def _tables(locked: Mapping[str, Any], declared: Mapping[str, Any]) -> Iterator[Difference]:
    for name in declared.keys() - locked.keys():
        yield Difference("safe", name, "a new table")
    for name in locked.keys() - declared.keys():
        yield Difference("migration", name, "the table is gone; its data stays behind")
    for name in locked.keys() & declared.keys():
        old, new = locked[name], declared[name]
        if old["keys"] != new["keys"]:
            yield Difference("impossible", name, f"keys {old['keys']} became {new['keys']}")
        yield from _options(name, old, new)
        yield from _indexes(name, old, new)
        yield from _entities(name, old.get("entities", {}), new.get("entities", {}))
        yield from _patterns(name, old.get("patterns", {}), new.get("patterns", {}))


def _options(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = old.get("ttl"), new.get("ttl")
    if before != after:
        verdict: Verdict = "safe" if before is None else "migration"
        yield Difference(verdict, name, f"TTL attribute {before} became {after}")
    for option in ("pitr", "stream"):
        if old.get(option) != new.get(option):
            yield Difference("safe", name, f"{option} {old.get(option)} became {new.get(option)}")
    before, after = old.get("type_attribute"), new.get("type_attribute")
    if before != after:
        yield Difference("migration", name, f"type attribute {before} became {after}: items must be marked")


def _indexes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = old.get("indexes", {}), new.get("indexes", {})
    for index in after.keys() - before.keys():
        yield Difference("safe", f"{name}/{index}", "a new index, backfilled by DynamoDB")
    for index in before.keys() - after.keys():
        # A pattern that used it would not have loaded.
        yield Difference("safe", f"{name}/{index}", "the index is gone, and no pattern uses it")
    for index in before.keys() & after.keys():
        where = f"{name}/{index}"
        if before[index]["keys"] != after[index]["keys"]:
            keys = f"keys {before[index]['keys']} became {after[index]['keys']}"
            yield Difference("impossible", where, f"{keys}; make an index of another name")
        if before[index]["project"] != after[index]["project"]:
            change = f"projection {before[index]['project']} became {after[index]['project']}"
            yield Difference("migration", where, f"{change}: the index must be made again")


def _entities(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for entity in new.keys() - old.keys():
        yield Difference("safe", f"{name}.{entity}", "a new entity")
    for entity in old.keys() - new.keys():
        yield Difference("migration", f"{name}.{entity}", "the entity is gone; its items stay behind")
    for entity in old.keys() & new.keys():
        where = f"{name}.{entity}"
        yield from _templates(where, old[entity].get("keys", {}), new[entity].get("keys", {}))
        yield from _attributes(where, old[entity].get("attributes", {}), new[entity].get("attributes", {}))
        yield from _guards(where, old[entity].get("unique", []), new[entity].get("unique", []))
        before, after = old[entity].get("version"), new[entity].get("version")
        if before != after:
            yield Difference("migration", where, f"version attribute {before} became {after}")


def _templates(where: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    for key in old.keys() & new.keys():
        if old[key] != new[key]:
            yield Difference("impossible", where, f"{key} {old[key]!r} became {new[key]!r}")
    for key in new.keys() - old.keys():
        yield Difference("migration", where, f"{key} is new: items that exist are not in its index")
    for key in old.keys() - new.keys():
        yield Difference("migration", where, f"{key} is gone: new items are not in its index")


def _guards(where: str, old: list[str], new: list[str]) -> Iterator[Difference]:
    for guard in set(new) - set(old):
        yield Difference("migration", where, f"the guard {guard} is new: items that exist have none")
    for guard in set(old) - set(new):
        yield Difference("migration", where, f"the guard {guard} is gone: its items stay behind")


def _attributes(where: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    for name in new.keys() - old.keys():
        if _split(new[name])[1]:
            yield Difference("safe", f"{where}.{name}", "a new optional attribute")
        else:
            yield Difference("migration", f"{where}.{name}", "a new attribute that items must have")
    for name in old.keys() - new.keys():
        yield Difference("migration", f"{where}.{name}", "the attribute is gone; its values stay behind")
    for name in old.keys() & new.keys():
        if old[name] != new[name]:
            yield _attribute(f"{where}.{name}", old[name], new[name])


def _attribute(where: str, old: str, new: str) -> Difference:
    old_kind, old_optional, old_values = _split(old)
    new_kind, new_optional, new_values = _split(new)
    change = f"{old} became {new}"
    if old_kind != new_kind:
        return Difference("migration", where, f"{change}: another type")
    if old_optional and not new_optional:
        return Difference("migration", where, f"{change}: items may lack it")
    if new_values and not (old_values and old_values <= new_values):
        return Difference("migration", where, f"{change}: items may have other values")
    return Difference("safe", where, change)


def _split(described: str) -> tuple[str, bool, set[str]]:
    kind, _, values = described.partition(" = ")
    return kind.rstrip("?"), kind.endswith("?"), set(values.split("|")) if values else set()


def _patterns(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    for pattern in old.keys() | new.keys():
        before, after = old.get(pattern), new.get(pattern)
        if before != after:
            what = (
                "a new pattern"
                if before is None
                else "the pattern is gone"
                if after is None
                else f"now {after}"
            )
            yield Difference("safe", f"{name} {pattern}", what)
