"""Programs with accesses around barriers, also barriers on some paths only, or false ones."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, mirror, mirrored, numbers
from corpus.questions.races import cases_of, one_program, within
from kvtrace.evaluate import assembly


@within(
    "branch not taken", False, "the branch with the barrier is not taken", numbers(3), mirrored()
)
@within("branch taken", True, "the branch with the barrier is taken", numbers(9), mirrored("|"))
@triton.jit
def barrier_in_branch(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    if n > 5:
        tl.debug_barrier()
    tl.store(x + lanes, values)


@within(
    "barrier for program 0 alone",
    False,
    "program 1 has no barrier",
    lambda: (torch.arange(1024.0),),
    lambda: mirrored("|")() and mirrored()(),
    grid=(2,),
)
@triton.jit
def barrier_of_one_program(x, BLOCK: tl.constexpr = 512):
    pid = tl.program_id(0)
    base = x + pid * BLOCK
    lanes = tl.arange(0, BLOCK)
    values = tl.load(base + BLOCK - 1 - lanes)
    if pid == 0:
        tl.debug_barrier()
    tl.store(base + lanes, values)


@within(
    "barrier in no trip", False, "the loop with the barrier has no trip", numbers(0), mirrored()
)
@within(
    "barrier in one trip", True, "the loop with the barrier has one trip", numbers(1), mirrored("|")
)
@within(
    "barrier in wrapped trips",
    False,
    "n + 3 wraps around, so that the loop has no trip",
    numbers(2**31 - 2),
    mirrored(),
)
@triton.jit
def barrier_in_loop(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    begin = tl.where(n > 2000000000, n, 0)
    end = tl.where(n > 2000000000, n + 3, n)
    for _ in range(begin, end):
        tl.debug_barrier()
    tl.store(x + lanes, values)


@within(
    "barrier in while, one trip",
    True,
    "the loop has a trip: 2^30 doubles to a negative number",
    numbers(2**30),
    mirrored("|"),
)
@within(
    "barrier in while, no trip",
    False,
    "the loop begins with a negative number",
    numbers(-5),
    mirrored(),
)
@triton.jit
def barrier_in_while(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    k = n
    while k > 0:
        tl.debug_barrier()
        k = k * 2
    tl.store(x + lanes, values)


@triton.jit(noinline=True)
def meet(n):
    tl.debug_barrier()
    return n + 1


@triton.jit(noinline=True)
def do_not_meet(n):
    return n + 1


@within(
    "barrier in a function",
    True,
    "a function that is not inlined has a barrier",
    numbers(1),
    mirrored("|"),
)
@triton.jit
def calls_barrier(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    more = meet(n)
    tl.store(x + lanes, values + more)


@within(
    "no barrier in a function",
    False,
    "a function that is not inlined has none",
    numbers(1),
    mirrored(),
)
@triton.jit
def calls_no_barrier(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    more = do_not_meet(n)
    tl.store(x + lanes, values + more)


for barrier in (
    "bar.sync 0;",
    "membar.gl;",
    "bar.warp.sync 0xffffffff;",
    "barrier.cta.arrive 1, 256;",
    "bar.sync 1, 64;",
):
    assembly(f"{barrier} mov.b32 $0, $1;")(lambda values: values)  # how programs compute, alone
assembly("mov.b32 $0, $1; // bar.sync 0;")(lambda values: values)


@within(
    "bar.sync in asm",
    True,
    "inline PTX holds a barrier of all threads",
    numbers("bar.sync 0; mov.b32 $0, $1;"),
    mirrored("|"),
)
@within(
    "bar.sync in a comment of asm",
    False,
    "the barrier is in a comment of inline PTX",
    numbers("mov.b32 $0, $1; // bar.sync 0;"),
    mirrored(),
)
@within(
    "membar in asm",
    False,
    "a fence of memory holds no thread",
    numbers("membar.gl; mov.b32 $0, $1;"),
    mirrored(),
)
@within(
    "barrier of a warp in asm",
    False,
    "it holds the threads of one warp",
    numbers("bar.warp.sync 0xffffffff; mov.b32 $0, $1;"),
    mirrored(),
)
@within(
    "barrier that arrives in asm",
    False,
    "threads arrive at a barrier and do not wait",
    numbers("barrier.cta.arrive 1, 256; mov.b32 $0, $1;"),
    mirrored(),
)
@within(
    "barrier of two warps in asm",
    False,
    "any two warps that come first leave it",
    numbers("bar.sync 1, 64; mov.b32 $0, $1;"),
    mirrored(),
)
@triton.jit
def barrier_in_asm(x, ASM: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    tl.inline_asm_elementwise(ASM, "=r,r", [lanes], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x + lanes, values)


def clusters(address):
    """Return the truth for two CTAs of 256 lanes, whose barrier holds each CTA's own threads."""

    def evaluated():
        loads = {address(lane): lane for lane in range(B)}
        return all(loads[lane] // 256 == lane // 256 for lane in range(B) if lane in loads)

    return evaluated


@within(
    "barrier of two CTAs, mirrored",
    False,
    "lanes of one CTA load what those of the other one store",
    numbers(512),
    clusters(mirror),
    num_ctas=2,
)
@within(
    "barrier of one CTA, mirrored",
    True,
    "there is one CTA",
    numbers(512),
    mirrored("|"),
    num_ctas=1,
)
@triton.jit
def barrier_in_cluster(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + n - 1 - lanes)
    tl.debug_barrier()
    tl.store(x + lanes, values)


@within(
    "early return before the barrier",
    True,
    "a program that returns early touches nothing",
    lambda: (torch.arange(512.0), torch.zeros(1, dtype=torch.int32)),
    mirrored("|"),
)
@triton.jit
def returns_early(x, flag, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    if tl.load(flag) != 0:
        return
    values = tl.load(x + BLOCK - 1 - lanes)
    tl.debug_barrier()
    tl.store(x + lanes, values)


@within(
    "barrier unless a flag is set",
    False,
    "the recorded flag jumps over the barrier",
    lambda: (torch.arange(512.0), torch.ones(1, dtype=torch.int32)),
    mirrored(),
)
@triton.jit
def barrier_unless_flag(x, flag, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    if tl.load(flag) == 0:
        tl.debug_barrier()
    tl.store(x + lanes, values)


def histogram(barrier):
    """Return the truth for lanes that count in bins, then load a bin each, after `barrier`."""
    steps = ("|",) if barrier else ()
    return lambda: one_program(
        B, ("a", lambda lane: lane * 7 % 64), *steps, ("r", lambda lane: lane % 64)
    )


def counted(barrier):
    return lambda: (
        torch.arange(512, dtype=torch.int32) * 7 % 64,
        torch.zeros(64, dtype=torch.int32),
        torch.zeros(512, dtype=torch.int32),
        barrier,
    )


@within(
    "histogram, then read",
    False,
    "a lane reads a bin while others still count",
    counted(False),
    histogram(False),
)
@within(
    "histogram, barrier, read",
    True,
    "all lanes have counted before any reads",
    counted(True),
    histogram(True),
)
@triton.jit
def histogram_kernel(source, bins, result, BARRIER: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(source + lanes), 1)
    if BARRIER:
        tl.debug_barrier()
    tl.store(result + lanes, tl.load(bins + lanes % 64))


CASES = cases_of(__name__)
