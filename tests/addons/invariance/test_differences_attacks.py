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

#: Values between 0 and where all of them vanish; large numbers; a version that was not evaluated.
NEVER_THE_SAME = (
    "log of two sigmoids' product", "of a large table", "roots of two sums' product",
    "log of two scaled sigmoids' product", "cosine by one root", "softmax without its maximum",
    "small scores in 16 bits, without their maximum", "a square expanded",
)  # fmt: skip
SHOWN = (
    "a root of a polynomial", "a step at a constant", "log softmax by softmax",
    "masked rows without a number", "a running maximum", "a maximum of each tile",
    "twice, and back", "half of a sum", "a half is rounded up", "a half is rounded down",
)  # fmt: skip
NEVER_ANOTHER = ("log1p for log", "expm1 for exp", "a quotient of a sum")


def answer(name: str) -> Answer:
    """Return kvtrace's answer about a pair."""
    (case,) = (case for case in load("laws") if case.name == name)
    asked = case.ask()
    return asked[0] if isinstance(asked, tuple) else asked


@pytest.mark.costly("compiles attacks; another of the file stays by day")
@pytest.mark.parametrize("name", some(NEVER_THE_SAME, 3))
def test_formulas_that_differ_for_rare_inputs_are_not_called_the_same(name: str) -> None:
    assert answer(name) is not Answer.YES


@pytest.mark.parametrize("name", some(SHOWN, 2))
def test_versions_are_evaluated_on_zeros_constants_and_large_exponents(name: str) -> None:
    assert answer(name) is Answer.NO


@pytest.mark.parametrize("name", some(NEVER_ANOTHER, 2))
def test_more_exact_version_is_no_violation(name: str) -> None:
    assert answer(name) is not Answer.NO


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
