"""Collectives matched across the ranks of a job, and when the last rank came to each.

Ranks call the collectives of a communicator in the same order, or the job hangs (NCCL user guide,
"Creating a communicator": https://docs.nvidia.com/deeplearning/nccl/user-guide). So the k-th kernel
of NCCL on a stream of a rank is matched with the k-th on the stream of the same place of each other
rank, if the names agree from the first kernel on; streams have places by their first kernels. Times
never match collectives. They refute: a kernel that reduces or gathers cannot end on any rank before
the last rank has begun it, so that streams with such an end are of several communicators, and are
not matched. The first disagreement is named, and nothing after it is matched.

Ranks are read one after another; of all ranks together only a few numbers a collective are kept.

Example: three ranks begin an AllReduce at 10, 12 and 40 ms, and end it at 41 ms. The transfer
begins at 40 ms; the first two ranks waited for 30 and 28 ms, and the third came last.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from kvtrace.figures.clocks import clock_offsets
from kvtrace.figures.columns import Integers, coded, integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.weights import keeps_newest
from kvtrace.schema.window import whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL`, and names of RCCL and of NCCL before 2.19.
_KERNEL: Final = re.compile(r"[nr]ccl\w*?Kernel_([A-Za-z]+)")
#: Operations that no rank ends before all have begun, and those that some ranks may end earlier.
_SYNCHRONIZING: Final = frozenset({"AllReduce", "AllGather", "ReduceScatter"})
_ROOTED: Final = frozenset({"Broadcast", "Reduce"})
#: Nanoseconds by which ends of one collective may precede its last begin on GPUs of one host.
_CLOCK_ERROR: Final = 20_000


@dataclass(slots=True)
class _Stream:
    """Sums over the ranks of the kernels on the streams of one place; index k is of the k-th.

    Attributes:
        names: Names of the first rank's kernels.
        matched: Number of kernels, from the first on, whose names agree on all ranks so far.
        last_start: When the last rank began the kernel, in ns on the clock of the first rank.
        last_rank: Index of that rank's run.
        first_end: When the first rank ended it.
        problem: The first disagreement; None without one.

    """

    names: list[str]
    matched: int
    last_start: Integers
    last_rank: npt.NDArray[np.int32]
    first_end: Integers
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RankCollectives:
    """The kernels of NCCL that one rank ran, sorted by begin; times in ns on the rank's clock.

    Attributes:
        start: Begin of each kernel.
        transfer: Begin of its transfer: its `start` unless the rank waited for a later one.
        end: Its end.
        last: Index of the run of the rank that came last; -1 where that is not known.
        record: Its row in the run's executions.
        name: Its name, as an index in `names`.
        names: Distinct names.

    """

    start: Integers
    transfer: Integers
    end: Integers
    last: Integers
    record: Integers
    name: Integers
    names: tuple[str, ...]


@dataclass(slots=True)
class Collectives:
    """The matched collectives of a job.

    Attributes:
        runs: The ranks' runs, by rank.
        missing: Ranks of the job that are not among the runs.
        problems: Sentences: the first disagreement of streams, and why collectives stay unmatched.
        error_ns: Bound of the clocks' differences: no rank is late by less than twice as much.

    """

    runs: tuple["Run", ...]
    missing: tuple[int, ...]
    problems: list[str] = field(default_factory=list)
    error_ns: int = 0
    _trace: "Trace | None" = None
    _streams: dict[int, _Stream] = field(default_factory=dict)
    _shift: Mapping[str, int] = field(default_factory=dict)

    @property
    def matched(self) -> int:
        """Number of collectives that are matched across all ranks."""
        return sum(stream.matched for stream in self._streams.values())

    def of_rank(self, run: "Run") -> RankCollectives:
        """Return the kernels of NCCL of a rank, with their transfers; errors as `Trace.table`."""
        assert self._trace is not None
        columns: list[tuple[Integers, ...]] = []
        names: tuple[str, ...] = ()
        for place, kernels in enumerate(_kernels_by_stream(self._trace, run)):
            transfer, last = kernels.start.copy(), np.full(kernels.start.size, -1)
            stream = self._streams.get(place)
            if stream is not None and stream.matched:
                _fill(stream, kernels, self._shift.get(run.run_id, 0), transfer, last)
            further = transfer, kernels.end, last, kernels.record, kernels.name
            columns.append((kernels.start, *further))
            names = kernels.names
        columns.append((np.zeros(0, np.int64),) * 6)
        start, *others = map(np.concatenate, zip(*columns, strict=True))
        order = np.argsort(start, kind="stable")
        transfer, end, last, record, name = (column[order] for column in others)
        return RankCollectives(start[order], transfer, end, last, record, name, names)


def _fill(
    stream: _Stream, kernels: "_Kernels", shift: int, transfer: Integers, last: Integers
) -> None:
    """Fill `transfer` and `last` of a rank's kernels, whose clock is `shift` ns behind."""
    part = slice(stream.matched)
    operations = [_operation(name) for name in kernels.names]
    is_rooted = np.array([name in _ROOTED for name in operations])[kernels.name[part]]
    is_known = np.array([name in _SYNCHRONIZING for name in operations])[kernels.name[part]]
    is_known |= is_rooted
    start, end = kernels.start[part], kernels.end[part]
    last_start = stream.last_start[part] - shift
    # A rank that ended a rooted operation before did not need the last one.
    is_needed = is_known & ~(is_rooted & (end < last_start))
    transfer[part] = np.where(is_needed, np.clip(last_start, start, end), start)
    last[part] = np.where(is_known, stream.last_rank[part], -1)


def is_collective(name: str | None) -> bool:
    """Return whether a kernel's name is of one of NCCL's or RCCL's."""
    return name is not None and _KERNEL.search(name) is not None


def matched_collectives(trace: "Trace", runs: Sequence["Run"]) -> Collectives | None:
    """Return the collectives of the ranks among the runs; None unless there are several ranks.

    Runs of other jobs than that of the first rank do not count, nor do a rank's processes that
    executed nothing, as a compiler's; of a rank that was started again, the newest counts. Errors
    as `Trace.table`.
    """
    whole = whole_trace(trace)
    ranks = [run for run in runs if run.rank is not None and run.has_gaps]
    ranks = [run for run in ranks if row_count(whole, run, "gpu_kernels")]
    ranks = [run for run in ranks if run.group_id == ranks[0].group_id]
    by_rank = {run.rank or 0: run for run in sorted(ranks, key=lambda run: run.started or 0)}
    world = max((run.world_size or 0 for run in ranks), default=0)
    world = max(world, max(by_rank, default=0) + 1)
    if world < 2:
        return None
    ordered = tuple(by_rank[rank] for rank in sorted(by_rank))
    missing = tuple(rank for rank in range(world) if rank not in by_rank)
    collectives = Collectives(ordered, missing, _trace=whole)
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
    offsets = clock_offsets(collectives._trace, collectives.runs)
    collectives._shift = {run: offset.ns for run, offset in offsets.items()}
    hosts = {run.host for run in collectives.runs}
    if len(hosts) > 1:
        spreads = [offset.spread_ns for offset in offsets.values()]
        collectives.error_ns = max(spreads, default=0)
        if len({run.host for run in others if run.run_id in offsets}) < len(hosts) - 1:
            collectives.problems.append(
                "the clocks of the hosts differ by an unknown time: no collective is matched"
            )
            return
    for index, run in enumerate(collectives.runs):
        shift = collectives._shift.get(run.run_id, 0)
        streams = dict(enumerate(_kernels_by_stream(collectives._trace, run)))
        for place, kernels in streams.items():
            if index == 0:
                rank = np.zeros(kernels.start.size, np.int32)
                names = [kernels.names[code] for code in kernels.name.tolist()]
                collectives._streams[place] = _Stream(
                    names, len(names), kernels.start, rank, kernels.end
                )
            elif place in collectives._streams:
                _add(collectives, collectives._streams[place], index, kernels, shift)
        for place, stream in collectives._streams.items():
            if place not in streams and stream.matched:
                _disagree(collectives, stream, index, 0, None)
    for stream in collectives._streams.values():
        _refute(stream, collectives.error_ns)
    collectives.problems += [s.problem for s in collectives._streams.values() if s.problem]


def _add(
    collectives: Collectives, stream: _Stream, index: int, kernels: "_Kernels", shift: int
) -> None:
    """Add the kernels of a further rank's stream, the one with that index in `runs`."""
    names, codes = kernels.names, kernels.name
    start, end = kernels.start + shift, kernels.end + shift
    number = min(stream.matched, start.size)
    code_of = {name: code for code, name in enumerate(names)}
    expected = np.array([code_of.get(name, -1) for name in stream.names[:number]], np.int64)
    differing = np.flatnonzero(expected != codes[:number])
    if differing.size:
        number = int(differing[0])
    if number < stream.matched or number == len(stream.names) < start.size:
        other = names[codes[number]] if number < start.size else None
        _disagree(collectives, stream, index, number, other)
    part = slice(stream.matched)
    is_later = start[part] > stream.last_start[part]
    stream.last_start = np.where(is_later, start[part], stream.last_start[part])
    stream.last_rank = np.where(is_later, np.int32(index), stream.last_rank[part])
    stream.first_end = np.minimum(stream.first_end[part], end[part])


def _disagree(
    collectives: Collectives, stream: _Stream, index: int, number: int, other: str | None
) -> None:
    """Name the first disagreement, and match nothing after it."""
    rank = collectives.runs[index].rank
    calls = "ends" if other is None else f"calls {_operation(other)}"
    expected = stream.names[number] if number < len(stream.names) else None
    others = "end" if expected is None else f"call {_operation(expected)}"
    stream.matched = number
    stream.problem = (
        f"rank {rank} {calls} where earlier ranks {others}, after {number:,} collectives that "
        "agree: nothing after that is matched"
    )


def _refute(stream: _Stream, error_ns: int) -> None:
    """Match nothing on streams whose times show that they are not of one communicator."""
    synchronizing = np.array(
        [_operation(name) in _SYNCHRONIZING for name in stream.names[: stream.matched]], bool
    )
    part = slice(stream.matched)
    early = stream.last_start[part] - stream.first_end[part] > max(2 * error_ns, _CLOCK_ERROR)
    wrong = np.flatnonzero(early & synchronizing)
    if wrong.size:
        stream.matched = 0
        stream.problem = (
            f"the {int(wrong[0]) + 1:,}. collective ended on one rank before the last one began "
            "it: the ranks' streams are of several communicators, or of several clocks, and are "
            "not matched"
        )


def _operation(name: str) -> str:
    match = _KERNEL.search(name)
    return match[1] if match else name


class _Kernels(NamedTuple):
    """The kernels of NCCL on one stream, sorted by begin; `name` is an index in `names`."""

    names: tuple[str, ...]
    name: Integers
    start: Integers
    end: Integers
    record: Integers


def _kernels_by_stream(trace: "Trace", run: "Run") -> Iterator[_Kernels]:
    """Yield the kernels of NCCL on each stream; streams are in the order of their first kernels."""
    numbers: dict[str, int] = {}
    rows: list[tuple[Integers, ...]] = [(np.zeros(0, np.int64),) * 6]
    columns = ("name", "start", "end", "record", "device", "stream")
    for piece in trace.pieces("gpu_kernels", [run], columns):
        texts, codes = coded(piece["name"])
        names = np.array(
            [
                numbers.setdefault(text, len(numbers)) if text and is_collective(text) else -1
                for text in texts
            ],
            np.int64,
        )[codes]
        is_wanted = (names >= 0) & pc.is_valid(piece["end"]).to_numpy()
        others = (integers(piece[column], -1)[is_wanted] for column in columns[1:])
        rows.append((names[is_wanted], *others))
    name, start, end, record, device, stream = map(np.concatenate, zip(*rows, strict=True))
    order = np.argsort(start, kind="stable")
    places = np.stack([device, stream])[:, order]
    _, first, place_of_row = np.unique(places, axis=1, return_index=True, return_inverse=True)
    for place in np.argsort(first, kind="stable").tolist():
        here = order[place_of_row.reshape(-1) == place]
        yield _Kernels(tuple(numbers), name[here], start[here], end[here], record[here])
