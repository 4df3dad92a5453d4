"""`kvtrace.tolerance`: what results should be, and how far a device may be off."""

import numpy as np
import pytest
import torch
import triton.language as tl

import kvtrace
from kvtrace.addons.tolerance.launched import NotDerived
from tests.addons.tolerance.kernels import both_moments, factors, product, rows, softmax


def of_product(dtype=torch.float32, precision="ieee", type_=tl.float32, inner=512, **asked):
    left, right, out = factors(inner, dtype)
    return kvtrace.tolerance(
        product, left, right, out, inner, grid=(1,), TYPE=type_, PRECISION=precision, B=32,
        reference=lambda left, right: left @ right, **asked,
    ).only  # fmt: skip


def test_tolerance_launches_on_copies_and_equals_the_reference():
    x, out = rows()

    derived = kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)

    found = derived["out"]
    exact = torch.softmax(x.double(), -1).numpy()
    assert not out.any()
    assert found.dtype == "fp32"
    assert found.reference is None
    assert np.abs(found.exact - exact).max() < 1e-15
    assert (np.abs(found.evaluated - exact) <= found.probable).all()
    assert (found.probable <= found.worst).all()
    assert np.median(found.probable / exact) < 3e-5
    assert found.undecided == 0


def test_text_of_a_tolerance_has_each_output_with_its_bounds():
    x, out = rows()
    said = str(kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024))
    assert said.startswith("softmax: derived bounds (medians), chance 1e-09\n")
    assert "8,000" in said


def test_outputs_have_separate_bounds_and_references_by_name():
    x, _ = rows()
    moments = {"mean": lambda x: x.mean(1), "square": lambda x: (x * x).mean(1)}

    derived = kvtrace.tolerance(
        both_moments, x, torch.zeros(8), torch.zeros(8), 1000, grid=(8,), BLOCK=1024,
        reference=lambda x: {name: moment(x) for name, moment in moments.items()},
    )  # fmt: skip

    assert list(derived.outputs) == ["mean", "square"]
    for name, moment in moments.items():
        assert derived[name].expected == pytest.approx(moment(x.double()).numpy(), rel=1e-14)
    with pytest.raises(NotDerived, match="name the tensor to compare"):
        _ = derived.only


def test_probable_bound_of_a_long_sum_is_far_below_the_worst_case():
    found = of_product(inner=2048)
    assert np.median(found.worst / found.probable) > 4


def test_smaller_chance_gives_a_wider_bound():
    often, seldom = of_product(chance=1e-3), of_product(chance=1e-15)
    assert (often.probable < seldom.probable).all()
    assert (often.worst == seldom.worst).all()


@pytest.mark.parametrize(
    ("dtype", "least", "most"),
    [(torch.float32, 1e-6, 1e-4), (torch.float16, 4e-4, 4e-3), (torch.bfloat16, 2e-3, 3e-2)],
)
def test_bounds_depend_on_the_element_type(dtype, least, most):
    found = of_product(dtype)
    scale = np.sqrt(np.mean(found.expected**2))
    assert least < np.median(found.probable) / scale < most
    assert (np.abs(found.evaluated - found.expected) <= found.radius()).all()


def test_tf32_widens_bounds_if_the_kernel_requests_it_and_the_test_allows_it():
    by_kernel, refused = of_product(precision="tf32"), of_product(precision="tf32", tf32=False)
    assert np.median(by_kernel.probable / refused.probable) > 10
    assert (np.abs(by_kernel.evaluated - by_kernel.expected) <= by_kernel.radius()).all()
    assert (np.abs(by_kernel.evaluated - by_kernel.expected) > refused.radius()).any()


def test_sum_in_16_bits_widens_bounds_only_if_granted():
    plain, granted = of_product(type_=tl.float16), of_product(type_=tl.float16, narrow=True)
    away = np.abs(plain.evaluated - plain.expected)
    assert (away > plain.radius()).any()
    assert (away <= granted.radius()).all()


def test_losses_that_are_not_granted_are_listed_with_source_lines():
    left, right, out = factors()
    derived = kvtrace.tolerance(
        product, left, right, out, 512, grid=(1,), TYPE=tl.float16, PRECISION="tf32", B=32,
        tf32=False,
    )  # fmt: skip
    assert [each.rpartition(" at ")[0] for each in derived.not_granted] == [
        "a sum kept in 16 bits",
        "an intermediate number rounded",
        "a product in tf32",
    ]
    assert "kernels.py:" in derived.not_granted[0]
    assert derived.refused == derived.not_granted[2:]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (lambda y: y, "has a parameter 'y', and the kernel has no argument"),
        (lambda *args: args[0], r"takes any arguments \(\*args\), and gets the kernel's by name"),
        (lambda **named: named["x"], r"takes any arguments \(\*\*named\)"),
        (lambda x: x[:, :5], "returns out with the shape"),
        (lambda x: {"outs": x}, "returns outs, but softmax writes out"),
        (lambda x: "x", "expected a tensor or an array, found a str"),
    ],
)
def test_reference_that_does_not_fit_is_an_error(reference, said):
    x, out = rows()
    with pytest.raises(NotDerived, match=said):
        kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024, reference=reference)


def test_callable_that_launches_nothing_is_an_error():
    with pytest.raises(NotDerived, match="no launch was executed"):
        kvtrace.tolerance({(1,): lambda: None}, grid=(1,))
