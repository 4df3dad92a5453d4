"""Terms within ranges, against their values at every point."""

import pytest
from hypothesis import given, settings

from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import less
from kvtrace.symbolic.functions import choice, maximum, minimum, quotient, remainder
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.terms import Symbol, lane, program, scalar
from tests.support.thorough import usually
from tests.symbolic.random_formulas import KNOWN, POINTS, conditions, terms


@pytest.mark.costly("random terms; the truth of conditions stays by day")
@settings(max_examples=usually(75, thorough=300), deadline=None)
@given(terms())
def test_interval_of_a_term_contains_all_its_values(term):
    low, high = Ranges(KNOWN).interval(term)
    for point in POINTS:
        assert low <= term.value(point) <= high


@settings(max_examples=usually(50, thorough=200), deadline=None)
@given(conditions())
def test_truth_decided_by_intervals_holds_at_every_point(condition):
    truth = Ranges(KNOWN).truth(condition)
    if truth is not None:
        assert {condition.value(point) for point in POINTS} == {truth}


def test_scalars_with_known_numbers_become_constants():
    ranges = Ranges({("scalar", 0): (7, 7), ("program", 0): (0, 9)})
    form = ranges.form(program(0) * scalar(0) + scalar(0))

    assert form == 7 * program(0) + 7


@pytest.mark.parametrize(("width", "extent"), [(64, 64), (128, 64), (64, 32)])
def test_quotient_and_remainder_of_mixed_radix_digits_simplify(width, extent):
    """(i * width + lane) // width is i, and what is left is the lane."""
    ranges = Ranges({("program", 0): (0, 999)})
    place = program(0) * width + lane(0, extent)

    assert ranges.form(quotient(place, width)) == ranges.form(program(0))
    assert ranges.form(remainder(place, width)) == ranges.form(lane(0, extent))


def test_divisors_that_are_arguments_become_recorded_numbers():
    ranges = Ranges({("program", 0): (0, 99), ("scalar", 0): (10, 10)})

    assert ranges.interval(quotient(program(0), scalar(0))) == (0, 9)
    assert ranges.interval(remainder(program(0), scalar(0))) == (0, 9)


def test_conditions_are_decided_by_recorded_numbers():
    ranges = Ranges({("program", 0): (0, 9), ("scalar", 0): (100, 100)})
    i, n = program(0), scalar(0)

    assert ranges.form(minimum(i, n)) == ranges.form(i)
    assert ranges.form(maximum(i, n)) == 100
    assert ranges.form(choice(less(i, n), i, n)) == ranges.form(i)
    assert ranges.form(wrapped(i * n, 32, signed=True)) == ranges.form(i * n)


def test_equal_functions_are_one_variable():
    """Their difference is then zero, whatever they are."""
    ranges = Ranges({("program", 0): (0, 99), ("scalar", 0): (7, 7), ("scalar", 1): (7, 7)})
    gap = quotient(program(0), scalar(0)) - quotient(program(0), scalar(1))

    assert ranges.interval(gap) == (0, 0)


def test_range_of_an_unknown_symbol_comes_from_sources():
    content = Symbol("content", 12, -(2**31), 2**31 - 1)
    ranges = Ranges({}, [lambda symbol: (3, 5) if symbol is content else None])

    assert ranges.interval(content.term * 2) == (6, 10)
    assert ranges.of(Symbol("content", 13, 0, 9)) == (0, 9)


def test_quotient_by_the_programs_of_an_empty_grid_has_an_interval():
    ranges = Ranges({("scalar", 0): (0, 0), ("program", 0): (1, 0), ("program", 1): (0, 0)})

    low, high = ranges.interval(quotient(scalar(0) + 5, program(0)))

    assert low <= 0 <= high
