"""`kvtrace sanitize --generic`: conditions, calls compared with them, exit codes, bad input."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200" / "train"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Two launches of one kernel: the second is told of one element more than there are."""
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    import torch

    import kvtrace
    from tests.verdicts import generic_kernels as kernels

    out = tmp_path_factory.mktemp("generic") / "out"
    with kvtrace.capture(out):
        for n in (1000, 1001):
            x, y, result = (torch.zeros(1000) for _ in range(3))
            kernels.add[(1,)](x, y, result, n, BLOCK=1024)
    return out


def test_conditions_of_a_trace_from_a_gpu(kvtrace):
    code, out, err = kvtrace("sanitize", FIXTURE, "--generic")

    text = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "min(64, columns) + (grid_x - 1) * columns <= extent(x)" in text
    assert "unknown: load of logits in line" in text
    assert "its address depends on what target holds" in text
    assert "distinct calls inside by the conditions" in text


def test_a_call_outside_fails_and_is_written_as_it_was(kvtrace, captured):
    code, out, _ = kvtrace("sanitize", captured, "--generic")

    text = " ".join(out.split())
    assert code == 1
    assert "min(n, 1024 * grid_x) <= extent(x) (load of x in line" in text
    assert "2 distinct calls: 1 inside by the conditions, 1 outside, by itself a violation" in text
    assert "add[(1, 1, 1)](x=fp32[1000], y=fp32[1000], result=fp32[1000], n=1001" in text
    assert "violation: load ends 4 bytes past the end of x" in text


def test_the_objects_have_the_same(kvtrace, captured):
    code, out, _ = kvtrace("sanitize", captured, "--generic", "--json")

    (kernel,) = json.loads(out)
    assert code == 1
    assert (kernel["kernel"], kernel["calls"], kernel["inside"]) == ("add", 2, 1)
    assert [access["exact"] for access in kernel["accesses"]] == [True] * 3
    assert kernel["assumptions"] == ["n >= 0"]
    (other,) = kernel["others"]
    assert other["outside"]
    assert other["verdict"] == "violation"


def test_strict_lets_what_is_unknown_fail(kvtrace):
    assert kvtrace("sanitize", FIXTURE, "--generic")[0] == 0
    assert kvtrace("sanitize", FIXTURE, "--generic", "--strict")[0] == 1


@pytest.mark.parametrize("other", [["--sarif"], ["--all"], ["--rule", "race"], ["--junit", "f"]])
def test_options_that_do_not_go_together(kvtrace, other):
    code, out, err = kvtrace("sanitize", FIXTURE, "--generic", *other)

    assert (code, out) == (2, "")
    assert "--generic is about bounds alone" in err
