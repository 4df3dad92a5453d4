"""Decisions against every point of small ranges."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import kvtrace.symbolic.prover
from kvtrace.symbolic.bits import bitwise
from kvtrace.symbolic.conditions import Opaque, at_least, equal, less
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.prover import (
    Given,
    Proven,
    Ranges,
    Refuted,
    Unknown,
    follows,
    prove,
    strongest,
)
from kvtrace.symbolic.prover.procedure import _decide_at_each_point
from kvtrace.symbolic.terms import as_term, lane, program, scalar
from tests.support.thorough import usually
from tests.symbolic.random_formulas import KNOWN, POINTS, conditions, terms


def check(claim, assumed, seconds):
    decision = prove(claim, Given((assumed,), Ranges(KNOWN)), seconds=seconds)
    if isinstance(decision, Refuted):
        assert assumed.value(decision.model)
        assert not claim.value(decision.model)
    if isinstance(decision, Proven):
        broken = [p for p in POINTS if assumed.value(p) and not claim.value(p)]
        assert not broken, (decision, broken[0])
    return decision


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), conditions())
def test_linear_proofs_and_refutations_are_correct(claim, assumed):
    check(claim, assumed, 0)


@pytest.mark.costly("random claims; chosen ones stay by day")
@settings(
    max_examples=usually(25, thorough=150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(conditions(), conditions())
def test_proofs_and_refutations_of_the_solver_are_correct(claim, assumed):
    check(claim, assumed, 0.2)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), conditions())
def test_decisions_point_by_point_are_correct(claim, assumed):
    decision = _decide_at_each_point(claim, Given((assumed,), Ranges(KNOWN)), 0)
    broken = [p for p in POINTS if assumed.value(p) and not claim.value(p)]

    if decision is not None:
        assert isinstance(decision, Refuted if broken else Proven)
    if isinstance(decision, Refuted):
        assert assumed.value(decision.model)
        assert not claim.value(decision.model)


def test_bits_of_lanes_are_decided_point_by_point():
    """The solver follows no single bits of a xor, so that its counterexamples do not hold."""
    place = lane(0, 16)
    mixed = bitwise("xor", place, as_term(6), 32)
    even = Given((equal(bitwise("and", place, as_term(1), 32), 0),), Ranges({}))

    assert isinstance(prove(less(mixed, 15), even), Proven)
    decision = prove(less(mixed, 14), even)
    assert isinstance(decision, Refuted)
    assert set(decision.model.values()) == {8}


def test_symbols_without_small_ranges_are_not_enumerated():
    wide = scalar(0) * scalar(1)

    assert _decide_at_each_point(less(wide, 5), Given((), Ranges({})), 0) is None


@pytest.mark.costly("random terms; claims about terms stay by day")
@settings(
    max_examples=usually(50, thorough=200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(conditions(), terms())
def test_bounds_of_a_term_hold_wherever_the_assumptions_hold(assumed, term):
    values = [term.value(point) for point in POINTS if assumed.value(point)]

    bounds = Given((assumed,), Ranges(KNOWN)).bounds(term)

    assert not values or (bounds is not None and bounds[0] <= min(values))
    assert not values or (bounds is not None and max(values) <= bounds[1])


def test_bounds_of_a_term_cover_all_possible_alternatives():
    i = program(0)
    either = less(i, 10) | (at_least(i, 20) & less(i, 30))

    assert Given((either,), Ranges(RANGES)).bounds(i * 2) == (0, 58)
    assert Given((less(i, 10), at_least(i, 20)), Ranges(RANGES)).bounds(i) is None


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), conditions())
def test_follows_finds_the_proof_that_prove_finds_without_solver_time(claim, assumed):
    given_ = Given((assumed,), Ranges(KNOWN))
    proof = follows(claim, given_)

    assert proof is None or prove(claim, given_, seconds=0) == proof
    assert proof is not None or not isinstance(prove(claim, given_, seconds=0), Proven)


def test_proof_of_a_conjunction_has_the_strongest_method():
    assert strongest(["affine", "interval", "affine"]) == "affine"
    assert strongest(["solver", "interval"]) == "solver"
    assert strongest([]) == "interval"


RANGES = {("program", 0): (0, 10**9 - 1), ("scalar", 0): (0, 2**31 - 1)}


@pytest.mark.process
def test_z3_is_not_imported_for_linear_claims():
    code = (
        "import sys\n"
        "from kvtrace.symbolic.conditions import less\n"
        "from kvtrace.symbolic.prover import Given, Proven, Ranges, Refuted, prove\n"
        "from kvtrace.symbolic.terms import lane, program\n"
        "place = program(0) * 1024 + lane(0, 1024)\n"
        "ranges = Ranges({('program', 0): (0, 10**9)})\n"
        "below = Given([less(place, 10**6 - 3)], ranges)\n"
        "assert prove(less(place, 10**6), below) == Proven('affine')\n"
        "below = Given([less(place, 10**7)], ranges)\n"
        "assert isinstance(prove(less(place, 10**6), below), Refuted)\n"
        "assert 'z3' not in sys.modules\n"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=root)


def test_nonlinear_claim_is_unknown_without_z3(monkeypatch):
    monkeypatch.setitem(sys.modules, "kvtrace.symbolic.prover.solver", None)
    monkeypatch.delattr(kvtrace.symbolic.prover, "solver", raising=False)
    n = scalar(0)
    decision = prove(at_least(n * n, n), Given((), Ranges({})))

    assert isinstance(decision, Unknown)
    assert "z3-solver is not installed" in decision.reason


def test_counterexample_has_the_first_program():
    place = program(0) * 1024 + lane(0, 1024)
    (axis,) = program(0).atoms()

    decision = prove(less(place, 10**6), Given((), Ranges(RANGES)), order=[axis])

    assert isinstance(decision, Refuted)
    assert decision.model[axis] == 10**6 // 1024


def test_claim_on_a_choice_is_checked_for_both_values():
    i = program(0)
    chosen = choice(less(i, 500), i, 0)

    assert prove(less(chosen, 500), Given((), Ranges(RANGES)), seconds=0) == Proven("affine")
    assert isinstance(prove(less(chosen, 499), Given((), Ranges(RANGES)), seconds=0), Refuted)


def test_any_claim_is_proven_from_impossible_assumptions():
    i = program(0)
    nothing = less(i, 5) & at_least(i, 5)

    assert isinstance(prove(equal(i, 77), Given((nothing,), Ranges(RANGES)), seconds=0), Proven)


def test_each_case_of_an_assumed_disjunction_is_checked():
    i = program(0)
    either = less(i, 5) | equal(i, 9)

    assert prove(less(i, 10), Given((either,), Ranges(RANGES)), seconds=0) == Proven("affine")
    assert isinstance(prove(less(i, 9), Given((either,), Ranges(RANGES)), seconds=0), Refuted)


def test_opaque_assumptions_prove_nothing():
    i = program(0)
    unknown = Opaque(3, "depends on floats")

    decision = prove(less(i, 9), Given((unknown,), Ranges(RANGES)), seconds=0)

    assert isinstance(decision, Refuted)
    assert decision.model[unknown] == 1
