"""Launches of kernel executions while a program runs: by order on each stream, never by a guess.

A stream runs kernels in the order in which they were launched, and CUPTI's correlation ids count
launches. So on each (device, stream) the launches, in the order in which they returned (one may try
others out before it launches), and the kernels that have a launched kernel's name and grid, in
order of correlation, are two lists of the same (name, grid).
Where they differ, something else launched such a kernel, or a record was lost: then everything
between two moments at which the stream certainly was idle stays without a launch, and is counted.

Kernels that ran from a graph are joined to the launches that were captured into it. The driver
copies the graph when it makes it executable; nodes keep their order, and the copy has the next
larger number. So a graph's kernels, in order of their nodes, must be the captured launches, in
order of time, of one earlier graph: of the one just before it, or else of the only one that fits.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.cupti.records import Kernels, joined
from kvtrace.figures.causes import NONE, Launches, by_place, places

#: A stream that ran nothing for this long had nothing to run, in nanoseconds.
_IDLE: Final = 200_000
#: How much earlier than its launch a kernel may seem to begin, for the two clocks' sake.
_SLACK: Final = 5_000
#: So many pairs in a row, all fitting, are taken without waiting for an idle stream.
_CERTAIN: Final = 4_096
#: A stream that had more launches than kernels for this long has lost one, in nanoseconds.
_BLOCKED: Final = 2_000_000_000
#: More kernels of a stream than this do not wait for one that fits.
_PATIENCE: Final = 200_000


@dataclass(frozen=True)
class Joined:
    """Kernels with the launch and the call of each; `NONE` where there is none for certain.

    `foreign` are those that no launch can have caused: none has their name and grid.
    """

    kernels: Kernels
    seq: NDArray[np.int64]
    call: NDArray[np.int64]
    foreign: NDArray[np.bool_]

    @property
    def by_request(self) -> NDArray[np.bool_]:
        """Whose begin the host's request says: a graph is replayed long after its launches."""
        replayed: NDArray[np.bool_] = (self.seq == NONE) | (self.kernels.graph != 0)
        return replayed


def put_together(parts: list[Joined]) -> Joined:
    """Make one of several, at least one."""
    if len(parts) == 1:
        return parts[0]
    return Joined(
        kernels=joined([part.kernels for part in parts]),
        seq=np.concatenate([part.seq for part in parts]),
        call=np.concatenate([part.call for part in parts]),
        foreign=np.concatenate([part.foreign for part in parts]),
    )


@dataclass
class Counts:
    """What became of the kernels: `foreign` ones have no launched kernel's name and grid."""

    joined: int = 0
    foreign: int = 0
    ambiguous: int = 0


@dataclass
class _Stream:
    launches: list[Launches] = field(default_factory=list)
    kernels: list[Kernels] = field(default_factory=list)
    #: Whether the order was lost; nothing is joined until the stream has been idle.
    lost: bool = False


class Joiner:
    """Takes launches and kernels as they come, and gives kernels with their launches."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.counts = Counts()
        #: by the number of device and stream
        self._streams: dict[int, _Stream] = {}
        self._captured: dict[int, list[Launches]] = {}
        #: executable graph → launch and call by node, or None where no captured graph fits
        self._graphs: dict[int, dict[int, tuple[int, int]] | None] = {}
        self._replays: dict[int, list[Kernels]] = {}
        #: by look: whether a launch has it
        self._launched = np.zeros(64, bool)

    def add_launches(self, launches: Launches) -> None:
        """Take launches in order of their `seq`; streams have CUPTI's numbers, as kernels'."""
        missing = int(launches.look.max(initial=0)) + 1 - len(self._launched)
        if missing > 0:
            self._launched = np.pad(self._launched, (0, missing + len(self._launched)))
        self._launched[launches.look] = True
        for graph, captured in launches.of_graphs():
            self._captured.setdefault(graph, []).append(captured)
        direct = launches.chosen(launches.graph == NONE)
        for place, rows in by_place(direct.place):
            self._streams.setdefault(place, _Stream()).launches.append(direct.chosen(rows))

    def add_kernels(self, kernels: Kernels) -> None:
        """Take kernels, in any order, after the launches that may have caused them."""
        in_graph = kernels.graph != 0
        for graph in np.unique(kernels.graph[in_graph]).tolist():
            rows = kernels.graph == graph
            self._replays.setdefault(graph, []).append(kernels.chosen(rows))
        direct = kernels.chosen(~in_graph)
        for place, rows in by_place(places(direct.device, direct.stream)):
            self._streams.setdefault(place, _Stream()).kernels.append(direct.chosen(rows))

    def lose_order(self) -> None:
        """Note that records were lost: nothing that waits can be joined any more."""
        for stream in self._streams.values():
            stream.lost = True

    def take(self, final: bool = False) -> list[Joined]:
        """Return what is decided by now; `final`: everything, for nothing more will come."""
        given = []
        for stream in self._streams.values():
            given += self._take_stream(stream, final)
        for graph, parts in list(self._replays.items()):
            kernels = joined(parts)
            ready = self._complete(kernels, final)
            if ready.any():
                given.append(self._take_graph(graph, kernels.chosen(ready)))
            rest = kernels.chosen(~ready)
            self._replays[graph] = [rest] if len(rest) else []
            if not len(rest):
                del self._replays[graph]
        return given

    def _named(self, kernels: Kernels) -> NDArray[np.bool_]:
        """Which kernels have a name and a grid that were launched."""
        beyond = kernels.look >= len(self._launched)
        return np.asarray(self._launched[np.where(beyond, 0, kernels.look)] & ~beyond)

    # -- streams ----------------------------------------------------------------------------

    def _take_stream(self, stream: _Stream, final: bool) -> list[Joined]:
        if not stream.kernels:
            if final:
                stream.launches.clear()
            return []
        kernels = _sorted(joined(stream.kernels))
        waiting = _Waiting(Launches.joined(stream.launches).in_order())
        named_before = np.concatenate(([0], np.cumsum(self._named(kernels))))
        given = []
        begin = 0
        for border in _idle_before(kernels):
            split = int(kernels.start[border]) - _IDLE // 2
            launched, under_way = waiting.count_before(split)
            ran = int(named_before[border] - named_before[begin])
            awaits_more = ran < launched  # the stream may have waited for another one
            part = kernels.chosen(slice(begin, border))
            if (under_way or (awaits_more and not stream.lost)) and not _is_hopeless(part):
                continue  # it is not certain on which side a launch belongs: see what follows
            given.append(self._segment(part, waiting.first(launched), stream.lost))
            # Where all fits, a launch that is in progress has yet to launch; else it may have.
            fits = launched == ran and not stream.lost
            waiting.leave_out(split, also_under_way=not fits)
            stream.lost = False
            begin = border
        launches = waiting.rest()
        kernels = kernels.chosen(slice(begin, len(kernels)))
        if final:
            given.append(self._segment(kernels, launches, stream.lost))
            kernels, launches = kernels.chosen(slice(0)), launches.chosen(slice(0))
        elif not stream.lost:
            decided, kernels, launches = self._prefix(kernels, launches, stream)
            given += decided
        elif len(kernels) > _PATIENCE:
            given.append(self._unjoined(kernels))
            launches = launches.chosen(launches.leave > int(kernels.end.max()))
            kernels = kernels.chosen(slice(0))
        stream.kernels = [kernels] if len(kernels) else []
        stream.launches = [launches] if len(launches) else []
        return given

    def _segment(self, kernels: Kernels, launches: Launches, lost: bool) -> Joined:
        """Join all that ran between two idle moments, or nothing of it."""
        rows = np.flatnonzero(self._named(kernels))
        same = len(rows) == len(launches) and not lost
        if not same or not _fits(kernels.chosen(rows), launches):
            return self._unjoined(kernels)
        return self._with(kernels, rows, launches)

    def _prefix(
        self, kernels: Kernels, launches: Launches, stream: _Stream
    ) -> tuple[list[Joined], Kernels, Launches]:
        """Join a long beginning that fits, on a stream that is never idle."""
        rows = np.flatnonzero(self._named(kernels))
        pairs = min(len(rows), len(launches))
        if not _fits(kernels.chosen(rows[:pairs]), launches.chosen(slice(pairs))):
            stream.lost = True
            return [], kernels, launches
        taken = pairs - _CERTAIN
        if taken <= 0:
            return [], kernels, launches
        end = int(rows[taken])
        own = launches.chosen(slice(taken))
        if _all_equal(launches.look[taken:pairs]):
            # One launch more or less would fit as well: which call it is may still be certain.
            calls = own.call if _all_equal(launches.call[:pairs]) else np.full(taken, NONE)
            own = replace(own, seq=np.full(taken, NONE, np.int64), call=calls)
        part = self._with(kernels.chosen(slice(end)), rows[:taken], own)
        left = kernels.chosen(slice(end, len(kernels)))
        return [part], left, launches.chosen(slice(taken, len(launches)))

    def _with(self, kernels: Kernels, rows: NDArray[np.int64], launches: Launches) -> Joined:
        seq = np.full(len(kernels), NONE, np.int64)
        call = seq.copy()
        seq[rows], call[rows] = launches.seq, launches.call
        foreign = np.ones(len(kernels), bool)
        foreign[rows] = False
        self.counts.joined += len(rows)
        self.counts.foreign += len(kernels) - len(rows)
        return Joined(kernels, seq, call, foreign)

    def _unjoined(self, kernels: Kernels) -> Joined:
        foreign = ~self._named(kernels)
        self.counts.ambiguous += int((~foreign).sum())
        self.counts.foreign += int(foreign.sum())
        none = np.full(len(kernels), NONE, np.int64)
        return Joined(kernels, none, none, foreign)

    # -- graphs -----------------------------------------------------------------------------

    def _complete(self, kernels: Kernels, final: bool) -> NDArray[np.bool_]:
        """Which kernels are of replays that have ended: a later replay has begun."""
        if final:
            return np.ones(len(kernels), bool)
        return np.asarray(kernels.correlation < kernels.correlation.max())

    def _take_graph(self, graph: int, kernels: Kernels) -> Joined:
        if graph not in self._graphs:
            replay = kernels.correlation == kernels.correlation.min()
            self._graphs[graph] = self._nodes_of(graph, kernels.chosen(replay))
        found = self._graphs[graph]
        if found is None:
            return self._unjoined(kernels)
        pairs = [found.get(node, (NONE, NONE)) for node in kernels.graph_node.tolist()]
        seq, call = np.asarray(pairs, np.int64).reshape(-1, 2).T
        self.counts.joined += int((call != NONE).sum())
        self.counts.foreign += int((call == NONE).sum())
        return Joined(kernels, seq, call, call == NONE)

    def _nodes_of(self, graph: int, replay: Kernels) -> dict[int, tuple[int, int]] | None:
        """Return launch and call of each node, from the captured graph that this one copies."""
        order = np.argsort(replay.graph_node, kind="stable")
        nodes = replay.chosen(order[self._named(replay)[order]])
        fitting = [
            launches
            for launches in self._captured_before(graph)
            if np.array_equal(launches.look, nodes.look)
        ]
        if not fitting:
            return None
        nearest = fitting[0]
        certain = int(nearest.graph[0]) == graph - 1 or len(fitting) == 1
        calls_agree = all(np.array_equal(other.call, nearest.call) for other in fitting)
        if not certain and not calls_agree:
            return None
        seq = nearest.seq if certain else np.full(len(nearest), NONE, np.int64)
        pairs = zip(seq.tolist(), nearest.call.tolist(), strict=True)
        return dict(zip(nodes.graph_node.tolist(), pairs, strict=True))

    def _captured_before(self, graph: int) -> list[Launches]:
        """Return the captured graphs with smaller numbers, the nearest first."""
        earlier = sorted((number for number in self._captured if number < graph), reverse=True)
        return [Launches.joined(self._captured[number]).in_order() for number in earlier]


class _Waiting:
    """Launches of one stream, in the order in which they returned, taken from the front.

    Counting before a moment costs a search, whatever waits: a stream that is idle often has many
    borders in a round, and looking at all launches at each would fall behind a fast program.
    """

    def __init__(self, launches: Launches) -> None:
        """Take launches in order of `leave`."""
        self._wait_for(launches)

    def _wait_for(self, launches: Launches) -> None:
        self._launches = launches
        self._begin = 0
        self._entered = np.sort(launches.enter)
        self._same_order = np.array_equal(self._entered, launches.enter)

    def count_before(self, moment: int) -> tuple[int, bool]:
        """Count those that had returned, and tell whether others had been entered."""
        returned = int(np.searchsorted(self._launches.leave, moment))
        entered = int(np.searchsorted(self._entered, moment))
        return max(returned - self._begin, 0), entered > max(returned, self._begin)

    def first(self, count: int) -> Launches:
        """Return the first ones that wait."""
        return self._launches.chosen(slice(self._begin, self._begin + count))

    def leave_out(self, moment: int, also_under_way: bool) -> None:
        """Forget those that had returned by then, or those that had been entered."""
        if not also_under_way:
            returned = int(np.searchsorted(self._launches.leave, moment))
            self._begin = max(self._begin, returned)
        elif self._same_order:
            entered = int(np.searchsorted(self._entered, moment))
            self._begin = max(self._begin, entered)
        else:
            rest = self.rest()
            self._wait_for(rest.chosen(rest.enter >= moment))

    def rest(self) -> Launches:
        """Return all that wait still."""
        return self._launches.chosen(slice(self._begin, len(self._launches)))


def _sorted(kernels: Kernels) -> Kernels:
    """In order of launch. Correlation ids wrap around after 2^32 launches."""
    ids = kernels.correlation
    if (np.diff(ids) > 0).all():
        return kernels
    if int(ids.max()) - int(ids.min()) > 1 << 31:
        ids = (ids + (1 << 31)) % (1 << 32)
    return kernels.chosen(np.lexsort((kernels.start, ids)))


def _idle_before(kernels: Kernels) -> list[int]:
    """Return the kernels before which the stream was idle."""
    if len(kernels) < 2:
        return []
    ended = np.maximum.accumulate(kernels.end)[:-1]
    borders = np.flatnonzero(kernels.start[1:] - ended > _IDLE) + 1
    return [int(border) for border in borders]


def _is_hopeless(kernels: Kernels) -> bool:
    """Whether a decision was put off for too long already."""
    span = int(kernels.end[-1]) - int(kernels.start[0])
    return len(kernels) > _PATIENCE or span >= _BLOCKED


def _all_equal(values: NDArray[np.int64]) -> bool:
    return bool((values == values[:1]).all())


def _fits(kernels: Kernels, launches: Launches) -> bool:
    """Whether these kernels can be those of these launches, one for one."""
    same = np.array_equal(kernels.look, launches.look)
    return bool(same and (kernels.start >= launches.enter - _SLACK).all())
