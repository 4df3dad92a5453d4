"""Live figures of recorded programs: launches, kernels, variants and findings, as data.

A follower of the journals delivers new rows with each look. Memory does not grow with time: sums by
call are stored, and seconds and events of the last minute.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.timeline.captions import script_name
from kvtrace.figures.columns import Integers, integers, summed_by
from kvtrace.figures.database import scratch
from kvtrace.figures.following import execution_sums, launch_sums
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.figures.makers import kind_of
from kvtrace.figures.recompiled import compiled_here
from kvtrace.figures.trials import HoldingTrials
from kvtrace.schema.following import News
from kvtrace.schema.kept import weights
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.symbols import titled
from kvtrace.text import duration

#: Columns read of each table; tables that others refer to come last.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "gpu_kernels": ("call_id", "start", "end", "name", "kind", "weight"),
    "launches": ("call_id", "enter", "exit", "thread", "phase", "weight", *LAUNCH_COLUMNS),
    "messages": ("time", "level", "code", "text", "count"),
    "calls": ("call_id", "kernel_id"),
    "kernels": (
        "kernel_id", "name", "module", "file", "source_artifact", "compile_begin", "compile_ns",
        "load_begin", "cache_hit",
    ),
}  # fmt: skip
#: Tables that identify a launch's kernel: they have few rows, and none may be missing.
FROM_START: Final = frozenset({"calls", "kernels"})
_ORDER: Final = ("kernels", "calls", "messages", "launches", "gpu_kernels")

_SECOND: Final = 1_000_000_000
#: Rates are means over the last 10 s; events and kernels are those of the last 60 s.
RATE_SECONDS: Final = 10
EVENT_SECONDS: Final = 60
_MOST_EVENTS: Final = 100
#: Codes of messages on defects, found by judging or running a launch.
_FINDINGS: Final = frozenset({"defect", "out-of-bounds"})


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A process: launches so far and per second, its devices' busy share, and its variants.

    `device_share` is None where no device timeline is recorded; executions that overlap count each.
    `state` is recording, not running (its journal was left), or how it ended.
    """

    name: str
    state: str
    launches: int
    launches_per_second: float
    device_share: float | None
    variants: int


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A kernel of all processes; `of` is the library, or "launched". Times are measured.

    Launches and times are the figures of `figures/kernels.py`; executions of trials, however,
    are among the others. They are of the page's last seconds; `in_all_ns` is the time on devices,
    or else of the host, since the beginning.
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
    """All that one look shows; `whole` is False if rows of a process were sealed before.

    Kernels are those of the last `seconds`; None: since the beginning.
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


#: Figures of `figures/kernels.py` by their names.
_Sums = Counter[str]


@dataclass(slots=True)
class _CallSums:
    """Figures by call, and by name and kind for executions without a known call."""

    calls: dict[int, _Sums] = field(default_factory=dict)
    others: dict[tuple[str, str | None], _Sums] = field(default_factory=dict)

    def of_call(self, call: int) -> _Sums:
        return self.calls.setdefault(call, _Sums())

    def of_other(self, name: str, kind: str | None) -> _Sums:
        return self.others.setdefault((name, kind), _Sums())


@dataclass(slots=True)
class _Process:
    """State of a run: its kernels, and sums over launches and executions."""

    run: Run
    live: bool = True
    whole: bool = True
    kernels: dict[int, dict[str, Any]] = field(default_factory=dict)
    kernel_of: dict[int, int] = field(default_factory=dict)
    sums: _CallSums = field(default_factory=_CallSums)
    recent: dict[int, _CallSums] = field(default_factory=dict)
    """Sums of each of the last seconds."""
    launched: Counter[int] = field(default_factory=Counter)
    """Launches in each second."""
    compiled: set[tuple[KernelKey, str | None]] = field(default_factory=set)
    """Kernels that have a variant, with its file."""
    busy: Counter[int] = field(default_factory=Counter)
    """Nanoseconds of executions that began in each second."""
    holding: HoldingTrials = field(default_factory=HoldingTrials)

    @property
    def launches(self) -> int:
        return sum(sums["launches"] + sums["tuning_launches"] for sums in self.sums.calls.values())

    def kernel(self, call: int) -> Mapping[str, Any]:
        """Return the row of a call's kernel; empty if unknown."""
        return self.kernels.get(self.kernel_of.get(call, -1), {})

    def sums_at(self, second: int | None) -> tuple[_CallSums, ...]:
        """Return the sums to add a row to; `second` is None for rows older than a minute."""
        if second is None:
            return (self.sums,)
        return self.sums, self.recent.setdefault(second, _CallSums())

    @property
    def has_device(self) -> bool:
        return self.run.mode == "timeline"


class Live:
    """Sums over a follower's rows, and pages made from the sums."""

    def __init__(self) -> None:
        self._database = scratch()
        self._processes: dict[str, _Process] = {}
        self._variants: Counter[KernelKey] = Counter()
        self._new: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._recompiled: deque[int] = deque(maxlen=_MOST_EVENTS)
        self._findings: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._warnings: deque[Event] = deque(maxlen=_MOST_EVENTS)

    def add(self, news: Iterable[News], now: int) -> None:
        """Add the rows that were new at `now`, in ns since 1970."""
        for run_news in news:
            process = self._processes.setdefault(run_news.run.run_id, _Process(run_news.run))
            process.run, process.live, process.whole = run_news.run, run_news.live, run_news.whole
            tables: dict[str, list[pa.Table]] = {}
            for table, piece in run_news.pieces:
                tables.setdefault(table, []).append(piece)
            for table in _ORDER:
                for piece in tables.get(table, ()):
                    self._take(process, table, piece, now)
            by_second: tuple[dict[int, Any], ...] = (process.launched, process.busy, process.recent)
            for seconds in by_second:
                for second in [s for s in seconds if s < now // _SECOND - EVENT_SECONDS]:
                    del seconds[second]

    def _take(self, process: _Process, table: str, piece: pa.Table, now: int) -> None:
        if table == "kernels":
            for row in plain_rows(piece):
                self._add_variant(process, row, now)
        elif table == "calls":
            pairs = zip(piece["call_id"].to_pylist(), piece["kernel_id"].to_pylist(), strict=True)
            process.kernel_of.update(pair for pair in pairs if pair[1] is not None)
        elif table == "messages":
            self._add_messages(process, piece)
        elif table == "launches":
            for second, part in _by_second(piece, "exit", now):
                for row in launch_sums(self._database, part, process.kernel, process.holding):
                    call = row.pop("call_id")
                    for sums in process.sums_at(second):
                        _add(sums.of_call(call), row)
            _add_seconds(process.launched, piece, "enter", weights(piece))
        else:
            piece = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
            for second, part in _by_second(piece, "end", now):
                for row in execution_sums(self._database, part):
                    call, name, kind = (row.pop(key) for key in ("call_id", "name", "kind"))
                    for sums in process.sums_at(second):
                        sums_of_name = (
                            sums.of_other(name or "", kind) if call is None else sums.of_call(call)
                        )
                        _add(sums_of_name, row)
            busy_ns = np.maximum(integers(piece["end"]) - integers(piece["start"]), 0)
            _add_seconds(process.busy, piece, "start", busy_ns * weights(piece))

    def _add_variant(self, process: _Process, row: dict[str, Any], now: int) -> None:
        process.kernels[row["kernel_id"]] = row
        name = str(row["name"] or "kernel without a name")
        key = key_of(row)
        self._variants[key] += 1
        number, began = self._variants[key], row["compile_begin"]
        time = now if began is None else began + (row["compile_ns"] or 0)
        is_compiled = compiled_here(row["cache_hit"], row["compile_ns"])
        if is_compiled and (key, row["file"]) in process.compiled:
            self._recompiled.append(time)
        process.compiled.add((key, row["file"]))
        origin = (
            "compiled" if is_compiled else "from the cache" if row["cache_hit"] else "first seen"
        )
        duration_text = "" if row["compile_ns"] is None else f" in {duration(row['compile_ns'])}"
        self._new.append(Event(time, f"{name}: variant {number}, {origin}{duration_text}"))

    def _add_messages(self, process: _Process, piece: pa.Table) -> None:
        for row in plain_rows(piece):
            event = Event(row["time"] or 0, f"{_name(process.run)}: {row['text'] or row['code']}")
            if row["code"] in _FINDINGS:
                self._findings.append(event)
            elif row["level"] in ("warning", "error"):
                self._warnings.append(event)

    def page(self, now: int, *, whole: bool = False) -> LivePage:
        """Return the page to show at a time, in ns since 1970.

        Kernels are those of the last minute, or of the whole time if nothing ran or `whole` is set.
        """
        busy = [p for p in self._processes.values() if p.sums.calls or p.sums.others or p.kernels]
        shown = sorted(busy, key=lambda p: (p.run.rank or 0, p.run.run_id))
        on_device = any(
            p.sums.others or any(s["device_executions"] for s in p.sums.calls.values())
            for p in shown
        )
        recent = not whole and any(p.recent for p in shown)
        return LivePage(
            processes=tuple(_line(process, now) for process in shown),
            idle=len(self._processes) - len(shown),
            kernels=tuple(_kernels(shown, on_device=on_device, recent=recent)),
            on_device=on_device,
            variants=_recent(self._new, now),
            recompiles=sum(time >= now - EVENT_SECONDS * _SECOND for time in self._recompiled),
            findings=_recent(self._findings, now),
            warnings=_recent(self._warnings, now),
            whole=all(process.whole for process in shown),
            seconds=EVENT_SECONDS if recent else None,
        )


def _recent(events: Iterable[Event], now: int) -> tuple[Event, ...]:
    """Return the events of the last minute, the newest first."""
    first = now - EVENT_SECONDS * _SECOND
    return tuple(sorted((e for e in events if e.time >= first), key=lambda e: -e.time))


def _add(sums: _Sums, figures: Mapping[str, int | None]) -> None:
    sums.update({name: value or 0 for name, value in figures.items()})


def _by_second(piece: pa.Table, name: str, now: int) -> Iterator[tuple[int | None, pa.Table]]:
    """Yield the rows of each of the last seconds, by a column of times; older rows first, as None.

    Rows without a time are of the last second. The order of a second's rows is kept.
    """
    first = now // _SECOND - EVENT_SECONDS
    seconds = np.maximum(integers(piece[name], now) // _SECOND, first - 1)
    for second in np.unique(seconds).tolist():
        rows = piece.filter(pa.array(seconds == second))
        yield None if second < first else second, rows


def _add_seconds(seconds: Counter[int], piece: pa.Table, name: str, added: Integers) -> None:
    """Add numbers to the seconds of a column of times; rows without a time are skipped."""
    has_time = pc.is_valid(piece[name]).to_numpy()
    if not has_time.any():
        return
    present, codes = np.unique(integers(piece[name])[has_time] // _SECOND, return_inverse=True)
    sums = summed_by(codes.reshape(-1), added[has_time])
    seconds.update(dict(zip(present.tolist(), sums.tolist(), strict=True)))


def _line(process: _Process, now: int) -> ProcessLine:
    run, second = process.run, now // _SECOND
    began = second - RATE_SECONDS
    span = RATE_SECONDS
    if run.started is not None and run.started // _SECOND > began:
        span = max(second - run.started // _SECOND, 1)  # it has not run for so long yet
    # The current second is left out, unless there is none before it.
    counted = range(second - span, second)
    launched = sum(process.launched[past_second] for past_second in counted)
    busy = sum(process.busy[past_second] for past_second in counted)
    return ProcessLine(
        name=_name(run),
        state=_state(process),
        launches=process.launches,
        launches_per_second=launched / span if process.live else 0.0,
        device_share=busy / (span * _SECOND) if process.has_device and process.live else None,
        variants=len(process.kernels),
    )


def _state(process: _Process) -> str:
    if process.live:
        sample = process.run.settings.get("sample")
        return f"recording {sample} in detail" if sample else "recording"
    if process.run.sealed:
        return f"ended ({process.run.ending or 'killed'})"
    return "not running"


def _name(run: Run) -> str:
    parts = [] if run.rank is None else [f"rank {run.rank}"]
    return " · ".join([*parts, f"{script_name(run.command)} {run.pid or '?'}"])


def _kernels(
    processes: Sequence[_Process], *, on_device: bool, recent: bool
) -> Iterator[KernelLine]:
    """Yield the kernels of all processes, by device time and then launches."""
    files = {key_of(row): row["file"] for process in processes for row in process.kernels.values()}
    merged: dict[tuple[KernelKey, str], _Sums] = {}
    in_all: dict[tuple[KernelKey, str], _Sums] = {}
    for process in processes:
        _merge(in_all, process, process.sums)
        for kept in process.recent.values() if recent else ():
            _merge(merged, process, kept)
    merged = merged if recent else in_all
    total = sum(sums["device_ns"] for sums in merged.values())
    order = sorted(
        merged.items(),
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
            in_all_ns=in_all[key, of]["device_ns" if on_device else "host_ns"],
            module=key.module or None,
            file=files.get(key),
        )


def _merge(merged: dict[tuple[KernelKey, str], _Sums], process: _Process, kept: _CallSums) -> None:
    for call, sums in kept.calls.items():
        kernel = process.kernel(call)
        key = key_of(kernel) if kernel else KernelKey("", "")
        merged.setdefault((key, "launched"), _Sums()).update(sums)
    for (symbol, kind), sums in kept.others.items():
        key = KernelKey("", titled(symbol))
        merged.setdefault((key, kind_of(symbol, kind)), _Sums()).update(sums)
