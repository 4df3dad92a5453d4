"""Addresses as digits: what is proven to be one program is so at every point."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.conditions import at_least, conjunction, less
from kvtrace.symbolic.functions import maximum, minimum, quotient, remainder
from kvtrace.symbolic.prover import Given, Proven, Ranges, Refuted, prove
from kvtrace.symbolic.prover.digits import Common, Side, are_apart
from kvtrace.symbolic.terms import MOST_PROGRAMS, Symbol, lane, program
from kvtrace.verdicts.conflicts.copies import Actors, Question
from tests.support.thorough import usually

P, Q = program(0), program(1)
I0, I1 = lane(0, 8), lane(1, 4)
_AXES = tuple(Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3))


def ranges_of(grid):
    known = {("program", axis): (0, extent - 1) for axis, extent in enumerate(grid)}
    return Ranges(known), tuple(a for a, extent in zip(_AXES, grid, strict=False) if extent > 1)


def side(address, conditions, ranges, width=4):
    return Side(ranges.form(address), width, Given(conditions, ranges))


def is_one_program(address, conditions, grid, width=4):
    ranges, axes = ranges_of(grid)
    one = side(address, conditions, ranges, width)
    return Common(one, one).are_equal(axes)


# -- by hand --------------------------------------------------------------------------------------

GROUP, ACROSS, DOWN = 3, 5, 7
_GROUP = quotient(P, GROUP * ACROSS)
_SIZE = minimum(DOWN - _GROUP * GROUP, GROUP)
_INSIDE = remainder(P, GROUP * ACROSS)
_ROW = _GROUP * GROUP + remainder(_INSIDE, _SIZE)
_COLUMN = quotient(_INSIDE, _SIZE)


@pytest.mark.parametrize(
    ("address", "conditions", "grid", "answer"),
    [
        ((P * 8 + I0) * 4, [less(P * 8 + I0, 60)], (8,), True),
        ((P * 7 + I0) * 4, [], (8,), False),
        ((P * 7 + I0) * 4, [less(I0, 7)], (8,), True),
        ((P * 8 + I0) * 4, [], (8, 2), False),
        ((P * 8 + I0) * 4, [], (10**9,), True),
        ((P * -8 + I0) * 4, [], (8,), True),
        (P * 3, [], (8,), False),  # elements of 4 bytes, 3 bytes apart
        # Digits of the program id: a quotient and its remainder.
        (((quotient(P, 3) * 8 + I0) * 12 + remainder(P, 3) * 4 + I1) * 4, [], (9,), True),
        (((quotient(P, 3) * 8 + I0) * 12 + remainder(P, 3) * 4 + I1) * 4, [], (9, 2), False),
        ((quotient(P, 3) * 8 + I0) * 4, [], (9,), False),
        # A ragged edge: only the mask of columns keeps rows apart.
        (((P * 8 + I0) * 10 + Q * 4 + I1) * 4, [less(Q * 4 + I1, 10)], (3, 3), True),
        (((P * 8 + I0) * 10 + Q * 4 + I1) * 4, [], (3, 3), False),
        # Lanes and programs mixed in one number, taken apart again.
        ((quotient(P * 8 + I0, 30) * 32 + remainder(P * 8 + I0, 30)) * 4, [], (50,), True),
        # Groups of rows.
        (((_ROW * 8 + I0) * 20 + _COLUMN * 4 + I1) * 4, [less(_COLUMN * 4 + I1, 20)], (35,), True),
        # What no algebra of ours follows is tabulated.
        ((maximum(P, 3 - P) * 8 + I0) * 4, [], (2,), True),
        ((maximum(P, 3 - P) * 8 + I0) * 4, [], (4,), False),
    ],
)  # fmt: skip
def test_equal_addresses_determine_programs_as_expected(address, conditions, grid, answer):
    assert is_one_program(address, conditions, grid) is answer


def test_accesses_separated_by_masks_share_no_byte():
    ranges, _ = ranges_of((8,))
    low = side((P * 8 + I0) * 4, [less(P * 8 + I0, 50)], ranges)
    behind = side((P * 8 + I0) * 4 + 200, [], ranges)
    among = side((P * 8 + I0) * 4 + 196, [], ranges)

    assert are_apart(low, behind)
    assert not are_apart(low, among)


# -- at random ------------------------------------------------------------------------------------

_NUMBERS = st.sampled_from([-12, -8, -4, -2, -1, 1, 2, 3, 4, 5, 8, 10, 12, 16, 30, 32])


@st.composite
def integers_of_programs(draw):
    """A number that a kernel may make of its program ids and lanes."""
    base = draw(st.sampled_from([P, Q, P * 8 + I0, P * 4 + I1, P + Q * 3, Q * 2 + P]))
    by = draw(st.integers(2, 7))
    return draw(
        st.sampled_from(
            [
                base, base, quotient(base, by), remainder(base, by), minimum(base, by),
                maximum(base, by), quotient(base, by) * by + remainder(base, by),
            ]
        )
    )  # fmt: skip


@st.composite
def accesses(draw):
    """An address, and what holds where it is touched."""
    address = draw(st.integers(-8, 8)) + 0 * P
    for number in draw(st.lists(integers_of_programs(), min_size=1, max_size=3)):
        address = address + number * draw(_NUMBERS) * draw(st.sampled_from([1, 4, 4]))
    for index in (I0, I1):
        address = address + index * draw(st.sampled_from([0, 1, 4, 4, 16, -4]))
    conditions = []
    for _ in range(draw(st.integers(0, 2))):
        masked = draw(integers_of_programs()) + draw(st.sampled_from([0 * I0, I0, I1]))
        conditions.append(less(masked, draw(st.integers(1, 40))))
    return address, [c for c in conditions if c.decided is None]


def points_of(access, grid):
    """Program, address and lane of all active lanes of all programs."""
    address, conditions = access
    names = [_AXES[0], _AXES[1], *I0.symbols("lane"), *I1.symbols("lane")]
    extents = (grid[0], grid[1], 8, 4)
    axes = np.meshgrid(*(np.arange(extent) for extent in extents), indexing="ij")
    values = {name: axis.reshape(-1) for name, axis in zip(names, axes, strict=True)}
    active = np.broadcast_to(conjunction(conditions).values(values), values[names[0]].shape)
    places = np.broadcast_to(address.values(values), active.shape)[active]
    programs = (values[names[0]] + grid[0] * values[names[1]])[active]
    return programs, places, (np.arange(active.size) % 32)[active]


def meet(one, other, grid, widths, *, lanes=False):
    """Return whether two programs (or two lanes of one) touch a byte, found byte by byte."""
    touched = []
    for access, width in zip((one, other), widths, strict=True):
        found = {}
        for program_, place, lane_ in zip(
            *(a.tolist() for a in points_of(access, grid)), strict=True
        ):
            for byte in range(place, place + width):
                key, who = ((program_, byte), lane_) if lanes else (byte, program_)
                found.setdefault(key, set()).add(who)
        touched.append(found)
    return any(len(who | touched[1][at]) > 1 for at, who in touched[0].items() if at in touched[1])


_GRIDS = st.tuples(st.integers(1, 5), st.integers(1, 4))
_WIDTHS = st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([2, 4, 8]))


@settings(max_examples=usually(20, thorough=600), deadline=None)
@given(accesses(), accesses(), st.booleans(), _GRIDS, _WIDTHS)
def test_accesses_proven_apart_never_touch_the_same_byte(first, second, alone, grid, widths):
    other = first if alone else second
    widths = (widths[0], widths[0]) if alone else widths
    ranges, axes = ranges_of(grid)
    one = side(*first, ranges, widths[0])
    two = one if alone else side(*other, ranges, widths[1])

    if not axes or Common(one, two).are_equal(axes) or are_apart(one, two):
        assert not meet(first, other, grid, widths)


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(accesses(), accesses(), _GRIDS)
@example((remainder(P, 2) * -2, []), (remainder(P, 2) * -2, []), (1, 2))  # an id of one value only
def test_decision_on_two_copies_agrees_with_their_bytes(first, second, grid):
    ranges, axes = ranges_of(grid)
    nbytes = 1 << 20
    inside = [at_least(first[0] + (1 << 10)), at_least(second[0] + (1 << 10))]
    sides = [(term + (1 << 10), 4, (*holds, within))
             for (term, holds), within in zip((first, second), inside, strict=True)]  # fmt: skip
    if not axes:
        return

    question = Question(*sides, Actors(axes), ranges, nbytes)
    decision = prove(question.claim, question.given, seconds=1.0)

    met = meet(first, second, grid, (4, 4))
    if isinstance(decision, Proven):
        assert not met
    if isinstance(decision, Refuted):
        assert met
        byte = question.byte(decision.model)
        x, y = _AXES[:2]
        programs = [at.get(x, 0) + grid[0] * at.get(y, 0) for at in question.sides(decision.model)]
        assert programs[0] != programs[1]
        for access, program_ in zip((first, second), programs, strict=True):
            who, places, _ = points_of(access, grid)
            own = places[who == program_]
            assert ((own <= byte - (1 << 10)) & (byte - (1 << 10) < own + 4)).any()


# -- two lanes of one program ---------------------------------------------------------------------

_LANES = tuple(symbol for term in (I0, I1) for symbol in term.symbols("lane"))


def not_a_lane(symbol):
    return symbol.kind != "lane"


@settings(max_examples=usually(20, thorough=600), deadline=None)
@given(accesses(), accesses(), st.booleans(), _GRIDS, _WIDTHS)
def test_lanes_proven_apart_never_touch_the_same_byte(first, second, alone, grid, widths):
    other = first if alone else second
    widths = (widths[0], widths[0]) if alone else widths
    ranges, _ = ranges_of(grid)
    one = side(*first, ranges, widths[0])
    two = one if alone else side(*other, ranges, widths[1])

    if Common(one, two, not_a_lane).are_equal(_LANES):
        assert not meet(first, other, grid, widths, lanes=True)


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(accesses(), accesses(), st.booleans(), _GRIDS)
def test_decision_on_two_lanes_agrees_with_their_bytes(first, second, alone, grid):
    ranges, _ = ranges_of(grid)
    both = (first, first if alone else second)
    sides = [(term + (1 << 10), 4, (*holds, at_least(term + (1 << 10)))) for term, holds in both]

    question = Question(*sides, Actors(_LANES, not_a_lane), ranges, 1 << 20)
    decision = prove(question.claim, question.given, seconds=1.0)

    met = meet(*both, grid, (4, 4), lanes=True)
    if isinstance(decision, Proven):
        assert not met
    if isinstance(decision, Refuted):
        assert met
        one, other = question.sides(decision.model)
        assert any(one.get(symbol, 0) != other.get(symbol, 0) for symbol in _LANES)
        assert all(one[symbol] == other[symbol] for symbol in one if symbol.kind == "program")


def test_tables_evaluate_every_function_of_programs():
    for extent, by in product((6, 9), (2, 3, 4)):
        for function in (quotient, remainder, minimum, maximum):
            number = function(P, by)
            values = {int(number.value({_AXES[0]: p})) for p in range(extent)}
            found = is_one_program((number * 8 + I0) * 4, [], (extent,))
            assert found is (len(values) == extent)
