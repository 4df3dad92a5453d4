"""Data of the report: the tables of one or more runs as a `Report`, merged over runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.chosen_kernels import findings_of_kernels, of_kernels
from kvtrace.converters.findings import others_text, read_findings
from kvtrace.converters.info.info import overhead_percent, overhead_text
from kvtrace.converters.notes import notes_on
from kvtrace.converters.profile.call_tree import CallSums, call_sums
from kvtrace.converters.profile.device_limits import chosen_device, recorded_names
from kvtrace.converters.profile.profile import profile_of
from kvtrace.converters.profile.profile_model import Profile
from kvtrace.converters.profile.profile_tables import work_of_calls
from kvtrace.converters.profile.recompiles import recompiles_sentence
from kvtrace.converters.report.answer import Answer, answer_of
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
from kvtrace.converters.report.merged_kernels import KernelRows, kernels_of
from kvtrace.converters.report.model import (
    MEASURED,
    FurtherFigure,
    Kernel,
    Mark,
    Message,
    Partial,
    PlacedFinding,
    Report,
    Run,
    Totals,
)
from kvtrace.converters.report.slices import MISSING, NO_CALL, Executions, Integers, Slices
from kvtrace.figures.columns import combined_codes, integers
from kvtrace.figures.device_time import DeviceTime
from kvtrace.figures.identity import is_own
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.libraries import library_executions
from kvtrace.figures.names import shown_names
from kvtrace.figures.part_figures import open_figures
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.schema.layout import PARTIAL, replayed_parts, run_folder
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Run as TraceRun
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.without_ir import kernels_without_ir

_FINDING_OPS: Final = ("finding_id", "call_id", "op_index", "other_op_index")
#: Fields of runs that the page has as they are.
_SAME: Final = (
    "run_id", "command", "directory", "host", "pid", "rank", "git_commit", "git_branch",
    "git_dirty", "mode", "ending", "sealed", "schema_version", "self_overhead_ns", "dropped_rows",
)  # fmt: skip
#: Most runs whose sentence of what cannot be judged is shown.
_LEFT_OUT: Final = 4


def report_data(
    trace: Trace,
    runs: Sequence[TraceRun],
    title: str,
    shown_as: str,
    asked: RequestedPart = STEADY,
    chosen: frozenset[str] | None = None,
) -> Report:
    """Return the report of some runs, before anything is omitted for the page's size.

    Args:
        trace: The opened trace.
        runs: The runs to show, usually the ranks of one job.
        title: The page's title.
        shown_as: The trace's name in commands on the page (`kvtrace sql shown_as "…"`).
        asked: The part of the runs that figures cover; by default the steady part.
        chosen: The names of the kernels to show; None: all. What devices did is shown of all.
    """
    # Before launches are read: both take much memory.
    findings = read_findings(trace, runs)
    findings = findings_of_kernels(findings, Selection(trace, tuple(runs)), chosen)
    kernel_rows = KernelRows.read(trace, runs, chosen)
    calls = CallRows.read(trace, runs, kernel_rows, chosen=chosen is not None)
    tables = _ReportTables(kernel_rows, calls, Timeline(only_known=chosen is not None))
    _read_compiles(tables)
    for index, run in enumerate(runs):
        _read_run(trace, run, index, tables)
        ids = np.array(list(kernels_without_ir(trace, run)), np.int64)
        without_ir = tables.kernels.kernels(tables.kernels.indices[index].of(ids))
        tables.without_ir.update(without_ir[without_ir != NO_CALL].tolist())
    # Launches and findings cover the whole runs, figures only the part that was asked for.
    figures = open_figures(trace, runs, asked)
    tables.timeline.measure(trace, runs)
    first, end = tables.extent()
    origin = first or 0
    tables.calls.read_figures(figures)
    work = work_of_calls(trace, runs)
    tables.calls.add_work(work, runs)
    judged_runs = {
        run.run_id for run in runs if replayed_parts(run_folder(trace.path, "findings", run.run_id))
    }
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
    profile = profile_of(figures, sections=False)
    profile = of_kernels(profile, chosen, "kernels", "device_time", "launch_costs", "advice")
    sums = call_sums(figures, work)
    answer = answer_of(profile, list(tables.kernels.identities), origin)
    plan = detail_plan(answer.gaps, answer.begin_ns or 0, end - origin)
    tables.timeline.origin = origin
    tables.timeline.read(trace, runs, tables.calls, tables.kernels, plan, end - origin)
    all_left_out = bool(runs) and len(findings.left_out) == len(runs)
    reason = " ".join(findings.left_out[:_LEFT_OUT]) if all_left_out else None
    return tables.report(trace, runs, title, shown_as, profile, answer, sums, partial, reason)


@dataclass(slots=True)
class _ReportTables:
    """Rows of all runs as they are read; references are indexes of the report."""

    kernels: KernelRows
    calls: CallRows
    timeline: Timeline = field(default_factory=Timeline)
    findings: PageFindings | None = None
    stacks: dict[tuple[tuple[str | None, int | None, str | None], ...], int] = field(
        default_factory=dict
    )
    stack_places: dict[int, int] = field(default_factory=dict)
    compiles: Integers = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    """A row for each timed compilation, in the order of their begins: variant, begin, duration and
    track."""
    marks: list[Mark] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    without_ir: set[int] = field(default_factory=set)

    def report(
        self,
        trace: Trace,
        runs: Sequence[TraceRun],
        title: str,
        shown_as: str,
        profile: Profile,
        answer: Answer,
        sums: CallSums,
        partial: Partial | None,
        without_ir: str | None,
    ) -> Report:
        """Return the report, given what is known of the part that figures cover.

        The other arguments are those of `report_data`, and fields of the report.
        """
        from kvtrace.version import __version__

        limits = chosen_device(None, recorded_names(runs), self.kernels.targets())
        others = library_executions(trace, runs)
        timeline = self.timeline
        launches, device = Slices.join(timeline.launches), Executions.join(timeline.device)
        origin, end = self.extent()
        device_limits = None if limits is None else limits.limits
        findings = () if self.findings is None else self.findings.placed
        calls_of_findings = {f.call for f in findings[:MOST_FINDINGS] if f.call is not None}
        shown_calls = self.calls.shown(calls_of_findings)
        shown_variants = self.kernels.shown(self.calls.variant[shown_calls])
        if len(shown_calls) < len(self.calls) or len(shown_variants) < len(self.kernels):
            new_calls = _new_indexes(shown_calls, len(self.calls))
            new_variants = _new_indexes(shown_variants, len(self.kernels))
            findings = tuple(_reindexed(each, new_calls, new_variants) for each in findings)
            launches = replace(launches, call=new_calls[launches.call])
            device = replace(device, call=new_calls[device.call])
        sums_of_variants = self.calls.sums(self.calls.variant, shown_variants)
        variants = self.kernels.finished(trace, runs, shown_variants, sums_of_variants, origin or 0)
        headlines = {kernel.key: kernel.headline for kernel in profile.kernels}
        kernels = kernels_of(
            self.kernels,
            self.calls,
            variants,
            self.findings,
            device_limits,
            self.without_ir,
            headlines,
        )
        calls = self.calls.finished(
            trace, runs, shown_calls, shown_variants, self.stack_places, device_limits
        )
        return Report(
            title=title,
            trace=shown_as,
            kvtrace=__version__,
            origin=None if origin is None else _iso_time(origin),
            span_ns=0 if origin is None else end - origin,
            runs=tuple(_page_run(place, runs) for place in range(len(runs))),
            totals=self._totals(kernels, profile.device_time),
            limits=limits,
            measured=MEASURED,
            further=tuple(FurtherFigure(f.name, f.unit, f.label) for f in FURTHER),
            kernels=kernels,
            variants=variants,
            recompiles=recompiles_sentence(tuple(self.kernels.recompiles.values())),
            arguments=tuple(self.calls.arguments),
            calls=calls,
            stacks=tuple(self.stacks),
            findings=findings,
            causes=() if self.findings is None else self.findings.causes,
            lints=() if self.findings is None else self.findings.lints,
            finding_counts=finding_counts(self.findings),
            judged=self.findings is not None and self.findings.any_judged,
            without_ir=without_ir,
            others=others_text(others) if others else "",
            partial=partial,
            messages=tuple(self.messages),
            notes=notes_on(trace, runs),
            marks=tuple(
                replace(m, begin=m.begin - (origin or 0))
                for m in sorted(self.marks, key=lambda m: m.begin)
            ),
            compiles=self._shown_compiles(shown_variants, origin or 0),
            tracks=timeline.shown_tracks(),
            phases=tuple(timeline.phases),
            device_names=tuple(shown_names(timeline.names).values()),
            device_functions=tuple(timeline.names),
            device_kinds=tuple(timeline.kinds),
            own_kinds=tuple(sorted({kind for kind in timeline.kinds if is_own(kind)})),
            answer=answer,
            costly_lines=costly_lines(sums),
            device_time=profile.device_time,
            window=profile.window,
            launches=launches,
            device=device,
            rows=timeline.rows,
            bins={table: counter.bins() for table, counter in timeline.bins.items()},
            plans=timeline.plans,
            texts=tuple(self.kernels.texts),
            stack_places=self.stack_places,
            stage_artifacts=tuple(self.kernels.stage_artifacts),
            kernel_keys=tuple(self.kernels.identities),
            call_sums=sums,
        )

    def extent(self) -> tuple[int | None, int]:
        """Return the first and last time of launches, executions, compilations and marks, in ns.

        The first is at the begin of a bin, if there are tiles. (None, 0) if there are none.
        """
        slice_extent = self.timeline.extent
        begins, ends = ([], []) if slice_extent is None else ([slice_extent[0]], [slice_extent[1]])
        if len(self.compiles):
            _, compile_begins, durations, _ = self.compiles.T
            begins.append(int(compile_begins.min()))
            ends.append(int((compile_begins + durations).max()))
        begins += [m.begin for m in self.marks]
        ends += [m.begin + (m.duration or 0) for m in self.marks]
        if not begins:
            return None, 0
        return self.timeline.aligned(min(begins), max(ends)), max(ends)

    def _shown_compiles(
        self, variants: Integers, origin: int
    ) -> tuple[tuple[int, int, int, int], ...]:
        """Return the compilations of some variants (sorted indexes), which begin after `origin`."""
        new_indexes = _new_indexes(variants, len(self.kernels))
        rows = self.compiles[new_indexes[self.compiles[:, 0]] != NO_CALL]
        columns = (new_indexes[rows[:, 0]], rows[:, 1] - origin, rows[:, 2], rows[:, 3])
        return tuple(zip(*(column.tolist() for column in columns), strict=True))

    def _totals(self, kernels: Sequence[Kernel], device_time: DeviceTime | None) -> Totals:
        timeline, evaluated = self.timeline, self.calls.evaluated()
        device_ns = 0 if device_time is None else device_time.device_ns
        return Totals(
            launches=timeline.launch_count,
            host_ns=int(self.calls.figure("host_ns").sum()),
            compile_ns=pc.sum(self.kernels.table["compile_ns"]).as_py(),
            kernels=len(kernels),
            variants=len(self.kernels),
            calls=len(self.calls),
            gpu_kernels=timeline.gpu_kernels,
            device_ns=None if timeline.gpu_kernels is None else device_ns,
            bytes=sum(kernel.bytes or 0 for kernel in kernels) if evaluated else None,
            flops=sum(kernel.flops or 0 for kernel in kernels) if evaluated else None,
            evaluated_calls=evaluated,
            violations=self._violations(kernels),
            phases=timeline.phase_counts,
            stages=self.kernels.stage_times(),
        )

    def _violations(self, kernels: Sequence[Kernel]) -> int | None:
        """Return the number of violations; None instead of 0 if no kernel was judged."""
        number = None if self.findings is None else self.findings.violations()
        is_unjudged = bool(kernels) and all(kernel.without_ir for kernel in kernels)
        return number or (None if is_unjudged else number)


def _new_indexes(shown: Integers, number: int) -> Integers:
    """Return the new index of each of `number` rows on a page that has those in `shown` alone.

    It is NO_CALL for rows that are omitted, and in a last entry, for NO_CALL itself.
    """
    new_indexes = np.full(number + 1, NO_CALL, np.int32)
    new_indexes[shown] = np.arange(len(shown))
    return new_indexes


def _reindexed(
    finding: PlacedFinding, new_calls: Integers, new_variants: Integers
) -> PlacedFinding:
    """Return a finding with the indexes of a page that omits calls or variants."""
    call, variant = (
        NO_CALL if index is None else int(new_indexes[index])
        for index, new_indexes in ((finding.call, new_calls), (finding.variant, new_variants))
    )
    calls = (int(new_calls[index]) for index in finding.in_calls)
    return replace(
        finding,
        variant=None if variant == NO_CALL else variant,
        call=None if call == NO_CALL else call,
        in_calls=tuple(index for index in calls if index != NO_CALL),
    )


def _read_run(trace: Trace, run: TraceRun, index: int, tables: _ReportTables) -> None:
    for row in plain_rows(trace.table("stacks", [run])):
        frames = tuple((f["file"], f["line"], f["function"]) for f in row["frames"] or ())
        stack = tables.stacks.setdefault(frames, len(tables.stacks))
        tables.stack_places[row["stack_id"]] = stack
    for row in plain_rows(trace.table("marks", [run])):
        begin, end = row["begin"], row["end"]
        if begin is None:
            continue
        duration = None if end is None else end - begin
        attributes = {key: str(value) for key, value in row["attributes"] or ()}
        tables.marks.append(Mark(index, row["name"], begin, duration, row["thread"], attributes))
    for row in plain_rows(trace.table("messages", [run])):
        tables.messages.append(Message(index, row["level"], row["code"], row["text"], row["count"]))


def _read_compiles(tables: _ReportTables) -> None:
    rows = tables.kernels
    begin, duration = (
        integers(rows.table[name], MISSING) for name in ("compile_begin", "compile_ns")
    )
    timed = np.flatnonzero((begin != MISSING) & (duration != MISSING))
    run, thread = rows.run[timed], integers(rows.table["thread"], 0)[timed]
    codes, _ = combined_codes([pa.chunked_array([run]), pa.chunked_array([thread])])
    first_rows = np.unique(codes, return_index=True)[1]
    tracks = np.zeros(len(first_rows), np.int64)
    for code in np.argsort(first_rows).tolist():
        row = first_rows[code]
        tracks[code] = tables.timeline.track("host", int(run[row]), int(thread[row]))
    order = np.argsort(begin[timed], kind="stable")
    columns = (timed, begin[timed], duration[timed], tracks[codes])
    tables.compiles = np.stack([column[order] for column in columns], axis=1)


def _iso_time(nanoseconds: int) -> str:
    return str(np.datetime64(nanoseconds, "ns")) + "Z"


def _page_run(place: int, runs: Sequence[TraceRun]) -> Run:
    run = runs[place]
    started, ended = run.started, run.ended
    label = f"run {place}" if run.rank is None else f"rank {run.rank}"
    if len(runs) == 1:
        label = f"run {run.run_id}"
    overhead = overhead_percent(run)
    return Run(
        **{name: getattr(run, name) for name in _SAME},
        label=label,
        started=None if started is None else _iso_time(started),
        duration_ns=None if started is None or ended is None else ended - started,
        versions=dict(run.versions),
        devices=tuple(_device_text(device) for device in run.devices),
        settings=dict(run.settings),
        overhead=None if overhead is None else overhead_text(overhead),
    )


def _device_text(device: Mapping[str, Any]) -> str:
    """Return a text on a device, such as `0: NVIDIA H200, 9.0, 140 GiB`."""
    parts = [device.get("name"), device.get("capability")]
    if device.get("memory_bytes"):
        parts.append(f"{device['memory_bytes'] / 2**30:.0f} GiB")
    return f"{device.get('index', '?')}: " + ", ".join(str(part) for part in parts if part)


# -- unique calls that passes did not reach before their time was used up --------------------------


def read_partial(
    trace: Trace, runs: Sequence[TraceRun], calls: CallRows
) -> tuple[Partial | None, Counter[int]]:
    """Return what passes over the runs did not reach, and the unjudged calls by kernel index.

    The first is None if every pass has reached all calls.
    """
    remaining, seconds, has_partial_verdicts = 0, 0.0, False
    unjudged: Counter[int] = Counter()
    for index, run in enumerate(runs):
        partial = {
            name: settings[PARTIAL]
            for name, settings in trace.passes(run.run_id).items()
            if PARTIAL in settings
        }
        remaining += max((len(facts["remaining"]) for facts in partial.values()), default=0)
        seconds += max((facts["seconds"] for facts in partial.values()), default=0.0)
        if "sanitizer" in partial:
            has_partial_verdicts = True
            unreached = np.array(partial["sanitizer"]["remaining"], np.int64)
            kernels = calls.kernels(calls.indices[index].of(unreached))
            unjudged.update(kernels[kernels != NO_CALL].tolist())
    if not remaining:
        return None, unjudged
    return Partial(remaining, seconds, has_partial_verdicts), unjudged
