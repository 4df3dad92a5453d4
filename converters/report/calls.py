"""Unique calls merged over runs, with measured figures and the derived work of one launch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.device_limits import DeviceLimits, Work, position
from kvtrace.converters.profile.profile_tables import (
    Row,
    mask_efficiency,
    sector_efficiency,
)
from kvtrace.converters.report.model import Argument, Call, Roofline
from kvtrace.converters.report.slices import MISSING, NO_CALL, Integers, Lookup
from kvtrace.figures.columns import coded, integers
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.schema.contents import first_contents, with_values

if TYPE_CHECKING:
    from kvtrace.converters.report.merged_kernels import KernelRows
    from kvtrace.figures.part_figures import PartFigures
    from kvtrace.schema.trace import Run, Trace

_FIGURES: Final = ("runs", *KERNEL_FIGURES)
#: Fields of arguments that the page has as they are recorded.
_SAME: Final = (
    "name", "kind", "dtype", "device", "offset_bytes", "storage_bytes", "alias_group", "alignment",
    "scalar",
)  # fmt: skip
_ON_HOST: Final = ("launches", "tuning_launches", "runs", "host_ns")
_ON_DEVICE: Final = ("device_ns", "device_executions")
#: Most calls on a page.
_MOST_CALLS: Final = 5_000


@dataclass(slots=True)
class ReplayedSums:
    """Sums over the replayed calls of a kernel, weighted by their runs; times in nanoseconds."""

    bytes: int = 0
    flops: int = 0
    placed: int = 0
    """Number of executed calls with a known roofline time."""
    best_ns: float = 0.0
    timed: int = 0
    """Number of executed calls with timed executions."""
    device_ns: float = 0.0

    def best_of(self, calls: int | None) -> float | None:
        """Return the roofline time; None unless it is known for all `calls` executed calls."""
        return self.best_ns if calls and self.placed == calls else None

    def achieved(self, best: float | None) -> float | None:
        """Return `best` over the measured time; None unless all calls are timed."""
        if best is None or self.timed < self.placed or not self.device_ns:
            return None
        return best / self.device_ns


@dataclass(slots=True)
class CallRows:
    """The unique calls of all runs as columns: recorded rows, figures and work.

    The figures are those of `figures/kernels.py`, and the number of `runs`, by which work is
    weighted. A call is identified by its index in the columns; `Call` objects are built only for
    calls on the page.
    """

    variant: Integers
    """Variant index of each call, or NO_CALL if unknown."""
    kernel: Integers
    """Kernel index of each call, or NO_CALL if unknown."""
    indices: list[Lookup]
    """For each run: call_id → index of the call."""
    arguments: dict[Argument, int] = field(default_factory=dict)
    figures: pa.Table | None = None
    """A row for each call, null if the call was neither launched nor executed; None before
    `read_figures`."""
    on_device: bool = False
    done: dict[int, tuple[Row, Work]] = field(default_factory=dict)
    """Index → row and work of `work_of_calls`, of replayed calls."""

    @classmethod
    def read(
        cls, trace: "Trace", runs: "Sequence[Run]", kernels: "KernelRows", *, chosen: bool = False
    ) -> Self:
        """Return the calls of some runs, whose variants are `kernels`; errors as `Trace.table`.

        With `chosen`, calls of other kernels are left out.
        """
        ids = ["call_id", "kernel_id"]
        tables = [trace.table("calls", [run], ids) for run in runs]
        indices, variants, count = [], [np.zeros(0, np.int64)], 0
        for table, variant_of_id in zip(tables, kernels.indices, strict=True):
            call_ids = integers(table["call_id"], MISSING)
            variant = variant_of_id.of(integers(table["kernel_id"], MISSING))
            if chosen:
                call_ids, variant = call_ids[variant != NO_CALL], variant[variant != NO_CALL]
            indices.append(Lookup(call_ids, count + np.arange(variant.size)))
            variants.append(variant)
            count += variant.size
        variant = np.concatenate(variants)
        return cls(variant, kernels.kernels(variant), indices)

    def __len__(self) -> int:
        return len(self.variant)

    def kernels(self, calls: Integers) -> Integers:
        """Return the kernel index of each call index in `calls`; NO_CALL for NO_CALL."""
        kernel = np.append(self.kernel, NO_CALL)
        return kernel.astype(np.int16 if kernel.max() < 1 << 15 else np.int32)[calls]

    def index(self, run: int, call_id: int | None) -> int | None:
        """Return the index of the call with an id in a run, or None if unknown."""
        index = NO_CALL if call_id is None else int(self.indices[run].of(np.array([call_id]))[0])
        return None if index == NO_CALL else index

    def read_figures(self, of_part: "PartFigures") -> None:
        """Set `figures` and `on_device` from the times of launches and executions."""
        self.on_device = of_part.executed.calls.num_rows > 0
        table = of_part.by_call.select(["run", "call_id", *_FIGURES])
        names, codes = coded(table["run"].dictionary_encode())
        ids, calls = integers(table["call_id"]), np.full(table.num_rows, NO_CALL)
        run_indexes = {run.run_id: index for index, run in enumerate(of_part.runs)}
        for code, name in enumerate(names):
            if name is not None:
                rows_of_run = np.flatnonzero(codes == code)
                calls[rows_of_run] = self.indices[run_indexes[name]].of(ids[rows_of_run])
        rows = np.full(len(self) + 1, NO_CALL)
        rows[calls] = np.arange(table.num_rows)
        rows = rows[:-1]  # without the entry of NO_CALL
        self.figures = table.select(_FIGURES).take(pa.array(rows, mask=rows == NO_CALL))

    def add_work(self, done: "Iterable[tuple[Row, Work]]", runs: "Sequence[Run]") -> None:
        """Add the work of one launch of each replayed call to `done`."""
        run_indexes = {run.run_id: index for index, run in enumerate(runs)}
        for row, work in done:
            index = self.index(run_indexes[row["run"]], row["call_id"])
            if index is not None:  # else it is of a kernel that was not chosen
                self.done[index] = row, work

    def evaluated(self) -> int | None:
        """Return the number of replayed calls, or None if there are none."""
        return len(self.done) or None

    def sums(
        self, keys: Integers, wanted: Integers | None = None
    ) -> dict[int, dict[str, int | None]]:
        """Return by key the figures summed over calls; None where no call has the figure.

        `keys` has a key for each call, such as its kernel; `wanted` are the keys to sum by, by
        default all. The sums include the numbers of calls
        (`calls`) and of executed calls (`ran`).
        """
        names = [name for name in _FIGURES if name == "runs" or KERNEL_FIGURES[name].adds_up]
        assert self.figures is not None
        is_executed = pa.array((self.figure("runs") > 0).astype(np.int64))
        table = self.figures.select(names).append_column("ran", is_executed)
        names.append("ran")
        table = table.append_column("key", pa.array(keys))
        aggregates = [*((name, "sum") for name in names), ([], "count_all")]
        if wanted is not None:
            table = table.filter(pc.is_in(table["key"], pa.array(wanted)))
        grouped = table.group_by("key").aggregate(aggregates)
        columns = {name: grouped[f"{name}_sum"] for name in names} | {"calls": grouped["count_all"]}
        rows = pa.table(columns).to_pylist()
        return dict(zip(grouped["key"].to_pylist(), rows, strict=True))

    def figure(self, name: str) -> Integers:
        """Return a figure of each call, 0 if missing."""
        assert self.figures is not None
        return integers(self.figures[name])

    def shown(self, needed: Set[int]) -> Integers:
        """Return the sorted indexes of at most `_MOST_CALLS` calls to show on a page.

        Calls in `needed` come first, then those with most host time.
        """
        if len(self) <= _MOST_CALLS:
            return np.arange(len(self))
        is_optional = np.ones(len(self), np.bool_)
        is_optional[list(needed)] = False
        order = np.lexsort((-self.figure("host_ns"), is_optional))
        return np.sort(order[:_MOST_CALLS])

    def finished(
        self,
        trace: "Trace",
        runs: "Sequence[Run]",
        shown: Integers,
        variants: Integers,
        stacks: Mapping[int, int],
        limits: DeviceLimits | None,
    ) -> tuple[Call, ...]:
        """Return `Call` objects for the calls with the indexes `shown`, in this order.

        `variants` are the sorted indexes of the variants on the page. Arguments are added to
        `arguments`. `stacks` maps stack ids to indexes in the report; `limits` are those of the
        rooflines' device. Errors as `Trace.table`.
        """
        assert self.figures is not None
        figures = self.figures.take(pa.array(shown)).to_pylist()
        positions = Lookup(variants, np.arange(len(variants))).of(self.variant[shown]).tolist()
        calls = []
        for index, variant, figures_of_call, row in zip(
            shown.tolist(), positions, figures, self._recorded_rows(trace, runs, shown), strict=True
        ):
            args = (_argument(entry) for entry in row["args"] or ())
            call = Call(
                variant=variant,
                run=row["run"],
                call_id=row["call_id"],
                grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
                args=tuple(self.arguments.setdefault(arg, len(self.arguments)) for arg in args),
                stack=stacks.get(row["stack_id"]),
                **measured_sums(figures_of_call, on_device=self.on_device),
                host_median_ns=figures_of_call["host_median_ns"],
                device_median_ns=figures_of_call["device_median_ns"],
            )
            done = self.done.get(index)
            calls.append(call if done is None else _with_work(call, *done, limits))
        return tuple(calls)

    def _recorded_rows(
        self, trace: "Trace", runs: "Sequence[Run]", shown: Integers
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of `calls` for sorted call indexes, with the run's index as `run`.

        Recorded contents are added to the arguments.
        """
        first_index = 0
        for index, run in enumerate(runs):
            rows, contents = trace.table("calls", [run]), first_contents(trace, [run])
            positions = (
                shown[(first_index <= shown) & (shown < first_index + rows.num_rows)] - first_index
            )
            first_index += rows.num_rows
            for row in rows.take(pa.array(positions)).to_pylist():
                values = contents.get((row["run"], row["call_id"]), {})
                yield row | {"run": index, "args": with_values(row["args"], values)}

    def replayed(self, limits: DeviceLimits | None) -> dict[int, ReplayedSums]:
        """Return the sums over replayed calls, by kernel index."""
        by_kernel: dict[int, ReplayedSums] = {}
        runs, device_ns, executions = map(self.figure, ("runs", "device_ns", "device_executions"))
        for index, (row, work) in self.done.items():
            sums = by_kernel.setdefault(int(self.kernel[index]), ReplayedSums())
            run_count = int(runs[index])
            sums.bytes += run_count * (row["bytes"] or 0)
            sums.flops += run_count * int(row["flops"])
            roofline = None if limits is None else position(work, limits)
            if run_count and roofline is not None:
                sums.placed += 1
                sums.best_ns += run_count * roofline.best_ns
            if run_count and executions[index]:
                sums.timed += 1
                sums.device_ns += int(device_ns[index]) * run_count / int(executions[index])
        return by_kernel


def measured_sums(sums: Mapping[str, int | None], *, on_device: bool) -> dict[str, Any]:
    """Return what was measured of calls, as fields of `Kernel` and `Call`: 0 if missing.

    Figures of devices are None unless `on_device`.
    """
    host = {name: sums.get(name) or 0 for name in _ON_HOST}
    return host | {name: (sums.get(name) or 0) if on_device else None for name in _ON_DEVICE}


def _with_work(call: Call, row: Row, work: Work, limits: DeviceLimits | None) -> Call:
    return replace(
        call,
        bytes=row["bytes"] or 0,
        flops=int(row["flops"]),
        unique_bytes=work.unique_bytes,
        mask_efficiency=mask_efficiency(row),
        sector_efficiency=sector_efficiency(row),
        unknown_accesses=int(row["unknown"]),
        roofline=None if limits is None else _roofline(call, work, limits),
    )


def _roofline(call: Call, work: Work, limits: DeviceLimits) -> Roofline | None:
    roof_position = position(work, limits)
    if roof_position is None:
        return None
    flops = sum(work.dots.values()) + sum(work.others.values())
    median = call.device_median_ns
    return Roofline(
        position=roof_position,
        intensity=flops / work.unique_bytes if work.unique_bytes else None,
        roof=flops / roof_position.compute_ns * 1e9 if roof_position.compute_ns else None,
        attainable=flops / roof_position.best_ns * 1e9 if roof_position.best_ns and flops else None,
        reached=flops / median * 1e9 if median and flops else None,
        achieved=roof_position.best_ns / median if median else None,
    )


def _argument(entry: Mapping[str, Any]) -> Argument:
    return Argument(
        **{name: entry[name] for name in _SAME},
        shape=None if entry["shape"] is None else tuple(entry["shape"]),
        strides=None if entry["strides"] is None else tuple(entry["strides"]),
        value=entry["value_artifact"],
    )
