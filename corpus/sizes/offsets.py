"""Kernels with unusual one-dimensional offsets: bits, quotients, widths, reflection."""

import numpy as np
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import Evaluation, Launch, Tensor, case
from corpus.sizes.masks import LANES, cdiv, line

CASES: list[Case] = []


@triton.jit
def neighbor(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (i ^ 1), i < n, 0), i < n)


def neighbor_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", i ^ 1, i < v["n"])


CASES.append(
    case(
        "xor-neighbor",
        False,
        "of an odd n the last neighbor is n",
        neighbor,
        ("n", 2, 5000),
        (1002, 70),
        line,
        neighbor_model,
    )
)


@triton.jit
def neighbor_masked(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    other = i ^ 1
    tl.store(y + i, tl.load(x + other, other < n, 0), i < n)


def neighbor_masked_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", i ^ 1, (i ^ 1) < v["n"])


CASES.append(
    case(
        "xor-neighbor-masked",
        True,
        "the neighbor is compared",
        neighbor_masked,
        ("n", 2, 1_000_000),
        (1002, 70),
        line,
        neighbor_masked_model,
    )
)


@triton.jit
def grouped_scale(x, scales, y, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(scales + i // GROUP, i < n, 0)
    tl.store(y + i, tl.load(x + i, i < n, 0) * scale, i < n)


def grouped_scale_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("scales", i // 32, i < v["n"])
    v.access("x", i, i < v["n"])


def scales_of(n: int, count: int) -> Launch:
    t = Tensor((n,))
    return Launch(
        (cdiv(n, LANES),),
        {"x": t, "scales": Tensor((count,)), "y": t, "n": n},
        {"GROUP": 32, "BLOCK": LANES},
    )


CASES.append(
    case(
        "scale-of-each-group",
        True,
        "cdiv(n, 32) scales",
        grouped_scale,
        ("n", 0, 1_000_000),
        (1001, 70),
        lambda n: scales_of(n, cdiv(n, 32)),
        grouped_scale_model,
    )
)
CASES.append(
    case(
        "scale-of-whole-groups",
        False,
        "n // 32 scales, and n that 32 does not divide",
        grouped_scale,
        ("n", 32, 5000),
        (1024, 96),
        lambda n: scales_of(n, n // 32),
        grouped_scale_model,
    )
)


@triton.jit
def clamped(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + tl.minimum(i, n - 1)), i < n)


def clamped_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", np.minimum(i, v["n"] - 1))


def one_program(n: int) -> Launch:
    return Launch((3,), line(n).arguments, {"BLOCK": LANES})


CASES.append(
    case(
        "clamped",
        True,
        "the last element repeats",
        clamped,
        ("n", 1, 768),
        (100, 300),
        one_program,
        clamped_model,
    )
)
CASES.append(
    case(
        "clamped-empty",
        False,
        "of no elements the last one is -1",
        clamped,
        ("n", 0, 768),
        (100, 300),
        one_program,
        clamped_model,
    )
)


@triton.jit
def reflected(x, y, n, pad, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.abs(i - pad)
    at = n - 1 - tl.abs(n - 1 - at)
    tl.store(y + i, tl.load(x + at, i < n + 2 * pad, 0), i < n + 2 * pad)


def reflected_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    n, pad = v["n"], v["pad"]
    reflected_index = n - 1 - abs(n - 1 - abs(i - pad))
    v.access("x", reflected_index, i < n + 2 * pad)


def reflected_of(n: int) -> Launch:
    return Launch(
        (cdiv(n + 6, LANES),),
        {"x": Tensor((n,)), "y": Tensor((n + 6,)), "n": n, "pad": 3},
        {"BLOCK": LANES},
    )


CASES.append(
    case(
        "reflect",
        True,
        "padding is smaller than the line",
        reflected,
        ("n", 4, 4000),
        (1001, 70),
        reflected_of,
        reflected_model,
    )
)
CASES.append(
    case(
        "reflect-short-line",
        False,
        "three elements cannot be reflected by three",
        reflected,
        ("n", 3, 4000),
        (1001, 70),
        reflected_of,
        reflected_model,
    )
)


@triton.jit
def narrow(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i.to(tl.int16), i < n, 0), i < n)


def narrow_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", i.astype(np.int16).astype(np.int64), i < v["n"])


CASES.append(
    case(
        "int16-offsets",
        False,
        "offset 32,768 is -32,768 in int16",
        narrow,
        ("n", 0, 40_000),
        (1001, 70),
        line,
        narrow_model,
    )
)
CASES.append(
    case(
        "int16-offsets-short",
        True,
        "all fit",
        narrow,
        ("n", 0, 32_768),
        (1001, 70),
        line,
        narrow_model,
    )
)


@triton.jit
def by_float(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i.to(tl.float32).to(tl.int32), i < n, 0), i < n)


def by_float_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", i.astype(np.float32).astype(np.int64), i < v["n"])


CASES.append(
    case(
        "offset-through-float",
        False,
        "2^24 + 3 is 2^24 + 4 as a float",
        by_float,
        ("n", 0, 2**24 + 400),
        (1001, 70),
        line,
        by_float_model,
    )
)


@triton.jit
def asserted(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(i < n)
    tl.store(y + i, tl.load(x + i))


def asserted_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    v.access("x", i)


CASES.append(
    case(
        "device-assert-is-no-guard",
        False,
        "an assertion is compiled away",
        asserted,
        ("n", 0, 5000),
        (1024, 256),
        line,
        asserted_model,
    )
)
