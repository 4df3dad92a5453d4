"""Verdicts made of outcomes of pairs: precedence of outcomes, and the reported reason."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.outcomes import NoConflict, Undecided
from kvtrace.verdicts.conflicts.pairs import Finding
from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, tensor


@triton.jit
def stored(x, BLOCK: tl.constexpr):
    tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)


def launched(programs):
    return call(stored, (programs,), x=tensor(64), BLOCK=8)


def verdict_of(*outcomes):
    bound = BoundCall(launched(2))
    (op,) = (op for op in bound.call.module.ops if op.name == "tt.store")
    finding = Finding(op)
    for outcome in outcomes:
        finding.add(outcome)
    return finding.verdict(bound, "race")


def test_an_open_pair_that_no_evaluation_decides_gives_the_reason():
    verdict = verdict_of(
        NoConflict("affine"), Undecided("of data"), Undecided("of assembly", evaluating=False)
    )
    assert (verdict.verdict, verdict.reason, verdict.evaluating) == (
        "unknown",
        "of assembly",
        False,
    )


def test_an_op_is_evaluated_if_an_evaluation_may_decide_all_open_pairs():
    verdict = verdict_of(Undecided("of data"), Undecided("of more"))
    assert (verdict.reason, verdict.evaluating) == ("of data", True)


def test_a_proof_has_its_most_expensive_method_all_reasons_and_the_assumption():
    verdict = verdict_of(
        NoConflict("evaluated", "by orders"),
        NoConflict("affine", "by a lock", assumption="locks are open"),
    )
    assert (verdict.verdict, verdict.method) == ("proven", "evaluated")
    assert verdict.message.endswith("(by orders; by a lock)")
    assert verdict.assumption == "locks are open"


@pytest.mark.parametrize(("programs", "why"), [(0, "no program"), (1, "one program"), (2, None)])
def test_a_grid_without_two_programs_has_no_race(programs, why):
    (verdict,) = judge(launched(programs), ["race"])
    assert verdict.verdict == "proven"
    assert verdict.message.endswith(f"(the grid has {why})") == (why is not None)
