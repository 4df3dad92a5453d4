"""The tables of one or more runs as the plain data that the page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.converters.findings import read_findings
from kvtrace.converters.report.findings import PageFindings, finding_counts, place_findings
from kvtrace.converters.report.kernels import CallRows, KernelRows, kernels_of
from kvtrace.converters.report.model import Mark, Message, Report, Run, Totals, Track
from kvtrace.converters.report.slices import NO_CALL, Slices
from kvtrace.schema.layout import pass_parts, run_folder

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run as TraceRun
    from kvtrace.schema.trace import Trace

__all__ = ["Report", "report_data"]

Integers = npt.NDArray[np.int64]
_MISSING: Final = np.iinfo(np.int64).min


def report_data(trace: "Trace", runs: "Sequence[TraceRun]", title: str, shown_as: str) -> Report:
    """Read what the page shows of these runs.

    Args:
        trace: The opened trace.
        runs: The runs to show, usually the ranks of one job.
        title: The page's title.
        shown_as: How commands on the page name the trace (`kvtrace sql shown_as "…"`).

    """
    gathered = _Gathered()
    for index, run in enumerate(runs):
        _read_run(trace, run, index, gathered)
    findings = read_findings(trace, runs)
    if findings.tallies or any(_was_derived(trace, "findings", run) for run in runs):
        gathered.findings = place_findings(
            findings,
            [run.run_id for run in runs],
            gathered.kernel_rows,
            gathered.call_rows,
            gathered.stacks,
        )
    shown = tuple(_run(run, runs) for run in runs)
    return replace(gathered.report(title, shown_as, shown), notes=tuple(trace.notes))


@dataclass(slots=True)
class _Gathered:
    """What has been read so far; indices in it are the report's."""

    kernel_rows: KernelRows = field(default_factory=KernelRows)
    call_rows: CallRows = field(default_factory=CallRows)
    findings: PageFindings | None = None
    stacks: dict[tuple[tuple[str | None, int | None, str | None], ...], int] = field(
        default_factory=dict
    )
    tracks: dict[tuple[str, int, int, int], int] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    phase_counts: dict[str, int] = field(default_factory=dict)
    launches: list[Slices] = field(default_factory=list)
    device: list[Slices] = field(default_factory=list)
    compiles: list[tuple[int, int, int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    gpu_kernels: int | None = None
    device_ns: int | None = None
    launch_count: int = 0
    host_ns: int = 0

    def track(self, kind: str, run: int, number: int, stream: int = 0) -> int:
        return self.tracks.setdefault((kind, run, number, stream), len(self.tracks))

    def report(self, title: str, shown_as: str, runs: tuple[Run, ...]) -> Report:
        from kvtrace import __version__

        launches, device = Slices.join(self.launches), Slices.join(self.device)
        origin, end = self._extent(launches, device)
        variants = self.kernel_rows.variants
        kernels, calls = kernels_of(self.kernel_rows, self.call_rows, self.findings)
        return Report(
            title=title,
            trace=shown_as,
            kvtrace=__version__,
            origin=None if origin is None else _iso(origin),
            span_ns=0 if origin is None else end - origin,
            runs=runs,
            totals=self._totals(len(kernels)),
            kernels=kernels,
            variants=tuple(variants),
            arguments=tuple(self.call_rows.arguments),
            calls=calls,
            stacks=tuple(self.stacks),
            findings=() if self.findings is None else self.findings.placed,
            finding_counts=finding_counts(self.findings),
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
            tracks=tuple(
                Track(_track_label(kind, number, stream), kind, run, number)
                for kind, run, number, stream in self.tracks
            ),
            phases=tuple(self.phases),
            texts=tuple(self.kernel_rows.texts),
            launches=replace(launches, begin=launches.begin - (origin or 0)),
            device=replace(device, begin=device.begin - (origin or 0)),
        )

    def _extent(self, launches: Slices, device: Slices) -> tuple[int | None, int]:
        """Return the first and the last moment of anything that the timeline shows."""
        begins = [part.begin.min() for part in (launches, device) if len(part)]
        ends = [(part.begin + part.duration).max() for part in (launches, device) if len(part)]
        begins += [begin for _, begin, _, _ in self.compiles] + [m.begin for m in self.marks]
        ends += [begin + duration for _, begin, duration, _ in self.compiles]
        ends += [m.begin + (m.duration or 0) for m in self.marks]
        return (int(min(begins)), int(max(ends))) if begins else (None, 0)

    def _totals(self, kernels: int) -> Totals:
        variants, calls = self.kernel_rows.variants, self.call_rows
        stages: dict[str, int] = {}
        for stage in (stage for variant in variants for stage in variant.stages):
            if stage.duration_ns is not None:
                stages[stage.stage] = stages.get(stage.stage, 0) + stage.duration_ns
        return Totals(
            launches=self.launch_count,
            host_ns=self.host_ns,
            compile_ns=sum(variant.compile_ns or 0 for variant in variants),
            kernels=kernels,
            variants=len(variants),
            calls=len(calls.calls),
            gpu_kernels=self.gpu_kernels,
            device_ns=self.device_ns,
            bytes=calls.total("bytes"),
            flops=calls.total("flops"),
            evaluated_calls=calls.evaluated(),
            violations=None if self.findings is None else self.findings.violations(),
            phases=self.phase_counts,
            stages=stages,
        )


def _read_run(trace: "Trace", run: "TraceRun", index: int, gathered: _Gathered) -> None:
    runs = [run]
    kernel_table = trace.table("kernels", runs)
    artifacts = trace.table("artifacts", runs, ["sha256", "size_bytes"])
    sizes = dict(
        zip(artifacts["sha256"].to_pylist(), artifacts["size_bytes"].to_pylist(), strict=True)
    )
    first_variant = len(gathered.kernel_rows.variants)
    gathered.kernel_rows.add(kernel_table, index, sizes)
    _read_compiles(kernel_table, index, first_variant, gathered)
    stacks = _read_stacks(trace.table("stacks", runs), gathered)
    calls = gathered.call_rows.begin_run(
        trace.table("calls", runs), index, gathered.kernel_rows, stacks
    )
    _read_launches(trace.table("launches", runs), index, calls, gathered)
    _read_device(trace.table("gpu_kernels", runs), index, calls, gathered)
    gathered.call_rows.add_ops(trace.table("ops", runs, ["call_id", "bytes", "flops"]), index)
    _read_marks(trace.table("marks", runs), index, gathered)
    _read_messages(trace.table("messages", runs), index, gathered)


def _was_derived(trace: "Trace", table: str, run: "TraceRun") -> bool:
    """Whether a pass has filled the table, be it with no rows."""
    return bool(pass_parts(run_folder(trace.path, table, run.run_id)))


def _read_stacks(table: pa.Table, gathered: _Gathered) -> dict[int, int]:
    """Return stack_id → index in the report."""
    found: dict[int, int] = {}
    for row in table.select(["stack_id", "frames"]).to_pylist():
        frames = tuple((f["file"], f["line"], f["function"]) for f in row["frames"] or ())
        found[row["stack_id"]] = gathered.stacks.setdefault(frames, len(gathered.stacks))
    return found


def _read_compiles(table: pa.Table, run: int, first: int, gathered: _Gathered) -> None:
    begins, durations = integers(table, "compile_begin"), integers(table, "compile_ns")
    threads = integers(table, "thread")
    for row in range(len(table)):
        if begins[row] == _MISSING or durations[row] == _MISSING:
            continue
        track = gathered.track("host", run, _known(threads[row], 0))
        gathered.compiles.append((first + row, int(begins[row]), int(durations[row]), track))


def _read_launches(table: pa.Table, run: int, calls: dict[int, int], gathered: _Gathered) -> None:
    enter, leave = integers(table, "enter"), integers(table, "exit")
    timed = (enter != _MISSING) & (leave != _MISSING)
    duration = np.where(timed, leave - np.where(timed, enter, 0), 0)
    call = _indices(integers(table, "call_id"), calls)
    phase = _phases(table, gathered)
    gathered.launch_count += len(table)
    gathered.host_ns += int(duration[timed].sum())
    gathered.call_rows.count_launches(call, duration)
    rows = np.flatnonzero(timed)
    gathered.launches.append(
        Slices(
            begin=enter[rows],
            duration=duration[rows],
            kernel=gathered.call_rows.kernels(call[rows]),
            call=call[rows],
            track=_tracks(integers(table, "thread")[rows], run, gathered),
            phase=phase[rows],
            seq=integers(table, "seq")[rows],
        )
    )


def _tracks(threads: Integers, run: int, gathered: _Gathered) -> Integers:
    unique, inverse = np.unique(threads, return_inverse=True)
    numbers = [gathered.track("host", run, _known(thread, 0)) for thread in unique]
    return np.asarray(numbers, np.int64)[inverse]


def _phases(table: pa.Table, gathered: _Gathered) -> Integers:
    column = table["phase"].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays([chunk.dictionary_decode() for chunk in column.chunks])
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    names = [str(name) for name in encoded.dictionary.to_pylist()]
    unknown = len(names)
    codes = encoded.indices.fill_null(unknown).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.bincount(codes, minlength=unknown + 1)
    places = np.zeros(unknown + 1, np.int64)
    for code, name in enumerate([*names, "not recorded"]):
        if counts[code]:
            places[code] = gathered.phases.setdefault(name, len(gathered.phases))
            gathered.phase_counts[name] = gathered.phase_counts.get(name, 0) + int(counts[code])
    return np.asarray(places[codes], np.int64)


def _read_device(table: pa.Table, run: int, calls: dict[int, int], gathered: _Gathered) -> None:
    if not len(table):
        return
    start, end = integers(table, "start"), integers(table, "end")
    timed = (start != _MISSING) & (end != _MISSING)
    duration = np.where(timed, end - np.where(timed, start, 0), 0)
    call = _indices(integers(table, "call_id"), calls)
    device, stream = integers(table, "device"), integers(table, "stream")
    gathered.gpu_kernels = (gathered.gpu_kernels or 0) + len(table)
    gathered.device_ns = (gathered.device_ns or 0) + int(duration[timed].sum())
    gathered.call_rows.count_device(call, duration)
    rows = np.flatnonzero(timed)
    track = np.zeros(len(rows), np.int64)
    for place in {(int(d), int(s)) for d, s in zip(device[rows], stream[rows], strict=True)}:
        here = (device[rows] == place[0]) & (stream[rows] == place[1])
        track[here] = gathered.track("device", run, _known(place[0], 0), _known(place[1], 0))
    gathered.device.append(
        Slices(
            begin=start[rows],
            duration=duration[rows],
            kernel=gathered.call_rows.kernels(call[rows]),
            call=call[rows],
            track=track,
            phase=np.zeros(len(rows), np.int64),
            seq=integers(table, "record")[rows],
        )
    )


def _read_marks(table: pa.Table, run: int, gathered: _Gathered) -> None:
    begins, ends = integers(table, "begin"), integers(table, "end")
    rows = table.select(["name", "thread", "attributes"]).to_pylist()
    for row, begin, end in zip(rows, begins, ends, strict=True):
        if begin == _MISSING:
            continue
        duration = None if end == _MISSING else int(end - begin)
        attributes = {key: str(value) for key, value in row["attributes"] or ()}
        gathered.marks.append(
            Mark(run, row["name"], int(begin), duration, row["thread"], attributes)
        )


def _read_messages(table: pa.Table, run: int, gathered: _Gathered) -> None:
    for row in table.select(["level", "code", "text", "count"]).to_pylist():
        gathered.messages.append(Message(run, row["level"], row["code"], row["text"], row["count"]))


def integers(table: pa.Table, name: str) -> Integers:
    """Return a column of whole numbers or times (as ns since 1970); nulls are the lowest int64."""
    column = table[name].cast(pa.int64()).fill_null(_MISSING)
    return np.asarray(column.to_numpy(), np.int64)


def _known(value: Any, otherwise: int) -> int:
    return otherwise if value == _MISSING else int(value)


def _indices(ids: Integers, places: dict[int, int]) -> Integers:
    """Return the index of each id, NO_CALL for one that is not there."""
    if not places or not len(ids):
        return np.full(len(ids), NO_CALL, np.int64)
    known = np.fromiter(places, np.int64, len(places))
    order = np.argsort(known)
    values = np.fromiter(places.values(), np.int64, len(places))[order]
    known = known[order]
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[at] == ids, values[at], NO_CALL)


def _track_label(kind: str, number: int, stream: int) -> str:
    return f"device {number} stream {stream}" if kind == "device" else f"thread {number}"


def _iso(nanoseconds: int) -> str:
    return str(np.datetime64(nanoseconds, "ns")) + "Z"


def _run(run: "TraceRun", runs: "Sequence[TraceRun]") -> Run:
    started, ended = run.started, run.ended
    several = len(runs) > 1
    label = f"rank {run.rank}" if several and run.rank is not None else f"run {run.run_id}"
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
        dropped_rows=run.dropped_rows,
    )


def _device(device: Mapping[str, Any]) -> str:
    """Return one line for a device, such as `0: NVIDIA H200, 9.0, 140 GiB`."""
    parts = [device.get("name"), device.get("capability")]
    if device.get("memory_bytes"):
        parts.append(f"{device['memory_bytes'] / 2**30:.0f} GiB")
    return f"{device.get('index', '?')}: " + ", ".join(str(part) for part in parts if part)
