"""What the doctor says of the fleet's database."""

from __future__ import annotations

from pathlib import Path

from entrepot.fleet.diagnosis import examine


def test_a_server_that_answers_is_well(url: str, tmp_path: Path) -> None:
    verdict, text = examine(url, tmp_path)
    assert (verdict, text.startswith("version 18.")) == ("ok", True)


def test_a_server_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    assert examine("postgresql://x@127.0.0.1:1/x", tmp_path)[0] == "failure"
    assert examine("nonsense://", tmp_path)[0] == "failure"


def test_one_of_our_own_starts_on_first_use(tmp_path: Path) -> None:
    verdict, text = examine(None, tmp_path)
    assert verdict == "ok"
    assert "starts on first use" in text
