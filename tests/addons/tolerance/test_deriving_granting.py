"""What a problem grants: formulas that lose more, elements that are no numbers, and right ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import triton.language as tl

import kvtrace
import kvtrace.testing
from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.testing import NotClose, against
from tests.addons.tolerance.kernels import (
    absorbed,
    by_halves,
    cross_entropy,
    exponential,
    factors,
    log_of_one_more,
    naive_variance,
    rows,
    silu,
    softmax,
    softmax_without_maximum,
    variance,
    wide_product,
)


def by_softmax(x):
    return torch.softmax(x, -1)


def by_variance(x):
    return x.var(-1, correction=0)


def around(mean):
    torch.manual_seed(0)
    return mean + torch.randn(8, 1000), torch.zeros(8)


@pytest.mark.parametrize("level", [100.0, 50.0])
def test_softmax_without_maximum_fails_where_it_overflows(level):
    x = torch.full((8, 1000), level)
    checked = against(by_softmax)(softmax_without_maximum)
    given = (x, torch.zeros_like(x), 1000)
    if level < 88:
        checked[(8,)](*given, BLOCK=1024)
        return
    with pytest.raises(NotClose, match=r"out\[0, 0\] is nan where 0\.001 is expected") as caught:
        checked[(8,)](*given, BLOCK=1024)
    (found,) = caught.value.differences
    assert (found.differing, found.cause) == (8000, "precision")
    assert "as an intermediate number overflows its type" in found.detail


def test_overflow_fails_without_a_reference_and_in_one_row_of_eight():
    x = torch.zeros(8, 1000)
    x[3] = 100.0
    derived = kvtrace.tolerance(
        softmax_without_maximum, x, torch.zeros_like(x), 1000, grid=(8,), BLOCK=1024
    )
    assert derived.only.exact == pytest.approx(1e-3)
    assert derived.only.undecided == 0
    with pytest.raises(NotClose, match="1,000 of 8,000 elements"):
        kvtrace.assert_close(derived.only.evaluated, derived)


@pytest.mark.parametrize("reference", [by_variance, None])
def test_variance_that_cancels_fails_unless_cancellation_is_granted(reference):
    x, out = around(1e4)

    def derived(**asked):
        return kvtrace.tolerance(
            naive_variance, x, out, 1000, grid=(8,), reference=reference, BLOCK=1024, **asked
        )

    strict = derived()
    assert np.median(strict.only.probable) > 1000
    assert strict.only.radius().max() < 0.02
    with pytest.raises(NotClose, match=r"cancellation=True grants that") as caught:
        kvtrace.assert_close(strict.only.evaluated, strict)
    assert caught.value.differences[0].cause == "precision"
    granted = derived(cancellation=True)
    kvtrace.assert_close(granted.only.evaluated, granted)


@pytest.mark.parametrize("reference", [by_variance, None])
def test_16_bit_inputs_grant_no_rounding_to_a_kernel_without_one(reference):
    torch.manual_seed(0)
    x, out = (1000 + 8 * torch.randn(8, 1000)).bfloat16(), torch.zeros(8)

    def derived(kernel):
        return kvtrace.tolerance(kernel, x, out, 1000, grid=(8,), reference=reference, BLOCK=1024)

    naive, centered = derived(naive_variance), derived(variance)
    with pytest.raises(NotClose, match="by cancellation"):
        kvtrace.assert_close(naive.only.evaluated, naive)
    kvtrace.assert_close(centered.only.evaluated, centered)


def test_variances_without_cancellation_pass():
    for kernel, mean in ((variance, 1e4), (naive_variance, 1.0)):
        x, out = around(mean)
        against(by_variance)(kernel)[(8,)](x, out, 1000, BLOCK=1024)


@pytest.mark.parametrize("reference", [lambda x: x * torch.sigmoid(x), None])
def test_bounds_include_underflow(reference):
    x = torch.linspace(-120, 120, 1000)
    derived = kvtrace.tolerance(
        silu, x, torch.zeros(1000), 1000, grid=(4,), reference=reference, BLOCK=256
    )
    assert derived.only.expected[57] < 0
    assert derived.only.evaluated[57] == 0
    assert derived.only.undecided == 0
    kvtrace.assert_close(derived.only.evaluated, derived)


def test_infinity_passes_where_the_expected_value_overflows_the_type():
    x = torch.linspace(80, 120, 100)
    out = torch.zeros(100)
    against(lambda x: torch.exp(x))(exponential)[(1,)](x, out, 100, BLOCK=128)
    assert torch.isinf(out[-1])
    derived = kvtrace.tolerance(exponential, x, out, 100, grid=(1,), BLOCK=128)
    with pytest.raises(NotClose):
        kvtrace.assert_close(torch.where(out.isinf(), -out, out), derived)


def test_kernel_that_absorbs_its_input_fails_against_relu():
    x = torch.linspace(-9, 9, 1000)
    with pytest.raises(NotClose, match="1,000 of 1,000"):
        against(lambda x: torch.relu(x))(absorbed)[(4,)](x, torch.zeros(1000), 1000, BLOCK=256)


def test_elements_without_a_bound_fail_beyond_the_granted_share():
    x, out = torch.ones(100), torch.zeros(100)
    x[:10] = float("nan")
    derived = kvtrace.tolerance(exponential, x, out, 100, grid=(1,), BLOCK=128)
    kvtrace.assert_close(torch.exp(x), derived)  # the same NaN is decided
    opened = kvtrace.tolerance(absorbed, x[10:], out[:90], 90, grid=(1,), BLOCK=128)
    assert opened.only.undecided == 90
    with pytest.raises(NotDerived, match="has a known bound"):
        kvtrace.assert_close(out[:90], opened)
    mixed = torch.cat([torch.full((90,), 1e-40), torch.full((10,), 3.0)])
    reference = {"out": lambda x: torch.where(x > 1, x.exp(), float("nan"))}
    asked = kvtrace.tolerance(
        exponential, mixed, out, 100, grid=(1,), BLOCK=128,
        reference=lambda x: {"out": reference["out"](x)},
    )  # fmt: skip
    with pytest.raises(NotClose):  # NaN is expected, and the kernel gives a number
        kvtrace.assert_close(torch.exp(mixed), asked, meaning=False)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.costly("products in 8 bits, evaluated twice")
def test_bounds_of_8_bit_products_detect_rounding_to_bfloat16(in_place):
    left, right, _ = factors(4096, torch.float8_e4m3fn)

    def launch(type_):
        out = torch.zeros(32, 32)
        checked = against(lambda left, right: left @ right)(wide_product)
        return checked[(1,)](left, right, out, 4096, IN_PLACE=in_place, TYPE=type_).only

    found = launch(tl.float32)
    size = np.sqrt(np.mean(found.expected**2))
    assert np.median(found.probable) < (0.06 if in_place else 0.01) * size
    with pytest.raises(NotClose, match="intermediate number rounded"):
        launch(tl.bfloat16)


def test_reference_with_random_results_is_an_error():
    x, out = rows()
    with pytest.raises(NotDerived, match="other results when it is called again"):
        kvtrace.tolerance(
            softmax, x, out, 1000, grid=(8,), BLOCK=1024,
            reference=lambda x: by_softmax(x) * torch.rand(()),
        )  # fmt: skip


def test_reference_without_parameter_names_is_an_error():
    x, out = rows()
    with pytest.raises(NotDerived, match="write lambda x"):
        kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024, reference=torch.exp)


def test_kernel_that_reads_bits_of_floats_is_granted_any_difference():
    x, out = torch.randn(128), torch.zeros(128)
    derived = kvtrace.tolerance(by_halves, x, out, grid=(1,), BLOCK=128)
    assert np.isinf(derived.only.granted).all()
    assert derived.only.undecided == 0
    kvtrace.assert_close(derived.only.evaluated, derived)


def test_text_of_a_tolerance_has_the_granted_bounds():
    x, out = rows()
    derived = kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)
    assert "granted" in str(derived)
    assert (derived.only.granted > np.abs(derived.only.evaluated - derived.only.exact)).all()


PROGRAM = """
import os, torch, kvtrace, kvtrace.testing
from tests.addons.tolerance.kernels import softmax
x, out = torch.randn(8, 1000), torch.zeros(16, 1000)
checked = kvtrace.testing.against(lambda x: torch.softmax(x, -1))(softmax)
checked[(8,)](x, out[8:], 1000, BLOCK=1024)
assert not out[:8].any() and torch.allclose(out[8:], torch.softmax(x, -1)), out
if os.environ.get("KVTRACE"):
    on_gpu = [each.cuda() for each in (x, torch.zeros(8, 1000))]
    checked[(8,)](*on_gpu, 1000, BLOCK=1024)
    assert torch.allclose(on_gpu[1].cpu(), out[8:])
print("close", kvtrace.tolerance(softmax, x, out[8:], 1000, grid=(8,), BLOCK=1024).only.undecided)
"""


@pytest.mark.process
@pytest.mark.parametrize("recorded", [False, True])
def test_cpu_tensors_work_if_torch_reports_an_absent_gpu(tmp_path, recorded):
    (tmp_path / "program.py").write_text(PROGRAM)
    traced = {"KVTRACE": str(tmp_path / "trace")} if recorded else {}
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("KVTRACE")},
        "KVTRACE_DEVICE": "cpu",
        "PYTHONPATH": str(Path.cwd()),
        **traced,
    }
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "close 0" in done.stdout, done.stderr


@pytest.mark.parametrize("off", [0.0, 1e-3])
def test_cross_entropy_of_a_certain_label_may_lose_one_rounding(off):
    torch.manual_seed(0)
    x, labels = torch.randn(8, 1000), torch.arange(8)
    x[labels, labels] += 18

    def by_torch(x, labels):
        return torch.nn.functional.cross_entropy(x, labels, reduction="none")

    checked = against(by_torch)(cross_entropy)
    given = (x, labels, torch.zeros(8), 1000, off)
    if off:
        with pytest.raises(NotClose):
            checked[(8,)](*given, BLOCK=1024)
    else:
        checked[(8,)](*given, BLOCK=1024)


def test_choice_that_roundings_decide_has_known_bounds() -> None:
    x = torch.tensor([-5.353382803718887e-08, 1e-4, 3e-5, 0.5])

    def by_torch(x):
        return torch.log1p(x)

    against(by_torch)(log_of_one_more)[(1,)](x, torch.zeros_like(x), 4, BLOCK=4)
