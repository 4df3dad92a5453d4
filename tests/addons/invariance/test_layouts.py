"""Blocks of other shapes at another size of the batch: sums in another order across threads."""

import pytest

torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from kvtrace.addons.invariance.layouts import orders_by_ttgir  # noqa: E402
from tests.addons.invariance.inputs import tensor  # noqa: E402
from tests.addons.invariance.judging import Judged  # noqa: E402


@triton.jit
def tiled(x, y, M, N, FORM: tl.constexpr, BM: tl.constexpr, B: tl.constexpr):
    r, c = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, B)
    inside = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=inside, other=0.0)
    if FORM == "sum":
        tl.store(y + r * N, tl.sum(v, 1), mask=r < M)
    elif FORM == "scan":
        tl.store(y + r[:, None] * N + c[None, :], tl.cumsum(v, 1), mask=inside)
    elif FORM == "maximum":
        tl.store(y + r * N, tl.max(v, 1), mask=r < M)
    elif FORM == "count":
        tl.store(y + r * N, tl.sum((v > 0).to(tl.float32), 1), mask=r < M)
    else:
        tl.store(y + r[:, None] * N + c[None, :], v * 0.3, mask=inside)


@triton.jit
def multiplied(x, w, y, M, N, BM: tl.constexpr):
    r, c = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, 16)
    a = tl.load(x + r[:, None] * 16 + c[None, :], mask=r[:, None] < M, other=0.0)
    b = tl.load(w + c[:, None] * 16 + c[None, :])
    tl.store(y + r[:, None] * 16 + c[None, :], tl.dot(a, b), mask=r[:, None] < M)


@pytest.mark.parametrize(
    ("form", "blocks", "verdict"),
    [
        ("sum", (1, 16), "depends"),
        ("sum", (16, 1), "depends"),
        ("scan", (1, 16), "depends"),
        ("sum", (16, 32), "proven"),
        ("sum", (16, 16), "proven"),
        ("maximum", (1, 16), "proven"),
        ("count", (1, 16), "proven"),
        ("scaled", (1, 16), "proven"),
    ],
)
def test_rows_of_a_block_decide_how_threads_share_a_row(
    judged: Judged, form: str, blocks: tuple[int, int], verdict: str
) -> None:
    def launch() -> None:
        for rows, block in zip((3, 20), blocks, strict=True):
            x, y = tensor(rows, 64, seed=1), tensor(rows, 64, seed=2)
            tiled[(triton.cdiv(rows, block),)](x, y, rows, 64, FORM=form, BM=block, B=64)

    (output,) = judged(launch).outputs

    assert output.verdict == verdict
    assert verdict == "proven" or "other threads hold the blocks" in output.reasons[0].what


@pytest.mark.parametrize(("blocks", "verdict"), [((16, 64), "unknown"), ((16, 32), "proven")])
def test_rows_of_a_block_decide_on_the_instruction_of_a_product(
    judged: Judged, blocks: tuple[int, int], verdict: str
) -> None:
    def launch() -> None:
        for rows, block in zip((3, 80), blocks, strict=True):
            x, w, y = tensor(rows, 16, seed=1), tensor(16, 16, seed=3), tensor(rows, 16, seed=2)
            multiplied[(triton.cdiv(rows, block),)](x, w, y, rows, 16, BM=block)

    (output,) = judged(launch).outputs

    assert output.verdict == verdict
    assert verdict == "proven" or "which other instructions multiply" in output.reasons[0].what


def test_layouts_are_read_along_the_summed_axis() -> None:
    text = (
        "#blocked = #ttg.blocked<{{sizePerThread = [1, {}], threadsPerWarp = [{}, 16], "
        "warpsPerCTA = [4, 1], order = [1, 0]}}>\n"
        '%3 = "tt.reduce"(%v) <{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\n'
        "  %5 = arith.addf %a, %b : f32\n  tt.reduce.return %5 : f32\n"
        "}}) : (tensor<{}x64xf32, #blocked>) -> tensor<16xf32>\n"
    )
    first, other_rows, other_columns = (
        orders_by_ttgir(text.format(*numbers)) for numbers in ((2, 2, 16), (2, 4, 32), (4, 2, 16))
    )

    assert first["reduction"] == {("f32", "64", "2", "16", "1")}
    assert first == other_rows
    assert first != other_columns
