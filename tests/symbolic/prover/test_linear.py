"""Linear forms: proofs by multiples of what is given, and points, against every point of a box."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.prover.linear import (
    Linear,
    constant,
    first_point,
    interval,
    is_implied,
    lowest,
    propagated,
    single,
    tightened,
)

RANGES = {"i": (0, 4), "j": (-2, 3), "k": (1, 3)}
POINTS = [
    dict(zip(RANGES, values, strict=True))
    for values in itertools.product(*(range(low, high + 1) for low, high in RANGES.values()))
]

forms = st.builds(
    lambda number, factors: Linear(number, {v: k for v, k in factors.items() if k}),
    st.integers(-20, 20),
    st.dictionaries(st.sampled_from(list(RANGES)), st.integers(-7, 7)),
)


def points_of(given_forms):
    return [p for p in POINTS if all(form.value(p) >= 0 for form in given_forms)]


@given(forms, forms, st.integers(-3, 3))
def test_arithmetic_of_forms_equals_arithmetic_of_their_values(one, other, factor):
    for point in POINTS[::7]:
        first, second = one.value(point), other.value(point)
        assert (one + other).value(point) == first + second
        assert (one - other).value(point) == first - second
        assert (-one).value(point) == -first
        assert one.plus(other, factor).value(point) == first + factor * second
        assert one.scaled(factor).shifted(2).value(point) == factor * first + 2
    assert 0 not in (one - other).coefficients.values()


@given(forms)
def test_interval_of_a_form_with_independent_variables_is_exact(form):
    values = [form.value(point) for point in POINTS]
    assert interval(form, RANGES) == (min(values), max(values))
    assert lowest(form, RANGES) == min(values)


@given(forms)
def test_tightened_constraint_keeps_all_points(form):
    assert points_of([form]) == points_of([tightened(form)])


@settings(max_examples=400)
@given(forms, st.lists(forms, max_size=4))
def test_implied_constraint_holds_at_every_point(goal, given_forms):
    if is_implied(goal, given_forms, RANGES):
        assert all(goal.value(point) >= 0 for point in points_of(given_forms))


@settings(max_examples=300)
@given(st.lists(forms, max_size=3))
def test_narrowed_ranges_keep_all_points(given_forms):
    box = dict(RANGES)
    left = points_of(given_forms)
    if not propagated(given_forms, box):
        assert not left
    for point in left:
        assert all(box[v][0] <= number <= box[v][1] for v, number in point.items())


def test_mask_bounds_an_offset_for_every_grid():
    i, lane = single("program"), single("lane")
    ranges = {"program": (0, 10**12), "lane": (0, 1023)}
    offset = i.scaled(1024) + lane
    mask = constant(999_999) - offset

    assert not is_implied(constant(999_999) - offset, [], ranges)
    assert is_implied(constant(3_999_996) - offset.scaled(4), [mask], ranges)
    assert not is_implied(constant(3_999_995) - offset.scaled(4), [mask], ranges)


def test_integer_constraint_is_implied_by_rounding():
    """From 2 i <= 7 follows i <= 3."""
    i = single("i")
    assert is_implied(constant(3) - i, [constant(7) - i.scaled(2)], {"i": (0, 100)})


def test_proof_by_multiples_of_several_constraints_is_found():
    """A row-major offset from masks of row and column."""
    ranges = dict.fromkeys(("row", "column"), (0, 10**9))
    row, column = single("row"), single("column")
    masks = [constant(99) - row, constant(63) - column]

    assert is_implied(constant(6399) - row.scaled(64) - column, masks, ranges)
    assert not is_implied(constant(6398) - row.scaled(64) - column, masks, ranges)


def test_first_point_has_the_first_possible_program():
    ranges = {"program": (0, 10**9), "lane": (0, 1023)}
    beyond = single("program").scaled(1024) + single("lane") - constant(1_000_000)

    point = first_point([beyond], ranges, ["program", "lane"])

    assert point == {"program": 976, "lane": 576}
    assert first_point([beyond, constant(5) - single("program")], ranges, ["program"]) is None
