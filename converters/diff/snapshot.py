"""Snapshot of one side of a difference: compiled variants with sums over their launches.

Ids mean nothing outside their run, so variants of the ranks of a job, and repeated compilations,
are merged by their facts. Sums over launches run inside DuckDB, not in Python loops.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.further import fill_further, further_together
from kvtrace.converters.diff.model import Totals
from kvtrace.converters.diff.samples import Times, device_samples, host_samples
from kvtrace.converters.diff.times import Kind, Places, Samples
from kvtrace.converters.diff.totals import (
    add_figures,
    fill_calls,
    fill_totals,
    fill_works,
    kernel_medians,
    places_of,
    prepare,
)
from kvtrace.converters.diff.variant import Call, Variant
from kvtrace.converters.profile.specialization import specialization
from kvtrace.figures.database import scratch
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.times import device_times, host_times

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Selection, Trace

__all__ = [
    "Call",
    "KernelKey",
    "Snapshot",
    "Variant",
    "call_rows",
    "sum_totals",
    "take_snapshot",
]


_OF_OPS: Final = (
    "call_id", "kind", "bytes", "flops", "sectors", "elements", "masked_off"
)  # fmt: skip
_OF_CALLS: Final = ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All variants of a side by kernel, and the runs they were read from.

    `earlier` has the texts of earlier stages by the hashes in `Variant.stages`.
    """

    label: str
    trace: "Trace"
    runs: tuple["Run", ...]
    kernels: dict[KernelKey, list[Variant]]
    medians: dict[KernelKey, tuple[float | None, float | None]]
    has_ops: bool
    earlier: dict[str, str]
    host: Times
    device: Times
    places: tuple[Places, ...] = field(repr=False)
    _calls: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def text(self, sha256: str | None) -> str | None:
        """Return a source or stage text by its hash, or None if the trace lacks it."""
        if sha256 is None or sha256 in self.earlier:
            return self.earlier.get(sha256 or "")
        content = self.trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")

    def calls_of(self, run: "Run") -> pa.Table:
        """Return the rows of `calls` of a run, read on first use."""
        if run.run_id not in self._calls:
            self._calls[run.run_id] = self.trace.table("calls", [run])
        return self._calls[run.run_id]

    def launches_of(self, run: "Run") -> pa.Table:
        """Return call, begin, thread and phase of each launch of a run."""
        return self.trace.table("launches", [run], ["call_id", "enter", "thread", "phase"])

    def samples(self, kind: Kind, variants: Sequence[int]) -> Samples:
        """Return the times of the launches of some variants, by the variants' positions."""
        return (self.device if kind == "device" else self.host).of(variants)

    def kernel_totals(self, key: KernelKey) -> Totals:
        """Return the sums over a kernel's variants, with medians over all launches."""
        host, device = self.medians.get(key, (None, None))
        totals = sum_totals(v.totals for v in self.kernels[key])
        return replace(totals, host_median_ns=host, device_median_ns=device)

    @property
    def totals(self) -> Totals:
        """Sums over all kernels."""
        return sum_totals(v.totals for variants in self.kernels.values() for v in variants)


def take_snapshot(selection: "Selection", label: str) -> Snapshot:
    """Return the snapshot of one side.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    trace, runs = selection.trace, tuple(selection.runs)
    texts = {name: stage.texts(selection) for name, stage in earlier_stages().items()}
    variants, members = _variants(trace, runs, texts)
    ops = trace.table("ops", runs, list(_OF_OPS))
    with scratch() as database:
        calls = trace.table("calls", runs, list(_OF_CALLS))
        prepare(database, members, calls)
        places = [places_of(database, run) for run in runs]
        numbers: dict[KernelKey, int] = {}
        of_variants = [numbers.setdefault(variant.key, len(numbers)) for variant in variants]
        kernel_numbers = np.array(of_variants, np.int64)
        add_figures(
            database,
            host_times(trace, runs, groups=members),
            device_times(trace, runs, groups=members),
            ops,
        )
        medians = kernel_medians(database)
        fill_totals(database, variants)
        fill_calls(database, variants)
        fill_works(database, variants)
        fill_further(variants, trace, runs)
    kernels: dict[KernelKey, list[Variant]] = {}
    for variant in variants:
        kernels.setdefault(variant.key, []).append(variant)
    host, device = (
        read(trace, runs, places, kernel_numbers) for read in (host_samples, device_samples)
    )
    earlier = {_hash(text): text for written in texts.values() for text in written.values()}
    return Snapshot(
        label, trace, runs, kernels, medians, ops.num_rows > 0, earlier,
        host, device, tuple(places),
    )  # fmt: skip


def sum_totals(totals: Iterable[Totals]) -> Totals:
    """Return the sum; medians are unknown, and derived figures that a part lacks."""
    parts = list(totals)
    launched = [part for part in parts if part.launches]
    return Totals(
        launches=sum(part.launches for part in parts),
        tuning_launches=sum(part.tuning_launches for part in parts),
        host_ns=_known_sum(part.host_ns for part in parts),
        compiling_launches=sum(part.compiling_launches for part in parts),
        compiling_ns=sum(part.compiling_ns or 0 for part in parts),
        device_ns=_known_sum(part.device_ns for part in parts),
        compile_ns=sum(part.compile_ns or 0 for part in parts),
        bytes=_sum(part.bytes for part in launched),
        flops=_sum(part.flops for part in launched),
        sectors=_sum(part.sectors for part in launched),
        lanes=_sum(part.lanes for part in launched),
        lanes_on=_sum(part.lanes_on for part in launched),
        further=further_together(part.further for part in launched),
    )


def call_rows(side: Snapshot, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return the rows of `calls` of some calls, in the same order."""
    positions = {(call.run, call.call_id): position for position, call in enumerate(calls)}
    rows: list[dict[str, Any] | None] = [None] * len(calls)
    for run in side.runs:
        ids = [call_id for run_id, call_id in positions if run_id == run.run_id]
        if not ids:
            continue
        table = side.calls_of(run)
        mask = pa.compute.is_in(table["call_id"], pa.array(ids, pa.int64()))
        for row in table.filter(mask).to_pylist():
            rows[positions[row["run"], row["call_id"]]] = row
    return [row for row in rows if row is not None]


def _variants(
    trace: "Trace", runs: Sequence["Run"], texts: Mapping[str, Mapping[tuple[str, int], str]]
) -> tuple[list[Variant], pa.Table]:
    """Return variants merged over runs, and a table of run, kernel_id and variant (`grouped`)."""
    columns = [
        "kernel_id", "name", "module", "file", "line", "source_artifact", "signature", "target",
        "warp_size", "num_warps", "num_ctas", "num_stages", "options", "shared_bytes", "registers",
        "spills", "origin", "compile_ns", "stages",
    ]  # fmt: skip
    variants: list[Variant] = []
    positions: dict[tuple[Any, ...], int] = {}
    members = []
    for row in trace.table("kernels", runs, columns).to_pylist():
        variant = _variant(row)
        for stage, written in texts.items():
            text = written.get((row["run"], row["kernel_id"]))
            if text is not None:
                variant.stages[stage] = _hash(text)
        earlier = tuple(variant.stages.get(stage) for stage in texts)
        identity = (variant.key, row["source_artifact"], tuple(variant.facts.items()), earlier)
        position = positions.setdefault(identity, len(variants))
        if position == len(variants):
            variant.position = position
            variants.append(variant)
        else:
            compile_ns = variants[position].totals.compile_ns or 0
            variants[position].totals = Totals(compile_ns=compile_ns + (row["compile_ns"] or 0))
        members.append((row["run"], row["kernel_id"], position))
    columns_of_members: tuple[Sequence[Any], ...] = tuple(zip(*members, strict=True)) or (
        (),
        (),
        (),
    )
    kinds = (pa.string(), pa.int64(), pa.int64())
    arrays = [
        pa.array(column, kind) for column, kind in zip(columns_of_members, kinds, strict=True)
    ]
    return variants, pa.table(arrays, ["run", "kernel_id", "grouped"])


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _variant(row: Mapping[str, Any]) -> Variant:
    return Variant(
        key=key_of(row),
        facts=specialization(row),
        row=row,
        stages={s["stage"]: s["artifact"] for s in row["stages"] or () if s["artifact"]},
        resources={
            name: row[name]
            for name in ("registers", "spills", "shared_bytes")
            if row[name] is not None
        },
        totals=Totals(compile_ns=row["compile_ns"] or 0),
    )


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _sum(values: Iterable[int | None]) -> int | None:
    listed = list(values)
    return None if None in listed or not listed else sum(v for v in listed if v is not None)
