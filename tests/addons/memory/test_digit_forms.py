"""Sums over digits, and boxes of digits, have the numbers of the formulas that they stand for."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.memory.digit_forms import (
    Digit,
    Forms,
    NoBoxes,
    Number,
    at_least_zero,
    boxes,
    cases_of,
    digits_of,
    existing,
    in_digits,
    quotient_of,
)
from kvtrace.symbolic.conditions import at_least, equal
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.terms import Symbol
from tests.support.thorough import usually

PROGRAM, LANE = Symbol("program", 0, 0, 9), Symbol("lane", 0, 0, 15)
ELEMENT = PROGRAM.term * 16 + LANE.term
DIVISORS = st.sampled_from([2, 3, 4, 5, 8, 12, 16, 20, 32, 40])


@st.composite
def terms(draw):
    """Sums of quotients and remainders of an element's number, of a program, and of a lane."""
    total = draw(st.integers(-5, 5)) + 0 * PROGRAM.term
    for _ in range(draw(st.integers(1, 3))):
        base = draw(st.sampled_from([ELEMENT, PROGRAM.term, LANE.term]))
        first, second = draw(DIVISORS), draw(DIVISORS)
        part = draw(
            st.sampled_from(
                [
                    base, quotient(base, first), remainder(base, first),
                    remainder(quotient(base, first), second),
                    quotient(remainder(base, first), second),
                ]
            )
        )  # fmt: skip
        total = total + part * draw(st.integers(-3, 3))
    return total


def digits_in(values, digits):
    """The value of each digit, for numbers of the program and the lane."""
    numbers = {}
    for number in digits:
        value = 0
        for symbol in number.symbols:
            value = value * (symbol.high + 1) + values[symbol]
        numbers[number] = value
    return {
        digit: numbers[number] // digit.weight % digit.size
        for number, parts in digits.items()
        for digit in parts
    }


@pytest.mark.costly("random forms; forms by hand stay by day")
@settings(max_examples=usually(75, thorough=300), deadline=None)
@given(terms(), terms())
def test_sums_and_boxes_over_digits_are_those_of_all_points(offset, mask):
    condition = at_least(mask)
    forms = Forms((offset, condition))
    try:
        sums = at_least_zero(condition, forms)
        place = forms.quotients(offset)
        numbers = dict.fromkeys(map(forms.number_of, (PROGRAM, LANE)))
        digits = digits_of(numbers, [place, *sums])
        found = boxes(
            [*existing(digits), *(in_digits(s, digits) for s in sums)],
            [digit for parts in digits.values() for digit in parts],
        )
    except NoBoxes:
        return
    points = 0
    for program, lane in product(range(10), range(16)):
        values = {PROGRAM: program, LANE: lane}
        at = digits_in(values, digits)
        assert in_digits(place, digits).value(at) == offset.value(values)
        inside = [box for box in found if all(a <= at[d] <= b for (d,), (a, b) in box.items())]
        assert len(inside) == condition.value(values)
        points += len(inside)
    sizes = [1] * len(found)
    for index, box in enumerate(found):
        for first, last in box.values():
            sizes[index] *= last - first + 1
    assert sum(sizes) == points


def test_a_program_and_its_lanes_are_one_number_where_they_are_divided():
    place = remainder(quotient(ELEMENT, 4), 20)

    forms = Forms((place,))

    number = Number((PROGRAM, LANE), 160)
    assert forms.number_of(PROGRAM) == forms.number_of(LANE) == number
    assert forms.quotients(place) == quotient_of(number, 4).term - quotient_of(number, 80).term * 20


def test_digits_that_do_not_divide_each_other_are_refused():
    number = Number((PROGRAM,), 10)

    with pytest.raises(NoBoxes):
        digits_of([number], [quotient_of(number, 2).term + quotient_of(number, 3).term])


def test_the_last_digit_ends_with_the_number():
    number = Number((PROGRAM,), 10)

    digits = digits_of([number], [quotient_of(number, 4).term])

    assert digits[number] == [Digit(number, 4, 3), Digit(number, 1, 4)]
    assert len(boxes(existing(digits), digits[number])) == 2


def test_an_inequality_has_two_cases():
    condition = ~equal(PROGRAM.term, 3)

    cases = cases_of([condition])

    holding = [
        program
        for program in range(10)
        if any(all(part.value({PROGRAM: program}) for part in case) for case in cases)
    ]
    assert holding == [0, 1, 2, 4, 5, 6, 7, 8, 9]
