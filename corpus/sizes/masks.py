"""Kernels with one-dimensional masks near the end of int32: tiles, shifts, rings."""

import numpy as np
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import INT32_MAX, Evaluation, Launch, Tensor, case

CASES: list[Case] = []
LANES = 256


def cdiv(value: int, by: int) -> int:
    return -(-value // by)


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


def copy_model(v: Evaluation) -> None:
    i = v.i32(v.i32(v.programs() * LANES) + [0, 1, 127, 254, 255])
    v.access("x", i, i < v["n"])
    v.access("y", i, i < v["n"])


def line(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((cdiv(n, LANES),), {"x": t, "y": t, "n": n}, {"BLOCK": LANES})


CASES.append(
    case(
        "copy-to-the-last-int32",
        True,
        "the last offset is 2^31 - 1",
        copy,
        ("n", 0, INT32_MAX),
        (1001, 70),
        line,
        copy_model,
    )
)


@triton.jit
def copy_next(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    after = i + 1
    tl.store(y + i, tl.load(x + after, after < n, 0), i < n)


def copy_next_model(v: Evaluation) -> None:
    i = v.i32(v.i32(v.programs() * LANES) + [0, 1, 127, 254, 255])
    next_index = v.i32(i + 1)
    v.access("x", next_index, next_index < v["n"])
    v.access("y", i, i < v["n"])


CASES.append(
    case(
        "next-element-passes-int32",
        False,
        "i + 1 wraps in the last lane of the last program",
        copy_next,
        ("n", 0, INT32_MAX),
        (1001, 70),
        line,
        copy_next_model,
    )
)
CASES.append(
    case(
        "next-element-below",
        True,
        "no program reaches 2^31 - 1",
        copy_next,
        ("n", 0, INT32_MAX - LANES),
        (1001, 70),
        line,
        copy_next_model,
    )
)


@triton.jit
def persistent_tiles(x, y, n, BLOCK: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, i < n), i < n)


def persistent(n: int) -> Launch:
    return Launch((7,), line(n).arguments, {"BLOCK": LANES})


def persistent_tiles_model(v: Evaluation) -> None:
    tiles = int(v.i32(v["n"] + LANES - 1)) // LANES
    for program in v.few("grid_x"):
        for tile in v.trips(program, tiles, v["grid_x"]):
            i = v.i32(int(v.i32(tile * LANES)) + v.i32([0, 1, 255]))
            v.access("x", i, i < v["n"])


CASES.append(
    case(
        "persistent-tiles",
        True,
        "counts tiles, far from the end of int32",
        persistent_tiles,
        ("n", 0, INT32_MAX - 255),
        (1001, 3001),
        persistent,
        persistent_tiles_model,
    )
)
CASES.append(
    case(
        "persistent-tiles-cdiv-wraps",
        False,
        "n + BLOCK - 1 of tl.cdiv wraps",
        persistent_tiles,
        ("n", 0, INT32_MAX - 254),
        (1001, 3001),
        persistent,
        persistent_tiles_model,
    )
)


@triton.jit
def grid_stride(x, y, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for first in range(tl.program_id(0) * BLOCK, n, step):
        i = first + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, i < n), i < n)


def grid_stride_model(v: Evaluation) -> None:
    for program in v.few("grid_x"):
        for block_start in v.trips(program * LANES, v["n"], v["grid_x"] * LANES):
            i = v.i32(block_start + v.i32([0, 1, 255]))
            v.access("x", i, i < v["n"])


# the last counter of a program: at most n - 1 + 7 * 256
CASES.append(
    case(
        "grid-stride-below",
        True,
        "n + 7 * 256 fits",
        grid_stride,
        ("n", 0, INT32_MAX - 7 * LANES),
        (1001, 3001),
        persistent,
        grid_stride_model,
    )
)
CASES.append(
    case(
        "grid-stride-last-step",
        False,
        "one program's counter passes 2^31 - 1",
        grid_stride,
        ("n", 0, INT32_MAX - 255),
        (1001, 3001),
        persistent,
        grid_stride_model,
    )
)


@triton.jit
def shifted(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = i + shift
    mask = (source >= 0) & (source < n)
    tl.store(y + i, tl.load(x + source, mask, 0), i < n)


def shifted_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + [0, 1, 127, 254, 255])
    source = v.i32(i + v["shift"])
    v.access("x", source, (source >= 0) & (source < v["n"]))


def shift_of(shift: int) -> Launch:
    t = Tensor((1001,))
    return Launch((4,), {"x": t, "y": t, "n": 1001, "shift": shift}, {"BLOCK": LANES})


CASES.append(
    case(
        "shift-both-signs",
        True,
        "masked at both ends",
        shifted,
        ("shift", -(2**31), INT32_MAX - 1023),
        (3,),
        shift_of,
        shifted_model,
    )
)


@triton.jit
def shifted_half(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i + shift, i + shift < n, 0), i < n)


def shifted_half_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + [0, 1, 127, 254, 255])
    source = v.i32(i + v["shift"])
    v.access("x", source, source < v["n"])


CASES.append(
    case(
        "shift-masked-above",
        True,
        "only shifts up",
        shifted_half,
        ("shift", 0, 100_000),
        (3,),
        shift_of,
        shifted_half_model,
    )
)
CASES.append(
    case(
        "shift-masked-above-negative",
        False,
        "a shift of -1 reads before the tensor",
        shifted_half,
        ("shift", -1, 100_000),
        (3,),
        shift_of,
        shifted_half_model,
    )
)


@triton.jit
def ring(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (i + shift) % n, i < n, 0), i < n)


def ring_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    total = v.i32(i + v["shift"])
    v.access("x", np.fmod(total, v["n"]), i < v["n"])


CASES.append(
    case(
        "ring-forward",
        True,
        "a remainder of nonnegative numbers",
        ring,
        ("shift", 0, 2**30),
        (3,),
        shift_of,
        ring_model,
    )
)
CASES.append(
    case(
        "ring-backward",
        False,
        "a remainder has its dividend's sign",
        ring,
        ("shift", -5, 100),
        (3,),
        shift_of,
        ring_model,
    )
)


@triton.jit
def ring_fixed(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = ((i + shift) % n + n) % n
    tl.store(y + i, tl.load(x + place, i < n, 0), i < n)


def ring_fixed_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    total = np.fmod(v.i32(i + v["shift"]), v["n"])
    v.access("x", np.fmod(total + v["n"], v["n"]), i < v["n"])


CASES.append(
    case(
        "ring-backward-fixed",
        True,
        "made positive before the second remainder",
        ring_fixed,
        ("shift", -1_000_000, 1_000_000),
        (3,),
        shift_of,
        ring_fixed_model,
    )
)


@triton.jit
def prime_hop(x, y, n, hop, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i * hop % n, i < n, 0), i < n)


def prime_hop_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + list(range(LANES)))
    index = np.fmod(v.i32(i * v["hop"]), v["n"])
    v.access("x", index, i < v["n"])


def hop_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((cdiv(n, LANES),), {"x": t, "y": t, "n": n, "hop": 7919}, {"BLOCK": LANES})


# 7919 * i wraps from i = 271,181 on, and lanes that are off wrap before
CASES.append(
    case(
        "prime-hop-wraps",
        False,
        "i * 7919 wraps and its remainder is negative",
        prime_hop,
        ("n", 1, 300_000),
        (1001, 3001),
        hop_of,
        prime_hop_model,
    )
)
CASES.append(
    case(
        "prime-hop",
        True,
        "the product fits",
        prime_hop,
        ("n", 1, 271_000),
        (1001, 3001),
        hop_of,
        prime_hop_model,
    )
)


@triton.jit
def reversed_copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + (n - 1 - i), i < n, 0), i < n)


def reversed_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * LANES + [0, 1, 127, 254, 255])
    v.access("x", v.i32(v.i32(v["n"] - 1) - i), i < v["n"])


CASES.append(
    case(
        "reversed",
        True,
        "n - 1 - i under i < n",
        reversed_copy,
        ("n", 0, INT32_MAX),
        (1001, 70),
        line,
        reversed_model,
    )
)
