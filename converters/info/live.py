"""Live figures of running programs: launches, kernels, variants and findings, as data.

A follower of the journals delivers new rows at each update. Memory does not grow with time: sums by
call are stored, and seconds and events of the last minute.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.captions import script_name
from kvtrace.figures.columns import Integers, coded, integers, summed_by
from kvtrace.figures.identity import KernelKey, key_of, kind_of
from kvtrace.figures.kernels import LAUNCH_COLUMNS, compiled_here
from kvtrace.figures.names import shown_names
from kvtrace.figures.times import execution_sums, launch_sums
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.collective_names import is_collective
from kvtrace.schema.following import News
from kvtrace.schema.launch_flags import LaunchFlags
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.weights import weights
from kvtrace.text import duration

if TYPE_CHECKING:
    import duckdb

#: Columns to read of each table; tables that others refer to come last.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "gpu_kernels": ("call_id", "start", "end", "device", "name", "kind", "weight"),
    "launches": ("call_id", "enter", "exit", "thread", "phase", "weight", *LAUNCH_COLUMNS),
    "messages": ("time", "level", "code", "text", "count"),
    "calls": ("call_id", "kernel_id"),
    "kernels": (
        "kernel_id", "name", "module", "file", "source_artifact", "compile_begin", "compile_ns",
        "load_begin", "cache_hit",
    ),
}  # fmt: skip
#: Tables that identify a launch's kernel, which are read from their first row on.
FROM_START: Final = frozenset({"calls", "kernels"})
_ORDER: Final = ("kernels", "calls", "messages", "launches", "gpu_kernels")

_SECOND: Final = 1_000_000_000
#: Rates are means over the last 10 s; events and kernels are those of the last 60 s.
RATE_SECONDS: Final = 10
EVENT_SECONDS: Final = 60
_MOST_EVENTS: Final = 100
#: Codes of messages on defects that were found while the program ran.
_FINDINGS: Final = frozenset({"defect", "out-of-bounds"})


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A process: launches so far and per second, its devices' busy share, and its variants.

    `device_share` is the mean of the devices; None without a device timeline. Overlapping
    executions of a device are added. It leaves out collectives, which may wait for other ranks:
    `collective_share` is theirs. `state` is
    "recording", "not running" (it left a journal), or how the process ended.
    """

    name: str
    group: str | None
    rank: int | None
    state: str
    launches: int
    launches_per_second: float
    device_share: float | None
    collective_share: float | None
    variants: int


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A kernel over all processes; `of` is its library, or "launched". Times are measured.

    Launches and times are figures of `figures/kernels.py` over the page's last seconds, except that
    device times include trials of autotuners. `in_all_ns` is the device time, or without one the
    host time, since the beginning.
    """

    name: str
    of: str
    launches: int
    host_ns: int
    device_ns: int | None
    share: float | None
    in_all_ns: int = 0
    module: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A message and its time, in ns since 1970."""

    time: int
    text: str


@dataclass(frozen=True, slots=True)
class LivePage:
    """All data of one update of the page.

    `kernels` cover the last `seconds`; None: the time since the beginning. `idle` counts processes
    without launches. `whole` is False if rows of a process were sealed before, and do not count.
    """

    processes: tuple[ProcessLine, ...]
    idle: int
    kernels: tuple[KernelLine, ...]
    on_device: bool
    variants: tuple[Event, ...]
    recompiles: int
    findings: tuple[Event, ...]
    warnings: tuple[Event, ...]
    whole: bool
    seconds: int | None = None


#: Figures of `figures/kernels.py` by their names; and those by kernel and its library.
_Sums = Counter[str]
_KernelSums = defaultdict[tuple[KernelKey, str], _Sums]


@dataclass(slots=True)
class _CallSums:
    """Sums of figures by call, and by name and kind for executions without a known call."""

    calls: defaultdict[int, _Sums] = field(default_factory=lambda: defaultdict(_Sums))
    others: defaultdict[tuple[str, str | None], _Sums] = field(
        default_factory=lambda: defaultdict(_Sums)
    )


@dataclass(slots=True)
class _Process:
    """State of a process: its kernels, and sums over launches and executions."""

    run: Run
    live: bool = True
    whole: bool = True
    kernels: dict[int, dict[str, Any]] = field(default_factory=dict)
    kernel_of: dict[int, int] = field(default_factory=dict)
    sums: _CallSums = field(default_factory=_CallSums)
    recent: dict[int, _CallSums] = field(default_factory=dict)
    """Sums by second since 1970, for the last minute."""
    launched: Counter[int] = field(default_factory=Counter)
    """Number of launches by second."""
    compiled: set[tuple[KernelKey, str | None]] = field(default_factory=set)
    """Key and file of kernels that have a variant."""
    busy: Counter[int] = field(default_factory=Counter)
    """Nanoseconds of executions, without collectives, by the second in which they began."""
    collectives: Counter[int] = field(default_factory=Counter)
    """The same of collectives."""
    devices: set[int | None] = field(default_factory=set)
    flags: LaunchFlags = field(default_factory=LaunchFlags)

    @property
    def launches(self) -> int:
        return sum(sums["launches"] + sums["tuning_launches"] for sums in self.sums.calls.values())

    def kernel(self, call: int) -> Mapping[str, Any]:
        """Return the row of the kernel of the call with this id; {} if unknown."""
        return self.kernels.get(self.kernel_of.get(call, -1), {})

    def sums_at(self, second: int | None) -> tuple[_CallSums, ...]:
        """Return the sums to add a row to; `second` is None for rows older than a minute."""
        if second is None:
            return (self.sums,)
        return self.sums, self.recent.setdefault(second, _CallSums())


class Live:
    """Collector of a follower's rows, which `add` sums up and `page` returns as a page."""

    def __init__(self) -> None:
        self._processes: dict[str, _Process] = {}
        self._variants: Counter[KernelKey] = Counter()
        self._new_variants: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._recompiled: deque[int] = deque(maxlen=_MOST_EVENTS)
        self._findings: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._warnings: deque[Event] = deque(maxlen=_MOST_EVENTS)

    @cached_property
    def _database(self) -> "duckdb.DuckDBPyConnection":
        """The database that sums rows up."""
        from kvtrace.figures.tables import scratch  # a page without rows needs no DuckDB

        return scratch()

    def add(self, news: Iterable[News], now: int) -> None:
        """Add the new rows of runs at the time `now`, in ns since 1970; forget old seconds."""
        for run_news in news:
            process = self._processes.setdefault(run_news.run.run_id, _Process(run_news.run))
            process.run, process.live, process.whole = run_news.run, run_news.live, run_news.whole
            tables: dict[str, list[pa.Table]] = {}
            for table, piece in run_news.pieces:
                tables.setdefault(table, []).append(piece)
            for table in _ORDER:
                for piece in tables.get(table, ()):
                    self._add_rows(process, table, piece, now)
            by_second: tuple[dict[int, Any], ...] = (
                process.launched, process.busy, process.collectives, process.recent
            )  # fmt: skip
            for seconds in by_second:
                for second in [s for s in seconds if s < now // _SECOND - EVENT_SECONDS]:
                    del seconds[second]

    def _add_rows(self, process: _Process, table: str, table_rows: pa.Table, now: int) -> None:
        if table == "kernels":
            for row in plain_rows(table_rows):
                self._add_variant(process, row, now)
        elif table == "calls":
            for row in table_rows.select(["call_id", "kernel_id"]).to_pylist():
                process.flags.refer("calls", row)
                if row["kernel_id"] is not None:
                    process.kernel_of[row["call_id"]] = row["kernel_id"]
        elif table == "messages":
            self._add_messages(process, table_rows)
        elif table == "launches":
            for second, rows_of_second in _rows_by_second(table_rows, "exit", now):
                for row in launch_sums(self._database, rows_of_second, process.flags):
                    call = row.pop("call_id")
                    for sums in process.sums_at(second):
                        _add_figures(sums.calls[call], row)
            _add_seconds(process.launched, table_rows, "enter", weights(table_rows))
        else:
            table_rows = table_rows.filter(
                pc.and_(pc.is_valid(table_rows["start"]), pc.is_valid(table_rows["end"]))
            )
            for second, rows_of_second in _rows_by_second(table_rows, "end", now):
                for row in execution_sums(self._database, rows_of_second):
                    call, name, kind = (row.pop(key) for key in ("call_id", "name", "kind"))
                    for sums in process.sums_at(second):
                        named = sums.others[name or "", kind] if call is None else sums.calls[call]
                        _add_figures(named, row)
            process.devices.update(table_rows["device"].unique().to_pylist())
            busy_ns = np.maximum(integers(table_rows["end"]) - integers(table_rows["start"]), 0)
            busy_ns *= weights(table_rows)
            names, codes = coded(table_rows["name"])
            of_collective = np.array([is_collective(name) for name in names])[codes]
            for seconds, part in (
                (process.busy, ~of_collective),
                (process.collectives, of_collective),
            ):
                _add_seconds(seconds, table_rows, "start", np.where(part, busy_ns, 0))

    def _add_variant(self, process: _Process, row: dict[str, Any], now: int) -> None:
        process.kernels[row["kernel_id"]] = row
        process.flags.refer("kernels", row)
        name = str(row["name"] or "kernel without a name")
        key = key_of(row)
        self._variants[key] += 1
        variant_number, compile_begin = self._variants[key], row["compile_begin"]
        time = now if compile_begin is None else compile_begin + (row["compile_ns"] or 0)
        is_compiled = compiled_here(row["cache_hit"], row["compile_ns"])
        if is_compiled and (key, row["file"]) in process.compiled:
            self._recompiled.append(time)
        process.compiled.add((key, row["file"]))
        origin = (
            "compiled" if is_compiled else "from the cache" if row["cache_hit"] else "first seen"
        )
        duration_text = "" if row["compile_ns"] is None else f" in {duration(row['compile_ns'])}"
        self._new_variants.append(
            Event(time, f"{name}: variant {variant_number}, {origin}{duration_text}")
        )

    def _add_messages(self, process: _Process, piece: pa.Table) -> None:
        for row in plain_rows(piece):
            event = Event(
                row["time"] or 0, f"{_process_name(process.run)}: {row['text'] or row['code']}"
            )
            if row["code"] in _FINDINGS:
                self._findings.append(event)
            elif row["level"] in ("warning", "error"):
                self._warnings.append(event)

    def page(self, now: int, *, whole: bool = False) -> LivePage:
        """Return the page to show at a time, in ns since 1970.

        Kernels are those of the last minute, or of the whole time if nothing ran or `whole` is set.
        """
        active_processes = [
            p for p in self._processes.values() if p.sums.calls or p.sums.others or p.kernels
        ]
        sorted_processes = sorted(active_processes, key=lambda p: (p.run.rank or 0, p.run.run_id))
        on_device = any(
            p.sums.others or any(s["device_executions"] for s in p.sums.calls.values())
            for p in sorted_processes
        )
        has_recent = not whole and any(p.recent for p in sorted_processes)
        return LivePage(
            processes=tuple(_process_line(process, now) for process in sorted_processes),
            idle=len(self._processes) - len(sorted_processes),
            kernels=tuple(_kernel_lines(sorted_processes, on_device=on_device, recent=has_recent)),
            on_device=on_device,
            variants=_recent_events(self._new_variants, now),
            recompiles=sum(time >= now - EVENT_SECONDS * _SECOND for time in self._recompiled),
            findings=_recent_events(self._findings, now),
            warnings=_recent_events(self._warnings, now),
            whole=all(process.whole for process in sorted_processes),
            seconds=EVENT_SECONDS if has_recent else None,
        )


def _recent_events(events: Iterable[Event], now: int) -> tuple[Event, ...]:
    first = now - EVENT_SECONDS * _SECOND
    return tuple(sorted((e for e in events if e.time >= first), key=lambda e: -e.time))


def _add_figures(sums: _Sums, figures: Mapping[str, int | None]) -> None:
    sums.update({name: value or 0 for name, value in figures.items()})


def _rows_by_second(piece: pa.Table, name: str, now: int) -> Iterator[tuple[int | None, pa.Table]]:
    """Yield each of the last seconds with its rows, by the column `name` of times.

    Older rows come first, with None. Rows without a time belong to the second of `now`.
    """
    first = now // _SECOND - EVENT_SECONDS
    seconds = np.maximum(integers(piece[name], now) // _SECOND, first - 1)
    for second in np.unique(seconds).tolist():
        rows = piece.filter(pa.array(seconds == second))
        yield None if second < first else second, rows


def _add_seconds(seconds: Counter[int], piece: pa.Table, name: str, added: Integers) -> None:
    """Add a number per row (`added`) to the counter of the row's second; skip rows without a time.

    `name` is the column of times.
    """
    has_time = pc.is_valid(piece[name]).to_numpy()
    if not has_time.any():
        return
    seconds_in_column, codes = np.unique(
        integers(piece[name])[has_time] // _SECOND, return_inverse=True
    )
    sums = summed_by(codes.reshape(-1), added[has_time])
    seconds.update(dict(zip(seconds_in_column.tolist(), sums.tolist(), strict=True)))


def _process_line(process: _Process, now: int) -> ProcessLine:
    run, second = process.run, now // _SECOND
    rate_begin = second - RATE_SECONDS
    span = RATE_SECONDS
    if run.started is not None and run.started // _SECOND > rate_begin:
        span = max(second - run.started // _SECOND, 1)  # the process is younger than that
    # The current second is not complete, so it is left out.
    counted_seconds = range(second - span, second)
    launch_count = sum(process.launched[past_second] for past_second in counted_seconds)
    device_ns = span * _SECOND * max(len(process.devices), 1)

    def share(busy: Counter[int]) -> float | None:
        """Return the share of the devices' time."""
        if run.mode != "timeline" or not process.live:
            return None
        return sum(busy[past_second] for past_second in counted_seconds) / device_ns

    return ProcessLine(
        name=_process_name(run),
        group=run.group_id,
        rank=run.rank,
        state=_process_state(process),
        launches=process.launches,
        launches_per_second=launch_count / span if process.live else 0.0,
        device_share=share(process.busy),
        collective_share=share(process.collectives),
        variants=len(process.kernels),
    )


def _process_state(process: _Process) -> str:
    if process.live:
        sample = process.run.settings.get("sample")
        return f"recording {sample} in detail" if sample else "recording"
    if process.run.sealed:
        return f"ended ({process.run.ending or 'killed'})"
    return "not running"


def _process_name(run: Run) -> str:
    parts = [] if run.rank is None else [f"rank {run.rank}"]
    return " · ".join([*parts, f"{script_name(run.command)} {run.pid or '?'}"])


def _kernel_lines(
    processes: Sequence[_Process], *, on_device: bool, recent: bool
) -> Iterator[KernelLine]:
    """Yield the kernels of all processes, by falling device time, then launches.

    `recent`: of the last minute. `on_device`: device times are recorded.
    """
    files = {key_of(row): row["file"] for process in processes for row in process.kernels.values()}
    recent_sums: _KernelSums = defaultdict(_Sums)
    all_sums: _KernelSums = defaultdict(_Sums)
    shown = shown_names(symbol for process in processes for symbol, _ in process.sums.others)
    for process in processes:
        _add_to_kernels(all_sums, process, process.sums, shown)
        for sums_of_second in process.recent.values() if recent else ():
            _add_to_kernels(recent_sums, process, sums_of_second, shown)
    sums_by_kernel = recent_sums if recent else all_sums
    total = sum(sums["device_ns"] for sums in sums_by_kernel.values())
    order = sorted(
        sums_by_kernel.items(),
        key=lambda item: (-item[1]["device_ns"], -item[1]["launches"], item[0][0].name),
    )
    for (key, of), sums in order:
        yield KernelLine(
            name=key.name or "?",
            of=of,
            launches=sums["launches"],
            host_ns=sums["host_ns"],
            device_ns=sums["device_ns"] if on_device else None,
            share=sums["device_ns"] / total if total else None,
            in_all_ns=all_sums[key, of]["device_ns" if on_device else "host_ns"],
            module=key.module or None,
            file=files.get(key),
        )


def _add_to_kernels(
    sums_by_kernel: _KernelSums,
    process: _Process,
    call_sums: _CallSums,
    shown: Mapping[str, str],
) -> None:
    for call, sums in call_sums.calls.items():
        kernel = process.kernel(call)
        key = key_of(kernel) if kernel else KernelKey("", "")
        sums_by_kernel[key, "launched"].update(sums)
    for (symbol, kind), sums in call_sums.others.items():
        key = KernelKey("", shown[symbol])
        sums_by_kernel[key, kind_of(symbol, kind)].update(sums)
