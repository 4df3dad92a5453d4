"""Strides and steps of both signs, loops that count backward, bisection."""

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import INT32_MAX, Evaluation, Launch, Tensor, case, some
from corpus.sizes.masks import LANES

CASES: list[Case] = []


@triton.jit
def reversed_from(x, y, n, last, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (last - i), i < n, 0), i < n)


def reversed_from_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", v.i32(v["last"] - i), i < v["n"])


def last_of(last: int) -> Launch:
    return Launch(
        (4,),
        {"x": Tensor((1009,)), "y": Tensor((1001,)), "n": 1001, "last": last},
        {"BLOCK": LANES},
    )


CASES.append(
    case(
        "reversed-from-last",
        True,
        "1,000 to 1,008 are inside at both ends",
        reversed_from,
        ("last", 1000, 1008),
        (1003,),
        last_of,
        reversed_from_model,
    )
)
CASES.append(
    case(
        "reversed-from-last-below",
        False,
        "999 - 1,000 is before the tensor",
        reversed_from,
        ("last", 999, 1008),
        (1003,),
        last_of,
        reversed_from_model,
    )
)


@triton.jit
def strided(x, y, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + 50 + i * stride, i < 10, 0))


def strided_model(v: Evaluation) -> None:
    i = np.arange(16)
    v.access("x", v.i32(50 + v.i32(i * v["stride"])), i < 10)


def stride_of(stride: int) -> Launch:
    return Launch((1,), {"x": Tensor((100,)), "y": Tensor((16,)), "stride": stride}, {"BLOCK": 16})


CASES.append(
    case(
        "stride-of-both-signs",
        True,
        "50 - 45 to 50 + 45",
        strided,
        ("stride", -5, 5),
        (2,),
        stride_of,
        strided_model,
    )
)
CASES.append(
    case(
        "stride-too-negative",
        False,
        "50 - 54",
        strided,
        ("stride", -6, 5),
        (2,),
        stride_of,
        strided_model,
    )
)


@triton.jit
def every_step(x, y, n, step):
    total = 0
    for k in range(0, n, step):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y, total.to(tl.int8))


def every_step_model(v: Evaluation) -> None:
    for k in v.trips(0, v["n"], v["step"]):
        v.access("x", k)


def step_of(step: int) -> Launch:
    return Launch((1,), {"x": Tensor((100,)), "y": Tensor((1,)), "n": 100, "step": step})


CASES.append(
    case(
        "step-to-the-last-int32",
        True,
        "0 + 2^31 - 1 fits, as no later counter is added to",
        every_step,
        ("step", 1, INT32_MAX),
        (3,),
        step_of,
        every_step_model,
    )
)
CASES.append(
    case(
        "step-of-zero",
        False,
        "never ends",
        every_step,
        ("step", 0, 100),
        (3,),
        step_of,
        every_step_model,
    )
)


@triton.jit
def steps_from_one(x, y, n, step):
    total = 0
    for k in range(1, n, step):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y, total.to(tl.int8))


def steps_from_one_model(v: Evaluation) -> None:
    for k in v.trips(1, v["n"], v["step"]):
        v.access("x", k)


CASES.append(
    case(
        "step-from-one-wraps",
        False,
        "1 + 2^31 - 1 wraps",
        steps_from_one,
        ("step", 1, INT32_MAX),
        (3,),
        step_of,
        steps_from_one_model,
    )
)


@triton.jit
def backward_scan(x, y, n):
    total = 0
    for k in range(n - 1, -1, -1):
        total += tl.load(x + k).to(tl.int32)
        tl.store(y + k, total.to(tl.int8))


def scan_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((1,), {"x": t, "y": t, "n": n})


def backward_scan_model(v: Evaluation) -> None:
    for k in v.trips(0, v["n"], 1):
        v.access("x", v["n"] - 1 - k)


CASES.append(
    case(
        "backward-scan",
        True,
        "n - 1 down to 0",
        backward_scan,
        ("n", 0, INT32_MAX),
        (37, 23),
        scan_of,
        backward_scan_model,
    )
)


@triton.jit
def backward_blocks(x, y, n, BLOCK: tl.constexpr):
    for k in range(n - BLOCK, -BLOCK, -BLOCK):
        i = k + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, i < n), i < n)


def backward_blocks_model(v: Evaluation) -> None:
    block_start = int(v.i32(v["n"] - 16))
    count = max(0, (block_start + 16 + 15) // 16)
    for trip in some(count).tolist():
        i = block_start - 16 * trip + np.arange(16)
        v.access("x", i, i < v["n"])


def backward_of(n: int) -> Launch:
    return Launch((1,), scan_of(n).arguments, {"BLOCK": 16})


CASES.append(
    case(
        "backward-blocks",
        False,
        "where 16 does not divide n, the last block begins before 0",
        backward_blocks,
        ("n", 1, 4096),
        (64, 96),
        backward_of,
        backward_blocks_model,
    )
)


@triton.jit
def backward_whole_blocks(x, y, n, BLOCK: tl.constexpr):
    for k in range(n - BLOCK, -1, -BLOCK):
        i = k + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i))


def backward_whole_model(v: Evaluation) -> None:
    block_start = int(v.i32(v["n"] - 16))
    for trip in some(max(0, block_start // 16 + 1)).tolist():
        v.access("x", block_start - 16 * trip + np.arange(16))


CASES.append(
    case(
        "backward-whole-blocks",
        True,
        "leaves out what is before the last whole block",
        backward_whole_blocks,
        ("n", 0, INT32_MAX),
        (64, 90),
        backward_of,
        backward_whole_model,
    )
)


@triton.jit
def bisect(x, y, n, wanted):
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < wanted:
            low = middle + 1
        else:
            high = middle
    tl.store(y, low)


def bisect_model(v: Evaluation) -> None:
    low, high = 0, v["n"]  # the values are all smaller than wanted, the worst that they may be
    while low < high:
        middle = int(v.i32(low + high)) // 2
        v.access("x", middle)
        if v.reasons:
            return
        low = middle + 1


def bisect_of(n: int) -> Launch:
    return Launch((1,), {"x": Tensor((n,)), "y": Tensor((1,), torch.int32), "n": n, "wanted": 5})


CASES.append(
    case(
        "bisect-below",
        True,
        "low + high fits",
        bisect,
        ("n", 0, 2**30),
        (37, 23),
        bisect_of,
        bisect_model,
    )
)
CASES.append(
    case(
        "bisect-wraps",
        False,
        "low + high wraps",
        bisect,
        ("n", 0, INT32_MAX),
        (37, 23),
        bisect_of,
        bisect_model,
    )
)
