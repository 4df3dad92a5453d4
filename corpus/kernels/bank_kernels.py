"""Kernels whose accesses of memory are counted: at most one of a kind a line tells them apart.

What loads from shared memory is stored on the same line: ptxas moves the last load to the store's.
"""

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2

from corpus.kernels.gluon_kernels import copy_in
from corpus.kernels.hopper_gluon import MMA, places

ROWS = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
COLUMNS = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
FOURS = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
EIGHTS = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
DOWN = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
FACTORS = {name: gl.DotOperandLayout(place, MMA.value, 2) for place, name in enumerate("AB")}
WARPS = 4


def swizzle(vector: int, per_phase: int, phases: int) -> gl.SwizzledSharedLayout:
    return gl.SwizzledSharedLayout(vector, per_phase, phases, [1, 0])


@gluon.jit
def through(x, out, M: gl.constexpr, N: gl.constexpr, STORED: gl.constexpr, LOADED: gl.constexpr,
            SHARED: gl.constexpr):  # fmt: skip
    values = gl.load(x + places(M, N, STORED))
    tile = gl.allocate_shared_memory(values.dtype, [M, N], SHARED)
    tile.store(values)
    gl.store(out + places(M, N, LOADED), tile.load(LOADED))


@gluon.jit
def viewed(x, out, N: gl.constexpr, VIEW: gl.constexpr, L: gl.constexpr, SHARED: gl.constexpr):
    values = gl.load(x + places(N, N, L))
    tiles = gl.allocate_shared_memory(values.dtype, [2, N, N], SHARED)
    tiles.index(1).store(values)
    view = tiles.index(1).permute([1, 0]) if VIEW == "turned" else tiles.index(1).slice(0, N // 2)
    gl.store(out + places(view.shape[0], N, L), view.load(L))


@gluon.jit
def copied(x, out, M: gl.constexpr, N: gl.constexpr, L: gl.constexpr, SHARED: gl.constexpr):
    tile = gl.allocate_shared_memory(x.dtype.element_ty, [M, N], SHARED)
    copy_in(tile, x + places(M, N, L))
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out + places(M, N, L), tile.load(L))


@gluon.jit
def multiplied(x, out, N: gl.constexpr, L: gl.constexpr, SHARED: gl.constexpr,
               A: gl.constexpr, B: gl.constexpr, C: gl.constexpr):  # fmt: skip
    values = gl.load(x + places(N, N, L))
    tile = gl.allocate_shared_memory(values.dtype, [N, N], SHARED)
    tile.store(values)
    left = tile.load(A)
    right = tile.load(B)
    product = mma_v2(left, right, gl.zeros([N, N], gl.float32, C))
    gl.store(out + places(N, N, C), product)


@triton.jit
def copy(x, out, STEP: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK) * STEP
    values = tl.load(x + lanes)
    tl.store(out + lanes, values)


@triton.jit
def transpose(x, out, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    values = tl.load(x + row[:, None] * N + column[None, :])
    turned = tl.trans(values)
    tl.store(out + column[:, None] * M + row[None, :], turned)


@triton.jit
def sums(x, out, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    values = tl.load(x + row[:, None] * N + column[None, :])
    total = tl.sum(values, 0)
    tl.store(out + column, total)


@triton.jit
def product(x, out, N: tl.constexpr):
    place = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    values = tl.load(x + place)
    total = tl.dot(values, values)
    tl.store(out + place, total)


def _case(kernel: Any, dtype: torch.dtype = torch.float32, at: int = 0, **constants: Any) -> Any:
    """Return a launch with `at` elements ahead of the tensors' first, which decide alignment."""

    def launch(device: str) -> None:
        x, out = (torch.zeros(1 << 14, device=device).to(dtype)[at:] for _ in "xy")
        kernel[(1,)](x, out, **constants, num_warps=WARPS)

    return launch


def _through(dtype: torch.dtype, stored: Any, loaded: Any, shared: Any, n: int = 64) -> Any:
    return _case(through, dtype, M=n, N=n, STORED=stored, LOADED=loaded, SHARED=shared)


def _multiplied(shared: Any) -> Any:
    return _case(multiplied, F16, N=64, L=EIGHTS, SHARED=shared, C=MMA.value, **FACTORS)


F16, F32, F64, I8 = torch.float16, torch.float32, torch.float64, torch.int8
PADDED = gl.PaddedSharedLayout.with_identity_for([[64, 1]], [64, 64], [1, 0])
TURNED = {"N": 64, "L": FOURS, "SHARED": swizzle(1, 1, 1)}
#: A launch of each kernel, by a name.
LAUNCHES: dict[str, Callable[[str], None]] = {
    "transposed": _through(F32, ROWS, COLUMNS, swizzle(1, 1, 1)),
    "transposed, 4 phases": _through(F32, ROWS, COLUMNS, swizzle(1, 1, 4)),
    "transposed, swizzled": _through(F32, ROWS, COLUMNS, swizzle(1, 1, 32)),
    "transposed, padded": _through(F32, ROWS, COLUMNS, PADDED),
    "transposed doubles": _through(F64, ROWS, COLUMNS, swizzle(1, 1, 8), 32),
    "transposed halves": _through(F16, EIGHTS, COLUMNS, swizzle(8, 1, 8)),
    "transposed bytes": _through(I8, FOURS, COLUMNS, swizzle(4, 1, 4)),
    "fours": _through(F32, FOURS, FOURS, swizzle(1, 1, 1)),
    "fours turned": _through(F32, FOURS, DOWN, swizzle(4, 1, 8)),
    "halves as TMA has them": _through(F16, EIGHTS, DOWN, gl.NVMMASharedLayout(128, 16, 2)),
    "lanes that repeat": _case(through, M=8, N=64, STORED=ROWS, LOADED=COLUMNS,
                               SHARED=swizzle(1, 1, 1)),
    "permuted view": _case(viewed, VIEW="turned", **TURNED),
    "part of a buffer": _case(viewed, VIEW="part", **TURNED),
    "copied asynchronously": _case(copied, M=64, N=64, L=FOURS, SHARED=swizzle(4, 1, 8)),
    "multiplied": _multiplied(swizzle(8, 1, 8)),
    "multiplied, unswizzled": _multiplied(swizzle(1, 1, 1)),
    "product": _case(product, F16, N=64),
    "transpose": _case(transpose, M=64, N=32),
    "sums": _case(sums, M=64, N=32),
    "16 bytes": _case(copy, STEP=1, BLOCK=1024),
    "8 bytes": _case(copy, I8, STEP=1, BLOCK=1024),
    "4 bytes": _case(copy, at=1, STEP=1, BLOCK=512),
    "2 bytes": _case(copy, F16, STEP=2, BLOCK=512),
    "1 byte": _case(copy, I8, at=1, STEP=1, BLOCK=512),
}  # fmt: skip
