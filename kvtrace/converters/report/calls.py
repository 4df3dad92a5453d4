"""Distinct calls merged over runs: what was counted for each, and what one launch of it does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.converters.call_times import CallTimes
from kvtrace.converters.device_limits import DeviceLimits
from kvtrace.converters.profile_tables import work_of_calls
from kvtrace.converters.report.model import Argument, Call, Roofline
from kvtrace.converters.report.slices import NO_CALL, Integers
from kvtrace.converters.roofline import Work, position

if TYPE_CHECKING:
    from kvtrace.converters.report.kernels import KernelRows
    from kvtrace.schema.trace import Run, Trace

__all__ = ["CallRows"]

_COUNTS: Final = (
    "launches", "tuning", "captured", "host_ns", "device_ns", "executions", "replays", "run_ns",
    "run_executions", "runs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Done:
    """What one launch does: a row of `work_of_calls`, and its FLOPs by type."""

    row: Mapping[str, Any]
    dots: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class CallRows:
    """The distinct calls of all runs, and what is counted for each of them.

    `counts` has one column for each of: launches; of those by tuners and warm-ups (`tuning`), and
    into graphs (`captured`); time of all on the device, and on the host without launches in which
    the kernel was compiled or loaded; executions on the device,
    of those without tuning's `run_executions` and `run_ns`, and from graphs `replays`; and `runs`,
    which `kvtrace profile` weighs work by.
    """

    calls: list[Call] = field(default_factory=list)
    call_kernels: list[int] = field(default_factory=list)
    """Kernel of each call."""
    by_id: dict[tuple[int, int], int] = field(default_factory=dict)
    """(run, call_id) → call."""
    places: list[dict[int, int]] = field(default_factory=list)
    """For each run: call_id → call."""
    arguments: dict[Argument, int] = field(default_factory=dict)
    counts: dict[str, Integers] = field(
        default_factory=lambda: {name: np.zeros(0, np.int64) for name in _COUNTS}
    )
    host_medians: dict[int, float] = field(default_factory=dict)
    device_medians: dict[int, float] = field(default_factory=dict)
    on_device: bool = False
    done: dict[int, _Done] = field(default_factory=dict)
    """Calls that were replayed."""
    _first: int = 0
    """First call of the run that is being read."""

    def begin_run(
        self,
        rows: Iterable[Mapping[str, Any]],
        run: int,
        kernels: "KernelRows",
        stacks: Mapping[int, int],
    ) -> dict[int, int]:
        """Add the rows of `calls` of one run; return call_id → index."""
        places: dict[int, int] = {}
        self._first = len(self.calls)
        for row in rows:
            places[row["call_id"]] = self.by_id[run, row["call_id"]] = len(self.calls)
            variant = kernels.by_id.get((run, row["kernel_id"]), NO_CALL)
            kernel = kernels.variants[variant].kernel if variant != NO_CALL else NO_CALL
            self.call_kernels.append(kernel)
            self.calls.append(self._call(row, run, variant, stacks))
        for name, column in self.counts.items():
            self.counts[name] = np.concatenate(
                [column, np.zeros(len(self.calls) - len(column), np.int64)]
            )
        self.places.append(places)
        return places

    def _call(
        self, row: Mapping[str, Any], run: int, variant: int, stacks: Mapping[int, int]
    ) -> Call:
        args = (_argument(entry) for entry in row["args"] or ())
        return Call(
            variant=variant,
            run=run,
            call_id=row["call_id"],
            grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
            args=tuple(self.arguments.setdefault(arg, len(self.arguments)) for arg in args),
            stack=stacks.get(row["stack_id"]),
            launches=0,
            tuning_launches=0,
            runs=0,
            host_ns=0,
            host_median_ns=None,
            device_ns=None,
            run_device_ns=None,
            device_executions=None,
            device_median_ns=None,
            bytes=None,
            flops=None,
            unique_bytes=None,
            mask_efficiency=None,
            sector_efficiency=None,
            unknown_accesses=None,
            roofline=None,
        )

    def kernels(self, calls: Integers) -> Integers:
        """Return the kernel of each call; NO_CALL where the call is not known."""
        width = np.int16 if max(self.call_kernels, default=0) < 1 << 15 else np.int32
        return np.asarray([*self.call_kernels, NO_CALL], width)[calls]

    def count_launches(
        self, piece: Mapping[str, Integers], tuning: Integers, captured: int
    ) -> None:
        """Add launches: columns call, duration, phase, compiling, weight.

        `captured` is graphs' phase.
        """
        call, weight, graph = piece["call"], piece["weight"], piece["phase"] == captured
        self._add("launches", call, weight)
        self._add("tuning", call[tuning], weight[tuning])
        self._add("captured", call[graph], weight[graph])
        steady = ~piece["compiling"].astype(bool)
        self._add("host_ns", call[steady], (piece["duration"] * weight)[steady])

    def count_executions(
        self, piece: Mapping[str, Integers], tuning: Integers, replayed: Integers
    ) -> None:
        """Add executions on the device: columns call, duration, timed and weight."""
        self.on_device = True
        call, weight, run = piece["call"], piece["weight"], ~tuning
        duration = piece["duration"] * weight
        timed, replayed = run & piece["timed"].astype(bool), run & replayed
        self._add("executions", call, weight)
        self._add("device_ns", call, duration)
        self._add("replays", call[replayed], weight[replayed])
        self._add("run_executions", call[timed], weight[timed])
        self._add("run_ns", call[timed], duration[timed])

    def end_run(self, *, timeline: bool) -> None:
        """Work out how often each call of the run ran.

        What was captured into a graph ran when the graph was replayed; without a device timeline
        nobody knows how often, and it counts once.
        """
        own = slice(self._first, None)
        runs = self.counts["launches"][own] - self.counts["tuning"][own]
        if timeline:
            runs = runs - self.counts["captured"][own] + self.counts["replays"][own]
        self.counts["runs"][own] = runs

    def _add(self, name: str, calls: Integers, values: Integers) -> None:
        known = calls >= self._first  # of other runs there are none
        column = self.counts[name][self._first :]
        column += _exact_sums(calls[known] - self._first, values[known], len(column))

    def read_medians(self, runs: "Sequence[Run]", host: CallTimes, device: CallTimes) -> None:
        """Take the median times of calls."""
        places = {run.run_id: index for index, run in enumerate(runs)}
        for found, times in ((self.host_medians, host), (self.device_medians, device)):
            columns = (times.sums[name].to_pylist() for name in ("run", "call_id", "median"))
            for run, call_id, median in zip(*columns, strict=True):
                if call_id is not None and median is not None:
                    found[self.by_id[places[run], call_id]] = median

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
        return tuple(self._finished(index, limits) for index in range(len(self.calls)))

    def _finished(self, index: int, limits: DeviceLimits | None) -> Call:
        count = {name: int(column[index]) for name, column in self.counts.items()}
        call = replace(
            self.calls[index],
            launches=count["launches"],
            tuning_launches=count["tuning"],
            runs=count["runs"],
            host_ns=count["host_ns"],
            host_median_ns=self.host_medians.get(index),
            device_ns=count["device_ns"] if self.on_device else None,
            device_executions=count["executions"] if self.on_device else None,
            run_device_ns=count["run_ns"] if self.on_device else None,
            device_median_ns=self.device_medians.get(index),
        )
        done = self.done.get(index)
        return call if done is None else _with_work(call, done, limits)

    def run_time(self, index: int) -> float | None:
        """Return the time on the device of all runs of a call, from those that were timed."""
        executions = int(self.counts["run_executions"][index])
        if not executions:
            return None
        return int(self.counts["run_ns"][index]) * int(self.counts["runs"][index]) / executions


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


def _exact_sums(keys: Integers, values: Integers, count: int) -> Integers:
    """Return the sum of the values of each key; halves of 32 bits keep float64 sums exact."""
    low = np.bincount(keys, weights=values & 0xFFFFFFFF, minlength=count).astype(np.int64)
    high = np.bincount(keys, weights=values >> 32, minlength=count).astype(np.int64)
    return low + (high << 32)


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
