"""Analytics from roll-ups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.relay.analytics import Analytics, quantile_ms
from entrepot.relay.tallies import LATENCIES_MS
from tests.relay.test_deliveries import answering
from tests.relay.world import ANN, SOURCE, Receiver, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("period", ["24h", "7d", "30d"])
async def test_a_report_counts_what_ended(world: World, receiver: Receiver, period: str) -> None:
    receiver.handler = answering(200, 200, 200, 400)
    await world.connect(receiver.url, 1, retryConfig='{"retryableStatuses":[]}')
    await world.connect(receiver.url, 2, filters='[{"path":"$.type","operator":"equals","value":"other"}]')
    for _ in range(4):
        await world.receive()
        await world.settle()
    await world.settle(seconds=2)
    report = await Analytics(world.db).report(ANN, period)  # type: ignore[arg-type]
    totals = report.totals
    assert (totals.delivered, totals.failed, totals.filtered, totals.successRate) == (3, 1, 4, 0.75)
    assert report.latencyMs.p50 is not None
    assert [source.sourceId for source in report.topSources] == [SOURCE]
    assert sum(span.delivered for span in report.spans) == 3


async def test_a_report_of_nothing_has_its_spans(world: World) -> None:
    report = await Analytics(world.db).report(ANN, "24h")
    assert len(report.spans) == 24
    assert report.totals.successRate is None
    assert report.latencyMs.p50 is None


@given(st.lists(st.integers(0, 9_999), min_size=1), st.sampled_from([0.5, 0.95]))
def test_an_estimated_quantile_is_within_the_bounds_of_the_true_one(
    latencies: list[int], share: float
) -> None:
    counts = [0] * (len(LATENCIES_MS) + 1)
    for latency in latencies:
        counts[next(n for n, bound in enumerate(LATENCIES_MS) if latency <= bound)] += 1
    found = quantile_ms(counts, share)
    assert found is not None
    ordered = sorted(latencies)
    true = ordered[max(0, -(-len(ordered) * int(share * 100) // 100) - 1)]
    bucket = next(n for n, bound in enumerate(LATENCIES_MS) if true <= bound)
    low = LATENCIES_MS[bucket - 1] if bucket else 0
    assert low <= found <= LATENCIES_MS[bucket]
