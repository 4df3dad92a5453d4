"""Calls of a recorded run by what they weigh: time on the device, or launches; alike calls."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.diff.code import stripped_lines
from kvtrace.converters.scripts.repro import options_of
from kvtrace.evaluate import TensorArgument
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.tables import known_rows
from kvtrace.figures.times import device_times, figures_of_calls, host_times
from kvtrace.figures.window import windowed
from kvtrace.ir.data_dependence import contents_decide_work, parameters_deciding_work
from kvtrace.ir.types import PointerType
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of, stage_artifact
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from kvtrace.addons.suite.model import Weighed
    from kvtrace.converters.scripts.repro import Repro
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection, Trace


#: Bytes of a cache line, within which the begin of a tensor decides what accesses cost.
_LINE: Final = 128


@dataclass(frozen=True, slots=True)
class WeighedCall:
    """A unique call and its figures, as `kvtrace profile` has them; times in ns.

    `weight` is its time on the device, or its launches (see `WeighedCalls.weighed_by`). `ir` is
    the artifact of its kernel's IR, None if it was not recorded.
    """

    run: Run
    call_id: int
    kernel: str
    ir: str | None
    options: tuple[tuple[str, object], ...]
    weight: int
    launches: int
    device_ns: int | None
    median_ns: float | None


@dataclass(frozen=True, slots=True)
class WeighedCalls:
    """The calls of some runs, heaviest first, without trials of autotuners.

    Attributes:
        weighed_by: what `weight` counts.
        weight: of all calls.
        device_ns: time on the device of all that ran there, libraries too; None: not recorded.
        calls: those with a weight.
        part: a sentence on the part of the runs that this is of; None: all of them.
    """

    weighed_by: Weighed
    weight: int
    device_ns: int | None
    calls: tuple[WeighedCall, ...]
    part: str | None


@dataclass(frozen=True, slots=True)
class ChosenCalls:
    """The calls of an entry, heaviest first, and the data of the first."""

    repro: Repro
    calls: list[WeighedCall]

    @property
    def weight(self) -> int:
        """Weight of all of them."""
        return sum(call.weight for call in self.calls)


def weighed_calls(selection: Selection, part: RequestedPart = STEADY) -> WeighedCalls:
    """Return the calls of the selected runs by their weight.

    Raises:
        BadSetting: there is no such part, or nothing was launched in it.
    """
    trace, window = windowed(selection.trace, selection.runs, part)
    device = device_times(trace, selection.runs)
    rows = figures_of_calls(host_times(trace, selection.runs), device).to_pylist()
    on_device = [ns for ns in device.calls["device_ns"].to_pylist() if ns is not None]
    is_timed = any(row["device_ns"] for row in rows)
    kernels = _kernels_of_calls(selection)
    runs = {run.run_id: run for run in selection.runs}
    calls = [
        _weighed(row, runs[row["run"]], kernels[row["run"], row["call_id"]], is_timed=is_timed)
        for row in rows
        if (row["run"], row["call_id"]) in kernels
    ]
    calls = [call for call in calls if call.weight > 0]
    if not calls:
        raise BadSetting(
            f"{selection.trace.path} has no launch of a known kernel in the chosen part, of which "
            "a suite could be made: kvtrace info shows what it has"
        )
    calls.sort(key=lambda call: (-call.weight, call.run.run_id, call.call_id))
    return WeighedCalls(
        weighed_by="device time" if is_timed else "launches",
        weight=sum(call.weight for call in calls),
        device_ns=sum(on_device) if is_timed else None,
        calls=tuple(calls),
        part=None if window is None else window.sentence,
    )


_KERNEL_COLUMNS: Final = (
    "kernel_id", "name", "stages", "num_warps", "num_stages", "num_ctas", "options",
)  # fmt: skip


def _kernels_of_calls(selection: Selection) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the row of each call's kernel, by run id and call id."""
    trace, runs = selection.trace, selection.runs
    kernels = {
        (row["run"], row["kernel_id"]): row
        for row in trace.table("kernels", runs, _KERNEL_COLUMNS).to_pylist()
    }
    calls = known_rows(trace, runs, "calls", ("call_id", "kernel_id")).to_pylist()
    return {
        (row["run"], row["call_id"]): kernels[row["run"], row["kernel_id"]]
        for row in calls
        if (row["run"], row["kernel_id"]) in kernels
    }


def _weighed(
    row: Mapping[str, Any], run: Run, kernel: Mapping[str, Any], *, is_timed: bool
) -> WeighedCall:
    launches = int(row["runs"] or 0)
    device_ns = row["device_ns"] if is_timed else None
    return WeighedCall(
        run=run,
        call_id=int(row["call_id"]),
        kernel=str(kernel["name"]),
        ir=next(filter(None, (stage_artifact(kernel, name) for name in ("ttir", "ttgir"))), None),
        options=tuple(options_of(kernel, source=False).items()),
        weight=int(device_ns or 0) if is_timed else launches,
        launches=launches,
        device_ns=device_ns,
        median_ns=row["device_median_ns"] if is_timed else None,
    )


# Calls that do the same work: alike but for what no address, mask, branch or loop tells apart.
#
# Two launches do the same work if they run the same code on the same grid, and every scalar that
# decides work is equal. A kernel sees a tensor as a pointer alone, so its shape and strides decide
# nothing (those of a descriptor do); where it begins decides how accesses fall on cache lines.
# Where contents of tensors decide work, these must be known and equal, too. Example: two launches
# of RMS norm with another epsilon, or with their rows in a larger storage, are alike; launches with
# another number of rows are not.


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
