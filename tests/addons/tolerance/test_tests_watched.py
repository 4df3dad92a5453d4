"""`pytest --kvtrace-tolerances`: a table of what tests compare by, and what is derived."""

import os
from pathlib import Path

import pytest

from kvtrace.addons.tolerance.tests_watched import Comparison, lines_of
from tests.addons.tolerance import kernels
from tests.support.warm_python import warm_python

PYTEST = "import sys, pytest; sys.exit(pytest.console_main())"

SUITE = """import numpy as np, torch
from torch.testing import assert_close
from kernels import softmax

def results():
    torch.manual_seed(0)
    x = torch.randn(4, 1000)
    out = torch.zeros_like(x)
    softmax[(4,)](x, out, 1000, BLOCK=1024)
    return out, torch.softmax(x, -1)

def test_loose():
    assert_close(*results(), atol=1e-2, rtol=0)

def test_tight():
    out, wanted = results()
    np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-8)

def test_in_another_type():
    assert_close(results()[0].double(), results()[1].double(), atol=1e-2, rtol=0)

def test_of_something_else():
    out, wanted = results()
    assert torch.allclose(2 * out, 2 * wanted)

def test_wrong():
    out, wanted = results()
    assert_close(out, wanted + 1)
"""


@pytest.mark.process
def test_suite_has_a_table_and_the_same_outcomes_as_without_the_option(tmp_path):
    (tmp_path / "kernels.py").write_text(Path(kernels.__file__).read_text())
    (tmp_path / "test_suite.py").write_text(SUITE)

    clean = {k: v for k, v in os.environ.items() if not k.startswith(("KVTRACE", "PYTEST"))}
    options = ("-p", "no:cacheprovider", "--kvtrace-tolerances", ".")

    done = warm_python(modules=("torch", "pytest")).run(
        "-c", PYTEST, *options, folder=tmp_path, environment=clean
    )

    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "4 passed" in said
    assert "5 comparisons, 4 of them of a kernel's output: 3 too loose" in said
    assert "kernel wrote the" in said


def test_table_marks_tolerances_that_are_too_loose_or_may_fail():
    found = [
        ("a", Comparison("torch.allclose", "k", 1e-2, 0.0, 1e-6, 5000.0, 0.0)),
        ("b", Comparison("torch.allclose", "k", 1e-6, 0.0, 1e-6, 0.5, 0.25)),
        ("c", Comparison("torch.allclose", "k", 1e-5, 0.0, 1e-6, 5.0, 0.0)),
        ("d", Comparison("torch.allclose", reason="not derived: no kernel wrote the value")),
        ("e", Comparison("torch.allclose", "k")),
        ("f", Comparison("torch.allclose", "k", 1e-5, 0.0, 0.0, float("inf"))),
    ]
    said = "\n".join(lines_of(found))
    assert [each.verdict for _, each in found] == [
        "too loose, 5,000 times",
        "may fail: narrower in 25 % of elements",
        "fits",
        "not derived: no kernel wrote the value",
        "exact",
        "too loose: the kernel's results are exact",
    ]
    assert "6 comparisons, 5 of them of a kernel's output: 2 too loose" in said
    assert lines_of([]) == ["no test compared values by torch's, Triton's or NumPy's functions"]
