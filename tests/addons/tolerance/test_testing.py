"""`kvtrace.testing.against`: a launch compared with a reference in float64."""

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

import kvtrace.testing
from tests.addons.tolerance.kernels import (
    factors,
    normalized,
    normalized_without_eps,
    product,
    rows,
    softmax,
    softmax_without_last,
)


@triton.jit
def near_zero(x, y, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    if FORM == "log1p":
        result = tl.log(1.0 + values)
    elif FORM == "expm1":
        result = tl.exp(values) - 1.0
    elif FORM == "softplus":
        result = tl.log(1.0 + tl.exp(values))
    else:
        result = libdevice.log1p(values)
    tl.store(y + lanes, result, mask=lanes < n)


@triton.jit
def added_in_memory(x, out, rows, KIND: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    for row in range(rows):
        value = tl.load(x + row * B + lanes)
        if KIND == "loop":
            tl.store(out + lanes, tl.load(out + lanes) + value)
        elif KIND == "atomic":
            tl.atomic_add(out + lanes, value)
        else:  # each number once
            tl.store(out + row * B + lanes, tl.load(out + row * B + lanes) + value)


def by_torch(x):
    return torch.softmax(x, -1)


def by_rms(x, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


def test_right_kernel_passes_writes_results_and_returns_bounds():
    x, out = rows()

    derived = kvtrace.testing.against(by_torch)(softmax)[(8,)](x, out, 1000, BLOCK=1024)

    assert torch.allclose(out, torch.softmax(x, -1))
    assert derived["out"].reference is not None


def test_mask_off_by_one_is_reported_as_another_meaning():
    x, out = rows()
    with pytest.raises(kvtrace.testing.NotClose) as caught:
        kvtrace.testing.against(by_torch)(softmax_without_last)[(8,)](x, out, 1000, BLOCK=1024)
    (found,) = caught.value.differences
    assert found.cause == "meaning"
    assert found.index[1] == 999


def test_missing_eps_is_reported_although_within_rounding():
    x, out = rows()
    kvtrace.testing.against(by_rms)(normalized)[(8,)](x, out, 1000, 1e-6, BLOCK=1024)
    checked = kvtrace.testing.against(by_rms)(normalized_without_eps)
    with pytest.raises(kvtrace.testing.NotClose, match="within what rounding may hide"):
        checked[(8,)](x, out, 1000, 1e-6, BLOCK=1024)

    lenient = kvtrace.testing.against(by_rms, meaning=False)(normalized_without_eps)
    lenient[(8,)](x, out, 1000, 1e-6, BLOCK=1024)


def launch_product(type_, precision, **asked):
    left, right, out = factors()
    checked = kvtrace.testing.against(lambda left, right: left @ right, **asked)(product)
    checked[(1,)](left, right, out, 512, TYPE=type_, PRECISION=precision, B=32)


def test_sum_in_16_bits_is_reported_as_lost_precision():
    launch_product(tl.float32, "ieee")
    with pytest.raises(kvtrace.testing.NotClose, match=r"a sum kept in 16 bits at .*kernels\.py"):
        launch_product(tl.float16, "ieee")
    launch_product(tl.float16, "ieee", narrow=True)


@pytest.mark.parametrize("kind", ["loop", "atomic"])
def test_sum_in_memory_of_16_bits_is_reported_and_not_called_cancellation(kind):
    x = torch.rand(256, 64, generator=torch.Generator().manual_seed(0)).half()

    def launch(**asked):
        checked = kvtrace.testing.against(lambda x: x.sum(0), **asked)(added_in_memory)
        checked[(1,)](x, torch.zeros(64).half(), 256, KIND=kind, B=64)

    reported = r"a sum kept in memory of 16 bits at .*test_testing\.py"
    for asked in ({}, {"cancellation": True}):
        with pytest.raises(kvtrace.testing.NotClose, match=f"roundings in its IR .*{reported}"):
            launch(**asked)
    launch(narrow=True)


def test_adding_once_to_each_number_in_memory_is_no_forbidden_sum():
    x = torch.rand(8, 64, generator=torch.Generator().manual_seed(0)).half()
    out = x.clone()
    checked = kvtrace.testing.against(lambda x: 2 * x, narrow=False)(added_in_memory)
    checked[(1,)](x, out, 8, KIND="once", B=64)


def test_device_with_another_order_of_16_bit_sums_has_the_same_cause():
    left, right, out = factors(32, torch.float16)
    meta = {"TYPE": tl.float16, "PRECISION": "ieee", "B": 32}
    derived = kvtrace.tolerance(product, left, right, out, 32, grid=(1,), **meta)
    results = derived.only.evaluated + 3 * derived.only.probable
    with pytest.raises(kvtrace.testing.NotClose, match=r"does not grant a .* in 16 bits") as caught:
        kvtrace.assert_close(results, derived)
    assert {each.cause for each in caught.value.differences} == {"precision"}


def test_tf32_is_reported_if_the_test_forbids_it():
    launch_product(tl.float32, "tf32")
    with pytest.raises(kvtrace.testing.NotClose, match="a product in tf32 at"):
        launch_product(tl.float32, "tf32", tf32=False)


def test_forbidden_loss_fails_even_if_all_elements_are_within_bounds():
    left, right, out = factors(32, torch.float16)
    checked = kvtrace.testing.against(lambda left, right: left @ right, narrow=False)(product)
    with pytest.raises(kvtrace.testing.NotClose) as caught:
        checked[(1,)](left, right, out, 32, TYPE=tl.float16, PRECISION="ieee", B=32)
    assert caught.value.refused


@pytest.mark.parametrize("by_name", ["x", "out", "x and out"])
def test_tensors_may_be_passed_by_keyword(by_name):
    x, out = rows()
    tensors = {"x": x, "out": out}
    ordered = [x] if by_name == "out" else []
    named = {name: tensors[name] for name in ("out", "x") if name != "x" or not ordered}
    kvtrace.testing.against(by_torch)(softmax)[(8,)](*ordered, **named, columns=1000, BLOCK=1024)

    assert torch.allclose(out, torch.softmax(x, -1))
    kvtrace.tolerance(softmax, *ordered, **named, columns=1000, BLOCK=1024, grid=(8,))


@pytest.mark.parametrize(
    ("form", "least", "reference"),
    [
        ("log1p", 1e-8, lambda x: torch.log1p(x)),
        ("expm1", 1e-8, lambda x: torch.expm1(x)),
        ("softplus", -20.0, lambda x: torch.nn.functional.softplus(x)),
    ],
)
def test_zero_for_a_small_result_is_refused_beside_ordinary_numbers(form, least, reference):
    x = torch.linspace(0.5, 1.5, 16)
    x[::2] = least
    with pytest.raises(kvtrace.testing.NotClose, match="8 of 16 elements"):
        kvtrace.testing.against(reference)(near_zero)[(1,)](
            x, torch.empty(16), 16, FORM=form, BLOCK=16
        )


def test_function_for_small_numbers_passes():
    x = torch.linspace(0.5, 1.5, 16)
    x[::2] = 1e-8
    checked = kvtrace.testing.against(lambda x: torch.log1p(x))(near_zero)
    checked[(1,)](x, torch.empty(16), 16, FORM="exact", BLOCK=16)
