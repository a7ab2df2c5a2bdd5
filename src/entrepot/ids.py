"""Identifiers: random ones, and ULIDs that sort by the time they were made."""

from __future__ import annotations

import os
import secrets

NANOID_ALPHABET = "useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict"
BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CROCKFORD_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

_ULID_RANDOM_BITS = 80
_ULID_RANDOM_MAX = (1 << _ULID_RANDOM_BITS) - 1
_ULID_TIME_MAX = (1 << 48) - 1
# 248 is the largest multiple of 62 in a byte: bytes from there on would favour the first letters.
_BASE62_FAIR = 248


def nanoid(size: int = 21) -> str:
    """Random text of nanoid's alphabet, 6 bits a character."""
    return "".join([NANOID_ALPHABET[byte & 63] for byte in os.urandom(size)])


def base62(size: int) -> str:
    """Random letters and digits, each equally likely."""
    letters: list[str] = []
    while len(letters) < size:
        fair = [BASE62_ALPHABET[byte % 62] for byte in os.urandom(size + 8) if byte < _BASE62_FAIR]
        letters.extend(fair[: size - len(letters)])
    return "".join(letters)


class Ulids:
    """Makes ULIDs that rise strictly in one process, even within a millisecond or when time steps back."""

    __slots__ = ("_last_ms", "_last_random")

    def __init__(self) -> None:
        self._last_ms = -1
        self._last_random = 0

    def make(self, epoch_ms: int) -> str:
        """The next ULID at this time."""
        if epoch_ms > self._last_ms:
            self._last_ms = epoch_ms
            # The top bit stays free, so that counting up within a millisecond has room.
            self._last_random = secrets.randbits(_ULID_RANDOM_BITS - 1)
        elif self._last_random < _ULID_RANDOM_MAX:
            self._last_random += 1
        else:
            self._last_ms += 1
            self._last_random = secrets.randbits(_ULID_RANDOM_BITS - 1)
        return ulid_of(self._last_ms, self._last_random)


def ulid_of(epoch_ms: int, random: int) -> str:
    """The ULID of a time and 80 random bits."""
    if not 0 <= epoch_ms <= _ULID_TIME_MAX:
        raise ValueError(f"{epoch_ms} ms is outside a ULID's time (0 to {_ULID_TIME_MAX})")
    number = epoch_ms << _ULID_RANDOM_BITS | random
    return "".join([CROCKFORD_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5)])
