"""A store that may precede a read of its bytes in a program is found, as by trying all points."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.memory.first_reads import may_precede
from kvtrace.addons.memory.formulas import AffineAxis, AffineFormula, FormulaAccess
from tests.metrics.counted_calls import LOAD
from tests.support.thorough import usually

PROGRAM, OUTER, INNER = 0, 64, 65


def access(base, axes, width):
    """An access by a formula over axes (kind, number, step, first, last)."""
    formula = AffineFormula(base, tuple(AffineAxis(*axis) for axis in axes))
    return FormulaAccess(LOAD, "load", 0, width, 1, 1, 1, 0, 0, formula=formula)


@st.composite
def accesses(draw):
    """An access in up to two loops, over programs and lanes."""
    step = st.sampled_from([-3, 0, 1, 2, 4, 8, 16, 32])
    axes = [("program", PROGRAM, draw(step), 0, 2)]
    for number in (OUTER, INNER)[: draw(st.integers(0, 2))]:
        first = draw(st.integers(0, 1))
        axes.append(("trip", number, draw(step), first, first + draw(st.integers(0, 2))))
    axes.append(("lane", 0, draw(step), 0, draw(st.integers(0, 3))))
    return access(draw(st.integers(-20, 20)), axes, draw(st.sampled_from([1, 2, 4])))


def points(formula):
    """Yield (program, {loop: trip}, offset) of each point."""
    for values in product(*(range(axis.first, axis.last + 1) for axis in formula.axes)):
        offset = formula.base + sum(v * a.step for v, a in zip(values, formula.axes, strict=True))
        program = [v for v, a in zip(values, formula.axes, strict=True) if a.kind == "program"]
        trips = {a.number: v for v, a in zip(values, formula.axes, strict=True) if a.kind == "trip"}
        yield program, trips, offset


def precedes(store, read, listed_first):
    """Return whether any point of the store comes before one of the read and overlaps it."""
    for (p, store_trips, s), (q, read_trips, r) in product(
        points(store.formula), points(read.formula)
    ):
        common = [loop for loop in store_trips if loop in read_trips]
        earlier, later = ([trips[loop] for loop in common] for trips in (store_trips, read_trips))
        is_earlier = earlier < later or (earlier == later and listed_first)
        if p == q and is_earlier and s < r + read.element_bytes and r < s + store.element_bytes:
            return True
    return False


@pytest.mark.costly("random stores; stores by hand stay by day")
@settings(max_examples=usually(75, thorough=300), deadline=None)
@given(accesses(), accesses(), st.booleans())
def test_stores_that_precede_a_read_are_those_of_all_points(store, read, listed_first):
    result = may_precede(store, read, listed_first=listed_first)

    assert result or not precedes(store, read, listed_first)


def test_a_loop_over_blocks_reads_none_that_an_earlier_trip_stored():
    axes = [("program", PROGRAM, 4096, 0, 9), ("trip", OUTER, 64, 0, 63), ("lane", 0, 1, 0, 63)]
    block = access(0, axes, 1)

    assert not may_precede(block, block, listed_first=False)
    assert may_precede(block, block, listed_first=True)


def test_rows_of_tiles_interleave_and_never_meet():
    axes = [("trip", OUTER, 64, 0, 15), ("lane", 0, 1024, 0, 63), ("lane", 1, 4, 0, 15)]

    assert not may_precede(access(0, axes, 4), access(0, axes, 4), listed_first=False)


def test_a_trip_reads_what_the_trip_before_it_stored():
    axes = [("trip", OUTER, 64, 0, 15), ("lane", 0, 4, 0, 15)]

    assert may_precede(access(64, axes, 4), access(0, axes, 4), listed_first=False)
    assert not may_precede(access(-64, axes, 4), access(0, axes, 4), listed_first=False)


def test_different_programs_do_not_precede_each_other():
    first = access(0, [("program", PROGRAM, 0, 0, 3)], 4)
    second = access(0, [("program", PROGRAM, 0, 4, 7)], 4)

    assert not may_precede(first, second, listed_first=True)
