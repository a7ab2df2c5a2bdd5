"""Pure decisions: where work stands in the index, when it is tried again, when a schedule is next due."""

from __future__ import annotations

import functools
import hashlib
import zlib

from entrepot.ids import CROCKFORD_ALPHABET

RETRY_MS_FIRST = 1_000
RETRY_MS_MAX = 300_000
TAGS_KEPT = 4096

_ULID_CHARACTERS = 26
_TIME_CHARACTERS = 10
_MS_DIGITS = 13
# After every work id, so that a bound made with it takes in all that are due at its time.
_LAST = "\uffff"


def due_pk(kind: str, shard: int) -> str:
    """The partition of the index in which work of a kind waits for its time."""
    return f"DUE#{kind}#{shard}"


def held_pk(key: str) -> str:
    """The partition of the index in which work waits for its release."""
    return f"HELD#{key}"


def due_sk(due_at_ms: int, work_id: str) -> str:
    """The place of work in its partition: by time, then by id."""
    return f"{due_at_ms:013}#{work_id}"


def due_until(at_ms: int) -> str:
    """A bound that takes in all that is due at this time or before."""
    return f"{at_ms:013}#{_LAST}"


def due_at_ms(place: str) -> int:
    """The time in a place."""
    return int(place[:_MS_DIGITS])


def work_id_at(place: str) -> str:
    """The work id in a place."""
    return place[_MS_DIGITS + 1 :]


def work_id(ulid: str, key: str | None) -> str:
    """An id that tells, without reading the item, which work shares a key."""
    return ulid if key is None else f"{ulid}.{tag_of(key)}"


@functools.lru_cache(maxsize=TAGS_KEPT)
def tag_of(key: str) -> str:
    """A short name of a key; two keys that share one only share their concurrency."""
    digest = int.from_bytes(hashlib.blake2s(key.encode(), digest_size=4).digest(), "big")
    return "".join([CROCKFORD_ALPHABET[digest >> shift & 31] for shift in range(0, 30, 5)])


def tag_in(id_: str) -> str:
    """The tag of the key in a work id; empty without one."""
    return id_[_ULID_CHARACTERS + 1 :] if id_[_ULID_CHARACTERS : _ULID_CHARACTERS + 1] == "." else ""


def made_at_ms(id_: str) -> int:
    """When work was put, as its id tells; 0 for one of a fixed name."""
    time = id_[:_TIME_CHARACTERS]
    if len(id_) < _ULID_CHARACTERS or any(letter not in CROCKFORD_ALPHABET for letter in time):
        return 0
    number = 0
    for letter in time:
        number = number << 5 | CROCKFORD_ALPHABET.index(letter)
    return number


def shard_of(id_: str, shards: int) -> int:
    """The shard of work: by its id and not by its key, so that a busy key has the capacity of all shards."""
    return zlib.crc32(id_.encode()) % shards if shards > 1 else 0


def retry_ms(attempts: int) -> int:
    """How long to wait after so many failed attempts."""
    return int(min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** min(attempts - 1, 20)))


def next_run_ms(now_ms: int, *, every_ms: int, offset_ms: int = 0) -> int:
    """The next time of a schedule after now: on the grid of its period, so that missed times are left out."""
    return ((now_ms - offset_ms) // every_ms + 1) * every_ms + offset_ms
