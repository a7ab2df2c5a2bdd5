"""Sealed secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.accounts.sealing import SealBroken, Sealer

OLD, NEW = b"the first key of this place......", b"the key that took its place......"


@given(st.text(), st.text(max_size=50))
def test_what_was_sealed_opens_for_its_purpose(secret: str, purpose: str) -> None:
    sealer = Sealer([NEW])

    sealed = sealer.seal(secret, purpose=purpose)

    assert sealer.open(sealed, purpose=purpose) == secret
    with pytest.raises(SealBroken):
        sealer.open(sealed, purpose=purpose + "x")


def test_a_seal_shows_nothing_and_is_never_the_same() -> None:
    sealer, secret = Sealer([NEW]), "whsec_secret"

    first, second = sealer.seal(secret, purpose="p"), sealer.seal(secret, purpose="p")

    assert first != second
    assert secret not in first


def test_after_a_rotation_old_seals_open_and_new_ones_are_of_the_new_key() -> None:
    old = Sealer([OLD])
    sealed = old.seal("secret", purpose="p")
    rotated = Sealer([NEW, OLD])

    again = rotated.seal(rotated.open(sealed, purpose="p"), purpose="p")

    assert not rotated.is_current(sealed)
    assert rotated.is_current(again)
    assert Sealer([NEW]).open(again, purpose="p") == "secret"
    with pytest.raises(SealBroken, match="not here"):
        Sealer([NEW]).open(sealed, purpose="p")


@pytest.mark.parametrize("change", ["", "x", "s1.", "s1..", "s2", "cut", "flip"])
def test_what_is_no_whole_seal_does_not_open(change: str) -> None:
    sealer = Sealer([NEW])
    sealed = sealer.seal("secret", purpose="p")
    broken = {
        "cut": sealed[:-5],
        "flip": sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:],
    }.get(change, change)

    with pytest.raises(SealBroken):
        sealer.open(broken, purpose="p")


def test_a_sealer_needs_a_key() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        Sealer([])
