"""Formulas that a law of real numbers makes equal, and which were once answered falsely."""

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

import kvtrace
from corpus import load
from corpus.case import Answer
from kvtrace.addons.invariance.differences import _answer, kernel_meanings
from kvtrace.addons.invariance.versions import same_meaning
from kvtrace.schema.trace import Selection, open_trace
from tests.support.tiers import some
from tests.verdicts.calls import call, tensor

SHOWN = (
    "a root of a polynomial", "a step at a constant", "log softmax by softmax",
    "masked rows without a number", "a running maximum", "a maximum of each tile",
    "twice, and back", "half of a sum", "a half is rounded up", "a half is rounded down",
)  # fmt: skip


def answer(name: str) -> Answer:
    """Return kvtrace's answer about a pair."""
    (case,) = (case for case in load("laws") if case.name == name)
    asked = case.ask()
    return asked[0] if isinstance(asked, tuple) else asked


@pytest.mark.parametrize("name", some(SHOWN, 2))
def test_versions_are_evaluated_on_zeros_constants_and_large_exponents(name: str) -> None:
    assert answer(name) is Answer.NO


@triton.jit
def line(x, y, a, b, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, a * tl.load(x + at, mask=at < n, other=0.0) - b, mask=at < n)


@triton.jit
def reordered(x, y, b, a, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, a * tl.load(x + at, mask=at < n, other=0.0) - b, mask=at < n)


def test_parameters_in_another_order_may_be_handed_over_so() -> None:
    first, doubled, second = (
        call(kernel, (1,), x=tensor(20), y=tensor(20), a=a, b=b, n=20, BLOCK=32)
        for kernel, a, b in ((line, 2, 3), (line, 4, 3), (reordered, 3, 2))
    )
    (meaning,), (other,) = same_meaning(first, second), same_meaning(first, doubled)

    word, evidence = _answer(first, second, meaning)
    assert (word, _answer(first, doubled, other)[0]) == ("not known", "no")
    assert "its parameters are now in the order x, y, b, a, n" in evidence


@triton.jit
def joined(x, y, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * BLOCK + at)
    if OP == "fused":
        row = row * row + row
    elif OP == "root":
        row = libdevice.rsqrt(tl.abs(row))
    elif OP == "product":
        row = tl.sum(tl.dot(row[:, None] + row[None, :], row[:, None] * row[None, :]), axis=1)
    elif OP == "sum":
        row = tl.sum(row, axis=0) + row
    elif OP == "whole":
        row = tl.maximum(row, tl.sum((row > 0).to(tl.int32), axis=0).to(tl.float32, bitcast=True))
    elif OP == "largest":
        row = tl.max(row, axis=0) + row
    tl.store(y + tl.program_id(0) * BLOCK + at, row)


@pytest.mark.parametrize(
    ("operation", "options", "expected"),
    [
        ("fused", {"enable_fp_fusion": False}, "enable_fp_fusion is False, was True"),
        ("fused", {"num_warps": 8}, ""),
        ("whole", {"enable_fp_fusion": False}, ""),
        ("root", {"enable_reflect_ftz": False}, "enable_reflect_ftz is False, was True"),
        ("sum", {"num_warps": 8}, "num_warps is 8, was 4"),
        ("sum", {"num_stages": 2}, ""),
        ("whole", {"num_warps": 8}, ""),
        ("largest", {"num_warps": 8}, ""),
        ("product", {"num_warps": 2}, "num_warps is 2, was 4"),
    ],
)  # fmt: skip
def test_same_code_has_other_bits_where_options_round_or_reorder(
    tmp_path: Path, free_driver: object, operation: str, options: dict[str, Any], expected: str
) -> None:
    sides = []
    for side, more in (("before", {}), ("after", options)):
        with kvtrace.capture(tmp_path / side):
            x = torch.randn(4, 64, device="cpu")
            joined[(4,)](x, x.clone(), OP=operation, BLOCK=64, **more)
        trace = open_trace(tmp_path / side)
        sides.append(Selection(trace, trace.runs))

    (meaning,) = kernel_meanings(sides[0], sides[1], {"joined": "joined"}, 30.0)

    assert (meaning.same, meaning.answer) == ("yes", "reassociated" if expected else "same")
    assert expected in meaning.evidence
