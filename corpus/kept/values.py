"""Pairs whose results differ by a special value, or by less than a wide bound."""

from math import inf, nan
from typing import Any

import torch

from corpus.questions.kept import N, Pair, cases_of, numbers, one

_STORE = "tl.store(out + at, {})"


def _on(dtype: torch.dtype, x: Any = None) -> Any:
    def launch(kernel: Any) -> None:
        values = numbers() if x is None else x.clone()
        kernel[(1,)](values, torch.zeros(2 * N, dtype=dtype), BLOCK=N)

    return launch


def _pair(name: str, same: bool | None, why: str, before: str, after: str, *launch: Any) -> Pair:
    return Pair(name, same, why, _STORE.format(before), _STORE.format(after), *launch)


_WHOLE = torch.arange(N).flip(0).float() + 1

PAIRS = (
    _pair("factored", True, "rounding alone", "value * 0.3 + value * 0.4", "value * 0.7"),
    _pair("a reciprocal", True, "rounding alone", "value / 3.0", "value * (1.0 / 3.0)"),
    _pair("the sum's order", True, "rounding alone", "tl.sum(value) + 0 * value",
          "tl.sum(tl.sum(tl.reshape(value, (8, 8)), 0)) + 0 * value"),
    _pair("NaN on both sides", True, "the same place", "value * 0.3 + value * 0.4",
          "value * 0.7", one(nan)),
    _pair("infinity on both sides", True, "the same sign", "value * 0.3 + value * 0.4",
          "value * 0.7", one(inf, -inf)),
    _pair("the zero's sign", True, "numbers are equal", "(value - value) * 1.0",
          "(value - value) * -1.0"),
    _pair("in 16 bits", True, "rounding alone", "value * 0.3 + value * 0.4", "value * 0.7",
          _on(torch.float16)),
    _pair("a factor of 1 + 1e-5", False, "more than rounding", "value * 0.7",
          "value * 0.700007"),
    _pair("a small term is dropped", False, "1e-4 of a sum that rounds by less",
          "tl.sum(value * 1000) + 0.02 + 0 * value", "tl.sum(value * 1000) + 0 * value"),
    _pair("a sum 2e-6 too large", False, "all elements, in one direction",
          "tl.sum(value) + 0 * value", "tl.sum(value) * 1.000002 + 0 * value"),
    _pair("many sums 2e-6 too large", False, "all elements, in one direction",
          "tl.sum(value[:, None] * value[None, :], 1)",
          "tl.sum(value[:, None] * value[None, :], 1) * 1.000002"),
    _pair("half a unit of bfloat16", False, "every element is 0.2 % too large",
          "value * 0.7", "value * 0.7014", _on(torch.bfloat16)),
    _pair("exp 1e-6 too large", False, "every element, in one direction",
          "tl.exp(value * 3)", "tl.exp(value * 3) * 1.000001"),
    _pair("NaN becomes zero", False, "a number where there was none", "value * 0.7",
          "tl.where(value == value, value * 0.7, 0.0)", one(nan)),
    _pair("zero becomes NaN", False, "none where there was a number",
          "tl.where(value > 0, tl.log(value), 0.0)", "tl.log(value)", one(-1.0)),
    _pair("infinity's sign", False, "infinities differ", "value * float('inf')",
          "value * float('-inf')"),
    _pair("infinity becomes the largest number", False, "a clamp",
          "value * 1e38 * 10", "tl.minimum(value * 1e38 * 10, 3.4028234e38)"),
    _pair("another NaN's place", False, "it moves by one",
          "tl.where(at == 3, float('nan'), value)", "tl.where(at == 4, float('nan'), value)"),
    _pair("denormals become zero", False, "all of the result", "value * 1e-40", "value * 0.0"),
    _pair("an integer is off by one", False, "one of 64", "(value * 1000).to(tl.int32)",
          "(value * 1000).to(tl.int32) + (at == 9).to(tl.int32)", _on(torch.int32)),
    _pair("large integers", False, "by one, above 2^53", "value.to(tl.int64) + (1 << 60)",
          "value.to(tl.int64) + (1 << 60) + 1", _on(torch.int64, _WHOLE)),
    _pair("unsigned integers", False, "the highest bit", "value.to(tl.uint8) + 127",
          "value.to(tl.uint8) + 128", _on(torch.uint8, _WHOLE)),
    _pair("indices of ties", False, "the last of equal ones",
          "tl.argmax(tl.where(value > 0, 1.0, 0.0), 0, tie_break_left=True) + 0 * at",
          "63 - tl.argmax(tl.where(value > 0, 1.0, 0.0), 0, tie_break_left=True) + 0 * at",
          _on(torch.int32)),
    _pair("truth values", False, "one of 64", "value > 0.7", "(value > 0.7) | (at == 0)",
          _on(torch.bool)),
    _pair("64 bits", False, "the tenth digit", "value.to(tl.float64) * 0.7",
          "value.to(tl.float64) * 0.70000000007", _on(torch.float64)),
    _pair("64 bits by way of 32", False, "precision lowered", "value.to(tl.float64) / 3",
          "(value / 3).to(tl.float64)", _on(torch.float64)),
    _pair("16 bits on the way", False, "precision lowered", "value / 3",
          "(value / 3).to(tl.float16).to(tl.float32)"),
    _pair("8 bits", False, "the next number of fp8", "(value * 0.7).to(tl.float8e4nv)",
          "(value * 0.77).to(tl.float8e4nv)", _on(torch.float8_e4m3fn)),
    _pair("a canceling sum", False, "zero is not 0.001, whatever rounds",
          "(value + 0.0009765625 + 1024.0) - 1024.0 - value", "value - value"),
    _pair("one element among large ones", False, "the small one is wrong, by all of itself",
          "tl.where(at == 0, value * 1e-3, value * 1e6)",
          "tl.where(at == 0, value * 2e-3, value * 1e6)"),
    _pair("the first element's sum is wrong", False, "of a prefix sum, by half of itself",
          "tl.cumsum(value * tl.where(at == 0, 1e-6, 1e3))",
          "tl.cumsum(value * tl.where(at == 0, 5e-7, 1e3))"),
)  # fmt: skip

CASES = cases_of(PAIRS)
