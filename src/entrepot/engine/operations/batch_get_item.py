"""BatchGetItem: up to a hundred items of any tables, by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.capacity import Consumed, read_units
from entrepot.engine.chaos import RunningChaos
from entrepot.engine.errors import Throttled, Validation
from entrepot.engine.heat import Heat
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key, read_projection
from entrepot.engine.shapes import ListOf, MapOf, Record, Text
from entrepot.engine.values import Item, image

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

KEYS_MAX = 100
ANSWER_BYTES_MAX = 16 * 1024 * 1024

SHAPE = Record(
    "BatchGetItemInput",
    {
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "RequestItems": MapOf(
            Record(
                "KeysAndAttributes",
                {
                    "AttributesToGet": fields.ATTRIBUTES_TO_GET,
                    "ConsistentRead": fields.FLAG,
                    "Keys": ListOf(fields.VALUES, required=True, shortest=1, longest=KEYS_MAX),
                    "ProjectionExpression": fields.TEXT,
                    "ExpressionAttributeNames": fields.NAMES,
                },
                field=False,
            ),
            "KeysAndAttributes",
            required=True,
            shortest=1,
            longest=25,
            keys=Text(longest=255, shortest=3, pattern=r"[a-zA-Z0-9_.-]+"),
        ),
    },
)


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    wanted_items: dict[str, dict[str, Any]] = request["RequestItems"]
    if sum(len(wanted["Keys"]) for wanted in wanted_items.values()) > KEYS_MAX:
        raise Validation("Too many items requested for the BatchGetItem call")
    reads = [_Read(engine, name, wanted) for name, wanted in wanted_items.items()]
    for read in reads:
        read.demand_keys(engine)
    if engine.chaos is not None:
        _unsettle(engine.chaos, reads)
    if engine.heat is not None:
        _demand_room(engine.heat, reads)
    responses: dict[str, list[Item]] = {}
    unprocessed: dict[str, Any] = {}
    budget = ANSWER_BYTES_MAX
    for read in reads:
        budget = read.carry_out(engine, budget)
        responses[read.name] = read.items
        if read.left:
            unprocessed[read.name] = {**read.wanted, "Keys": read.left}
    answer: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    capacity = request.get("ReturnConsumedCapacity", "NONE")
    if capacity != "NONE":
        answer["ConsumedCapacity"] = [read.consumed.answer(capacity) for read in reads]
    return answer


class _Read:
    """The part of a batch that is about one table."""

    def __init__(self, engine: Engine, name: str, wanted: dict[str, Any]) -> None:
        self.name = name
        self.wanted = wanted
        self.keys = [admit_key(key) for key in wanted["Keys"]]
        self.project = read_projection(wanted)
        self.consistent = wanted.get("ConsistentRead") is True
        self.items: list[Item] = []
        self.left: list[Item] = []
        self.kept_back: set[bytes] = set()

    def demand_keys(self, engine: Engine) -> None:
        self.table = engine.table(self.name)
        self.consumed = Consumed(self.table)
        self.key_bytes = [self.table.demand_key(key) for key in self.keys]
        if len(set(self.key_bytes)) != len(self.key_bytes):
            raise Validation("Provided list of item keys contains duplicates")

    def carry_out(self, engine: Engine, budget: int) -> int:
        """Reads the items while the answer has room; says how much room is left."""
        for key, key_bytes in zip(self.keys, self.key_bytes, strict=True):
            if budget <= 0 or key_bytes in self.kept_back:
                self.left.append(key)
                continue
            row = engine.read_item(self.table, key_bytes, consistent=self.consistent)
            size = 0 if row is None else row[0]
            self.consumed.read(read_units(size, consistent=self.consistent))
            if engine.heat is not None:
                engine.heat.read(
                    self.table, None, key[self.table.hash.name], size, consistent=self.consistent
                )
            if row is None:
                continue
            if row[0] > budget:
                budget = 0
                self.left.append(key)
                continue
            budget -= row[0]
            item = image.decode(row[1])
            self.items.append(item if self.project is None else self.project(item))
        return budget


def _unsettle(chaos: RunningChaos, reads: list[_Read]) -> None:
    for read in reads:
        chaos.refuse(read.table)
    wanted = [(read, key) for read in reads for key in read.key_bytes]
    for number in chaos.left_over([read.table for read, _ in wanted]):
        read, key = wanted[number]
        read.kept_back.add(key)


def _demand_room(heat: Heat, reads: list[_Read]) -> None:
    """Keeps back the keys of partitions that are too hot; when all are, the batch is refused."""
    refusal: Throttled | None = None
    for read in reads:
        for key, key_bytes in zip(read.keys, read.key_bytes, strict=True):
            try:
                heat.demand_read_room(read.table, None, key[read.table.hash.name])
            except Throttled as error:
                refusal = error
                read.kept_back.add(key_bytes)
    if refusal is not None and all(len(read.kept_back) == len(read.keys) for read in reads):
        raise refusal


OPERATION = Operation("BatchGetItem", SHAPE, run, answers_at_once=True)
