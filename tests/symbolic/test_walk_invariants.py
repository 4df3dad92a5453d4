"""Bounds that are proven of random loops' integers hold in every trip that is run."""

import random

import pytest

from kvtrace.symbolic.conditions import TRUE, at_least, conjunction, equal, less
from kvtrace.symbolic.functions import choice, maximum, minimum, quotient
from kvtrace.symbolic.meanings.invariants import most_trips, proven_bounds
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.summary import CarriedInteger, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Substitution, Symbol, as_term, signed_range
from kvtrace.verdicts.carried import _InductiveRanges
from tests.support.thorough import usually
from tests.verdicts.calls import call, tensor
from tests.verdicts.carried_kernels import clamped

WIDEST = signed_range(32)


@pytest.fixture(scope="module")
def op():
    """Any op: a loop has one, which nothing here looks at."""
    table = tensor(4, dtype="i32")
    return call(clamped, (1,), table=table, x=table, out=table, n=4, BLOCK=4).module.main.op


class RandomLoop:
    """A loop that carries a few integers, and what it does when it is run."""

    def __init__(self, seed, op):
        self.random = random.Random(seed)
        self.trip = Symbol("trip", 7, 0, self.random.choice([5, 12, MOST_TRIPS]))
        self.scalar = Symbol("scalar", 3, *WIDEST)
        names = range(self.random.randint(1, 3))
        self.now = [
            Symbol("unknown", ((7, name, 0), "carried"), *WIDEST, (self.trip.term,))
            for name in names
        ]
        self.initial = [self.begin() for _ in names]
        carried = tuple(
            CarriedInteger(now, self.step(), initial, (now.key,))
            for now, initial in zip(self.now, self.initial, strict=True)
        )
        going_on = self.condition() if self.random.random() < 0.7 else TRUE
        self.loop = Loop(op, self.trip, as_term(1), TRUE, TRUE, (), going_on, carried)

    def begin(self):
        return self.random.choice([
            as_term(0), as_term(self.random.randint(-5, 9)), self.scalar.term, self.scalar.term - 1,
        ])  # fmt: skip

    def loaded(self):
        low = self.random.choice([0, 0, -4])
        high = low + self.random.randint(1, 9)
        key = (self.random.randint(20, 29), low, high)
        return Symbol("content", key, low, high, (self.trip.term,)).term

    def value(self):
        return self.random.choice(
            [*(now.term for now in self.now), self.trip.term, self.scalar.term]
        )

    def step(self, depth=3):
        now, other = self.random.choice(self.now).term, self.value()
        if depth == 0:
            return self.random.choice([now, now + 1, now - 1, other, as_term(0)])
        first, second = (self.step(depth - 1) for _ in range(2))
        return self.random.choice([
            lambda: choice(self.condition(), first, second),
            lambda: choice(self.condition(), first, second),
            lambda: quotient(now + other, 2) + self.random.randint(-1, 1),
            lambda: now + self.loaded(),
            lambda: now + minimum(self.loaded(), maximum(0, 20 - 3 * self.trip.term)),
            lambda: minimum(first, second),
            lambda: maximum(first, second),
        ])()  # fmt: skip

    def condition(self):
        one, other = self.value(), self.value()
        return self.random.choice([
            less(one, other),
            equal(one - other),
            at_least(self.loaded(), self.random.randint(0, 4)),
            less(one, self.random.randint(0, 12)),
            conjunction((less(one, other), at_least(one))),
        ])  # fmt: skip

    def states(self, scalar):
        """Points of the trips for which the condition is asked, the last one among them."""
        contents = {}

        def resolve(symbol, at):
            return contents.setdefault((symbol, at), self.random.randint(symbol.low, symbol.high))

        numbers = [initial.value({self.scalar: scalar}) for initial in self.initial]
        for trip in range(min(self.trip.high, 30) + 1):
            point = {
                self.trip: trip,
                self.scalar: scalar,
                **dict(zip(self.now, numbers, strict=True)),
            }
            yield point
            if not self.loop.going_on.value(point, resolve):
                return
            numbers = [each.following.value(point, resolve) for each in self.loop.carried]
            if not all(WIDEST[0] <= number <= WIDEST[1] for number in numbers):
                return  # it is not the ideal integer that goes on


def loops(op, first, count):
    for seed in range(first, first + count):
        yield seed, RandomLoop(seed, op)


COUNT = usually(150, thorough=3000)


@pytest.mark.costly("random loops; ranges of scalars stay by day")
def test_proven_bounds_of_random_loops_hold(op):
    told = 0
    for seed, each in loops(op, 0, COUNT):
        kept = proven_bounds(each.loop.carried, each.loop.going_on.conjuncts(), each.trip)
        told += bool(kept)
        for scalar in (-3, 0, 1, 7, 20):
            for point in each.states(scalar):
                at = Substitution({})
                for bound in kept:
                    now = bound.integer.now.term
                    assert bound.holds_for(now, bound.limit).value(point), (seed, bound)
                    assert bound.applied(now, at).value(point) == point[bound.integer.now]
    assert told > COUNT / 3


def test_bound_of_trips_is_not_exceeded(op):
    told = 0
    for seed, each in loops(op, 0, COUNT):
        most = most_trips(each.loop)
        told += most < each.trip.high
        for scalar in (-3, 0, 1, 7, 20):
            for point in each.states(scalar):
                assert point[each.trip] <= most, (seed, most)
    assert told > COUNT / 10


@pytest.mark.costly("random loops of every op; another of the file stays by day")
def test_ranges_with_recorded_scalars_contain_all_values(op):
    told = 0
    for seed, each in loops(op, 0, COUNT):
        for scalar in (-3, 0, 1, 7, 20):
            known = Ranges({("scalar", 3): (scalar, scalar)})
            found = _InductiveRanges(each.loop, known).ranges()
            told += any(high - low < 100 for low, high in found.values())
            for point in each.states(scalar):
                for integer, (low, high) in found.items():
                    assert low <= point[integer.now] <= high, (seed, scalar, integer)
    assert told > COUNT
