"""Distinct calls merged over runs: what was counted for each, and what one launch of it does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kvtrace.converters.profile.device_limits import DeviceLimits
from kvtrace.converters.profile.profile_tables import work_of_calls
from kvtrace.converters.profile.roofline import Work, position
from kvtrace.converters.report.model import Argument, Call, Roofline
from kvtrace.converters.report.slices import NO_CALL, Integers
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.figures.times import Times, figures_of_calls

if TYPE_CHECKING:
    from kvtrace.converters.report.kernels import KernelRows
    from kvtrace.schema.trace import Run, Trace

__all__ = ["CallRows"]

_FIGURES: Final = tuple(KERNEL_FIGURES)


class _Recorded(NamedTuple):
    """What of a call was recorded: the first fields of `Call`."""

    variant: int
    run: int
    call_id: int
    grid: tuple[int | None, int | None, int | None]
    args: tuple[int, ...]
    stack: int | None


@dataclass(frozen=True, slots=True)
class _Done:
    """What one launch does: a row of `work_of_calls`, and its FLOPs by type."""

    row: Mapping[str, Any]
    dots: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class CallRows:
    """The distinct calls of all runs, and the figures of those that ran.

    These are those of `figures/kernels.py`, and `runs`, which `kvtrace profile` weighs work by.
    """

    rows: list[_Recorded] = field(default_factory=list)
    call_kernels: list[int] = field(default_factory=list)
    """Kernel of each call."""
    by_id: dict[tuple[int, int], int] = field(default_factory=dict)
    """(run, call_id) → call."""
    places: list[dict[int, int]] = field(default_factory=list)
    """For each run: call_id → call."""
    arguments: dict[Argument, int] = field(default_factory=dict)
    figures: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Of calls that were launched or executed."""
    on_device: bool = False
    done: dict[int, _Done] = field(default_factory=dict)
    """Calls that were replayed."""

    def begin_run(
        self,
        rows: Iterable[Mapping[str, Any]],
        run: int,
        kernels: "KernelRows",
        stacks: Mapping[int, int],
    ) -> dict[int, int]:
        """Add the rows of `calls` of one run; return call_id → index."""
        places: dict[int, int] = {}
        for row in rows:
            places[row["call_id"]] = self.by_id[run, row["call_id"]] = len(self.rows)
            variant = kernels.by_id.get((run, row["kernel_id"]), NO_CALL)
            kernel = kernels.variants[variant].kernel if variant != NO_CALL else NO_CALL
            self.call_kernels.append(kernel)
            args = (_argument(entry) for entry in row["args"] or ())
            self.rows.append(
                _Recorded(
                    variant,
                    run,
                    row["call_id"],
                    (row["grid_x"], row["grid_y"], row["grid_z"]),
                    tuple(self.arguments.setdefault(arg, len(self.arguments)) for arg in args),
                    stacks.get(row["stack_id"]),
                )
            )
        self.places.append(places)
        return places

    def kernels(self, calls: Integers) -> Integers:
        """Return the kernel of each call; NO_CALL where the call is not known."""
        width = np.int16 if max(self.call_kernels, default=0) < 1 << 15 else np.int32
        return np.asarray([*self.call_kernels, NO_CALL], width)[calls]

    def read_figures(self, runs: "Sequence[Run]", host: Times, device: Times) -> None:
        """Take the figures of calls, and how often each of them ran."""
        places = {run.run_id: index for index, run in enumerate(runs)}
        self.on_device = device.calls.num_rows > 0
        found = figures_of_calls(host, device).select(["run", "call_id", "runs", *_FIGURES])
        for run, call_id, *figures in zip(*(c.to_pylist() for c in found.columns), strict=True):
            index = self.by_id[places[run], call_id]
            self.figures[index] = dict(zip(("runs", *_FIGURES), figures, strict=True))

    def read_work(self, trace: "Trace", runs: "Sequence[Run]") -> None:
        """Read what one launch of each replayed call does."""
        places = {run.run_id: index for index, run in enumerate(runs)}
        work, flops = work_of_calls(trace, runs)
        for row in work:
            self.done[self.by_id[places[row["run"]], row["call_id"]]] = _Done(row)
        for row in flops:
            done = self.done[self.by_id[places[row["run"]], row["call_id"]]]
            kind = done.dots if row["dot"] else done.others
            kind[row["dtype"]] = kind.get(row["dtype"], 0) + int(row["flops"])

    def evaluated(self) -> int | None:
        """Return how many calls have ops; None where replay has not run."""
        return len(self.done) or None

    def finished(self, limits: DeviceLimits | None) -> tuple[Call, ...]:
        """Return the calls with all that was counted, and their place under a device's roof."""
        return tuple(self._finished(index, limits) for index in range(len(self.rows)))

    def _finished(self, index: int, limits: DeviceLimits | None) -> Call:
        own = self.figures.get(index, {})
        executions, device_ns = own.get("device_executions"), own.get("device_ns")
        call = Call(
            *self.rows[index],
            launches=own.get("launches") or 0,
            tuning_launches=own.get("tuning_launches") or 0,
            runs=own.get("runs") or 0,
            host_ns=own.get("host_ns") or 0,
            host_median_ns=own.get("host_median_ns"),
            device_ns=device_ns or 0 if self.on_device else None,
            device_executions=executions or 0 if self.on_device else None,
            device_median_ns=own.get("device_median_ns"),
            bytes=None,
            flops=None,
            unique_bytes=None,
            mask_efficiency=None,
            sector_efficiency=None,
            unknown_accesses=None,
            roofline=None,
        )
        done = self.done.get(index)
        return call if done is None else _with_work(call, done, limits)

    def run_time(self, index: int) -> float | None:
        """Return the time on the device of all runs of a call, from those that were timed."""
        own = self.figures.get(index, {})
        executions = own.get("device_executions")
        return own["device_ns"] * own["runs"] / executions if executions else None


def _with_work(call: Call, done: _Done, limits: DeviceLimits | None) -> Call:
    row = done.row
    unique = _whole(row["unique_bytes"]) if row["accesses"] else 0
    moved = _whole(row["bytes"]) or 0
    lanes, sectors = _whole(row["lanes"]), _whole(row["sectors"])
    masked = _whole(row["masked"])
    work = Work(unique, None if row["unknown"] else moved, done.dots, done.others)
    return replace(
        call,
        bytes=moved,
        flops=int(row["flops"]),
        unique_bytes=unique,
        mask_efficiency=None if not lanes or masked is None else 1 - masked / lanes,
        sector_efficiency=None if not sectors else int(row["sector_bytes"]) / (32 * sectors),
        unknown_accesses=int(row["unknown"]),
        roofline=None if limits is None else _roofline(call, work, limits),
    )


def _roofline(call: Call, work: Work, limits: DeviceLimits) -> Roofline | None:
    placed = position(work, limits)
    if placed is None:
        return None
    flops = sum(work.dots.values()) + sum(work.others.values())
    median = call.device_median_ns
    return Roofline(
        position=placed,
        intensity=flops / work.unique_bytes if work.unique_bytes else None,
        roof=flops / placed.compute_ns * 1e9 if placed.compute_ns else None,
        attainable=flops / placed.best_ns * 1e9 if placed.best_ns and flops else None,
        reached=flops / median * 1e9 if median and flops else None,
        achieved=placed.best_ns / median if median else None,
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _argument(entry: Mapping[str, Any]) -> Argument:
    return Argument(
        name=entry["name"],
        kind=entry["kind"],
        dtype=entry["dtype"],
        device=entry["device"],
        shape=None if entry["shape"] is None else tuple(entry["shape"]),
        strides=None if entry["strides"] is None else tuple(entry["strides"]),
        offset_bytes=entry["offset_bytes"],
        storage_bytes=entry["storage_bytes"],
        alias_group=entry["alias_group"],
        alignment=entry["alignment"],
        scalar=entry["scalar"],
        value=entry["value_artifact"],
    )
