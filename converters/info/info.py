"""What a trace holds, at a glance: runs, kernels, launches, what was lost, what kvtrace had to say.

`read_overview` makes plain data from the tables; `info_text` prints it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.info.overhead import overhead_percent
from kvtrace.converters.profile.device_time import DeviceTime, read_device_time
from kvtrace.converters.profile.recompiles import (
    HeldLaunch,
    Recompile,
    held_launches,
    read_recompiles,
)
from kvtrace.figures.database import scratch
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.makers import OWN
from kvtrace.figures.scans import sound_rows
from kvtrace.figures.tables import known_rows
from kvtrace.figures.times import Times, host_times
from kvtrace.figures.unevaluated import read_unevaluated
from kvtrace.figures.window import STEADY, Asked, Window, windowed
from kvtrace.schema.kept import number_of

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_LEVELS: Final = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Message:
    """What kvtrace itself had to say of a run, and how often."""

    run: str
    level: str
    code: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run and the counts of its rows. Times are nanoseconds since 1970, UTC.

    `overhead` is the column of `runs`; `overhead_percent` see `kvtrace.converters.info.overhead`.

    `known_contents` are launches of which it is recorded what tensors held.
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
    devices: tuple[str, ...]
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


@dataclass(frozen=True, slots=True)
class KernelOverview:
    """A kernel (`kvtrace/figures/identity.py`) over the chosen runs; times are measured.

    Launches of autotuners and warm-ups are `tuning_launches`, and in no other figure. `device_ns`
    is None without a device timeline. `host_ns` is without the launches in which the kernel was
    compiled or loaded, whose time is `compiling_ns`; None where no launch is timed. `variants` and
    `calls` are those of the run that has most of them: ranks compile the same.
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


@dataclass(frozen=True, slots=True)
class Overview:
    """A trace at a glance: the chosen runs, how many more there are, kernels by time.

    `window` is the part of the runs that `kernels` and `device_time` are of, None where nothing
    has a time. `device_time` is all that devices did, None without a device timeline. `held` are
    launches that waited for their kernel, from `since` on; None where they were not asked for.
    """

    path: str
    runs: tuple[RunOverview, ...]
    other_runs: int
    kernels: tuple[KernelOverview, ...]
    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    recompiles: tuple[Recompile, ...] = ()
    held: tuple[HeldLaunch, ...] | None = None
    since: str | None = None
    device_time: DeviceTime | None = None
    window: Window | None = None


def read_overview(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    recompiles: bool = False,
    warmup: bool = False,
    since: str | None = None,
    part: Asked = STEADY,
) -> Overview:
    """Read what the runs hold.

    Args:
        trace: the trace.
        runs: the runs to look at.
        recompiles: whether to add every compiled variant and its reason.
        warmup: whether to add the launches that waited for their kernel.
        since: only those from then on; see `held_launches`.
        part: what figures of kernels and devices are of; else the steady part.

    Raises:
        BadSetting: as `held_launches`, or there is no such part.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    times = host_times(trace, runs, with_medians=False)
    phases: dict[str, dict[str, tuple[int, int | None]]] = {}
    for run_id, phase, launches, last_exit in times.phases:
        phases.setdefault(run_id, {})[phase] = launches, last_exit
    inside, window = windowed(trace, runs, part)
    time = read_device_time(inside, runs, window)
    unevaluated = read_unevaluated(trace, runs)
    if inside is not trace:
        times = host_times(inside, runs, with_medians=False)
    return Overview(
        path=str(trace.path),
        runs=tuple(_run(trace, run, phases.get(run.run_id, {})) for run in runs),
        other_runs=len(trace.run_ids) - len(runs),
        kernels=_kernels(trace, runs, times, time),
        messages=_messages(trace, runs),
        notes=(*trace.notes, *([] if unevaluated is None else [unevaluated.note])),
        recompiles=read_recompiles(trace, runs) if recompiles else (),
        held=held_launches(trace, runs, since) if warmup else None,
        since=since,
        device_time=time,
        window=window,
    )


def overview_object(overview: Overview) -> dict[str, Any]:
    """Return the JSON form: the fields of `Overview`."""
    return asdict(overview)


def _run(trace: "Trace", run: "Run", phases: Mapping[str, tuple[int, int | None]]) -> RunOverview:
    return RunOverview(
        run_id=run.run_id,
        sealed=run.sealed,
        started=run.started,
        ended=run.ended,
        last_launch=max((last for _, last in phases.values() if last is not None), default=None),
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
        devices=tuple(str(device.get("name")) for device in run.devices),
        kernels=_rows(trace, run, "kernels", "kernel_id"),
        calls=_rows(trace, run, "calls", "call_id"),
        launches=sum(launches for launches, _ in phases.values()),
        known_contents=len(pc.unique(trace.table("contents", [run], ["seq"])["seq"])),
        phases={phase: launches for phase, (launches, _) in sorted(phases.items())},
        gpu_kernels=_executions(trace, run),
        marks=_rows(trace, run, "marks", "mark_id"),
        self_overhead_ns=run.self_overhead_ns,
        overhead=None if run.overhead is None else dict(run.overhead),
        overhead_percent=overhead_percent(run),
        dropped_rows=run.dropped_rows,
        passes=tuple(trace.passes(run.run_id)),
        redacted=run.settings.get("redacted"),
        source=run.source,
    )


def _executions(trace: "Trace", run: "Run") -> int:
    if run.settings.get("sample"):
        return number_of(trace.pieces("gpu_kernels", [run], ["weight"]))
    return _rows(trace, run, "gpu_kernels", "record")


def _rows(trace: "Trace", run: "Run", table: str, column: str) -> int:
    known = sound_rows(trace, run, table, [column])
    if known is not None:
        return known
    return sum(piece.num_rows for piece in trace.pieces(table, [run], [column]))


#: Variants and calls are those of the run that has most of them.
_KERNELS: Final = """
    WITH named AS (
        SELECT *, dense_rank() OVER (
            ORDER BY coalesce(module, ''), coalesce(name, ''), coalesce(source, '')) AS kernel
        FROM kernels
    ), variants AS (
        SELECT kernel, max(number) AS variants FROM (
            SELECT kernel, run, count(DISTINCT kernel_id) AS number
            FROM named GROUP BY ALL
        ) GROUP BY ALL
    ), called AS (
        SELECT kernel, max(number) AS calls, sum(launches) AS launches,
            sum(tuning_launches) AS tuning_launches, sum(host_ns) AS host_ns,
            sum(compiling_ns) AS compiling_ns
        FROM (
            SELECT n.kernel, c.run, count(*) AS number,
                sum(t.launches) AS launches, sum(t.tuning_launches) AS tuning_launches,
                sum(t.host_ns) AS host_ns, sum(t.compiling_ns) AS compiling_ns
            FROM calls c JOIN named n ON n.run = c.run AND n.kernel_id = c.kernel_id
            LEFT JOIN times t ON t.run = c.run AND t.call_id = c.call_id
            GROUP BY ALL
        ) GROUP BY ALL
    )
    SELECT coalesce(any_value(name), '') AS name, any_value(module) AS module,
        any_value(source) AS source, arg_min_null(file, place) AS file,
        arg_min_null(line, place) AS line,
        arg_min_null(origin, place) AS origin, any_value(v.variants) AS variants,
        coalesce(any_value(c.calls), 0) AS calls,
        coalesce(any_value(c.launches), 0)::BIGINT AS launches,
        coalesce(any_value(c.tuning_launches), 0)::BIGINT AS tuning_launches,
        any_value(c.host_ns)::BIGINT AS host_ns, any_value(c.compiling_ns)::BIGINT AS compiling_ns
    FROM named JOIN variants v USING (kernel) LEFT JOIN called c USING (kernel)
    GROUP BY kernel ORDER BY min(place)
"""


def _kernels(
    trace: "Trace", runs: Sequence["Run"], times: Times, device: DeviceTime | None
) -> tuple[KernelOverview, ...]:
    columns = ("kernel_id", "name", "module", "source", "file", "line", "origin")
    kernels = known_rows(trace, runs, "kernels", columns)
    kernels = kernels.append_column("place", pa.array(range(kernels.num_rows), pa.int64()))
    with scratch() as database:
        database.register("kernels", kernels)
        database.register("calls", known_rows(trace, runs, "calls", ("call_id", "kernel_id")))
        database.register("times", times.calls)
        rows = database.sql(_KERNELS).to_arrow_table().to_pylist()
    executed = {
        row.key: row.device_ns
        for row in (device.rows if device is not None else ())
        if row.kind in OWN
    }
    found = [
        KernelOverview(
            device_ns=executed.get(
                KernelKey(row["module"] or "", row["name"], row["source"] or "")
            ),
            **row,
        )
        for row in rows
    ]
    return tuple(
        sorted(found, key=lambda k: (-(k.device_ns or 0), -(k.host_ns or 0), -k.launches, k.name))
    )


def _messages(trace: "Trace", runs: Sequence["Run"]) -> tuple[Message, ...]:
    rows = trace.table("messages", runs, ["level", "code", "text", "count"]).to_pylist()
    found = [
        Message(
            row["run"],
            row["level"] or "info",
            row["code"] or "",
            row["text"] or "",
            1 if row["count"] is None else row["count"],
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda message: _level(message.level)))


def _level(name: str) -> int:
    return _LEVELS.index(name) if name in _LEVELS else len(_LEVELS)
