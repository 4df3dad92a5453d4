"""Compact descriptions of accesses: rows of the table `accesses` (docs/accesses.md).

A few executions have a row each. Many are described together: if bases, trips and lanes are
nested arithmetic progressions, one row describes them all. 1,000 programs that each load 128
consecutive floats have one row. Executions beyond the limits are counted but not described.

Rows depend on the executions alone, not on the batches of programs in which these come. Executions
with equal lanes are put together; then programs that make equal courses of trips; then each course,
and the programs that make it, are cut into progressions.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.patterns import Integers, Patterns
from kvtrace.metrics.progressions import nested_progression, progressions, runs_of

Levels = tuple[tuple[int, ...], ...]

MOST_SINGLE_ROWS = 32
"""Limit of executions (programs times trips) of an op for which each has a row."""

MOST_JOINT_ROWS = 64
"""Limit of rows of an op that describe many executions each, and of layouts of lanes in them."""

_LEAST_JOINED = 1 << 16
"""Number of programs and trips in memory before programs of several accesses are joined."""

_NEVER = (1 << 63, 0)

MOST_RUNS = 64
"""Limit of runs in one layout."""

_MOST_KEPT, _MOST_KEPT_LANES = 1 << 11, 1 << 10
"""Limits of blocks of lanes whose descriptions are kept, and of lanes in each."""

_MOST_STARTS = 4096
"""Limit of runs of programs, or trips, that are put together in progressions."""


class Progression(NamedTuple):
    """Pairs of a number (program or trip) and a byte offset that form nested progressions.

    `number` and `offset` are the first pair; `levels` are (count, step of the number, step of the
    offset), the fastest first; `size` is the number of pairs. Not a `Term`, as it is read off
    evaluated numbers, which have no symbols.
    """

    number: int
    offset: int
    levels: Levels
    size: int

    def span(self) -> tuple[int, int]:
        """Return the lowest and the highest byte offset."""
        extents = [(count - 1) * step for count, _, step in self.levels]
        negative_extent = sum(extent for extent in extents if extent < 0)
        return self.offset + negative_extent, self.offset + sum(extents) - negative_extent

    def __str__(self) -> str:
        """Return the first number and the levels in JSON."""
        return _json_text([self.number, self.levels])


class Lanes(NamedTuple):
    """The active lanes of a program: layout as JSON text, range of offsets, and number of lanes.

    `low` and `high` are the lowest and highest byte offset from the program's base.
    """

    layout: str
    low: int
    high: int
    active: int


class Executions(NamedTuple):
    """Executions with equal lanes: some programs, ascending, each in the same trips.

    `steps` has a row for each trip: its turn among all executions of the op, its number and an
    offset. Program i accesses `bases[i]` plus that offset plus the lanes.
    """

    lanes: Lanes
    programs: Integers
    bases: Integers
    steps: Integers

    def before(self, program: int, turn: int) -> "Iterator[Executions]":
        """Yield the executions of earlier programs, and those of a program before a turn."""
        if (program, turn) == _NEVER:
            yield self
            return
        steps = self.steps[self.steps[:, 0] < turn]
        for chosen, its_steps in (
            (self.programs < program, self.steps),
            (self.programs == program, steps),
        ):
            if chosen.any() and len(its_steps):
                yield Executions(self.lanes, self.programs[chosen], self.bases[chosen], its_steps)


#: Rows of `accesses`, and a text that says how many executions they describe, None if all.
Rows = tuple[list[dict[str, Any]], str | None]


class AccessRecords:
    """The rows of `accesses` for one op and argument, without call_id, op_index and arg.

    If there are more layouts of lanes than rows, executions are described up to the first with a
    layout too many, program by program, each in the order of its turns. An only access's rows are
    kept with its patterns, which loads and stores often share.
    """

    def __init__(self) -> None:
        self._whole: list[tuple[Patterns, Integers]] = []
        self._executions = 0
        self._blocks: list[Executions] = []
        self._pending = 0
        self._joined_size = _LEAST_JOINED
        self._first_places: dict[Lanes, tuple[int, int]] = {}
        self._end = _NEVER

    def add(self, patterns: Patterns, steps: Integers) -> None:
        """Add an access that will not be repeated in other trips; `steps` as in Executions."""
        self._whole.append((patterns, steps))
        if self._executions or len(self._whole) > 1:
            self._split()

    def _split(self) -> None:
        """Split accesses that are whole into a block for each of their patterns."""
        for patterns, steps in self._whole:
            self._executions += patterns.active_programs * len(steps)
            _, firsts = np.unique(patterns.pattern_of_program, return_index=True)
            for index in map(int, np.argsort(firsts)):
                place = int(patterns.programs[firsts[index]]), int(steps[0, 0])
                if place >= self._end:
                    break
                lanes = patterns.once(("lanes", index), partial(_lanes_of_pattern, patterns, index))
                if lanes is not None:
                    self._add_layout(lanes, place)
                    chosen = np.flatnonzero(patterns.pattern_of_program == index)
                    self._blocks.append(
                        Executions(lanes, patterns.programs[chosen], patterns.bases[chosen], steps)
                    )
                    self._pending += len(chosen) + len(steps)
            if self._pending > self._joined_size:  # join when the size has doubled
                self._join()
        self._whole.clear()

    def _add_layout(self, lanes: Lanes, place: tuple[int, int]) -> None:
        """Add a layout, first met in a program and a turn; move the end if there are too many."""
        places = self._first_places
        places[lanes] = min(place, places.get(lanes, place))
        if len(places) > MOST_JOINT_ROWS:
            self._end = places.pop(max(places, key=places.__getitem__))

    def _join(self) -> None:
        """Put each program with equal lanes in one block, without executions after the end."""
        by_lanes: dict[Lanes, list[Executions]] = {}
        for block in self._blocks:
            for part in block.before(*self._end):
                by_lanes.setdefault(block.lanes, []).append(part)
        self._blocks = [block for parts in by_lanes.values() for block in _joined(parts)]
        sizes = (len(block.programs) + len(block.steps) for block in self._blocks)
        self._pending, self._joined_size = 0, max(_LEAST_JOINED, sum(sizes))

    def rows(self) -> Rows:
        """Return the rows of all accesses."""
        if not self._whole:
            return self._described()
        patterns, steps = self._whole[0]
        return patterns.once(("rows", steps.tobytes()), self._described)

    def _described(self) -> Rows:
        self._split()
        self._join()
        if self._executions <= MOST_SINGLE_ROWS:
            return list(_single_rows(self._blocks)), None
        joint = sorted(_joint(self._blocks), key=_place_of)[:MOST_JOINT_ROWS]
        rows = [_joint_row(*entry) for entry in joint]
        described_executions = sum(programs.size * trips.size for programs, trips, _ in joint)
        if described_executions == self._executions:
            return rows, None
        return rows, f"{described_executions:,} of {self._executions:,} executions are described"


def _joined(parts: list[Executions]) -> list[Executions]:
    """Return executions with equal lanes such that each program is in one block.

    Programs stay together that are in the same blocks, at bases that differ alike from the first.
    """
    if len(parts) == 1:
        return parts
    numbers = np.repeat(np.arange(len(parts)), [len(part.programs) for part in parts])
    programs = np.concatenate([part.programs for part in parts])
    order = np.argsort(programs, kind="stable")
    numbers, programs = numbers[order], programs[order]
    bases = np.concatenate([part.bases for part in parts])[order]
    starts = np.flatnonzero(np.diff(programs, prepend=-1))
    counts = np.diff(starts, append=len(programs))
    if counts.max() == 1:
        return parts
    moves = bases - np.repeat(bases[starts], counts)
    courses = np.zeros(len(starts), np.int64)
    for rank in range(int(counts.max())):
        chosen = np.flatnonzero(counts > rank)
        rows = starts[chosen] + rank
        keys = np.stack([courses[chosen], numbers[rows], moves[rows]], axis=1)
        _, classes = np.unique(keys, axis=0, return_inverse=True)
        courses[chosen] = classes.reshape(-1) + courses.max() + 1
    order = np.argsort(courses, kind="stable")
    blocks = []
    for members in np.split(order, np.flatnonzero(np.diff(courses[order])) + 1):
        rows = np.arange(starts[members[0]], starts[members[0]] + counts[members[0]])
        steps = np.concatenate([parts[numbers[row]].steps + (0, 0, moves[row]) for row in rows])
        chosen = starts[members]
        steps = steps[np.argsort(steps[:, 0])]
        blocks.append(Executions(parts[0].lanes, programs[chosen], bases[chosen], steps))
    return blocks


def _single_rows(blocks: Sequence[Executions]) -> Iterator[dict[str, Any]]:
    """Yield a row for each execution, program by program."""
    executions = [
        (program, turn, trip, base + offset, block.lanes)
        for block in blocks
        for program, base in zip(block.programs.tolist(), block.bases.tolist(), strict=True)
        for turn, trip, offset in block.steps.tolist()
    ]
    for program, _, trip, base, lanes in sorted(executions):
        yield {
            "program": program,
            "iteration": trip,
            "first": base + lanes.low,
            "last": base + lanes.high,
            "active": lanes.active,
            "layout": f'{{"base":{base},{lanes.layout[1:]}',
        }


_Joint = tuple[Progression, Progression, Lanes]
"""Programs, each in some trips, and the lanes of each."""


def _place_of(joint: _Joint) -> tuple[Any, ...]:
    programs, trips, lanes = joint
    return programs.number, trips.number, programs.offset + trips.offset, lanes


def _joint(blocks: Sequence[Executions]) -> Iterator[_Joint]:
    """Yield progressions of programs with equal lanes and trips, and the progressions of trips."""
    courses: dict[tuple[Lanes, bytes], list[Integers]] = {}
    for block in blocks:
        first_offset = block.steps[0, 2]
        trips = block.steps[:, 1:] - (0, first_offset)
        members = np.stack([block.programs, block.bases + first_offset], axis=1)
        courses.setdefault((block.lanes, trips.tobytes()), []).append(members)
    for (lanes, course), parts in courses.items():
        members = np.concatenate(parts)
        trips = np.frombuffer(course, np.int64).reshape(-1, 2)
        trips_in_progressions = progressions_of(trips)
        for programs in progressions_of(members[np.argsort(members[:, 0])]):
            for trip in trips_in_progressions:
                yield programs, trip, lanes


def _joint_row(programs: Progression, trips: Progression, lanes: Lanes) -> dict[str, Any]:
    """Return the row of many executions."""
    low, high = programs.span()
    lowest, highest = trips.span()
    return {
        "program": None if programs.levels else programs.number,
        "iteration": None if trips.levels else trips.number,
        "first": low + lowest + lanes.low,
        "last": high + highest + lanes.high,
        "active": lanes.active * programs.size * trips.size,
        "layout": f'{{"base":{programs.offset + trips.offset},"programs":{programs},'
        f'"trips":{trips},{lanes.layout[1:]}',
    }


def progressions_of(rows: Integers) -> list[Progression]:
    """Return rows (number, offset) as one progression, else as several, by their first numbers.

    Those are runs of equal steps, and progressions of runs of the same length and step. There are
    at most as many as joint rows: rows beyond are left out.
    """
    levels = nested_progression(rows)
    if levels is not None:
        return [Progression(int(rows[0, 0]), int(rows[0, 1]), tuple(levels), len(rows))]
    starts: dict[Levels, list[int]] = {}
    for start, count in runs_of(rows, _MOST_STARTS):
        step = rows[start + 1] - rows[start] if count > 1 else rows[0]
        level: Levels = ((count, int(step[0]), int(step[1])),) if count > 1 else ()
        starts.setdefault(level, []).append(start)
    result = []
    for level, positions in starts.items():
        size = level[0][0] if level else 1
        further = nested_progression(rows[positions])
        groups = [positions] if further else [[position] for position in positions]
        for group in groups:
            number, offset = map(int, rows[group[0]])
            nest = (*level, *(further or ()))
            result.append(Progression(number, offset, nest, size * len(group)))
    return sorted(result)[:MOST_JOINT_ROWS]


def _lanes_of_pattern(patterns: Patterns, pattern_index: int) -> Lanes | None:
    """Return the active lanes of a pattern, None if no lane is active."""
    lanes, active = patterns.lanes[pattern_index], b""
    if patterns.active is not None:
        active = patterns.active[pattern_index].tobytes()
    described = _described_lanes if lanes.size <= _MOST_KEPT_LANES else _described_lanes.__wrapped__
    return described(patterns.block, lanes.tobytes(), active)


@lru_cache(_MOST_KEPT)
def _described_lanes(block: tuple[int, ...], lane_bytes: bytes, flags: bytes) -> Lanes | None:
    """Return active lanes of a block, which calls of many sizes share; no flags: all are active."""
    lanes = np.frombuffer(lane_bytes, np.int64)
    active = np.frombuffer(flags, np.bool_) if flags else None
    chosen = lanes if active is None else lanes[active]
    if not len(chosen):
        return None
    layout = _json_text(_lane_layout(block, lanes, active))
    return Lanes(layout, int(chosen.min()), int(chosen.max()), len(chosen))


def _lane_layout(
    block: tuple[int, ...], lanes: Integers, active: NDArray[np.bool_] | None
) -> dict[str, Any]:
    """Return the layout of lanes: strides, and which lanes are active."""
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


_json_text = json.JSONEncoder(separators=(",", ":")).encode
