"""Programs that look back over flags: what they read after a flag, in all their orders."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.slot_kernels import zeros

PROGRAMS = 5


@triton.jit
def look_back(flags, own, sums, GIVES: tl.constexpr, TAKES: tl.constexpr, DEFECT: tl.constexpr):
    pid = tl.program_id(0)
    if DEFECT == "flag before sum":
        tl.atomic_xchg(flags + pid, 1, sem=GIVES)
    tl.store(own + pid, pid)
    if pid > 0 and DEFECT != "flag before sum":
        tl.debug_barrier()
        tl.atomic_xchg(flags + pid, 1, sem=GIVES)
    total = 0
    other = pid - 1
    while other >= 0:
        flag = tl.atomic_add(flags + other, 0, sem=TAKES)
        if flag == 2:
            total += tl.load((own if DEFECT == "other tensor" else sums) + other)
            other = -1
        elif flag == 1 or DEFECT == "any flag":
            total += tl.load((sums if DEFECT == "early" else own) + other)
            other -= 1
    if DEFECT == "flag before total":
        tl.atomic_xchg(flags + pid, 2, sem=GIVES)
    tl.store(sums + pid, total + pid)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 2, sem=GIVES)


@triton.jit
def look_back_waiting(flags, own, sums, READY: tl.constexpr, ADDS: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(own + pid, pid)
    tl.debug_barrier()
    if ADDS:
        tl.atomic_add(flags + pid, 1, sem="release")
    else:
        tl.atomic_xchg(flags + pid, 1, sem="release")
    total = 0
    other = pid - 1
    while other >= 0:
        flag = READY
        while flag == READY:
            flag = tl.atomic_add(flags + other, 0, sem="acquire")
        if flag == 2:
            total += tl.load(sums + other)
            other = -1
        else:
            total += tl.load(own + other)
            other -= 1
    tl.store(sums + pid, total + pid)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 2, sem="release")


def verdicts(kernel, flags, **constants):
    sums = {name: tensor(PROGRAMS, dtype="i32") for name in ("own", "sums")}
    judged = judge(call(kernel, (PROGRAMS,), flags=flags, **sums, **constants), ["race"])
    return {verdict.verdict for verdict in judged if verdict.access == "store"}, judged


@pytest.mark.parametrize(
    ("gives", "takes", "defect", "answers"),
    [
        ("release", "acquire", "", {"proven"}),
        ("acq_rel", "acq_rel", "", {"proven"}),
        ("release", "acquire", "other tensor", {"proven"}),  # stored before either flag
        ("release", "acquire", "early", {"violation", "proven"}),
        ("release", "acquire", "any flag", {"violation", "proven"}),
        ("release", "acquire", "flag before sum", {"violation", "proven"}),
        ("release", "acquire", "flag before total", {"violation", "proven"}),
        ("relaxed", "acquire", "", {"violation"}),
        ("release", "relaxed", "", {"violation"}),
    ],
)
def test_what_is_read_after_a_flag_races_unless_it_was_stored_before(gives, takes, defect, answers):
    found, _ = verdicts(look_back, zeros(PROGRAMS), GIVES=gives, TAKES=takes, DEFECT=defect)
    assert found == answers


@pytest.mark.parametrize(
    ("flags", "answers"),
    [
        (zeros(PROGRAMS), {"proven"}),
        (ids(0, 0, 7, 0, 0), {"proven"}),
        (ids(0, 0, 1, 0, 0), {"violation", "proven"}),
        (ids(2, 2, 2, 2, 2), {"violation", "proven"}),
    ],
)
def test_flags_that_are_set_at_the_start_say_nothing(flags, answers):
    assert verdicts(look_back, flags, GIVES="release", TAKES="acquire", DEFECT="")[0] == answers


def test_flags_of_unknown_contents_are_taken_for_open_in_words():
    flags = tensor(PROGRAMS, dtype="i32")
    found, judged = verdicts(look_back, flags, GIVES="release", TAKES="acquire", DEFECT="")

    assert found == {"proven"}
    assert any("all flags are 0 when the kernel starts" in str(v.assumption) for v in judged)


@pytest.mark.parametrize(
    ("ready", "adds", "answers"),
    [
        (0, False, {"proven"}),
        (3, False, {"violation", "proven"}),  # reads 0, and goes on
        (0, True, {"unknown", "proven"}),  # 1 + 1 would be 2, which nobody adds in any order
    ],
)
def test_a_loop_that_waits_for_the_flag_ends_with_what_it_read_last(ready, adds, answers):
    found, _ = verdicts(look_back_waiting, zeros(PROGRAMS), READY=ready, ADDS=adds)
    assert found == answers
