"""A wrong declaration fails when it is loaded, with the file and line that is wrong."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from entrepot.tables import DeclarationError, StaleKey

PREAMBLE = """
from __future__ import annotations
from datetime import datetime
from typing import Any, Literal, NewType
from msgspec import Struct
from entrepot.tables import *
A = NewType("A", str)
B = NewType("B", str)
main = Table("main", "PK SK", indexes={"GSI": "GPK GSK", "thin": Index("TPK TSK", project="KEYS_ONLY")}, ttl="ttl")
@main.entity(PK="A#{a}", SK="B#{b}", GPK="G#{kind}#{n:05}", GSK="{b}", TPK="T#{b}", TSK="X", version="version")
class Thing(Entity):
    a: A
    b: B
    kind: str
    n: int
    note: str | None = None
    tags: frozenset[str] = frozenset()
    version: int = 1
    ttl: int | None = None
"""


Load = Callable[[str], NoReturn]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    return lambda source: load_module(tmp_path, monkeypatch, source)


def load_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> NoReturn:
    """Runs a module with the preamble; the line that is marked WRONG must be the one that is reported."""
    text = PREAMBLE + textwrap.dedent(source)
    file = tmp_path / "model.py"
    file.write_text(text)
    wrong = next(i for i, line in enumerate(text.splitlines(), 1) if "WRONG" in line)
    spec = importlib.util.spec_from_file_location("model_under_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    with pytest.raises(DeclarationError) as caught:
        spec.loader.exec_module(module)
    assert (caught.value.file, caught.value.line) == (str(file), wrong), str(caught.value)
    raise caught.value


def test_a_pattern_on_an_attribute_that_is_no_key_would_be_a_scan(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"'kind' is no key .*that would be a scan"):
        load(
            """
            class Things(Access[Thing]):
                def of_kind(self, kind: str) -> Many[Thing]:  # WRONG
                    return query(kind=f"{kind}")
            """,
        )


def test_a_sort_key_alone_is_not_a_query(load: Load) -> None:
    with pytest.raises(DeclarationError, match="are not the keys of main"):
        load(
            """
            class Things(Access[Thing]):
                def of_b(self, b: B) -> Many[Thing]:  # WRONG
                    return query(SK=f"B#{b}")
            """,
        )


def test_a_partition_key_can_not_be_a_range(load: Load) -> None:
    with pytest.raises(DeclarationError, match="the partition key 'PK' can't be a range"):
        load(
            """
            class Things(Access[Thing]):
                def all(self) -> Many[Thing]:  # WRONG
                    return query(PK=begins_with("A#"))
            """,
        )


def test_a_key_that_its_arguments_can_not_build_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"'A#' can't build the key 'A#\{a\}'"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self) -> Many[Thing]:  # WRONG
                    return query(PK="A#")
            """,
        )


def test_a_misspelt_template_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="can't build the key"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Thing]:  # WRONG
                    return query(PK=f"AA#{a}")
            """,
        )


def test_an_argument_of_another_type_than_the_attribute_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"'b' is B, but Thing\.a is A"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, b: B) -> Many[Thing]:  # WRONG
                    return query(PK=f"A#{b}")
            """,
        )


def test_an_argument_that_builds_no_key_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="'kind' builds no key"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, a: A, kind: str) -> Many[Thing]:  # WRONG
                    return query(PK=f"A#{a}")
            """,
        )


def test_a_pattern_that_decides_by_a_value_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="declared once, for all values"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Thing]:  # WRONG
                    return query(PK=f"A#{a}" if a else "A#none")
            """,
        )


def test_an_item_needs_all_of_its_key(load: Load) -> None:
    with pytest.raises(DeclarationError, match="needs the sort key 'SK'"):
        load(
            """
            class Things(Access[Thing]):
                def one(self, a: A) -> Item[Thing]:  # WRONG
                    return item(PK=f"A#{a}")
            """,
        )


def test_what_a_method_says_it_answers_must_be_what_it_declares(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"returns query\(\.\.\.\)"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Thing]:  # WRONG
                    return first(PK=f"A#{a}")
            """,
        )


def test_an_index_that_does_not_project_the_answer_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="the index thin does not project 'a'"):
        load(
            """
            class Things(Access[Thing]):
                def of_b(self, b: B) -> Many[Thing]:  # WRONG
                    return query(TPK=f"T#{b}")
            """,
        )


def test_an_index_can_not_be_read_consistently(load: Load) -> None:
    with pytest.raises(DeclarationError, match="can't be read consistently"):
        load(
            """
            class Things(Access[Thing]):
                def of(self, kind: str, n: int) -> Many[Thing]:  # WRONG
                    return query(GPK=f"G#{kind}#{n:05}", consistent=True)
            """,
        )


def test_a_projection_of_an_unknown_attribute_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"Line\.colour is no attribute of Thing"):
        load(
            """
            class Line(Struct):
                colour: str
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Line]:  # WRONG
                    return query(PK=f"A#{a}")
            """,
        )


def test_a_projection_must_allow_what_the_entity_allows(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"Line\.note is .*str.*but Thing\.note is"):
        load(
            """
            class Line(Struct):
                note: str
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Line]:  # WRONG
                    return query(PK=f"A#{a}")
            """,
        )


def test_an_update_that_leaves_an_index_key_behind_is_refused(load: Load) -> None:
    with pytest.raises(StaleKey, match="changing kind without setting n would leave its key behind"):
        load(
            """
            class Things(Access[Thing]):
                def sorted_as(self, a: A, b: B, kind: str) -> Update[Thing]:  # WRONG
                    return update(attr(Thing.kind).set(kind))
            """,
        )


def test_adding_to_a_part_of_an_index_key_is_refused(load: Load) -> None:
    with pytest.raises(StaleKey, match="would leave its key behind"):
        load(
            """
            class Things(Access[Thing]):
                def raised(self, a: A, b: B, kind: str, by: int) -> Update[Thing]:  # WRONG
                    return update(attr(Thing.n).add(by), attr(Thing.kind).set(kind))
            """,
        )


def test_an_update_of_the_key_itself_is_refused(load: Load) -> None:
    with pytest.raises(StaleKey, match="'b' is part of the key"):
        load(
            """
            class Things(Access[Thing]):
                def moved(self, a: A, b: B, to: B) -> Update[Thing]:  # WRONG
                    return update(attr(Thing.b).set(to))
            """,
        )


def test_an_upsert_that_leaves_out_what_is_required_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="must set 'n'"):
        load(
            """
            class Things(Access[Thing]):
                def made(self, a: A, b: B, kind: str) -> Update[Thing]:  # WRONG
                    return upsert(attr(Thing.kind).set(kind))
            """,
        )


def test_nothing_can_be_added_to_text(load: Load) -> None:
    with pytest.raises(DeclarationError, match="no number and no set"):
        load(
            """
            class Things(Access[Thing]):
                def noted(self, a: A, b: B) -> Update[Thing]:  # WRONG
                    return update(attr(Thing.note).add("x"))
            """,
        )


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        ('PK="X#{nope}", SK="Y"', "names 'nope', which Other does not have"),
        ('PK="X#{n}", SK="Y"', "the number 'n' must be padded"),
        ('PK="X#{n:5}", SK="Y"', "the number 'n' must be padded"),
        ('PK="X#{flag}", SK="Y"', "'flag' is neither text nor a whole number"),
        ('PK="X#{maybe}", SK="Y"', "needs 'maybe', which may be None"),
        ('PK="X#{x:upper}", SK="Y"', "text can't be written as 'upper'"),
        ('PK="X#{x!r}", SK="Y"', "a slot is the name of an attribute"),
        ('PK="X#{x"', "expected '}' before end of string"),
        ('PK="X#{x}"', "the key 'SK' has no template"),
        ('PK="X#{x}", SK="Y", QPK="Z"', "'QPK' is no key of main"),
        ('PK="X#{x}", SK="Y", GPK="Z"', "the index GSI has 'GPK' but no 'GSK'"),
        ('PK="A#{x}", SK="B#{y}"', "its keys A#{x} B#{y} can be those of Thing"),
        ('PK="X#{x}", SK="Y", version="x"', "the version 'x' must be an int"),
        ('PK="X#{x}", SK="Y", unique=[guard(PK="U")]', "a guard has the table's keys"),
        ('PK="X#{x}", SK="Y", unique=[guard(PK="U", SK="V")]', "guards no attribute"),
        ('PK="X#{x}", SK="Y", unique=[guard(PK="A#{x}", SK="B#{y}")]', "can be those of Thing"),
        ('PK="X#{x}", SK="Y", unique=[guard(PK="X#{y}", SK="Y")]', "can be those of Other"),
    ],
)
def test_a_wrong_template_is_refused(load: Load, declaration: str, reason: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        load(
            f"""
            @main.entity({declaration})  # WRONG
            class Other(Entity):
                x: str
                y: str
                n: int
                flag: bool
                maybe: str | None = None
            """,
        )
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "annotation", ["datetime", "set[bool]", "dict[int, str]", "complex", "Literal[1, 'a']"]
)
def test_an_attribute_without_a_dynamodb_type_is_refused(load: Load, annotation: str) -> None:
    with pytest.raises(DeclarationError):
        load(
            f"""
            @main.entity(PK="X#{{x}}", SK="Y")  # WRONG
            class Other(Entity):
                x: str
                value: {annotation}
            """,
        )


def test_a_prefix_that_shadows_another_entity_is_reported_at_the_pattern(load: Load) -> None:
    with pytest.raises(DeclarationError, match=r"Things\.of_a.*also find Other"):
        load(
            """
            class Things(Access[Thing]):
                def of_a(self, a: A) -> Many[Thing]:  # WRONG
                    return query(PK=f"A#{a}", SK=begins_with("B#"))
            @main.entity(PK="A#{a}", SK="B#{b}#NOTE#{x}")
            class Other(Entity):
                a: A
                b: B
                x: str
            """,
        )


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        ('"x", "PK"', "'x': a name has 3 to 255"),
        ('"good", "PK", indexes={"G": "GPK"}', "'G': a name has 3 to 255"),
        ('"good", ""', "a partition key, and perhaps a sort key"),
        ('"good", "P-K"', "'P-K' is no name of an attribute"),
        ('"good", "PK", ttl="t t"', "'t t' is no name of an attribute"),
        ('"good", "PK:Q"', "a key is text (S) or a number (N)"),
    ],
)
def test_a_wrong_table_is_refused(load: Load, declaration: str, reason: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        load(f"table = Table({declaration})  # WRONG")
    assert reason in str(caught.value)


def test_an_annotation_that_names_nothing_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="name 'Nowhere' is not defined"):
        load(
            """
            @main.entity(PK="X#{x}", SK="Y")  # WRONG
            class Other(Entity):
                x: Nowhere
            """
        )


def test_two_entities_of_one_name_are_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="has an entity of this name already"):
        load(
            """
            @main.entity(PK="X#{x}", SK="Y")  # WRONG
            class Thing(Entity):
                x: str
            """,
        )


def test_an_access_of_what_is_no_entity_is_refused(load: Load) -> None:
    with pytest.raises(DeclarationError, match="is not an entity of a table"):
        load(
            """
            class Loose(Entity):
                x: str
            class Looses(Access[Loose]):  # WRONG
                pass
            """,
        )


def test_a_fallback_must_be_the_items_own_key_or_a_guard(load: Load) -> None:
    with pytest.raises(DeclarationError, match="Thing has no such guard"):
        load(
            """
            class Things(Access[Thing]):
                def of(self, kind: str, n: int) -> One[Thing]:  # WRONG
                    return first(GPK=f"G#{kind}#{n:05}", fallback=guarded(PK=f"G#{kind}", SK="UNIQUE"))
            """,
        )


def test_a_method_that_answers_something_else_is_left_alone() -> None:
    from tests.tables.sample import Notes

    class Own(Notes):
        def twice(self, number: int) -> int:
            return 2 * number

    assert Own.twice(None, 4) == 8  # type: ignore[arg-type]
    assert inspect.signature(Notes.one) is not None
