"""How large a value is when it is written out: one that refers to its parts many times can be endless."""

from __future__ import annotations

from typing import Any

NODES_MAX = 50_000
DEPTH_MAX = 32
CHARACTERS_MAX = 1 << 20


def bounded(value: Any) -> bool:
    """Whether a value has a bearable number of parts, levels and characters; looks at no more than those."""
    nodes = characters = 0
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        nodes += 1
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, list | dict):
            if depth >= DEPTH_MAX or nodes + len(pending) + len(part) > NODES_MAX:
                return False
            if isinstance(part, dict):
                characters += sum(len(name) for name in part)
            pending.extend(
                (inner, depth + 1) for inner in (part.values() if isinstance(part, dict) else part)
            )
        if nodes > NODES_MAX or characters > CHARACTERS_MAX:
            return False
    return True
