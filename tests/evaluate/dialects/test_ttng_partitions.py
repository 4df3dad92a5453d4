"""Blackwell's tensor memory, products and rows by index, in Gluon, beside torch."""

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 7), "Gluon for Blackwell")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia import blackwell  # noqa: E402
from triton.experimental.gluon.language.nvidia.blackwell import (  # noqa: E402
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402

ROWS = gl.constexpr(gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0])))
PLANE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
M, N, K = 128, 64, 128

if hasattr(blackwell, "get_tmem_reg_layout"):  # before Triton 3.8

    @gluon.constexpr_function
    def registers(memory):
        return blackwell.get_tmem_reg_layout(memory.dtype, memory.shape, memory.layout, 4)

else:

    @gluon.constexpr_function
    def registers(memory):
        return memory.type.get_reg_layout(4)


@gluon.jit
def places(X: gl.constexpr, Y: gl.constexpr):
    rows = gl.arange(0, X, layout=gl.SliceLayout(1, PLANE))
    return rows[:, None] * Y + gl.arange(0, Y, layout=gl.SliceLayout(0, PLANE))[None, :]


@gluon.jit
def shared_tile(source, X: gl.constexpr, Y: gl.constexpr):
    TYPE: gl.constexpr = source.dtype.element_ty
    LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([X, Y], TYPE)
    return gl.allocate_shared_memory(TYPE, [X, Y], LAYOUT, gl.load(source + places(X, Y)))


@gluon.jit
def new_barrier():
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(barrier, count=1)
    return barrier


@gluon.jit
def gather(described, chosen, out, column, X: gl.constexpr, Y: gl.constexpr, BYTES: gl.constexpr):
    tile = gl.allocate_shared_memory(described.dtype, [X, Y], described.layout)
    barrier = new_barrier()
    mbarrier.expect(barrier, BYTES)
    rows = gl.load(chosen + gl.arange(0, X, layout=ROWS))
    tma.async_gather(described, rows, column, barrier, tile)
    mbarrier.wait(barrier, 0)
    gl.store(out + places(X, Y), tile.load(PLANE))


@gluon.jit
def scatter(described, chosen, source, column, X: gl.constexpr, Y: gl.constexpr):
    tile = gl.allocate_shared_memory(
        described.dtype, [X, Y], described.layout, gl.load(source + places(X, Y))
    )
    fence_async_shared()
    rows = gl.load(chosen + gl.arange(0, X, layout=ROWS))
    tma.async_scatter(described, rows, column, tile)
    tma.store_wait(0)


@gluon.jit
def product(a, b, out, TRIPS: gl.constexpr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    left, right = shared_tile(a, M, K), shared_tile(b, N, K)
    total = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    barrier = new_barrier()
    fence_async_shared()
    for trip in range(TRIPS):
        tcgen05_mma(left, right.permute((1, 0)), total, use_acc=trip > 0)
        tcgen05_commit(barrier)
        mbarrier.wait(barrier, trip & 1)
    gl.store(out + places(M, N), gl.convert_layout(total.load(registers(total)), PLANE))


@gluon.jit
def stored_scales(source, X: gl.constexpr, Y: gl.constexpr):
    memory = allocate_tensor_memory(gl.uint8, [X, Y], TensorMemoryScalesLayout())
    memory.store(gl.convert_layout(gl.load(source + places(X, Y)), registers(memory)))
    return memory


@gluon.jit
def scaled(
    a, b, left_scales, right_scales, out, KIND: gl.constexpr, WIDTH: gl.constexpr,
    M: gl.constexpr, N: gl.constexpr, K: gl.constexpr,
):  # fmt: skip
    left, right = shared_tile(a, M, WIDTH), shared_tile(b, N, WIDTH)
    left_scale = stored_scales(left_scales, M, K // 32)
    right_scale = stored_scales(right_scales, N, K // 32)
    total = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], 1))
    barrier = new_barrier()
    fence_async_shared()
    tcgen05_mma_scaled(
        left, right.permute((1, 0)), total, left_scale, right_scale, KIND, KIND, use_acc=False
    )
    tcgen05_commit(barrier)
    mbarrier.wait(barrier, 0)
    gl.store(out + places(M, N), gl.convert_layout(total.load(registers(total)), PLANE))


@pytest.fixture
def recording(tmp_path):
    with kvtrace.capture(tmp_path, target="cuda:100"):
        yield tmp_path
    messages = plain_rows(open_trace(tmp_path).table("messages"))
    assert "not-evaluated" not in [row["code"] for row in messages]


def described_rows(tensor):
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    return TensorDescriptor.from_tensor(tensor, [1, 64], layout)


@pytest.mark.usefixtures("recording")
def test_rows_are_gathered_by_index():
    source, chosen = torch.randn(64, 128).half(), torch.randperm(64)[:32].int()
    out = torch.zeros(32, 64).half()
    gather[(1,)](described_rows(source), chosen, out, 64, X=32, Y=64, BYTES=32 * 64 * 2)
    assert torch.equal(out, source[chosen.long()][:, 64:])


@pytest.mark.usefixtures("recording")
def test_rows_are_scattered_by_index():
    target, chosen = torch.zeros(64, 128).half(), torch.randperm(64)[:32].int()
    source = torch.randn(32, 64).half()
    scatter[(1,)](described_rows(target), chosen, source, 64, X=32, Y=64)
    expected = torch.zeros(64, 128).half()
    expected[chosen.long(), 64:] = source
    assert torch.equal(target, expected)


@pytest.mark.usefixtures("recording")
def test_products_are_added_to_tensor_memory():
    a, b, out = torch.randn(M, K).half(), torch.randn(N, K).half(), torch.zeros(M, N)
    product[(1,)](a, b, out, TRIPS=3, M=M, N=N, K=K)
    torch.testing.assert_close(out, 3 * (a.float() @ b.float().T), atol=1e-3, rtol=1e-4)


def factors(rows, kind):
    """A factor as it is stored, and its numbers."""
    if kind != "e2m1":
        dtype = torch.float8_e4m3fn if kind == "e4m3" else torch.float8_e5m2
        stored = torch.randn(rows, K).to(dtype)
        return stored, stored.float()
    stored = torch.randint(0, 256, (rows, K // 2), dtype=torch.uint8)
    halves = [E2M1[(stored & 15).long()], E2M1[(stored >> 4).long()]]
    return stored, torch.stack(halves, -1).reshape(rows, K)


@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("kind", ["e4m3", "e5m2", "e2m1"])
def test_scaled_products_multiply_blocks_by_powers_of_two(kind):
    (a, left), (b, right) = factors(M, kind), factors(N, kind)
    scales = [torch.randint(124, 131, (rows, K // 32), dtype=torch.uint8) for rows in (M, N)]
    out = torch.zeros(M, N)
    scaled[(1,)](a, b, *scales, out, KIND=kind, WIDTH=a.shape[1], M=M, N=N, K=K)
    powers = [torch.exp2(s.float() - 127).repeat_interleave(32, 1) for s in scales]
    expected = (left * powers[0]) @ (right * powers[1]).T
    torch.testing.assert_close(out, expected, atol=1e-3, rtol=1e-4)
