"""Formulas that a law of real numbers makes equal, and which were once answered falsely."""

import pytest
import triton
import triton.language as tl

from corpus import load
from corpus.case import Answer
from kvtrace.addons.invariance.differences import _answer
from kvtrace.addons.invariance.versions import same_meaning
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
