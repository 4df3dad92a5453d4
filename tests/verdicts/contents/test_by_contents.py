"""Claims decided by the values that are read: compared with every point, and with whole grids."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.symbolic.conditions import FALSE, at_least, less
from kvtrace.symbolic.functions import choice, quotient, remainder
from kvtrace.symbolic.prover import Proven, Ranges, Refuted
from kvtrace.symbolic.terms import Substitution, Symbol
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.contents.by_contents import ByContents
from kvtrace.verdicts.contents.loaded import Contents, Recorded
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds
from tests.support.thorough import usually
from tests.support.tiers import some
from tests.symbolic.random_formulas import KNOWN, LANE, PROGRAM, SCALAR, conditions
from tests.verdicts import index_kernels as kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.racing import clashes

UNAFFORDABLE = Budget(lanes=0)
"""Nothing is evaluated over the grid, however small."""

BOUNDS = ("out-of-bounds", "out-of-view")
TRIP = Symbol("trip", 3, 0, 2)


# -- every point ----------------------------------------------------------------------------------


class Table(Contents):
    """Tables of integers that every content symbol is loaded from, one for each contents."""

    def __init__(self, *tables):
        self.sets = Symbol("set", 0, 0, len(tables) - 1)
        numbers = np.concatenate([np.array(table, np.int32) for table in tables])
        self._read_from = Recorded(numbers, 4, 0, 0, len(tables))

    def recorded(self, symbol):
        return self._read_from if symbol.key == (7, 0) else None


def loaded(place):
    return Symbol("content", (7, 0), -(2**31), 2**31 - 1, (place * 4,)).term


def by_contents(*tables):
    table = Table(*tables)
    known = {("trip", 3): (0, 2), ("program", 0): KNOWN["program", 0]}
    return ByContents(table, Ranges(known), (PROGRAM,))


TABLES = st.lists(st.lists(st.integers(-3, 4), min_size=17, max_size=17), min_size=1, max_size=2)


def points():
    for program, lane, trip in itertools.product(range(5), range(6), range(3)):
        yield {PROGRAM: program, LANE: lane, TRIP: trip}


def holds(condition, point, numbers, outside):
    """What a condition is at a point; loads outside of the table give `outside`."""

    def resolve(_, at):
        place, between = divmod(at[0], 4)
        return numbers[place] if not between and 0 <= place < len(numbers) else outside

    return condition.value(point, resolve)


PLACES = {
    "by program": PROGRAM.term,
    "by program and lane": PROGRAM.term * 3 + LANE.term,
    "by lane, past the end": LANE.term * 3 - 1,
    "of all one": PROGRAM.term * 0 + 2,
    "by halves of lanes": PROGRAM.term * 3 + quotient(LANE.term, 2),
    "by digits of both": quotient(PROGRAM.term, 2) * 3 + remainder(LANE.term, 4),
    "of what is loaded": loaded(PROGRAM.term) + LANE.term,
}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=usually(20, thorough=150), deadline=None)
@given(claim=conditions(), supposed=conditions(), tables=TABLES)
def test_decisions_hold_at_every_point(place, claim, supposed, tables):
    replaced = Substitution({SCALAR: loaded(PLACES[place]) - TRIP.term})
    claim, supposed = claim.substitute(replaced), supposed.substitute(replaced)

    decision = by_contents(*tables).prove(claim, [supposed], 0.0)

    if isinstance(decision, Proven):
        for point, outside, numbers in itertools.product(points(), (-100, 0, 2, 100), tables):
            if holds(supposed, point, numbers, outside):
                assert holds(claim, point, numbers, outside), point
    if isinstance(decision, Refuted):
        # what is outside of the table, and not of the model, may be any number
        chosen = [point for point in points() if (point | decision.model).items() >= point.items()]
        assert chosen
        sets = (number for symbol, number in decision.model.items() if symbol.kind == "set")
        numbers = tables[next(sets, 0)]
        for point, outside in itertools.product(chosen, (-100, 0, 2, 100)):
            assert holds(supposed, point | decision.model, numbers, outside), point
            assert not holds(claim, point | decision.model, numbers, outside), point


def test_claims_that_a_table_decides_are_decided():
    """Of what is plainly decided by the numbers that are read nothing is left open."""
    numbers = [5, 1, 4, 2, 3, 1000]
    place = loaded(PROGRAM.term) * 6 + LANE.term
    decided = by_contents(numbers)

    assert isinstance(decided.prove(less(place, 36), (), 0.0), Proven)
    assert isinstance(decided.prove(less(place, 35), (), 0.0), Refuted)
    assert isinstance(decided.prove(less(place, 30), [less(0, PROGRAM.term)], 0.0), Proven)


def test_masked_lanes_without_other_leave_a_claim_open():
    unknown = Symbol("unknown", (9, "a masked lane that nothing fills"), -(2**31), 2**31 - 1).term
    filled = choice(less(LANE.term, 3), loaded(LANE.term), unknown)
    decided = by_contents([0, 1, 2, 3, 4, 5])

    assert isinstance(decided.prove(less(filled, 3), [less(LANE.term, 3)], 0.0), Proven)
    assert not isinstance(decided.prove(less(filled, 3), (), 0.0), Proven | Refuted)


def test_conditions_of_two_sums_are_used_together():
    """Rows of ragged lengths end where the next begins: no range of either alone shows it."""
    ends = [0, 700, 710, 2000, 2001, 5000]
    start, end = loaded(PROGRAM.term), loaded(PROGRAM.term + 1)
    row = Symbol("lane", 1, 0, 4095)
    inside = less(row.term, end - start)

    decision = by_contents(ends).prove(less((start + row.term) * 8 + 7, 40000), [inside], 0.0)
    beyond = by_contents(ends).prove(less((start + row.term) * 8 + 7, 39999), [inside], 0.0)

    assert isinstance(decision, Proven)
    assert isinstance(beyond, Refuted)
    assert (beyond.model[PROGRAM], beyond.model[row]) == (4, 2998)


def test_a_claim_under_impossible_conditions_is_proven():
    decided = by_contents([1, 2, 3, 4, 5])

    assert decided.prove(FALSE, [at_least(loaded(PROGRAM.term), 6)], 0.0) == Proven("interval")


def test_claims_about_numbers_beyond_64_bits_are_left_open():
    value = loaded(PROGRAM.term)
    cube = value * value * value

    small = by_contents([1, 2, 3, 4, 5]).prove(less(cube, 126), (), 0.0)
    large = by_contents([1, 2, 3, 4, 2**30]).prove(less(cube, 2**70), (), 0.0)

    assert isinstance(small, Proven)
    assert not isinstance(large, Proven | Refuted)


# -- whole grids ----------------------------------------------------------------------------------


def random_call(kernel, seed):
    return kernels.CALLS[kernel](np.random.default_rng(seed))


@pytest.mark.parametrize("seed", some(range(25), 5, 1))
@pytest.mark.parametrize("kernel", kernels.CALLS)
def test_verdicts_on_bounds_agree_with_an_evaluation_of_the_grid(kernel, seed):
    one = random_call(kernel, seed)
    seen = EvaluatedBounds(one)
    assert run(one, (seen,), contents="integers") is None
    truth = {(v.op.index, v.rule): v.verdict for v in seen.verdicts(None)}

    found = judge(one, BOUNDS, UNAFFORDABLE)

    for verdict in found:
        if verdict.verdict == "violation":
            assert truth.get((verdict.op.index, verdict.rule)) == "violation"
            assert verdict.program is not None
        elif verdict.verdict == "proven":
            assert truth.get((verdict.op.index, "out-of-bounds")) == "proven"
    open_ones = [v for v in found if v.verdict == "unknown"]
    assert not open_ones, open_ones[0].message


@pytest.mark.parametrize("seed", some(range(25), 5, 1))
@pytest.mark.parametrize("kernel", kernels.CALLS)
def test_verdicts_on_races_agree_with_an_evaluation_of_the_grid(kernel, seed):
    one = random_call(kernel, seed)
    truth, all_known = clashes(one)
    assert all_known

    for verdict in judge(one, ["race"], UNAFFORDABLE):
        pairs = [pair for pair in truth if verdict.op.index in pair]
        if verdict.verdict == "violation":
            assert pairs
        elif verdict.verdict == "proven":
            assert not pairs


# -- large grids ----------------------------------------------------------------------------------


def verdicts_of(one):
    return judge(one, budget=UNAFFORDABLE)


def test_paged_attention_over_a_pool_of_any_size_is_decided():
    sound = verdicts_of(kernels.paged_call(np.random.default_rng(0), 256, 64, 32768))

    assert {v.verdict for v in sound} == {"proven"}


@pytest.mark.parametrize("page", [-1, 40_000])
def test_one_page_outside_of_a_large_pool_is_found(page):
    one = kernels.paged_call(np.random.default_rng(0), 256, 64, 32768, page=((77, 3), page))

    (found,) = [v for v in verdicts_of(one) if v.verdict != "proven"]

    assert (found.rule, found.verdict, found.arg) == ("out-of-bounds", "violation", "pool")
    assert found.program[0] == 77


def test_pages_that_no_program_reads_decide_nothing():
    one = kernels.paged_call(np.random.default_rng(0), 256, 64, 32768, page=((3, -1), 2**31 - 1))

    assert {v.verdict for v in verdicts_of(one)} == {"proven"}


def test_a_race_of_tokens_stored_to_recorded_slots_is_decided():
    rng = np.random.default_rng(0)
    sound = verdicts_of(kernels.slots_call(rng, 65536, 64))
    twice = verdicts_of(kernels.slots_call(rng, 65536, 64, twice=(9, 7)))

    assert {v.verdict for v in sound} == {"proven"}
    (race,) = [v for v in twice if v.verdict == "violation"]
    assert race.rule == "race"
    assert {race.program[0], race.other_program[0]} == {7, 9}


@pytest.mark.parametrize(
    ("place", "target", "race"),
    [(5, 16383, False), (5, -1, True), (5, 16384, True), (0, -1, False), (5, -100, False)],
)
def test_targets_of_rows_are_decided_where_some_are_ignored(place, target, race):
    """Of an ignored row no range excludes the number: only rows that are run count."""
    targets = np.random.default_rng(0).integers(0, 16384, 1024)
    targets[100:200] = -100
    targets[place] = target

    verdicts = judge(kernels.targets_call(targets, 16384), ["race", *BOUNDS], UNAFFORDABLE)

    races = [v for v in verdicts if (v.rule, v.verdict) == ("race", "violation")]
    assert bool(races) == race
    assert all(5 in {v.program[0], v.other_program[0]} for v in races)
    outside = {v.verdict for v in verdicts if v.rule in BOUNDS}
    assert ("violation" in outside) == (place == 0)
    assert "unknown" not in {v.verdict for v in verdicts}


@pytest.mark.costly("a large table; random calls stay by day")
def test_ragged_rows_are_decided():
    rng = np.random.default_rng(0)
    sound = verdicts_of(kernels.ragged_call(rng, 512, 4096))
    beyond = verdicts_of(kernels.ragged_call(rng, 512, 4096, more=1))

    assert {v.verdict for v in sound} == {"proven"}
    broken = {(v.rule, v.arg) for v in beyond if v.verdict == "violation"}
    assert broken == {("out-of-bounds", "x"), ("out-of-bounds", "out")}


def test_recorded_contents_that_the_launch_writes_decide_nothing():
    """The table is written by the launch: what it held decides nothing."""
    written = call(
        kernels.stores_and_gathers, (8,), table=tensor(64, dtype="i32", data=np.zeros(64, "i4")),
        x=tensor(64), out=tensor(64), BLOCK=8,
    )  # fmt: skip

    found = [v for v in judge(written, BOUNDS, UNAFFORDABLE) if v.arg == "x"]

    assert {v.verdict for v in found} == {"unknown"}


def test_endless_loops_are_enumerated_only_up_to_their_conditions():
    """Of a loop without an end nothing is decided; a bound that is loaded ends it."""
    trip = Symbol("trip", 9, 0, (1 << 62) - 1)
    numbers = [3, 1, 2, 0, 9, 9]
    decided = by_contents(numbers)
    claim = less(loaded(trip.term), 4)

    for _ in range(2):
        assert not isinstance(decided.prove(claim, (), 0.0), Proven | Refuted)
    assert isinstance(decided.prove(claim, [less(trip.term, 4)], 0.0), Proven)
    assert isinstance(
        decided.prove(claim, [less(trip.term, loaded(PROGRAM.term - PROGRAM.term))], 0.0), Proven
    )
    assert isinstance(decided.prove(claim, [less(trip.term, loaded(PROGRAM.term))], 0.0), Refuted)


def test_kept_rows_are_reused_only_under_the_same_conditions():
    """Two claims share rows; a claim under other conditions has its own."""
    decided = by_contents([5, 1, 4, 2, 3])
    value = loaded(PROGRAM.term)

    assert isinstance(decided.prove(less(value, 5), [less(0, PROGRAM.term)], 0.0), Proven)
    assert isinstance(decided.prove(less(value, 5), (), 0.0), Refuted)
    assert isinstance(decided.prove(less(value, 4), [less(0, PROGRAM.term)], 0.0), Refuted)
