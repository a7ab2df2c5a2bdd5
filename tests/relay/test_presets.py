"""Notify presets: what each sends for a domain event."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from entrepot.relay import filters, transforms
from entrepot.relay.presets import Notify, TopicMissing, connection_of
from entrepot.relay.views import view_of
from tests.relay.world import ANN, World

pytestmark = pytest.mark.anyio


async def sent(world: World, notify: Notify) -> Any:
    fields = connection_of(notify)
    view = view_of(await world.relay.domain.sample(ANN))
    assert filters.checked(fields["filters"]).passes(view) == (notify.types in ([], ["relay.test"]))
    return msgspec.json.decode(transforms.checked(fields["transform"]).apply(view).body)


async def test_ntfy_gets_a_topic_a_title_and_a_message(world: World) -> None:
    notify = Notify(preset="ntfy", url="https://ntfy.example.org/", topic="home", types=["relay.test"])
    assert await sent(world, notify) == {
        "topic": "home",
        "title": "relay.test",
        "message": "relay.test: sample",
    }


async def test_slack_gets_a_text(world: World) -> None:
    notify = Notify(preset="slack", url="https://hooks.example.org/x", types=["fleet.device.offline"])
    assert await sent(world, notify) == {"text": "relay.test: sample"}


async def test_home_assistant_gets_the_event_as_it_is(world: World) -> None:
    found = await sent(world, Notify(preset="home_assistant", url="https://ha.example.org/api/webhook/x"))
    assert (found["specversion"], found["type"], found["data"]) == ("1.0", "relay.test", {"hello": "world"})


async def test_a_token_goes_along_as_a_header() -> None:
    notify = Notify(preset="slack", url="https://hooks.example.org/x", token="t")
    assert connection_of(notify)["headers"] == {"Authorization": "Bearer t"}


async def test_ntfy_without_a_topic_is_refused() -> None:
    with pytest.raises(TopicMissing):
        connection_of(Notify(preset="ntfy", url="https://ntfy.example.org/"))
