"""Compact descriptions of accesses: rows of the table `accesses` (docs/accesses.md).

A few executions are listed one by one. More of them are described together: where bases, trips and
lanes are nested arithmetic progressions, one row holds them all. What is beyond the limits is left
out and counted.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.patterns import Patterns, Repeated
from kvtrace.metrics.progressions import (
    leading_progression,
    nested_progression,
    nested_rows,
    progressions,
)

Integers = NDArray[np.int64]
Levels = tuple[tuple[int, ...], ...]

MOST_SINGLE_ROWS = 32
"""Executions (programs times trips) of an op up to which each has a separate row."""

MOST_JOINT_ROWS = 64
"""Rows that describe many executions, of an op."""

_MOST_KEPT = 4096
"""Descriptions that are kept until they are put together."""

MOST_RUNS = 64
"""Runs in one layout."""


class Joint(NamedTuple):
    """Executions described together; levels are (how many, step of the id, step in bytes).

    `lanes` is an object in JSON already.
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
        """Return the row."""
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
        self._joint: list[Joint] = []

    def add(self, repeated: Repeated) -> None:
        """Describe accesses that will not come again."""
        patterns = repeated.patterns
        self._executions += len(patterns.programs) * len(repeated.constants)
        if self._executions <= MOST_SINGLE_ROWS:
            self._single += _single_rows(repeated)
        self._joint += islice(_joint(repeated), _MOST_KEPT - len(self._joint))

    def rows(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows, and a text of what they leave out (None: nothing)."""
        if self._executions <= MOST_SINGLE_ROWS:
            return self._single, None
        return joint_rows(self._executions, self._joint)


def joint_rows(executions: int, joint: list[Joint]) -> tuple[list[dict[str, Any]], str | None]:
    """Return the rows of so many executions, and a text of what they leave out (None: nothing)."""
    shown = _joined(joint[:_MOST_KEPT])[:MOST_JOINT_ROWS]
    rows = [each.row() for each in shown]
    described = sum(each.executions for each in shown)
    if described == executions:
        return rows, None
    return rows, f"{described:,} of {executions:,} executions are described"


def _joined(rows: list[Joint]) -> list[Joint]:
    """Put together rows that differ by a progression in the program, then those in the trip."""
    for vary in ("program", "trip"):
        if len(rows) == 1:
            break
        groups: dict[Any, list[Joint]] = {}
        for row in rows:
            other = row.trip if vary == "program" else row.program
            key = (other, row.program_levels, row.trip_levels, row.lanes)
            groups.setdefault(key, []).append(row)
        rows = [row for group in groups.values() for row in _one_or_all(group, vary)]
    return rows


def _one_or_all(group: list[Joint], vary: str) -> list[Joint]:
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


def _single_rows(repeated: Repeated) -> Iterator[dict[str, Any]]:
    patterns = repeated.patterns
    touching = [n for n in range(patterns.size) if len(patterns.active_lanes(n))]
    layouts = {number: _lane_layout(patterns, number) for number in touching}
    for constant, iteration in zip(repeated.constants, repeated.iterations, strict=True):
        for position, program in enumerate(patterns.programs.tolist()):
            number = int(patterns.which[position])
            if number not in layouts:
                continue
            lanes = patterns.active_lanes(number)
            base = int(patterns.bases[position]) + constant
            yield {
                "program": program,
                "iteration": iteration,
                "first": base + int(lanes.min()),
                "last": base + int(lanes.max()),
                "active": len(lanes),
                "layout": _text({"base": base, **layouts[number]}),
            }


def _joint(repeated: Repeated) -> Iterator[Joint]:
    patterns = repeated.patterns
    trips = [-1 if trip is None else trip for trip in repeated.iterations]
    moments = list(pieces(np.array([trips, repeated.constants], np.int64).T))
    for number in range(patterns.size):
        chosen = np.flatnonzero(patterns.which == number)
        lanes = patterns.active_lanes(number)
        if not len(lanes):
            continue
        low, high = int(lanes.min()), int(lanes.max())
        layout = _text(_lane_layout(patterns, number))
        bases = np.stack([patterns.programs[chosen], patterns.bases[chosen]], axis=1)
        for programs, program_levels in pieces(bases):
            for times, trip_levels in moments:
                executions = len(programs) * len(times)
                yield Joint(
                    int(programs[0, 0]), program_levels, int(times[0, 0]), trip_levels,
                    int(programs[0, 1] + times[0, 1]), layout,
                    int(programs[:, 1].min() + times[:, 1].min()) + low,
                    int(programs[:, 1].max() + times[:, 1].max()) + high,
                    len(lanes) * executions, executions,
                )  # fmt: skip


def pieces(rows: Integers) -> Iterator[tuple[Integers, Levels]]:
    """Cut rows into nested progressions: one if they are one, else the longest from the start."""
    levels = nested_progression(rows)
    if levels is not None:
        yield rows, tuple(levels)
        return
    while len(rows):
        count = leading_progression(rows)
        step = rows[1] - rows[0] if count > 1 else rows[0]
        yield rows[:count], ((count, int(step[0]), int(step[1])),) if count > 1 else ()
        rows = rows[count:]


def _lane_layout(patterns: Patterns, number: int) -> dict[str, Any]:
    """Describe the lanes of a pattern: strides, and which of them are active."""
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
    """Return active lanes as runs [offset, count, step, times, step from time to time].

    None if there are too many.
    """
    whole: tuple[slice, ...] = (slice(None),) * len(block)
    if active is not None and not active.all():
        box = _box(active.reshape(block))
        if box is None:
            found = progressions(lanes[active], MOST_RUNS)
            return found and [[first, count, step, 1, 0] for first, count, step in found]
        whole = tuple(slice(low, high) for low, high in box)
    table = lanes.reshape(block)[whole]
    table = table.reshape(-1, table.shape[-1])
    if (table - table[:, :1] != table[0] - table[0, 0]).any():
        found = progressions(table.reshape(-1), MOST_RUNS)
        return found and [[first, count, step, 1, 0] for first, count, step in found]
    runs: list[list[int]] = []
    start = 0
    for _, count, step in progressions(table[0], MOST_RUNS) or ():
        heads = progressions(table[:, start], MOST_RUNS) or ()
        runs += [[first, count, step, times, by] for first, times, by in heads]
        start += count
    return runs if 0 < len(runs) <= MOST_RUNS else None


def _strides(lanes: Integers) -> list[int] | None:
    """Return the bytes from lane to lane along each axis; None if they are not the same."""
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
    """Return the ranges (first, one past the last) per axis if active lanes are a box."""
    box = []
    for axis in range(active.ndim):
        others = tuple(a for a in range(active.ndim) if a != axis)
        present = np.flatnonzero(active.any(axis=others))
        box.append([int(present[0]), int(present[-1]) + 1])
    inside = active[tuple(slice(low, high) for low, high in box)]
    return box if inside.all() else None


def _runs_of(active: NDArray[np.bool_]) -> list[list[int]] | None:
    """Return active lanes as (first, count) in row-major order; None if there are too many runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    if len(edges) > 2 * MOST_RUNS:
        return None
    return [[int(a), int(b - a)] for a, b in edges.reshape(-1, 2)]


def _levels_text(levels: Levels) -> str:
    return f"[{','.join([str(list(level)).replace(' ', '') for level in levels])}]"


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def _text(layout: dict[str, Any]) -> str:
    return _ENCODER.encode(layout)
