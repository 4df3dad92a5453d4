"""Kernels whose tensors and grids follow from a size in deceptive ways, at recorded sizes alike.

Each launch is written once, as a user's program would: what it gives a kernel at a size is the
truth. Sizes are recorded where two formulas agree, such as `n // 64` and `cdiv(n, 64)`, or not.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.size_ranges import cdiv
from corpus.questions.sizes import Evaluation, Launch, Model, Tensor, case

CASES: Final[list[Case]] = []
_LANES: Final = np.arange(64, dtype=np.int64)

Ranges = list[tuple[str, bool, int, int, tuple[int, ...]]]
"""A name, whether the range is right, its ends, and the recorded sizes."""


def _asked(
    kernel: Any, why: str, launch: Callable[[int], Launch], model: Model, ranges: Ranges,
    quantity: str = "n",
) -> None:  # fmt: skip
    for name, right, low, high, recorded in ranges:
        asked = quantity, low, high
        CASES.append(case(f"third-{name}", right, why, kernel, asked, recorded, launch, model))


def _blocks(v: Evaluation) -> Any:
    return v.programs() * 64 + _LANES


# -- a number for each block ----------------------------------------------------------------------


@triton.jit
def partials(x, part, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(part + tl.program_id(0), tl.max(tl.load(x + i, i < n, 0), 0))


def _partials(v: Evaluation) -> None:
    v.access("x", _blocks(v), _blocks(v) < v["n"])
    v.access("part", v.programs())


def _part(count: Callable[[int], int], grid: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch((grid(n),), {"x": Tensor((n,)), "part": Tensor((count(n),)), "n": n})


_UP, _DOWN = (lambda n: cdiv(n, 64)), (lambda n: n // 64)
_asked(partials, "n // 64 partials, cdiv(n, 64) programs", _part(_DOWN, _UP), _partials, [
    ("partials-down-multiples", False, 64, 1000, (64, 256)),
    ("partials-down", False, 100, 1000, (150, 320)),
    ("partials-down-recorded-right", True, 256, 256, (256, 64)),
])  # fmt: skip
_asked(partials, "cdiv(n, 64) of both", _part(_UP, _UP), _partials, [
    ("partials-up", True, 1, 100_000, (200, 500)),
    ("partials-up-far", True, 1, 10_000_000, (1000, 130)),
])  # fmt: skip
_asked(partials, "n // 64 of both", _part(_DOWN, _DOWN), _partials, [
    ("partials-both-down", True, 64, 10_000, (200, 500)),
])  # fmt: skip
_asked(partials, "as many partials as the largest recorded", _part(lambda _: 8, _UP), _partials, [
    ("partials-constant-above", False, 513, 600, (200, 500)),
    ("partials-constant-below", True, 1, 512, (200, 500)),
])  # fmt: skip
_asked(partials, "one partial more", _part(lambda n: n // 64 + 1, _UP), _partials, [
    ("partials-one-more", True, 1, 10_000, (200, 500)),
    ("partials-one-more-multiples", True, 64, 10_000, (64, 640)),
])  # fmt: skip
_asked(partials, "at most 16 partials", _part(lambda n: min(cdiv(n, 64), 16), _UP), _partials, [
    ("partials-at-most-16", False, 1025, 2000, (300, 1000)),
    ("partials-at-most-16-below", True, 1, 1000, (300, 1000)),
])  # fmt: skip


# -- tensors that are no multiple, or padded ------------------------------------------------------


@triton.jit
def unmasked(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(y + i, tl.load(x + i), i < n)


def _unmasked(v: Evaluation) -> None:
    v.access("x", _blocks(v))
    v.access("y", _blocks(v), _blocks(v) < v["n"])


def _copied(extent: Callable[[int], int], grid: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch((grid(n),), {"x": Tensor((extent(n),)), "y": Tensor((n,)), "n": n})


_asked(unmasked, "whole blocks are read", _copied(lambda n: n, _UP), _unmasked, [
    ("tail-not-masked", False, 64, 1000, (64, 256)),
])  # fmt: skip
_asked(unmasked, "padded to blocks", _copied(lambda n: cdiv(n, 64) * 64, _UP), _unmasked, [
    ("padded-up", True, 1, 100_000, (100, 200)),
    ("padded-up-multiples", True, 1, 1000, (128, 256)),
])  # fmt: skip
_asked(unmasked, "padded by a block", _copied(lambda n: n + 64, _UP), _unmasked, [
    ("padded-by-a-block", True, 1, 100_000, (300, 1000)),
])  # fmt: skip
_asked(unmasked, "full blocks only", _copied(lambda n: n, _DOWN), _unmasked, [
    ("only-full-blocks", True, 64, 10_000, (200, 500)),
])  # fmt: skip


# -- halves, thirds, two sizes --------------------------------------------------------------------


@triton.jit
def gated(x, y, d, half):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    gate = tl.load(x + half + i, i < half, 0)
    tl.store(y + i, tl.load(x + i, i < half, 0) * gate, i < half)


def _gated(v: Evaluation) -> None:
    i = _blocks(v)
    v.access("x", i + v["half"], i < v["half"])
    v.access("y", i, i < v["half"])


def _glu(half: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda d: Launch(
        (cdiv(half(d), 64),),
        {"x": Tensor((d,)), "y": Tensor((half(d),)), "d": d, "half": half(d)},
    )


_asked(gated, "halves rounded down", _glu(lambda d: d // 2), _gated, [
    ("halves-down-even", True, 60, 1000, (60, 96)),
    ("halves-down", True, 3, 10_000, (101, 250)),
], "d")  # fmt: skip
_asked(gated, "halves rounded up", _glu(lambda d: cdiv(d, 2)), _gated, [
    ("halves-up-even", False, 60, 1000, (60, 96)),
    ("halves-up-recorded", False, 101, 250, (100, 250)),
], "d")  # fmt: skip


@triton.jit
def joined(x, y, n, m):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(y + i, tl.load(x + i, i < n, 0), i < n)
    tl.store(y + n + i, tl.load(x + i, i < m, 0), i < m)


def _joined(v: Evaluation) -> None:
    i = _blocks(v)
    v.access("x", i, (i < v["n"]) | (i < v["m"]))
    v.access("y", i, i < v["n"])
    v.access("y", i + v["n"], i < v["m"])


def _sum(m: Callable[[int], int], extent: Callable[[int, int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch(
        (cdiv(max(n, m(n)), 64),),
        {"x": Tensor((max(n, m(n)),)), "y": Tensor((extent(n, m(n)),)), "n": n, "m": m(n)},
    )


_asked(joined, "y has n + m, and m stays", _sum(lambda _: 40, lambda n, m: n + m), _joined, [
    ("sum-with-a-size-that-stays", True, 50, 100_000, (150, 333)),
])  # fmt: skip
_asked(joined, "y has 2 n, and m stays", _sum(lambda _: 100, lambda n, _: 2 * n), _joined, [
    ("twice-a-size-below", False, 64, 99, (150, 333)),
    ("twice-a-size", True, 100, 10_000, (150, 333)),
])  # fmt: skip


# -- persistent grids -----------------------------------------------------------------------------


@triton.jit
def persistent(x, y, n):
    for block in range(tl.program_id(0), tl.cdiv(n, 64), tl.num_programs(0)):
        i = block * 64 + tl.arange(0, 64)
        tl.store(y + i, tl.load(x + i, i < n), i < n)


def _persistent(v: Evaluation) -> None:
    v.i32(v["n"] + 63)
    for program in v.few("grid_x"):
        for block in v.trips(program, cdiv(v["n"], 64), v["grid_x"]):
            v.access("x", block * 64 + _LANES, block * 64 + _LANES < v["n"])


def _looped(grid: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch((grid(n),), {"x": Tensor((n,)), "y": Tensor((n,)), "n": n})


_asked(persistent, "at most 8 programs", _looped(lambda n: min(cdiv(n, 64), 8)), _persistent, [
    ("persistent-below-most", True, 1, 100_000, (100, 300)),
    ("persistent-at-most", True, 1, 100_000, (300, 1000)),
    ("persistent-always-most", True, 512, 100_000, (1000, 2000)),
])  # fmt: skip


@triton.jit
def by_program(x, scratch, n):
    total = 0.0
    for block in range(tl.program_id(0), tl.cdiv(n, 64), tl.num_programs(0)):
        i = block * 64 + tl.arange(0, 64)
        total += tl.sum(tl.load(x + i, i < n, 0.0))
    tl.store(scratch + tl.program_id(0), total)


def _by_program(v: Evaluation) -> None:
    v.i32(v["n"] + 63)
    v.access("scratch", v.programs())


def _scratch(count: Callable[[int], int], grid: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch(
        (grid(n),),
        {"x": Tensor((n,), torch.float32), "scratch": Tensor((count(n),), torch.float32), "n": n},
    )


def _most(n: int) -> int:
    return min(cdiv(n, 64), 8)


_asked(by_program, "a number for each program", _scratch(_most, _most), _by_program, [
    ("scratch-of-the-grid", True, 1, 100_000, (300, 1000)),
])  # fmt: skip
_asked(by_program, "the grid is not limited", _scratch(_most, _UP), _by_program, [
    ("scratch-of-fewer", False, 512, 1000, (100, 300)),
])  # fmt: skip
_asked(by_program, "scratch of 8, whatever the grid", _scratch(lambda _: 8, _most), _by_program, [
    ("scratch-of-most", True, 1, 100_000, (300, 1000)),
])  # fmt: skip


# -- rows, heads, sequences and int32 -------------------------------------------------------------


@triton.jit
def grouped_heads(q, k, heads, group):
    head = tl.program_id(0)
    i = tl.arange(0, 64)
    tl.store(q + head * 64 + i, tl.load(k + head // group * 64 + i))


def _grouped_heads(v: Evaluation) -> None:
    v.access("q", v.i32(v.programs() * 64) + _LANES)
    v.access("k", v.programs() // v["group"] * 64 + _LANES)


def _heads(kv: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda heads: Launch(
        (heads,),
        {"q": Tensor((heads, 64)), "k": Tensor((kv(heads), 64)), "heads": heads, "group": 4},
    )


_asked(grouped_heads, "heads // 4 for keys", _heads(lambda heads: heads // 4), _grouped_heads, [
    ("heads-of-keys-down", False, 8, 40, (8, 32)),
], "heads")  # fmt: skip
_asked(grouped_heads, "cdiv(heads, 4) for keys", _heads(lambda h: cdiv(h, 4)), _grouped_heads, [
    ("heads-of-keys-up", True, 1, 4000, (9, 30)),
], "heads")  # fmt: skip


@triton.jit
def ends(offsets, y, batch):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    length = tl.load(offsets + i + 1, i < batch, 0) - tl.load(offsets + i, i < batch, 0)
    tl.store(y + i, length, i < batch)


def _ends(v: Evaluation) -> None:
    v.access("offsets", _blocks(v) + 1, _blocks(v) < v["batch"])


def _offsets(more: int) -> Callable[[int], Launch]:
    return lambda n: Launch(
        (cdiv(n, 64),),
        {"offsets": Tensor((n + more,), torch.int32), "y": Tensor((n,), torch.int32), "batch": n},
    )


_asked(ends, "batch + 1 offsets", _offsets(1), _ends, [
    ("offsets-of-a-batch", True, 1, 10_000_000, (70, 200)),
    ("offsets-of-a-batch-at-the-end", True, 2**31 - 60, 2**31 - 1, (70, 200)),
], "batch")  # fmt: skip


@triton.jit
def strided_rows(x, y, columns, stride):
    i = tl.arange(0, 64)
    row = tl.program_id(0)
    tl.store(y + row * columns + i, tl.load(x + row * stride + i, i < columns), i < columns)


def _strided_rows(v: Evaluation) -> None:
    row, on = v.programs(), v["columns"] > _LANES
    v.access("x", v.i32(row * v["stride"]) + _LANES, on)
    v.access("y", v.i32(row * v["columns"]) + _LANES, on)


def _strided(stride: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch(
        (5,),
        {
            "x": Tensor((5, stride(n))), "y": Tensor((5, n)), "columns": n, "stride": stride(n),
        },
    )  # fmt: skip


_asked(strided_rows, "rows are as long as columns", _strided(lambda n: n), _strided_rows, [
    ("stride-of-columns", True, 1, 64, (33, 50)),
], "columns")  # fmt: skip
_asked(strided_rows, "rows padded to 16", _strided(lambda n: cdiv(n, 16) * 16), _strided_rows, [
    ("stride-padded", True, 1, 64, (33, 50)),
], "columns")  # fmt: skip


@triton.jit
def split(x, part, n, splits):
    size = tl.cdiv(n, splits)
    i = tl.program_id(0) * size + tl.arange(0, 64)
    value = tl.sum(tl.load(x + i, i < n, 0.0))
    tl.store(part + tl.program_id(0), value)


def _split(v: Evaluation) -> None:
    i = v.programs() * cdiv(v["n"], v["splits"]) + _LANES
    v.access("x", i, i < v["n"])
    v.access("part", v.programs())


_asked(
    split, "four parts",
    lambda n: Launch((4,), {"x": Tensor((n,), torch.float32),
                            "part": Tensor((4,), torch.float32), "n": n, "splits": 4}),
    _split, [("split-in-four", True, 1, 10_000, (100, 333))],
)  # fmt: skip
_asked(
    split, "as many parts as splits",
    lambda s: Launch((s,), {"x": Tensor((1000,), torch.float32),
                            "part": Tensor((s,), torch.float32), "n": 1000, "splits": s}),
    _split, [("splits", True, 1, 100, (3, 7))], "splits",
)  # fmt: skip
_asked(
    split, "four parts whatever splits is",
    lambda s: Launch((s,), {"x": Tensor((1000,), torch.float32),
                            "part": Tensor((4,), torch.float32), "n": 1000, "splits": s}),
    _split, [("splits-of-four-parts", False, 1, 9, (2, 4)),
             ("splits-of-four-parts-below", True, 1, 4, (2, 4))], "splits",
)  # fmt: skip


# -- tensors longer by a constant or a block, and numbers that stay while sizes change -------------

_asked(partials, "one partial more", _part(lambda n: n // 64 + 1, _UP), _partials, [
    ("partials-one-more-decided", True, 1, 10_000, (64, 100, 130)),
    ("partials-one-more-of-equal-launches", True, 1, 10_000, (64, 100, 65)),
])  # fmt: skip
_asked(partials, "as many partials as blocks", _part(_UP, _UP), _partials, [
    ("partials-of-equal-launches", True, 1, 10_000, (200, 250)),
])  # fmt: skip
_asked(partials, "four partials", _part(lambda _: 4, _UP), _partials, [
    ("partials-ringed", False, 100, 300, (200, 250)),
])  # fmt: skip
_asked(unmasked, "longer by a block less one", _copied(lambda n: n + 63, _UP), _unmasked, [
    ("longer-by-63", True, 1, 100_000, (100, 64, 193)),
])  # fmt: skip
_asked(unmasked, "longer by a block less two", _copied(lambda n: n + 62, _UP), _unmasked, [
    ("longer-by-62", False, 66, 300, (100, 64, 190)),
])  # fmt: skip
_asked(unmasked, "longer by its half", _copied(lambda n: n // 2 * 3 + 95, _UP), _unmasked, [
    ("longer-by-half", True, 1, 1000, (100, 64, 193)),
])  # fmt: skip


@triton.jit
def convolved(x, y, out):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    near = tl.load(x + 2 * i, i < out, 0)
    tl.store(y + i, near + tl.load(x + 2 * i + 2, i < out, 0), i < out)


def _convolved(v: Evaluation) -> None:
    i = _blocks(v)
    v.access("x", v.i32(2 * i) + 2, i < v["out"])
    v.access("y", i, i < v["out"])


def _windows(count: Callable[[int], int]) -> Callable[[int], Launch]:
    return lambda n: Launch(
        (cdiv(count(n), 64),),
        {"x": Tensor((n,)), "y": Tensor((count(n),)), "out": count(n)},
    )


_asked(convolved, "windows of three", _windows(lambda n: (n - 3) // 2 + 1), _convolved, [
    ("windows", True, 3, 10_000, (133, 264, 522)),
    ("windows-of-odd", True, 3, 10_000, (133, 265, 521)),
], "x.shape[0]")  # fmt: skip
_asked(convolved, "a window for each two", _windows(lambda n: n // 2), _convolved, [
    ("windows-of-halves-of-odd", False, 33, 300, (133, 265, 521)),
], "x.shape[0]")  # fmt: skip
