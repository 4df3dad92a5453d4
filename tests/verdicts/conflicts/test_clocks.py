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


@triton.jit
def waits_for_all_but(turn, row, EARLY: tl.constexpr):
    p = tl.program_id(0)
    if p < 3:
        tl.store(row + p, p + 1)
        tl.debug_barrier()
        tl.atomic_add(turn, 1)
    else:
        while tl.atomic_add(turn, 0) < 3 - EARLY:
            pass
        tl.debug_barrier()
        tl.store(row + 8, tl.load(row))


@triton.jit
def ticket_before_last(turn, row, EARLY: tl.constexpr):
    tl.store(row + tl.program_id(0), tl.program_id(0) + 1)
    tl.debug_barrier()
    if tl.atomic_add(turn, 1) == 3 - EARLY:
        tl.debug_barrier()
        tl.store(row + 8, tl.load(row + 1))


@triton.jit
def ticket_of_any(turn, row, EARLY: tl.constexpr):
    """As the one above; which byte is loaded depends on the program that draws the number."""
    tl.store(row + tl.program_id(0), tl.program_id(0) + 1)
    tl.debug_barrier()
    if tl.atomic_add(turn, 1) == 3 - EARLY:
        tl.debug_barrier()
        tl.store(row + 8, tl.load(row + (tl.program_id(0) + 2) % 4))


@triton.jit
def reads_before_all_but(turn, row, EARLY: tl.constexpr):
    p = tl.program_id(0)
    if p < 3:
        tl.store(row + 8 + p, tl.load(row + p))
        tl.debug_barrier()
        tl.atomic_add(turn, 1)
    else:
        while tl.atomic_add(turn, 0) < 3 - EARLY:
            pass
        tl.debug_barrier()
        tl.store(row, 5)


WAITING = [waits_for_all_but, ticket_before_last, ticket_of_any, reads_before_all_but]


@triton.jit
def meeting_twice(turn, row, EARLY: tl.constexpr):
    """The programs that come first to the second meeting may leave before the last one comes."""
    p, n = tl.program_id(0), tl.num_programs(0)
    for trip in range(2):
        tl.store(row + 16 * trip + p, p)
        tl.atomic_add(turn, 1, sem="release")
        while tl.atomic_add(turn, 0, sem="acquire") < (n - EARLY * trip) * (trip + 1):
            pass
        tl.store(row + 64 + p, tl.load(row + 16 * trip + (p + 1) % n))


@triton.jit
def counted_before_the_release(turn, row, EARLY: tl.constexpr):
    """With EARLY, what releases the store comes after the count that others wait for."""
    p = tl.program_id(0)
    tl.store(row + p, p + 5)
    if EARLY:
        tl.atomic_add(turn, 1, sem="relaxed")
        tl.atomic_add(turn, 0)
    else:
        tl.atomic_add(turn, 0)
        tl.atomic_add(turn, 1, sem="relaxed")
    while tl.atomic_add(turn, 0) < 4:
        pass
    tl.store(row + 8 + p, tl.load(row + (p + 1) % 4))


@triton.jit
def swapped_before_the_release(turn, row, EARLY: tl.constexpr):
    """With EARLY, the swap changes nothing, and what releases the store comes after the count."""
    p = tl.program_id(0)
    tl.store(row + p, p + 5)
    if EARLY:
        tl.atomic_add(turn, 1, sem="relaxed")
        tl.atomic_add(turn, 0)
        tl.atomic_cas(turn, -1, 9, sem="relaxed")
    else:
        tl.atomic_add(turn, 1, sem="release")
        tl.atomic_cas(turn, -1, 9, sem="relaxed", scope="cta")
    while tl.atomic_add(turn, 0) < 4:
        pass
    tl.store(row + 8 + p, tl.load(row + (p + 1) % 4))


@triton.jit
def asked_then_set(turn, row, EARLY: tl.constexpr):
    """With EARLY, two programs ask before one sets."""
    if EARLY:
        drawn = tl.atomic_add(turn, 0)
        tl.atomic_xchg(turn, 1)
    else:
        drawn = tl.atomic_xchg(turn, 1)
    if drawn == 0:
        tl.store(row, tl.program_id(0) + 1)


@triton.jit
def numbers_of_programs(turn, row, EARLY: tl.constexpr):
    """With EARLY, programs 0 and 2 both store in one order of the six: 0, 2, 1."""
    p, drawn = tl.program_id(0), tl.atomic_add(turn, 1)
    if ((p == 0) & (drawn == 0)) | ((p == 2) & (drawn == 1)) if EARLY else drawn == 2:
        tl.store(row, p + 1)


COUNTED = [counted_before_the_release, swapped_before_the_release]


def judgments(kernel, early, programs):
    tensors = {name: torch.zeros(96, dtype=torch.int32) for name in ("turn", "row")}
    found = judged(call_of(kernel, (programs,), tensors, {"EARLY": early}, recorded=True))
    return [verdict for verdict in found if verdict.arg == "row"]


def verdicts(kernel, early):
    return {verdict.verdict for verdict in judgments(kernel, early, 4)}


@pytest.mark.parametrize("kernel", [in_turn, meeting, meeting_twice])
def test_one_run_shows_what_waits_order_in_all_orders(kernel):
    """So the cost does not grow by a run for each program."""
    found = judgments(kernel, 0, 12)

    assert {verdict.verdict for verdict in found} == {"proven"}
    assert not any("backwards and shuffled" in verdict.message for verdict in found)


@pytest.mark.parametrize("kernel", [asked_then_set, numbers_of_programs])
def test_what_few_orders_do_not_show_is_found(kernel):
    assert verdicts(kernel, 0) == {"proven"}
    assert verdicts(kernel, 1) == {"violation"}


@pytest.mark.parametrize("kernel", [in_turn, meeting, *COUNTED, *WAITING])
def test_programs_that_wait_for_each_other_are_ordered(kernel):
    assert verdicts(kernel, 0) == {"proven"}


@pytest.mark.parametrize(
    ("kernel", "early"),
    [
        (in_turn, 1),
        (counted_before_and_after, 0),
        (meeting, 1),
        (meeting_twice, 1),
        *((kernel, 1) for kernel in COUNTED),
        *((kernel, 1) for kernel in WAITING),
    ],
)
def test_programs_that_a_broken_turn_admits_too_early_race(kernel, early):
    assert "violation" in verdicts(kernel, early)
