"""Compact descriptions of accesses: rows of the table `accesses` (docs/accesses.md).

A few executions are listed one by one. Many are described together: if bases, trips and lanes are
nested arithmetic progressions, one row describes them all. 1,000 programs that each load 128
consecutive floats are one row. Executions beyond the limits are left out and counted.
"""

import json
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from math import prod
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
"""The most executions (programs times trips) of an op that have a row each."""

MOST_JOINT_ROWS = 64
"""The most rows of an op that describe many executions each."""

_MOST_KEPT = 4096
"""The most descriptions in memory before they are joined."""

MOST_RUNS = 64
"""The most runs in one layout."""

OPEN = 16
"""The most open accesses, which may be repeated in other trips."""

LARGE = 1 << 18
"""The number of elements from which on an access is the only open one."""


class OpenAccesses(Generic[T]):
    """Accesses that may be repeated in other trips, by key; the oldest are closed first.

    Open accesses keep their arrays in memory, so there are few.
    """

    def __init__(self) -> None:
        self._open: dict[Hashable, T] = {}

    def find(self, key: Hashable) -> T | None:
        """Return the open access with a key, or None."""
        return self._open.get(key)

    def keep(self, key: Hashable, access: T, elements: int) -> list[T]:
        """Add an access of so many elements; return those that are closed to make room."""
        closed = []
        while self._open and (elements > LARGE or len(self._open) >= OPEN):
            closed.append(self._open.pop(next(iter(self._open))))
        self._open[key] = access
        return closed

    def close(self) -> list[T]:
        """Close all accesses; return them, the oldest first."""
        closed = list(self._open.values())
        self._open = {}
        return closed


class Progression(NamedTuple):
    """Pairs of a number and a byte offset (`place`) as nested progressions: programs, or trips.

    `number` and `place` are the first pair; `levels` are (count, step of the number, step of the
    place), the fastest first; `size` is the number of pairs.
    """

    number: int
    place: int
    levels: Levels
    size: int

    def pairs(self) -> list[tuple[int, int]]:
        """Return the list of pairs, in order."""
        pairs = [(self.number, self.place)]
        for count, by, step in self.levels:
            pairs = [
                (number + turn * by, place + turn * step)
                for turn in range(count)
                for number, place in pairs
            ]
        return pairs

    def span(self) -> tuple[int, int]:
        """Return the lowest and the highest place."""
        moves = [(count - 1) * step for count, _, step in self.levels]
        low = sum(move for move in moves if move < 0)
        return self.place + low, self.place + sum(moves) - low


class Lanes(NamedTuple):
    """A program's active lanes: a description in JSON, the range of offsets, and the number.

    `low` and `high` are the lowest and the highest offset from the program's base.
    """

    layout: str
    low: int
    high: int
    active: int


class JointRow(NamedTuple):
    """Executions described together; levels are (count, step of the id, step in bytes).

    `lanes` is a JSON object as text.
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
    """The rows of one op and argument. Rows lack the columns call_id, op_index and arg."""

    def __init__(self) -> None:
        self._executions = 0
        self._single: list[dict[str, Any]] = []
        self._joint: list[JointRow] = []

    def add(
        self,
        executions: int,
        programs: Sequence[tuple[Progression, Lanes]],
        moments: Sequence[Progression],
    ) -> None:
        """Add an access that will not be repeated.

        Args:
            executions: Programs times trips.
            programs: Programs with their bases, and the lanes that each program accesses.
            moments: The trips, and the constant of each; a trip below 0 stands for different trips
                of different programs.
        """
        self._executions += executions
        if self._executions <= MOST_SINGLE_ROWS:
            self._single += _single_rows(programs, moments)
        self._joint += islice(_joint(programs, moments), _MOST_KEPT - len(self._joint))

    def rows(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows, and a text of what they leave out (None: nothing)."""
        if self._executions <= MOST_SINGLE_ROWS:
            return self._single, None
        shown = _joined(self._joint)[:MOST_JOINT_ROWS]
        rows = [joint.row() for joint in shown]
        described = sum(joint.executions for joint in shown)
        if described == self._executions:
            return rows, None
        return rows, f"{described:,} of {self._executions:,} executions are described"


def pieces(rows: Integers) -> list[Progression]:
    """Return rows of (number, place) as progressions: one, else the longest from the start."""
    levels = nested_progression(rows)
    if levels is not None:
        return [Progression(int(rows[0, 0]), int(rows[0, 1]), tuple(levels), len(rows))]
    parts = []
    while len(rows):
        count = leading_progression(rows)
        step = rows[1] - rows[0] if count > 1 else rows[0]
        steps = ((count, int(step[0]), int(step[1])),) if count > 1 else ()
        parts.append(Progression(int(rows[0, 0]), int(rows[0, 1]), steps, count))
        rows = rows[count:]
    return parts


def lanes_of_box(
    shape: tuple[int, ...], steps: Sequence[int], box: Sequence[tuple[int, int]]
) -> Lanes:
    """Return lanes in equal steps along each axis, from the first to the last of a box."""
    axes = list(zip(steps, box, strict=True))
    low = sum(step * (first if step > 0 else last) for step, (first, last) in axes)
    high = sum(step * (last if step > 0 else first) for step, (first, last) in axes)
    layout: dict[str, Any] = {
        "lanes": [
            [extent, step if extent > 1 else 0] for extent, step in zip(shape, steps, strict=True)
        ]
    }
    if any(ends != (0, extent - 1) for extent, ends in zip(shape, box, strict=True)):
        layout["box"] = [[first, last + 1] for first, last in box]
    return Lanes(_text(layout), low, high, prod(last - first + 1 for first, last in box))


def lanes_of_pattern(patterns: Patterns, number: int) -> Lanes | None:
    """Return the lanes of a pattern; None if none is active."""
    lanes = patterns.active_lanes(number)
    if not len(lanes):
        return None
    layout = _text(_lane_layout(patterns, number))
    return Lanes(layout, int(lanes.min()), int(lanes.max()), len(lanes))


def _joined(rows: list[JointRow]) -> list[JointRow]:
    """Return rows joined that differ by a progression in the program, then in the trip."""
    for vary in ("program", "trip"):
        if len(rows) == 1:
            break
        groups: dict[Any, list[JointRow]] = {}
        for row in rows:
            other = row.trip if vary == "program" else row.program
            key = (other, row.program_levels, row.trip_levels, row.lanes)
            groups.setdefault(key, []).append(row)
        rows = [row for group in groups.values() for row in _one_or_all(group, vary)]
    return rows


def _one_or_all(group: list[JointRow], vary: str) -> list[JointRow]:
    if len(group) == 1:
        return group
    levels = nested_rows([(getattr(row, vary), row.base) for row in group])
    if not levels:
        return group
    head = group[0]
    changes: dict[str, Any] = {
        f"{vary}_levels": getattr(head, f"{vary}_levels") + tuple(levels),
        "first": min(row.first for row in group),
        "last": max(row.last for row in group),
        "active": sum(row.active for row in group),
        "executions": sum(row.executions for row in group),
    }
    return [head._replace(**changes)]


def _single_rows(
    programs: Sequence[tuple[Progression, Lanes]], moments: Sequence[Progression]
) -> Iterator[dict[str, Any]]:
    listed = [(pair, lanes) for several, lanes in programs for pair in several.pairs()]
    if len(programs) > 1:
        listed.sort(key=lambda entry: entry[0])  # programs of two patterns alternate
    for trip, constant in (pair for moment in moments for pair in moment.pairs()):
        for (program, place), lanes in listed:
            base = place + constant
            yield {
                "program": program,
                "iteration": None if trip < 0 else trip,
                "first": base + lanes.low,
                "last": base + lanes.high,
                "active": lanes.active,
                "layout": f'{{"base":{base},{lanes.layout[1:]}',
            }


def _joint(
    programs: Sequence[tuple[Progression, Lanes]], moments: Sequence[Progression]
) -> Iterator[JointRow]:
    times = [(moment, *moment.span()) for moment in moments]
    for several, lanes in programs:
        low, high = several.span()
        for moment, lowest, highest in times:
            executions = several.size * moment.size
            yield JointRow(
                several.number, several.levels, moment.number, moment.levels,
                several.place + moment.place, lanes.layout,
                low + lowest + lanes.low, high + highest + lanes.high,
                lanes.active * executions, executions,
            )  # fmt: skip


def _lane_layout(patterns: Patterns, number: int) -> dict[str, Any]:
    """Return the layout of a pattern's lanes: strides, and which lanes are active."""
    block = patterns.block
    lanes = patterns.lanes[number]
    active = None if patterns.active is None else patterns.active[number]
    strides = _strides(lanes.reshape(block))
    if strides is None:
        return {"runs": _lane_runs(lanes, active, block)}
    layout: dict[str, Any] = {"lanes": [list(pair) for pair in zip(block, strides, strict=True)]}
    if active is None or active.all():
        return layout
    box = _box(active.reshape(block))
    if box is not None:
        return layout | {"box": box}
    return layout | {"active": _runs_of(active)}


def _lane_runs(
    lanes: Integers, active: NDArray[np.bool_] | None, block: tuple[int, ...]
) -> list[list[int]] | None:
    """Return active lanes as runs [offset, count, step, repetitions, step of repetitions].

    None if there are too many runs.
    """
    whole: tuple[slice, ...] = (slice(None),) * len(block)
    if active is not None and not active.all():
        box = _box(active.reshape(block))
        if box is None:
            runs_of_lanes = progressions(lanes[active], MOST_RUNS)
            return runs_of_lanes and [[*run, 1, 0] for run in runs_of_lanes]
        whole = tuple(slice(low, high) for low, high in box)
    table = lanes.reshape(block)[whole]
    table = table.reshape(-1, table.shape[-1])
    if (table - table[:, :1] != table[0] - table[0, 0]).any():
        runs_of_lanes = progressions(table.reshape(-1), MOST_RUNS)
        return runs_of_lanes and [[*run, 1, 0] for run in runs_of_lanes]
    runs: list[list[int]] = []
    start = 0
    for _, count, step in progressions(table[0], MOST_RUNS) or ():
        heads = progressions(table[:, start], MOST_RUNS) or ()
        runs += [[first, count, step, times, by] for first, times, by in heads]
        start += count
    return runs if 0 < len(runs) <= MOST_RUNS else None


def _strides(lanes: Integers) -> list[int] | None:
    """Return the bytes from lane to lane along each axis; None if they vary."""
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
    """Return the ranges (first, one past the last) per axis if active lanes form a box."""
    box = []
    for axis in range(active.ndim):
        others = tuple(a for a in range(active.ndim) if a != axis)
        present = np.flatnonzero(active.any(axis=others))
        box.append([int(present[0]), int(present[-1]) + 1])
    inside = active[tuple(slice(low, high) for low, high in box)]
    return box if inside.all() else None


def _runs_of(active: NDArray[np.bool_]) -> list[list[int]] | None:
    """Return active lanes as (first, count) in row-major order; None for too many runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    if len(edges) > 2 * MOST_RUNS:
        return None
    return [[int(a), int(b - a)] for a, b in edges.reshape(-1, 2)]


def _levels_text(levels: Levels) -> str:
    return f"[{','.join([str(list(level)).replace(' ', '') for level in levels])}]"


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def _text(layout: dict[str, Any]) -> str:
    return _ENCODER.encode(layout)
