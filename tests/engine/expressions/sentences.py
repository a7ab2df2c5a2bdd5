"""Random expressions: a tree for the naive evaluator, its text, and the placeholders that the text uses."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from .naive import Wire, comparable

# Few names, values and paths, so that expressions meet what items hold, and meet it at the edges.
NAMES = ["a", "b", "Long_name1"]
NUMBERS = ["1", "1.0", "2", "1.5", "0.30", "-3", "1e2", "12345678901234567890.5"]
STRINGS = ["", "a", "ab", "b", "é", "𝄞"]
BLOBS = [base64.b64encode(blob).decode() for blob in (b"", b"a", b"ab", b"\x00\xff")]
TYPES = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]


def distinct(values: list[Any], tag: str) -> list[Any]:
    return list({comparable({tag: value}): value for value in values}.values())


numbers = st.sampled_from(NUMBERS).map(lambda text: {"N": text})
strings = st.sampled_from(STRINGS).map(lambda text: {"S": text})
blobs = st.sampled_from(BLOBS).map(lambda text: {"B": text})
ordered = st.one_of(numbers, strings, blobs)
sets = st.one_of(
    st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4).map(lambda v: {"NS": distinct(v, "N")}),
    st.lists(st.sampled_from(STRINGS), min_size=1, max_size=4).map(lambda v: {"SS": distinct(v, "S")}),
    st.lists(st.sampled_from(BLOBS), min_size=1, max_size=4).map(lambda v: {"BS": distinct(v, "B")}),
)
scalars = st.one_of(numbers, ordered, st.booleans().map(lambda flag: {"BOOL": flag}), st.just({"NULL": True}))
values: st.SearchStrategy[Wire] = st.recursive(
    st.one_of(scalars, sets),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda v: {"L": v}),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=4).map(lambda v: {"M": v}),
    ),
    max_leaves=8,
)
lists = st.lists(st.one_of(scalars, values), max_size=4).map(lambda found: {"L": found})
maps = st.fixed_dictionaries({}, optional={"a": scalars, "b": lists, "Long_name1": values}).map(
    lambda found: {"M": found}
)
items: st.SearchStrategy[dict[str, Wire]] = st.fixed_dictionaries(
    {"n": numbers, "l": lists, "m": maps},
    optional={
        "s": scalars,
        "tags": sets,
        "ll": st.lists(lists, max_size=2).map(lambda v: {"L": v}),
        "v": values,
    },
)
PATHS = """
n s v l m tags gone n.a s[0] gone.a l[0] l[1] l[2] l[5] l[9] l[0].a l[1][0] l.a m.a m.b m.b[0] m.b[1] m.b[7]
m.Long_name1 m.fresh m[0] ll[0] ll[0][0] ll[0][3] ll[1][1] v.a v[0]
"""


def split_path(text: str) -> list[str | int]:
    parts = text.replace("[", ".").replace("]", "").split(".")
    return [int(part) if part.isdecimal() else part for part in parts]


steps = st.sampled_from(PATHS.split()).map(split_path)
paths = steps.map(lambda found: ("path", found))
sized = st.one_of(paths, strings.map(lambda v: ("value", v))).map(lambda inner: ("size", inner))
literals = values.map(lambda value: ("value", value))
ordered_literals = ordered.map(lambda value: ("value", value))
operands = st.one_of(paths, paths, literals, sized)
ordered_operands = st.one_of(paths, paths, ordered_literals, sized)


def apart(first: Any, *others: Any) -> bool:
    return first[0] != "path" or first not in others


def bounds(pair: tuple[Wire, Wire]) -> tuple[Wire, Wire]:
    low, high = sorted(pair, key=lambda value: comparable(value)[1])
    return low, high


comparisons = st.one_of(
    st.tuples(st.just("compare"), st.sampled_from(["=", "<>"]), operands, operands),
    st.tuples(
        st.just("compare"), st.sampled_from(["<", "<=", ">", ">="]), ordered_operands, ordered_operands
    ),
).filter(lambda node: apart(node[2], node[3]))
betweens = st.one_of(
    st.tuples(st.just("between"), ordered_operands, paths, ordered_operands),
    st.builds(
        lambda operand, pair: ("between", operand, ("value", pair[0]), ("value", pair[1])),
        ordered_operands,
        st.one_of(st.tuples(numbers, numbers), st.tuples(strings, strings), st.tuples(blobs, blobs)).map(
            bounds
        ),
    ),
).filter(lambda node: apart(node[1], node[2], node[3]))
ins = st.tuples(st.just("in"), operands, st.lists(operands, min_size=1, max_size=3)).filter(
    lambda node: apart(node[1], *node[2])
)
prefixes = st.one_of(paths, st.one_of(strings, blobs).map(lambda value: ("value", value)))
calls = st.one_of(
    st.tuples(
        st.just("call"),
        st.sampled_from(["attribute_exists", "attribute_not_exists"]),
        paths.map(lambda path: [path]),
    ),
    st.tuples(st.just("call"), st.just("begins_with"), st.tuples(prefixes, prefixes).map(list)),
    st.tuples(st.just("call"), st.just("contains"), st.tuples(operands, operands).map(list)),
    st.tuples(
        st.just("call"),
        st.just("attribute_type"),
        st.tuples(paths, st.sampled_from(TYPES).map(lambda word: ("value", {"S": word}))).map(list),
    ),
).filter(lambda node: apart(*node[2]))
conditions: st.SearchStrategy[Any] = st.recursive(
    st.one_of(comparisons, comparisons, betweens, ins, calls),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)
    ),
    max_leaves=6,
)

sources: st.SearchStrategy[Any] = st.recursive(
    st.one_of(paths, literals),
    lambda inner: st.one_of(
        st.tuples(st.just("else"), steps, inner),
        st.tuples(
            st.just("append"),
            *[st.one_of(inner, st.lists(values, max_size=2).map(lambda v: ("value", {"L": v})))] * 2,
        ),
    ),
    max_leaves=3,
)
terms = st.one_of(
    paths,
    numbers.map(lambda value: ("value", value)),
    st.tuples(st.just("else"), steps, numbers.map(lambda value: ("value", value))),
)
sums = st.tuples(st.just("sum"), st.sampled_from("+-"), terms, terms)
actions = st.one_of(
    st.tuples(st.just("set"), steps, st.one_of(sources, sums)),
    st.tuples(st.just("remove"), steps),
    st.tuples(st.just("add"), steps, st.one_of(numbers, sets)),
    st.tuples(st.just("delete"), steps, sets),
)


def lie_apart(found: list[list[str | int]]) -> bool:
    """Whether no path holds another, and no place is taken for both a list and a map."""
    for index, one in enumerate(found):
        for two in found[index + 1 :]:
            shared = list(zip(one, two, strict=False))
            difference = next((pair for pair in shared if pair[0] != pair[1]), None)
            if difference is None or type(difference[0]) is not type(difference[1]):
                return False
    return True


def kept_apart(found: list[Any], path_of: Callable[[Any], list[str | int]]) -> list[Any]:
    """As many of the parts, in their order, as have paths that lie apart."""
    kept: list[Any] = []
    for part in found:
        if lie_apart([path_of(one) for one in (*kept, part)]):
            kept.append(part)
    return kept


updates = st.lists(actions, min_size=1, max_size=6).map(lambda found: kept_apart(found, lambda one: one[1]))
projections = st.lists(steps, min_size=1, max_size=6).map(lambda found: kept_apart(found, lambda one: one))


class Writer:
    """Writes a tree as text, in one of the many ways to write it, and gathers the placeholders."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.names: dict[str, str] = {}
        self.values: dict[str, Wire] = {}

    def space(self) -> str:
        return self.draw(st.sampled_from(["", " ", "  ", "\t", "\n"]))

    def word(self, keyword: str) -> str:
        return " " + self.draw(st.sampled_from([keyword, keyword.lower(), keyword.title()])) + " "

    def name(self, name: str) -> str:
        if self.draw(st.booleans()):
            return name
        key = f"#n{len(self.names)}"
        self.names[key] = name
        return key

    def value(self, value: Wire) -> str:
        key = f":v{len(self.values)}"
        self.values[key] = value
        return key

    def path(self, found: list[str | int]) -> str:
        text = self.name(str(found[0]))
        for step in found[1:]:
            gap = self.space()
            text += f"{gap}.{gap}{self.name(step)}" if isinstance(step, str) else f"[{gap}{step}{gap}]"
        return text

    def operand(self, node: Any) -> str:
        if node[0] == "path":
            text = self.path(node[1])
        elif node[0] == "value":
            text = self.value(node[1])
        else:
            text = f"size{self.space()}({self.operand(node[1])})"
        # A second pair would be redundant.
        return f"({text})" if not text.startswith("(") and self.draw(st.integers(0, 5)) == 0 else text

    def condition(self, node: Any, binding: int = 0) -> str:
        word = node[0]
        strength = {"or": 1, "and": 2, "not": 3}.get(word, 4)
        if word in ("and", "or"):
            text = self.condition(node[1], strength) + self.word(word) + self.condition(node[2], strength)
        elif word == "not":
            text = self.word("NOT") + self.condition(node[1], strength)
        else:
            text = self.leaf(node)
        return f"({text})" if strength < binding else text

    def leaf(self, node: Any) -> str:
        gap = self.space()
        if node[0] == "compare":
            return f"{self.operand(node[2])}{gap}{node[1]}{gap}{self.operand(node[3])}"
        if node[0] == "between":
            low, high = self.operand(node[2]), self.operand(node[3])
            return f"{self.operand(node[1])}{self.word('BETWEEN')}{low}{self.word('AND')}{high}"
        arguments = f"{gap},".join(self.operand(one) for one in node[2])
        if node[0] == "in":
            return f"{self.operand(node[1])}{self.word('IN')}({arguments})"
        return f"{node[1]}{gap}({arguments})"

    def source(self, node: Any) -> str:
        if node[0] == "else":
            return f"if_not_exists({self.path(node[1])},{self.space()}{self.source(node[2])})"
        if node[0] == "append":
            return f"list_append({self.source(node[1])},{self.space()}{self.source(node[2])})"
        if node[0] == "sum":
            text = f"{self.source(node[2])}{self.space()}{node[1]}{self.space()}{self.source(node[3])}"
            return f"({text})" if self.draw(st.booleans()) else text
        return self.operand(node)

    def update(self, found: list[Any]) -> str:
        text = ""
        for section in self.draw(st.permutations(["set", "remove", "add", "delete"])):
            written = [self.action(action) for action in found if action[0] == section]
            if written:
                text += self.word(section.upper()) + f"{self.space()},".join(written)
        return text

    def action(self, action: Any) -> str:
        path = self.path(action[1])
        if action[0] == "set":
            return f"{path}{self.space()}={self.space()}{self.source(action[2])}"
        return path if action[0] == "remove" else f"{path} {self.value(action[2])}"


@st.composite
def written_conditions(draw: st.DrawFn) -> tuple[Any, str, dict[str, str], dict[str, Wire]]:
    tree = draw(conditions)
    writer = Writer(draw)
    return tree, writer.condition(tree), writer.names, writer.values


@st.composite
def written_updates(draw: st.DrawFn) -> tuple[Any, str, dict[str, str], dict[str, Wire]]:
    tree = draw(updates)
    writer = Writer(draw)
    return tree, writer.update(tree), writer.names, writer.values


@st.composite
def written_projections(draw: st.DrawFn) -> tuple[Any, str, dict[str, str]]:
    tree = draw(projections)
    writer = Writer(draw)
    return tree, f"{writer.space()},".join(writer.path(found) for found in tree), writer.names
