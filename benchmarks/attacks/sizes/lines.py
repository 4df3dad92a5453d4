"""Kernels of one dimension: masks near the end of int32, strides of both signs, loops, quotients."""

import numpy as np
import torch
import triton
import triton.language as tl

from benchmarks.attacks.case import Case
from benchmarks.attacks.sizes.asking import INT32_MAX, Evaluation, Launch, Tensor, case, some

# ruff: noqa: ANN001, ANN201, D103 - kernels and models; the cases say what they are

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
    after = v.i32(i + 1)
    v.access("x", after, after < v["n"])
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
        for first in v.trips(program * LANES, v["n"], v["grid_x"] * LANES):
            i = v.i32(first + v.i32([0, 1, 255]))
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
    inside = (source >= 0) & (source < n)
    tl.store(y + i, tl.load(x + source, inside, 0), i < n)


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
    place = np.fmod(v.i32(i * v["hop"]), v["n"])
    v.access("x", place, i < v["n"])


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
    first = int(v.i32(v["n"] - 16))
    count = max(0, (first + 16 + 15) // 16)
    for trip in some(count).tolist():
        i = first - 16 * trip + np.arange(16)
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
    first = int(v.i32(v["n"] - 16))
    for trip in some(max(0, first // 16 + 1)).tolist():
        v.access("x", first - 16 * trip + np.arange(16))


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
    at = n - 1 - abs(n - 1 - abs(i - pad))
    v.access("x", at, i < n + 2 * pad)


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
