"""Kernels in Gluon for Hopper, with launches: what an evaluator has to compute as the device does.

Each launch makes its inputs from one seed and returns nothing; results are in its recording.
"""

from collections.abc import Callable
from typing import Any

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from corpus.kernels.gluon_kernels import (
    LINE,
    PLANE,
    SHARED_PLANE,
    copy_in,
    described,
    tma_load,
    tma_store,
)

N = 64
TILE = gl.constexpr(gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1]))
CUBE = gl.constexpr(gl.BlockedLayout([1, 1, 2], [2, 4, 4], [4, 1, 1], [2, 1, 0]))
MMA = gl.constexpr(gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]))
WGMMA = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
barrier = getattr(gl, "barrier", None) or gl.thread_barrier  # before Triton 3.7
BARRIER = gl.constexpr(mbarrier.MBarrierLayout())


@gluon.jit
def places(M: gl.constexpr, N: gl.constexpr, L: gl.constexpr):
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, L))
    return rows[:, None] * N + gl.arange(0, N, layout=gl.SliceLayout(0, L))[None, :]


@gluon.jit
def elementary(source, result, F: gl.constexpr, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    gl.store(result + offsets, F(gl.load(source + offsets)))


@gluon.jit
def polynomial(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    x = gl.load(source + offsets)
    y = gl.fma(x, gl.fma(x, x * 0.25 + 1.0, x), x)
    gl.store(result + offsets, gl.where(x > 0, gl.maximum(y, 0.5), gl.minimum(y, x)))


@gluon.jit
def softmax(source, result, M: gl.constexpr, N: gl.constexpr):
    at = places(M, N, PLANE)
    x = gl.load(source + at)
    e = gl.exp(x - gl.max(x, 1)[:, None])
    gl.store(result + at, e / gl.sum(e, 1)[:, None])


@gluon.jit
def layer_norm(source, result, M: gl.constexpr, N: gl.constexpr):
    at = places(M, N, PLANE)
    x = gl.load(source + at)
    centered = x - (gl.sum(x, 1) / N)[:, None]
    variance = gl.sum(centered * centered, 1) / N
    gl.store(result + at, centered * gl.rsqrt(variance + 1e-5)[:, None])


@gluon.jit
def first_of_two(x, i, y, j):
    ahead = (x > y) | ((x == y) & (i < j))
    return gl.where(ahead, x, y), gl.where(ahead, i, j)


@gluon.jit
def arg_max(source, result, M: gl.constexpr, N: gl.constexpr):
    column = gl.arange(0, N, layout=gl.SliceLayout(0, PLANE))[None, :]
    x = gl.load(source + places(M, N, PLANE))
    _, index = gl.reduce((x, column + x.to(gl.int32) * 0), 1, first_of_two)
    gl.store(result + gl.arange(0, M, layout=gl.SliceLayout(1, PLANE)), index.to(gl.float32))


@gluon.jit
def add(x, y):
    return x + y


@gluon.jit
def running_sum(source, result, M: gl.constexpr, N: gl.constexpr):
    at = places(M, N, PLANE)
    gl.store(result + at, gl.associative_scan(gl.load(source + at), 1, add))


@gluon.jit
def in_cubes(source, result, N: gl.constexpr):
    x = gl.load(source + gl.arange(0, N * N, layout=LINE))
    cube = gl.convert_layout(x.reshape([N // 4, N // 4, 16]), CUBE).permute([1, 0, 2])
    even, odd = gl.split(cube.reshape([N * N // 2, 2]))
    both = gl.convert_layout(gl.join(odd, even * 2).reshape([N * N]), LINE)
    gl.store(result + gl.arange(0, N * N, layout=LINE), both)


@gluon.jit
def buckets(source, result, BLOCK: gl.constexpr):
    x = gl.load(source + gl.arange(0, BLOCK, layout=LINE))
    counts = gl.histogram((gl.abs(x) * 64).to(gl.int32) & 127, 128, layout=LINE)
    gl.store(result + gl.arange(0, 128, layout=LINE), counts.to(gl.float32))


@gluon.jit
def added_up(source, result, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    x = gl.load(source + offsets)
    gl.atomic_add(result + offsets % 32, gl.floor(x * 8))
    gl.atomic_max(result + 32 + offsets % 7, x)


@gluon.jit
def gathered(source, result, M: gl.constexpr, N: gl.constexpr):
    at = places(M, N, PLANE)
    gl.store(result + at, gl.gather(gl.load(source + at), (at * 7 + 3) % N, axis=1))


@gluon.jit
def in_integers(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    x = (gl.load(source + offsets) * 1000).to(gl.int32)
    y = (x // 7) * 3 + x % 5 ^ (x << 3) & 255 | (x >> 2)
    high = gl.umulhi(x.to(gl.uint32), (offsets + 1).to(gl.uint32) * 65537)
    gl.store(result + offsets, (y + (high & 1023).to(gl.int32)).to(gl.float32))


@gluon.jit
def through_narrow_types(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    x = gl.load(source + offsets)
    small = x.to(gl.float8e5).to(gl.float32) + x.to(gl.float8e4nv).to(gl.float32)
    gl.store(result + offsets, small + x.to(gl.bfloat16).to(gl.float32) - x.to(gl.float16))


@gluon.jit
def steps_to_one(source, result, BLOCK: gl.constexpr):
    number = gl.program_id(0) + 1
    steps = 0
    while number != 1:
        if number % 2 == 0:  # noqa: SIM108 - Triton's branch
            number = number // 2
        else:
            number = 3 * number + 1
        steps += 1
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    gl.store(result + offsets, gl.load(source + offsets) * 0 + steps)


@gluon.jit
def persistent_sum(source, result, n, BLOCK: gl.constexpr):
    total = gl.zeros([BLOCK], gl.float32, LINE)
    for first in range(gl.program_id(0) * BLOCK, n, gl.num_programs(0) * BLOCK):
        offsets = first + gl.arange(0, BLOCK, layout=LINE)
        total += gl.load(source + offsets, mask=offsets < n, other=0.0)
    gl.store(result + gl.program_id(0), gl.sum(total, 0))


@gluon.jit
def quarters_turned(source, result, N: gl.constexpr):
    HALF: gl.constexpr = N // 2
    at = places(N, N, PLANE)
    shared = gl.allocate_shared_memory(gl.float32, [N, N], SHARED_PLANE, gl.load(source + at))
    for row in gl.static_range(2):
        for column in gl.static_range(2):
            part = shared.slice(row * HALF, HALF, 0).slice(column * HALF, HALF, 1)
            rows = gl.arange(0, HALF, layout=gl.SliceLayout(1, PLANE))[:, None] + column * HALF
            columns = gl.arange(0, HALF, layout=gl.SliceLayout(0, PLANE))[None, :] + row * HALF
            gl.store(result + rows * N + columns, part.permute([1, 0]).load(PLANE))


@gluon.jit
def multiplied_without_cores(source, result, N: gl.constexpr):
    at = places(N, N, TILE)
    LEFT: gl.constexpr = gl.DotOperandLayout(0, TILE, 0)
    RIGHT: gl.constexpr = gl.DotOperandLayout(1, TILE, 0)
    x = gl.load(source + at)
    total = gl.zeros([N, N], gl.float32, TILE)
    product = gl.dot_fma(gl.convert_layout(x, LEFT), gl.convert_layout(x, RIGHT), total)
    gl.store(result + at, product)


@gluon.jit
def multiplied_by_warps(source, result, TYPE: gl.constexpr, N: gl.constexpr):
    WIDTH: gl.constexpr = 32 // TYPE.primitive_bitwidth
    at = places(N, N, PLANE)
    shared = gl.allocate_shared_memory(TYPE, [N, N], SHARED_PLANE, gl.load(source + at).to(TYPE))
    left = shared.load(gl.DotOperandLayout(0, MMA, WIDTH))
    right = shared.permute([1, 0]).load(gl.DotOperandLayout(1, MMA, WIDTH))
    total = mma_v2(left, right, gl.zeros([N, N], gl.float32, MMA))
    gl.store(result + places(N, N, MMA), total)


@gluon.jit
def multiplied_in_stages(source, result, TRIPS: gl.constexpr, N: gl.constexpr):
    at = places(N, N, PLANE)
    tiles = gl.allocate_shared_memory(gl.float32, [2, N, N], SHARED_PLANE)
    copy_in(tiles.index(0), source + at)
    async_copy.commit_group()
    total = gl.zeros([N, N], gl.float32, MMA)
    for trip in range(TRIPS):
        copy_in(tiles.index((trip + 1) % 2), source + (trip + 1) % TRIPS * N * N + at)
        async_copy.commit_group()
        async_copy.wait_group(1)
        barrier()
        tile = tiles.index(trip % 2)
        left = tile.load(gl.DotOperandLayout(0, MMA, 2)).to(gl.float16)
        right = tile.permute([1, 0]).load(gl.DotOperandLayout(1, MMA, 2)).to(gl.float16)
        total = mma_v2(left, right, total)
        barrier()
    async_copy.wait_group(0)
    gl.store(result + places(N, N, MMA), total)


@gluon.jit
def stored_tile(c, total):
    out = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    out.store(total.to(c.dtype))
    fence_async_shared()
    tma_store(c, [0, 0], out)
    gl.nvidia.hopper.tma.store_wait(pendings=0)


@gluon.jit
def multiplied_in_phases(a, b, c, TRIPS: gl.constexpr, BYTES: gl.constexpr):
    ready = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    left = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    mbarrier.init(ready, count=1)
    total = gl.zeros([64, 64], gl.float32, WGMMA)
    for trip in range(TRIPS):
        mbarrier.expect(ready, BYTES)
        tma_load(a, [0, trip * a.block_type.shape[1]], ready, left)
        tma_load(b, [trip * a.block_type.shape[1], 0], ready, right)
        mbarrier.wait(ready, phase=trip & 1)
        total = warpgroup_mma(left, right, total, is_async=True)
        total = warpgroup_mma_wait(0, deps=(total, left, right))[0]
    mbarrier.invalidate(ready)
    stored_tile(c, total)


@gluon.jit
def load_operands(a, b, full, empty, left, right, TRIPS: gl.constexpr, BYTES: gl.constexpr):
    for trip in range(TRIPS):
        stage, parity = trip % 2, trip // 2 & 1
        mbarrier.wait(empty.index(stage), parity ^ 1)
        mbarrier.expect(full.index(stage), BYTES)
        tma_load(a, [0, trip * a.block_type.shape[1]], full.index(stage), left.index(stage))
        tma_load(b, [trip * a.block_type.shape[1], 0], full.index(stage), right.index(stage))


@gluon.jit
def multiply_operands(c, full, empty, left, right, TRIPS: gl.constexpr):
    total = gl.zeros([64, 64], gl.float32, WGMMA)
    for trip in range(TRIPS):
        stage, parity = trip % 2, trip // 2 & 1
        mbarrier.wait(full.index(stage), parity)
        total = warpgroup_mma(left.index(stage), right.index(stage), total, is_async=True)
        total = warpgroup_mma_wait(0, deps=(total, left, right))[0]
        mbarrier.arrive(empty.index(stage), count=1)
    stored_tile(c, total)


@gluon.jit
def multiplied_in_partitions(a, b, c, TRIPS: gl.constexpr, BYTES: gl.constexpr):
    full = gl.allocate_shared_memory(gl.int64, [2, 1], BARRIER)
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], BARRIER)
    left = gl.allocate_shared_memory(a.dtype, [2] + a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, [2] + b.block_type.shape, b.layout)
    for stage in gl.static_range(2):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    gl.warp_specialize(
        [
            (multiply_operands, (c, full, empty, left, right, TRIPS)),
            (load_operands, (a, b, full, empty, left, right, TRIPS, BYTES)),
        ],
        [1],
        [24],
    )


def _numbers(count: int, *, positive: bool = False, exact: bool = False) -> torch.Tensor:
    """Random numbers; of `exact` ones, sums of 256 products are exact in half precision."""
    numbers = torch.randn(count, generator=torch.Generator().manual_seed(0))
    if exact:
        return numbers.round().clamp(-2, 2)
    return numbers.abs() + 0.1 if positive else numbers


def _case(kernel: Any, *rest: Any, grid: int = 1, positive: bool = False, **meta: Any):
    def launch(device: str) -> None:
        source = _numbers(4 * N * N, positive=positive).to(device)
        kernel[(grid,)](source, torch.zeros(N * N, device=device), *rest, **meta)

    return launch


def _product(kernel: Any, dtype: torch.dtype, width: int, *, exact: bool = False):
    def launch(device: str) -> None:
        depth = 4 * width
        a = _numbers(64 * depth, exact=exact).reshape(64, depth).to(device, dtype)
        b = _numbers(64 * depth, exact=exact).reshape(depth, 64).to(device, dtype)
        c = torch.zeros(64, 64, dtype=dtype, device=device)
        tensors = described(a, [64, width]), described(b, [width, 64]), described(c, [64, 64])
        kernel[(1,)](*tensors, TRIPS=4, BYTES=2 * 64 * width * a.element_size())

    return launch


_FUNCTIONS = {
    "exp": gl.exp, "exp2": gl.exp2, "log": gl.log, "log2": gl.log2, "sin": gl.sin, "cos": gl.cos,
    "sqrt": gl.sqrt, "rsqrt": gl.rsqrt, "erf": gl.erf, "ceil": gl.ceil,
}  # fmt: skip
_PLANE_OF = {"M": N, "N": N}

LAUNCHES: dict[str, Callable[[str], None]] = {
    **{
        name: _case(elementary, grid=4, positive=True, F=function, BLOCK=1024)
        for name, function in _FUNCTIONS.items()
    },
    **{
        kernel.__name__: _case(kernel, **_PLANE_OF)
        for kernel in (softmax, layer_norm, arg_max, running_sum, gathered)
    },
    **{
        kernel.__name__: _case(kernel, BLOCK=1024)
        for kernel in (polynomial, buckets, in_integers, through_narrow_types)
    },
    **{
        kernel.__name__: _case(kernel, N=N)
        for kernel in (in_cubes, quarters_turned, multiplied_without_cores)
    },
    "added up": _case(added_up, grid=4, BLOCK=1024),
    "steps to one": _case(steps_to_one, grid=27, BLOCK=128),
    "persistent sum": _case(persistent_sum, 4 * N * N - 5, grid=3, BLOCK=512),
    "mma, half": _case(multiplied_by_warps, TYPE=gl.float16, N=N),
    "mma, bfloat16": _case(multiplied_by_warps, TYPE=gl.bfloat16, N=N),
    "mma, tf32": _case(multiplied_by_warps, TYPE=gl.float32, N=N),
    "mma in stages": _case(multiplied_in_stages, TRIPS=4, N=N),
    "wgmma, half": _product(multiplied_in_phases, torch.float16, 64),
    "wgmma, bfloat16": _product(multiplied_in_phases, torch.bfloat16, 64),
    "wgmma, half, narrow": _product(multiplied_in_phases, torch.float16, 32),
    "wgmma in partitions": _product(multiplied_in_partitions, torch.float16, 64, exact=True),
}
