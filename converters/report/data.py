"""Data of the report: the tables of one or more runs as a `Report`, merged over runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.converters.findings import read_findings
from kvtrace.converters.info.overhead import overhead_percent, overhead_text
from kvtrace.converters.notes import notes_on
from kvtrace.converters.profile.call_tree import CallSums, call_sums
from kvtrace.converters.profile.device_limits import ChosenDevice, chosen_device
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.recompiles import Recompile, recompiles_sentence, variants_of
from kvtrace.converters.report.answer import answer_of
from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.costly_lines import costly_lines
from kvtrace.converters.report.detail import detail_plan
from kvtrace.converters.report.findings import (
    MOST_FINDINGS,
    PageFindings,
    finding_counts,
    place_findings,
)
from kvtrace.converters.report.launch_columns import Timeline
from kvtrace.converters.report.merged_kernels import KernelRows, kernels_of, known_sum
from kvtrace.converters.report.model import (
    MEASURED,
    FurtherFigure,
    Kernel,
    Mark,
    Message,
    PlacedFinding,
    Report,
    Run,
    Totals,
    Variant,
)
from kvtrace.converters.report.partial import read_partial
from kvtrace.converters.report.slices import NO_CALL, Executions, Integers, Slices
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.makers import is_own
from kvtrace.figures.names import shown_names
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.times import device_times, host_times
from kvtrace.figures.window import windowed
from kvtrace.schema.contents import first_contents
from kvtrace.schema.layout import replayed_parts, run_folder
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.without_ir import kernels_without_ir

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run as TraceRun
    from kvtrace.schema.trace import Trace

__all__ = ["Report", "report_data"]

_FINDING_OPS: Final = ("finding_id", "call_id", "op_index", "other_op_index")
#: Most runs whose sentence of what cannot be judged is shown.
_LEFT_OUT: Final = 4


def report_data(
    trace: "Trace",
    runs: "Sequence[TraceRun]",
    title: str,
    shown_as: str,
    asked: RequestedPart = STEADY,
) -> Report:
    """Return the report of some runs, before anything is omitted for the page's size.

    Args:
        trace: The opened trace.
        runs: The runs to show, usually the ranks of one job.
        title: The page's title.
        shown_as: The trace's name in commands on the page (`kvtrace sql shown_as "…"`).
        asked: The part of the runs that figures cover; by default the steady part.
    """
    tables = _ReportTables()
    findings = read_findings(trace, runs)  # before launches are read: both take much memory
    all_left_out = bool(runs) and len(findings.left_out) == len(runs)
    for index, run in enumerate(runs):
        _read_run(trace, run, index, tables)
        ids = kernels_without_ir(trace, run)
        indexes = (tables.kernels.kernel(index, kernel_id) for kernel_id in ids)
        tables.without_ir |= {kernel for kernel in indexes if kernel is not None}
    tables.timeline.measure(trace, runs)
    first, end = tables.extent()
    origin = first or 0
    # Launches and findings cover the whole runs, figures only the part that was asked for.
    add_up(trace, runs)
    windowed_trace, window = windowed(trace, runs, asked)
    execution_times = device_times(windowed_trace, runs)
    launch_times = host_times(windowed_trace, runs)
    tables.calls.read_figures(runs, launch_times, execution_times)
    tables.calls.read_work(trace, runs)
    judged_runs = {run.run_id for run in runs if _was_derived(trace, "findings", run)}
    if findings.tallies or judged_runs:
        tables.findings = place_findings(
            findings,
            [run.run_id for run in runs],
            tables.kernels,
            tables.calls,
            tables.stacks,
            trace.table("findings", runs, _FINDING_OPS),
            judged_runs,
        )
    partial, unjudged_calls = read_partial(trace, runs, tables.calls)
    if tables.findings is not None:
        tables.findings = replace(tables.findings, unjudged_calls=unjudged_calls)
    shown_runs = tuple(_page_run(place, runs) for place in range(len(runs)))
    limits = chosen_device(None, _device_names(runs), tables.targets())
    profile = read_profile(
        windowed_trace,
        runs,
        sections=False,
        times=(launch_times, execution_times),
        window=window,
    )
    device_time = profile.device_time
    sums = call_sums(
        windowed_trace,
        runs,
        window,
        (launch_times, execution_times),
        on_device=device_time is not None,
    )
    answer = answer_of(profile, list(tables.kernels.identities), origin)
    plan = detail_plan(answer.gaps, answer.begin_ns or 0, end - origin)
    tables.timeline.origin = origin
    kernels = len(tables.kernels.identities)
    tables.timeline.read(trace, runs, tables.calls, kernels, plan, end - origin)
    report = tables.report(title, shown_as, shown_runs, limits)
    totals = report.totals
    if totals.gpu_kernels is not None:
        totals = replace(totals, device_ns=0 if device_time is None else device_time.device_ns)
    headlines = {kernel.key: kernel.headline for kernel in profile.kernels}
    keyed_kernels = zip(report.kernels, report.kernel_keys, strict=True)
    return replace(
        report,
        without_ir=" ".join(findings.left_out[:_LEFT_OUT]) if all_left_out else None,
        partial=partial,
        notes=notes_on(trace, runs),
        kernels=tuple(
            replace(kernel, headline=headlines.get(key)) for kernel, key in keyed_kernels
        ),
        device_time=device_time,
        window=window,
        answer=answer,
        costly_lines=costly_lines(sums),
        call_sums=sums,
        totals=totals,
    )


@dataclass(slots=True)
class _ReportTables:
    """Rows of all runs as they are read; references are indexes of the report."""

    kernels: KernelRows = field(default_factory=KernelRows)
    recompiles: list[Recompile] = field(default_factory=list)
    calls: CallRows = field(default_factory=CallRows)
    timeline: Timeline = field(default_factory=Timeline)
    findings: PageFindings | None = None
    stacks: dict[tuple[tuple[str | None, int | None, str | None], ...], int] = field(
        default_factory=dict
    )
    stack_places: dict[int, int] = field(default_factory=dict)
    compiles: list[tuple[int, int, int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    without_ir: set[int] = field(default_factory=set)

    def targets(self) -> list[str]:
        """Return the variants' compile targets, the target with most variants first."""
        counts: dict[str, int] = {}
        for variant in self.kernels.variants:
            target = variant["target"]
            if target is not None:
                counts[target] = counts.get(target, 0) + 1
        return sorted(counts, key=lambda target: -counts[target])

    def report(
        self, title: str, shown_as: str, runs: tuple[Run, ...], limits: ChosenDevice | None
    ) -> Report:
        from kvtrace import __version__

        timeline = self.timeline
        launches, device = Slices.join(timeline.launches), Executions.join(timeline.device)
        origin, end = self.extent()
        device_limits = None if limits is None else limits.limits
        variants = self.kernels.finished(self.calls.sums(self.calls.variant), origin or 0)
        kernels = kernels_of(
            self.kernels, self.calls, variants, self.findings, device_limits, self.without_ir
        )
        findings = () if self.findings is None else self.findings.placed
        calls_of_findings = {f.call for f in findings[:MOST_FINDINGS] if f.call is not None}
        shown_calls = self.calls.shown(calls_of_findings)
        if len(shown_calls) < len(self.calls):
            new_indexes = np.full(len(self.calls) + 1, NO_CALL, np.int32)
            new_indexes[shown_calls] = np.arange(len(shown_calls))
            findings = tuple(_reindexed(finding, new_indexes) for finding in findings)
            launches = replace(launches, call=new_indexes[launches.call])
            device = replace(device, call=new_indexes[device.call])
        calls = self.calls.finished(shown_calls, self.stack_places, device_limits)
        return Report(
            title=title,
            trace=shown_as,
            kvtrace=__version__,
            origin=None if origin is None else _iso_time(origin),
            span_ns=0 if origin is None else end - origin,
            runs=runs,
            totals=self._totals(kernels, variants),
            limits=limits,
            measured=MEASURED,
            further=tuple(FurtherFigure(f.name, f.unit, f.label) for f in FURTHER),
            kernels=kernels,
            variants=variants,
            recompiles=recompiles_sentence(self.recompiles),
            arguments=tuple(self.calls.arguments),
            calls=calls,
            stacks=tuple(self.stacks),
            findings=findings,
            causes=() if self.findings is None else self.findings.causes,
            lints=() if self.findings is None else self.findings.lints,
            finding_counts=finding_counts(self.findings),
            judged=self.findings is not None and self.findings.any_judged,
            without_ir=None,
            partial=None,
            messages=tuple(self.messages),
            notes=(),
            marks=tuple(
                replace(m, begin=m.begin - (origin or 0))
                for m in sorted(self.marks, key=lambda m: m.begin)
            ),
            compiles=tuple(
                (variant, begin - (origin or 0), duration, track)
                for variant, begin, duration, track in sorted(self.compiles, key=lambda c: c[1])
            ),
            tracks=timeline.shown_tracks(),
            phases=tuple(timeline.phases),
            device_names=tuple(shown_names(timeline.names).values()),
            device_functions=tuple(timeline.names),
            device_kinds=tuple(timeline.kinds),
            own_kinds=tuple(sorted({kind for kind in timeline.kinds if is_own(kind)})),
            answer=None,
            costly_lines=None,
            device_time=None,
            window=None,
            launches=launches,
            device=device,
            rows=timeline.rows,
            bins={table: counter.bins() for table, counter in timeline.bins.items()},
            plans=timeline.plans,
            texts=tuple(self.kernels.texts),
            stack_places=self.stack_places,
            stage_artifacts=tuple(self.kernels.stage_artifacts),
            kernel_keys=tuple(self.kernels.identities),
            call_sums=CallSums((), ()),
        )

    def extent(self) -> tuple[int | None, int]:
        """Return the first and last time of launches, executions, compilations and marks, in ns.

        (None, 0) if there are none.
        """
        slice_extent = self.timeline.extent
        begins, ends = ([], []) if slice_extent is None else ([slice_extent[0]], [slice_extent[1]])
        begins += [begin for _, begin, _, _ in self.compiles] + [m.begin for m in self.marks]
        ends += [begin + duration for _, begin, duration, _ in self.compiles]
        ends += [m.begin + (m.duration or 0) for m in self.marks]
        return (min(begins), max(ends)) if begins else (None, 0)

    def _totals(self, kernels: Sequence[Kernel], variants: Sequence[Variant]) -> Totals:
        timeline, evaluated = self.timeline, self.calls.evaluated()
        stages: dict[str, int] = {}
        for stage in (stage for variant in variants for stage in variant.stages):
            if stage.duration_ns is not None:
                stages[stage.stage] = stages.get(stage.stage, 0) + stage.duration_ns
        return Totals(
            launches=timeline.launch_count,
            host_ns=int(self.calls.figure("host_ns").sum()),
            compile_ns=known_sum([variant.compile_ns for variant in variants]),
            kernels=len(kernels),
            variants=len(variants),
            calls=len(self.calls),
            gpu_kernels=timeline.gpu_kernels,
            bytes=sum(kernel.bytes or 0 for kernel in kernels) if evaluated else None,
            flops=sum(kernel.flops or 0 for kernel in kernels) if evaluated else None,
            evaluated_calls=evaluated,
            violations=self._violations(kernels),
            phases=timeline.phase_counts,
            stages=stages,
        )

    def _violations(self, kernels: Sequence[Kernel]) -> int | None:
        """Return the number of violations; None instead of 0 if no kernel was judged."""
        number = None if self.findings is None else self.findings.violations()
        is_unjudged = bool(kernels) and all(kernel.without_ir for kernel in kernels)
        return number or (None if is_unjudged else number)


def _reindexed(finding: PlacedFinding, new_indexes: Integers) -> PlacedFinding:
    """Return a finding with call indexes of a page that omits calls.

    `places` has the new index of each call, NO_CALL if it is omitted.
    """
    call = NO_CALL if finding.call is None else int(new_indexes[finding.call])
    calls = (int(new_indexes[index]) for index in finding.in_calls)
    return replace(
        finding,
        call=None if call == NO_CALL else call,
        in_calls=tuple(index for index in calls if index != NO_CALL),
    )


def _read_run(trace: "Trace", run: "TraceRun", index: int, tables: _ReportTables) -> None:
    runs = [run]
    kernel_rows = plain_rows(trace.table("kernels", runs))
    artifacts = trace.table("artifacts", runs, ["sha256", "size_bytes"])
    sizes = dict(
        zip(artifacts["sha256"].to_pylist(), artifacts["size_bytes"].to_pylist(), strict=True)
    )
    first_variant = len(tables.kernels.variants)
    recompiles = variants_of(kernel_rows, trace, runs)
    tables.kernels.add(kernel_rows, index, sizes, recompiles)
    tables.recompiles += recompiles
    _read_compiles(kernel_rows, index, first_variant, tables)
    _read_stacks(plain_rows(trace.table("stacks", runs)), tables)
    calls = trace.table("calls", runs)
    tables.calls.begin_run(calls, tables.kernels, first_contents(trace, runs))
    _read_marks(plain_rows(trace.table("marks", runs)), index, tables)
    _read_messages(plain_rows(trace.table("messages", runs)), index, tables)


def _was_derived(trace: "Trace", table: str, run: "TraceRun") -> bool:
    return bool(replayed_parts(run_folder(trace.path, table, run.run_id)))


def _read_stacks(rows: Sequence[Mapping[str, Any]], tables: _ReportTables) -> None:
    for row in rows:
        frames = tuple((f["file"], f["line"], f["function"]) for f in row["frames"] or ())
        index = tables.stacks.setdefault(frames, len(tables.stacks))
        tables.stack_places[row["stack_id"]] = index


def _read_compiles(
    rows: Sequence[Mapping[str, Any]], run: int, first_variant: int, tables: _ReportTables
) -> None:
    for offset, row in enumerate(rows):
        begin, duration = row["compile_begin"], row["compile_ns"]
        if begin is None or duration is None:
            continue
        track = tables.timeline.track("host", run, row["thread"] or 0)
        tables.compiles.append((first_variant + offset, begin, duration, track))


def _read_marks(rows: Sequence[Mapping[str, Any]], run: int, tables: _ReportTables) -> None:
    for row in rows:
        begin, end = row["begin"], row["end"]
        if begin is None:
            continue
        duration = None if end is None else end - begin
        attributes = {key: str(value) for key, value in row["attributes"] or ()}
        tables.marks.append(Mark(run, row["name"], begin, duration, row["thread"], attributes))


def _read_messages(rows: Sequence[Mapping[str, Any]], run: int, tables: _ReportTables) -> None:
    for row in rows:
        tables.messages.append(Message(run, row["level"], row["code"], row["text"], row["count"]))


def _device_names(runs: "Sequence[TraceRun]") -> list[str]:
    names = [str(device["name"]) for run in runs for device in run.devices or () if device["name"]]
    return list(dict.fromkeys(names))


def _iso_time(nanoseconds: int) -> str:
    return str(np.datetime64(nanoseconds, "ns")) + "Z"


def _page_run(place: int, runs: "Sequence[TraceRun]") -> Run:
    run = runs[place]
    started, ended = run.started, run.ended
    label = f"run {place}" if run.rank is None else f"rank {run.rank}"
    if len(runs) == 1:
        label = f"run {run.run_id}"
    overhead = overhead_percent(run)
    return Run(
        run_id=run.run_id,
        label=label,
        command=run.command,
        directory=run.directory,
        host=run.host,
        pid=run.pid,
        rank=run.rank,
        started=None if started is None else _iso_time(started),
        duration_ns=None if started is None or ended is None else ended - started,
        git_commit=run.git_commit,
        git_branch=run.git_branch,
        git_dirty=run.git_dirty,
        versions=dict(run.versions),
        devices=tuple(_device_text(device) for device in run.devices),
        mode=run.mode,
        settings=dict(run.settings),
        ending=run.ending,
        sealed=run.sealed,
        schema_version=run.schema_version,
        self_overhead_ns=run.self_overhead_ns,
        overhead=None if overhead is None else overhead_text(overhead),
        dropped_rows=run.dropped_rows,
    )


def _device_text(device: Mapping[str, Any]) -> str:
    """Return a text on a device, such as `0: NVIDIA H200, 9.0, 140 GiB`."""
    parts = [device.get("name"), device.get("capability")]
    if device.get("memory_bytes"):
        parts.append(f"{device['memory_bytes'] / 2**30:.0f} GiB")
    return f"{device.get('index', '?')}: " + ", ".join(str(part) for part in parts if part)
