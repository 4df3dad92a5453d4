"""Memory: aliases, order of stores, atomics, masks, padding, grids, views."""

# ruff: noqa: B007, PIE808, SIM102, SIM108 - kernels of one signature, written as authors do

from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import INTS, blank, floats, ints, two_vectors
from corpus.questions.versions import Level, Pair, cases_of

SIZE = 100


def pair(
    name: str,
    truth: Level,
    why: str,
    kernel: Any,
    tensors: Callable[[str], Sequence[torch.Tensor]],
    grid: int = 1,
    new_grid: int | None = None,
    n: int = SIZE,
    **more: Any,
) -> Pair:
    """Return a pair of kernels of `tensors`, the size n, and blocks of 128."""
    grids = ((grid,), (grid if new_grid is None else new_grid,))
    return Pair(name, truth, why, kernel, tensors, (n,), grids, {"BLOCK": 128}, **more)


apart = two_vectors(floats, SIZE, torch.float32, torch.float32)


def one_tensor(kind: str) -> list[torch.Tensor]:
    """Return one tensor twice, as the first two arguments, and an output."""
    x = floats(kind, SIZE)
    return [x, x, blank(SIZE)]


def shifted(kind: str) -> list[torch.Tensor]:
    """Return two views of one storage, the second one element later."""
    x = floats(kind, SIZE + 1)
    return [x[:SIZE], x[1:], blank(SIZE)]


@triton.jit
def reloaded(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v + 1.0, mask=i < n)
    tl.debug_barrier()
    if NEW:
        v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v * 2.0, mask=i < n)


@triton.jit
def stored_in_turn(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    w = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        tl.store(out + i, w, mask=i < 10)
        tl.store(out + i, v, mask=i < n)
    else:
        tl.store(out + i, v, mask=i < n)
        tl.store(out + i, w, mask=i < 10)


@triton.jit
def stored_each_trip(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, 4):
        s += tl.load(x + i, mask=i < n, other=0.0) * k
        if NEW:
            tl.store(out + i, s, mask=i < n)
    if not NEW:
        tl.store(out + i, s, mask=i < n)


@triton.jit
def added_onto(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        tl.atomic_add(out + i, v, mask=i < n, sem="relaxed", scope="gpu")
    else:
        tl.store(out + i, v, mask=i < n)


@triton.jit
def added_by_hand(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        tl.atomic_add(out + i, v, mask=i < n)
    else:
        tl.store(out + i, tl.load(out + i, mask=i < n) + v, mask=i < n)


@triton.jit
def added_by_all(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    if NEW:
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.atomic_add(out, tl.sum(v, 0))
    else:
        j = tl.arange(0, BLOCK)
        tl.atomic_add(out, tl.sum(tl.load(x + j, mask=j < n, other=0.0), 0))


@triton.jit
def counted_twice(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def greatest(a, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=-2147483648)
    if NEW:
        tl.atomic_max(out, tl.max(v, 0))
    else:
        tl.store(out, tl.maximum(tl.load(out), tl.max(v, 0)))


@triton.jit
def padded(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    if NEW:
        v = tl.load(block, boundary_check=(0,), padding_option="zero")
    else:
        v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.exp(v) / tl.sum(tl.exp(v), 0), mask=i < n)


@triton.jit
def padded_with_nan(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    if NEW:
        v = tl.load(block, boundary_check=(0,), padding_option="nan")
    else:
        v = tl.load(block, boundary_check=(0,), padding_option="zero")
    tl.store(out + i, v - tl.sum(v, 0), mask=i < n)


@triton.jit
def without_other(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if NEW:
        v = tl.load(x + i, mask=i < n)
    else:
        v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v - tl.sum(v, 0), mask=i < n)


@triton.jit
def one_too_many(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if NEW:
        v = tl.load(x + i, mask=i <= n, other=0.0)
    else:
        v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v - tl.sum(v, 0), mask=i < n)


@triton.jit
def left_early(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    start = tl.program_id(0) * 32
    i = start + tl.arange(0, 32)
    if NEW:
        if start + 32 > n:
            return
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def left_where_empty(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    start = tl.program_id(0) * 32
    i = start + tl.arange(0, 32)
    if NEW:
        if start >= n:
            return
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def turned_axes(x, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, 64)
    v = tl.reshape(tl.load(x + i), (4, 4, 4))
    if NEW:
        r = tl.permute(v, (1, 2, 0))
    else:
        r = tl.permute(v, (2, 0, 1))
    tl.store(out + i, tl.reshape(r, (64,)))


@triton.jit
def turned_by_pointers(x, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, 64)
    if NEW:
        r = tl.load(x + i % 16 // 4 * 16 + i % 4 * 4 + i // 16)
    else:
        r = tl.reshape(tl.permute(tl.reshape(tl.load(x + i), (4, 4, 4)), (2, 0, 1)), (64,))
    tl.store(out + i, r)


@triton.jit
def gathered(x, labels, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(labels + i, mask=i < n, other=0)
    if NEW:
        r = tl.gather(tl.load(x + i, mask=i < n, other=0.0), index, 0)
    else:
        r = tl.load(x + index, mask=i < n, other=0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def counted(a, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=15) & 15
    j = tl.arange(0, 16)
    if NEW:
        r = tl.histogram(v, 16)
    else:
        r = tl.sum((v[:, None] == j[None, :]).to(tl.int32), 0)
    tl.store(out + j, r)


@triton.jit
def pointer_of_while(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    s = 0.0
    if NEW:
        p = x
        k = 0
        while k < n:
            s += tl.load(p)
            p += 1
            k += 1
    else:
        for k in range(0, n):
            s += tl.load(x + k)
    tl.store(out, s)


@triton.jit
def pointer_ahead(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    s = 0.0
    p = x
    for k in range(0, n - 1):
        if NEW:
            p += 1
            s += tl.load(p)
        else:
            s += tl.load(p)
            p += 1
    tl.store(out, s)


@triton.jit(noinline=True)
def swapped(a, b):
    return b, a


@triton.jit
def by_call(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    one = tl.load(y)
    two = tl.load(y + 1)
    if NEW:
        two, one = swapped(one, two)
    tl.store(out + i, (v - one) * two, mask=i < n)


@triton.jit
def old_value(a, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if NEW:
        r = tl.atomic_add(a + i, 1, mask=i < n)
    else:
        r = tl.load(a + i, mask=i < n, other=0) + 1
        tl.store(a + i, r, mask=i < n)
    tl.store(out + i, r, mask=i < n)


def of_ints(kind: str) -> list[torch.Tensor]:
    """Return integers and an output."""
    return [ints(kind, SIZE), blank(SIZE, dtype=torch.int32)]


def counts(kind: str) -> list[torch.Tensor]:
    """Return integers and counts."""
    return [ints(kind, 128), blank(16, dtype=torch.int32)]


def with_labels(kind: str) -> list[torch.Tensor]:
    """Return numbers, indices into them, and an output."""
    return [floats(kind, SIZE), ints("random", SIZE, seed=3), blank(SIZE)]


def cubes(kind: str) -> list[torch.Tensor]:
    """Return a cube and an output."""
    return [floats(kind, 64), blank(64)]


def longer(kind: str) -> list[torch.Tensor]:
    """Return an input with one element more than the kernel's n, and an output."""
    return [floats(kind, SIZE + 1), floats(kind, SIZE), blank(SIZE)]


PAIRS = [
    pair("reloaded", Level.DIFFERENT, "x is y, which was stored to", reloaded, one_tensor),
    pair("reloaded_apart", Level.SAME, "x is not y", reloaded, apart),
    pair("reloaded_shifted", Level.DIFFERENT, "x and y overlap", reloaded, shifted),
    pair("stored_in_turn", Level.DIFFERENT, "the last store wins", stored_in_turn, apart),
    pair("stored_each_trip", Level.SAME, "the last trip stores the sum", stored_each_trip, apart),
    pair("added_onto", Level.DIFFERENT, "the output is not cleared", added_onto, apart),
    pair("added_by_hand", Level.SAME, "each element once", added_by_hand, apart),
    pair("added_by_all", Level.SUMS, "partial sums", added_by_all, apart, 1, 4),
    pair("counted_twice", Level.DIFFERENT, "two programs add the same", counted_twice, apart, 1, 2),
    pair("greatest", Level.SAME, "one program: the maximum by hand", greatest, of_ints, kinds=INTS),
    pair("padded", Level.SAME, "zeros beyond the end", padded, apart),
    pair("padded_with_nan", Level.DIFFERENT, "NaN is not zero", padded_with_nan, apart),
    pair(
        "without_other",
        Level.DIFFERENT,
        "masked lanes are undefined",
        without_other,
        apart,
        read=True,
    ),
    pair("one_too_many", Level.DIFFERENT, "an element more", one_too_many, longer),
    pair("left_early", Level.DIFFERENT, "the last program has four elements", left_early, apart, 4),
    pair("left_where_empty", Level.SAME, "the last program has none", left_where_empty, apart, 5),
    pair("turned_axes", Level.DIFFERENT, "axes turned the other way", turned_axes, cubes, n=64),
    pair(
        "turned_by_pointers",
        Level.SAME,
        "the same axes, by addresses",
        turned_by_pointers,
        cubes,
        n=64,
    ),
    pair("gathered", Level.SAME, "from registers or memory", gathered, with_labels),
    pair("counted", Level.SAME, "a histogram by hand", counted, counts, n=128, kinds=INTS),
    pair("pointer_of_while", Level.SAME, "a pointer that goes along", pointer_of_while, apart),
    pair("pointer_ahead", Level.DIFFERENT, "a pointer one ahead", pointer_ahead, apart),
    pair("by_call", Level.SAME, "swapped and swapped back", by_call, apart),
    pair(
        "old_value", Level.DIFFERENT, "the old value is not the new", old_value, of_ints, kinds=INTS
    ),
]

CASES = cases_of(PAIRS)
