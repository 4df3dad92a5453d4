"""Overview of a trace: runs, kernels, launches, lost rows, and kvtrace's own messages.

`read_overview` builds plain data from the tables; `info_text` prints it. Rows of runs are counted
with pyarrow alone; `kernel_overviews.py` reads times of kernels and devices, which needs DuckDB.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.notes import notes_on
from kvtrace.figures.graph_replays import GraphReplays, read_graph_replays
from kvtrace.figures.identity import Keyed
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.scans import sound_rows
from kvtrace.figures.stored import PASS as SUMS
from kvtrace.figures.stored import settled
from kvtrace.figures.sums_reading import at_rest, stored_sums
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.errors import missing_package
from kvtrace.schema.trace import Selection
from kvtrace.schema.weights import number_of, weights_of
from kvtrace.schema.window import split_by_run
from kvtrace.schema.without_ir import runs_without_ir

if TYPE_CHECKING:
    from kvtrace.converters.profile.compile_stages import StageTimes
    from kvtrace.converters.profile.recompiles import DelayedLaunch, Recompile
    from kvtrace.converters.profile.unseen_sizes import UnseenSizes
    from kvtrace.converters.profile.waits import WaitedVariant
    from kvtrace.figures.device_time import DeviceTime
    from kvtrace.figures.launch_costs import LaunchCost
    from kvtrace.figures.ranks import RanksFigures
    from kvtrace.figures.window import Window
    from kvtrace.schema.trace import Run, Trace

_LEVELS: Final = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Message:
    """A message that kvtrace recorded in a run, and how often it occurred."""

    run: str
    level: str
    code: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run and the counts of its rows. Times are nanoseconds since 1970, UTC.

    `overhead` is the column of `runs`, `overhead_percent` what is computed from it.
    `known_contents` counts launches whose tensor contents were recorded. `passes` are those that
    have run, without sums. `source` is the tool of an imported run, `producer` what wrote the run,
    with version. `without_ir` is the reason why passes have nothing to evaluate; None if they do.
    """

    run_id: str
    sealed: bool
    started: int | None
    ended: int | None
    last_launch: int | None
    command: str | None
    host: str | None
    pid: int | None
    rank: int | None
    world_size: int | None
    git_commit: str | None
    git_branch: str | None
    git_dirty: bool | None
    mode: str | None
    ending: str | None
    versions: dict[str, str]
    devices: tuple[str | None, ...]
    kernels: int
    calls: int
    launches: int
    known_contents: int
    phases: dict[str, int]
    gpu_kernels: int
    marks: int
    self_overhead_ns: int | None
    overhead: dict[str, int | None] | None
    overhead_percent: dict[str, float] | None
    dropped_rows: int | None
    passes: tuple[str, ...]
    redacted: str | None = None
    source: str | None = None
    producer: str | None = None
    without_ir: str | None = None
    graph_replays: GraphReplays | None = None


@dataclass(frozen=True, slots=True)
class KernelOverview(Keyed):
    """A kernel (`kvtrace/figures/identity.py`) over the chosen runs; times are measured.

    Launches of autotuners and warm-ups count in `tuning_launches` only. `device_ns` is None without
    a device timeline. `host_ns` excludes the launches in which the kernel was compiled or loaded,
    whose time is `compiling_ns`; None if no launch was timed. `variants` and `calls` are those of
    all runs, each counted once. `further` has the other figures of
    `figures/kernels.py` by name.
    """

    name: str
    module: str | None
    file: str | None
    line: int | None
    origin: str | None
    variants: int
    calls: int
    launches: int
    tuning_launches: int
    device_ns: int | None
    host_ns: int | None
    compiling_ns: int | None
    source: str | None = None
    further: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overview:
    """Overview of a trace: the chosen runs, the number of other runs, and kernels by time.

    `window` is the part of the runs that `kernels` and `device_time` cover; None if nothing was
    timed. `device_time` is None without a device timeline, `ranks` without ranks of one job.
    `launch_costs` has the kernels whose launches take the host much longer than usual. `held` lists
    launches that waited for their kernel, from `since` on; None if not requested. `waits` has their
    variants, and `unseen` the sizes that would still wait, over this trace and those of `also`;
    `stages` what compilations took, if requested. `missing` is a phrase on a package that is not
    installed, if `kernels`, `device_time` and `window` are left out for that reason.
    """

    path: str
    runs: tuple[RunOverview, ...]
    other_runs: int
    kernels: tuple[KernelOverview, ...]
    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    recompiles: "tuple[Recompile, ...]" = ()
    held: "tuple[DelayedLaunch, ...] | None" = None
    waits: "tuple[WaitedVariant, ...]" = ()
    unseen: "tuple[UnseenSizes, ...]" = ()
    stages: "tuple[StageTimes, ...]" = ()
    since: str | None = None
    also: tuple[str, ...] = ()
    device_time: "DeviceTime | None" = None
    ranks: "RanksFigures | None" = None
    launch_costs: "tuple[LaunchCost, ...]" = ()
    window: "Window | None" = None
    missing: str | None = None


def read_overview(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    recompiles: bool = False,
    warmup: bool = False,
    stages: bool = False,
    since: str | None = None,
    also: Sequence[str] = (),
    part: RequestedPart = STEADY,
) -> Overview:
    """Return the overview of some runs.

    Args:
        trace: the trace.
        runs: the runs.
        recompiles: add every compiled variant and the reason for its compilation.
        warmup: add the launches that waited for their kernel.
        stages: add the times of compilations by stage.
        since: leave out earlier ones of these launches; see `delayed_launches`.
        also: folders of further traces in which launches waited.
        part: the part of the runs that figures of kernels and devices cover.

    Raises:
        BadSetting: as `delayed_launches`, or there is no such part.
        DamagedFile, NewerFormat: as the reader of the trace.
        ModuleNotFoundError: a package is not installed that a requested addition or part needs.
    """
    overview = Overview(
        path=str(trace.path), runs=(), other_runs=len(trace.run_ids) - len(runs), kernels=(),
        messages=(), notes=(), since=since, also=tuple(also),
    )  # fmt: skip

    def read() -> tuple[tuple[RunOverview, ...], tuple[Message, ...]]:
        return tuple(_run_overviews(trace, runs)), _messages(trace, runs)

    try:
        from kvtrace.converters.info.kernel_overviews import first_screen

        screen = first_screen(trace, runs, part, read)
    except ModuleNotFoundError as problem:
        missing = missing_package(problem)
        if missing is None or recompiles or warmup or part != STEADY:
            raise
        own, messages = read()
        notes = notes_on(trace, runs)
        return replace(overview, runs=own, messages=messages, missing=missing, notes=notes)
    with_times = replace(overview, **{f.name: getattr(screen, f.name) for f in fields(screen)})
    if recompiles:
        from kvtrace.converters.profile.recompiles import read_recompiles

        with_times = replace(with_times, recompiles=read_recompiles(trace, runs))
    if warmup:
        from kvtrace.converters.profile.compile_stages import stage_times
        from kvtrace.converters.profile.waits import read_waits, with_traces

        selections = with_traces(Selection(trace, tuple(runs)), also)
        waits = read_waits(selections, since)
        with_times = replace(
            with_times, held=waits.launches, waits=waits.variants, unseen=waits.unseen,
            stages=stage_times(selections) if stages else (),
        )  # fmt: skip
    return replace(with_times, notes=notes_on(trace, runs, screen.notes))


def overview_object(overview: Overview) -> dict[str, Any]:
    """Return an overview as JSON-ready dicts; `further` is merged into each kernel."""
    shown = asdict(overview)
    for kernel in shown["kernels"]:
        kernel |= kernel.pop("further")
    if overview.ranks is not None:
        del shown["ranks"]["late_map"]  # for pictures
    return shown


def _run_overviews(trace: "Trace", runs: Sequence["Run"]) -> Iterator[RunOverview]:
    phases_of_runs = settled(trace, runs, lambda: _phases(trace, runs))
    executions = settled(trace, runs, lambda: _execution_counts(trace, runs))
    without_ir = runs_without_ir(trace, runs)
    for run in runs:
        phases = phases_of_runs[run.run_id]
        yield RunOverview(
            run_id=run.run_id,
            sealed=run.sealed,
            started=run.started,
            ended=run.ended,
            last_launch=max(
                (last for _, last in phases.values() if last is not None), default=None
            ),
            command=run.command,
            host=run.host,
            pid=run.pid,
            rank=run.rank,
            world_size=run.world_size,
            git_commit=run.git_commit,
            git_branch=run.git_branch,
            git_dirty=run.git_dirty,
            mode=run.mode,
            ending=run.ending,
            versions=dict(run.versions),
            devices=tuple(device.get("name") for device in run.devices),
            kernels=_row_count(trace, run, "kernels", "kernel_id"),
            calls=_row_count(trace, run, "calls", "call_id"),
            launches=sum(launches for launches, _ in phases.values()),
            known_contents=len(pc.unique(trace.table("contents", [run], ["seq"])["seq"])),
            phases={phase: launches for phase, (launches, _) in sorted(phases.items())},
            gpu_kernels=executions[run.run_id],
            marks=_row_count(trace, run, "marks", "mark_id"),
            self_overhead_ns=run.self_overhead_ns,
            overhead=None if run.overhead is None else dict(run.overhead),
            overhead_percent=overhead_percent(run),
            dropped_rows=run.dropped_rows,
            passes=tuple(name for name in trace.pass_names(run.run_id) if name != SUMS),
            redacted=run.settings.get("redacted"),
            source=run.source,
            producer=" ".join(filter(None, (run.producer, run.producer_version))) or None,
            without_ir=without_ir.get(run.run_id),
            graph_replays=read_graph_replays(trace, [run]) if executions[run.run_id] else None,
        )


#: The number of launches and the end of the last one, in ns since 1970, by phase.
_Phases = dict[str, tuple[int, int | None]]


def _phases(trace: "Trace", runs: Sequence["Run"]) -> Mapping[str, _Phases]:
    """Return the launches of runs by run id."""
    phases: dict[str, _Phases] = {run.run_id: {} for run in runs}
    for run_id, rows in _launches(trace, runs):
        for phase in rows["phase"].unique().to_pylist():
            of_phase = rows.filter(pc.equal(rows["phase"], phase))
            count, last_end = phases[run_id].get(phase, (0, None))
            ends = (last_end, pc.max(of_phase["end"]).as_py())
            phases[run_id][phase] = (
                count + pc.sum(of_phase["weight"]).as_py(),
                max((end for end in ends if end is not None), default=None),
            )
    return phases


def _launches(trace: "Trace", runs: Sequence["Run"]) -> Iterator[tuple[str, pa.Table]]:
    """Yield phase, weight and end, in ns since 1970, of a run's launches, or of sums of them."""
    rest = at_rest(trace, runs, "launch_sums")
    rows = stored_sums(trace, rest.stored, "launch_sums")
    yield from split_by_run(_phase_rows(rows, rows["weight"], "last_end"))
    # Both times are read, since the reader repairs times that were set back only in pairs.
    for rows in trace.pieces("launches", rest.others, ["phase", "weight", "enter", "exit"]):
        yield from split_by_run(_phase_rows(rows, weights_of(rows), "exit"))


def _phase_rows(rows: pa.Table, weight: pa.ChunkedArray, end: str) -> pa.Table:
    phase = pc.fill_null(without_dictionary(rows["phase"]), "run")
    columns = (rows["run"], phase, weight, rows[end].cast(pa.int64()))
    return pa.table(columns, ("run", "phase", "weight", "end"))


def _execution_counts(trace: "Trace", runs: Sequence["Run"]) -> Mapping[str, int]:
    """Return the number of executions by run id."""
    counts = dict.fromkeys((run.run_id for run in runs), 0)
    rest = at_rest(trace, runs, "execution_sums")
    sums = stored_sums(trace, rest.stored, "execution_sums")
    for run_id, rows in split_by_run(sums):
        counts[run_id] += pc.sum(rows["weight"]).as_py()
    for run in rest.others:
        if run.has_weights:
            counts[run.run_id] += number_of(trace.pieces("gpu_kernels", [run], ["weight"]))
        else:
            counts[run.run_id] += _row_count(trace, run, "gpu_kernels", "record")
    return counts


def _row_count(trace: "Trace", run: "Run", table: str, column: str) -> int:
    rows = sound_rows(trace, run, table, [column])
    if rows is not None:
        return rows
    return sum(piece.num_rows for piece in trace.pieces(table, [run], [column]))


def _messages(trace: "Trace", runs: Sequence["Run"]) -> tuple[Message, ...]:
    rows = trace.table("messages", runs, ["level", "code", "text", "count"]).to_pylist()
    messages = [
        Message(
            row["run"],
            row["level"] or "info",
            row["code"] or "",
            row["text"] or "",
            1 if row["count"] is None else row["count"],
        )
        for row in rows
    ]
    return tuple(sorted(messages, key=lambda message: _LEVELS.get(message.level, len(_LEVELS))))


# Overhead of recording, in per cent of the program's time without recording.

#: Parts of `runs.overhead` that grow as long as the program runs.
_LASTING: Final = ("launches_ns", "waits_ns", "profiler_ns")


def overhead_percent(run: "Run") -> dict[str, float] | None:
    """Return the overhead of recording after all kernels were compiled: `total` and its parts.

    Returns:
        Per cent by part: `launches`, the time of recording in the program's threads; `waits`, the
        time that these waited for the writing thread; `profiler`, CUPTI's time in these threads,
        which is left out of parts and sum if unknown. None if launches never stopped compiling, and
        in runs of format 1.7 and before.
    """
    ns_by_part = {name: part for name, part in (run.overhead or {}).items() if part is not None}
    costs = {name: ns_by_part[name] for name in _LASTING if name in ns_by_part}
    launching_ns = ns_by_part.get("running_ns", 0) - sum(costs.values())
    if launching_ns <= 0 or not costs:
        return None
    shares = {name.removesuffix("_ns"): 100 * cost / launching_ns for name, cost in costs.items()}
    return {"total": sum(shares.values()), **shares}


def overhead_text(shares: dict[str, float]) -> str:
    """Return the result of `overhead_percent` as one line.

    It is an estimate: benchmarks/RESULTS.md compares it with what whole processes lost.
    """
    parts = [f"launches {shares['launches']:.1f}", f"waits {shares['waits']:.1f}"]
    profiler = shares.get("profiler")
    if profiler is None:
        parts.append("CUPTI ?")
    elif profiler:
        parts.append(f"CUPTI {profiler:.1f}")
    return f"about {shares['total']:+.1f} % of its time: {', '.join(parts)}"
