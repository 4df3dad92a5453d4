"""Formulas that a law of real numbers makes equal, and which were once answered falsely."""

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from msgspec.structs import replace
from triton.language.extra import libdevice

import kvtrace
from corpus import load
from corpus.case import Answer
from kvtrace.addons.invariance.differences import _answer, kernel_meanings
from kvtrace.addons.invariance.versions import same_meaning
from kvtrace.converters.diff import compare
from kvtrace.evaluate import TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import Selection, open_trace, resolve
from tests.support.tiers import some
from tests.verdicts.calls import call, ids, tensor

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


@triton.jit
def apart(x, y, o, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, at < n) - tl.load(y + at, at < n), at < n)


@triton.jit
def row_sums(x, o, n, s0, s1, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(o + row, tl.sum(tl.load(x + row * s0 + at * s1, at < n, 0.0)))


def meant(first: Call, second: Call) -> tuple[str, str]:
    """Return the answer on the only output of two calls, and its evidence."""
    (meaning,) = same_meaning(first, second)
    return _answer(first, second, meaning)


def test_tensors_that_share_memory_in_one_version_may_hold_the_same_in_the_other() -> None:
    def apart_of(y: TensorArgument, o: TensorArgument) -> Call:
        return call(apart, (1,), x=x, y=y, o=o, n=20, BLOCK=32)

    x, y, o = (tensor(20) for _ in "xyo")
    part = replace(x, offset_bytes=4, shape=(19,))
    for first, second in ((x, y), (part, tensor(19)), (y, x)):
        word, evidence = meant(apart_of(first, o), apart_of(second, o))
        assert (word, "share memory in one version alone" in evidence) == ("not known", True)
    assert meant(apart_of(y, o), apart_of(y, x))[0] == "not known"  # in place
    assert meant(apart_of(y, o), apart_of(y, tensor(20)))[0] == "yes"


def test_transposed_tensor_may_be_handed_over_with_its_strides() -> None:
    def sums(s0: int, s1: int, n: int = 20) -> Call:
        return call(row_sums, (20,), x=tensor(20, 20), o=tensor(20), n=n, s0=s0, s1=s1, BLOCK=32)

    assert meant(sums(20, 1), sums(1, 20))[0] == "not known"
    assert meant(sums(20, 1), sums(20, 2))[0] == "no"
    assert meant(sums(20, 1), sums(20, 1, 19))[0] == "no"
    assert meant(sums(20, 1, 5), sums(5, 1, 20))[0] == "no"  # no stride


@triton.jit
def chosen(x, flag, o, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(o + at, value * 2 if tl.load(flag) > 0 else value * OTHER)


@pytest.mark.parametrize(
    ("flag", "word"), [([1], "not known"), ([0], "no"), (None, "no")]
)  # fmt: skip
def test_recorded_integers_decide_which_branch_is_compared(
    flag: list[int] | None, word: str
) -> None:
    held = tensor(1, dtype="i32") if flag is None else ids(*flag)
    sides = (
        call(chosen, (1,), x=tensor(32), flag=held, o=tensor(32), OTHER=other, BLOCK=32)
        for other in (3, 4)
    )
    assert meant(*sides)[0] == word


def test_two_values_that_agree_in_six_digits_are_told_apart() -> None:
    sides = [
        call(line, (1,), x=tensor(20), y=tensor(20), a=a, b=3, n=20, BLOCK=32)
        for a in (10**8, 10**8 + 16)
    ]
    text = meant(*sides)[1]
    before, after = text.split(" is ")[1].split(", on ")[0].split(", was ")
    assert before != after


@pytest.mark.parametrize(("flag", "word"), [(1, "not known"), (0, "no")])
def test_equal_digests_leave_open_what_differs_on_other_inputs(
    tmp_path: Path, free_driver: object, flag: int, word: str
) -> None:
    for side, other in (("a", 3), ("b", 4)):
        x = torch.arange(1.0, 33.0)
        with kvtrace.capture(tmp_path / side, check="digest"):
            given = torch.full((1,), flag, dtype=torch.int32)
            chosen[(1,)](x, given, torch.zeros(32), OTHER=other, BLOCK=32)

    answer = compare(resolve(tmp_path / "a"), resolve(tmp_path / "b")).answers[1]

    assert answer.word == word
    equal = "the recorded results are equal by digest; on other inputs, chosen, o: element"
    assert answer.evidence.startswith(equal) == (flag == 1)
