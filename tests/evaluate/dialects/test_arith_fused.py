"""Sums of products that are rounded once: which ones, and their values."""

import sys
from fractions import Fraction

import numpy as np
import pytest
import torch

from corpus.kernels import fresh
from kvtrace.evaluate import evaluate, torch_sums
from kvtrace.evaluate.dialects.arith_fused import fused_sums
from kvtrace.ir import Options, parse, source_stack
from tests.kernels.launching import bind, generic_for
from tests.support.replacing import replace

NEAR = 1 + 2.0**-12
REST = 2.0**-24


def module_of(kernel, *names, dtype=torch.float32, target="cuda:90", **constexprs):
    text = generic_for(kernel, {name: torch.zeros(8, dtype=dtype) for name in names}, constexprs)
    return parse(text, target)


def product_and_sum(**options):
    return replace(
        module_of(fresh.product_chosen, "x", "y", "z", "out", N=2), options=Options(**options)
    )


def sums_of(module):
    return {op.index for op in module.ops if op.name in ("arith.addf", "arith.subf")}


@pytest.mark.parametrize(("target", "count"), [("cuda:90", 3), ("hip:gfx942", 0), ("", 0)])
def test_a_target_decides_which_sums_are_fused(target, count):
    module = module_of(fresh.products_alone, "x", "y", "out", target=target, N=2)

    # AMD's compiler packs two products of float32, and fuses neither.
    assert len(fused_sums(module)) == count


def test_bfloat16_is_fused_by_one_target_alone():
    for target, count in (("cuda:80", 2), ("hip:gfx942", 0)):
        module = module_of(
            fresh.product_used_twice, "x", "y", "z", "out", dtype=torch.bfloat16, target=target, N=2
        )
        assert len(fused_sums(module)) == count


def test_without_fusing_each_operation_is_rounded():
    module = module_of(fresh.product_used_twice, "x", "y", "z", "out", N=2)

    assert len(fused_sums(module)) == 2
    assert fused_sums(replace(module, options=Options(fuses=False))) == {}


@pytest.mark.parametrize("fused", [True, False])
def test_recorded_code_decides_where_it_has_the_place(fused):
    module = module_of(fresh.product_used_twice, "x", "y", "z", "out", N=2)
    first = min(sums_of(module))
    frame = source_stack(module.ops[first])[0]
    places = {(frame.line, frame.column): fused}

    chosen = fused_sums(replace(module, options=Options(fused_places=lambda: places)))

    assert sums_of(module) - chosen.keys() == (set() if fused else {first})


def test_a_choice_stands_between():
    assert fused_sums(product_and_sum()) == {}


@pytest.mark.parametrize("with_torch", [True, False])
def test_sums_of_products_are_rounded_once(with_torch, monkeypatch):
    if not with_torch:
        monkeypatch.setattr(torch_sums, "fuses", lambda *_: False)
    arguments = {
        "x": torch.full((2,), NEAR), "y": torch.tensor([NEAR, -NEAR]),
        "z": torch.tensor([-1 - 2.0**-11, 1 + 2.0**-11]), "out": torch.zeros(6),
    }  # fmt: skip
    kernel = fresh.product_used_twice
    module = parse(generic_for(kernel, arguments, {"N": 2}), "cuda:90")

    evaluate(module, bind(kernel, arguments), (1,))

    assert arguments["out"].tolist()[2:4] == [REST, -REST]


def numbers(dtype):
    """Return factors and addends whose sums are halfway, tiny, large, opposite and usual."""
    rng, tiny = np.random.default_rng(5), float(np.finfo(dtype).tiny)
    digits = np.finfo(dtype).nmant
    a = [1 + 2.0**-digits, 1 - 2.0**-digits, tiny, 1.5 * tiny, 2.0**60, 3, -0.0, 1]
    b = [1 + 2.0**-digits, 1 + 2.0**-digits, 2.0**-3, 0.75, 2.0**60, -5, 1, tiny / 4]
    c = [-1, -1, tiny / 8, tiny / 2, -(2.0**119), 15, 0.0, 1]
    usual = rng.uniform(-4, 4, (3, 500)).astype(dtype)
    halves = np.round(rng.uniform(-4, 4, (3, 500)), 3).astype(dtype)
    return [
        np.concatenate([np.array(some, dtype), one, other])
        for some, one, other in zip((a, b, c), usual, halves, strict=True)
    ]


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("with_torch", [True, False])
def test_sums_equal_exact_ones_rounded_once(kind, with_torch, monkeypatch):
    from kvtrace.evaluate.dialects.arith_fused import _rounded_once
    from kvtrace.evaluate.rounding import rounded_to_bf16

    if not with_torch:
        monkeypatch.setattr(torch_sums, "fuses", lambda *_: False)
    dtype = {"f64": np.float64, "f16": np.float16}.get(kind, np.float32)
    with np.errstate(all="ignore"):
        a, b, c = numbers(dtype)
    if kind == "bf16":
        a, b, c = (rounded_to_bf16(array) for array in (a, b, c))
    usable = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    a, b, c = a[usable], b[usable], c[usable]

    with np.errstate(all="ignore"):
        out = _rounded_once(kind, True, True, a, b, c)
    result = rounded_to_bf16(out) if kind == "bf16" else out

    for x, y, z, total in zip(*(array.tolist() for array in (a, b, c, result)), strict=True):
        exact = -Fraction(x) * Fraction(y) - Fraction(z)
        below, above = (np.nextafter(dtype(total), dtype(way)) for way in (-np.inf, np.inf))
        if kind == "bf16":
            step = np.float32(2.0) ** (np.frexp(np.float32(total))[1] - 8)
            below, above = total - float(step), total + float(step)
        if np.isfinite(total) and np.isfinite(below) and np.isfinite(above):
            error = abs(exact - Fraction(total))
            assert error <= abs(exact - Fraction(float(below)))
            assert error <= abs(exact - Fraction(float(above)))


def test_an_unfused_library_function_is_not_taken(monkeypatch):
    torch_sums._rounds_once.cache_clear()
    monkeypatch.setattr(sys.modules["torch"], "addcmul", lambda c, a, b, value: c + value * (a * b))

    assert not torch_sums.fuses(np.ones(3, np.float32))

    torch_sums._rounds_once.cache_clear()


@pytest.mark.parametrize(
    ("op", "triton", "result"),
    [("-", "3.8.0", 32768), ("-", "3.9.0", -32768), ("abs", "3.7.1", 32768),
     ("abs", "3.8.0", -32768), ("abs", None, -32768)],
)  # fmt: skip
def test_16_bits_that_are_widened_wrap_by_version(op, triton, result):
    arguments = {"x": torch.tensor([-32768, 7], dtype=torch.int16), "out": torch.zeros(2).int()}
    module = parse(generic_for(fresh.of_one, arguments, {"OP": op, "N": 2}), "cuda:90")

    evaluate(replace(module, options=Options(triton=triton)), bind(fresh.of_one, arguments), (1,))

    assert arguments["out"][0] == result
