"""Columns of launches and device executions, read in batches and stored as narrow integers.

Of a table with many rows only tiles (`figures/tiles.py`) and the rows in some ranges are read, and
the launches that caused executions in theirs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.detail import MOST_ROWS, Range, in_ranges, nearby
from kvtrace.converters.report.merged_kernels import KernelRows
from kvtrace.converters.report.model import Track
from kvtrace.converters.report.slices import (
    BINS,
    MISSING,
    NO_CALL,
    OTHERS,
    BinCounter,
    Executions,
    Integers,
    Lookup,
    Slices,
    SlicesType,
)
from kvtrace.figures.columns import coded, combined_codes, concatenated, integers, narrow
from kvtrace.figures.executions import UNKNOWN, PlacedLaunches
from kvtrace.figures.identity import kind_of
from kvtrace.figures.names import full_name
from kvtrace.figures.scans import row_count
from kvtrace.figures.stored import has_older_sums, older_sums
from kvtrace.figures.tiles import LEAVES, read_tiles
from kvtrace.schema.table_types import NAME
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import weights
from kvtrace.schema.window import TraceWindow, pieces_near

_NOT_RECORDED: Final = "not recorded"
#: Columns of launches by which executions are placed.
_PLACED: Final = ("seq", "call", "phase")
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
    """Launches and executions in the order of reading: all, or those in the ranges of `plans` and
    the launches that caused these executions."""
    bins: dict[str, BinCounter] = field(default_factory=dict)
    """By table, bins of all rows; missing if all rows are stored."""
    tiles: dict[str, list[pa.Table]] = field(default_factory=dict)
    """By table with too many rows to store all: the tiles of its runs."""
    bin_ns: int = 1
    """Length of bins, a power of two."""
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
    only_known: bool = False
    """Launches of calls that are not on the page are left out."""

    def track(self, kind: str, run: int, number: int, stream: int = 0) -> int:
        """Return the index of a track, which is added on first use.

        `number` is the thread of a "host" track or the device of a "device" track.
        """
        return self.tracks.setdefault((kind, run, number, stream), len(self.tracks))

    def shown_tracks(self) -> tuple[Track, ...]:
        """Return the tracks in the order of their indices."""
        return tuple(
            Track(f"device {number} stream {stream}", kind, run, number)
            if kind == "device"
            else Track(f"thread {number}", kind, run, number)
            for kind, run, number, stream in self.tracks
        )

    def measure(self, trace: Trace, runs: Sequence[Run]) -> None:
        """Read all launches and executions, or their tiles if they are many: `extent` and `rows`.

        All columns of the page are read, so that a damaged part is found by the reader, which
        names it, and not later by DuckDB.
        """
        for tiles, table in LEAVES.items():
            is_whole = not isinstance(trace, TraceWindow)  # tiles are of whole runs
            if is_whole and sum(row_count(trace, run, table) for run in runs) > 2 * MOST_ROWS:
                names = [column.name for column in TABLES[tiles].columns]
                self.tiles[table] = list(read_tiles(trace, runs, tiles, names))
                self._measure_tiles(table)
                continue
            columns = _LAUNCH if table == "launches" else _EXECUTION
            begin_name, end_name = _TIMES[table]
            for piece in trace.pieces(table, runs, columns):
                begin, end = (integers(piece[name], MISSING) for name in (begin_name, end_name))
                timed = (begin != MISSING) & (end != MISSING)
                if not timed.any():
                    continue
                self._extend(int(begin[timed].min()), int(end[timed].max()))
                self.rows[table] += int(timed.sum())

    def _measure_tiles(self, table: str) -> None:
        for piece in self.tiles[table]:
            timed = piece.filter(pc.is_valid(piece["begin"]))
            weight = int(pc.sum(piece["weight"]).as_py() or 0)
            if table == "launches":
                self.launch_count += weight
                self._count_phases(*coded(piece["phase"]), integers(piece["weight"]))
            elif len(piece):
                self.gpu_kernels = (self.gpu_kernels or 0) + weight
            if len(timed):
                self._extend(
                    int(integers(timed["first_begin"]).min()),
                    int(integers(timed["last_end"]).max()),
                )
                self.rows[table] += int(pc.sum(timed["rows"]).as_py())
                self.bin_ns = max(self.bin_ns, int(pc.max(timed["tile_ns"]).as_py()))

    def _extend(self, begin: int, end: int) -> None:
        low, high = self.extent or (begin, end)
        self.extent = min(low, begin), max(high, end)

    def aligned(self, begin: int, end: int) -> int:
        """Return a begin of the page's time, at most `begin`, from which bins are whole tiles."""
        if not self.tiles:
            return begin
        self.bin_ns = max(self.bin_ns, 1 << ((end - begin) // BINS).bit_length())
        return begin // self.bin_ns * self.bin_ns

    def read(
        self,
        trace: Trace,
        runs: Sequence[Run],
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
        for table, rows in self.rows.items():
            self.plans[table] = tuple(plan)
            if table in self.tiles:
                share = min(1.0, 2 * MOST_ROWS / rows)
                self.plans[table] = nearby(
                    plan, share, len(runs), partial(self._rows_in_tiles, table)
                )
                self.bins[table] = BinCounter(self.bin_ns, span, len(kernels.identities))
        for index, run in enumerate(runs):
            launches = self._read_launches(trace, run, index, calls)
            self._read_device(trace, run, index, launches, calls, kernels)
        self._count_tiles(runs, kernels)
        self._count_older(trace, [run for run in runs if has_older_sums(trace, run)])

    def _count_older(self, trace: Trace, runs: Sequence[Run]) -> None:
        """Count launches and executions that the runs have only as sums."""
        if not runs:
            return
        launches = older_sums(trace, runs, "launch_sums", ["phase", "weight"])
        self.launch_count += int(integers(launches["weight"]).sum())
        self._count_phases(*coded(launches["phase"]), integers(launches["weight"]))
        executions = older_sums(trace, runs, "execution_sums", ["weight"])
        if len(executions):
            number = int(integers(executions["weight"]).sum())
            self.gpu_kernels = (self.gpu_kernels or 0) + number

    def _rows_in_tiles(self, table: str, inside: Range) -> int:
        """Return the number of rows of a table in the tiles that are wholly within a range."""
        rows = 0
        for piece in self.tiles[table]:
            tiles = piece.filter(pc.is_valid(piece["begin"]))
            begin = integers(tiles["begin"]) - self.origin
            is_inside = (begin >= inside[0]) & (begin + integers(tiles["tile_ns"]) <= inside[1])
            rows += int(integers(tiles["rows"])[is_inside].sum())
        return rows

    def _read_launches(
        self, trace: Trace, run: Run, index: int, calls: CallRows
    ) -> PlacedLaunches | None:
        """Add the run's launches that are on the page; return all, or None if they have tiles."""
        placed_columns: dict[str, list[Integers]] = {name: [] for name in _PLACED}
        has_executions = row_count(trace, run, "gpu_kernels") > 0
        for piece in self._pieces(trace, run, "launches", _LAUNCH):
            table = self._shown(piece, calls.indices[index])
            if "launches" not in self.tiles:
                self.rows["launches"] -= len(piece) - len(table)
            batch = self._launch_batch(table, index, calls.indices[index])
            if "launches" not in self.tiles:
                self.launch_count += int(weights(table).sum())
                self._count_phases(*coded(table["phase"]), weights(table))
                if has_executions:
                    _append_narrowed(batch, placed_columns)
            self.launches += _narrowed(_slices(batch, calls))
        if "launches" in self.tiles:
            return None
        return PlacedLaunches.of(*map(concatenated, placed_columns.values()))

    def _pieces(
        self, trace: Trace, run: Run, table: str, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Yield the rows of a table of a run, or those in the ranges of its plan if it has tiles.

        Nothing is yielded of a table whose rows have no times, but for their number.
        """
        if table not in self.tiles:
            yield from trace.pieces(table, (run,), columns)
            return
        plan = self.plans.get(table, ())
        ranges = [(low + self.origin, high + self.origin) for low, high in plan]
        for piece in pieces_near(trace, table, run, columns, _TIMES[table], ranges):
            rows = _rows_in(piece, _TIMES[table], ranges)
            if len(rows):
                yield piece.take(pa.array(rows))

    def _causes_of(
        self,
        trace: Trace,
        run: Run,
        index: int,
        executions: Sequence[pa.Table],
        calls: CallRows,
    ) -> PlacedLaunches:
        """Return the launches that caused some executions of a run, and add them to the timeline.

        They may be far from the ranges: the host may have ended before the devices began.
        """
        placed_columns: dict[str, list[Integers]] = {name: [] for name in _PLACED}
        numbers = [integers(rows["launch_seq"], UNKNOWN) for rows in executions]
        causes = np.unique(np.concatenate([np.array([UNKNOWN]), *numbers]))
        causes = causes[causes != UNKNOWN]
        if len(causes):
            ranges = [(int(causes[0]), int(causes[-1]))]
            for table in pieces_near(trace, "launches", run, _LAUNCH, ("seq", "seq"), ranges):
                launches = table.filter(pc.is_in(table["seq"], pa.array(causes)))
                launches = self._shown(launches, calls.indices[index])
                batch = self._launch_batch(launches, index, calls.indices[index])
                _append_narrowed(batch, placed_columns)
                slices = _slices(batch, calls)
                if len(slices):
                    is_there = in_ranges(slices.begin, slices.duration, self.plans["launches"])
                    self.launches += _narrowed(slices.take(np.flatnonzero(~is_there)))
        return PlacedLaunches.of(*map(concatenated, placed_columns.values()))

    def _count_tiles(self, runs: Sequence[Run], kernels: KernelRows) -> None:
        """Add the tiles to `bins`; they are emptied to free memory."""
        indexes = {run.run_id: index for index, run in enumerate(runs)}
        for table, pieces in self.tiles.items():
            for piece in pieces:
                names, codes = coded(piece["run"].cast(NAME))
                timed = piece["begin"].is_valid().to_numpy()
                for code, name in enumerate(names):
                    rows = np.flatnonzero((codes == code) & timed)
                    if len(rows):
                        tiles = piece.take(pa.array(rows))
                        self._count_tiles_of_run(table, tiles, indexes[name or ""], kernels)
            pieces.clear()

    def _count_tiles_of_run(
        self, table: str, tiles: pa.Table, run: int, kernels: KernelRows
    ) -> None:
        variants = kernels.indices[run].of(integers(tiles["kernel_id"], MISSING))
        key, is_others = kernels.kernels(variants), tiles["others"].to_numpy()
        if table == "launches":
            track = self._thread_tracks(tiles, run)
        else:
            track = self._stream_tracks(tiles, run)
            is_known = tiles["kernel_id"].is_valid().to_numpy()
            told_apart = np.flatnonzero(~is_others)
            names = np.zeros(len(tiles), np.int64)
            names[told_apart] = self._function_indexes(
                tiles.take(pa.array(told_apart)),
                variants[told_apart],
                is_known[told_apart],
                kernels,
            )
            key = np.where(key == NO_CALL, names + len(kernels.identities), key)
        key = np.where(is_others, OTHERS, key)
        bins = (integers(tiles["begin"]) - self.origin) // self.bin_ns
        self.bins[table].add_sums(
            track, bins, key, integers(tiles["rows"]), integers(tiles["busy_ns"])
        )

    def _shown(self, launches: pa.Table, calls: Lookup) -> pa.Table:
        if not self.only_known:
            return launches
        is_known = calls.of(integers(launches["call_id"], MISSING)) != NO_CALL
        return launches.filter(pa.array(is_known))

    def _launch_batch(self, table: pa.Table, run: int, lookup: Lookup) -> dict[str, Integers]:
        return {
            **self._times(table, "launches"),
            "call": lookup.of(integers(table["call_id"], MISSING)),
            "track": self._thread_tracks(table, run),
            "phase": self._phase_indexes(table),
            "seq": integers(table["seq"], 0),
        }

    def _times(self, table: pa.Table, name: str) -> dict[str, Integers]:
        """Return begins and durations of rows of the table `name`, and which rows have both."""
        begin, end = (integers(table[column], MISSING) for column in _TIMES[name])
        timed = (begin != MISSING) & (end != MISSING)
        return {
            "begin": np.where(timed, begin - self.origin, 0),
            "duration": np.where(timed, end - np.where(timed, begin, 0), 0),
            "timed": timed,
        }

    def _thread_tracks(self, table: pa.Table, run: int) -> Integers:
        codes, first_rows = combined_codes([table["thread"]])
        threads = integers(table["thread"].take(pa.array(first_rows)), 0)
        tracks = np.array([self.track("host", run, int(thread)) for thread in threads], np.int64)
        return tracks[codes]

    def _phase_indexes(self, table: pa.Table) -> Integers:
        """Return the phase index of each launch."""
        names, codes = coded(table["phase"])
        phase_by_code = np.zeros(len(names), np.int64)
        for code in np.unique(codes).tolist():
            name = names[code] or _NOT_RECORDED
            phase_by_code[code] = self.phases.setdefault(name, len(self.phases))
        indexes: Integers = phase_by_code[codes]
        return indexes

    def _count_phases(self, names: Sequence[str | None], codes: Integers, weight: Integers) -> None:
        """Add the weights of launches, whose phases are `codes` of `names`, to `phase_counts`."""
        counts = np.bincount(codes, weight, len(names)).astype(np.int64)
        for code in np.flatnonzero(counts).tolist():
            name = names[code] or _NOT_RECORDED
            self.phases.setdefault(name, len(self.phases))
            self.phase_counts[name] = self.phase_counts.get(name, 0) + int(counts[code])

    def _function_indexes(
        self,
        table: pa.Table,
        variants: Integers,
        is_called: npt.NDArray[np.bool_],
        kernels: KernelRows,
    ) -> Integers:
        """Return for each row of executions the index of its device function in `names`.

        Kinds of new functions are added to `kinds`; `variants` has the variant of each row's call,
        and `is_called` whether the call is known.
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
                own = kernels.maker(int(variants[row])) if is_called[row] else None
                self.kinds.append(kind_of(name, kinds[row].as_py()) if own is None else own)
        indexes: Integers = index_by_code[codes]
        return indexes

    def _read_device(
        self,
        trace: Trace,
        run: Run,
        index: int,
        launches: PlacedLaunches | None,
        calls: CallRows,
        kernels: KernelRows,
    ) -> None:
        """Add the run's executions that are on the page; `launches` are all of the run, if read."""
        pieces = self._pieces(trace, run, "gpu_kernels", _EXECUTION)
        if launches is None:
            tables = list(pieces)
            launches, pieces = self._causes_of(trace, run, index, tables, calls), iter(tables)
        for table in pieces:
            if not len(table):
                continue
            if "gpu_kernels" not in self.tiles:
                self.gpu_kernels = (self.gpu_kernels or 0) + int(weights(table).sum())
            columns = _timed(self._device_batch(table, index, launches, calls, kernels))
            executions = Executions(kernel=calls.kernels(columns["call"]), **columns)
            self.device += _narrowed(executions)

    def _device_batch(
        self,
        table: pa.Table,
        run: int,
        launches: PlacedLaunches,
        rows: CallRows,
        kernels: KernelRows,
    ) -> dict[str, Integers]:
        calls = rows.indices[run].of(integers(table["call_id"], MISSING))
        call, phase = launches.placed(integers(table["launch_seq"], MISSING), calls)
        call = np.where(table["kind"].is_valid().to_numpy(), NO_CALL, call)  # a copy or fill
        return {
            **self._times(table, "gpu_kernels"),
            "call": call,
            "track": self._stream_tracks(table, run),
            "phase": phase,
            "seq": integers(table["record"], 0),
            "launch": integers(table["launch_seq"], UNKNOWN),
            "name": self._function_indexes(
                table, np.append(rows.variant, NO_CALL)[call], call != NO_CALL, kernels
            ),
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


def _rows_in(piece: pa.Table, span: tuple[str, str], ranges: Sequence[Range]) -> Integers:
    """Return the positions of the timed rows of a table that are in some ranges."""
    begin, end = (integers(piece[name], MISSING) for name in span)
    timed = np.flatnonzero((begin != MISSING) & (end != MISSING))
    if not len(timed):
        return timed
    return timed[in_ranges(begin[timed], (end - begin)[timed], ranges)]


def _slices(batch: dict[str, Integers], calls: CallRows) -> Slices:
    """Return a batch of launches, without those that have no times."""
    columns = _timed(batch)
    return Slices(kernel=calls.kernels(columns["call"]), **columns)


def _narrowed(slices: SlicesType) -> list[SlicesType]:
    """Return a batch as narrow columns; an empty one is left out."""
    return [slices.narrowed()] if len(slices) else []


def _timed(batch: dict[str, Integers]) -> dict[str, Integers]:
    """Return a batch's columns without rows that have no times."""
    timed = batch.pop("timed")
    return batch if timed.all() else {name: column[timed] for name, column in batch.items()}


def _append_narrowed(batch: Mapping[str, Integers], columns: dict[str, list[Integers]]) -> None:
    """Append the columns of a batch that have a list, narrowed, to the list of their name."""
    for name, narrowed in columns.items():
        narrowed.append(narrow(batch[name]))
