"""Compact descriptions of accesses: rows of the table `accesses` (docs/accesses.md).

A few executions have a row each. Many are described together: if bases, trips and lanes are
nested arithmetic progressions, one row describes them all. 1,000 programs that each load 128
consecutive floats have one row. Executions beyond the limits are counted but not described.
"""

import json
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.patterns import Patterns
from kvtrace.metrics.progressions import (
    leading_progression,
    nested_progression,
    nested_rows,
    progressions,
)

Integers = NDArray[np.int64]
Levels = tuple[tuple[int, ...], ...]
T = TypeVar("T")

MOST_SINGLE_ROWS = 32
"""Limit of executions (programs times trips) of an op for which each has a row."""

MOST_JOINT_ROWS = 64
"""Limit of rows of an op that describe many executions each."""

_MAX_PENDING_ROWS = 4096
"""Limit of descriptions in memory before they are joined."""

MOST_RUNS = 64
"""Limit of runs in one layout."""

MAX_OPEN = 16
"""Limit of open accesses, which may be repeated in other trips."""

LARGE_ACCESS = 1 << 18
"""Accesses of more elements than this close all other open accesses."""


class OpenAccesses(Generic[T]):
    """Accesses that may be repeated in other trips, by key; the oldest are closed first.

    Their number is limited because their arrays stay in memory.
    """

    def __init__(self) -> None:
        self._open: dict[Hashable, T] = {}

    def find(self, key: Hashable) -> T | None:
        """Return the open access with a key, else None."""
        return self._open.get(key)

    def add(self, key: Hashable, access: T, elements: int) -> list[T]:
        """Add an access of so many elements; return those that are closed to make room."""
        closed = []
        while self._open and (elements > LARGE_ACCESS or len(self._open) >= MAX_OPEN):
            closed.append(self._open.pop(next(iter(self._open))))
        self._open[key] = access
        return closed

    def close(self) -> list[T]:
        """Close all accesses and return them, the oldest first."""
        closed = list(self._open.values())
        self._open = {}
        return closed


class Progression(NamedTuple):
    """Pairs of a number (program or trip) and a byte offset that form nested progressions.

    `number` and `offset` are the first pair; `levels` are (count, step of the number, step of the
    offset), the fastest first; `size` is the number of pairs.
    """

    number: int
    offset: int
    levels: Levels
    size: int

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs (number, byte offset), in order."""
        pairs = [(self.number, self.offset)]
        for count, number_step, offset_step in self.levels:
            pairs = [
                (number + index * number_step, offset + index * offset_step)
                for index in range(count)
                for number, offset in pairs
            ]
        return pairs

    def span(self) -> tuple[int, int]:
        """Return the lowest and the highest byte offset."""
        extents = [(count - 1) * step for count, _, step in self.levels]
        negative_extent = sum(extent for extent in extents if extent < 0)
        return self.offset + negative_extent, self.offset + sum(extents) - negative_extent


class Lanes(NamedTuple):
    """The active lanes of a program: layout as JSON text, range of offsets, and number of lanes.

    `low` and `high` are the lowest and highest byte offset from the program's base.
    """

    layout: str
    low: int
    high: int
    active: int


class JointRow(NamedTuple):
    """Many executions in one row; levels are (count, step of the id, step in bytes).

    `lanes` is the JSON text of an object.
    """

    program: int
    program_levels: Levels
    trip: int
    trip_levels: Levels
    base: int
    lanes: str
    first: int
    last: int
    active: int
    executions: int

    def row(self) -> dict[str, Any]:
        """Return the row of `accesses`."""
        programs = _levels_text(self.program_levels)
        trips = _levels_text(self.trip_levels)
        return {
            "program": None if self.program_levels else self.program,
            "iteration": None if self.trip_levels or self.trip < 0 else self.trip,
            "first": self.first,
            "last": self.last,
            "active": self.active,
            "layout": f'{{"base":{self.base},"programs":[{self.program},{programs}],'
            f'"trips":[{self.trip},{trips}],{self.lanes[1:]}',
        }


class AccessRecords:
    """The rows of `accesses` for one op and argument, without call_id, op_index and arg."""

    def __init__(self) -> None:
        self._executions = 0
        self._single: list[dict[str, Any]] = []
        self._joint_rows: list[JointRow] = []

    def add(
        self,
        executions: int,
        programs: Sequence[tuple[Progression, Lanes]],
        trips: Sequence[Progression],
    ) -> None:
        """Add an access that will not be repeated in other trips.

        Args:
            executions: The number of programs times that of trips.
            programs: Programs with their base offsets, and the lanes that each program accesses.
            trips: The trips with their constant offsets; a trip below 0 stands for different trips
                of different programs.
        """
        self._executions += executions
        if self._executions <= MOST_SINGLE_ROWS:
            self._single += _single_rows(programs, trips)
        self._joint_rows += islice(
            _joint_rows(programs, trips), _MAX_PENDING_ROWS - len(self._joint_rows)
        )

    def rows(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows, and a text that says how many executions they describe, None if all."""
        if self._executions <= MOST_SINGLE_ROWS:
            return self._single, None
        described_rows = _join_rows(self._joint_rows)[:MOST_JOINT_ROWS]
        rows = [joint.row() for joint in described_rows]
        described_executions = sum(joint.executions for joint in described_rows)
        if described_executions == self._executions:
            return rows, None
        return rows, f"{described_executions:,} of {self._executions:,} executions are described"


def progressions_of(rows: Integers) -> list[Progression]:
    """Return rows (number, offset) as one progression, or cut greedily into several."""
    levels = nested_progression(rows)
    if levels is not None:
        return [Progression(int(rows[0, 0]), int(rows[0, 1]), tuple(levels), len(rows))]
    progressions_ = []
    while len(rows):
        count = leading_progression(rows)
        step = rows[1] - rows[0] if count > 1 else rows[0]
        levels_ = ((count, int(step[0]), int(step[1])),) if count > 1 else ()
        progressions_.append(Progression(int(rows[0, 0]), int(rows[0, 1]), levels_, count))
        rows = rows[count:]
    return progressions_


def lanes_of_pattern(patterns: Patterns, pattern_index: int) -> Lanes | None:
    """Return the active lanes of a pattern, None if no lane is active."""
    lanes = patterns.active_lanes(pattern_index)
    if not len(lanes):
        return None
    layout = _json_text(_lane_layout(patterns, pattern_index))
    return Lanes(layout, int(lanes.min()), int(lanes.max()), len(lanes))


def _join_rows(rows: list[JointRow]) -> list[JointRow]:
    """Return the rows, joined where they form a progression of programs, then of trips."""
    for varying_field in ("program", "trip"):
        if len(rows) == 1:
            break
        groups: dict[Any, list[JointRow]] = {}
        for row in rows:
            fixed_id = row.trip if varying_field == "program" else row.program
            key = (fixed_id, row.program_levels, row.trip_levels, row.lanes)
            groups.setdefault(key, []).append(row)
        rows = [row for group in groups.values() for row in _join_group(group, varying_field)]
    return rows


def _join_group(group: list[JointRow], varying_field: str) -> list[JointRow]:
    """Return one row for a group that forms a progression, else the group."""
    if len(group) == 1:
        return group
    levels = nested_rows([(getattr(row, varying_field), row.base) for row in group])
    if not levels:
        return group
    first_row = group[0]
    changes: dict[str, Any] = {
        f"{varying_field}_levels": getattr(first_row, f"{varying_field}_levels") + tuple(levels),
        "first": min(row.first for row in group),
        "last": max(row.last for row in group),
        "active": sum(row.active for row in group),
        "executions": sum(row.executions for row in group),
    }
    return [first_row._replace(**changes)]


def _single_rows(
    programs: Sequence[tuple[Progression, Lanes]], trips: Sequence[Progression]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each program and trip."""
    programs_with_lanes = [
        (pair, lanes) for progression, lanes in programs for pair in progression.pairs()
    ]
    if len(programs) > 1:
        programs_with_lanes.sort(key=lambda entry: entry[0])  # programs of two patterns alternate
    for trip, constant in (pair for progression in trips for pair in progression.pairs()):
        for (program, offset), lanes in programs_with_lanes:
            base = offset + constant
            yield {
                "program": program,
                "iteration": None if trip < 0 else trip,
                "first": base + lanes.low,
                "last": base + lanes.high,
                "active": lanes.active,
                "layout": f'{{"base":{base},{lanes.layout[1:]}',
            }


def _joint_rows(
    programs: Sequence[tuple[Progression, Lanes]], trips: Sequence[Progression]
) -> Iterator[JointRow]:
    """Yield a row for each progression of programs and each of trips."""
    trips_with_spans = [(trip_progression, *trip_progression.span()) for trip_progression in trips]
    for progression, lanes in programs:
        low, high = progression.span()
        for trip, lowest, highest in trips_with_spans:
            executions = progression.size * trip.size
            yield JointRow(
                progression.number, progression.levels, trip.number, trip.levels,
                progression.offset + trip.offset, lanes.layout,
                low + lowest + lanes.low, high + highest + lanes.high,
                lanes.active * executions, executions,
            )  # fmt: skip


def _lane_layout(patterns: Patterns, pattern_index: int) -> dict[str, Any]:
    """Return the layout of a pattern's lanes: strides, and which lanes are active."""
    block = patterns.block
    lanes = patterns.lanes[pattern_index]
    active = None if patterns.active is None else patterns.active[pattern_index]
    strides = _strides(lanes.reshape(block))
    if strides is None:
        return {"runs": _lane_runs(lanes, active, block)}
    layout: dict[str, Any] = {"lanes": [list(pair) for pair in zip(block, strides, strict=True)]}
    if active is None or active.all():
        return layout
    box = _box(active.reshape(block))
    if box is not None:
        return layout | {"box": box}
    return layout | {"active": _active_runs(active)}


def _lane_runs(
    lanes: Integers, active: NDArray[np.bool_] | None, block: tuple[int, ...]
) -> list[list[int]] | None:
    """Return active lanes as runs [offset, count, step, repetitions, step of repetitions].

    Returns None if there are too many runs.
    """
    box_slices: tuple[slice, ...] = (slice(None),) * len(block)
    if active is not None and not active.all():
        box = _box(active.reshape(block))
        if box is None:
            runs_of_lanes = progressions(lanes[active], MOST_RUNS)
            return runs_of_lanes and [[*run, 1, 0] for run in runs_of_lanes]
        box_slices = tuple(slice(low, high) for low, high in box)
    table = lanes.reshape(block)[box_slices]
    table = table.reshape(-1, table.shape[-1])
    if (table - table[:, :1] != table[0] - table[0, 0]).any():
        runs_of_lanes = progressions(table.reshape(-1), MOST_RUNS)
        return runs_of_lanes and [[*run, 1, 0] for run in runs_of_lanes]
    runs: list[list[int]] = []
    start = 0
    for _, count, step in progressions(table[0], MOST_RUNS) or ():
        starts = progressions(table[:, start], MOST_RUNS) or ()
        runs += [
            [first, count, step, repetitions, repetition_step]
            for first, repetitions, repetition_step in starts
        ]
        start += count
    return runs if 0 < len(runs) <= MOST_RUNS else None


def _strides(lanes: Integers) -> list[int] | None:
    """Return the bytes between neighboring lanes along each axis, None if they vary."""
    strides = []
    expected = lanes.reshape(-1)[0]
    for axis, extent in enumerate(lanes.shape):
        start = lanes[tuple(slice(0, 2) if a == axis else slice(0, 1) for a in range(lanes.ndim))]
        stride = int(np.diff(start.reshape(-1))[0]) if extent > 1 else 0
        strides.append(stride)
        shape = [1] * lanes.ndim
        shape[axis] = extent
        expected = expected + (np.arange(extent) * stride).reshape(shape)
    return strides if np.array_equal(np.broadcast_to(expected, lanes.shape), lanes) else None


def _box(active: NDArray[np.bool_]) -> list[list[int]] | None:
    """Return the range (first, end) per axis if the active lanes form a box, else None."""
    box = []
    for axis in range(active.ndim):
        other_axes = tuple(a for a in range(active.ndim) if a != axis)
        active_indices = np.flatnonzero(active.any(axis=other_axes))
        box.append([int(active_indices[0]), int(active_indices[-1]) + 1])
    inside = active[tuple(slice(low, high) for low, high in box)]
    return box if inside.all() else None


def _active_runs(active: NDArray[np.bool_]) -> list[list[int]] | None:
    """Return active lanes as (first, count) in row-major order, None for too many runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    if len(edges) > 2 * MOST_RUNS:
        return None
    return [[int(a), int(b - a)] for a, b in edges.reshape(-1, 2)]


def _levels_text(levels: Levels) -> str:
    return f"[{','.join([str(list(level)).replace(' ', '') for level in levels])}]"


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def _json_text(layout: dict[str, Any]) -> str:
    return _ENCODER.encode(layout)
