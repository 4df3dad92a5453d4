"""Unique calls merged over runs: what was counted for each, and what one launch of it does."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.profile.device_limits import DeviceLimits
from kvtrace.converters.profile.profile_tables import work_of_calls
from kvtrace.converters.profile.roofline import Work, position
from kvtrace.converters.report.model import Argument, Call, Roofline
from kvtrace.converters.report.slices import MISSING, NO_CALL, Integers, Lookup
from kvtrace.figures.columns import coded, integers
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.figures.times import Times, figures_of_calls
from kvtrace.schema.contents import with_values

if TYPE_CHECKING:
    from kvtrace.converters.report.merged_kernels import KernelRows
    from kvtrace.schema.trace import Run, Trace

__all__ = ["CallRows", "Replayed"]

_FIGURES: Final = ("runs", *KERNEL_FIGURES)
#: More than this a page cannot hold.
_MOST_CALLS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Done:
    """What one launch does: a row of `work_of_calls`, and its FLOPs by type."""

    row: Mapping[str, Any]
    dots: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes asked for."""
        return _whole(self.row["bytes"]) or 0

    def unique_bytes(self) -> int | None:
        """Return the distinct bytes; None where they are not known."""
        return _whole(self.row["unique_bytes"]) if self.row["accesses"] else 0

    def work(self) -> Work:
        """Return what a roofline is drawn of."""
        known = None if self.row["unknown"] else self.bytes
        return Work(self.unique_bytes(), known, self.dots, self.others)


@dataclass(slots=True)
class Replayed:
    """What replayed calls add up to, over their runs; times in nanoseconds."""

    bytes: int = 0
    flops: int = 0
    placed: int = 0
    """Calls that ran, and whose time at best is known."""
    best_ns: float = 0.0
    timed: int = 0
    """Calls that ran, of which some executions were timed."""
    device_ns: float = 0.0

    def best_of(self, calls: int | None) -> float | None:
        """Return the time at best; None unless that of all calls that ran is known."""
        return self.best_ns if calls and self.placed == calls else None

    def achieved(self, best: float | None) -> float | None:
        """Return the share of the time at best in the time taken, where that is known, too."""
        if best is None or self.timed < self.placed or not self.device_ns:
            return None
        return best / self.device_ns


@dataclass(slots=True)
class CallRows:
    """The unique calls of all runs as columns, and the figures of those that ran.

    These are those of `figures/kernels.py`, and `runs`, which `kvtrace profile` weighs work by. A
    call is its place in the columns; an object is made of those alone that the page shows.
    """

    indices: list[Lookup] = field(default_factory=list)
    """For each run: call_id → call."""
    arguments: dict[Argument, int] = field(default_factory=dict)
    figures: pa.Table | None = None
    """A row for each call, null where it was neither launched nor executed."""
    on_device: bool = False
    done: dict[int, _Done] = field(default_factory=dict)
    """Calls that were replayed."""
    _rows: list[pa.Table] = field(default_factory=list)
    """What was recorded, by run."""
    _held: list[Mapping[tuple[str, int], Mapping[int, str]]] = field(default_factory=list)
    """What `first_contents` gave of each run."""
    _variants: list[Integers] = field(default_factory=list)
    _kernels: list[Integers] = field(default_factory=list)
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def begin_run(
        self,
        rows: pa.Table,
        kernels: "KernelRows",
        held: Mapping[tuple[str, int], Mapping[int, str]],
    ) -> Lookup:
        """Add the rows of `calls` of the next run; return call_id → call."""
        own = np.arange(self._count, self._count + rows.num_rows)
        found = Lookup(integers(rows["call_id"], MISSING), own)
        variants = kernels.indices[len(self._rows)].of(integers(rows["kernel_id"], MISSING))
        self.indices.append(found)
        self._rows.append(rows)
        self._held.append(held)
        self._variants.append(variants)
        self._kernels.append(kernels.kernels(variants))
        self._count += rows.num_rows
        return found

    @property
    def variant(self) -> Integers:
        """Variant of each call; NO_CALL where it is not known."""
        return np.concatenate(self._variants or [np.zeros(0, np.int64)])

    @property
    def kernel(self) -> Integers:
        """Kernel of each call; NO_CALL where it is not known."""
        return np.concatenate(self._kernels or [np.zeros(0, np.int64)])

    def kernels(self, calls: Integers) -> Integers:
        """Return the kernel of some calls; NO_CALL where the call is not known."""
        kernel = np.append(self.kernel, NO_CALL)
        return kernel.astype(np.int16 if kernel.max() < 1 << 15 else np.int32)[calls]

    def index(self, run: int, call_id: int | None) -> int | None:
        """Return the call of a run with an id; None where there is none."""
        found = NO_CALL if call_id is None else int(self.indices[run].of(np.array([call_id]))[0])
        return None if found == NO_CALL else found

    def read_figures(self, runs: "Sequence[Run]", host: Times, device: Times) -> None:
        """Take the figures of calls, and how often each of them ran."""
        self.on_device = device.calls.num_rows > 0
        found = figures_of_calls(host, device).select(["run", "call_id", *_FIGURES])
        names, codes = coded(found["run"].dictionary_encode())
        ids, calls = integers(found["call_id"]), np.full(found.num_rows, NO_CALL)
        places = {run.run_id: index for index, run in enumerate(runs)}
        for code, name in enumerate(names):
            if name is not None:
                own = np.flatnonzero(codes == code)
                calls[own] = self.indices[places[name]].of(ids[own])
        rows = np.full(self._count + 1, NO_CALL)
        rows[calls] = np.arange(found.num_rows)
        rows = rows[:-1]
        self.figures = found.select(_FIGURES).take(pa.array(rows, mask=rows == NO_CALL))

    def read_work(self, trace: "Trace", runs: "Sequence[Run]") -> None:
        """Read what one launch of each replayed call does."""
        places = {run.run_id: index for index, run in enumerate(runs)}
        work, flops = work_of_calls(trace, runs)
        for row in work:
            self.done[self._told(places[row["run"]], row["call_id"])] = _Done(row)
        for row in flops:
            done = self.done[self._told(places[row["run"]], row["call_id"])]
            kind = done.dots if row["dot"] else done.others
            kind[row["dtype"]] = kind.get(row["dtype"], 0) + int(row["flops"])

    def _told(self, run: int, call_id: int) -> int:
        found = self.index(run, call_id)
        assert found is not None  # it was joined with `calls`
        return found

    def evaluated(self) -> int | None:
        """Return how many calls have ops; None where replay has not run."""
        return len(self.done) or None

    def sums(self, keys: Integers) -> dict[int, dict[str, int | None]]:
        """Add up the figures of calls by a key of each; a figure that none of them has is None.

        `calls` counts them, and `ran` those that ran.
        """
        named = [name for name in _FIGURES if name == "runs" or KERNEL_FIGURES[name].adds_up]
        assert self.figures is not None
        ran = pa.array((self.figure("runs") > 0).astype(np.int64))
        table = self.figures.select(named).append_column("ran", ran)
        named.append("ran")
        table = table.append_column("key", pa.array(keys))
        wanted = [*((name, "sum") for name in named), ([], "count_all")]
        found = table.group_by("key").aggregate(wanted)
        columns = {name: found[f"{name}_sum"] for name in named} | {"calls": found["count_all"]}
        rows = pa.table(columns).to_pylist()
        return dict(zip(found["key"].to_pylist(), rows, strict=True))

    def figure(self, name: str) -> Integers:
        """Return a figure of each call, 0 where it has none."""
        assert self.figures is not None
        return integers(self.figures[name])

    def shown(self, needed: Set[int]) -> Integers:
        """Return the calls that a page shows: those that are needed, and most host time."""
        if self._count <= _MOST_CALLS:
            return np.arange(self._count)
        rest = np.ones(self._count, np.bool_)
        rest[list(needed)] = False
        order = np.lexsort((-self.figure("host_ns"), rest))
        return np.sort(order[:_MOST_CALLS])

    def finished(
        self, shown: Integers, stacks: Mapping[int, int], limits: DeviceLimits | None
    ) -> tuple[Call, ...]:
        """Return some calls with all that was counted, and their place under a device's roof.

        `stacks` has the place of each stack in the report.
        """
        assert self.figures is not None
        figures = self.figures.take(pa.array(shown)).to_pylist()
        variants = self.variant[shown].tolist()
        found = []
        for index, variant, own, row in zip(
            shown.tolist(), variants, figures, self._recorded(shown), strict=True
        ):
            args = (_argument(entry) for entry in row["args"] or ())
            call = Call(
                variant=variant,
                run=row["run"],
                call_id=row["call_id"],
                grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
                args=tuple(self.arguments.setdefault(arg, len(self.arguments)) for arg in args),
                stack=stacks.get(row["stack_id"]),
                launches=own["launches"] or 0,
                tuning_launches=own["tuning_launches"] or 0,
                runs=own["runs"] or 0,
                host_ns=own["host_ns"] or 0,
                host_median_ns=own["host_median_ns"],
                device_ns=own["device_ns"] or 0 if self.on_device else None,
                device_executions=own["device_executions"] or 0 if self.on_device else None,
                device_median_ns=own["device_median_ns"],
                bytes=None,
                flops=None,
                unique_bytes=None,
                mask_efficiency=None,
                sector_efficiency=None,
                unknown_accesses=None,
                roofline=None,
            )
            done = self.done.get(index)
            found.append(call if done is None else _with_work(call, done, limits))
        return tuple(found)

    def _recorded(self, shown: Integers) -> Iterator[dict[str, Any]]:
        """Yield the rows of `calls` of some calls, in order, with the run's place as `run`."""
        first = 0
        for run, rows in enumerate(self._rows):
            own = shown[(first <= shown) & (shown < first + rows.num_rows)] - first
            first += rows.num_rows
            for row in rows.take(pa.array(own)).to_pylist():
                values = self._held[run].get((row["run"], row["call_id"]), {})
                yield row | {"run": run, "args": with_values(row["args"], values)}

    def replayed(self, limits: DeviceLimits | None) -> dict[int, Replayed]:
        """Return by kernel what its replayed calls add up to."""
        found: dict[int, Replayed] = {}
        kernel = self.kernel
        runs, device_ns, executions = map(self.figure, ("runs", "device_ns", "device_executions"))
        for index, done in self.done.items():
            own, number = found.setdefault(int(kernel[index]), Replayed()), int(runs[index])
            own.bytes += number * done.bytes
            own.flops += number * int(done.row["flops"])
            placed = None if limits is None else position(done.work(), limits)
            if number and placed is not None:
                own.placed += 1
                own.best_ns += number * placed.best_ns
            if number and executions[index]:
                own.timed += 1
                own.device_ns += int(device_ns[index]) * number / int(executions[index])
        return found


def _with_work(call: Call, done: _Done, limits: DeviceLimits | None) -> Call:
    row = done.row
    lanes, sectors = _whole(row["lanes"]), _whole(row["sectors"])
    masked = _whole(row["masked"])
    return replace(
        call,
        bytes=done.bytes,
        flops=int(row["flops"]),
        unique_bytes=done.unique_bytes(),
        mask_efficiency=None if not lanes or masked is None else 1 - masked / lanes,
        sector_efficiency=None if not sectors else int(row["sector_bytes"]) / (32 * sectors),
        unknown_accesses=int(row["unknown"]),
        roofline=None if limits is None else _roofline(call, done.work(), limits),
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
