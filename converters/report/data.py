"""The tables of one or more runs as the plain data that the page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.converters.findings import read_findings
from kvtrace.converters.info.overhead import overhead_percent, overhead_text
from kvtrace.converters.profile.device_limits import ChosenDevice, chosen_device
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.report.answer import answer_of
from kvtrace.converters.report.calls import CallRows
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
    PlacedFinding,
    Report,
    Run,
    Totals,
    Variant,
)
from kvtrace.converters.report.slices import BIN_COUNTS, NO_CALL, Executions, Integers, Slices
from kvtrace.figures.asked import STEADY, Asked
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.scans import sound_rows
from kvtrace.figures.times import device_times, host_times
from kvtrace.figures.unevaluated import read_unevaluated
from kvtrace.figures.window import windowed
from kvtrace.schema.contents import first_contents
from kvtrace.schema.layout import replayed_parts, run_folder
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run as TraceRun
    from kvtrace.schema.trace import Trace

__all__ = ["Report", "report_data"]

#: Launches, and executions, that are kept one by one: of more than twice as many an even choice.
_KEPT: Final = 1 << 21
#: Bins of kernels on tracks that are counted at the same time.
_MOST_BINS: Final = 1 << 23
_FINDING_OPS: Final = ("finding_id", "call_id", "op_index", "other_op_index")


def report_data(
    trace: "Trace",
    runs: "Sequence[TraceRun]",
    title: str,
    shown_as: str,
    asked: Asked = STEADY,
) -> Report:
    """Read what the page shows of these runs.

    Args:
        trace: The opened trace.
        runs: The runs to show, usually the ranks of one job.
        title: The page's title.
        shown_as: How commands on the page name the trace (`kvtrace sql shown_as "…"`).
        asked: The part of the runs that figures are of; else the steady part.

    """
    gathered = _Gathered()
    findings = read_findings(trace, runs)  # counts launches too: not while they are in memory
    for table in ("launches", "gpu_kernels"):
        number = sum(_rows(trace, run, table) for run in runs)
        gathered.timeline.every[table] = -(-number // _KEPT) if number > 2 * _KEPT else 1
    for index, run in enumerate(runs):
        _read_run(trace, run, index, gathered)
    # Launches and findings are those of the whole runs, figures are of a part.
    part, window = windowed(trace, runs, asked)
    device = device_times(part, runs)
    host = host_times(part, runs)
    gathered.calls.read_figures(runs, host, device)
    gathered.calls.read_work(trace, runs)
    judged = {run.run_id for run in runs if _was_derived(trace, "findings", run)}
    if findings.tallies or judged:
        gathered.findings = place_findings(
            findings,
            [run.run_id for run in runs],
            gathered.kernels,
            gathered.calls,
            gathered.stacks,
            trace.table("findings", runs, _FINDING_OPS),
            judged,
        )
    shown = tuple(_run(run, runs) for run in runs)
    limits = chosen_device(None, _device_names(runs), gathered.targets())
    profile = read_profile(part, runs, times=(host, device), window=window)
    time = profile.device_time
    report = gathered.report(title, shown_as, shown, limits)
    if gathered.timeline.every["launches"] > 1:
        tracks = len(report.tracks) * len(report.kernels)
        bins = next((n for n in BIN_COUNTS if n * tracks <= _MOST_BINS), BIN_COUNTS[-1])
        origin = gathered.extent()[0] or 0
        counted = gathered.timeline.binned(trace, runs, gathered.calls, origin, bins)
        report = replace(report, bins=counted)
    totals = report.totals
    if totals.gpu_kernels is not None:
        totals = replace(totals, device_ns=0 if time is None else time.device_ns)
    unevaluated = read_unevaluated(trace, runs)
    answer = answer_of(profile, list(gathered.kernels.identities))
    return replace(
        report,
        notes=(*trace.notes, *([] if unevaluated is None else [unevaluated.note])),
        device_time=time,
        window=window,
        answer=answer,
        totals=totals,
    )


@dataclass(slots=True)
class _Gathered:
    """What has been read so far; indices in it are the report's."""

    kernels: KernelRows = field(default_factory=KernelRows)
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

    def targets(self) -> list[str]:
        """Return compile targets, the one with most variants first."""
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
        roof = None if limits is None else limits.limits
        variants = self.kernels.finished(self.calls.sums(self.calls.variant), origin or 0)
        kernels = kernels_of(self.kernels, self.calls, variants, self.findings, roof)
        findings = () if self.findings is None else self.findings.placed
        needed = {each.call for each in findings[:MOST_FINDINGS] if each.call is not None}
        shown = self.calls.shown(needed)
        if len(shown) < len(self.calls):
            places = np.full(len(self.calls) + 1, NO_CALL, np.int32)
            places[shown] = np.arange(len(shown))
            findings = tuple(_moved(each, places) for each in findings)
            launches = replace(launches, call=places[launches.call])
            device = replace(device, call=places[device.call])
        calls = self.calls.finished(shown, self.stack_places, roof)
        for part in (launches, device):
            _count_since(origin or 0, part)
        return Report(
            title=title,
            trace=shown_as,
            kvtrace=__version__,
            origin=None if origin is None else _iso(origin),
            span_ns=0 if origin is None else end - origin,
            runs=runs,
            totals=self._totals(kernels, variants),
            limits=limits,
            measured=MEASURED,
            further=tuple(FurtherFigure(each.name, each.unit, each.label) for each in FURTHER),
            kernels=kernels,
            variants=variants,
            arguments=tuple(self.calls.arguments),
            calls=calls,
            stacks=tuple(self.stacks),
            findings=findings,
            causes=() if self.findings is None else self.findings.causes,
            lints=() if self.findings is None else self.findings.lints,
            finding_counts=finding_counts(self.findings),
            judged=self.findings is not None and self.findings.any_judged,
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
            device_names=tuple(timeline.names),
            device_kinds=tuple(timeline.kinds),
            answer=None,
            device_time=None,
            window=None,
            launches=launches,
            device=device,
            rows=timeline.rows,
            bins=None,
            texts=tuple(self.kernels.texts),
            stack_places=self.stack_places,
            stage_artifacts=tuple(self.kernels.stage_artifacts),
            kernel_keys=tuple(self.kernels.identities),
        )

    def extent(self) -> tuple[int | None, int]:
        """Return the first and the last moment of anything that the timeline shows."""
        known = self.timeline.extent
        begins, ends = ([], []) if known is None else ([known[0]], [known[1]])
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
            compile_ns=sum(variant.compile_ns or 0 for variant in variants),
            kernels=len(kernels),
            variants=len(variants),
            calls=len(self.calls),
            gpu_kernels=timeline.gpu_kernels,
            bytes=sum(each.bytes or 0 for each in kernels) if evaluated else None,
            flops=sum(each.flops or 0 for each in kernels) if evaluated else None,
            evaluated_calls=evaluated,
            violations=None if self.findings is None else self.findings.violations(),
            phases=timeline.phase_counts,
            stages=stages,
        )


def _moved(finding: PlacedFinding, places: Integers) -> PlacedFinding:
    """Return a finding on a page that has not all calls; `places` says where, NO_CALL: nowhere."""
    call = NO_CALL if finding.call is None else int(places[finding.call])
    alike = (int(places[each]) for each in finding.in_calls)
    return replace(
        finding,
        call=None if call == NO_CALL else call,
        in_calls=tuple(each for each in alike if each != NO_CALL),
    )


def _count_since(origin: int, slices: Slices) -> None:
    """Let times count from the origin, in place: the column can be long."""
    begin = slices.begin
    begin -= begin.dtype.type(origin) if len(begin) else 0


def _rows(trace: "Trace", run: "TraceRun", table: str) -> int:
    known = sound_rows(trace, run, table, [])
    if known is not None:
        return known
    return sum(map(len, trace.pieces(table, [run], list(trace.definition(table).keys))))


def _read_run(trace: "Trace", run: "TraceRun", index: int, gathered: _Gathered) -> None:
    runs = [run]
    kernel_rows = plain_rows(trace.table("kernels", runs))
    artifacts = trace.table("artifacts", runs, ["sha256", "size_bytes"])
    sizes = dict(
        zip(artifacts["sha256"].to_pylist(), artifacts["size_bytes"].to_pylist(), strict=True)
    )
    first_variant = len(gathered.kernels.variants)
    gathered.kernels.add(kernel_rows, index, sizes)
    _read_compiles(kernel_rows, index, first_variant, gathered)
    _read_stacks(plain_rows(trace.table("stacks", runs)), gathered)
    calls = trace.table("calls", runs)
    known = gathered.calls.begin_run(calls, gathered.kernels, first_contents(trace, runs))
    gathered.timeline.read(trace, run, index, known, gathered.calls)
    _read_marks(plain_rows(trace.table("marks", runs)), index, gathered)
    _read_messages(plain_rows(trace.table("messages", runs)), index, gathered)


def _was_derived(trace: "Trace", table: str, run: "TraceRun") -> bool:
    """Whether a pass has filled the table, be it with no rows; what a run saw itself is none."""
    return bool(replayed_parts(run_folder(trace.path, table, run.run_id)))


def _read_stacks(rows: Sequence[Mapping[str, Any]], gathered: _Gathered) -> None:
    for row in rows:
        frames = tuple((f["file"], f["line"], f["function"]) for f in row["frames"] or ())
        place = gathered.stacks.setdefault(frames, len(gathered.stacks))
        gathered.stack_places[row["stack_id"]] = place


def _read_compiles(
    rows: Sequence[Mapping[str, Any]], run: int, first: int, gathered: _Gathered
) -> None:
    for number, row in enumerate(rows):
        begin, duration = row["compile_begin"], row["compile_ns"]
        if begin is None or duration is None:
            continue
        track = gathered.timeline.track("host", run, row["thread"] or 0)
        gathered.compiles.append((first + number, begin, duration, track))


def _read_marks(rows: Sequence[Mapping[str, Any]], run: int, gathered: _Gathered) -> None:
    for row in rows:
        begin, end = row["begin"], row["end"]
        if begin is None:
            continue
        duration = None if end is None else end - begin
        attributes = {key: str(value) for key, value in row["attributes"] or ()}
        gathered.marks.append(Mark(run, row["name"], begin, duration, row["thread"], attributes))


def _read_messages(rows: Sequence[Mapping[str, Any]], run: int, gathered: _Gathered) -> None:
    for row in rows:
        gathered.messages.append(Message(run, row["level"], row["code"], row["text"], row["count"]))


def _device_names(runs: "Sequence[TraceRun]") -> list[str]:
    names = [str(device["name"]) for run in runs for device in run.devices or () if device["name"]]
    return list(dict.fromkeys(names))


def _iso(nanoseconds: int) -> str:
    return str(np.datetime64(nanoseconds, "ns")) + "Z"


def _run(run: "TraceRun", runs: "Sequence[TraceRun]") -> Run:
    started, ended = run.started, run.ended
    several = len(runs) > 1
    label = f"rank {run.rank}" if several and run.rank is not None else f"run {run.run_id}"
    shares = overhead_percent(run)
    return Run(
        run_id=run.run_id,
        label=label,
        command=run.command,
        directory=run.directory,
        host=run.host,
        pid=run.pid,
        rank=run.rank,
        started=None if started is None else _iso(started),
        duration_ns=None if started is None or ended is None else ended - started,
        git_commit=run.git_commit,
        git_branch=run.git_branch,
        git_dirty=run.git_dirty,
        versions=dict(run.versions),
        devices=tuple(_device(device) for device in run.devices),
        mode=run.mode,
        settings=dict(run.settings),
        ending=run.ending,
        sealed=run.sealed,
        schema_version=run.schema_version,
        self_overhead_ns=run.self_overhead_ns,
        overhead=None if shares is None else overhead_text(shares),
        dropped_rows=run.dropped_rows,
    )


def _device(device: Mapping[str, Any]) -> str:
    """Return one line for a device, such as `0: NVIDIA H200, 9.0, 140 GiB`."""
    parts = [device.get("name"), device.get("capability")]
    if device.get("memory_bytes"):
        parts.append(f"{device['memory_bytes'] / 2**30:.0f} GiB")
    return f"{device.get('index', '?')}: " + ", ".join(str(part) for part in parts if part)
