"""Slots: how much work of one kind runs at once, shared fairly among keys; and what waits for one."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable


class Slots:
    """Counts what runs. A key may have as many slots as there are free ones, at most `per_key`.

    So several keys that are slow together never take the last slot from one that is not.
    """

    __slots__ = ("_by_tag", "per_key", "running", "total")

    def __init__(self, total: int, per_key: int) -> None:
        self.total = total
        self.per_key = per_key
        self.running = 0
        self._by_tag: dict[str, int] = {}

    @property
    def free(self) -> int:
        return self.total - self.running

    def admits(self, tag: str) -> bool:
        """Whether work with this tag may start now."""
        free = self.total - self.running
        return free > 0 if not tag else self._by_tag.get(tag, 0) < min(self.per_key, free)

    def take(self, tag: str) -> None:
        """Occupy a slot."""
        self.running += 1
        if tag:
            self._by_tag[tag] = self._by_tag.get(tag, 0) + 1

    def give(self, tag: str) -> None:
        """Free a slot."""
        self.running -= 1
        if not tag:
            return
        left = self._by_tag[tag] - 1
        if left:
            self._by_tag[tag] = left
        else:
            del self._by_tag[tag]


class Backlog:
    """Places that were seen to be due and wait for a slot, not claimed; bounded in all and for each tag."""

    __slots__ = ("_places", "_queues", "_turned_away", "per_tag_max", "total_max")

    def __init__(self, total_max: int, per_tag_max: int) -> None:
        self.total_max = total_max
        self.per_tag_max = per_tag_max
        self._queues: OrderedDict[str, deque[tuple[int, str]]] = OrderedDict()
        self._places: set[str] = set()
        self._turned_away: set[str] = set()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, place: str) -> bool:
        return place in self._places

    @property
    def full(self) -> bool:
        return len(self._places) >= self.total_max

    def has(self, tag: str) -> bool:
        """Whether work with this tag waits here, or had to be left in the index."""
        return tag in self._queues or tag in self._turned_away

    def offer(self, place: str, shard: int, tag: str) -> bool:
        """Keep a place, unless too many wait already; one key's may not fill all of it."""
        queue = self._queues.get(tag)
        if tag and queue is not None and len(queue) >= self.per_tag_max:
            self._turned_away.add(tag)
            return False
        if queue is None:
            queue = self._queues[tag] = deque()
        queue.append((shard, place))
        self._places.add(place)
        return True

    def take(self, admits: Callable[[str], bool]) -> tuple[int, str, str] | None:
        """The next place that may start, its shard and tag; tags have their turn one after the other."""
        for tag, queue in self._queues.items():
            if not admits(tag):
                continue
            shard, place = queue.popleft()
            self._places.discard(place)
            if queue:
                self._queues.move_to_end(tag)
            else:
                del self._queues[tag]
            return shard, place, tag
        return None

    def clear(self) -> None:
        """Forget all that waits; the index still has it."""
        self._queues.clear()
        self._places.clear()
        self._turned_away.clear()

    def came_short(self) -> bool:
        """Whether a key whose places were turned away has room again; asked once for each time."""
        short = {tag for tag in self._turned_away if len(self._queues.get(tag, ())) * 2 <= self.per_tag_max}
        self._turned_away -= short
        return bool(short)
