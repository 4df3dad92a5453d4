"""Programs that atomics let in one by one, or only seem to."""

import pytest
import torch
import triton
import triton.language as tl

from tests.verdicts.racing import call_of, judged


@triton.jit
def in_turn(turn, row, EARLY: tl.constexpr):
    while tl.atomic_add(turn, 0, sem="acquire") < tl.program_id(0) - EARLY:
        pass
    tl.store(row, tl.load(row) * 2 + tl.program_id(0))
    tl.atomic_add(turn, 1, sem="release")


@triton.jit
def counted_before_and_after(turn, row, EARLY: tl.constexpr):
    if tl.atomic_add(turn, 1, sem="acq_rel") >= 0:
        tl.store(row, tl.load(row) * 2 + tl.program_id(0))
    tl.atomic_add(turn, 1, sem="acq_rel")


@triton.jit
def meeting(turn, row, EARLY: tl.constexpr):
    """All programs store, wait for each other, and load what the others have stored."""
    tl.store(row + tl.program_id(0), tl.program_id(0))
    tl.atomic_add(turn, 1, sem="release")
    while tl.atomic_add(turn, 0, sem="acquire") < tl.num_programs(0) - EARLY:
        pass
    tl.store(row + 8 + tl.program_id(0), tl.sum(tl.load(row + tl.arange(0, 4))))


def verdicts(kernel, early):
    tensors = {name: torch.zeros(16, dtype=torch.int32) for name in ("turn", "row")}
    found = judged(call_of(kernel, (4,), tensors, {"EARLY": early}, recorded=True))
    return {verdict.verdict for verdict in found if verdict.arg == "row"}


@pytest.mark.parametrize("kernel", [in_turn, meeting])
def test_programs_that_wait_for_each_other_are_ordered(kernel):
    assert verdicts(kernel, 0) == {"proven"}


@pytest.mark.parametrize(
    ("kernel", "early"), [(in_turn, 1), (counted_before_and_after, 0), (meeting, 1)]
)
def test_programs_that_a_broken_turn_admits_too_early_race(kernel, early):
    assert "violation" in verdicts(kernel, early)
