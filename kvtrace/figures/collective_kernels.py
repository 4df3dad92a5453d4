"""Kernels of collectives of a rank, with their communicators from the table `collectives`.

A kernel belongs to the request within which the host asked for it. Its number is that request's
sequence number; where the tool has none, the requests of a communicator are counted. torch keeps
only the newest requests: earlier kernels of a stream are counted back from the first known one, if
each known kernel of the stream is of one communicator and follows the one before it by one. Sends
and receives belong to a communicator of their two ranks, and are counted in it.

Example: a stream has kernels that were requested at 5, 9 and 14 ms, and the requests at 8 and 13 ms
have the sequence numbers 7 and 8 of communicator 0: the kernels have the numbers 6, 7 and 8.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, coded, integers
from kvtrace.figures.executions import launch_begins, requests_of
from kvtrace.schema.collective_names import is_collective, operation_of_kernel

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace

#: Operations that no rank ends before all have begun them.
SYNCHRONIZING: Final = frozenset({"AllReduce", "AllGather", "ReduceScatter"})
UNKNOWN: Final = -1
#: Operations between two ranks, whose sequence numbers are counted apart.
_BETWEEN_TWO: Final = frozenset({"Send", "Recv"})
#: Most kernels of one request.
_KERNELS: Final = 256
#: In the name of RCCL's kernel for all operations; and the kernels of operations without their own.
_ANY_OPERATION: Final = "Generic"
_KERNEL_OF: Final = {
    "Barrier": "AllReduce", "Send": "SendRecv", "Recv": "SendRecv", "Gather": "SendRecv",
    "Scatter": "SendRecv",
}  # fmt: skip


class Communicator(NamedTuple):
    """A communicator: its id and, where they are known, its ranks.

    That of two ranks' sends and receives `is_pair`, and only counted: tools number what a rank
    sends to all others together.
    """

    name: str
    ranks: tuple[int, ...] | None
    is_pair: bool = False


#: What kernels of several ranks are matched by: their communicator, or their stream's place.
Key = Communicator | int


class _Numbers(NamedTuple):
    """Communicator (an index in `communicators`), number and bytes of each kernel, or UNKNOWN.

    `operation` is that of its request, as an index in `operations`, or UNKNOWN.
    """

    communicators: tuple[Communicator, ...]
    communicator: Integers
    number: Integers
    size: Integers
    operations: list[str | None]
    operation: Integers


class Kernels(NamedTuple):
    """The kernels of one key, in the order of their numbers.

    `name` is an index in `names`, `size` the bytes that the rank gives, or UNKNOWN.
    """

    names: tuple[str, ...]
    name: Integers
    number: Integers
    start: Integers
    end: Integers
    record: Integers
    size: Integers


def has_communicators(trace: "Trace", run: "Run") -> bool:
    """Return whether a run has requests of collectives whose communicators are known."""
    column = trace.table("collectives", [run], ["communicator"])["communicator"]
    return bool(column.null_count < len(column))


class RankExecutions(NamedTuple):
    """All timed executions of a rank, by begin, and more of those that are collectives.

    Attributes:
        start: Begin of each execution.
        end: Its end.
        asked: When the host requested it, or UNKNOWN.
        name: Its name, as an index in `names`; UNKNOWN: it is no collective.
        names: Distinct names of collectives.
        record: The row of each collective in the run's executions.
        requested: When the host requested it; UNKNOWN also for those of graphs, whose replays are
            requested once for all of their kernels.
        stream: The place of its stream, in the order of the streams' first collectives.

    """

    start: Integers
    end: Integers
    asked: Integers
    name: Integers
    names: tuple[str, ...]
    record: Integers
    requested: Integers
    stream: Integers


def rank_executions(trace: "Trace", run: "Run") -> RankExecutions:
    """Return the executions of a rank; `trace` is the whole trace. Errors as `Trace.table`."""
    numbers: dict[str, int] = {}
    rows: list[tuple[Integers, ...]] = [(np.zeros(0, np.int64),) * 9]
    others = ("record", "graph_id", "device", "stream")
    columns = ("name", "start", "end", "requested", "launch_seq", *others)
    for piece in trace.pieces("gpu_kernels", [run], columns):
        timed = piece
        if piece["start"].null_count or piece["end"].null_count:
            timed = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
        texts, codes = coded(timed["name"])
        names = [
            numbers.setdefault(text, len(numbers)) if text and is_collective(text) else UNKNOWN
            for text in texts
        ]
        times = integers(timed["start"]), integers(timed["end"])
        further = (integers(timed[column], UNKNOWN) for column in others)
        rows.append((*times, *requests_of(timed), np.array(names, np.int64)[codes], *further))
    columns_of_all = list(map(np.concatenate, zip(*rows, strict=True)))
    start = columns_of_all[0]
    if not (start[1:] >= start[:-1]).all():
        order = np.argsort(start, kind="stable")
        columns_of_all = [column[order] for column in columns_of_all]
    start, end, asked, launch, name, *of_all = columns_of_all
    if (launch >= 0).any():
        asked[launch >= 0] = launch_begins(trace, run, launch[launch >= 0])
    here = np.flatnonzero(name >= 0)
    record, graph, *places = (column[here] for column in of_all)
    requested = np.where(graph >= 0, UNKNOWN, asked[here])
    stream = _places(*places)
    return RankExecutions(start, end, asked, name, tuple(numbers), record, requested, stream)


def kernels_by_key(
    trace: "Trace", run: "Run", executions: RankExecutions, *, numbered_ones: bool
) -> Iterator[tuple[Key, Kernels]]:
    """Yield the kernels of NCCL of each communicator, then of each stream those of none.

    Without `numbered_ones` all kernels are those of streams, which are in the order of their first
    kernels.
    """
    here = np.flatnonzero(executions.name >= 0)
    columns = (executions.start, executions.end, executions.name)
    start, end, name = (column[here] for column in columns)
    numbers = {text: number for number, text in enumerate(executions.names)}
    record, stream = executions.record, executions.stream
    communicator = number = size = np.full(start.size, UNKNOWN)
    if numbered_ones and start.size:
        requests = _numbered(trace, run, executions.requested, stream)
        communicators, communicator, number, size = requests[:4]
        name = _named_by_requests(numbers, name, requests)
        for code, of_communicator in enumerate(communicators):
            here = np.flatnonzero(communicator == code)
            here = here[np.argsort(number[here], kind="stable")]
            if here.size:
                columns_here = (column[here] for column in (name, number, start, end, record, size))
                yield of_communicator, Kernels(tuple(numbers), *columns_here)
    streams = np.unique(stream[communicator == UNKNOWN]).tolist()
    for place, of_stream in enumerate(streams):
        here = np.flatnonzero((stream == of_stream) & (communicator == UNKNOWN))
        columns_here = (column[here] for column in (start, end, record, size))
        yield place, Kernels(tuple(numbers), name[here], np.arange(here.size), *columns_here)


def _named_by_requests(numbers: dict[str, int], name: Integers, requests: _Numbers) -> Integers:
    """Return the names of kernels, those of any operation named by what was requested.

    `numbers` has the index of each name; operations are added to it.
    """
    are_of_any = np.array([operation_of_kernel(text) == _ANY_OPERATION for text in numbers], bool)
    if not are_of_any.any():
        return name
    called = [
        UNKNOWN if text is None else numbers.setdefault(_KERNEL_OF.get(text, text), len(numbers))
        for text in requests.operations
    ]
    requested = np.array([*called, UNKNOWN], np.int64)[requests.operation]
    return np.where(are_of_any[name] & (requested != UNKNOWN), requested, name)


def common_places(number: Integers, other: Integers) -> tuple[Integers, Integers]:
    """Return the places of equal numbers in two arrays, of which each has a number once."""
    if np.array_equal(number, other):
        return np.arange(number.size), np.arange(number.size)
    _, places, other_places = np.intersect1d(number, other, True, return_indices=True)
    return places, other_places


def _places(device: Integers, stream: Integers) -> Integers:
    """Return the place of each kernel's stream, in the order of the streams' first kernels."""
    if not stream.size or not ((stream != stream[0]).any() or (device != device[0]).any()):
        return np.zeros_like(stream)
    devices, streams = (np.unique(ids, return_inverse=True)[1] for ids in (device, stream))
    both = streams * (int(devices.max()) + 1) + devices
    _, first, code = np.unique(both, return_index=True, return_inverse=True)
    place: Integers = np.argsort(np.argsort(first, kind="stable"))[code]
    return place


def _numbered(trace: "Trace", run: "Run", requested: Integers, stream: Integers) -> _Numbers:
    """Return the communicators and numbers of kernels.

    Args:
        trace: The trace.
        run: The rank's run.
        requested: When the host asked for each kernel, in ns; kernels are sorted by begin.
        stream: The place of each kernel's stream.

    Errors as `Trace.table`.

    """
    columns = ["requested", "returned", "communicator", "ranks", "sequence", "operation", "bytes"]
    table = trace.table("collectives", [run], [*columns, "peer"]).sort_by("requested")
    begin = integers(table["requested"], UNKNOWN)
    until = np.append(begin[1:] - 1, np.iinfo(np.int64).max)[: begin.size]
    returned = integers(table["returned"], UNKNOWN)
    until = np.where(returned == UNKNOWN, until, returned)
    communicators, code = _communicators(table, run.rank)
    sequence = _sequences(integers(table["sequence"], UNKNOWN), communicators, code)
    place = np.searchsorted(begin, requested, "right") - 1
    is_inside = (place >= 0) & (requested <= np.append(until, UNKNOWN)[place])
    communicator = np.where(is_inside, np.append(code, UNKNOWN)[place], UNKNOWN)
    number = np.where(is_inside, np.append(sequence, UNKNOWN)[place], UNKNOWN)
    communicator[number < 0] = UNKNOWN
    # What one of several kernels of a request moves is not known.
    is_single = np.bincount(place[is_inside], minlength=begin.size + 1)[place] == 1
    sizes = np.append(integers(table["bytes"], UNKNOWN), UNKNOWN)
    size = np.where(is_inside & is_single, sizes[place], UNKNOWN)
    number = _distinct(communicator, number)
    for of_stream in np.unique(stream).tolist():
        _count_back(np.flatnonzero(stream == of_stream), communicator, number)
    operations, operation = coded(table["operation"])
    operation = np.where(is_inside, np.append(operation, UNKNOWN)[place], UNKNOWN)
    return _Numbers(communicators, communicator, number, size, operations, operation)


def _communicators(
    table: "pa.Table", rank: int | None
) -> tuple[tuple[Communicator, ...], Integers]:
    """Return the distinct communicators of a rank's requests, and the code of each request's."""
    codes: dict[Communicator | None, int] = {None: UNKNOWN}
    columns = (table[name].to_pylist() for name in ("communicator", "ranks", "operation", "peer"))
    code = [
        codes.setdefault(_communicator(rank, *row), len(codes) - 1)
        for row in zip(*columns, strict=True)
    ]
    return tuple(key for key in codes if key is not None), np.array(code, np.int64)


def _communicator(
    rank: int | None,
    name: str | None,
    ranks: list[int] | None,
    operation: str | None,
    peer: int | None,
) -> Communicator | None:
    if name is None or operation not in _BETWEEN_TWO:
        return None if name is None else Communicator(name, tuple(ranks) if ranks else None)
    if rank is None or peer is None:
        return None
    low, high = sorted((rank, peer))
    return Communicator(f"{name} {low}-{high}", (low, high), is_pair=True)


def _sequences(
    sequence: Integers, communicators: tuple[Communicator, ...], code: Integers
) -> Integers:
    """Return the sequence numbers, or the places among a communicator's requests without any."""
    is_pair = np.array([*(key.is_pair for key in communicators), False], bool)
    sequence = np.where(is_pair[code], UNKNOWN, sequence)
    for communicator in np.unique(code[sequence == UNKNOWN]).tolist():
        requests = np.flatnonzero(code == communicator)
        sequence[requests] = np.arange(requests.size)
    return sequence


def _distinct(communicator: Integers, number: Integers) -> Integers:
    """Return different numbers for the kernels of one request: 7 * 256 and 7 * 256 + 1 for 7 and 7.

    Of more than 256 (`_KERNELS`), the others lose their communicator.
    """
    order = np.lexsort((number, communicator))
    both = np.stack([communicator, number])[:, order]
    is_first = np.append(True, (both[:, 1:] != both[:, :-1]).any(axis=0))[: order.size]
    index = np.arange(order.size)
    place = np.zeros_like(number)
    place[order] = index - np.maximum.accumulate(np.where(is_first, index, 0))
    communicator[place >= _KERNELS] = UNKNOWN
    return _KERNELS * number + place


def _count_back(kernels: Integers, communicator: Integers, number: Integers) -> None:
    """Fill in a stream's kernels before the first numbered one, if the others follow in turn."""
    numbered = np.flatnonzero(communicator[kernels] != UNKNOWN)
    if not numbered.size or not numbered[0]:
        return
    offsets = number[kernels[numbered]] - _KERNELS * numbered
    if np.ptp(communicator[kernels[numbered]]) or np.ptp(offsets):
        return
    earlier = kernels[: numbered[0]]
    communicator[earlier] = communicator[kernels[numbered[0]]]
    number[earlier] = offsets[0] + _KERNELS * np.arange(earlier.size)
