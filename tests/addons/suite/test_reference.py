"""Recorded IR as a reference: in its own types, in float64, and how exact it is."""

from pathlib import Path

import numpy as np
import pytest
import torch

from kvtrace.addons.suite.launches import read_launch
from kvtrace.addons.suite.reducing import reduced
from kvtrace.addons.suite.reference import Reference, write_launch

SUITE = Path(__file__).parents[2] / "fixtures" / "suite"


def reference_of(name, passed, folder):
    launch = reduced(read_launch(SUITE, name).with_separate_tensors())
    write_launch(launch, passed, folder / "recorded")
    return Reference(folder / "recorded")


def wide(inputs):
    return [
        v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for v in inputs.values()
    ]


@pytest.fixture
def rms_norm(tmp_path):
    names = ["Y_ptr", "X_ptr", "W_ptr", "RSTD_ptr", "n_cols", "eps"]
    return reference_of("002-_rms_norm_forward_kernel_0", names, tmp_path)


def test_float64_gives_the_formula_without_roundings(rms_norm):
    y, x, w, rstd, columns, eps = wide(rms_norm.inputs())
    x += 1e-9  # less than bfloat16 can tell
    expected = torch.rsqrt(x.square().sum(-1) / columns + float(np.float32(eps)))

    rms_norm(y, x, w, rstd, columns, eps)

    torch.testing.assert_close(rstd, expected, rtol=1e-13, atol=0)
    torch.testing.assert_close(y, x * expected[:, None] * w, rtol=1e-12, atol=1e-15)


def test_recorded_types_give_what_the_kernel_computes(rms_norm):
    inputs = rms_norm.inputs()
    y, x, w, rstd, columns, eps = inputs.values()

    rms_norm(y, x, w, rstd, columns, eps)

    assert y.dtype == torch.bfloat16
    expected = torch.rsqrt(x.float().square().mean(-1) + eps)
    torch.testing.assert_close(rstd, expected, rtol=1e-5, atol=0)
    torch.testing.assert_close(y, (x * expected[:, None] * w).bfloat16(), rtol=2e-2, atol=1e-2)


def test_other_sizes_and_whole_numbers_are_refused(rms_norm):
    y, x, w, rstd, columns, eps = rms_norm.inputs().values()

    with pytest.raises(ValueError, match="X_ptr was recorded with the shape"):
        rms_norm(y, x[:, :5], w, rstd, columns, eps)
    with pytest.raises(ValueError, match="n_cols was recorded as 1024"):
        rms_norm(y, x, w, rstd, columns + 1, eps)


def test_rounded_constants_of_exp_and_log_are_within_the_stated_distance(tmp_path):
    names = ["X_ptr", "Y_ptr", "loss_ptr", "n_cols", "n_non_ignore", "ignore_index"]
    reference = reference_of("001-liger_cross_entropy_kernel_0", names, tmp_path)
    inputs = reference.inputs()
    logits, labels = inputs["X_ptr"].double(), inputs["Y_ptr"]
    counted = labels != inputs["ignore_index"]
    losses = torch.nn.functional.cross_entropy(logits[counted], labels[counted], reduction="none")
    results, distances = wide(inputs), wide(inputs)

    reference(*results)
    reference.inexact(*distances)

    error = (results[2][counted] - losses / inputs["n_non_ignore"]).abs()
    assert (~counted).sum() == 1
    assert (results[0][~counted] == 0).all()
    assert (error > 0).all()
    assert (error <= distances[2][counted]).all()
    assert (distances[2][counted] < 1e-7).all()


def test_integers_outside_of_a_tensor_are_refused(tmp_path):
    names = ["X_ptr", "Y_ptr", "loss_ptr"]
    reference = reference_of("001-liger_cross_entropy_kernel_0", names, tmp_path)
    logits, labels, losses = reference.inputs().values()

    with pytest.raises(ValueError, match="accesses X_ptr outside of the tensor"):
        reference(logits, labels * 0 + 10**6, losses)
