"""Derived bounds of results: carried over launches, and ended by operations of PyTorch."""

import jsonschema
import numpy as np
import pytest

from kvtrace.addons.judge.comparing import compare_result
from kvtrace.addons.judge.deriving import DerivedBounds
from kvtrace.addons.judge.judge_file import judge_file, judgment_text, schema
from kvtrace.addons.judge.request import Place, Request
from kvtrace.evaluate.shadows.errors.planes import PLANES
from tests.addons.judge.labeled import FOLDER, request_of
from tests.support.thorough import in_turn

HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    given = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
    mean = tl.sum(given * given, axis=0) / columns
    tl.store(out + row * columns + i, given / tl.sqrt(mean EPSILON), mask=i < columns)


def norm(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    norm_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def twice(x):
    return norm(norm(x))


def twice_with_a_move(x):
    return norm(norm(x).t().contiguous().t())


def by_root(x: "bf16[7, 300]"):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def by_root_twice(x: "bf16[7, 300]"):
    return by_root(by_root(x))


def by_root_in_float32(x: "bf16[7, 300]"):
    return by_root(x.float()).to(x.dtype)
"""


def judged(tmp_path, entry, reference, epsilon="+ 1e-5"):
    path = tmp_path / "norm.py"
    path.write_text(HEAD.replace("EPSILON", epsilon))
    return judge_file(Request(Place(path, entry), Place(path, reference), views=False))


def tolerances(judgment):
    cases = judgment.object["cases"]
    return {(r["tolerance"], r["because"]) for case in cases for r in case.get("results", ())}


@pytest.mark.process
def test_results_are_compared_by_derived_bounds_over_two_launches(tmp_path):
    judgment = judged(tmp_path, "twice", "by_root_twice")

    jsonschema.validate(judgment.object, schema())
    assert judgment.verdict == "right"
    assert tolerances(judgment) == {("derived", "")}
    assert any("compared by derived bounds" in line for line in judgment_text(judgment))


@pytest.mark.process
def test_result_moved_by_pytorch_gets_the_granted_tolerance(tmp_path):
    judgment = judged(tmp_path, "twice_with_a_move", "by_root_twice")

    assert judgment.verdict == "right"
    assert ("granted", "PyTorch moves elements that a kernel wrote") in tolerances(judgment)
    assert any(
        "by what the problem grants, because PyTorch moves elements that a kernel wrote" in line
        for line in judgment_text(judgment)
    )


@pytest.mark.process
def test_a_reference_that_rounds_has_a_fixed_tolerance(tmp_path):
    judgment = judged(tmp_path, "norm", "by_root_in_float32")

    assert judgment.verdict == "right"
    assert tolerances(judgment) == {("fixed", "the reference does not compute in float64")}


@pytest.mark.process
def test_missing_term_hidden_by_rounding_is_reported_as_other_meaning(tmp_path):
    """In bfloat16 an epsilon of 1e-5 is far below a step; the fixed tolerance let it pass."""
    judgment = judged(tmp_path, "norm", "by_root", epsilon="")

    errors = {
        finding["rule"] for finding in judgment.object["findings"] if finding["severity"] == "error"
    }
    assert judgment.verdict == "wrong"
    assert "other-meaning" in errors


RELU = """
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, out, n, ABSORBS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    given = tl.load(x + i, mask=i < n, other=0.0)
    result = tl.maximum(given, 0.0)
    if ABSORBS:
        other = 42.0 + given
        result = ((result - other + 1e30) - 1e30) + other
    tl.store(out + i, result, mask=i < n)


def launched(x, absorbs):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), absorbs, BLOCK=256)
    return out


def relu(x):
    return launched(x, False)


def absorbed(x):
    return launched(x, True)


def in_bfloat16(x):
    return launched(x.bfloat16(), False)


def reference(x: "f32[1000]"):
    return torch.relu(x)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("entry", "errors"),
    in_turn(
        [
            ("relu", set()),
            ("absorbed", {"wrong-result"}),
            ("in_bfloat16", {"wrong-result", "result-type"}),
        ],
        3,
    ),
)
def test_candidate_cannot_widen_the_granted_tolerance(tmp_path, entry, errors):
    path = tmp_path / "relu.py"
    path.write_text(RELU)
    judgment = judge_file(Request(Place(path, entry), Place(path, "reference"), views=False))

    rules = {
        finding["rule"] for finding in judgment.object["findings"] if finding["severity"] == "error"
    }
    assert judgment.verdict == ("wrong" if errors else "right")
    assert rules == errors


@pytest.mark.process
def test_launch_with_order_dependent_results_has_no_derived_bounds(tmp_path):
    judgment = judge_file(request_of(FOLDER / "kernels" / "wrong" / "total_race.py"))

    reasons = {because for tolerance, because in tolerances(judgment) if tolerance == "granted"}
    assert any("their order matters" in each for each in reasons)


def test_contents_made_by_python_have_bounds_only_if_they_have_few_bits():
    derived = DerivedBounds(1)
    view = {"storage": 0, "offset": 0, "shape": [2], "strides": [1]}
    derived.note_contents(0, "scale", np.array([0.5, 3.0], np.float32))
    assert not np.any(derived.planes_of(view, 4)["worst"])
    derived.note_contents(0, "scale", np.array([0.1, 3.0], np.float32))
    assert derived.planes_of(view, 4) == "Python or PyTorch computed the contents of scale"


def test_rounding_by_pytorch_ends_bounds_and_widening_does_not():
    derived = DerivedBounds(1)
    view = {"storage": 1, "offset": 0, "shape": [1], "strides": [1]}
    half, single = np.array([0.1], np.float16), np.array([0.1], np.float32)
    derived.note_move(1, [0], half.astype(np.float32), [half])
    assert not isinstance(derived.planes_of(view, 4), str)
    derived.note_move(1, [0], half, [single])
    assert derived.planes_of(view, 2) == "PyTorch rounds to float16"


def test_tolerance_is_fixed_if_an_element_has_no_bound():
    got = np.array([1.0, 2.0], np.float32)
    exact = np.array([1.0, 2.0001])
    planes = np.zeros(2, PLANES)
    planes["near"] = 1e-6, np.inf

    result = compare_result(0, got, exact, exact, "float32", tf32=False, planes=planes)

    assert (result.tolerance, result.because) == ("fixed", "no bound is known for 1 element")
    assert result.wrong == 1
    planes["near"] = 1e-6, 2e-4
    planes["off"][1] = 1e-4
    result = compare_result(0, got, exact, exact, "float32", tf32=False, planes=planes)
    assert (result.tolerance, result.wrong, result.other_meaning) == ("derived", 0, 0)
    planes["off"][1] = 0
    result = compare_result(0, got, exact, exact, "float32", tf32=False, planes=planes)
    assert (result.wrong, result.other_meaning) == (0, 1)
