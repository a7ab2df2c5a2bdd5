"""Lists in pages: the `limit` and `cursor` of a request, and the shape of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entrepot.http.problems import FieldError, Invalid


def limit_within(limit: int | None, *, default: int, most: int) -> int:
    """The page's size; one out of bounds is a 400, never cut in silence."""
    if limit is None:
        return default
    if not 1 <= limit <= most:
        raise Invalid([FieldError("limit", f"must be 1 to {most}, not {limit}")])
    return limit


def page(noun: str, things: Sequence[Any], next_cursor: str | None) -> dict[str, Any]:
    """A list as the API answers it: `{devices: […], next_cursor?}`."""
    answer: dict[str, Any] = {noun: things}
    if next_cursor is not None:
        answer["next_cursor"] = next_cursor
    return answer
