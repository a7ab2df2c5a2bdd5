"""Text of an expression to tokens."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from entrepot.engine.errors import Validation

TokenKind = Literal["word", "name", "value", "index", "symbol", "unknown", "end"]

EXPRESSION_BYTES_MAX = 4096
END = "<EOF>"

# A character that starts no token is a token of its own, which no rule accepts.
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<name>\#[A-Za-z0-9_]+)"
    r"|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<index>[0-9]+)"
    r"|(?P<symbol><>|<=|>=|[=<>()\[\].,+-])"
    r"|(?P<space>[ \t\r\n]+)"
    r"|(?P<unknown>.)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A piece of an expression and where it stands in the text."""

    kind: TokenKind
    text: str
    start: int
    end: int


class Tokens:
    """A cursor over the tokens of one expression, which knows how DynamoDB words a syntax error."""

    __slots__ = ("_text", "_tokens", "current", "kind", "position")

    def __init__(self, text: str, kind: str) -> None:
        self.kind = kind
        self._text = text
        self._tokens = _split(text)
        self.position = 0
        self.current = self._tokens[0]

    def take(self) -> Token:
        """The current token; the cursor moves to the next."""
        token = self.current
        if token.kind != "end":
            self.position += 1
            self.current = self._tokens[self.position]
        return token

    def following(self) -> Token:
        """The token after the current one."""
        return self._tokens[min(self.position + 1, len(self._tokens) - 1)]

    def at(self, symbol: str) -> bool:
        return self.current.text == symbol and self.current.kind == "symbol"

    def at_word(self, keyword: str) -> bool:
        return self.current.kind == "word" and self.current.text.upper() == keyword

    def expect(self, symbol: str) -> Token:
        if not self.at(symbol):
            raise self.syntax_error()
        return self.take()

    def at_end(self) -> bool:
        return self.current.kind == "end"

    def expect_end(self) -> None:
        if not self.at_end():
            raise self.syntax_error()

    def syntax_error(self) -> Validation:
        """The error for a current token that no rule accepts, shown between its neighbours."""
        before = self._tokens[max(self.position - 1, 0)]
        after = self.following()
        last = after if after.kind != "end" else self.current
        end = last.end if last.kind != "end" else before.end
        near = self._text[before.start : end]
        return self.error(f'Syntax error; token: "{self.current.text}", near: "{near}"')

    def error(self, message: str) -> Validation:
        return Validation(f"Invalid {self.kind}: {message}")


def check_size(text: str, kind: str) -> None:
    """Refuse an expression that is empty or longer than DynamoDB reads."""
    if not text.strip(" \t\r\n"):
        raise Validation(f"Invalid {kind}: The expression can not be empty;")
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > EXPRESSION_BYTES_MAX:
        raise Validation(
            f"Invalid {kind}: Expression size has exceeded the maximum allowed size; expression size: {size}"
        )


def _split(text: str) -> list[Token]:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind != "space":
            tokens.append(Token(kind, match.group(), match.start(), match.end()))  # type: ignore[arg-type]
    tokens.append(Token("end", END, len(text), len(text)))
    return tokens
