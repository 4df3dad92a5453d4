"""Columns of launches and device executions, read in batches and stored as narrow integers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.model import Track
from kvtrace.converters.report.slices import (
    MISSING,
    Bins,
    Executions,
    Integers,
    Lookup,
    RowSelector,
    Slices,
    bin_batches,
)
from kvtrace.figures.columns import coded, combined_codes, integers, narrow
from kvtrace.figures.makers import CUSTOM, TRITON, kind_of
from kvtrace.figures.placing import UNKNOWN, PlacedLaunches
from kvtrace.schema.kept import weights
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.symbols import titled

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

__all__ = ["Timeline"]

_NOT_RECORDED: Final = "not recorded"
_TIMED: Final = ("call_id", "enter", "exit", "thread")
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
    names: dict[str, int] = field(default_factory=dict)
    """Names of device functions → index."""
    kinds: list[str] = field(default_factory=list)
    """Library of each device function."""
    launch_count: int = 0
    extent: tuple[int, int] | None = None
    """First begin and last end of all timed rows."""
    every: dict[str, int] = field(default_factory=dict)
    """By table, n if only every n-th row is stored; 1 if missing."""
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

    def read(self, trace: "Trace", run: "Run", index: int, lookup: Lookup, calls: CallRows) -> None:
        """Read a run's launches and executions, and add them to the timeline.

        Args:
            trace: The trace.
            run: The run.
            index: The run's index in the report.
            lookup: `call_id` → index of the call.
            calls: The unique calls.
        """
        launches = self._read_launches(trace, run, index, lookup, calls)
        self._read_device(trace, run, index, lookup, launches, calls)

    def _read_launches(
        self, trace: "Trace", run: "Run", index: int, lookup: Lookup, calls: CallRows
    ) -> PlacedLaunches:
        columns: dict[str, list[Integers]] = {}
        placed_columns: dict[str, list[Integers]] = {}
        has_executions = any(map(len, trace.pieces("gpu_kernels", (run,), ("record",))))
        selector = RowSelector(self.every.get("launches", 1))
        for table in trace.pieces("launches", (run,), _LAUNCH):
            batch = self._launch_batch(table, index, lookup)
            self.launch_count += int(batch.pop("weight").sum())
            if has_executions:
                _append_narrowed(
                    {name: batch[name] for name in ("seq", "call", "phase")}, placed_columns
                )
            self._store_selected("launches", batch, selector, columns)
        if columns:
            joined_columns = {name: _concatenated(columns.pop(name)) for name in list(columns)}
            self.launches.append(
                Slices(kernel=calls.kernels(joined_columns["call"]), **joined_columns)
            )
        names = ("seq", "call", "phase")
        columns_of_launches = (placed_columns.get(name, [np.zeros(0, np.int64)]) for name in names)
        return PlacedLaunches.of(*map(_concatenated, columns_of_launches))

    def _store_selected(
        self,
        table: str,
        batch: dict[str, Integers],
        selector: RowSelector,
        columns: dict[str, list[Integers]],
    ) -> None:
        """Append the timed rows of a batch that `thinned` selects to `columns`.

        All timed rows count in `rows` and `extent`.
        """
        timed = batch.pop("timed")
        if not timed.all():
            batch = {name: column[timed] for name, column in batch.items()}
        begin, duration = batch["begin"], batch["duration"]
        if not len(begin):
            return
        first_begin, last_end = int(begin.min()), int((begin + duration).max())
        low, high = self.extent or (first_begin, last_end)
        self.extent = min(low, first_begin), max(high, last_end)
        self.rows[table] += len(begin)
        selected = selector.chosen(batch["call"], duration)
        _append_narrowed(
            batch if selected.all() else {n: c[selected] for n, c in batch.items()}, columns
        )

    def binned(
        self,
        trace: "Trace",
        runs: Sequence["Run"],
        calls: CallRows,
        origin: int,
        bins: int,
    ) -> Bins:
        """Return all launches, which are read again, counted in `bins` bins from `origin` on."""
        span = 0 if self.extent is None else self.extent[1] - origin
        kernels = int(calls.kernel.max(initial=0)) + 1

        def batches() -> Iterator[Slices]:
            for index, run in enumerate(runs):
                lookup = calls.indices[index]
                for table in trace.pieces("launches", (run,), _TIMED):
                    batch = self._timed_batch(table, index, lookup)
                    timed = batch.pop("timed")
                    columns = {name: column[timed] for name, column in batch.items()}
                    columns["begin"] -= origin
                    empty = np.zeros(0, np.int8)
                    kernel = calls.kernels(columns["call"])
                    yield Slices(kernel=kernel, phase=empty, seq=empty, **columns)

        return bin_batches(batches(), span, bins, len(self.tracks), kernels)

    def _launch_batch(self, table: pa.Table, run: int, lookup: Lookup) -> dict[str, Integers]:
        return {
            **self._timed_batch(table, run, lookup),
            "phase": self._phase_indexes(table),
            "seq": integers(table["seq"], 0),
            "weight": weights(table),
        }

    def _timed_batch(self, table: pa.Table, run: int, lookup: Lookup) -> dict[str, Integers]:
        enter, leave = (integers(table[name], MISSING) for name in ("enter", "exit"))
        timed = (enter != MISSING) & (leave != MISSING)
        thread_codes, first_rows = combined_codes([table["thread"]])
        threads = integers(table["thread"].take(pa.array(first_rows)), 0)
        tracks = np.array([self.track("host", run, int(thread)) for thread in threads], np.int64)
        return {
            "begin": np.where(timed, enter, 0),
            "duration": np.where(timed, leave - np.where(timed, enter, 0), 0),
            "call": lookup.of(integers(table["call_id"], MISSING)),
            "track": tracks[thread_codes],
            "timed": timed,
        }

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

    def _function_indexes(self, table: pa.Table, own_kind: str) -> Integers:
        """Return for each execution the index of its device function in `names`.

        Kinds of new functions are added to `kinds`; `own_kind` is that of executions with a call.
        """
        names, codes = coded(table["name"])
        index_by_code = np.zeros(len(names), np.int64)
        kinds = table["kind"]
        for code, row in zip(
            *(array.tolist() for array in np.unique(codes, return_index=True)), strict=True
        ):
            name = names[code] or ""
            index_by_code[code] = self.names.setdefault(titled(name), len(self.names))
            if index_by_code[code] == len(self.kinds):
                has_call = table["call_id"][row].is_valid
                self.kinds.append(own_kind if has_call else kind_of(name, kinds[row].as_py()))
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
    ) -> None:
        columns: dict[str, list[Integers]] = {}
        origins = trace.table("kernels", (run,), ["origin"])["origin"].unique().to_pylist()
        own_kind = CUSTOM if origins == [IMPORTED] else TRITON
        selector = RowSelector(self.every.get("gpu_kernels", 1))
        for table in trace.pieces("gpu_kernels", (run,), _EXECUTION):
            if not len(table):
                continue
            batch = self._device_batch(table, index, lookup, launches, own_kind)
            self.gpu_kernels = (self.gpu_kernels or 0) + int(batch.pop("weight").sum())
            self._store_selected("gpu_kernels", batch, selector, columns)
        if columns:
            joined_columns = {name: _concatenated(columns.pop(name)) for name in list(columns)}
            self.device.append(
                Executions(kernel=calls.kernels(joined_columns["call"]), **joined_columns)
            )

    def _device_batch(
        self,
        table: pa.Table,
        run: int,
        lookup: Lookup,
        launches: PlacedLaunches,
        own_kind: str,
    ) -> dict[str, Integers]:
        start, end = (integers(table[name], MISSING) for name in ("start", "end"))
        timed = (start != MISSING) & (end != MISSING)
        calls = lookup.of(integers(table["call_id"], MISSING))
        call, phase = launches.placed(integers(table["launch_seq"], MISSING), calls)
        return {
            "begin": np.where(timed, start, 0),
            "duration": np.where(timed, end - np.where(timed, start, 0), 0),
            "call": call,
            "track": self._stream_tracks(table, run),
            "phase": phase,
            "seq": integers(table["record"], 0),
            "launch": integers(table["launch_seq"], UNKNOWN),
            "name": self._function_indexes(table, own_kind),
            "timed": timed,
            "weight": weights(table),
        }

    def _stream_tracks(self, table: pa.Table, run: int) -> Integers:
        devices_and_streams = np.stack([integers(table["device"], 0), integers(table["stream"], 0)])
        distinct, inverse = np.unique(devices_and_streams, axis=1, return_inverse=True)
        tracks = [self.track("device", run, int(d), int(s)) for d, s in distinct.T]
        return np.asarray(tracks, np.int64)[inverse.reshape(-1)]


def _append_narrowed(batch: Mapping[str, Integers], columns: dict[str, list[Integers]]) -> None:
    """Append each column of a batch to the list of its name; all but `begin` are narrowed."""
    for name, column in batch.items():
        columns.setdefault(name, []).append(column if name == "begin" else narrow(column))


def _concatenated(columns: list[Integers]) -> Integers:
    """Return the columns concatenated; the list is emptied to free memory."""
    joined = np.concatenate(columns)
    columns.clear()
    return joined


def _track_label(kind: str, number: int, stream: int) -> str:
    return f"device {number} stream {stream}" if kind == "device" else f"thread {number}"
