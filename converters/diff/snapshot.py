"""Snapshot of one side of a comparison: compiled variants with sums over their launches.

Ids are unique only in their run, so variants of several ranks, and repeated compilations, are
merged by their facts. Sums over launches are computed in DuckDB, not in Python loops.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.executions import DeviceExecutions, device_executions, read_transfers
from kvtrace.converters.diff.inputs import RecordedInputs, recorded_inputs
from kvtrace.converters.diff.model import Side, Totals
from kvtrace.converters.diff.read_times import DEVICE, HOST, TimeStore, read_samples
from kvtrace.converters.diff.times import Kind, RunCalls, Samples
from kvtrace.converters.diff.totals import (
    add_figures,
    fill_calls,
    fill_totals,
    fill_works,
    kernel_medians,
    prepare,
    run_calls,
)
from kvtrace.converters.diff.variant import Call, Variant
from kvtrace.converters.findings import Findings
from kvtrace.converters.notes import Unevaluated, read_unevaluated
from kvtrace.converters.profile.recompiles import Change, changes, specialization
from kvtrace.figures.columns import (
    Integers,
    integers,
    sum_if_all_known,
    sum_of_known,
    summed_by,
)
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.kernels import further_sums
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.tables import close_times, scratch
from kvtrace.figures.times import device_times, host_times
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import Run, Selection, Trace

_OP_COLUMNS: Final = (
    "call_id", "kind", "bytes", "flops", "sectors", "elements", "masked_off"
)  # fmt: skip
#: Columns of `kernels` in which equal variants differ, and the prefix of those of earlier stages.
_OF_ONE_KERNEL: Final = ("run", "kernel_id", "compile_ns", "cache_hit")
_TEXT: Final = "text "
_CALL_COLUMNS: Final = ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All variants of a side by kernel, with times of launches, and the runs that they are from.

    `medians` are each kernel's median host and device time. `earlier` has the texts of add-ons'
    stages by the hashes in `Variant.stages`. `without_args` are the names of kernels with a call of
    which no arguments were recorded. `inputs` are contents and views of tensors.
    """

    label: str
    trace: Trace
    runs: tuple[Run, ...]
    kernels: dict[KernelKey, list[Variant]]
    medians: dict[KernelKey, tuple[float | None, float | None]]
    has_ops: bool
    earlier: dict[str, str]
    host: TimeStore
    device: TimeStore
    places: tuple[RunCalls, ...] = field(repr=False)
    executions: DeviceExecutions
    unevaluated: Unevaluated | None
    without_args: tuple[str, ...]
    inputs: RecordedInputs = field(repr=False)
    _calls: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def of_kernels(self, chosen: frozenset[str] | None) -> Self:
        """Return the snapshot with only the kernels of some names; `chosen` None: unchanged."""
        if chosen is None:
            return self
        own, others = self.executions.own, self.executions.others
        executions = replace(
            self.executions,
            own={key: own[key] for key in own if key.name in chosen},
            others={named: others[named] for named in others if named.name in chosen},
        )
        return replace(
            self,
            kernels={key: self.kernels[key] for key in self.kernels if key.name in chosen},
            executions=executions,
            without_args=tuple(name for name in self.without_args if name in chosen),
        )

    def text(self, sha256: str | None) -> str | None:
        """Return a source or stage text by its hash, or None if the trace lacks it."""
        if sha256 is None or sha256 in self.earlier:
            return self.earlier.get(sha256 or "")
        content = self.trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")

    def calls_of(self, run: Run) -> pa.Table:
        """Return the rows of `calls` of a run; they are read on first use."""
        if run.run_id not in self._calls:
            self._calls[run.run_id] = self.trace.table("calls", [run])
        return self._calls[run.run_id]

    def samples(self, kind: Kind, variants: Sequence[int]) -> Samples:
        """Return the device or host times (`kind`) of the variants with these positions."""
        return (self.device if kind == "device" else self.host).of(variants)

    def kernel_totals(self, key: KernelKey) -> Totals:
        """Return the sums over a kernel's variants, with medians over all launches."""
        host, device = self.medians.get(key, (None, None))
        totals = sum_totals(v.totals for v in self.kernels[key])
        return replace(totals, host_median_ns=host, device_median_ns=device)

    @property
    def tritons(self) -> set[str | None]:
        """The versions of Triton that compiled the kernels."""
        return {run.versions.get("triton") for run in self.runs}

    @property
    def totals(self) -> Totals:
        """Sums over all kernels."""
        return sum_totals(v.totals for variants in self.kernels.values() for v in variants)


def take_snapshot(selection: Selection, label: str) -> Snapshot:
    """Return the snapshot of a selection's runs; `label` names the side.

    Sums come from DuckDB: `prepare` makes its tables of calls, `add_figures` those of their times
    and work, which `kernel_medians`, `device_executions` and `fill_…` (into `variants`) read.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    trace, runs = selection.trace, tuple(selection.runs)
    add_up(trace, runs)  # before figures are read, which come from the sums it writes
    texts = {name: stage.texts(selection) for name, stage in earlier_stages().items()}
    variants, members = _variants(trace, runs, texts)
    keys = [variant.key for variant in variants]
    ops = trace.table("ops", runs, list(_OP_COLUMNS))
    with scratch() as database:
        calls = trace.table("calls", runs, list(_CALL_COLUMNS))
        without_args = _without_args(calls, variants, members)
        inputs = recorded_inputs(trace, runs, calls, members, keys)
        prepare(database, members, calls)
        del calls
        places = [run_calls(database, run) for run in runs]
        number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        kernel_numbers = np.array([number_of[key] for key in keys], np.int64)
        host_figures = host_times(trace, runs, groups=members)
        device_figures = device_times(trace, runs, groups=members)
        add_figures(database, host_figures, device_figures, ops)
        medians = kernel_medians(database)
        executions = device_executions(database, keys, medians, read_transfers(trace, runs))
        fill_totals(database, variants)
        fill_calls(database, variants)
        fill_works(database, variants)
    kernels: dict[KernelKey, list[Variant]] = {}
    for variant in variants:
        kernels.setdefault(variant.key, []).append(variant)
    host = read_samples(HOST, trace, runs, places, kernel_numbers, host_figures.calls)
    device = read_samples(DEVICE, trace, runs, places, kernel_numbers, device_figures.calls)
    close_times(trace, runs)  # after the last query of times
    earlier = {_hash(text): text for written in texts.values() for text in written.values()}
    return Snapshot(
        label, trace, runs, kernels, medians, ops.num_rows > 0, earlier,
        host, device, tuple(places), executions,
        read_unevaluated(trace, runs), without_args, inputs,
    )  # fmt: skip


def sum_totals(totals: Iterable[Totals]) -> Totals:
    """Return the sum of totals, without medians.

    Derived figures are None if launches of one part lack them.
    """
    all_totals = list(totals)
    launched_totals = [part for part in all_totals if part.launches]
    return Totals(
        launches=sum(part.launches for part in all_totals),
        tuning_launches=sum(part.tuning_launches for part in all_totals),
        host_ns=sum_of_known(part.host_ns for part in all_totals),
        compiling_launches=sum(part.compiling_launches for part in all_totals),
        compiling_ns=sum(part.compiling_ns or 0 for part in all_totals),
        device_ns=sum_of_known(part.device_ns for part in all_totals),
        compile_ns=sum_if_all_known(part.compile_ns for part in all_totals) or None,
        bytes=sum_if_all_known(part.bytes for part in launched_totals),
        flops=sum_if_all_known(part.flops for part in launched_totals),
        sectors=sum_if_all_known(part.sectors for part in launched_totals),
        lanes=sum_if_all_known(part.lanes for part in launched_totals),
        lanes_on=sum_if_all_known(part.lanes_on for part in launched_totals),
        further=further_sums(part.further or {} for part in launched_totals) or None,
    )


def call_rows(side: Snapshot, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return the rows of `calls` of some unique calls, in their order."""
    positions = {(call.run, call.call_id): position for position, call in enumerate(calls)}
    rows: list[dict[str, Any] | None] = [None] * len(calls)
    for run in side.runs:
        ids = [call_id for run_id, call_id in positions if run_id == run.run_id]
        if not ids:
            continue
        table = side.calls_of(run)
        mask = pc.is_in(table["call_id"], pa.array(ids, pa.int64()))
        for row in table.filter(mask).to_pylist():
            rows[positions[row["run"], row["call_id"]]] = row
    return [row for row in rows if row is not None]


def _variants(
    trace: Trace, runs: Sequence[Run], texts: Mapping[str, Mapping[tuple[str, int], str]]
) -> tuple[list[Variant], pa.Table]:
    """Return variants merged over runs, and a table of run, kernel_id and variant (`grouped`).

    `texts` has, by stage of an add-on, the text by run id and kernel id.
    """
    columns = [
        "kernel_id", "name", "module", "file", "line", "source_artifact", "signature", "target",
        "warp_size", "num_warps", "num_ctas", "num_stages", "options", "shared_bytes", "registers",
        "spills", "origin", "compile_ns", "cache_hit", "stages",
    ]  # fmt: skip
    rows = trace.table("kernels", runs, columns)
    for stage, text_by_kernel in texts.items():
        ids = zip(rows["run"].to_pylist(), rows["kernel_id"].to_pylist(), strict=True)
        found = (text_by_kernel.get(run_and_kernel) for run_and_kernel in ids)
        hashes = [None if text is None else _hash(text) for text in found]
        rows = rows.append_column(f"{_TEXT}{stage}", pa.array(hashes, pa.string()))
    variants: list[Variant] = []
    positions: dict[tuple[Any, ...], int] = {}
    first_rows, group = _equal_rows(rows)
    position_of_group = []
    for row in rows.take(first_rows).to_pylist():
        variant = _variant(row)
        for stage in texts:
            text_hash = row.pop(f"{_TEXT}{stage}")
            if text_hash is not None:
                variant.stages[stage] = text_hash
        identity = (
            variant.key,
            row["source_artifact"],
            tuple(variant.facts.items()),
            *(variant.stages.get(stage) for stage in texts),
        )
        variant.position = positions.setdefault(identity, len(variants))
        if variant.position == len(variants):
            variants.append(variant)
        position_of_group.append(variant.position)
    grouped = np.array(position_of_group, np.int64)[group]
    compile_ns = summed_by(grouped, integers(rows["compile_ns"]))
    is_compiled = pc.invert(pc.fill_null(rows["cache_hit"], True))
    has_no_time = pc.and_(is_compiled, rows["compile_ns"].is_null())
    unknown = summed_by(grouped, integers(has_no_time.cast(pa.int64())))
    for variant in variants:
        at = variant.position
        variant.totals = Totals(compile_ns=None if unknown[at] else int(compile_ns[at]))
    members = rows.select(["run", "kernel_id"]).append_column("grouped", pa.array(grouped))
    return variants, members.set_column(0, "run", without_dictionary(rows["run"]))


def _equal_rows(rows: pa.Table) -> tuple[Integers, Integers]:
    """Return the first row of each group of equal rows of `kernels`, and the group of each row.

    Rows are equal if they differ only in run, kernel id and the time of compiling.
    """
    names = [f'"{name}"' for name in rows.column_names if name not in _OF_ONE_KERNEL]
    with scratch() as database:
        database.register(
            "kernel_rows", rows.append_column("row", pa.array(range(len(rows)), pa.int64()))
        )
        found = (
            database.sql(
                f"SELECT list(row) AS rows FROM kernel_rows GROUP BY {', '.join(names)} "  # noqa: S608
                "ORDER BY min(row)"
            )
            .to_arrow_table()["rows"]
            .combine_chunks()
        )
    group = np.empty(rows.num_rows, np.int64)
    group[pc.list_flatten(found).to_numpy()] = pc.list_parent_indices(found).to_numpy()
    return np.unique(group, return_index=True)[1], group


def _without_args(
    calls: pa.Table, variants: Sequence[Variant], members: pa.Table
) -> tuple[str, ...]:
    """Return the names of the kernels with a call of which no arguments were recorded.

    `members` has the index in `variants` (column `grouped`) of each run and kernel_id.
    """
    bare = calls.filter(pc.is_null(calls["args"]))
    if not bare.num_rows:
        return ()
    kernels = set(zip(bare["run"].to_pylist(), bare["kernel_id"].to_pylist(), strict=True))
    listed = zip(*(members[name].to_pylist() for name in members.column_names), strict=True)
    names = {variants[i].key.name for run, kernel, i in listed if (run, kernel) in kernels}
    return tuple(sorted(name or "?" for name in names))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _variant(row: Mapping[str, Any]) -> Variant:
    return Variant(
        key=key_of(row),
        facts=specialization(row),
        row=row,
        stages={s["stage"]: s["artifact"] for s in row["stages"] or () if s["artifact"]},
    )


# -- context of both sides: versions, devices and notes, which do not count as differences ---------


def described_side(side: Snapshot, findings: Findings) -> Side:
    """Return the description of one side: its totals, and what of it was and can be judged."""
    commits = {run.git_commit for run in side.runs}
    unevaluated = side.unevaluated
    return Side(
        label=side.label,
        runs=tuple(run.run_id for run in side.runs),
        commit=commits.pop() if len(commits) == 1 else None,
        kernels=len(side.kernels),
        totals=side.totals,
        judged_by=tuple(findings.rules) if findings.analyzed else None,
        without_ir=() if unevaluated is None else unevaluated.names,
        without_code=tuple(
            sorted(
                key.name
                for key, variants in side.kernels.items()
                if not any(variant.stages or variant.row["source_artifact"] for variant in variants)
            )
        ),
        without_args=side.without_args,
        judgeable=not side.runs or len(findings.left_out) < len(side.runs),
    )


def context(before: Sequence[Run], after: Sequence[Run]) -> tuple[Change, ...]:
    """Return differing facts of the sides' first runs: commit, command, versions, devices."""
    return changes(_context_facts(before), _context_facts(after))


def _context_facts(runs: Sequence[Run]) -> dict[str, str]:
    """Return facts of a side's first run that can explain a difference, by name."""
    if not runs:
        return {}
    first = runs[0]
    recorded = {
        "commit": first.git_commit, "uncommitted changes": first.git_dirty,
        "command": first.command, "mode": first.mode, "processes": len(runs),
    }  # fmt: skip
    facts = {name: str(value) for name, value in recorded.items() if value is not None}
    facts.update({f"version of {name}": value for name, value in first.versions.items()})
    devices = ", ".join(str(device.get("name")) for device in first.devices)
    return {**facts, "devices": devices} if devices else facts


def remove_version_options(a: Snapshot, b: Snapshot) -> tuple[Change, ...]:
    """Remove from all variants' facts the options that every kernel has with one value per side.

    The changes of these options are returned, so that an option that another compiler version adds
    is reported once, not per kernel. Nothing is removed if both sides used the same version.
    """
    if a.tritons == b.tritons:
        return ()
    sides = [
        [variant.facts for variants in side.kernels.values() for variant in variants]
        for side in (a, b)
    ]
    names = {
        name for side in sides for facts in side for name in facts if name.startswith("option ")
    }
    option_changes = []
    for name in sorted(names):
        before, after = ({facts.get(name) for facts in side} for side in sides)
        if len(before) == len(after) == 1 and before != after:
            option_changes.append(Change(f"{name} of every kernel", before.pop(), after.pop()))
            for facts in (facts for side in sides for facts in side):
                facts.pop(name, None)
    return tuple(option_changes)


def side_notes(a: Snapshot, b: Snapshot) -> list[str]:
    """Return notes on the runs of both sides: missing rows, and missing replay."""
    notes = []
    for side, other in ((a, b), (b, a)):
        notes += [f"{side.label}: {note}" for note in side.trace.notes]
        unevaluated = side.unevaluated
        if unevaluated is not None:
            notes += [f"{side.label}: {note}" for note in unevaluated.notes(imported=False)]
        for run in side.runs:
            if not run.sealed:
                notes.append(f"{side.label}: run {run.run_id} is not sealed, so it may lack rows")
            if run.dropped_rows:
                notes.append(f"{side.label}: run {run.run_id} lost {run.dropped_rows:,} rows")
        unevaluated_calls = 0 if unevaluated is None else unevaluated.calls
        has_ir = unevaluated_calls < sum(len(calls.call) for calls in side.places)
        if not side.has_ops and other.has_ops and has_ir:
            notes.append(
                f"{side.label} has not been replayed, so bytes and FLOPs are not compared "
                f"(kvtrace profile {side.trace.path} --replay)"
            )
    return notes
