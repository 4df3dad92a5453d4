"""What Z3 is told of terms."""

import weakref

import pytest

from kvtrace.symbolic.bits import bitwise
from kvtrace.symbolic.conditions import Opaque, at_least, equal, less
from kvtrace.symbolic.functions import minimum, quotient, remainder
from kvtrace.symbolic.prover import Given, Proven, Ranges, Refuted, Unknown, prove
from kvtrace.symbolic.terms import lane, program, scalar, signed_range

pytest.importorskip("z3")

from kvtrace.symbolic.prover import solver

RANGES = {("program", 0): (0, 1000), ("scalar", 0): signed_range(32)}


def counterexample(claim, *given, seconds=5.0):
    return solver.counterexample(claim, given, Ranges(RANGES), seconds)


def test_solver_proves_that_grouped_tiles_stay_in_the_matrix():
    """As in matrix products: the divisor itself varies."""
    tiles_down, in_group = 25, 8 * 40
    i = program(0)
    first = quotient(i, in_group) * 8
    height = minimum(tiles_down - first, 8)
    down = first + remainder(remainder(i, in_group), height)
    inside = less(i, tiles_down * 40)

    assert counterexample(less(down, tiles_down), inside) is None
    point = counterexample(less(down, tiles_down - 1), inside)
    assert down.value(point) == tiles_down - 1


def test_solver_proves_that_squares_are_not_negative():
    n = scalar(0)
    assert counterexample(at_least(n * n)) is None
    assert counterexample(at_least(n * n, n)) is None


def test_counterexample_of_the_solver_has_numbers_for_all_symbols():
    i, n = program(0), scalar(0)
    point = counterexample(less(quotient(i, 3) * 3 + lane(0, 4), n), equal(n, 30))

    assert {symbol.kind for symbol in point} == {"program", "scalar", "lane"}
    assert equal(n, 30).value(point)
    assert not less(quotient(i, 3) * 3 + lane(0, 4), n).value(point)


@pytest.mark.parametrize("floor", [False, True])
def test_solver_divides_exactly_by_zero_and_negative_numbers(floor):
    i, n = program(0), scalar(0)
    identity = equal(quotient(i, n, floor=floor) * n + remainder(i, n, floor=floor), i)

    decision = prove(identity, Given([less(n, 4)], Ranges(RANGES)), seconds=5)

    assert not isinstance(decision, Refuted)


def test_counterexample_has_truths_of_opaque_conditions():
    opaque = Opaque(3, "depends on floats")
    point = counterexample(at_least(program(0), 1), opaque)

    assert point[opaque] == 1


def test_counterexample_with_wrong_bits_is_not_accepted():
    i, n = program(0), scalar(0)
    never = less(bitwise("xor", i, n, 32), -1 - (1 << 40))
    assert prove(~never, Given([at_least(n)], Ranges(RANGES))) == Proven("interval")

    parity = equal(remainder(bitwise("and", i, n, 32) + bitwise("or", i, n, 32) - i - n, 2))
    assert isinstance(prove(parity, Given([at_least(n)], Ranges(RANGES))), Unknown | Refuted)


def test_solver_that_reaches_its_time_limit_gives_the_reason():
    """Fermat's last theorem for cubes, of numbers up to 2^31."""
    a, b, c = (scalar(position) for position in range(3))
    given = (at_least(a, 1), at_least(b, 1), at_least(c, 1))
    found = solver.counterexample(~equal(a * a * a + b * b * b, c * c * c), given, Ranges({}), 0.05)

    assert isinstance(found, str)
    assert found.startswith("the solver gave up")


@pytest.mark.costly("fifty contexts of Z3; other counterexamples stay by day")
def test_counterexample_does_not_depend_on_formulas_before_it():
    """Z3 sorts expressions by when they were made in a context, and its search follows."""
    w, x, y, z = map(scalar, range(4))
    claim = ~(~equal(x * y + remainder(z, 7), w * 3 + 5) & less(z + 3, y))
    lanes = equal(remainder(x + y * 2 + z * 3, 11), 4)
    rows = at_least(quotient(x, 3) + remainder(w, 5), y - z)
    ranges = {("scalar", position): (0, 99_999) for position in range(4)}

    first = solver.counterexample(claim, (lanes, rows), Ranges(ranges), 5.0)
    for number in range(50):
        counterexample(less(program(0) * number, scalar(4)), less(scalar(number % 4), number))

    assert solver.counterexample(claim, (lanes, rows), Ranges(ranges), 5.0) == first


def test_only_the_context_of_the_latest_ranges_is_alive(monkeypatch):
    """A context takes 34 MB; ranges are in cycles, which only a collection frees."""
    contexts = []

    class Context(solver.z3.Context):
        def __init__(self):
            super().__init__()
            contexts.append(weakref.ref(self))

    monkeypatch.setattr(solver.z3, "Context", Context)

    for high in range(1, 5):
        ranges = Ranges({("scalar", 0): (0, high)})
        for low in range(2):
            solver.counterexample(less(scalar(0) * scalar(0), low), (), ranges, 5.0)

    assert len(contexts) == 4
    assert [context() is not None for context in contexts] == [False, False, False, True]
