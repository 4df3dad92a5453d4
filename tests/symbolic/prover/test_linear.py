"""Linear forms: proofs by multiples of what is given, and points, against every point of a box."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.prover.linear import (
    first_point,
    interval,
    is_implied,
    lowest,
    propagated,
    tightened,
)
from kvtrace.symbolic.terms import Symbol, as_term
from tests.support.thorough import usually

FIRST, SECOND, THIRD = (Symbol("scalar", index, -100, 100) for index in range(3))
RANGES = {(FIRST,): (0, 4), (SECOND,): (-2, 3), (THIRD,): (1, 3)}
POINTS = [
    dict(zip((FIRST, SECOND, THIRD), values, strict=True))
    for values in itertools.product(*(range(low, high + 1) for low, high in RANGES.values()))
]
PROGRAM, LANE = Symbol("program", 0, 0, 10**12), Symbol("lane", 0, 0, 1023)

forms = st.builds(
    lambda number, factors: sum((v.term * k for v, k in factors.items()), as_term(number)),
    st.integers(-20, 20),
    st.dictionaries(st.sampled_from((FIRST, SECOND, THIRD)), st.integers(-7, 7)),
)


def points_of(given_forms):
    return [p for p in POINTS if all(form.value(p) >= 0 for form in given_forms)]


@given(forms)
def test_interval_of_a_form_with_independent_variables_is_exact(form):
    values = [form.value(point) for point in POINTS]
    assert interval(form, RANGES) == (min(values), max(values))
    assert lowest(form, RANGES) == min(values)


@given(forms)
def test_tightened_constraint_keeps_all_points(form):
    assert points_of([form]) == points_of([tightened(form)])


@pytest.mark.costly("random constraints; chosen ones stay by day")
@settings(max_examples=usually(100, thorough=400))
@given(forms, st.lists(forms, max_size=4))
def test_implied_constraint_holds_at_every_point(goal, given_forms):
    if is_implied(goal, given_forms, RANGES):
        assert all(goal.value(point) >= 0 for point in points_of(given_forms))


@settings(max_examples=usually(75, thorough=300))
@given(st.lists(forms, max_size=3))
def test_narrowed_ranges_keep_all_points(given_forms):
    box = dict(RANGES)
    left = points_of(given_forms)
    if not propagated(given_forms, box):
        assert not left
    for point in left:
        assert all(box[v,][0] <= number <= box[v,][1] for v, number in point.items())


def test_mask_bounds_an_offset_for_every_grid():
    ranges = {(PROGRAM,): (0, 10**12), (LANE,): (0, 1023)}
    offset = PROGRAM.term * 1024 + LANE.term
    mask = 999_999 - offset

    assert not is_implied(999_999 - offset, [], ranges)
    assert is_implied(3_999_996 - offset * 4, [mask], ranges)
    assert not is_implied(3_999_995 - offset * 4, [mask], ranges)


def test_integer_constraint_is_implied_by_rounding():
    """From 2 i <= 7 follows i <= 3."""
    assert is_implied(3 - FIRST.term, [7 - FIRST.term * 2], {(FIRST,): (0, 100)})


def test_proof_by_multiples_of_several_constraints_is_found():
    """A row-major offset from masks of row and column."""
    ranges = dict.fromkeys(((FIRST,), (SECOND,)), (0, 10**9))
    row, column = FIRST.term, SECOND.term
    masks = [99 - row, 63 - column]

    assert is_implied(6399 - row * 64 - column, masks, ranges)
    assert not is_implied(6398 - row * 64 - column, masks, ranges)


def test_first_point_has_the_first_possible_program():
    ranges = {(PROGRAM,): (0, 10**9), (LANE,): (0, 1023)}
    beyond = PROGRAM.term * 1024 + LANE.term - 1_000_000

    point = first_point([beyond], ranges, ranges)

    assert point == {(PROGRAM,): 976, (LANE,): 576}
    assert first_point([beyond, 5 - PROGRAM.term], ranges, [(PROGRAM,)]) is None
