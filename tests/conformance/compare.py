"""Asks every peer what the suite asks us, and writes down where they differ: `python -m tests.conformance.compare`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench.peers import Peer, running

from .judgements import AREAS, DISPUTES

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs" / "engine-differences.md"
RUN_SECONDS_MAX = 900
TEXT_MAX = 160

# The kinds of difference, worst first.
CRASH = "fails with a server error"
MISSING = "does not offer the operation"
ACCEPTS = "accepts what is refused"
REFUSES = "refuses what is accepted"
TYPE = "gives another error"
WORDS = "words the error differently"
RESULT = "answers something else"
KINDS = (CRASH, MISSING, ACCEPTS, REFUSES, TYPE, WORDS, RESULT)


class Difference(NamedTuple):
    """One test that a peer does not pass."""

    area: str
    test: str
    kind: str
    expected: str
    got: str


class Findings(NamedTuple):
    peer: Peer
    asked: Counter[str]
    differences: list[Difference]


def main() -> None:
    unjudged = {
        path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")
    } - AREAS.keys()
    if unjudged:
        raise SystemExit(f"judgements.py does not say what these rest on: {', '.join(sorted(unjudged))}")
    with running() as peers:
        findings = [ask(peer) for peer in peers]
    REPORT.write_text(report(findings))
    for found in findings:
        print(f"{found.peer.name}: {len(found.differences)} of {found.asked.total()} differ")


def ask(peer: Peer) -> Findings:
    """Runs the suite against one peer."""
    with tempfile.TemporaryDirectory() as place:
        told = Path(place) / "told.jsonl"
        suite = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            str(ROOT / "tests" / "conformance"),
        ]
        options = ["--endpoint", peer.url, "--differences", str(told)]
        subprocess.run(
            [*suite, *options], cwd=ROOT, stdout=subprocess.DEVNULL, timeout=RUN_SECONDS_MAX, check=False
        )
        outcomes = [json.loads(line) for line in told.read_text().splitlines()]
    asked = Counter(area_of(outcome) for outcome in outcomes)
    return Findings(peer, asked, [difference(outcome) for outcome in outcomes if not outcome["passed"]])


def area_of(outcome: dict[str, Any]) -> str:
    return Path(outcome["test"].partition("::")[0]).stem.removeprefix("test_")


def difference(outcome: dict[str, Any]) -> Difference:
    test = outcome["test"].partition("::")[2].replace("endpoint-", "").replace("[endpoint]", "")
    expected, got = outcome["expected"], outcome["got"]
    if got.startswith("HTTP "):
        got = got.partition(":")[0]
    return Difference(area_of(outcome), test, kind_of(expected, got), expected, got)


def kind_of(expected: str, got: str) -> str:
    if got.startswith(("HTTP 5", "InternalServerError", "InternalFailure")):
        return CRASH
    if got.startswith("UnknownOperation"):
        return MISSING
    if expected == "a refusal":
        return ACCEPTS
    if expected == "an answer":
        return REFUSES
    if not expected:
        return RESULT
    wanted = expected.partition(":")[0] if "Exception:" in expected else "ValidationException"
    return WORDS if got.partition(":")[0] == wanted else TYPE


def report(findings: list[Findings]) -> str:
    lines = [
        "# Where other DynamoDB servers differ",
        "",
        "Written by `make conformance-peers`; the tests are in `tests/conformance`. An expectation is what the service",
        "documents, or what others recorded of its answers; where it answers in two ways, by region, either passes. The suite",
        "can ask the service itself (`--endpoint`), but nothing on this page was asked of it. Entrepot's own engine passes every",
        "test, in process and over botocore. Most of what moto differs in is that it looks for the table before it reads the",
        "request, or fails on a request that an SDK would not send.",
        "",
        "| Server | Tests | Differ | " + " | ".join(kind.capitalize() for kind in KINDS) + " |",
        "|---|---|---|" + "---|" * len(KINDS),
    ]
    for found in findings:
        kinds = Counter(each.kind for each in found.differences)
        counts = " | ".join(str(kinds[kind] or "") for kind in KINDS)
        name = f"{found.peer.name} {found.peer.version}"
        lines.append(f"| {name} | {found.asked.total()} | {len(found.differences)} | {counts} |")
    lines += [
        "",
        "## Who is right, where it is not plain",
        "",
        "| Question | Servers say | Right | Why |",
        "|---|---|---|---|",
    ]
    lines += [f"| {cells(*dispute)} |" for dispute in DISPUTES]
    for found in findings:
        lines += [
            "",
            f"## {found.peer.name}",
            "",
            "| Area | Differ | How | For example | What the expectation rests on |",
            "|---|---|---|---|---|",
        ]
        lines += [
            row(found, area) for area in found.asked if any(each.area == area for each in found.differences)
        ]
    return "\n".join(lines) + "\n"


def row(found: Findings, area: str) -> str:
    differing = [each for each in found.differences if each.area == area]
    kinds = Counter(each.kind for each in differing)
    how = "; ".join(f"{kind} ({kinds[kind]})" for kind in KINDS if kinds[kind])
    worst = min(differing, key=lambda each: KINDS.index(each.kind))
    example = f"`{worst.test}`: {shortened(worst.got)}"
    return f"| {cells(area.replace('_', ' '), f'{len(differing)} of {found.asked[area]}', how, example, AREAS[area])} |"


def cells(*texts: str) -> str:
    return " | ".join(text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for text in texts)


def shortened(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "…"


if __name__ == "__main__":
    main()
