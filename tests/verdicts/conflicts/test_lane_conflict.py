"""The rule `lane-conflict`: messages, witnesses, and verdicts against brute force."""

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.evaluate import ScalarArgument, evaluate
from kvtrace.ir import parse
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.conflicts import lane_conflict
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import read_only_arguments
from tests.kernels.catalog import CASES
from tests.kernels.launching import with_tensors
from tests.support.replacing import replace
from tests.support.thorough import usually
from tests.support.tiers import some
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.meeting_lanes import Stores
from tests.verdicts.overflow_oracle import _call as call_of_kernel
from tests.verdicts.racing import call_of
from tests.verdicts.random_kernels import I32, I64, LANES, Kernel, Point, Type, _remainder

pytestmark = pytest.mark.usefixtures("free_driver")

RULE = "lane-conflict"


def only(found):
    (verdict,) = found
    return verdict


# -- what it says ----------------------------------------------------------------------------------


@triton.jit
def scattered(x, index, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    at = tl.load(index + lanes, mask=lanes < n, other=0)
    value = tl.load(x + lanes, mask=lanes < n, other=0.0)
    if KIND == "add":
        value += tl.load(out + at, mask=lanes < n, other=0.0)
    tl.store(out + at, value, mask=lanes < n)


def scatter(kind, index, n=4):
    return call(scattered, (1,), x=tensor(8), index=index, out=tensor(8), n=n, KIND=kind, BLOCK=8)


def test_a_violation_names_both_lanes_the_byte_and_both_values():
    verdict = only(judge(scatter("", ids(5, 2, 5, 1)), [RULE]))

    assert verdict.verdict == "violation"
    assert (verdict.program, verdict.lane, verdict.address_offset) == ((0, 0, 0), (0,), 20)
    assert verdict.arg == "out"
    assert (
        "lanes (0,) and (2,) of program (0, 0, 0) both store to byte 20 of out" in verdict.message
    )
    assert "0.015625 and 0.046875" in verdict.message


def test_an_update_without_an_atomic_is_reported_as_a_lost_update():
    verdict = only(judge(scatter("add", ids(5, 2, 5, 1)), [RULE]))

    assert verdict.verdict == "violation"
    assert "tl.atomic_add" in verdict.message


def test_a_proof_by_recorded_indices_names_their_tensor():
    verdict = only(judge(scatter("", ids(5, 2, 3, 1)), [RULE]))

    assert verdict.verdict == "proven"
    assert "for the recorded contents of index" in verdict.message


def test_masked_lanes_do_not_conflict_whatever_their_index():
    assert only(judge(scatter("", ids(5, 2, 5, 1), n=2), [RULE])).verdict == "proven"


def test_unrecorded_indices_are_unknown_with_the_setting_that_records_them():
    verdict = only(judge(scatter("", tensor(4, dtype="i32")), [RULE]))

    assert verdict.verdict == "unknown"
    missing = "the contents of index, which were not recorded (set KVTRACE_TENSORS=int)"
    assert missing in verdict.reason


def test_an_unknown_is_left_out_if_out_of_bounds_is_unknown_for_the_same_op():
    found = judge(scatter("", tensor(4, dtype="i32")))

    assert RULE not in {verdict.rule for verdict in found}
    assert ("out-of-bounds", "unknown") in {(v.rule, v.verdict) for v in found}


@triton.jit
def shared(x, starts, out, stride, BLOCK: tl.constexpr):
    """A block behind a start that is loaded once: 32 bits may not hold the sum."""
    lanes = tl.arange(0, BLOCK)
    start = tl.load(starts + tl.program_id(0))
    tl.store(out + start * stride + lanes, tl.load(x + lanes))


def test_an_offset_that_all_lanes_share_may_be_unknown_and_wrap_around():
    starts = tensor(4, dtype="i32")
    one = call(shared, (4,), x=tensor(64), starts=starts, out=tensor(999), stride=100, BLOCK=64)

    assert only(judge(one, [RULE])).verdict == "proven"


@triton.jit
def once(x, out):
    tl.store(out, tl.load(x + tl.program_id(0)))


def test_a_store_of_one_element_has_no_verdict():
    assert judge(call(once, (4,), x=tensor(4), out=tensor(1)), [RULE]) == []


def test_a_grid_of_no_program_stores_nothing():
    one = scatter("", ids(5, 2, 5, 1))

    assert only(judge(replace(one, grid=(0, 1, 1)), [RULE])).verdict == "proven"


@triton.jit
def doubled(x, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for trip in range(2):
        value = tl.load(x + trip * BLOCK + lanes)
        if KIND == "nothing":
            value = tl.where(lanes >= 0, trip.to(tl.float32), value)
        tl.store(out + lanes % n, value)


def test_two_orders_with_the_same_result_are_no_violation():
    """Halves of one tensor hold the same, as recorded: nothing shows that they differ."""
    data = np.ones(32, np.float32)
    same = call(doubled, (1,), x=tensor(32, data=data), out=tensor(16), n=8, KIND="", BLOCK=16)
    verdict = only(judge(same, [RULE]))

    assert verdict.verdict == "unknown"
    assert "store the same value in the replay" in verdict.reason
    other = call(doubled, (1,), x=tensor(32), out=tensor(16), n=8, KIND="", BLOCK=16)
    assert only(judge(other, [RULE])).verdict == "violation"


def test_proofs_need_no_solver_where_strides_keep_lanes_apart(monkeypatch):
    from kvtrace.verdicts.conflicts import search

    def refused(*_args, **_more):
        raise AssertionError("digits do not decide it")

    monkeypatch.setattr(search, "search_pair", refused)
    monkeypatch.setattr(lane_conflict, "search_pair", refused)
    one = call(doubled, (1,), x=tensor(32), out=tensor(16), n=16, KIND="", BLOCK=16)

    verdict = only(lane_conflict.judge(BoundCall(one)))
    assert (verdict.verdict, verdict.method) == ("proven", "affine")


# -- what lanes do ---------------------------------------------------------------------------------


def check(one, budget=None):
    """Judge a call, and look at what its stores do with the contents that it has."""
    found = judge(one, [RULE], budget)
    seen = Stores()
    try:
        evaluate(one.module, read_only_arguments(one.arguments), one.grid, instrument=seen)
    except KvtraceError:
        return Counter()
    for verdict in found:
        index = verdict.op.index
        if verdict.verdict == "violation" and index in seen.looked:
            assert index in seen.conflict, (one.kernel, verdict)
        elif verdict.verdict == "proven":
            assert index not in seen.conflict, (one.kernel, verdict, one.arguments)
    return Counter(verdict.verdict for verdict in found)


def mutants(one):
    """The call, with integers one off, halved or zero: most of them are strides and sizes."""
    yield one
    for position, argument in enumerate(one.arguments):
        if not isinstance(argument, ScalarArgument) or type(argument.value) is not int:
            continue
        for number in {argument.value - 1, argument.value // 2, 0} - {argument.value}:
            changed = ScalarArgument(argument.name, number)
            given = (*one.arguments[:position], changed, *one.arguments[position + 1 :])
            yield replace(one, arguments=given)


EACH = usually(3, thorough=1)


def test_verdicts_on_the_catalog_and_its_mutants_agree_with_brute_force(say):
    answers, calls = Counter(), 0
    for case in list({id(case.kernel): case for case in CASES}.values())[::EACH]:
        arguments = with_tensors(case.inputs)
        one = call_of(case.kernel, case.grid, arguments, case.constexprs, recorded=True)
        for mutant in mutants(one):
            answers += check(mutant)
            calls += 1
    say("lane-conflict", f"catalog and mutants, {calls} calls: {dict(answers)}, none wrong")
    assert answers["proven"] > 60 / EACH


# -- random kernels --------------------------------------------------------------------------------


ROOM = 1 << 16
BUDGET = Budget(solver_seconds=0.02, solver_seconds_a_call=0.1, seconds_a_call=0.5)


class Scattering(Kernel):
    """A random kernel that stores bytes at random places: lanes, what is loaded, or the places."""

    def _access(self, kind, name):
        del kind
        place = self.expression(self.depth, self.random.choice([I32, I32, I64]), block=True)
        if self.random.random() < 0.7:  # so that most are inside, and some meet
            most = self._constant(place.type, self.random.choice([2, 5, 64, 1000]), block=True)
            place = self._binary("arith.remsi", [place, most], _remainder, reads=True)
        mask = self.comparison(self.depth - 2, block=True) if self.random.random() < 0.4 else None
        kinds = [self.range, place, *self.loaded, self.expression(2, I32, block=True)]
        stored = self._cast(self.random.choice(kinds), Type(8))
        block = f"tensor<{LANES}x!tt.ptr<i8>>"
        splat, pointers = self._name(), self._name()
        self._emit(f'{splat} = "tt.splat"(%{name}) : (!tt.ptr<i8>) -> {block}')
        self._emit(
            f'{pointers} = "tt.addptr"({splat}, {place.ssa}) : ({block}, {place.text}) -> {block}'
        )
        masked = ("", "") if mask is None else (f", {mask.ssa}", f", {mask.text}")
        self._emit(
            f'"tt.store"({pointers}, {stored.ssa}{masked[0]}) <{{boundaryCheck = array<i32>, '
            f"cache = 1 : i32, evict = 1 : i32}}> : ({block}, {stored.text}{masked[1]}) -> ()"
        )
        return place, mask, stored


def truth(case, programs, scalars, contents):
    """Return whether lanes of a store meet, and store different bytes: by Python's integers.

    Lanes outside of the storage store nothing.
    """
    meet = conflict = False
    for program in range(programs):
        point = Point(program, scalars, contents)
        if case.branch is not None and not case.branch.meaning(point)[0].actual:
            continue
        on = [True] * LANES
        if case.mask is not None:
            on = [bool(number.actual) for number in case.mask.meaning(point)]
        places = [number.actual for number in case.place.meaning(point)]
        bytes_ = [number.actual % 256 for number in case.stored.meaning(point)]
        for one, other in combinations(range(LANES), 2):
            if on[one] and on[other] and places[one] == places[other] and 0 <= places[one] < ROOM:
                meet = True
                conflict = conflict or bytes_[one] != bytes_[other]
    return meet, conflict


@pytest.mark.parametrize("part", some(range(4), 4))
def test_verdicts_on_random_kernels_agree_with_python(say, part):
    answers = Counter()
    for seed in range(part, usually(8, thorough=400), 4):
        kernel = Scattering(seed, cases=6, depth=4)
        module = parse(kernel.text)
        stores = [op.index for op in module.ops if op.name == "tt.store"]
        rng = random.Random(seed)
        for _ in range(3):
            scalars = {name: rng.choice([0, 1, 2, 3, 7, 100]) for name in kernel.SCALARS}
            contents = {
                name: [rng.choice([0, 1, 2, 3, 50]) for _ in range(LANES)]
                for name in kernel.TENSORS
            }
            programs = rng.choice([1, 2, 3])
            for recorded in (True, False):
                given = (kernel, module, programs, scalars, contents, ROOM)
                found = judge(call_of_kernel(*given, recorded=recorded), [RULE], BUDGET)
                for verdict in found:
                    case = kernel.cases[stores.index(verdict.op.index)]
                    meet, conflict = truth(case, programs, scalars, contents)
                    answers[verdict.verdict] += 1
                    answers["same"] += meet and not conflict and verdict.verdict == "proven"
                    where = (seed, scalars, contents, programs, recorded, verdict)
                    assert verdict.verdict != "proven" or not conflict, where
                    assert verdict.verdict != "violation" or meet, where
                    assert not (verdict.verdict == "violation" and recorded) or conflict, where
    say("lane-conflict", f"random kernels: {dict(answers)}, none of them wrong")
    assert answers["proven"] > 15
    assert answers["violation"] > 1
