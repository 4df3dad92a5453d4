"""Floats that hold whole numbers: counted in another order, with the same result if it is exact."""

import pytest

torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from tests.addons.invariance.inputs import tensor  # noqa: E402
from tests.addons.invariance.judging import Judged  # noqa: E402


@triton.jit
def counted(x, y, N, FORM: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float16) if FORM == "half" else tl.zeros((B,), tl.float32)
    for begin in range(0, N, B):
        at = begin + tl.arange(0, B)
        v = tl.load(x + row * N + at, mask=at < N, other=0)
        if FORM == "values" or FORM == "half":
            total += v.to(total.dtype)
        elif FORM == "clamped":
            total += tl.minimum(tl.maximum(v, 0), 1000).to(tl.float32)
        elif FORM == "squares":
            total += v.to(tl.float32) * v.to(tl.float32)
        elif FORM == "indices":
            total += tl.where(v > 0, at.to(tl.float32), 0.0)
        elif FORM == "tenths":
            total += tl.where(v > 0, 0.1, 0.0)
        elif FORM == "huge":
            total += tl.where(v > 0, 1e30, 1.0)
        elif FORM == "doubled":
            total = 2 * total + (v > 0).to(tl.float32)
        elif FORM == "narrowed":
            total = (total + (v > 0).to(tl.float32)).to(tl.bfloat16).to(tl.float32)
        elif FORM == "padding":
            total += (v <= 0).to(tl.float32)
        else:
            total += (v > 0).to(tl.float32)
    tl.store(y + row, tl.sum(total, axis=0) / N)


@triton.jit
def negative(x, y, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(y + row, tl.sum(tl.where(at < N, (v > 0).to(tl.float32) * -1.0, 0.0), axis=0))


@pytest.mark.parametrize(
    ("form", "kind", "length", "is_exact"),
    [
        ("mask", "float32", 100, True),
        ("mask", "bool", 100, True),
        ("values", "int8", 100, True),
        ("clamped", "int32", 100, True),
        ("indices", "float32", 100, True),
        ("half", "bool", 100, True),
        ("narrowed", "float32", 100, True),
        ("indices", "float32", 8192, False),
        ("half", "bool", 2100, False),
        ("narrowed", "float32", 8300, False),
        ("values", "int32", 100, False),
        ("squares", "int16", 100, False),
        ("tenths", "float32", 100, False),
        ("huge", "float32", 100, False),
        ("doubled", "float32", 100, False),
        ("padding", "float32", 100, False),
    ],
)
def test_sums_are_exact_within_the_type(
    judged: Judged, form: str, kind: str, length: int, is_exact: bool
) -> None:
    def launch() -> None:
        for rows, block in ((1, 16), (9, 32)):
            x = tensor(rows, length, seed=1).to(getattr(torch, kind))
            counted[(rows,)](x, tensor(rows, seed=2), length, FORM=form, B=block)

    (output,) = judged(launch).outputs

    assert (output.verdict == "proven") == is_exact
    assert is_exact or output.verdict != "unknown"


@pytest.mark.parametrize(("form", "verdict"), [("mask", "proven"), ("tenths", "depends")])
def test_warps_order_only_sums_that_round(judged: Judged, form: str, verdict: str) -> None:
    def launch() -> None:
        for rows, warps in ((1, 4), (9, 8)):
            counted[(rows,)](
                tensor(rows, 100, seed=1), tensor(rows, seed=2), 100, FORM=form, B=128,
                num_warps=warps,
            )  # fmt: skip

    (output,) = judged(launch).outputs

    assert output.verdict == verdict


def test_padding_decides_the_sign_of_zero(judged: Judged) -> None:
    def launch() -> None:
        for rows, block in ((1, 128), (9, 256)):
            negative[(rows,)](tensor(rows, 128, seed=1), tensor(rows, seed=2), 128, B=block)

    (output,) = judged(launch).outputs

    assert output.verdict == "violation"
    assert output.witness is not None
    assert output.witness.values == ("-0.0", "0.0")
