"""Recorded launches of a run for checks: memory before the launch, and memory after it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Bytes = NDArray[np.uint8]

_AFTER: Final = "after"


class UnfitMemory(KvtraceError):
    """The recorded memory of a launch is incomplete, or does not fit the launch's arguments."""

    slug = "unfit-memory"


class Piece(Struct, frozen=True):
    """Bytes of a storage, starting at an offset."""

    offset: int
    content: Bytes


class StorageAfter(Struct, frozen=True):
    """Recorded contents of a storage after a launch.

    `arg` is a position in the call's args; `arguments` are the evaluator's argument positions of
    all tensors in the storage.
    """

    arg: int
    arguments: tuple[int, ...]
    pieces: tuple[Piece, ...]


class CheckedLaunch(Struct, frozen=True):
    """A launch with recorded memory.

    Attributes:
        seq: the launch's number in `launches`.
        call_id: the launched call.
        kernel: the kernel's name.
        why: the part of the setting `check` that selected the launch: first, sample, kernel or
            finite.
        programs: the programs that can be evaluated (linear ids, x fastest); None: all.
        call: returns a new copy of the call, with tensors as before the launch; evaluation changes
            the copy.
        after: contents of written storages after the launch.
        views: argument positions (of the evaluator) of tensors in storages that were recorded only
            in part: the tensors' own bytes.
        before: recorded contents of storages before the launch, by the argument position of a
            tensor in each.
    """

    seq: int
    call_id: int
    kernel: str
    why: str
    programs: tuple[int, ...] | None
    call: Callable[[], Call]
    after: tuple[StorageAfter, ...]
    views: frozenset[int] = frozenset()
    before: Mapping[int, tuple[Piece, ...]] = {}


def checked_launches(
    trace: Trace, run: Run, kernels: Container[str] | None = None
) -> Iterator[CheckedLaunch | UnreadyCall]:
    """Yield the launches of a run whose memory was recorded, in the order of launches.

    A launch whose call or memory cannot be read is yielded as UnreadyCall, with the reason.
    `kernels` are names of the kernels whose launches are yielded; None: all.
    """
    rows = trace.table("checked_launches", (run,)).to_pylist()
    if not rows:
        return
    memory: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in trace.table("checked_memory", (run,)).to_pylist():
        memory.setdefault((row["seq"], row["call_id"]), []).append(row)
    call_ids = {row["call_id"] for row in rows}
    table = trace.table("calls", (run,), columns=["call_id", "args"]).to_pylist()
    argument_names_of_calls = {
        row["call_id"]: [str(arg["name"]) for arg in row["args"] or ()]
        for row in table
        if row["call_id"] in call_ids
    }
    calls = {call.call_id: call for call in calls_of(trace, run) if call.call_id in call_ids}
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
                memory_rows = memory.get((row["seq"], row["call_id"]), [])
                yield _checked_launch(
                    trace, row, call, argument_names_of_calls[row["call_id"]], memory_rows
                )
            except UnfitMemory as error:
                yield UnreadyCall(row["call_id"], call.kernel, str(error))


def _checked_launch(
    trace: Trace,
    row: dict[str, Any],
    call: Call,
    names: list[str],
    memory: list[dict[str, Any]],
) -> CheckedLaunch:
    position_by_arg = {
        memory_row["arg"]: _position_of(call, names, memory_row["arg"]) for memory_row in memory
    }
    pieces = {
        (memory_row["arg"], memory_row["when"]): _recorded_pieces(trace, memory_row)
        for memory_row in memory
    }
    before = {
        position_by_arg[arg]: contents for (arg, when), contents in pieces.items() if when != _AFTER
    }

    def new_call() -> Call:
        return _with_memory(call, before)

    after = tuple(
        StorageAfter(arg, call.positions_in_storage(position_by_arg[arg]), contents)
        for (arg, when), contents in sorted(pieces.items())
        if when == _AFTER
    )
    programs = row["programs"]
    return CheckedLaunch(
        seq=row["seq"],
        call_id=row["call_id"],
        kernel=call.kernel,
        why=row["why"] or "",
        programs=None if programs is None else tuple(programs),
        call=new_call,
        after=after,
        views=frozenset() if programs is not None else _positions_of_views(call, before),
        before=before,
    )


def _positions_of_views(call: Call, before: Mapping[int, tuple[Piece, ...]]) -> frozenset[int]:
    partly_recorded: set[int] = set()
    for position, pieces in before.items():
        tensor = call.tensor(position)
        if sum(len(piece.content) for piece in pieces) < tensor.storage.nbytes:
            partly_recorded.update(call.positions_in_storage(position))
    return frozenset(partly_recorded)


def _position_of(call: Call, names: list[str], arg: int) -> int:
    """Return the evaluator's position of the tensor that was recorded as argument `arg`.

    Raises:
        UnfitMemory: the call has no tensor of the argument's name.
    """
    if 0 <= arg < len(names):
        for position, argument in enumerate(call.arguments):
            if isinstance(argument, TensorArgument) and argument.name == names[arg]:
                return position
    raise UnfitMemory(f"memory was recorded of argument {arg}, but the call has no tensor there")


def _recorded_pieces(trace: Trace, row: dict[str, Any]) -> tuple[Piece, ...]:
    content = trace.artifact(row["artifact"]) if row["artifact"] else None
    spans = row["spans"] or []
    if content is None or sum(span["size_bytes"] for span in spans) != len(content):
        raise UnfitMemory("its recorded memory is not in the trace")
    memory, pieces, begin = np.frombuffer(content, np.uint8), [], 0
    for span in spans:
        pieces.append(Piece(int(span["offset_bytes"]), memory[begin : begin + span["size_bytes"]]))
        begin += span["size_bytes"]
    return tuple(pieces)


def _with_memory(call: Call, before: Mapping[int, tuple[Piece, ...]]) -> Call:
    """Return a copy of a call with new storages: recorded contents, and zeros elsewhere.

    A storage without any recorded contents has no data.
    """
    storages: dict[Storage, Storage] = {}
    for position, pieces in before.items():
        tensor = call.tensor(position)
        data = np.zeros(tensor.storage.nbytes, np.uint8)
        for piece in pieces:
            end_offset = piece.offset + len(piece.content)
            if piece.offset < 0 or end_offset > len(data):
                raise UnfitMemory(f"memory was recorded of {tensor.name} outside its storage")
            data[piece.offset : end_offset] = piece.content
        storages[tensor.storage] = Storage(len(data), data)
    arguments = with_storages(
        call.arguments, lambda storage: storages.get(storage) or Storage(storage.nbytes)
    )
    return replace(call, arguments=arguments)
