"""The recorded call behind a kernel in a GPU core dump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from kvtrace.addons.fault.parameters import fits, read_parameters
from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.recorded_calls.recorded import stage_artifact

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.reading import Grid
    from kvtrace.schema.trace import Run, Trace

_KERNELS: Final = ("kernel_id", "name", "function", "signature", "stages", "file", "origin")
#: A kernel's row, a call's row, and the call's parameters.
_Found = tuple[Mapping[str, Any], Mapping[str, Any], tuple[int | float | None, ...]]


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded call that a kernel on the device can have been launched by.

    Attributes:
        kernel: its kernel's row of `kernels`.
        call: its row of `calls`.
        parameters: the value of each of its arguments in the dump, None where not known.
        seq: its last launch; None: it has no row of `launches`.
        enter: when that launch was made, in nanoseconds since 1970.
        phase: the phase of that launch, as `graph_capture`.
        fits: the parameters are its own; False: they fit no call, so it is the kernel's last one
            with this grid.
    """

    kernel: Mapping[str, Any]
    call: Mapping[str, Any]
    parameters: tuple[int | float | None, ...]
    seq: int | None
    enter: int | None
    phase: str | None
    fits: bool = True


def matches(trace: Trace, run: Run, grid: Grid) -> list[Match]:
    """Return the calls that fit a kernel in a dump, the one with the last launch first.

    A call fits if its kernel's function has the name and, where both are known, the code, and if
    the grid and all parameters are those of the dump. If none fits, these are the calls of the
    kernel with this grid: a store that runs away can overwrite the parameters of a replayed graph.
    """
    rows = trace.table("kernels", (run,), columns=_KERNELS).to_pylist()
    named = [row for row in rows if grid.name and row["function"] == grid.name]
    same = {row["kernel_id"]: _is_same_code(trace, row, grid.code) for row in named}
    if any(same.values()):
        named = [row for row in named if same[row["kernel_id"]]]
    kernels = {row["kernel_id"]: row for row in named}
    values = {
        row["kernel_id"]: read_parameters(grid.parameters, row["signature"] or []) for row in named
    }
    found: list[_Found] = []
    unfit: list[_Found] = []
    for call in trace.table("calls", (run,)).to_pylist():
        kernel = kernels.get(call["kernel_id"])
        size = (call["grid_x"], call["grid_y"], call["grid_z"])
        if kernel is None or (any(grid.size) and size != grid.size):
            continue
        parameters, args = values[call["kernel_id"]], call["args"] or []
        is_fit = len(parameters) == len(args) and fits(parameters, args)
        if is_fit:
            found.append((kernel, call, parameters))
        else:
            unfit.append((kernel, call, (None,) * len(args)))
    are_fit = bool(found)
    found = found or unfit
    launches = _last_launches(trace, run, [call["call_id"] for _, call, _ in found])
    listed = [
        Match(kernel, call, parameters, seq, enter, phase, are_fit)
        for kernel, call, parameters in found
        for seq, enter, phase in (launches.get(call["call_id"], (None, None, None)),)
    ]
    return sorted(listed, key=lambda match: -1 if match.seq is None else match.seq, reverse=True)


def _is_same_code(trace: Trace, kernel: Mapping[str, Any], code: bytes) -> bool | None:
    digest = stage_artifact(kernel, "cubin")
    cubin = trace.artifact(digest) if digest else None
    if cubin is None or not code:
        return None
    return any(
        section.name.startswith(".text.") and bytes(section.content) == code
        for section in SectionTable(cubin)
    )


def _last_launches(
    trace: Trace, run: Run, call_ids: Sequence[int]
) -> dict[int, tuple[int, int, str | None]]:
    """Return the number, time and phase of the last launch of each call."""
    columns = ["seq", "call_id", "enter", "phase"]
    table = trace.table("launches", (run,), columns=columns)
    rows = table.filter(pc.field("call_id").isin(list(call_ids))).sort_by("seq")
    times = rows["enter"].cast("int64").to_pylist()
    return {
        call_id: (seq, enter, phase)
        for seq, call_id, enter, phase in zip(
            rows["seq"].to_pylist(),
            rows["call_id"].to_pylist(),
            times,
            rows["phase"].to_pylist(),
            strict=True,
        )
    }
