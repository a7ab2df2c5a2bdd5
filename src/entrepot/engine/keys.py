"""Keys as bytes whose order is DynamoDB's order.

A key is `partition + sort`. The partition part begins with four bytes of a hash of the partition key, so
that items lie in the order in which the cloud's scans return them and segments of a parallel scan are
ranges; the escaped partition key follows, so that two keys of one hash stay apart. Strings and binaries
are escaped and ended with two zero bytes; numbers are an exponent and digits to the base of one hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from hashlib import md5
from typing import Any

from entrepot.engine.values.numbers import Number, exact

HASH_BYTES = 4
CACHED_PARTITIONS = 8_192
CACHED_TEXT_MAX = 256
_END = b"\x00\x00"
_MANTISSA_BYTES_MAX = 20
_POSITIVE = bytes((byte >> 4) * 10 + (byte & 15) + 1 & 0xFF for byte in range(256))
_NEGATIVE = bytes(101 - (byte >> 4) * 10 - (byte & 15) & 0xFF for byte in range(256))


def partition(kind: str, value: Any) -> bytes:
    """The first part of a key: where the items of one partition key lie together."""
    if kind == "S":
        return _text_partition(value) if len(value) <= CACHED_TEXT_MAX else _make_text_partition(value)
    if kind == "B":
        raw: bytes = value
        escaped = raw.replace(b"\x00", b"\x00\xff") + _END
    else:
        raw = number_bytes(value)
        escaped = raw + _END
    return partition_hash(raw) + escaped


def _make_text_partition(value: str) -> bytes:
    raw = value.encode()
    return partition_hash(raw) + raw.replace(b"\x00", b"\x00\xff") + _END


# The same few partitions are asked for again and again: sources, devices, owners.
_text_partition = lru_cache(CACHED_PARTITIONS)(_make_text_partition)


def partition_hash(raw: bytes) -> bytes:
    # The salt is the cloud's: with it, scans and their segments come in the same order as there.
    return md5(b"Outliers" + raw, usedforsecurity=False).digest()[:HASH_BYTES]


def sort_prefix(kind: str, value: Any) -> bytes:
    """What the sort part of every string or binary that begins with `value` begins with."""
    raw: bytes = value.encode() if kind == "S" else value
    return raw.replace(b"\x00", b"\x00\xff")


def after(key: bytes) -> bytes:
    """The smallest bytes above everything that begins with `key`."""
    stripped = key.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,))


def number_bytes(number: Number) -> bytes:
    """A number as bytes in numeric order."""
    negative, text, scale = _parts(number)
    if not text:
        return b"\x80"
    if scale % 2:
        text = "0" + text
        scale += 1
    if len(text) % 2:
        text += "0"
    head = scale // 2 - 64 & 0xFF
    # Hexadecimal digits read as decimal ones give each pair's byte without arithmetic in Python.
    pairs = bytes.fromhex(text)
    if not negative:
        return bytes((head,)) + pairs.translate(_POSITIVE)
    tail = b"\x66" if len(pairs) < _MANTISSA_BYTES_MAX else b""
    return bytes((head ^ 0xFF,)) + pairs.translate(_NEGATIVE) + tail


def _parts(number: Number) -> tuple[bool, str, int]:
    """Sign, digits and scale of a number, which is 0.digits times ten to the power of scale."""
    if type(number) is int:
        digits = str(abs(number)) if number else ""
        return number < 0, digits.rstrip("0"), len(digits)
    sign, figures, exponent = exact(number).as_tuple()
    digits = "".join(map(str, figures)).lstrip("0")
    return sign == 1, digits.rstrip("0"), len(digits) + int(exponent)


def _sort_text(value: str) -> bytes:
    return value.encode().replace(b"\x00", b"\x00\xff") + _END


def _sort_blob(value: bytes) -> bytes:
    return value.replace(b"\x00", b"\x00\xff") + _END


def _sort_number(value: int | float | Decimal) -> bytes:
    return number_bytes(value) + _END


SORTERS: dict[str, Callable[[Any], bytes]] = {"S": _sort_text, "B": _sort_blob, "N": _sort_number}
