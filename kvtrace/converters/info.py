"""What a trace holds, at a glance: runs, kernels, launches, what was lost, what kvtrace had to say.

`read_overview` makes plain data from the tables; `info_text` prints it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.columns import coded
from kvtrace.converters.device_time import DeviceTime, read_device_time
from kvtrace.converters.launch_sums import LaunchSums, launch_sums
from kvtrace.converters.overhead import overhead_percent
from kvtrace.converters.recompiles import (
    HeldLaunch,
    Recompile,
    held_launches,
    read_recompiles,
)
from kvtrace.converters.scans import sound_rows
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

    `overhead` is the column of `runs`; `overhead_percent` see `kvtrace.converters.overhead`.

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


@dataclass(frozen=True, slots=True)
class KernelOverview:
    """A kernel (by module and name) over the chosen runs; times are measured.

    `device_ns` is without autotuners' trials, None without a device timeline. `host_ns` is without
    the launches in which the kernel was compiled or loaded, whose time is `compiling_ns`; None
    where no launch is timed. `variants` and `calls` are those of the run that has most of them:
    ranks compile the same.
    """

    name: str
    module: str | None
    file: str | None
    line: int | None
    origin: str | None
    variants: int
    calls: int
    launches: int
    device_ns: int | None
    host_ns: int | None
    compiling_ns: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """A trace at a glance: the chosen runs, how many more there are, kernels by time.

    `device_time` is all that devices did, None without a device timeline. `held` are launches that
    waited for their kernel, from `since` on; None where they were not asked for.
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


def read_overview(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    recompiles: bool = False,
    warmup: bool = False,
    since: str | None = None,
) -> Overview:
    """Read what the runs hold.

    Args:
        trace: the trace.
        runs: the runs to look at.
        recompiles: whether to add every compiled variant and its reason.
        warmup: whether to add the launches that waited for their kernel.
        since: only those from then on; see `held_launches`.

    Raises:
        BadSetting: as `held_launches`.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    sums = launch_sums(trace, runs)
    time = read_device_time(trace, runs)
    return Overview(
        path=str(trace.path),
        runs=tuple(_run(trace, run, sums[run.run_id]) for run in runs),
        other_runs=len(trace.run_ids) - len(runs),
        kernels=_kernels(trace, runs, sums, time),
        messages=_messages(trace, runs),
        notes=tuple(trace.notes),
        recompiles=read_recompiles(trace, runs) if recompiles else (),
        held=held_launches(trace, runs, since) if warmup else None,
        since=since,
        device_time=time,
    )


def overview_object(overview: Overview) -> dict[str, Any]:
    """Return the JSON form: the fields of `Overview`."""
    return asdict(overview)


def _run(trace: "Trace", run: "Run", sums: LaunchSums) -> RunOverview:
    return RunOverview(
        run_id=run.run_id,
        sealed=run.sealed,
        started=run.started,
        ended=run.ended,
        last_launch=sums.last_exit,
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
        launches=sums.launches,
        known_contents=len(pc.unique(trace.table("contents", [run], ["seq"])["seq"])),
        phases=dict(sorted(sums.phases.items())),
        gpu_kernels=_executions(trace, run),
        marks=_rows(trace, run, "marks", "mark_id"),
        self_overhead_ns=run.self_overhead_ns,
        overhead=None if run.overhead is None else dict(run.overhead),
        overhead_percent=overhead_percent(run),
        dropped_rows=run.dropped_rows,
        passes=tuple(trace.passes(run.run_id)),
        redacted=run.settings.get("redacted"),
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


def _kernels(
    trace: "Trace",
    runs: Sequence["Run"],
    sums: Mapping[str, LaunchSums],
    time: DeviceTime | None,
) -> tuple[KernelOverview, ...]:
    rows = trace.table("kernels", runs, ["kernel_id", "name", "module", "file", "line", "origin"])
    columns = (_listed(rows[each]) for each in ("run", "kernel_id", "module", "name"))
    number: dict[tuple[str | None, str | None], int] = {}
    first: list[int] = []
    numbers: dict[str, dict[int, int]] = {run.run_id: {} for run in runs}
    for place, (run_id, kernel_id, *name) in enumerate(zip(*columns, strict=True)):
        kernel = number.setdefault((name[0], name[1]), len(number))
        if kernel == len(first):
            first.append(place)
        numbers[run_id][kernel_id] = kernel
    table = trace.table("calls", runs, ["call_id", "kernel_id"])
    columns = (_listed(table[each]) for each in ("run", "call_id", "kernel_id"))
    called: dict[str, list[tuple[int, int]]] = {run.run_id: [] for run in runs}
    unknown = number.get((None, None), -1)
    for run_id, call, kernel_id in zip(*columns, strict=True):
        called[run_id].append((call, numbers[run_id].get(kernel_id, unknown)))
    variants, calls, launches = ([0] * (len(number) + 1) for _ in range(3))  # last: not known
    host: dict[int, int] = {}
    compiling: dict[int, int] = {}
    for run_id, own in called.items():
        for kernel, times in Counter(numbers[run_id].values()).items():
            variants[kernel] = max(variants[kernel], times)
        for kernel, times in Counter(kernel for _, kernel in own).items():
            calls[kernel] = max(calls[kernel], times)
        launched = sums[run_id].calls
        for call, kernel in own:
            launches[kernel] += launched.get(call, 0)
        for taken, total in ((sums[run_id].host_ns, host), (sums[run_id].compiling_ns, compiling)):
            for call, kernel in own:
                if call in taken:
                    total[kernel] = total.get(kernel, 0) + taken[call]
    executed: dict[tuple[str | None, str | None], int] = {
        (row.module, row.name): row.device_ns
        for row in (time.rows if time is not None else ())
        if row.kind == "Triton"
    }
    firsts = rows.take(pa.array(first, pa.int64())).to_pylist()
    found = [
        KernelOverview(
            name=row["name"] or "",
            module=row["module"],
            file=row["file"],
            line=row["line"],
            origin=row["origin"],
            variants=variants[kernel],
            calls=calls[kernel],
            launches=launches[kernel],
            device_ns=executed.get(name),
            host_ns=host.get(kernel),
            compiling_ns=compiling.get(kernel),
        )
        for (name, kernel), row in zip(number.items(), firsts, strict=True)
    ]
    return tuple(
        sorted(found, key=lambda k: (-(k.device_ns or 0), -(k.host_ns or 0), -k.launches, k.name))
    )


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values; each text of a dictionary is made once, not for every row."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts, codes = coded(column)
    return [texts[at] for at in codes.tolist()]


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
