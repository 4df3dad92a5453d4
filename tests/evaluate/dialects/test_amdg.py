"""Copies by AMD's tensor data mover (gfx1250), and transposed reads of LDS (gfx950), in Gluon."""

import numpy as np
import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 7), "Gluon for gfx1250")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.evaluate import Storage, TensorArgument, evaluate  # noqa: E402
from kvtrace.ir import parse  # noqa: E402
from kvtrace.recorded_calls.reading import stage_artifact  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402

tdm = gl.amd.gfx1250.tdm
PADDED = gl.constexpr(gl.PaddedSharedLayout.with_identity_for([[32, 8]], [16, 32], [1, 0]))
PLANE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))


@gluon.jit
def tiles(source, result, rows, columns, WANTED: gl.constexpr):
    before = tdm.make_tensor_descriptor(source, [rows, columns], [columns, 1], [16, 32], PADDED)
    after = tdm.make_tensor_descriptor(result, [rows, columns], [columns, 1], [16, 32], PADDED)
    stages = gl.allocate_shared_memory(gl.float16, [2, 16, 32], PADDED)
    row = gl.program_id(0) * 16
    first, second = stages.index(0), stages.index(1)
    first.store(gl.zeros([16, 32], gl.float16, PLANE))
    tdm.async_load(before, [row, 0], first, pred=WANTED)
    tdm.async_load(before, [row, 32], second)
    tdm.async_wait(1)
    first.store(first.load(PLANE) * 2)
    tdm.async_store(after, [row, 0], first)
    tdm.async_wait(1)
    tdm.async_store(after, [row, 32], second)
    tdm.async_wait(0)


@pytest.mark.process
def test_blocks_are_copied_within_extents(tmp_path):
    source, result = torch.randn(40, 50).half(), torch.zeros(40, 50, dtype=torch.float16)
    skipped = torch.full((40, 50), 7.0, dtype=torch.float16)
    with kvtrace.capture(tmp_path, target="hip:gfx1250"):
        tiles[(3,)](source, result, 40, 50, WANTED=1)
        tiles[(3,)](source, skipped, 40, 50, WANTED=0)
    assert torch.equal(result[:, :32], 2 * source[:, :32])
    assert torch.equal(result[:, 32:], source[:, 32:])
    assert (skipped[:, :32] == 0).all()
    kvtrace.open(tmp_path).sanitize("out-of-bounds", "pipeline-order")
    findings = plain_rows(open_trace(tmp_path).table("findings"))
    answers = {(row["rule"], row["verdict"]) for row in findings}
    assert answers == {("out-of-bounds", "proven"), ("pipeline-order", "unknown")}


def test_a_read_before_the_wait_sees_what_was_there(tmp_path):
    @gluon.jit
    def early(source, result):
        whole = tdm.make_tensor_descriptor(source, [16, 32], [32, 1], [16, 32], PADDED)
        tile = gl.allocate_shared_memory(gl.float16, [16, 32], PADDED)
        tile.store(gl.zeros([16, 32], gl.float16, PLANE))
        tdm.async_load(whole, [0, 0], tile)
        rows = gl.arange(0, 16, layout=gl.SliceLayout(1, PLANE))[:, None]
        columns = gl.arange(0, 32, layout=gl.SliceLayout(0, PLANE))[None, :]
        gl.store(result + rows * 32 + columns, tile.load(PLANE))
        tdm.async_wait(0)

    result = torch.ones(16, 32, dtype=torch.float16)
    with kvtrace.capture(tmp_path, target="hip:gfx1250"):
        early[(1,)](torch.randn(16, 32).half(), result)
    assert (result == 0).all()


@gluon.jit
def transposed_product(a, b, c):
    LINES: gl.constexpr = gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0])
    SHARED: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    MFMA: gl.constexpr = gl.amd.AMDMFMALayout(4, [32, 32, 16], True, [2, 2])
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, LINES))[:, None]
    places = rows * 64 + gl.arange(0, 64, layout=gl.SliceLayout(0, LINES))[None, :]
    left = gl.allocate_shared_memory(gl.float16, [64, 64], SHARED, gl.load(a + places))
    right = gl.allocate_shared_memory(gl.float16, [64, 64], SHARED, gl.load(b + places))
    x = left.permute([1, 0]).load(gl.DotOperandLayout(0, MFMA, 8))
    y = right.load(gl.DotOperandLayout(1, MFMA, 8))
    product = gl.amd.cdna4.mfma(x, y, gl.zeros([64, 64], gl.float32, MFMA))
    gl.store(c + places, gl.convert_layout(product, LINES))


@pytest.mark.process
def test_reads_that_transpose_are_evaluated_and_judged(tmp_path):
    a, b, c = torch.randn(64, 64).half(), torch.randn(64, 64).half(), torch.zeros(64, 64)
    with kvtrace.capture(tmp_path, target="hip:gfx950"):
        transposed_product[(1,)](a, b, c)
    torch.testing.assert_close(c, a.float().T @ b.float(), atol=1e-4, rtol=1e-4)
    (row,) = plain_rows(open_trace(tmp_path).table("kernels"))
    assert b"ds_read_b64_tr_b16" in open_trace(tmp_path).artifact(stage_artifact(row, "amdgcn"))
    kvtrace.open(tmp_path).sanitize()
    findings = plain_rows(open_trace(tmp_path).table("findings"))
    assert {row["verdict"] for row in findings} == {"proven"}


_PACKED = """
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<i8>, !tt.ptr<i8>) -> (), sym_name = "k"}> ({
  ^bb0(%p: !tt.ptr<i8>, %q: !tt.ptr<i8>):
    %n = "tt.make_range"() <{start = 0 : i32, end = 32 : i32}> : () -> tensor<32xi32>
    %s = "tt.splat"(%p) : (!tt.ptr<i8>) -> tensor<32x!tt.ptr<i8>>
    %a = "tt.addptr"(%s, %n) : (tensor<32x!tt.ptr<i8>>, tensor<32xi32>) -> tensor<32x!tt.ptr<i8>>
    %x = "tt.load"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0>}> :
      (tensor<32x!tt.ptr<i8>>) -> tensor<32xi8>
    %y = "tt.reshape"(%x) : (tensor<32xi8>) -> tensor<4x8xi8>
    %m = "ttg.local_alloc"(%y) : (tensor<4x8xi8>) -> !ttg.memdesc<4x8xi8, #s, #ttg.shared_memory>
    %z = "amdg.local_load_packed_NAME"(%m) :
      (!ttg.memdesc<4x8xi8, #s, #ttg.shared_memory>) -> tensor<8x4xi8>
    %w = "tt.reshape"(%z) : (tensor<8x4xi8>) -> tensor<32xi8>
    %t = "tt.splat"(%q) : (!tt.ptr<i8>) -> tensor<32x!tt.ptr<i8>>
    %b = "tt.addptr"(%t, %n) : (tensor<32x!tt.ptr<i8>>, tensor<32xi32>) -> tensor<32x!tt.ptr<i8>>
    "tt.store"(%b, %w) : (tensor<32x!tt.ptr<i8>>, tensor<32xi8>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize("name", ["tranposed", "transposed"])
def test_pairs_of_four_bits_are_packed_along_the_other_axis(name):
    before, after = np.arange(-16, 16, dtype=np.int8).reshape(4, 8) * 5, np.zeros((8, 4), np.int8)
    arguments = [
        TensorArgument("x", Storage(32, x.reshape(-1).view(np.uint8)), 0, "i8", (32,), (1,))
        for x in (before, after)
    ]
    evaluate(parse(_PACKED.replace("NAME", name), "hip:gfx950"), arguments, (1,))
    ones = np.stack((before & 15, before >> 4 & 15), 1).reshape(8, 8)
    assert (after == (ones[:, ::2] | ones[:, 1::2] << 4)).all()
