"""Kernels in Gluon, which has no TTIR, and launches of them with what they compute.

Names of Gluon's functions differ between versions of Triton, so some have another name here. Those
that need a descriptor, a barrier or a product of warp groups are made for Hopper.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

aggregate = getattr(gluon, "aggregate", None)
if aggregate is None:  # before Triton 3.9
    from triton.language.core import _aggregate as aggregate

copy_in = getattr(async_copy, "async_load", async_copy.async_copy_global_to_shared)
tma_load = getattr(tma, "async_load", tma.async_copy_global_to_shared)
tma_store = getattr(tma, "async_store", tma.async_copy_shared_to_global)

LINE = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
PLANE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
SHARED = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))
CLUSTER = gl.constexpr([[1]])
SHARED_PLANE = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))


@gluon.jit
def gluon_copy(source, result, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    gl.store(result + offsets, gl.load(source + offsets))


@gluon.jit
def scaled(x, factor):
    return x * factor


@gluon.constexpr_function
def half(number):
    return number // 2


@gluon.jit
def scale_masked(source, result, n, factor, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    mask = offsets < n
    gl.store(result + offsets, scaled(gl.load(source + offsets, mask=mask), factor), mask=mask)


@gluon.jit
def halves(source, result, BLOCK: gl.constexpr):
    SIZE: gl.constexpr = half(BLOCK)
    offsets = gl.program_id(0) * SIZE + gl.arange(0, SIZE, layout=LINE)
    gl.store(result + offsets, gl.load(source + offsets))


@gluon.jit
def row_sums(source, result, M: gl.constexpr, N: gl.constexpr):
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, PLANE))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, PLANE))
    tile = gl.load(source + rows[:, None] * N + columns[None, :])
    gl.store(result + rows, gl.sum(tile, 1))


@gluon.jit
def turned(source, result, M: gl.constexpr, N: gl.constexpr):
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, PLANE))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, PLANE))
    tile = gl.load(source + rows[:, None] * N + columns[None, :])
    shared = gl.allocate_shared_memory(gl.float32, [M, N], SHARED_PLANE, tile)
    across = shared.permute([1, 0]).load(PLANE)
    gl.store(result + rows[:, None] * N + columns[None, :], across)


@gluon.jit
def copied_asynchronously(source, result, TRIPS: gl.constexpr, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    shared = gl.allocate_shared_memory(gl.float32, [2, BLOCK], SHARED)
    copy_in(shared.index(0), source + offsets)
    async_copy.commit_group()
    for trip in range(TRIPS):
        ahead = (trip + 1) * BLOCK + offsets
        copy_in(shared.index((trip + 1) % 2), source + ahead, mask=ahead < TRIPS * BLOCK)
        async_copy.commit_group()
        async_copy.wait_group(1)
        gl.store(result + trip * BLOCK + offsets, shared.index(trip % 2).load(LINE))


@gluon.jit
def read_too_early(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    shared = gl.allocate_shared_memory(gl.float32, [BLOCK], SHARED)
    copy_in(shared, source + offsets)
    async_copy.commit_group()
    gl.store(result + offsets, shared.load(LINE))
    async_copy.wait_group(0)


@gluon.jit
def copied_by_descriptor(source, result, BYTES: gl.constexpr):
    shared = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(barrier, count=1)
    mbarrier.expect(barrier, BYTES)
    row = gl.program_id(0) * source.block_type.shape[0]
    tma_load(source, [row, 0], barrier, shared)
    mbarrier.wait(barrier, phase=0)
    mbarrier.invalidate(barrier)
    tma_store(result, [row, 0], shared)
    tma.store_wait(pendings=0)


@gluon.jit
def product(a, b, c, BYTES: gl.constexpr):
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    left = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    mbarrier.init(barrier, count=1)
    mbarrier.expect(barrier, BYTES)
    tma_load(a, [0, 0], barrier, left)
    tma_load(b, [0, 0], barrier, right)
    mbarrier.wait(barrier, phase=0)
    mbarrier.invalidate(barrier)
    total = gl.zeros([64, 64], gl.float32, LAYOUT)
    total = warpgroup_mma(left, right, total, is_async=True)
    total = warpgroup_mma_wait(0, deps=(total, left, right))[0]
    out = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    out.store(total.to(gl.float16))
    fence_async_shared()
    tma_store(c, [0, 0], out)
    tma.store_wait(pendings=0)


@aggregate
class Range:
    first: gl.tensor
    last: gl.tensor

    @gluon.constexpr_function
    def __init__(self, first, last):
        self.first = first
        self.last = last


@gluon.jit
def shifted(source, result, n, by, BLOCK: gl.constexpr):
    inside = Range(gl.to_tensor(by), gl.to_tensor(n))
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    mask = (offsets >= inside.first) & (offsets < inside.last)
    gl.store(result + offsets, gl.load(source + offsets - inside.first, mask=mask), mask=mask)


@triton.autotune(configs=[triton.Config({"BLOCK": n}) for n in (128, 256)], key=["n"])
@gluon.jit
def tuned(source, result, n, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    mask = offsets < n
    gl.store(result + offsets, gl.load(source + offsets, mask=mask) + 1, mask=mask)


@gluon.jit
def clustered(source, result, BLOCK: gl.constexpr):
    LAYOUT: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0], CLUSTER)
    offsets = gl.arange(0, BLOCK, layout=LAYOUT)
    gl.store(result + offsets, gl.load(source + offsets))


@gluon.jit
def compute(source, result, offsets):
    gl.store(result + offsets, gl.load(source + offsets))


@gluon.jit
def idle():
    pass


@gluon.jit
def specialized(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    gl.warp_specialize([(compute, (source, result, offsets)), (idle, ())], [1], [24])


@gluon.jit
def load_tiles(source, full, empty, tiles, TRIPS: gl.constexpr, BYTES: gl.constexpr):
    STAGES: gl.constexpr = tiles.type.shape[0]
    for trip in range(TRIPS):
        stage, parity = trip % STAGES, trip // STAGES & 1
        mbarrier.wait(empty.index(stage), parity ^ 1)
        mbarrier.expect(full.index(stage), BYTES)
        tma_load(
            source, [trip * source.block_type.shape[0], 0], full.index(stage), tiles.index(stage)
        )


@gluon.jit
def store_tiles(result, made, free, out, TRIPS: gl.constexpr):
    for trip in range(TRIPS):
        mbarrier.wait(made, trip & 1)
        tma_store(result, [trip * result.block_type.shape[0], 0], out)
        tma.store_wait(pendings=0)
        mbarrier.arrive(free, count=1)


@gluon.jit
def double_tiles(full, empty, tiles, made, free, out, TRIPS: gl.constexpr):
    STAGES: gl.constexpr = tiles.type.shape[0]
    for trip in range(TRIPS):
        stage, parity = trip % STAGES, trip // STAGES & 1
        mbarrier.wait(full.index(stage), parity)
        tile = tiles.index(stage).load(PLANE)
        mbarrier.arrive(empty.index(stage), count=1)
        mbarrier.wait(free, trip & 1 ^ 1)
        out.store(tile * 2)
        fence_async_shared()
        mbarrier.arrive(made, count=1)


@gluon.jit
def doubled_in_partitions(
    source, result, TRIPS: gl.constexpr, BYTES: gl.constexpr, STAGES: gl.constexpr
):
    tiles = gl.allocate_shared_memory(
        source.dtype, [STAGES] + source.block_type.shape, source.layout
    )
    out = gl.allocate_shared_memory(result.dtype, result.block_type.shape, result.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    made = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    mbarrier.init(made, count=1)
    mbarrier.init(free, count=1)
    gl.warp_specialize(
        [
            (double_tiles, (full, empty, tiles, made, free, out, TRIPS)),
            (load_tiles, (source, full, empty, tiles, TRIPS, BYTES)),
            (store_tiles, (result, made, free, out, TRIPS)),
        ],
        [1, 1],
        [24, 24],
    )


class Launch(NamedTuple):
    """A launch that was made: the kernel's name, its grid, the result, and what it should be."""

    kernel: str
    grid: int
    result: torch.Tensor
    expected: torch.Tensor


def _line(kernel: Any, grid: int, *rest: Any, expected: Any = None, **meta: Any):
    def launch(device: str) -> Launch:
        source = torch.arange(512, dtype=torch.float32, device=device)
        result = torch.zeros(512, device=device)
        kernel[(grid,)](source, result, *rest, **meta)
        name = getattr(kernel, "__name__", None) or kernel.fn.__name__
        return Launch(name, grid, result, source if expected is None else expected(source))

    return launch


def _plane(kernel: Any, shape: tuple[int, ...], expected: Callable[[torch.Tensor], torch.Tensor]):
    def launch(device: str) -> Launch:
        source = torch.arange(32 * 32, dtype=torch.float32, device=device).reshape(32, 32)
        result = torch.zeros(shape, device=device)
        kernel[(1,)](source, result, M=32, N=32)
        return Launch(kernel.__name__, 1, result, expected(source))

    return launch


def described(tensor: torch.Tensor, shape: list[int]) -> Any:
    """Describe a tensor of half precision by blocks."""
    layout = gl.NVMMASharedLayout.get_default_for(shape, gl.float16)
    return TensorDescriptor.from_tensor(tensor, shape, layout)


def copy_by_descriptor(device: str, size: int = 32 * 64 * 2) -> Launch:
    """Launch the copy by descriptor, whose barrier expects some bytes."""
    source = torch.arange(64 * 64, dtype=torch.float32, device=device).reshape(64, 64).half()
    result = torch.zeros_like(source)
    block = [32, 64]
    copied_by_descriptor[(2,)](described(source, block), described(result, block), BYTES=size)
    return Launch("copied_by_descriptor", 2, result, source)


def multiply(device: str) -> Launch:
    """Launch the product of warp groups."""
    torch.manual_seed(0)
    a, b = (torch.randn(64, 64).half().to(device) for _ in range(2))
    c = torch.zeros_like(a)
    product[(1,)](*(described(each, [64, 64]) for each in (a, b, c)), BYTES=2 * 64 * 64 * 2)
    return Launch("product", 1, c, (a.float() @ b.float()).half())


def double_in_partitions(device: str, stages: int = 2) -> Launch:
    """Launch the kernel whose partitions hand tiles over."""
    source = torch.arange(256 * 64, dtype=torch.float32, device=device).reshape(256, 64) % 512
    result = torch.zeros(256, 64, dtype=torch.float16, device=device)
    block = [32, 64]
    tensors = described(source.half(), block), described(result, block)
    doubled_in_partitions[(1,)](*tensors, TRIPS=8, BYTES=32 * 64 * 2, STAGES=stages)
    return Launch("doubled_in_partitions", 1, result, (source * 2).half())


def copy_in_clusters(device: str) -> Launch:
    """Launch a kernel whose programs have two thread blocks each."""
    source = torch.arange(512, dtype=torch.float32, device=device)
    result = torch.zeros(512, device=device)
    clustered[(1,)](source, result, BLOCK=512, num_ctas=2)
    return Launch("clustered", 1, result, source)


def _first(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda source: torch.where(source < count, 2 * source, 0 * source)


def _after(by: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda source: torch.cat([source.new_zeros(by), source[:-by]])


LAUNCHES: dict[str, Callable[[str], Launch]] = {
    "copy": _line(gluon_copy, 2, BLOCK=256),
    "masked": _line(scale_masked, 3, 500, 2.0, expected=_first(500), BLOCK=256),
    "constexpr function": _line(halves, 4, BLOCK=256),
    "sums": _plane(row_sums, (32,), lambda source: source.sum(1)),
    "asynchronous copy": _line(copied_asynchronously, 1, TRIPS=4, BLOCK=128),
    "descriptor": copy_by_descriptor,
    "product": multiply,
    "autotuned": _line(tuned, 4, 512, expected=lambda source: source + 1),
}
if triton.__version__ >= "3.6":  # 3.5 dies of the first, and writes the others otherwise
    LAUNCHES["shared memory"] = _plane(turned, (32, 32), lambda source: source.T)
    LAUNCHES["aggregate"] = _line(shifted, 2, 512, 3, expected=_after(3), BLOCK=256)
    LAUNCHES["warp specialization"] = _line(specialized, 1, BLOCK=512)
    LAUNCHES["partitions"] = double_in_partitions
