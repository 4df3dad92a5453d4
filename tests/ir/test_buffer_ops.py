"""Accesses by AMD's buffers, in Gluon: evaluated and judged as accesses by pointers."""

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 7), "Gluon for gfx950")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.ir import parse  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402

cdna = gl.amd.cdna4
LINE = gl.constexpr(gl.BlockedLayout([4], [64], [4], [0]))
PLANE = gl.constexpr(gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0]))
MFMA = gl.constexpr(
    gl.amd.AMDMFMALayout(version=4, instr_shape=[32, 32, 16], transposed=True, warps_per_cta=[2, 2])
)


@gluon.jit
def doubled(source, result, n, first, BLOCK: gl.constexpr):
    offsets = first + gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    x = cdna.buffer_load(ptr=source, offsets=offsets, mask=offsets < n, other=1.0)
    cdna.buffer_store(x * 2, ptr=result, offsets=offsets, mask=offsets < n)


@gluon.jit
def column_sums(source, result, BLOCK: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LINE)
    cdna.buffer_atomic_add(result, offsets % 8, cdna.buffer_load(ptr=source, offsets=offsets))


@gluon.jit
def copied_in_stages(source, result, TRIPS: gl.constexpr, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    SHARED: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    tiles = gl.allocate_shared_memory(gl.float32, [2, BLOCK], SHARED)
    cdna.async_copy.buffer_load_to_shared(tiles.index(0), source, offsets)
    cdna.async_copy.commit_group()
    for trip in range(TRIPS):
        ahead = (trip + 1) * BLOCK + offsets
        into = tiles.index((trip + 1) % 2)
        cdna.async_copy.buffer_load_to_shared(into, source, ahead, mask=ahead < TRIPS * BLOCK)
        cdna.async_copy.commit_group()
        cdna.async_copy.wait_group(1)
        tile = tiles.index(trip % 2).load(LINE)
        cdna.buffer_store(tile, ptr=result, offsets=trip * BLOCK + offsets)


@gluon.jit
def product(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, PLANE))[:, None]
    depth = gl.arange(0, K, layout=gl.SliceLayout(0, PLANE))[None, :]
    depths = gl.arange(0, K, layout=gl.SliceLayout(1, PLANE))[:, None]
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, PLANE))[None, :]
    left = cdna.buffer_load(ptr=a, offsets=rows * K + depth)
    right = cdna.buffer_load(ptr=b, offsets=depths * N + columns)
    total = cdna.mfma(
        gl.convert_layout(left, gl.DotOperandLayout(0, MFMA, 8)),
        gl.convert_layout(right, gl.DotOperandLayout(1, MFMA, 8)),
        gl.zeros((M, N), gl.float32, layout=MFMA),
    )
    cdna.buffer_store(gl.convert_layout(total, PLANE), ptr=c, offsets=rows * N + columns)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Results beside what they should be, and the trace of their launches."""
    out = tmp_path_factory.mktemp("buffers")
    source, result, sums = torch.randn(1024), torch.zeros(1000), torch.zeros(8)
    a, b, c = torch.randn(64, 32).half(), torch.randn(32, 64).half(), torch.zeros(64, 64)
    whole, copied = torch.arange(1024.0), torch.zeros(1024)
    with kvtrace.capture(out, target="hip:gfx950"):
        doubled[(4,)](source, result, 1000, 0, BLOCK=256)
        column_sums[(4,)](whole, sums, BLOCK=256)
        copied_in_stages[(1,)](source, copied, TRIPS=4, BLOCK=256)
        product[(1,)](a, b, c, M=64, N=64, K=32)
    pairs = {
        "doubled": (result, 2 * source[:1000]),
        "column_sums": (sums, whole.reshape(-1, 8).sum(0)),
        "copied_in_stages": (copied, source),
        "product": (c, a.float() @ b.float()),
    }
    return out, pairs


@pytest.mark.parametrize("name", ["doubled", "column_sums", "copied_in_stages", "product"])
def test_accesses_by_a_buffer_are_evaluated(name, recording):
    result, expected = recording[1][name]
    torch.testing.assert_close(result, expected, atol=1e-4, rtol=1e-4)


def verdicts(out, rule):
    kvtrace.open(out).sanitize(rule)
    rows = plain_rows(open_trace(out).table("findings"))
    return [row["verdict"] for row in rows if row["rule"] == rule]


@pytest.mark.process
def test_accesses_by_a_buffer_are_judged(recording):
    assert set(verdicts(recording[0], "out-of-bounds")) == {"proven"}


@pytest.mark.process
def test_offsets_outside_of_a_tensor_are_found(tmp_path):
    with kvtrace.capture(tmp_path, target="hip:gfx950"):
        doubled[(4,)](torch.randn(1000), torch.zeros(1000), 1001, 0, BLOCK=256)
    assert "violation" in verdicts(tmp_path, "out-of-bounds")
    assert set(verdicts(tmp_path, "buffer-range")) == {"proven"}


@pytest.mark.process
def test_a_device_drops_offsets_below_the_base(tmp_path):
    source, result = torch.randn(1000), torch.full((1000,), 7.0)
    with kvtrace.capture(tmp_path, target="hip:gfx950"):
        doubled[(4,)](source, result, 990, -10, BLOCK=256)
    torch.testing.assert_close(result[:990], 2 * source[:990])
    assert (result[990:] == 7).all()
    assert set(verdicts(tmp_path, "out-of-bounds")) == {"proven"}
    assert set(verdicts(tmp_path, "buffer-range")) == {"violation"}


@gluon.jit
def shifted(source, result, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=LINE)
    cdna.buffer_store(cdna.buffer_load(source, offsets - 1), result + 1, offsets - 1)


def test_lanes_outside_of_a_buffer_load_zero_and_store_nothing(tmp_path):
    whole, result = torch.randn(300), torch.full((300,), 7.0)
    with kvtrace.capture(tmp_path, target="hip:gfx950"):
        shifted[(1,)](whole[8:], result, BLOCK=256)
    assert torch.equal(result[1:256], whole[8:263])
    assert result[0] == result[256] == 7


def test_an_access_that_does_not_fit_its_form_stays_as_it_is():
    text = """"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>) -> (), sym_name = "f"}> ({
  ^bb0(%a: !tt.ptr<f32>):
    %o = "tt.make_range"() <{end = 4 : i32, start = 0 : i32}> : () -> tensor<4xi32>
    %x = "amdg.buffer_load"(%a, %o) : (!tt.ptr<f32>, tensor<4xi32>) -> tensor<4xf32>
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
    sizes = "<{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}>"
    names = [op.name for op in parse(text).ops]
    assert "amdg.buffer_load" in names
    module = parse(text.replace("(%a, %o) :", f"(%a, %o) {sizes} :"))
    assert [op.name for op in module.ops][2:] == [
        "tt.make_range", "tt.splat", "tt.addptr", "arith.constant", "arith.cmpi", "arith.constant",
        "tt.load", "tt.return",
    ]  # fmt: skip
    assert [op.index for op in module.ops] == list(range(10))
