"""Single writes as actions: what a transaction takes, and what a call of its own is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from entrepot.engine.values import Item as NativeItem
from entrepot.engine.values import equal
from entrepot.tables.errors import (
    AlreadyExists,
    ConditionFailed,
    CorruptItem,
    DeclarationError,
    InvalidValue,
    NotFound,
    StaleKey,
)
from entrepot.tables.expressions import Change, Condition, Expressions, attributes_of
from entrepot.tables.keys import TemplateError
from entrepot.tables.model import Entity, Guard, Model
from entrepot.tables.reads import Item
from entrepot.tables.table import caller
from entrepot.tables.updates import Update, UpdatePlan

Refusal = Callable[["NativeItem | None"], ConditionFailed]


class Action:
    """One write on one item: its request, and what its failed condition means."""

    __slots__ = ("done", "guard", "key", "kind", "model", "once", "repeatable", "request", "verb")

    def __init__(
        self,
        verb: str,
        kind: str,
        model: Model[Any],
        key: NativeItem,
        request: dict[str, Any],
        *,
        guard: Guard | None = None,
        repeatable: bool = True,
        done: Callable[[], None] | None = None,
    ) -> None:
        self.verb = verb
        self.kind = kind
        self.model = model
        self.key = key
        self.request = request
        self.guard = guard
        self.repeatable = repeatable
        self.done = done
        self.once = False

    def __repr__(self) -> str:
        of = f"guard {self.guard.name} of {self.model.name}" if self.guard else self.model.name
        return f"{self.verb} {of} {' '.join(str(part) for part in self.key.values())}"

    def refusal(self, old: NativeItem | None, now: int) -> ConditionFailed:
        """The exception for this action's failed condition."""
        if self.guard is not None:
            taken = ", ".join(sorted(self.guard.fields))
            return AlreadyExists(f"{self!r}: another {self.model.name} has this {taken}")
        if old is not None and self.model.expired(old, now):
            old = None
        found = None if old is None else self.decode(old)
        if self.verb == "create":
            return AlreadyExists(f"{self!r}: exists already", found)
        if old is None:
            return NotFound(f"{self!r}: not found")
        return ConditionFailed(f"{self!r}: the condition does not hold", found)

    def decode(self, item: Mapping[str, Any]) -> Any:
        """The entity as it was found; the bare item when it does not fit."""
        try:
            return self.model.decode(item)
        except CorruptItem:
            return item


def model_of(entity: Entity) -> Model[Any]:
    """The model of an entity's class."""
    model = getattr(type(entity), "__model__", None)
    if model is None:
        raise TypeError(f"{type(entity).__name__} is not an entity of a table")
    return model  # type: ignore[no-any-return]


def create(entity: Entity, now: int) -> list[Action]:
    """Puts an item that must not exist, with its guards."""
    model = model_of(entity)
    item = model.encode(entity)
    model.check_size(item)
    key = _key(model, item)
    actions = [Action("create", "Put", model, key, _put(model, item, *_absent(model, now)))]
    for guard in model.guards:
        actions.extend(_put_guard(model, guard, item, key, now))
    return actions


def replace(entity: Entity, when: Condition | None, now: int) -> Action:
    """Puts an item that must exist, on its version when it has one."""
    model = model_of(entity)
    _refuse_guards(model, "replace")
    item = model.encode(entity)
    expressions = Expressions(model.encode_value)
    texts = [_live(model, expressions)]
    done = _count_version(model, entity, item, expressions, texts)
    if when is not None:
        texts.append(f"({_condition(model, when, expressions)})")
    model.check_size(item)
    request = _put(model, item, " AND ".join(texts), *_parts(model, expressions, now))
    return Action(
        "replace", "Put", model, _key(model, item), request, done=done, repeatable=model.version is None
    )


def put(entity: Entity, when: Condition | None, now: int) -> Action:
    """Puts an item whether it exists or not."""
    model = model_of(entity)
    _refuse_guards(model, "put")
    item = model.encode(entity)
    model.check_size(item)
    request: dict[str, Any] = {"TableName": model.table.name, "Item": item}
    if when is not None:
        expressions = Expressions(model.encode_value)
        text = _condition(model, when, expressions)
        request = _put(model, item, text, expressions.names, expressions.values)
    return Action("put", "Put", model, _key(model, item), request)


def update(
    target: Item[Any] | Entity | Update[Any],
    changes: Sequence[Change],
    when: Condition | None,
    now: int,
    *,
    upsert: bool,
) -> Action:
    """Changes an item, by reference, by entity, or as declared."""
    if isinstance(target, Update):
        plan, values = target.plan.specialised(target.values), target.values
        key = {builder.attribute: builder.build(values) for builder in plan.keys}
    else:
        model = target.pattern.model if isinstance(target, Item) else model_of(target)
        key = target.key() if isinstance(target, Item) else model.key_of_entity(target)
        attributes = (
            target.attributes()
            if isinstance(target, Item)
            else {n: getattr(target, n) for n in model.key_fields}
        )
        known = {name: ("value", value) for name, value in attributes.items()}
        try:
            plan, values = UpdatePlan(model, changes, when, upsert=upsert, known=known), {}
        except (TemplateError, DeclarationError) as error:
            file, line = caller()
            kind = type(error) if isinstance(error, DeclarationError) else DeclarationError
            raise kind(getattr(error, "message", str(error)), file=file, line=line) from None
    request = plan.request(key, values, now)
    return Action(
        "upsert" if plan.upsert else "update", "Update", plan.model, key, request, repeatable=plan.repeatable
    )


def delete(target: Item[Any] | Entity, when: Condition | None, now: int) -> list[Action]:
    """Deletes an item, and the guards of an entity that has them."""
    if isinstance(target, Item):
        model, key, entity = target.pattern.model, target.key(), None
        if model.guards:
            raise StaleKey(
                f"{model.name} has guards: delete the entity itself", file=model.file, line=model.line
            )
    else:
        model, entity = model_of(target), target
        key = model.key_of_entity(target)
    expressions = Expressions(model.encode_value)
    texts = []
    if entity is not None and model.version is not None:
        texts.append(f"{expressions.name(model.version)} = {expressions.raw(getattr(entity, model.version))}")
    actions = []
    if model.guards and entity is not None:
        item = model.encode(entity)
        for guard in model.guards:
            guard_key = guard.build(item)
            if guard_key is not None:
                texts.extend(_unchanged(model, sorted(guard.fields), item, expressions))
                actions.append(_delete_guard(model, guard, guard_key, key))
    if when is not None:
        texts.append(f"({_condition(model, when, expressions)})")
    request: dict[str, Any] = {"TableName": model.table.name, "Key": key}
    if texts:
        request["ConditionExpression"] = " AND ".join(texts)
        request["ExpressionAttributeNames"] = expressions.names
        if expressions.values:
            request["ExpressionAttributeValues"] = expressions.values
    return [Action("delete", "Delete", model, key, request), *actions]


def check(target: Item[Any], condition: Condition | None, now: int, *, absent: bool = False) -> Action:
    """Asserts something about an item that the transaction does not change."""
    model = target.pattern.model
    expressions = Expressions(model.encode_value)
    if absent:
        text, names, values = _absent(model, now)
    else:
        texts = [_live(model, expressions)]
        if condition is not None:
            texts.append(f"({_condition(model, condition, expressions)})")
        text = " AND ".join(texts)
        names, values = _parts(model, expressions, now)
    request: dict[str, Any] = {
        "TableName": model.table.name,
        "Key": target.key(),
        "ConditionExpression": text,
        "ExpressionAttributeNames": names,
    }
    if values:
        request["ExpressionAttributeValues"] = values
    return Action("create" if absent else "check", "ConditionCheck", model, request["Key"], request)


def edit(old: Entity, new: Entity, now: int) -> list[Action]:
    """Writes the difference between two states of one entity, on condition that the first still holds."""
    model = model_of(old)
    before, after = model.encode(old), model.encode(new)
    key = _key(model, before)
    if key != _key(model, after):
        name = next(n for n in model.key_fields if getattr(old, n) != getattr(new, n))
        raise InvalidValue(model.name, name, getattr(new, name), "the attributes of the key can't change")
    changed = [name for name in after if name not in before or not equal(before[name], after[name])]
    removed = [name for name in before if name not in after]
    if model.version in changed:
        raise InvalidValue(
            model.name, str(model.version), getattr(new, str(model.version)), "the library counts it"
        )
    if not changed and not removed:
        return []
    model.check_size(after)
    expressions = Expressions(model.encode_value)
    clauses = [f"{expressions.name(name)} = {expressions.raw(after[name])}" for name in changed]
    text = f"SET {', '.join(clauses)}" if clauses else ""
    if removed:
        text = f"{text} REMOVE {', '.join(expressions.name(name) for name in removed)}".strip()
    texts = [_live(model, expressions)]
    done = None
    if model.version is not None:
        version = expressions.name(model.version)
        text += f" ADD {version} {expressions.raw(1)}"
        texts.append(f"{version} = {expressions.raw(before[model.version])}")
        done = _counter(new, model.version)
    else:
        texts.extend(_unchanged(model, sorted(_read_by(model, {*changed, *removed})), before, expressions))
    request = {
        "TableName": model.table.name,
        "Key": key,
        "UpdateExpression": text,
        "ConditionExpression": " AND ".join(texts),
    }
    names, values = _parts(model, expressions, now)
    request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = values
    actions = [Action("edit", "Update", model, key, request, done=done, repeatable=model.version is None)]
    return actions + _swap_guards(model, before, after, key, now)


def _read_by(model: Model[Any], changed: set[str]) -> set[str]:
    """The attributes that a difference was derived from: those that changed, and the other parts of their keys."""
    fields = {name for name in changed if name in model.fields}
    for name in changed - fields:
        template = model.templates.get(name)
        if template is not None:
            fields |= set(template.names) - model.key_fields
    return fields


def _unchanged(
    model: Model[Any], names: Sequence[str], item: NativeItem, expressions: Expressions
) -> list[str]:
    texts = []
    for name in names:
        alias = expressions.name(name)
        known = name in item
        texts.append(
            f"{alias} = {expressions.raw(item[name])}" if known else f"attribute_not_exists({alias})"
        )
    return texts


# -- guards


def _put_guard(model: Model[Any], guard: Guard, item: NativeItem, key: NativeItem, now: int) -> list[Action]:
    guard_key = guard.build(item)
    if guard_key is None:
        return []
    table = model.table
    guard_item: NativeItem = {**guard_key, "of": key}
    if table.ttl is not None and table.ttl in item:
        guard_item[table.ttl] = item[table.ttl]
    if table.type_attribute is not None:
        guard_item[table.type_attribute] = f"{model.name}Guard"
    return [
        Action("create", "Put", model, guard_key, _put(model, guard_item, *_absent(model, now)), guard=guard)
    ]


def _delete_guard(model: Model[Any], guard: Guard, guard_key: NativeItem, key: NativeItem) -> Action:
    request = {
        "TableName": model.table.name,
        "Key": guard_key,
        "ConditionExpression": "attribute_not_exists(#key) OR #of = :of",
        "ExpressionAttributeNames": {"#key": model.table.key_names[0], "#of": "of"},
        "ExpressionAttributeValues": {":of": key},
    }
    return Action("delete", "Delete", model, guard_key, request, guard=guard)


def _swap_guards(
    model: Model[Any], before: NativeItem, after: NativeItem, key: NativeItem, now: int
) -> list[Action]:
    actions: list[Action] = []
    ttl = model.table.ttl
    for guard in model.guards:
        old, new = guard.build(before), guard.build(after)
        if old == new:
            if new is not None and ttl is not None and before.get(ttl) != after.get(ttl):
                actions.append(_touch_guard(model, guard, new, key, after.get(ttl)))
            continue
        if old is not None:
            actions.append(_delete_guard(model, guard, old, key))
        actions.extend(_put_guard(model, guard, after, key, now))
    return actions


def _touch_guard(
    model: Model[Any], guard: Guard, guard_key: NativeItem, key: NativeItem, ttl: int | None
) -> Action:
    item = {**guard_key, "of": key}
    if ttl is not None:
        item[str(model.table.ttl)] = ttl
    if model.table.type_attribute is not None:
        item[model.table.type_attribute] = f"{model.name}Guard"
    return Action("put", "Put", model, guard_key, {"TableName": model.table.name, "Item": item}, guard=guard)


def _refuse_guards(model: Model[Any], verb: str) -> None:
    if model.guards:
        raise StaleKey(
            f"{model.name} has guards, which {verb}() would leave behind: create() or edit() it",
            file=model.file,
            line=model.line,
        )


# -- texts


def _key(model: Model[Any], item: NativeItem) -> NativeItem:
    return {name: item[name] for name in model.table.key_names}


def _put(
    model: Model[Any], item: NativeItem, text: str, names: Mapping[str, str], values: Mapping[str, Any]
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": model.table.name,
        "Item": item,
        "ConditionExpression": text,
        "ExpressionAttributeNames": names,
    }
    if values:
        request["ExpressionAttributeValues"] = values
    return request


def _absent(model: Model[Any], now: int) -> tuple[str, dict[str, str], dict[str, Any]]:
    table = model.table
    if table.ttl is None:
        return "attribute_not_exists(#key)", {"#key": table.key_names[0]}, {}
    text = "attribute_not_exists(#key) OR #ttl <= :now"
    return text, {"#key": table.key_names[0], "#ttl": table.ttl}, {":now": now}


def _live(model: Model[Any], expressions: Expressions) -> str:
    text = f"attribute_exists({expressions.name(model.table.key_names[0])})"
    if model.table.ttl is None:
        return text
    ttl = expressions.name(model.table.ttl)
    return f"{text} AND (attribute_not_exists({ttl}) OR {ttl} > :now)"


def _parts(model: Model[Any], expressions: Expressions, now: int) -> tuple[dict[str, str], dict[str, Any]]:
    if model.table.ttl is not None:
        expressions.values[":now"] = now
    return expressions.names, expressions.values


def _condition(model: Model[Any], condition: Condition, expressions: Expressions) -> str:
    for name in attributes_of(condition):
        if name not in model.fields:
            file, line = caller()
            raise DeclarationError(
                f"the condition names {name!r}, which {model.name} does not have", file=file, line=line
            )
    return expressions.condition(condition)


def _count_version(
    model: Model[Any], entity: Entity, item: NativeItem, expressions: Expressions, texts: list[str]
) -> Callable[[], None] | None:
    if model.version is None:
        return None
    texts.append(f"{expressions.name(model.version)} = {expressions.raw(item[model.version])}")
    item[model.version] += 1
    return _counter(entity, model.version)


def _counter(entity: Entity, version: str) -> Callable[[], None]:
    def count() -> None:
        setattr(entity, version, getattr(entity, version) + 1)

    return count
