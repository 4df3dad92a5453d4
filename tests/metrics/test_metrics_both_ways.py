"""Counts from formulas equal counts of their trips on arrays."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.evaluate import Observer
from kvtrace.evaluate.observe import Access, AccessParts, AffineAxis, AffineFormula
from kvtrace.ir.stacks import StackRows
from kvtrace.metrics.combs import Comb, comb_of, size_of_combs, volume
from kvtrace.metrics.footprint import Footprint
from kvtrace.metrics.formula_counts import formula_count
from kvtrace.metrics.of_ops import Metrics, loops_around
from kvtrace.metrics.progressions import merged_levels, nested_progression, nested_rows
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from tests.kernels.launching import bind, compile_for, launch
from tests.metrics.counted_calls import CALLS, LOAD
from tests.support.thorough import usually

STEPS = st.sampled_from([0, 0, 1, 2, 4, 8, 12, 16, 32, 48, 64, 100, 128, 256, 1000, 4096, -4, -64])
LAYOUT = BlockedLayout((1, 4), (4, 8), (2, 1), (1, 0))


@st.composite
def formulas(draw, block=None, program_axes=None):
    """A formula of a launch: programs as a whole grid, or a part of one of its axes."""
    if block is None:
        block = draw(st.sampled_from([(), (1,), (8,), (64,), (4, 16), (16, 2), (2, 1, 32), (6,)]))
    if program_axes is None:
        program_axes = draw(
            st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), STEPS), max_size=3)
        )
    axes, grid = [], (20, 20, 20)
    for number, (first, count, step) in enumerate(program_axes):
        moves = tuple(int(number == axis) for axis in range(3))
        axes.append(AffineAxis("program", number, step, first, first + count - 1, moves))
    axes.reverse()  # x, the first, is the fastest
    for number in range(draw(st.integers(0, 2))):
        first = draw(st.integers(0, 2))
        last = first + draw(st.integers(0, 6))
        axes.append(AffineAxis("trip", 64 + number, draw(STEPS), first, last))
    for number, extent in enumerate(block):
        first = draw(st.sampled_from([0, 0, 0, extent // 2]))
        last = draw(st.sampled_from([extent - 1, extent - 1, max(first, extent - 3)]))
        axes.append(AffineAxis("lane", number, draw(STEPS), first, last))
    origin = tuple(draw(st.integers(0, 1)) for _ in range(3))
    return AffineFormula(
        draw(st.integers(-64, 200)), tuple(axes), origin, (), block, grid,
        draw(st.sampled_from([0, 0, 4, 20])),
    )  # fmt: skip


def trips_of(formula):
    """The access trip by trip, as arrays over programs and lanes."""
    programs = [axis for axis in formula.axes if axis.kind == "program"]
    trips = [axis for axis in formula.axes if axis.kind == "trip"]
    lanes = [axis for axis in formula.axes if axis.kind == "lane"]
    ids, bases = [], []
    for place in itertools.product(*(range(a.first, a.last + 1) for a in programs)):
        x, y, z = (
            start + sum(a.programs[axis] * at for a, at in zip(programs, place, strict=True))
            for axis, start in enumerate(formula.origin)
        )
        ids.append(x + formula.grid[0] * (y + formula.grid[1] * z))
        bases.append(sum(a.step * at for a, at in zip(programs, place, strict=True)))
    rank = len(lanes)
    terms = [np.array(bases, np.int64).reshape((-1,) + (1,) * rank)]
    factors = []
    for axis, (lane, extent) in enumerate(zip(lanes, formula.block, strict=True)):
        line = np.arange(extent).reshape([-1 if a == axis else 1 for a in range(-1, rank)])
        if lane.step:
            terms.append(line * lane.step)
        if (lane.first, lane.last) != (0, extent - 1):
            factors.append((line >= lane.first) & (line <= lane.last))
    for trip in itertools.product(*(range(a.first, a.last + 1) for a in trips)):
        constant = formula.base + sum(a.step * at for a, at in zip(trips, trip, strict=True))
        parts = AccessParts(
            constant, tuple(terms), tuple(factors), formula.block, np.array(ids, np.int64),
            trip[-1] if trip else 0, formula.origin_bytes,
        )  # fmt: skip
        yield Access(LOAD, "load", 0, 4, len(ids), 1, 1, 0, 0, parts=parts)


def figures(count):
    return count.sectors, count.unique_bytes(), count.records


def on_arrays(several, element_bytes, layout):
    footprint = Footprint(element_bytes, layout)
    for formula in several:
        for access in trips_of(formula):
            footprint.add(access)
    assert footprint.count().limit is None
    return figures(footprint.count())


@settings(max_examples=usually(100, thorough=1000), deadline=None)
@given(st.data())
def test_random_formulas_give_what_arrays_give(data):
    element_bytes = data.draw(st.sampled_from([1, 2, 4, 8]))
    first = data.draw(formulas())
    several = [first, *data.draw(st.lists(formulas(block=first.block), max_size=2))]
    layout = data.draw(st.sampled_from([None, None, LAYOUT]))
    result = formula_count(several, element_bytes, layout)
    assert result is not None
    assert figures(result) == on_arrays(several, element_bytes, layout)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_an_access_that_comes_again_in_other_trips_is_described_with_the_first(data):
    first = data.draw(formulas(block=(16,), program_axes=[(0, 5, 64), (1, 2, 1024)]))
    again = first._replace(base=first.base + data.draw(st.sampled_from([0, 32, 128])))
    several = [first, again] if data.draw(st.booleans()) else [first, again, first]
    result = formula_count(several, 4, None)
    assert result is not None
    assert figures(result) == on_arrays(several, 4, None)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_formulas_mixed_with_arrays_are_counted_on_arrays(data):
    first = data.draw(formulas())
    second = data.draw(formulas(block=first.block))
    footprint = Footprint(4)
    whole = Access(
        LOAD, "load", 0, 4, 1, 1, 1, 0, 0, formula=first, each_trip=lambda: trips_of(first)
    )
    footprint.add(whole)
    for access in trips_of(second):
        footprint.add(access)
    assert figures(footprint.count()) == on_arrays([first, second], 4, None)


class BothWays(Observer):
    """Metrics of the accesses as they are told, and of the same trip by trip."""

    def __init__(self):
        self.closed, self.arrays = Metrics(), Metrics()

    def access(self, access):
        self.closed.access(access)
        for trip in [access] if access.each_trip is None else access.each_trip():
            self.arrays.access(trip)


@pytest.mark.parametrize(
    "call", CALLS, ids=[f"{n}-{call[0].fn.__name__}" for n, call in enumerate(CALLS)]
)
def test_formulas_and_arrays_give_the_same_rows_of_a_launch(call):
    function, grid, arguments, constexprs = call
    both = BothWays()
    launch(function, grid, arguments, constexprs, observers=(both,))
    names = [argument.name for argument in bind(function, arguments)]
    around = loops_around(compile_for(function, arguments, constexprs))
    closed, arrays = (
        (
            metrics.op_rows(0, names, around, StackRows()),
            metrics.access_rows(0, names, around),
            metrics.notes(),
        )
        for metrics in (both.closed, both.arrays)
    )
    assert closed == arrays


def test_counts_from_formulas_take_the_same_time_for_any_grid():
    formula = AffineFormula(
        0, (AffineAxis("program", 0, 4096, 0, (1 << 40) - 1, (1, 0, 0)),
            AffineAxis("lane", 0, 4, 0, 1023)),
        (0, 0, 0), (), (1024,), (1 << 40, 1, 1),
    )  # fmt: skip
    result = formula_count([formula], 4, None)
    assert result is not None
    assert (result.sectors, result.unique_bytes()) == (1 << 47, 1 << 52)
    ((row,), _) = result.records
    assert json.loads(row["layout"])["programs"] == [0, [[1 << 40, 1, 4096]]]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4)), max_size=4), st.integers(1, 8))
def test_a_comb_has_the_bytes_of_its_elements(steps, element_bytes):
    comb = comb_of(3, steps, element_bytes)
    if comb is None:
        return
    starts = [3]
    for step, count in steps:
        starts = [start + turn * step for start in starts for turn in range(count)]
    expected = {start + byte for start in starts for byte in range(element_bytes)}
    assert bytes_of(comb) == expected
    assert (comb.size, comb.end) == (len(expected), max(expected) + 1)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 60), st.integers(1, 9),
            st.lists(st.tuples(st.integers(1, 4), st.sampled_from([1, 3, 9, 27, 30, 81])),
                     max_size=2),
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_the_union_of_combs_has_the_bytes_of_all(several):
    combs = [comb_of(first, steps, size) for first, size, steps in several]
    if None in combs:
        return
    size = size_of_combs(combs)
    if size is not None:
        assert size == len(set().union(*map(bytes_of, combs)))


def test_tiles_that_a_mask_cuts_are_counted_together():
    body = Comb(0, 128, ((64, 512), (7, 32768)))
    edge = Comb(128, 60, ((64, 512), (7, 32768)))
    last = Comb(7 * 32768, 128, ((20, 512),))
    assert size_of_combs([body, edge, last]) == 7 * 64 * 188 + 20 * 128


def bytes_of(comb):
    starts = [comb.first]
    for count, distance in comb.levels:
        starts = [start + turn * distance for start in starts for turn in range(count)]
    return {start + byte for start in starts for byte in range(comb.run)}


BOXES = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=2, max_size=2), max_size=4
)


@given(BOXES)
def test_the_volume_of_boxes_counts_each_point_once(several):
    boxes = [[(first, first + count) for first, count in box] for box in several]
    points = {
        point for box in boxes for point in itertools.product(*(range(*axis) for axis in box))
    }
    assert volume(boxes) == len(points)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 3), st.integers(-9, 9)), max_size=4))
def test_merged_levels_equal_those_found_from_the_numbers(levels):
    rows = [(5, 7)]
    for count, *steps in levels:
        rows = [
            tuple(a + turn * b for a, b in zip(row, steps, strict=True))
            for turn in range(count)
            for row in rows
        ]
    result = nested_progression(np.array(rows))
    assert nested_rows(rows) == result
    assert merged_levels(levels) == result
