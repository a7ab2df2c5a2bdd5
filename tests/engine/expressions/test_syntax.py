"""What the reader refuses, with the token, its neighbours, and the order of complaints."""

from __future__ import annotations

import pytest

from entrepot.engine.expressions.reserved import RESERVED_WORDS

from .asking import holds, key, project, refusal, update

SYNTAX = [
    ("a", "<EOF>", "a"),
    ("NOT #flag", "<EOF>", "#flag"),
    ("a =", "<EOF>", "="),
    ("a-b", "-", "a-b"),
    ("a - b", "-", "a - b"),
    ("!!!", "!", "!!"),
    ("a = :v AND", "<EOF>", "AND"),
    ("a = :v b = :v", "b", ":v b ="),
    ("a AND b = :v", "AND", "a AND b"),
    ("__typename = :v", "_", "__"),
    ("a = :v AND __typename = :v", "_", "AND __"),
    ("_123 = :v", "_", "_123"),
    ("a = 1", "1", "= 1"),
    ("a[:v] = :v", ":v", "[:v]"),
    ("a[-1] = :v", "-", "[-1"),
    ("a[] = :v", "]", "[] ="),
    ("[1] = :v", "[", "[1"),
    ("a IN :v", ":v", "IN :v"),
    ("a IN ()", ")", "()"),
    ("a BETWEEN :v OR :v", "OR", ":v OR :v"),
    ("contains (a, :v", "<EOF>", ":v"),
    ("begins_with a, :v", "a", "begins_with a,"),
    ("(a = :v", "<EOF>", ":v"),
    ("a = :v)", ")", ":v)"),
    ("(a = :v) = :v", "=", ") = :v"),
    ("and = :v", "and", "and ="),
    ("a = not", "not", "= not"),
    ("# = :v", "#", "# ="),
    ("a = :", ":", "= :"),
    ('a = "x"', '"', '= "x'),
    ("a == :v", "=", "== :v"),
    ("é = :v", "é", "é ="),
]


@pytest.mark.parametrize(("text", "token", "near"), SYNTAX)
def test_a_syntax_error_shows_the_token_between_its_neighbours(text: str, token: str, near: str) -> None:
    message = f'Invalid ConditionExpression: Syntax error; token: "{token}", near: "{near}"'
    assert refusal(holds, text, {}, {":v": 1}) == message


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET", "<EOF>", "SET"),
        ("SET _123 = :v", "_", "SET _123"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = :v + :v + :v", "+", ":v + :v"),
        ("SET a = (a + :v) + :v", "+", ") + :v"),
        ("SET a = if_not_exists(a, :v + :v)", "+", ":v + :v"),
        ("SET set = :v", "set", "SET set ="),
        ("SET a = delete(:v)", "delete", "= delete("),
        ("ADD a b", "b", "a b"),
        ("ADD a = :v", "=", "a = :v"),
        ("REMOVE a b", "b", "a b"),
        ("REMOVE a, ", "<EOF>", ","),
        ("SET a :v", ":v", "a :v"),
    ],
)
def test_updates_show_syntax_errors_alike(text: str, token: str, near: str) -> None:
    message = f'Invalid UpdateExpression: Syntax error; token: "{token}", near: "{near}"'
    assert refusal(update, text, {}, {":v": 1}) == message


@pytest.mark.parametrize(
    ("text", "token", "near"), [("a b", "b", "a b"), ("a,", "<EOF>", ","), ("a[].b", "]", "[]."), ("size(a)", "(", "size(a")]
)  # fmt: skip
def test_projections_show_syntax_errors_alike(text: str, token: str, near: str) -> None:
    message = f'Invalid ProjectionExpression: Syntax error; token: "{token}", near: "{near}"'
    assert refusal(project, text, {}) == message


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_expression_is_not_empty(text: str) -> None:
    assert refusal(holds, text, {}) == "Invalid ConditionExpression: The expression can not be empty;"
    assert refusal(update, text, {}) == "Invalid UpdateExpression: The expression can not be empty;"
    assert refusal(project, text, {}) == "Invalid ProjectionExpression: The expression can not be empty;"
    assert refusal(key, text) == "Invalid KeyConditionExpression: The expression can not be empty;"


def test_an_expression_has_at_most_4096_bytes() -> None:
    assert holds("a = :v".ljust(4096), {"a": 1}, {":v": 1})
    message = (
        "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; "
        "expression size: 4097"
    )
    assert refusal(holds, "a = :v".ljust(4097), {}, {":v": 1}) == message
    assert refusal(project, "é" * 2049, {}).endswith("expression size: 4098")


def test_an_expression_has_at_most_300_operators() -> None:
    assert holds(" OR ".join(["a=:v"] * 150), {"a": 1}, {":v": 1})
    message = "Invalid ConditionExpression: The expression contains too many operators; operator count: 301"
    assert refusal(holds, " OR ".join(["a=:v"] * 151), {}, {":v": 1}) == message


def test_deep_nesting_is_read_or_refused_but_never_fails() -> None:
    assert not holds("NOT (" * 299 + "a = :v" + ")" * 299, {"a": 1}, {":v": 1})
    nested = "if_not_exists(a," * 200 + ":v" + ")" * 200
    assert update(f"SET b = {nested}", {}, {":v": 1}) == {"b": 1}
    redundant = "Invalid ConditionExpression: The expression has redundant parentheses;"
    assert refusal(holds, "(" * 2000 + "a = :v" + ")" * 2000, {}, {":v": 1}) == redundant
    assert "too many operators" in refusal(holds, "size(" * 600 + "a" + ")" * 600, {})


@pytest.mark.parametrize("word", ["abort", "Data", "STATUS", "ttl", "zone", "size"])
def test_a_reserved_word_needs_a_placeholder(word: str) -> None:
    reason = f"Attribute name is a reserved keyword; reserved keyword: {word}"
    assert refusal(holds, f"{word} = :v", {}, {":v": 1}) == f"Invalid ConditionExpression: {reason}"
    assert refusal(holds, f"a.{word} = :v", {}, {":v": 1}) == f"Invalid ConditionExpression: {reason}"
    assert refusal(update, f"SET a = {word}", {}) == f"Invalid UpdateExpression: {reason}"
    assert refusal(project, f"a, {word}", {}) == f"Invalid ProjectionExpression: {reason}"
    assert holds("#w = :v", {word: 1}, {":v": 1}, {"#w": word})


def test_there_are_573_reserved_words() -> None:
    assert len(RESERVED_WORDS) == 573
    assert {"ABORT", "NAME", "STATUS", "TIMESTAMP", "TTL", "ZONE"} <= RESERVED_WORDS


@pytest.mark.parametrize(
    "text", ["((a = :v))", "(((a)) = :v)", "a = ((:v))", "NOT ((a = :v))", "size(((a))) = :v", "( (a = :v) )"]
)
def test_redundant_parentheses_are_refused(text: str) -> None:
    message = "Invalid ConditionExpression: The expression has redundant parentheses;"
    assert refusal(holds, text, {}, {":v": 1}) == message


@pytest.mark.parametrize(
    "text", ["(a = :v)", "((a) = :v)", "(a) = (:v)", "((a = :v) AND (a = :v))", "(NOT (a = :v)) OR (a = :v)"]
)
def test_other_parentheses_are_not(text: str) -> None:
    assert holds(text, {"a": 1}, {":v": 1})


def test_a_path_may_go_on_after_parentheses() -> None:
    assert holds("(a.b).c = :v AND (a)[0] = :v", {"a": {"b": {"c": 1}}}, {":v": 1}) is False
    assert holds("(a.b).c = :v", {"a": {"b": {"c": 1}}}, {":v": 1})


def test_a_list_index_has_a_range() -> None:
    assert not holds("a[2147483647] = :v", {"a": [1]}, {":v": 1})
    reason = "List index is not within the allowable range; index: [2147483648]"
    assert refusal(holds, "a[2147483648] = :v", {}, {":v": 1}) == f"Invalid ConditionExpression: {reason}"
    assert refusal(project, "a[2147483648]", {}) == f"Invalid ProjectionExpression: {reason}"
    assert "index: [99999999999999999999]" in refusal(update, "REMOVE a[99999999999999999999]", {})


def test_a_path_has_at_most_32_steps() -> None:
    assert project("a" + ".b" * 31, {}) == {}
    reason = "The document path has too many nesting levels; nesting levels: 33"
    assert refusal(project, "a" + ".b" * 32, {}) == f"Invalid ProjectionExpression: {reason}"
    assert refusal(update, "SET a" + "[0]" * 32 + " = :v", {}, {":v": 1}).endswith(reason)


def test_keywords_are_read_in_any_case_but_functions_are_not() -> None:
    assert holds("a beTween :l and :h Or noT a in (:l)", {"a": 2}, {":l": 1, ":h": 3})
    assert update("set a = :l remove b", {"b": 1}, {":l": 1}) == {"a": 1}
    reason = "Invalid function name; function: Size"
    assert refusal(holds, "Size(a) = :v", {}, {":v": 1}) == f"Invalid ConditionExpression: {reason}"


def test_the_order_of_complaints() -> None:
    parts = ["a = a", "#n = :v", "abort = :v", "size(a)", "nope(a)", "((a = :v))"]
    reasons = [
        "The first operand must be distinct",
        "An expression attribute name used in the document path is not defined",
        "Attribute name is a reserved keyword",
        "The function is not allowed to be used this way",
        "Invalid function name",
        "The expression has redundant parentheses",
    ]
    # A mistake of a later kind is told first, wherever it stands; the first two kinds go by place.
    for last in range(2, len(parts)):
        assert reasons[last] in refusal(holds, " AND ".join(parts[: last + 1]), {}, {":v": 1})
    assert reasons[0] in refusal(holds, " AND ".join(parts[:2]), {}, {":v": 1})
    assert reasons[1] in refusal(holds, " AND ".join([parts[1], parts[0]]), {}, {":v": 1})
    assert "Syntax error" in refusal(holds, " AND ".join([*parts, "!"]), {}, {":v": 1})


def test_the_order_of_complaints_about_updates() -> None:
    assert "reserved keyword: data" in refusal(update, "SET a = nope(:v) SET data = :v", {}, {":v": 1})
    assert "function: nope" in refusal(update, "SET a = nope(:v) SET b = :v", {}, {":v": 1})
    section = 'Invalid UpdateExpression: The "SET" section can only be used once in an update expression;'
    assert refusal(update, "SET a = #n SET b = :v", {}, {":v": 1}) == section
    assert "attribute name: #n" in refusal(update, "SET a = :w, b = #n", {}, {":v": 1})
    assert "attribute value: :w" in refusal(update, "SET a = :w, a = :v", {}, {":v": 1})
    assert "paths overlap" in refusal(
        update, "SET a.b = :v, a[0] = :v, c = :v, c = :v ADD d :v", {}, {":v": "x"}
    )
    assert "paths conflict" in refusal(update, "SET a.b = :v, a[0] = :v ADD d :v", {}, {":v": "x"})
    assert "operator: ADD" in refusal(update, "SET a = a + :v ADD d :v", {}, {":v": "x"})
    assert "operator or function: +" in refusal(update, "SET a = a + :v", {}, {":v": "x"})
