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


@triton.jit
def handed_over_twice(flag, own, sums, FIRST: tl.constexpr, UNTIL: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(own, 5)
        tl.atomic_xchg(flag, 1, sem=FIRST)
        tl.atomic_xchg(flag, 2, sem="release")
    else:
        while tl.atomic_add(flag, 0, sem="acquire") < UNTIL:
            pass
        tl.store(sums + tl.program_id(0), tl.load(own))


@pytest.mark.parametrize(
    ("first", "until", "answers"),
    [
        ("release", 1, {"proven"}),
        ("relaxed", 1, {"violation", "proven"}),  # a reader may go on before the second exchange
        ("relaxed", 2, {"proven"}),
    ],
)
def test_a_reader_may_go_on_by_each_number_that_a_flag_has(first, until, answers):
    flags = {"flag": zeros(1), "own": tensor(1, dtype="i32"), "sums": tensor(5, dtype="i32")}
    judged = judge(call(handed_over_twice, (3,), **flags, FIRST=first, UNTIL=until), ["race"])
    assert {verdict.verdict for verdict in judged if verdict.access == "store"} == answers


@triton.jit
def stored_and_flagged(x, flag, own, sums, BY_TMA: tl.constexpr, BY_DATA: tl.constexpr):
    lanes = tl.arange(0, 512)
    if tl.program_id(0) == 0:
        if BY_TMA:
            rows = tl.make_tensor_descriptor(own, [1, 512], [512, 1], [1, 512])
            rows.store([0, 0], lanes[None, :])
        else:
            tl.store(own + lanes, lanes)
        if BY_DATA:
            if tl.load(x) == 1:
                tl.debug_barrier()
        else:
            tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_add(flag, 0, sem="acquire") == 0:
            pass
        tl.store(sums + lanes, tl.load(own + lanes))


@pytest.mark.parametrize(
    ("by_tma", "number", "answers"),
    [
        (False, None, {"proven"}),
        (False, 1, {"proven"}),
        (False, 2, {"unknown", "proven"}),  # as the code is not compiled
        (True, None, {"unknown", "proven"}),  # copied when the barrier is passed, or later
    ],
)
def test_a_release_orders_what_a_barrier_on_the_way_has_ended(by_tma, number, answers):
    tensors = {name: tensor(512, dtype="i32") for name in ("own", "sums")}
    given = {"x": ids(number or 0), "flag": zeros(1), **tensors}
    constants = {"BY_TMA": by_tma, "BY_DATA": number is not None}
    judged = judge(call(stored_and_flagged, (2,), **given, **constants), ["race"])
    assert {verdict.verdict for verdict in judged if verdict.access == "store"} == answers


@triton.jit(noinline=True)
def wait_for(flag, number):
    while tl.atomic_add(flag, 0, sem="acquire") < number:
        pass


@triton.jit(noinline=True)
def wait_by_call(flag, number):
    wait_for(flag, number)


@triton.jit
def waiting_in_loop(x, flag, own, sums, n, STAGES: tl.constexpr, WAIT: tl.constexpr):
    lanes = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    if tl.program_id(0) == 0:
        for i in range(n):
            tl.store(own + i * 256 + lanes, (lanes * 0).to(tl.float16))
            tl.debug_barrier()
            tl.atomic_xchg(flag, i + 1, sem="release")
    else:
        total = tl.zeros([16, 16], tl.float32)
        for i in tl.range(n, num_stages=STAGES):
            if WAIT == "call":
                wait_for(flag, tl.minimum(i + 2, n))
            elif WAIT == "call of call":
                wait_by_call(flag, tl.minimum(i + 2, n))
            elif i % 2 == 0 or WAIT == "loop":
                while tl.atomic_add(flag, 0, sem="acquire") < tl.minimum(i + 2, n):
                    pass
            total = tl.dot(tl.load(own + i * 256 + lanes), tl.load(x + lanes), total)
        tl.store(sums + lanes, total)


@pytest.mark.parametrize(
    ("stages", "wait", "answers"),
    [
        (1, "branch", {"proven"}),
        (3, "loop", {"proven"}),  # a loop with a loop in its body is not pipelined
        (3, "branch", {"unknown", "proven"}),  # its loads of later trips are moved over the branch
        (1, "call", {"proven"}),
        (3, "call", {"unknown", "proven"}),
        (3, "call of call", {"unknown", "proven"}),
    ],
)
def test_a_wait_in_a_pipelined_loop_may_be_overtaken_by_loads(stages, wait, answers):
    halves = {"x": tensor(256, dtype="fp16"), "own": tensor(1024, dtype="fp16")}
    given = {"flag": zeros(1), "sums": tensor(256, dtype="fp32"), "n": 4, **halves}
    judged = judge(call(waiting_in_loop, (2,), **given, STAGES=stages, WAIT=wait), ["race"])
    assert {verdict.verdict for verdict in judged if verdict.access == "store"} == answers
