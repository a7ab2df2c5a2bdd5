"""Updates: changes of one item, with every index key that depends on them derived in the same write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from entrepot.engine.values import Item as NativeItem
from entrepot.tables.errors import DeclarationError, InvalidValue, StaleKey
from entrepot.tables.expressions import (
    Argument,
    Change,
    Condition,
    Expressions,
    arguments_of,
    attributes_of,
)
from entrepot.tables.keys import TemplateError
from entrepot.tables.model import Model
from entrepot.tables.overlap import align
from entrepot.tables.patterns import Builder

if TYPE_CHECKING:
    from entrepot.tables.database import Database

E = TypeVar("E")

Source = tuple[str, Any]


class UpdateSpec:
    """What `update` or `upsert` was given."""

    __slots__ = ("changes", "keys", "upsert", "when")

    def __init__(
        self, keys: Mapping[str, Any], changes: Sequence[Change], when: Condition | None, *, upsert: bool
    ) -> None:
        self.keys = dict(keys)
        self.changes = tuple(changes)
        self.when = when
        self.upsert = upsert


class Update(Generic[E]):
    """A declared update with its arguments: `await` it, or put it into a transaction."""

    __slots__ = ("db", "plan", "values")

    def __init__(self, db: Database, plan: UpdatePlan, values: dict[str, Any]) -> None:
        self.db = db
        self.plan = plan
        self.values = values

    def __await__(self) -> Generator[Any, None, E]:
        return self.db.run_update(self).__await__()


class UpdatePlan:
    """An update of one entity, compiled: texts, names, and where each value comes from."""

    def __init__(
        self,
        model: Model[Any],
        changes: Sequence[Change],
        when: Condition | None,
        *,
        upsert: bool,
        known: Mapping[str, Source],
    ) -> None:
        self.model = model
        self.changes = tuple(changes)
        self.when = when
        self.upsert = upsert
        self.known = dict(known)
        self.name = f"update of {model.name}"
        self.doc = ""
        self.keys: list[Builder] = []
        self.arguments: dict[str, Any] = {}
        self.repeatable = all(change.action in ("set", "remove") for change in changes) and not model.version
        self._derived: list[tuple[str, Callable[[Mapping[str, Any]], Any]]] = []
        self._expressions = Expressions(model.encode_value)
        self._check(changes)
        self._sources = self._sources_of(changes)
        self.update_text = self._update_text()
        self.condition_text = self._condition_text()

    @classmethod
    def declare(
        cls,
        name: str,
        spec: UpdateSpec,
        model: Model[Any],
        arguments: Mapping[str, Any],
        *,
        doc: str,
        file: str,
        line: int,
    ) -> UpdatePlan:
        """The plan of an access method."""
        texts = spec.keys or {key: model.templates[key].text for key in model.table.key_names}
        if set(texts) != set(model.table.key_names):
            raise TemplateError(f"an update names the keys {' '.join(model.table.key_names)}")
        keys = [
            Builder(
                key,
                align(
                    str(texts[key]),
                    model.templates[key],
                    dict(arguments),
                    delimiter=model.table.delimiter,
                    whole=True,
                ),
            )
            for key in model.table.key_names
        ]
        known = {
            part[1].name: ("argument", part[0])
            for builder in keys
            for part in builder.template.parts
            if not isinstance(part, str)
        }
        plan = cls(model, spec.changes, spec.when, upsert=spec.upsert, known=known)
        plan.name, plan.keys, plan.doc = name, keys, inspect.cleandoc(doc)
        plan.arguments = dict(arguments)
        used = {source[1] for source in known.values()}
        used |= {change.value.name for change in spec.changes if isinstance(change.value, Argument)}
        used |= arguments_of(spec.when) if spec.when is not None else set()
        for argument in arguments:
            if argument not in used:
                raise TemplateError(f"the argument {argument!r} is not used")
        return plan

    # -- what may be changed

    def _check(self, changes: Sequence[Change]) -> None:
        model = self.model
        if not changes:
            raise TemplateError("an update changes something")
        seen: set[str] = set()
        for change in changes:
            name = change.path.name
            if name not in model.fields:
                raise TemplateError(f"{name!r} is no attribute of {model.name}")
            if name in model.key_fields:
                raise self._stale(f"{name!r} is part of the key of {model.name} and can't change")
            if name == model.version:
                raise TemplateError(f"{name!r} counts the writes of {model.name}; the library sets it")
            if any(name in guard.fields for guard in model.guards):
                raise self._stale(f"{name!r} has a guard item; change it with edit()")
            if model.guards and name == model.table.ttl:
                raise self._stale(f"the guards of {model.name} share {name!r}; change it with edit()")
            if name in seen and not change.path.steps:
                raise TemplateError(f"{name!r} is changed twice")
            seen.add(name)
            self._check_action(change)
        if self.when is not None:
            for name in attributes_of(self.when):
                if name not in model.fields:
                    raise TemplateError(f"the condition names {name!r}, which {model.name} does not have")
        if self.upsert:
            self._check_complete(seen)

    def _check_action(self, change: Change) -> None:
        field = self.model.fields[change.path.name]
        if change.path.steps:
            return
        if change.action == "remove" and field.required and not field.optional:
            raise TemplateError(f"{field.name!r} is required and can't be removed")
        if change.action == "add" and field.kind not in ("N", "SS", "NS", "BS", "*"):
            raise TemplateError(f"{field.name!r} is no number and no set; nothing can be added to it")
        if change.action == "discard" and field.kind not in ("SS", "NS", "BS"):
            raise TemplateError(f"{field.name!r} is no set")

    def _check_complete(self, changed: set[str]) -> None:
        if self.model.guards:
            raise self._stale(f"{self.model.name} has guards: create() it")
        for name, field in self.model.fields.items():
            if (
                field.required
                and name not in changed
                and name not in self.known
                and name != self.model.version
            ):
                raise TemplateError(f"an upsert of {self.model.name} must set {name!r}")

    def _stale(self, message: str) -> StaleKey:
        return StaleKey(message, file=self.model.file, line=self.model.line)

    # -- where values come from

    def _sources_of(self, changes: Sequence[Change]) -> dict[str, Source]:
        sources = dict(self.known)
        for change in changes:
            if change.action == "set" and not change.path.steps:
                value = change.value
                is_argument = isinstance(value, Argument)
                sources[change.path.name] = ("argument", value.name) if is_argument else ("value", value)
        return sources

    def _update_text(self) -> str:
        changes = list(self.changes)
        actions = {change.path.name: change.action for change in changes}
        extra_set: list[str] = []
        extra_remove: list[str] = []
        for index, derived, _ in self.model.index_builders:
            slots = {slot for name, _ in derived for slot in self.model.templates[name].names}
            touched = slots & actions.keys()
            if not touched and not self.upsert:
                continue
            if any(actions.get(name) == "remove" for name in slots):
                extra_remove.extend(self._expressions.name(name) for name, _ in derived)
                continue
            missing = sorted(slots - self._sources.keys())
            if missing and not touched and all(self.model.fields[name].optional for name in missing):
                continue
            if missing:
                raise self._stale(
                    f"the index {index.name} of {self.model.name} is made of {', '.join(sorted(slots))}: "
                    f"changing {', '.join(sorted(touched)) or 'the item'} without setting "
                    f"{', '.join(missing)} would leave its key behind"
                )
            for name, build in derived:
                alias = self._expressions.raw(None)
                extra_set.append(f"{self._expressions.name(name)} = {alias}")
                self._derived.append((alias, build))
        if (
            self.upsert
            and self.model.type_name is not None
            and self.model.table.type_attribute not in actions
        ):
            type_attribute = str(self.model.table.type_attribute)
            if type_attribute not in self.model.fields:
                alias = self._expressions.raw(self.model.type_name)
                extra_set.append(f"{self._expressions.name(type_attribute)} = {alias}")
        for name, source in self.known.items() if self.upsert else ():
            # The attributes of the key are attributes of the item too.
            if name not in self.model.table.key_names:
                alias = self._expressions.value(
                    name, Argument(source[1], None) if source[0] == "argument" else source[1]
                )
                extra_set.append(f"{self._expressions.name(name)} = {alias}")
        extra: dict[str, list[str]] = {"SET": extra_set, "REMOVE": extra_remove}
        if self.model.version is not None:
            extra["ADD"] = [f"{self._expressions.name(self.model.version)} {self._expressions.raw(1)}"]
        return self._expressions.update(changes, extra)

    def _condition_text(self) -> str | None:
        table, expressions = self.model.table, self._expressions
        parts = []
        if not self.upsert:
            parts.append(f"attribute_exists({expressions.name(table.key_names[0])})")
        if table.ttl is not None:
            ttl = expressions.name(table.ttl)
            live = f"attribute_not_exists({ttl}) OR {ttl} > :now"
            absent = (
                f"attribute_not_exists({expressions.name(table.key_names[0])}) OR " if self.upsert else ""
            )
            parts.append(f"({absent}{live})")
        if self.when is not None:
            parts.append(f"({expressions.condition(self.when)})")
        return " AND ".join(parts) or None

    # -- the request

    def request(self, key: NativeItem, values: Mapping[str, Any], now: int) -> dict[str, Any]:
        """The update of one item, as UpdateItem and TransactWriteItems take it."""
        filled = self._expressions.fill(values)
        if self._derived:
            sources = {
                name: values[source[1]] if source[0] == "argument" else source[1]
                for name, source in self._sources.items()
            }
            for alias, build in self._derived:
                filled[alias] = build(sources)
        if self.model.table.ttl is not None:
            filled[":now"] = now
        request: dict[str, Any] = {
            "TableName": self.model.table.name,
            "Key": key,
            "UpdateExpression": self.update_text,
            "ExpressionAttributeNames": self._expressions.names,
        }
        if filled:
            request["ExpressionAttributeValues"] = filled
        if self.condition_text is not None:
            request["ConditionExpression"] = self.condition_text
        return request

    def specialised(self, values: Mapping[str, Any]) -> UpdatePlan:
        """This plan, or one for arguments of which some are None: a set to None removes."""
        removed = {
            change.value.name
            for change in self.changes
            if isinstance(change.value, Argument) and values[change.value.name] is None
        }
        if not removed:
            return self
        changes = []
        for change in self.changes:
            if not isinstance(change.value, Argument) or change.value.name not in removed:
                changes.append(change)
            elif change.action == "set":
                changes.append(Change("remove", change.path, None))
            else:
                raise InvalidValue(self.model.name, change.path.name, None, f"can't {change.action} nothing")
        try:
            plan = UpdatePlan(self.model, changes, self.when, upsert=self.upsert, known=self.known)
        except (TemplateError, DeclarationError) as error:
            name = next(
                c.path.name for c in self.changes if isinstance(c.value, Argument) and c.value.name in removed
            )
            raise InvalidValue(self.model.name, name, None, str(error)) from None
        plan.name, plan.keys = self.name, self.keys
        return plan
