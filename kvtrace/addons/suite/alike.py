"""Calls that do the same work: alike but for what no address, mask, branch or loop tells apart.

Two launches do the same work if they run the same code on the same grid, and every scalar that
decides work is equal. A kernel sees a tensor as a pointer alone, so its shape and strides decide
nothing (those of a descriptor do); where it begins decides how accesses fall on cache lines. Where
contents of tensors decide work, these must be known and equal, too. Example: two launches of RMS
norm with another epsilon, or with their rows in a larger storage, are alike; launches with another
number of rows are not.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.code import stripped_lines
from kvtrace.evaluate import TensorArgument
from kvtrace.ir.data_dependence import contents_decide_work, parameters_deciding_work
from kvtrace.ir.types import PointerType
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from kvtrace.addons.suite.choice import WeighedCall
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Trace

#: Bytes of a cache line, within which the begin of a tensor decides what accesses cost.
_LINE: Final = 128


def alike_calls(trace: Trace, calls: Iterable[WeighedCall]) -> list[list[WeighedCall]]:
    """Return calls in groups that do the same work, in the order of the first of each.

    Calls that cannot be evaluated are alone.
    """
    listed = list(calls)
    codes = _codes(trace, listed)
    by_code: dict[Hashable, list[WeighedCall]] = {}
    for call in listed:
        if call.ir is not None:
            by_code.setdefault(codes[call], []).append(call)
    works: dict[WeighedCall, Hashable] = {}
    for same_code in by_code.values():
        if len(same_code) > 1:
            for run in dict.fromkeys(call.run for call in same_code):
                works |= _works(trace, run, [call for call in same_code if call.run == run])
    groups: dict[Hashable, list[WeighedCall]] = {}
    for call in listed:
        key = (codes[call], works[call]) if call in works else call
        groups.setdefault(key, []).append(call)
    return list(groups.values())


def _codes(trace: Trace, calls: Iterable[WeighedCall]) -> dict[WeighedCall, Hashable]:
    """Return what is equal for calls of equal code and compile options.

    Locations in the IR and the names of kernels do not count: ranks of a job and graphs of Inductor
    have equal kernels from files of their own.
    """
    hashes: dict[str, str] = {}
    for call in calls:
        if call.ir is not None and call.ir not in hashes:
            content = trace.artifact(call.ir) or call.ir.encode()
            lines = stripped_lines("mlir", content.decode("utf-8", "replace"))
            hashes[call.ir] = sha256("\n".join(lines).encode()).hexdigest()
    return {call: (hashes.get(call.ir or ""), call.options) for call in calls}


def _works(trace: Trace, run: Run, calls: list[WeighedCall]) -> dict[WeighedCall, Hashable]:
    """Return what decides the work of calls of a run; calls of which it is not known are absent."""
    by_id = {call.call_id: call for call in calls}
    works = {}
    for call in calls_of(trace, run, by_id):
        work = None if isinstance(call, UnreadyCall) else _work(call)
        if work is not None:
            works[by_id[call.call_id]] = work
    return works


def _work(call: Call) -> Hashable | None:
    """Return what decides a call's work besides its code, or None if that is not known."""
    deciding = parameters_deciding_work(call.module)
    with_contents = contents_decide_work(call.module)
    storages: dict[int, int] = {}
    parts: list[Hashable] = [call.grid]
    types = [parameter.type for parameter in call.module.main.arguments]
    for position, (argument, type_) in enumerate(zip(call.arguments, types, strict=True)):
        if not isinstance(argument, TensorArgument):
            value = argument.value if position in deciding else None
            parts.append((type(argument.value).__name__, repr(value)))
            continue
        first_offset = storages.setdefault(id(argument.storage), argument.offset_bytes)
        number = list(storages).index(id(argument.storage))
        begin = argument.offset_bytes % _LINE, argument.offset_bytes - first_offset
        extents = () if isinstance(type_, PointerType) else (argument.shape, argument.strides)
        parts.append((argument.dtype, number, begin, extents))
        if with_contents:
            data = argument.storage.data
            if data is None:
                return None
            parts.append(sha256(data.tobytes()).hexdigest())
    return tuple(parts)
