"""The checked launches of a run: what they were given, and what their device made of it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Bytes = NDArray[np.uint8]

_AFTER: Final = "after"


class UnfitMemory(KvtraceError):
    """What was kept of a launch's memory is not as kvtrace writes it."""

    slug = "unfit-memory"


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a storage, from an offset in it on."""

    offset: int
    content: Bytes


@dataclass(frozen=True, slots=True)
class StorageAfter:
    """What a storage held after a launch, as far as it was kept.

    `arg` is the place in the call's args, `arguments` are those, among the evaluator's, of the
    tensors in it.
    """

    arg: int
    arguments: tuple[int, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class CheckedLaunch:
    """A launch whose memory was kept.

    Attributes:
        seq: its number in `launches`.
        call_id: the call that it launches.
        kernel: its kernel's name.
        why: what chose it.
        programs: the programs that can be computed again (linear ids, x fastest); None: all.
        call: makes its call, with all tensors as they were before it; each time again, since
            evaluation writes.
        after: what the storages that it writes to held after it.
        views: the places, among the evaluator's arguments, of tensors in storages of which no more
            than views was kept.
        before: what storages held before it, as far as it was kept, by the place, among the
            evaluator's arguments, of a tensor in each.
    """

    seq: int
    call_id: int
    kernel: str
    why: str
    programs: tuple[int, ...] | None
    call: Callable[[], Call]
    after: tuple[StorageAfter, ...]
    views: frozenset[int] = frozenset()
    before: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)


def checked_launches(
    trace: Trace, run: Run, kernels: Container[str] | None = None
) -> Iterator[CheckedLaunch | UnreadyCall]:
    """Return each launch of a run whose memory was kept, in the order of launches.

    Args:
        trace: The trace.
        run: The run.
        kernels: Names of the kernels whose launches are returned; None: all.

    """
    rows = trace.table("checked_launches", (run,)).to_pylist()
    if not rows:
        return
    memory: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in trace.table("checked_memory", (run,)).to_pylist():
        memory.setdefault((row["seq"], row["call_id"]), []).append(row)
    wanted = {row["call_id"] for row in rows}
    table = trace.table("calls", (run,), columns=["call_id", "args"]).to_pylist()
    names = {row["call_id"]: _names(row["args"]) for row in table if row["call_id"] in wanted}
    calls = {call.call_id: call for call in calls_of(trace, run) if call.call_id in wanted}
    for row in sorted(rows, key=lambda row: int(row["seq"])):
        call = calls.get(row["call_id"])
        if call is not None and kernels is not None and call.kernel not in kernels:
            continue
        if call is None:
            yield UnreadyCall(row["call_id"], "?", "the trace has no record of its call")
        elif isinstance(call, UnreadyCall):
            yield call
        else:
            try:
                kept = memory.get((row["seq"], row["call_id"]), [])
                yield _launch(trace, row, call, names[row["call_id"]], kept)
            except UnfitMemory as error:
                yield UnreadyCall(row["call_id"], call.kernel, str(error))


def _names(args: list[dict[str, Any]] | None) -> list[str]:
    return [str(arg["name"]) for arg in args or ()]


def _launch(
    trace: Trace,
    row: dict[str, Any],
    call: Call,
    names: list[str],
    memory: list[dict[str, Any]],
) -> CheckedLaunch:
    places = {each["arg"]: _place(call, names, each["arg"]) for each in memory}
    pieces = {(each["arg"], each["when"]): _pieces(trace, each) for each in memory}
    before = {places[arg]: found for (arg, when), found in pieces.items() if when != _AFTER}

    def again() -> Call:
        return _with_memory(call, before)

    after = tuple(
        StorageAfter(arg, _sharing(call, places[arg]), found)
        for (arg, when), found in sorted(pieces.items())
        if when == _AFTER
    )
    programs = row["programs"]
    return CheckedLaunch(
        seq=row["seq"],
        call_id=row["call_id"],
        kernel=call.kernel,
        why=row["why"] or "",
        programs=None if programs is None else tuple(programs),
        call=again,
        after=after,
        views=frozenset() if programs is not None else _views(call, before),
        before=before,
    )


def _views(call: Call, before: Mapping[int, tuple[Piece, ...]]) -> frozenset[int]:
    found: set[int] = set()
    for place, pieces in before.items():
        tensor = call.arguments[place]
        assert isinstance(tensor, TensorArgument)
        if sum(len(piece.content) for piece in pieces) < tensor.storage.nbytes:
            found.update(_sharing(call, place))
    return frozenset(found)


def _place(call: Call, names: list[str], arg: int) -> int:
    """Return the place among the evaluator's arguments of the one recorded at `arg`."""
    if 0 <= arg < len(names):
        for place, argument in enumerate(call.arguments):
            if isinstance(argument, TensorArgument) and argument.name == names[arg]:
                return place
    raise UnfitMemory(f"memory was kept of argument {arg}, and the call has no tensor there")


def _sharing(call: Call, place: int) -> tuple[int, ...]:
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    return tuple(
        each
        for each, other in enumerate(call.arguments)
        if isinstance(other, TensorArgument) and other.storage is tensor.storage
    )


def _pieces(trace: Trace, row: dict[str, Any]) -> tuple[Piece, ...]:
    content = trace.artifact(row["artifact"]) if row["artifact"] else None
    spans = row["spans"] or []
    if content is None or sum(span["size_bytes"] for span in spans) != len(content):
        raise UnfitMemory("what was kept of its memory is not in the trace")
    held, found, begin = np.frombuffer(content, np.uint8), [], 0
    for span in spans:
        found.append(Piece(int(span["offset_bytes"]), held[begin : begin + span["size_bytes"]]))
        begin += span["size_bytes"]
    return tuple(found)


def _with_memory(call: Call, before: Mapping[int, tuple[Piece, ...]]) -> Call:
    """Return a call with new storages that hold what was kept, and zeros elsewhere."""
    made: dict[int, Storage] = {}
    for place, pieces in before.items():
        tensor = call.arguments[place]
        assert isinstance(tensor, TensorArgument)
        data = np.zeros(tensor.storage.nbytes, np.uint8)
        for piece in pieces:
            end = piece.offset + len(piece.content)
            if piece.offset < 0 or end > len(data):
                raise UnfitMemory(f"memory was kept of {tensor.name} outside of its storage")
            data[piece.offset : end] = piece.content
        made[id(tensor.storage)] = Storage(len(data), data)
    arguments = tuple(
        replace(argument, storage=_found(made, argument.storage))
        if isinstance(argument, TensorArgument)
        else argument
        for argument in call.arguments
    )
    return replace(call, arguments=arguments)


def _found(made: dict[int, Storage], storage: Storage) -> Storage:
    """Return the storage that takes another's place: one without contents where none were kept."""
    return made.setdefault(id(storage), Storage(storage.nbytes))
