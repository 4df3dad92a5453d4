"""Copies by AMD's tensor data mover, in Gluon for gfx1250."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if torch.cuda.is_available() or triton.__version__ < "3.7":
    pytest.skip("needs Gluon for gfx1250, and no GPU", allow_module_level=True)

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

import kvtrace  # noqa: E402
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
