"""Columns of launches and device executions, read in batches and stored as narrow integers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import pyarrow as pa

from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.detail import MOST_ROWS, Range, RowSelector, nearby
from kvtrace.converters.report.merged_kernels import KernelRows
from kvtrace.converters.report.model import Track
from kvtrace.converters.report.slices import (
    MISSING,
    NO_CALL,
    BinCounter,
    Executions,
    Integers,
    Lookup,
    Slices,
)
from kvtrace.figures.columns import coded, combined_codes, integers, narrow
from kvtrace.figures.makers import kind_of
from kvtrace.figures.names import full_name
from kvtrace.figures.placing import UNKNOWN, PlacedLaunches
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

__all__ = ["Timeline"]

_SlicesType = TypeVar("_SlicesType", bound=Slices)

_NOT_RECORDED: Final = "not recorded"
_TIMES: Final = {"launches": ("enter", "exit"), "gpu_kernels": ("start", "end")}
_LAUNCH: Final = ("seq", "call_id", "enter", "exit", "thread", "phase", "weight")
_EXECUTION: Final = (
    "record", "launch_seq", "call_id", "start", "end", "device", "stream", "name", "kind",
    "weight",
)  # fmt: skip


@dataclass(slots=True)
class Timeline:
    """Launches and executions of the timeline, with the names that their columns refer to."""

    tracks: dict[tuple[str, int, int, int], int] = field(default_factory=dict)
    """Kind, run, thread or device, stream → index."""
    phases: dict[str, int] = field(default_factory=dict)
    phase_counts: dict[str, int] = field(default_factory=dict)
    launches: list[Slices] = field(default_factory=list)
    device: list[Executions] = field(default_factory=list)
    """Launches and executions in the order of reading: all, or those of `RowSelector`."""
    bins: dict[str, BinCounter] = field(default_factory=dict)
    """By table, bins of all rows; missing if all rows are stored."""
    plans: dict[str, tuple[Range, ...]] = field(default_factory=dict)
    """By table, the plan of the ranges that are stored."""
    names: dict[str, int] = field(default_factory=dict)
    """Full names of device functions → index."""
    kinds: list[str] = field(default_factory=list)
    """Library of each device function."""
    launch_count: int = 0
    extent: tuple[int, int] | None = None
    """First begin and last end of all timed rows."""
    origin: int = 0
    """Time of the page's origin, in ns since 1970, which is subtracted from times."""
    rows: Counter[str] = field(default_factory=Counter)
    """By table, the number of timed rows."""
    gpu_kernels: int | None = None

    def track(self, kind: str, run: int, number: int, stream: int = 0) -> int:
        """Return the index of a track, which is added on first use.

        `number` is the thread of a "host" track or the device of a "device" track.
        """
        return self.tracks.setdefault((kind, run, number, stream), len(self.tracks))

    def shown_tracks(self) -> tuple[Track, ...]:
        """Return the tracks in the order of their indices."""
        return tuple(
            Track(_track_label(kind, number, stream), kind, run, number)
            for kind, run, number, stream in self.tracks
        )

    def measure(self, trace: "Trace", runs: Sequence["Run"]) -> None:
        """Read all launches and executions: `extent` and `rows`.

        All columns of the page are read, so that a damaged part is found by the reader, which
        names it, and not later by DuckDB.
        """
        for table, columns in (("launches", _LAUNCH), ("gpu_kernels", _EXECUTION)):
            begin_name, end_name = _TIMES[table]
            for piece in trace.pieces(table, runs, columns):
                begin, end = (integers(piece[name], MISSING) for name in (begin_name, end_name))
                timed = (begin != MISSING) & (end != MISSING)
                if not timed.any():
                    continue
                first_begin, last_end = int(begin[timed].min()), int(end[timed].max())
                low, high = self.extent or (first_begin, last_end)
                self.extent = min(low, first_begin), max(high, last_end)
                self.rows[table] += int(timed.sum())

    def read(
        self,
        trace: "Trace",
        runs: Sequence["Run"],
        calls: CallRows,
        kernels: KernelRows,
        plan: Sequence[Range],
        span: int,
    ) -> None:
        """Read the runs' launches and executions after `measure`, and add them to the timeline.

        Args:
            trace: The trace.
            runs: The runs, in the order of their indexes in the report.
            calls: The unique calls.
            kernels: The kernels and variants.
            plan: The ranges whose rows are wanted (`detail_plan`), if there are too many for all.
            span: Length of the timeline, in ns.
        """
        selectors = {}
        for table, rows in self.rows.items():
            if rows <= 2 * MOST_ROWS:
                self.plans[table], selectors[table] = tuple(plan), RowSelector(None)
                continue
            self.plans[table] = nearby(plan, 2 * MOST_ROWS / rows)
            selectors[table] = RowSelector(self.plans[table])
            self.bins[table] = BinCounter(span, len(kernels.identities))
        for index, run in enumerate(runs):
            lookup = calls.indices[index]
            launches = self._read_launches(trace, run, index, lookup, calls, selectors)
            self._read_device(trace, run, index, lookup, launches, calls, kernels, selectors)

    def _read_launches(
        self,
        trace: "Trace",
        run: "Run",
        index: int,
        lookup: Lookup,
        calls: CallRows,
        selectors: Mapping[str, RowSelector],
    ) -> PlacedLaunches:
        placed_columns: dict[str, list[Integers]] = {}
        has_executions = any(map(len, trace.pieces("gpu_kernels", (run,), ("record",))))
        for table in trace.pieces("launches", (run,), _LAUNCH):
            batch = self._launch_batch(table, index, lookup)
            self.launch_count += int(batch.pop("weight").sum())
            if has_executions:
                _append_narrowed(
                    {name: batch[name] for name in ("seq", "call", "phase")}, placed_columns
                )
            columns = _timed(batch)
            slices = Slices(kernel=calls.kernels(columns["call"]), **columns)
            self.launches += self._stored("launches", slices, selectors)
        names = ("seq", "call", "phase")
        columns_of_launches = (placed_columns.get(name, [np.zeros(0, np.int64)]) for name in names)
        return PlacedLaunches.of(*map(_concatenated, columns_of_launches))

    def _stored(
        self, table: str, slices: _SlicesType, selectors: Mapping[str, RowSelector]
    ) -> list[_SlicesType]:
        """Return the selected rows of a batch as narrow columns, and count all in bins."""
        if not len(slices):
            return []
        if table in self.bins:
            self.bins[table].add(slices)
        selected = selectors[table].chosen(slices.begin, slices.duration, slices.call)
        return [(slices if selected.all() else slices.take(np.flatnonzero(selected))).narrowed()]

    def _launch_batch(self, table: pa.Table, run: int, lookup: Lookup) -> dict[str, Integers]:
        enter, leave = (integers(table[name], MISSING) for name in ("enter", "exit"))
        timed = (enter != MISSING) & (leave != MISSING)
        return {
            "begin": np.where(timed, enter - self.origin, 0),
            "duration": np.where(timed, leave - np.where(timed, enter, 0), 0),
            "call": lookup.of(integers(table["call_id"], MISSING)),
            "track": self._thread_tracks(table, run),
            "timed": timed,
            "phase": self._phase_indexes(table),
            "seq": integers(table["seq"], 0),
            "weight": weights(table),
        }

    def _thread_tracks(self, table: pa.Table, run: int) -> Integers:
        codes, first_rows = combined_codes([table["thread"]])
        threads = integers(table["thread"].take(pa.array(first_rows)), 0)
        tracks = np.array([self.track("host", run, int(thread)) for thread in threads], np.int64)
        return tracks[codes]

    def _phase_indexes(self, table: pa.Table) -> Integers:
        """Return the phase index of each launch; its weight is added to `phase_counts`."""
        names, codes = coded(table["phase"])
        counts = np.bincount(codes, weights(table), len(names)).astype(np.int64)
        phase_by_code = np.zeros(len(names), np.int64)
        for code in np.flatnonzero(counts).tolist():
            name = names[code] or _NOT_RECORDED
            phase_by_code[code] = self.phases.setdefault(name, len(self.phases))
            self.phase_counts[name] = self.phase_counts.get(name, 0) + int(counts[code])
        indexes: Integers = phase_by_code[codes]
        return indexes

    def _function_indexes(
        self, table: pa.Table, calls: Integers, rows: CallRows, kernels: KernelRows
    ) -> Integers:
        """Return for each execution the index of its device function in `names`.

        Kinds of new functions are added to `kinds`; `calls` has the call of each execution.
        """
        names, codes = coded(table["name"])
        index_by_code = np.zeros(len(names), np.int64)
        kinds = table["kind"]
        for code, row in zip(
            *(array.tolist() for array in np.unique(codes, return_index=True)), strict=True
        ):
            name = names[code] or ""
            index_by_code[code] = self.names.setdefault(full_name(name), len(self.names))
            if index_by_code[code] == len(self.kinds):
                call = int(calls[row])
                own = None if call == NO_CALL else kernels.maker(int(rows.variant[call]))
                self.kinds.append(kind_of(name, kinds[row].as_py()) if own is None else own)
        indexes: Integers = index_by_code[codes]
        return indexes

    def _read_device(
        self,
        trace: "Trace",
        run: "Run",
        index: int,
        lookup: Lookup,
        launches: PlacedLaunches,
        calls: CallRows,
        kernels: KernelRows,
        selectors: Mapping[str, RowSelector],
    ) -> None:
        for table in trace.pieces("gpu_kernels", (run,), _EXECUTION):
            if not len(table):
                continue
            batch = self._device_batch(table, index, lookup, launches, calls, kernels)
            self.gpu_kernels = (self.gpu_kernels or 0) + int(batch.pop("weight").sum())
            columns = _timed(batch)
            executions = Executions(kernel=calls.kernels(columns["call"]), **columns)
            self.device += self._stored("gpu_kernels", executions, selectors)

    def _device_batch(
        self,
        table: pa.Table,
        run: int,
        lookup: Lookup,
        launches: PlacedLaunches,
        rows: CallRows,
        kernels: KernelRows,
    ) -> dict[str, Integers]:
        start, end = (integers(table[name], MISSING) for name in ("start", "end"))
        timed = (start != MISSING) & (end != MISSING)
        calls = lookup.of(integers(table["call_id"], MISSING))
        call, phase = launches.placed(integers(table["launch_seq"], MISSING), calls)
        return {
            "begin": np.where(timed, start - self.origin, 0),
            "duration": np.where(timed, end - np.where(timed, start, 0), 0),
            "call": call,
            "track": self._stream_tracks(table, run),
            "phase": phase,
            "seq": integers(table["record"], 0),
            "launch": integers(table["launch_seq"], UNKNOWN),
            "name": self._function_indexes(table, call, rows, kernels),
            "timed": timed,
            "weight": weights(table),
        }

    def _stream_tracks(self, table: pa.Table, run: int) -> Integers:
        codes, first_rows = combined_codes([table["device"], table["stream"]])
        example_rows = table.select(["device", "stream"]).take(pa.array(first_rows))
        devices, streams = (integers(example_rows[name], 0) for name in ("device", "stream"))
        # Tracks in the order of devices and streams, not of rows.
        order = np.lexsort((streams, devices))
        tracks = np.zeros(len(first_rows), np.int64)
        for code in order.tolist():
            tracks[code] = self.track("device", run, int(devices[code]), int(streams[code]))
        return tracks[codes]


def _timed(batch: dict[str, Integers]) -> dict[str, Integers]:
    """Return a batch's columns without rows that have no times."""
    timed = batch.pop("timed")
    return batch if timed.all() else {name: column[timed] for name, column in batch.items()}


def _append_narrowed(batch: Mapping[str, Integers], columns: dict[str, list[Integers]]) -> None:
    """Append each column of a batch, narrowed, to the list of its name."""
    for name, column in batch.items():
        columns.setdefault(name, []).append(narrow(column))


def _concatenated(columns: list[Integers]) -> Integers:
    """Return the columns concatenated; the list is emptied to free memory."""
    joined = np.concatenate(columns)
    columns.clear()
    return joined


def _track_label(kind: str, number: int, stream: int) -> str:
    return f"device {number} stream {stream}" if kind == "device" else f"thread {number}"
