"""TransactWriteItems: up to a hundred actions, all or none."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import Action, Change, Check, Condition, Delete, Edit, Put
from entrepot.engine.capacity import Consumed, read_units
from entrepot.engine.errors import (
    ConditionFailed,
    Reason,
    Refused,
    TransactionCanceled,
    Validation,
)
from entrepot.engine.expressions import Update
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key
from entrepot.engine.operations.transact_get_items import demand_distinct
from entrepot.engine.operations.update_item import demand_keys_untouched
from entrepot.engine.operations.writing import (
    collections_of,
    demand_item,
    placeholders_of,
    shows_old_on_failure,
    table_for_item,
)
from entrepot.engine.shapes import ListOf, Record, Shape, Text
from entrepot.engine.storage import Transaction
from entrepot.engine.values import image, item_size
from entrepot.engine.values.kinds import admit, admit_value

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

ACTIONS_MAX = 100
PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
TOKEN_SECONDS = 600

_EMPTY_KEY = "The AttributeValue for a key attribute cannot contain an empty"
# A table, and an item or a key: what an action without any expression consists of.
_PLAIN_FIELDS = 2
_ACTIONS = ("ConditionCheck", "Put", "Delete", "Update")

_COMMON: dict[str, Shape] = {
    "TableName": fields.TABLE_NAME,
    "ConditionExpression": fields.TEXT,
    "ExpressionAttributeNames": fields.NAMES,
    "ExpressionAttributeValues": fields.VALUES,
    "ReturnValuesOnConditionCheckFailure": fields.RETURN_ON_FAILURE,
}

SHAPE = Record(
    "TransactWriteItemsInput",
    {
        "TransactItems": ListOf(
            Record(
                "TransactWriteItem",
                {
                    "ConditionCheck": Record(
                        "ConditionCheck",
                        {
                            "Key": fields.REQUIRED_VALUES,
                            **_COMMON,
                            "ConditionExpression": Text(required=True),
                        },
                    ),
                    "Put": Record("Put", {"Item": fields.REQUIRED_VALUES, **_COMMON}),
                    "Delete": Record("Delete", {"Key": fields.REQUIRED_VALUES, **_COMMON}),
                    "Update": Record(
                        "Update",
                        {"Key": fields.REQUIRED_VALUES, "UpdateExpression": Text(required=True), **_COMMON},
                    ),
                },
                field=False,
            ),
            required=True,
            shortest=1,
            longest=ACTIONS_MAX,
        ),
        "ClientRequestToken": Text(shortest=1, longest=36),
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "ReturnItemCollectionMetrics": fields.RETURN_METRICS,
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    entries = [_demand_one(entry) for entry in request["TransactItems"]]
    actions = _read_actions(engine, entries)
    demand_distinct([(action.table.name, action.key) for action in actions])
    if sum(map(_payload_bytes, actions, entries)) > PAYLOAD_BYTES_MAX:
        raise Validation("Transaction payload size exceeds 4 MB limit")
    token = request.get("ClientRequestToken")
    digest = b"" if token is None else _digest(request)
    if engine.chaos is not None:
        engine.chaos.cancel([action.table for action in actions], writing=True, has_token=token is not None)

    def work(transaction: Transaction) -> list[Change] | None:
        if token is not None and _seen(transaction, token, digest):
            return None
        changes = _decide(engine, transaction, actions)
        if engine.heat is not None:
            engine.heat.write_together(changes)
        for change in changes:
            change.keep(transaction)
        if token is not None:
            transaction.execute(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)",
                (token, digest, int(transaction.now) + TOKEN_SECONDS),
            )
        return changes

    changes: list[Change] | None = await engine.writer.submit(work)
    return _answer(engine, request, actions, changes)


def _demand_one(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if len(entry) == 1:
        for kind, action in entry.items():
            if action is not None and kind in _ACTIONS:
                return kind, action
    given = [name for name in _ACTIONS if entry.get(name) is not None]
    if len(given) != 1:
        raise Validation(
            "TransactItems can only contain one of Check, Put, Update or Delete"
            if given
            else "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    return given[0], entry[given[0]]


def _read_actions(engine: Engine, entries: list[tuple[str, dict[str, Any]]]) -> list[Action]:
    """The actions, each checked against its table; what is wrong with one cancels all, by its number."""
    actions: list[Action] = []
    refused: dict[int, Reason] = {}
    for number, (kind, entry) in enumerate(entries):
        update, condition = _read_expressions(kind, entry)
        if kind == "Put":
            table = table_for_item(engine, entry["TableName"], entry["Item"])
        else:
            key = admit_key(entry["Key"])
            table = engine.table(entry["TableName"])
        shows_old = shows_old_on_failure(entry)
        try:
            if kind == "Put":
                actions.append(Put(table, entry["Item"], condition, shows_old_on_failure=shows_old))
            else:
                key_bytes = table.demand_key(key)
                if update is not None:
                    demand_keys_untouched(table, update)
                    actions.append(
                        Edit(table, key_bytes, key, update, condition, shows_old_on_failure=shows_old)
                    )
                else:
                    of_kind = Delete if kind == "Delete" else Check
                    actions.append(of_kind(table, key_bytes, condition, shows_old_on_failure=shows_old))
        except Validation as error:
            if kind == "Put":
                demand_item(entry["Item"])
            if _EMPTY_KEY in error.message:
                raise
            refused[number] = Reason("ValidationError", error.message)
    _demand_none(refused, len(entries))
    return actions


def _read_expressions(kind: str, entry: dict[str, Any]) -> tuple[Update | None, Condition | None]:
    """The update and the condition of an action, where it has them."""
    if len(entry) == _PLAIN_FIELDS:
        return None, None
    placeholders = placeholders_of(entry)
    update = placeholders.update(entry["UpdateExpression"]) if kind == "Update" else None
    condition = None
    if entry.get("ConditionExpression") is not None:
        condition = placeholders.condition(entry["ConditionExpression"], "ConditionExpression")
    placeholders.finish()
    return update, condition


def _demand_none(refused: dict[int, Reason], count: int) -> None:
    """Cancels a transaction of which any action was refused."""
    if refused:
        raise TransactionCanceled([refused.get(number) or Reason() for number in range(count)])


def _decide(engine: Engine, transaction: Transaction, actions: list[Action]) -> list[Change]:
    changes: list[Change] = []
    refused: dict[int, Reason] = {}
    for number, action in enumerate(actions):
        try:
            changes.append(action.decide(transaction, engine.catalog.in_step(action.table)))
        except ConditionFailed as error:
            refused[number] = Reason("ConditionalCheckFailed", error.message, error.item)
        except Validation as error:
            refused[number] = Reason("ValidationError", error.message)
    _demand_none(refused, len(actions))
    return changes


def _payload_bytes(action: Action, entry: tuple[str, dict[str, Any]]) -> int:
    """The bytes that an action brings: its item or key, and the values of its expressions."""
    _, given = entry
    values = given.get("ExpressionAttributeValues")
    size = action.prepared[1] if isinstance(action, Put) else item_size(admit(given["Key"]))
    return size if values is None else size + item_size(admit(values))


def _digest(request: dict[str, Any]) -> bytes:
    """What a repeat with the same token must be equal to."""
    plain = {"TransactItems": admit_value(request["TransactItems"])}
    return sha256(image.encode(plain)).digest()


def _seen(transaction: Transaction, token: str, digest: bytes) -> bool:
    known = transaction.execute(
        "SELECT request FROM tokens WHERE token = ? AND expires > ?", (token, int(transaction.now))
    ).get
    if known is None:
        return False
    if known != digest:
        raise Refused(
            "IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, but non-identical request. "
            "Do not reuse a client token with different requests",
        )
    return True


def _answer(
    engine: Engine, request: dict[str, Any], actions: list[Action], changes: list[Change] | None
) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    wanted = request.get("ReturnConsumedCapacity", "NONE")
    if wanted != "NONE":
        consumed: dict[str, Consumed] = {}
        for number, action in enumerate(actions):
            each = consumed.setdefault(action.table.name, Consumed(action.table))
            if changes is None:
                # A repeat reads what the first call wrote.
                row = engine.read_item(action.table, action.key, consistent=True)
                each.read(2 * read_units(0 if row is None else row[0], consistent=True))
            else:
                changes[number].consumed(each, factor=2)
        answer["ConsumedCapacity"] = [each.answer(wanted, transaction=True) for each in consumed.values()]
    if request.get("ReturnItemCollectionMetrics") == "SIZE" and changes is not None:
        entries = [entry for each in request["TransactItems"] for entry in each.values()]
        answer["ItemCollectionMetrics"] = collections_of(
            engine,
            (
                (action.table, entry["Item"] if "Item" in entry else entry["Key"])
                for action, entry in zip(actions, entries, strict=True)
                if not isinstance(action, Check)
            ),
        )
    return answer


OPERATION = Operation("TransactWriteItems", SHAPE, run)
