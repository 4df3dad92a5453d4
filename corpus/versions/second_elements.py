"""Versions of maps by a second author: casts, comparisons, contractions, order of stores."""

# ruff: noqa: SIM102 - kernels of one signature, written as authors do

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from corpus.questions.inputs import FLOATS, INTS, floats, ints, two_vectors
from corpus.questions.versions import Level, Pair, cases_of

COUNT, BLOCK = 500, 128


@triton.jit
def of_floats(a, b, out, n, BLOCK: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=1.0)
    y = tl.load(b + i, mask=i < n, other=1.0)
    if HOW == "fma":
        r = tl.fma(x, y, 1.0) if NEW else x * y + 1.0
    elif HOW == "reciprocal":
        r = x * (1.0 / y) if NEW else x / y
    elif HOW == "third":
        r = x * 0.333333 if NEW else x / 3.0
    elif HOW == "quarter":
        r = x * 0.25 if NEW else tl.div_rn(x, 4.0)
    elif HOW == "sqrt_rn":
        r = tl.sqrt_rn(tl.abs(x)) if NEW else tl.sqrt(tl.abs(x))
    elif HOW == "rsqrt":
        r = tl.rsqrt(tl.abs(x) + 1.0) if NEW else 1.0 / tl.sqrt(tl.abs(x) + 1.0)
    elif HOW == "greater":
        r = tl.where(x <= y, y, x) if NEW else tl.where(x > y, x, y)
    elif HOW == "relu":
        r = tl.maximum(x, 0.0, tl.PropagateNan.ALL) if NEW else tl.where(x > 0.0, x, 0.0)
    elif HOW == "negated twice":
        r = x * -1.0 * -1.0 if NEW else x
    elif HOW == "doubled":
        r = x + x if NEW else 2.0 * x
    elif HOW == "absolute":
        r = 1.0 / tl.where(x < 0.0, -x, x) if NEW else 1.0 / tl.abs(x)
    elif HOW == "cube":
        r = x * (x * x) if NEW else x * x * x
    elif HOW == "triple product":
        r = x * (y * y) if NEW else x * y * y
    elif HOW == "masked product":
        r = (x / y) * (y > 0.5).to(tl.float32) if NEW else tl.where(y > 0.5, x / y, 0.0)
    elif HOW == "masked quotient":
        r = (x / y) * (y != 0.0).to(tl.float32) if NEW else tl.where(y != 0.0, x / y, 0.0)
    elif HOW == "narrowed":
        r = x.to(tl.bfloat16).to(tl.float32) * y if NEW else x * y
    elif HOW == "rounded twice":
        r = x.to(tl.float16).to(tl.float32) if NEW else x
    elif HOW == "toward zero":
        r = x.to(tl.bfloat16, fp_downcast_rounding="rtz" if NEW else "rtne").to(tl.float32)
    elif HOW == "half away":
        r = tl.floor(x * 0.5 + 0.5) if NEW else libdevice.rint(x * 0.5)
    elif HOW == "sigmoid":
        e = tl.exp(x) if NEW else tl.exp(-x)
        r = e / (1.0 + e) if NEW else 1.0 / (1.0 + e)
    elif HOW == "signs":
        if NEW:
            r = tl.where(x < 0.0, -1.0, tl.where(x > 0.0, 1.0, 0.0))
        else:
            r = tl.where(x > 0.0, 1.0, tl.where(x < 0.0, -1.0, 0.0))
    elif HOW == "finite":
        r = tl.where(x * 0.0 == 0.0, x, y) if NEW else tl.where(x == x, x, y)
    elif HOW == "one element":
        r = x + tl.where(i == 431, 0.5, 0.0) if NEW else x + 0.0
    elif HOW == "one number":
        r = tl.where(x == 0.8125, y, x) if NEW else x
    elif HOW == "plus nothing":
        r = x * 0.0 + y if NEW else y
    elif HOW == "distributed":
        r = x * y + x if NEW else x * (y + 1.0)
    elif HOW == "sum of three":
        r = x + (y + 3.0) if NEW else (x + y) + 3.0
    elif HOW == "swapped":
        r = y * y + x * x if NEW else x * x + y * y
    elif HOW == "wrong sign":
        r = x - -y if NEW else x - y
    tl.store(out + i, r, mask=i < n)


@triton.jit
def of_integers(a, b, out, n, BLOCK: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=1)
    y = tl.load(b + i, mask=i < n, other=1)
    if HOW == "midpoint":
        r = x + (y - x) // 2 if NEW else (x + y) // 2
    elif HOW == "remainder":
        r = x & 7 if NEW else x % 8
    elif HOW == "unsigned remainder":
        u = x.to(tl.uint32, bitcast=True)
        r = (u & 7).to(tl.int32) if NEW else (u % 8).to(tl.int32)
    elif HOW == "shift":
        r = x >> 2 if NEW else x // 4
    elif HOW == "doubled":
        r = x << 1 if NEW else x * 2
    elif HOW == "logical shift":
        r = (x.to(tl.uint32, bitcast=True) >> 2).to(tl.int32) if NEW else x >> 2
    elif HOW == "saturated":
        s = tl.minimum(tl.maximum(x, -128), 127).to(tl.int8)
        r = s.to(tl.int32) if NEW else x.to(tl.int8).to(tl.int32)
    elif HOW == "unsigned less":
        u, v = x.to(tl.uint32, bitcast=True), y.to(tl.uint32, bitcast=True)
        r = (u < v).to(tl.int32) if NEW else (x < y).to(tl.int32)
    elif HOW == "range":
        if NEW:
            r = (x.to(tl.uint32, bitcast=True) < 16).to(tl.int32)
        else:
            r = ((x >= 0) & (x < 16)).to(tl.int32)
    elif HOW == "distance":
        r = tl.maximum(x, y) - tl.minimum(x, y) if NEW else tl.abs(x - y)
    elif HOW == "widened late":
        r = (
            ((x * 3).to(tl.int64) >> 8).to(tl.int32)
            if NEW
            else ((x.to(tl.int64) * 3) >> 8).to(tl.int32)
        )
    elif HOW == "xor twice":
        r = (x ^ y) ^ y if NEW else x
    elif HOW == "de morgan":
        r = ~x | ~y if NEW else ~(x & y)
    elif HOW == "average":
        r = (
            (x & y) + ((x ^ y) >> 1)
            if NEW
            else ((x.to(tl.int64) + y.to(tl.int64)) >> 1).to(tl.int32)
        )
    elif HOW == "carried sum":
        r = (x ^ y) + ((x & y) << 1) if NEW else x + y
    elif HOW == "through floats":
        r = x.to(tl.float32).to(tl.int32) if NEW else x
    tl.store(out + i, r, mask=i < n)


@triton.jit
def of_places(a, b, out, n, BLOCK: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    if HOW == "not greater":
        mask = i <= n - 1 if NEW else i < n
    elif HOW == "one less":
        mask = i < n - 1 if NEW else i < n
    elif HOW == "wide offsets":
        i = i.to(tl.int64) if NEW else i
    elif HOW == "return":
        if NEW:
            if tl.program_id(0) * BLOCK >= n:
                return
    x = tl.load(a + i, mask=mask, other=0.0)
    if HOW == "stored twice":
        if NEW:
            tl.store(out + i, x * 3.0, mask=mask)
    if HOW == "evicted":
        x = tl.load(a + i, mask=mask, other=0.0, eviction_policy="evict_first" if NEW else "")
    if HOW == "strided":
        for begin in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            j = begin + tl.arange(0, BLOCK)
            y = tl.load(a + j, mask=j < n, other=0.0)
            tl.store(out + j, y * y, mask=j < n)
    else:
        tl.store(out + i, x * x, mask=mask)
    if HOW == "overwritten":
        if NEW:
            tl.store(out + i, x, mask=mask & (x > 3.0))


def pair(
    kernel: Any,
    how: str,
    truth: Level,
    why: str,
    *,
    grids: tuple[int, int] = (4, 4),
    blocks: tuple[int, int] = (BLOCK, BLOCK),
    **options: Any,
) -> Pair:
    """Return a pair of kernels that compute a vector from two vectors, by the variant `how`."""
    has_integers = kernel is of_integers
    draw: Callable[..., torch.Tensor] = ints if has_integers else floats
    dtype = torch.int32 if has_integers else torch.float32
    return Pair(
        f"2 {kernel.fn.__name__} {how}",
        truth,
        why,
        kernel,
        two_vectors(draw, COUNT, dtype, dtype),
        (COUNT,),
        ((grids[0],), (grids[1],)),
        {"HOW": how},
        INTS if has_integers else FLOATS,
        sizes=({"BLOCK": blocks[0]}, {"BLOCK": blocks[1]}),
        **options,
    )


F, W, P = of_floats, of_integers, of_places
SAME, SUMS, EXACT, DIFFERENT = Level.SAME, Level.SUMS, Level.EXACT, Level.DIFFERENT
PAIRS = [
    pair(F, "fma", EXACT, "a product that is rounded once less", read=True),
    pair(F, "reciprocal", EXACT, "a quotient is rounded twice"),
    pair(F, "third", DIFFERENT, "a third in six digits", read=True),
    pair(F, "quarter", SAME, "a division by a power of two, correctly rounded"),
    pair(F, "sqrt_rn", EXACT, "a root that a device approximates, and one not", read=True),
    pair(F, "rsqrt", EXACT, "an inverse root is rounded once, its quotient twice", read=True),
    pair(F, "greater", DIFFERENT, "a NaN of y is chosen by the one, of x by the other"),
    pair(F, "relu", DIFFERENT, "a NaN becomes 0, or stays"),
    pair(F, "negated twice", SAME, "products with -1 are exact"),
    pair(F, "doubled", SAME, "twice a number is exact"),
    pair(F, "absolute", DIFFERENT, "the inverse of -0.0 is the other infinity"),
    pair(F, "cube", SAME, "a product has no order of its two factors"),
    pair(F, "triple product", EXACT, "products in another order"),
    pair(F, "masked product", DIFFERENT, "infinity times 0 is a NaN"),
    pair(F, "masked quotient", DIFFERENT, "what is divided by 0 is multiplied with 0"),
    pair(F, "narrowed", DIFFERENT, "a factor is rounded to bfloat16"),
    pair(F, "rounded twice", DIFFERENT, "half precision has no 1e10"),
    pair(F, "toward zero", DIFFERENT, "bfloat16 is cut instead of rounded"),
    pair(F, "half away", DIFFERENT, "2.5 is rounded to 2, or to 3"),
    pair(F, "sigmoid", DIFFERENT, "infinity by infinity for 100"),
    pair(F, "signs", SAME, "two choices that exclude each other"),
    pair(F, "finite", DIFFERENT, "infinity times 0 is not 0"),
    pair(F, "one element", DIFFERENT, "one of 500 elements is larger by a half"),
    pair(F, "one number", DIFFERENT, "another number for 0.8125", read=True),
    pair(F, "plus nothing", DIFFERENT, "a NaN or an infinity of x times 0 is a NaN"),
    pair(F, "distributed", EXACT, "a product with a sum, and a sum of products"),
    pair(F, "sum of three", SUMS, "three numbers in another order"),
    pair(F, "swapped", SAME, "the operands of one sum are exchanged"),
    pair(F, "wrong sign", DIFFERENT, "the other sign"),
    pair(W, "midpoint", DIFFERENT, "a negative half is cut the other way"),
    pair(W, "remainder", DIFFERENT, "the remainder of a negative number is negative"),
    pair(W, "unsigned remainder", SAME, "unsigned remainders by 8 are the last bits"),
    pair(W, "shift", DIFFERENT, "a shift rounds down, a division toward 0"),
    pair(W, "doubled", SAME, "a shift by one is a product with two"),
    pair(W, "logical shift", DIFFERENT, "a logical shift of negative numbers"),
    pair(W, "saturated", DIFFERENT, "a cast wraps, or saturates"),
    pair(W, "unsigned less", DIFFERENT, "-1 is the largest unsigned number"),
    pair(W, "range", SAME, "two comparisons are one of unsigned numbers"),
    pair(W, "distance", DIFFERENT, "a difference that wraps is negative"),
    pair(W, "widened late", DIFFERENT, "a product wraps before it is widened"),
    pair(W, "xor twice", SAME, "what is exchanged twice is as before"),
    pair(W, "de morgan", SAME, "not both is not the one or not the other"),
    pair(W, "average", SAME, "a mean rounded down, without a carry"),
    pair(W, "carried sum", SAME, "a sum is its bits and its carries"),
    pair(W, "through floats", DIFFERENT, "a float holds 24 bits"),
    pair(P, "not greater", SAME, "at most n - 1 is less than n"),
    pair(P, "one less", DIFFERENT, "the last element is not stored"),
    pair(P, "wide offsets", SAME, "offsets of 64 bits"),
    pair(P, "return", SAME, "programs past the end return", grids=(4, 6)),
    pair(P, "stored twice", SAME, "what is stored first is overwritten"),
    pair(P, "overwritten", DIFFERENT, "elements above 3 are overwritten"),
    pair(P, "evicted", SAME, "a hint for the cache"),
    pair(P, "strided", SAME, "two programs take the blocks in turns", grids=(4, 2)),
    pair(P, "tiles", SAME, "smaller tiles", grids=(4, 8), blocks=(128, 64)),
    pair(P, "grid", DIFFERENT, "a program too few", grids=(4, 3)),
]  # fmt: skip

CASES = cases_of(PAIRS)
