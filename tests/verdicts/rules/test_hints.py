"""Promises to the compiler are compared with the arguments of the call."""

import pytest
import triton
import triton.language as tl

from kvtrace.evaluate import parsed
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules.hints import judge
from tests.support.compile_ttir import compile_generic
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor


def verdicts(of_call):
    return list(judge(BoundCall(of_call)))


@triton.jit
def grouped(x, out, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    lanes = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    lanes = tl.max_contiguous(tl.multiple_of(lanes, GROUP), GROUP)
    tl.store(out + lanes, tl.load(x + lanes))


@pytest.mark.parametrize(
    ("n", "group", "answers"),
    [
        (512, 128, {"proven"}),
        # each group begins at a multiple, but one of them does not count upwards
        (500, 128, {"proven", "violation"}),
        (496, 16, {"proven"}),
        (500, 16, {"proven", "violation"}),
        (500, 4, {"proven"}),
    ],
)
def test_a_contiguity_hint_on_a_remainder_is_checked_by_groups(n, group, answers):
    x, out = tensor(512), tensor(512)
    made = call(grouped, (4,), x=x, out=out, n=n, GROUP=group, BLOCK=128)

    found = verdicts(made)

    assert {verdict.verdict for verdict in found} == answers
    broken = [verdict for verdict in found if verdict.verdict == "violation"]
    assert all("count upwards" in v.message and v.program == (3, 0, 0) for v in broken)


@triton.jit
def multiples(x, out, stride, BLOCK: tl.constexpr):
    row = tl.multiple_of(tl.program_id(0) * stride, 16)
    lanes = tl.arange(0, BLOCK)
    same = tl.max_constancy(lanes // 8, 8)
    tl.store(out + row + lanes, tl.load(x + row + same))


def test_a_hint_of_multiples_is_checked_in_all_programs():
    def judged(stride):
        x, out = tensor(4096), tensor(4096)
        made = call(multiples, (5,), x=x, out=out, stride=stride, BLOCK=32)
        return {verdict.op.name: verdict.verdict for verdict in verdicts(made)}

    assert judged(48) == {"arith.muli": "proven", "arith.divsi": "proven"}
    assert judged(40) == {"arith.muli": "violation", "arith.divsi": "proven"}


@triton.jit
def same_mask(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = tl.max_constancy(lanes < n, 16)
    tl.store(out + lanes, tl.load(x + lanes, mask=inside), mask=inside)


def test_a_mask_that_is_the_same_in_groups_is_so_in_all_lanes():
    def judged(n):
        made = call(same_mask, (1,), x=tensor(64), out=tensor(64), n=n, BLOCK=64)
        return [verdict.verdict for verdict in verdicts(made)]

    assert judged(32) == ["proven"]
    assert judged(37) == ["violation"]


@triton.jit
def assumed(x, out, stride, n, BLOCK: tl.constexpr):
    tl.assume(stride >= n)
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + tl.program_id(0) * stride + lanes, mask=lanes < n))


def test_an_assumption_is_checked_with_the_numbers_of_the_call():
    def judged(stride):
        x, out = tensor(4096), tensor(4096)
        (found,) = verdicts(call(assumed, (5,), x=x, out=out, stride=stride, n=20, BLOCK=32))
        return found

    assert judged(20).verdict == "proven"
    assert judged(19).verdict == "violation"
    assert "(stride >= n) is assumed" in judged(19).message


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def test_specialized_divisibility_is_checked_with_the_arguments():
    types = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    text = compile_generic(copied, types, {"BLOCK": 16}, divisible_by_16=("x", "n"))
    plain = call(copied, (8,), x=tensor(112), out=tensor(112), n=112, BLOCK=16)
    made = replace(plain, module=parsed(text))
    x, out, n = made.arguments
    moved = replace(made, arguments=(replace(x, offset_bytes=4), out, replace(n, value=100)))

    assert verdicts(made) == []
    assert [(v.verdict, v.arg) for v in verdicts(moved)] == [("violation", "x"), ("violation", "n")]


@triton.jit
def carried(x, out, step, n):
    offset = tl.program_id(0) * 0
    for _ in range(n):
        tl.store(out + tl.multiple_of(offset, 16), 1.0)
        offset += step


def test_a_hint_on_a_carried_value_is_proven_for_all_trips():
    def judged(step):
        return verdicts(call(carried, (1,), x=tensor(8), out=tensor(512), step=step, n=9))

    assert {verdict.verdict for verdict in judged(32)} <= {"proven"}
    assert {verdict.verdict for verdict in judged(24)} <= {"violation", "unknown"}
    assert judged(24)
