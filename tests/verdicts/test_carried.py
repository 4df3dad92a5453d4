"""Proven ranges of loop-carried integers contain the evaluated ones, and decide accesses."""

import numpy as np
import pytest

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.terms import Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules.table import default_rules
from tests.verdicts import carried_kernels as kernels
from tests.verdicts.calls import call, tensor

ROWS, COUNT, MOST = 3, 40, 18


def tables(n, room=0, **data):
    """Arguments of a search in a table of n, whose result is looked up in n + 1 + room."""
    return {"table": tensor(n, dtype="i32", **data), "x": tensor(n + 1 + room),
            "out": tensor(64), "n": n}  # fmt: skip


def rows(count, room=0, **data):
    """Arguments of what gathers a row's elements at its beginning."""
    return {"source": tensor(ROWS * count, **data), "buffer": tensor(ROWS * count + room),
            "out": tensor(ROWS)}  # fmt: skip


def tries(room=0, **data):
    return {"source": tensor(ROWS * MOST, **data), "table": tensor(MOST + 1 + room),
            "out": tensor(ROWS), "n": 0}  # fmt: skip


CASES = {
    "search": lambda room=0, **data: call(
        kernels.search, (9,), BLOCK=16, **tables(100, room, **data)),
    "search_of_last": lambda room=0, **data: call(
        kernels.search_of_last, (9,), BLOCK=16, **tables(100, room - 1, **data)),
    "search_by_lanes": lambda room=0, **data: call(
        kernels.search_by_lanes, (2,), STEPS=9, BLOCK=16, **tables(100, room + 1, **data)),
    "compact": lambda room=0, **data: call(
        kernels.compact, (ROWS,), COUNT=COUNT, BLOCK=16, **rows(COUNT, room, **data)),
    "compact_from_behind": lambda room=0, **data: call(
        kernels.compact_from_behind, (ROWS,), COUNT=64, BLOCK=64, **rows(64, room, **data)),
    "until_found": lambda room=0, **data: call(
        kernels.until_found, (ROWS,), MOST=MOST, **tries(room, **data)),
    "clamped": lambda room=0, **data: call(
        kernels.clamped, (2,), BLOCK=16, **tables(100, room - 1, **data)),
}  # fmt: skip


#: Those of lanes of one program ask what a scan counts, which no bound of it tells.
RULES = [rule for rule in default_rules() if rule not in ("lane-conflict", "race-within-program")]


def undecided(found):
    return [(v.rule, v.verdict, v.message) for v in judge(found, RULES) if v.verdict != "proven"]


@pytest.mark.parametrize("name", CASES)
def test_accesses_by_carried_integers_are_proven_without_contents(name):
    assert undecided(CASES[name]()) == []


@pytest.mark.parametrize("name", CASES)
def test_a_tensor_with_one_element_less_is_out_of_bounds(name):
    rules = {rule for rule, _, _ in undecided(CASES[name](room=-1))}
    assert rules == {"out-of-bounds"}


def test_a_search_in_more_than_half_of_the_integers_may_wrap_around():
    n = 2**30 + 2
    found = undecided(call(kernels.search, (9,), BLOCK=16, **tables(n)))
    assert len(found) == 2
    assert all("(arith.addi) may not fit into 32 bits" in message for _, _, message in found)
    assert undecided(call(kernels.search, (9,), BLOCK=16, **tables(2**30))) == []


class Seen(Instrument):
    """Keeps the least and the greatest of each op's integers."""

    def __init__(self, bound):
        super().__init__()
        self._values = bound.summary.values
        self.found = {}

    def wrapped(self, op, step):
        results = [v for v in op.results if integer_bits(v.type) not in (None, 1)]
        results = [v for v in results if isinstance(self._values.get(v.id), Term)]

        def looked_at(values, scope):
            step(values, scope)
            for result in results:
                if not isinstance(values[result.id], Unknown) and len(scope.linear):
                    numbers = full_array(values[result.id], value_type(result.type))
                    self.found.setdefault(result, []).append((numbers.min(), numbers.max()))

        return looked_at if results else step


def contents(name, seed):
    random = np.random.default_rng(seed)
    if name in ("compact", "compact_from_behind"):
        count = COUNT if name == "compact" else 64
        return random.random(ROWS * count, np.float32) ** np.float32(random.choice([0.1, 1, 4]))
    if name == "until_found":
        return random.random(ROWS * MOST, np.float32) * np.float32(random.choice([0.8, 1]))
    if name == "clamped":
        return random.integers(-30, 60, 100).astype(np.int32)
    return np.sort(random.integers(-10, 150, 100)).astype(np.int32)


@pytest.mark.parametrize("name", CASES)
def test_carried_integers_stay_in_the_proven_ranges(name):
    """Whatever tensors hold: ranges of a call that knows no contents hold for all."""
    ranges = BoundCall(CASES[name]()).ranges
    narrow = 0
    for seed in range(6):
        known = CASES[name](data=contents(name, seed))
        bound = BoundCall(known)
        assert bound.summary.module is BoundCall(CASES[name]()).summary.module
        seen = Seen(bound)
        assert run(known, (), contents="all", instrument=seen) is None
        assert seen.found
        for value, ends in seen.found.items():
            low, high = ranges.interval(bound.summary.values[value.id])
            assert low <= min(first for first, _ in ends), (seed, value.owner)
            assert high >= max(last for _, last in ends), (seed, value.owner)
            narrow += high - low < 1 << 20
    assert narrow
