"""What an operation is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from entrepot.engine.shapes import Record


class Operation(NamedTuple):
    """A name of the API, the shape of its request, and the function that runs it.

    `run` takes the engine and the request; it answers at once, or gives something to await.
    """

    name: str
    shape: Record
    run: Callable[[Any, dict[str, Any]], Any]
    answers_at_once: bool = False
