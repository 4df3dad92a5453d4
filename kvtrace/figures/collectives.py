"""Collectives matched across the ranks of a job, and when the last rank came to each.

Ranks call the collectives of a communicator in the same order, or the job hangs (NCCL user guide,
"Creating a communicator": https://docs.nvidia.com/deeplearning/nccl/user-guide). Kernels whose
communicator and number in it are recorded (`collective_kernels.py`) are matched by them. Of the
others the k-th kernel of NCCL on a stream is matched with the k-th on the stream of the same place
of each other rank, if the names agree from the first kernel on; streams have places by their first
kernels. Times never match collectives. They refute: a kernel that
reduces or gathers cannot end on any rank before the last rank has begun it, so that streams with
such an end are of several communicators, and are not matched. The first disagreement is named, and
nothing after it is matched.

Sends and receives are matched between their two ranks, if both have as many.

Ranks are read one after another; of all ranks together only a few numbers a collective are kept.

Example: three ranks begin an AllReduce at 10, 12 and 40 ms, and end it at 41 ms. The transfer
begins at 40 ms; the first two ranks waited for 30 and 28 ms, and the third came last.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvtrace.figures.clocks import Clock, host_clocks
from kvtrace.figures.collective_kernels import (
    SYNCHRONIZING,
    UNKNOWN,
    Communicator,
    Kernels,
    Key,
    RankExecutions,
    common_places,
    has_communicators,
    kernels_by_key,
    rank_executions,
)
from kvtrace.figures.columns import Integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.collective_names import operation_of_kernel
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import keeps_newest
from kvtrace.schema.window import whole_trace

#: Operations that a rank may end before the last rank begins, if it does not need that one.
_ROOTED: Final = frozenset({"Broadcast", "Reduce"})
#: The same, which are known to be of some ranks only with their communicator.
_EXCHANGES: Final = frozenset({"SendRecv", "AllToAll"})
#: Most executions of all ranks that are kept, as they are read several times.
_MOST_KEPT: Final = 1 << 20
#: Nanoseconds by which ends of one collective may precede its last begin on GPUs of one host.
_CLOCK_ERROR: Final = 20_000


class _Stream(Struct):
    """Sums over the ranks of the kernels of one communicator or stream that all of them have.

    Attributes:
        names: Distinct names of the first rank's kernels.
        name: The name of each, as an index in `names`.
        number: Their numbers in the communicator or stream, which increase.
        last_start: When the last rank began the kernel, in ns on the clock of the first rank.
        last_rank: Index of that rank's run.
        first_end: When the first rank ended it.
        ranks: Number of ranks.
        problem: The first disagreement; None without one.

    """

    names: tuple[str, ...]
    name: Integers
    number: Integers
    last_start: Integers
    last_rank: npt.NDArray[np.int32]
    first_end: Integers
    ranks: int = 1
    problem: str | None = None

    def keep(self, part: Integers) -> None:
        """Keep the kernels at some places alone."""
        for column in ("name", "number", "last_start", "last_rank", "first_end"):
            setattr(self, column, getattr(self, column)[part])

    def are(self, operations: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Return for each kernel if it is one of some operations."""
        by_name = np.array([operation_of_kernel(name) in operations for name in self.names], bool)
        return by_name[self.name]


class RankCollectives(Struct, frozen=True):
    """The kernels of NCCL that one rank ran, sorted by begin; times in ns on the rank's clock.

    Attributes:
        start: Begin of each kernel.
        transfer: Begin of its transfer: its `start` unless the rank waited for a later one.
        end: Its end.
        last: Index of the run of the rank that came last; -1 where that is not known.
        matched: Number of the collective, the same on all ranks; -1 where it is not matched.
        is_exchange: It is an exchange among all ranks of a communicator.
        moved: Bytes of the bus bandwidth of NCCL's tests; -1 where they are not known.
        record: Its row in the run's executions.
        name: Its name, as an index in `names`.
        names: Distinct names.

    """

    start: Integers
    transfer: Integers
    end: Integers
    last: Integers
    matched: Integers
    is_exchange: npt.NDArray[np.bool_]
    moved: Integers
    record: Integers
    name: Integers
    names: tuple[str, ...]


#: Columns of `RankCollectives`.
_COLUMNS: Final = RankCollectives.__struct_fields__[:-1]

_Rank = tuple[RankExecutions, list[tuple[Key, Kernels]]]


class Collectives(Struct):
    """The matched collectives of a job.

    Attributes:
        runs: The ranks' runs, by rank.
        missing: Ranks of the job that are not among the runs.
        problems: Sentences: the first disagreement of streams, and why collectives stay unmatched.
        error_ns: Bound of the clocks' differences: no rank is late by less than twice as much.

    """

    runs: tuple[Run, ...]
    missing: tuple[int, ...]
    problems: list[str] = []
    error_ns: int = 0
    _trace: Trace | None = None
    _streams: dict[Key, _Stream] = {}
    _clocks: Mapping[str, Clock] = {}
    _is_numbered: bool = False
    #: Whether what was read is kept of all ranks, not only of the last one; by run id.
    _keeps_all: bool = False
    _read: dict[str, _Rank] = {}
    _ran: dict[str, RankCollectives] = {}

    @property
    def matched(self) -> int:
        """Number of collectives that are matched across all ranks."""
        return sum(stream.number.size for stream in self._streams.values())

    def executions(self, run: Run) -> RankExecutions:
        """Return all timed executions of a rank; errors as `Trace.table`."""
        return self._rank(run)[0]

    def _rank(self, run: Run) -> _Rank:
        """Return the executions of a rank, and the kernels of NCCL by communicator or stream."""
        assert self._trace is not None
        if run.run_id not in self._read:
            if not self._keeps_all:
                self._read.clear()
            rows = rank_executions(self._trace, run)
            kernels = kernels_by_key(self._trace, run, rows, numbered_ones=self._is_numbered)
            self._read[run.run_id] = rows, list(kernels)
        return self._read[run.run_id]

    def of_rank(self, run: Run) -> RankCollectives:
        """Return the kernels of NCCL of a rank, with their transfers; errors as `Trace.table`."""
        if run.run_id not in self._ran:
            if not self._keeps_all:
                self._ran.clear()
            self._ran[run.run_id] = self._transfers(run)
        return self._ran[run.run_id]

    def _transfers(self, run: Run) -> RankCollectives:
        parts = [dict.fromkeys(_COLUMNS, np.zeros(0, np.int64))]
        names: tuple[str, ...] = ()
        sizes = [stream.number.size for stream in self._streams.values()]
        first = dict(zip(self._streams, np.cumsum([0, *sizes]).tolist(), strict=False))
        for key, kernels in self._rank(run)[1]:
            transfer = kernels.start.copy()
            last, matched = np.full((2, kernels.start.size), -1)
            stream = self._streams.get(key)
            if stream is not None and stream.number.size:
                rooted = _ROOTED | _EXCHANGES if isinstance(key, Communicator) else _ROOTED
                clock = self._clocks.get(run.run_id)
                place, part = _fill(stream, kernels, rooted, clock, transfer, last)
                matched[part] = first[key] + place
            names = kernels.names
            values = (
                kernels.start, transfer, kernels.end, last, matched, _are_exchanges(kernels, key),
                _moved(kernels, key), kernels.record, kernels.name,
            )  # fmt: skip
            parts.append(dict(zip(_COLUMNS, values, strict=True)))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in _COLUMNS}
        order = np.argsort(columns["start"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        is_exchange = columns.pop("is_exchange").astype(bool)
        return RankCollectives(**columns, is_exchange=is_exchange, names=names)


def _are_exchanges(kernels: Kernels, key: Key) -> Integers:
    """Return 1 for kernels that exchange among all ranks of a communicator, else 0."""
    if not isinstance(key, Communicator) or key.is_pair:
        return np.zeros_like(kernels.start)
    are = np.array([operation_of_kernel(name) in _EXCHANGES for name in kernels.names], np.int64)
    return are[kernels.name]


def _moved(kernels: Kernels, key: Key) -> Integers:
    """Return the bytes that each link moves, by which NCCL's tests define the bus bandwidth.

    See https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md; `Kernels.size` is that
    of the rank's input, which of an AllGather is one part of the result.
    """
    if not isinstance(key, Communicator) or key.ranks is None:
        return np.full(kernels.size.size, UNKNOWN)
    ranks = len(key.ranks)
    shares = {
        "AllReduce": 2 * (ranks - 1) / ranks, "AllGather": ranks - 1,
        "ReduceScatter": (ranks - 1) / ranks, "Broadcast": 1, "Reduce": 1,
    }  # fmt: skip
    by_name = np.array([shares.get(operation_of_kernel(name), -1.0) for name in kernels.names])
    share = by_name[kernels.name]
    is_known = (kernels.size >= 0) & (share >= 0)
    return np.where(is_known, np.rint(kernels.size * share), UNKNOWN).astype(np.int64)


def _shifted(clock: Clock | None, times: Integers) -> Integers:
    """Return times of a rank on the clock of the first rank; None: they have one clock."""
    return times if clock is None else clock.shifted(times)


def _fill(
    stream: _Stream,
    kernels: Kernels,
    rooted: frozenset[str],
    clock: Clock | None,
    transfer: Integers,
    last: Integers,
) -> tuple[Integers, Integers]:
    """Fill `transfer` and `last` of a rank's kernels, whose times are on its clock.

    Return the places of matched kernels in the stream, and in `kernels`.
    """
    matched, part = common_places(stream.number, kernels.number)
    is_rooted = stream.are(rooted)[matched]
    is_known = stream.are(SYNCHRONIZING)[matched] | is_rooted
    start, end = kernels.start[part], kernels.end[part]
    wait = stream.last_start[matched] - _shifted(clock, start)
    # A rank that ended a rooted operation before did not need the last one.
    is_needed = is_known & ~(is_rooted & (end - start < wait))
    transfer[part] = np.where(is_needed, start + np.clip(wait, 0, end - start), start)
    last[part] = np.where(is_known, stream.last_rank[matched], -1)
    return matched, part


def matched_collectives(trace: Trace, runs: Sequence[Run]) -> Collectives | None:
    """Return the collectives of the ranks among the runs; None unless there are several ranks.

    Runs of other jobs than that of the first rank do not count, nor do a rank's processes that
    executed nothing, as a compiler's; of a rank that was started again, the newest counts. Errors
    as `Trace.table`.
    """
    whole = whole_trace(trace)
    ranks = [r for r in runs if r.rank is not None and (r.has_all_times or r.has_collectives_alone)]
    rows = {run.run_id: row_count(whole, run, "gpu_kernels") for run in ranks}
    ranks = [run for run in ranks if rows[run.run_id]]
    ranks = [run for run in ranks if run.group_id == ranks[0].group_id]
    by_rank = {run.rank or 0: run for run in sorted(ranks, key=lambda run: run.started or 0)}
    world = max((run.world_size or 0 for run in ranks), default=0)
    world = max(world, max(by_rank, default=0) + 1)
    if world < 2:
        return None
    ordered = tuple(by_rank[rank] for rank in sorted(by_rank))
    missing = tuple(rank for rank in range(world) if rank not in by_rank)
    collectives = Collectives(ordered, missing, _trace=whole)
    collectives._keeps_all = sum(rows[run.run_id] for run in ordered) <= _MOST_KEPT
    if any(keeps_newest(run) for run in ordered):
        collectives.problems.append(
            "the first collectives were dropped, so that the others cannot be counted: none is "
            "matched"
        )
    elif len(ordered) > 1:
        _match(collectives)
    return collectives


def _match(collectives: Collectives) -> None:
    """Match the collectives of all ranks, stream by stream."""
    assert collectives._trace is not None
    others = collectives.runs[1:]
    clocks = collectives._clocks = host_clocks(collectives._trace, collectives.runs)
    hosts = {run.host for run in collectives.runs}
    if len(hosts) > 1:
        collectives.error_ns = max((clock.error_ns for clock in clocks.values()), default=0)
        if len({run.host for run in others if run.run_id in clocks}) < len(hosts) - 1:
            collectives.problems.append(
                "the clocks of the hosts differ by an unknown time: no collective is matched"
            )
            return
    trace, runs, streams = collectives._trace, collectives.runs, collectives._streams
    collectives._is_numbered = all(has_communicators(trace, run) for run in runs)
    for index, run in enumerate(runs):
        clock = clocks.get(run.run_id)
        keys = set()
        for key, kernels in collectives._rank(run)[1]:
            keys.add(key)
            if key in streams and isinstance(key, Communicator) and key.is_pair:
                _require_as_many(key, streams[key], kernels)
            if key in streams:
                _add(collectives, streams[key], index, kernels, clock)
            elif index == 0 or isinstance(key, Communicator):
                streams[key] = _Stream(
                    kernels.names, kernels.name, kernels.number, _shifted(clock, kernels.start),
                    np.full(kernels.start.size, index, np.int32), _shifted(clock, kernels.end),
                )  # fmt: skip
        for key, stream in streams.items():
            if not isinstance(key, Communicator) and key not in keys and stream.number.size:
                _disagree(collectives, stream, index, 0, _name_at(stream, np.arange(0), 0), None)
                stream.keep(np.arange(0))
    for key, stream in streams.items():
        if isinstance(key, Communicator):
            _require_members(collectives, key, stream)
        _refute(stream, collectives.error_ns)
    collectives.problems += [s.problem for s in streams.values() if s.problem]


def _require_members(collectives: Collectives, key: Communicator, stream: _Stream) -> None:
    """Match nothing of a communicator unless all of its ranks that are recorded have kernels."""
    needed = 2
    if key.ranks is not None:
        members = {run.rank for run in collectives.runs}.intersection(key.ranks)
        needed = max(len(members), min(len(key.ranks), 2))
    if stream.ranks < needed:
        stream.keep(np.arange(0))
        stream.problem = (
            f"of communicator {key.name} the collectives of {stream.ranks} of at least {needed} "
            "ranks are recorded: none of them is matched"
        )


def _require_as_many(key: Communicator, stream: _Stream, kernels: Kernels) -> None:
    """Match no sends and receives of two ranks, which are counted, unless both have the same."""
    if np.array_equal(stream.number, kernels.number):
        return
    stream.keep(np.arange(0))
    ranks = " and ".join(map(str, key.ranks or ()))
    stream.problem = (
        f"ranks {ranks} do not have as many sends and receives with each other: none is matched"
    )


def _add(
    collectives: Collectives, stream: _Stream, index: int, kernels: Kernels, clock: Clock | None
) -> None:
    """Add the kernels of a further rank, the one with that index in `runs`."""
    stream.ranks += 1
    places, positions = common_places(stream.number, kernels.number)
    code_of = {name: code for code, name in enumerate(kernels.names)}
    expected = np.array([code_of.get(name, -1) for name in stream.names], np.int64)
    differing = np.flatnonzero(expected[stream.name[places]] != kernels.name[positions])
    agreed = int(differing[0]) if differing.size else places.size
    # The next calls after that.
    next_call = _name_at(stream, places, agreed)
    rank_call = _name_at(kernels, positions, agreed)
    if next_call is not None or (rank_call is not None and stream.problem is None):
        _disagree(collectives, stream, index, agreed, next_call, rank_call)
    stream.keep(places[:agreed])
    positions = positions[:agreed]
    start, end = (_shifted(clock, times[positions]) for times in (kernels.start, kernels.end))
    is_later = start > stream.last_start
    stream.last_start = np.where(is_later, start, stream.last_start)
    stream.last_rank = np.where(is_later, np.int32(index), stream.last_rank)
    stream.first_end = np.minimum(stream.first_end, end)


def _name_at(kernels: "_Stream | Kernels", common: Integers, agreed: int) -> str | None:
    """Return the name of the kernel behind the first common ones; None if they are the last."""
    place = int(common[agreed] if agreed < common.size else common[-1] + 1 if agreed else 0)
    return kernels.names[kernels.name[place]] if place < kernels.name.size else None


def _disagree(
    collectives: Collectives,
    stream: _Stream,
    index: int,
    agreed: int,
    next_call: str | None,
    own_call: str | None,
) -> None:
    """Name the first disagreement of a rank with those before it."""
    rank = collectives.runs[index].rank
    calls = "ends" if own_call is None else f"calls {operation_of_kernel(own_call)}"
    others = "end" if next_call is None else f"call {operation_of_kernel(next_call)}"
    stream.problem = (
        f"rank {rank} {calls} where earlier ranks {others}, after {agreed:,} collectives that "
        "agree: nothing after that is matched"
    )


def _refute(stream: _Stream, error_ns: int) -> None:
    """Match nothing on streams whose times show that they are not of one communicator."""
    early = stream.last_start - stream.first_end > max(2 * error_ns, _CLOCK_ERROR)
    wrong = np.flatnonzero(early & stream.are(SYNCHRONIZING))
    if wrong.size:
        stream.keep(np.arange(0))
        stream.problem = (
            f"the {int(wrong[0]) + 1:,}. collective ended on one rank before the last one began "
            "it: the ranks' streams are of several communicators, or of several clocks, and are "
            "not matched"
        )
