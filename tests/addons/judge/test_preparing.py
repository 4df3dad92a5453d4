"""Cases that a reference accepts."""

from pathlib import Path

import numpy as np
import pytest

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.preparing import (
    _accepted_cases,
    _bounds_of_integers,
    _broadcasts,
    _is_emptied,
    _of_suitable_size,
    _omitted_numbers,
)
from kvtrace.addons.judge.reference import Reference
from kvtrace.addons.judge.request import Place
from kvtrace.inputs.cases import BEYOND, Case, parsed_shapes
from kvtrace.inputs.making import CaseMaker

torch = pytest.importorskip("torch")


def test_extent_of_one_that_the_reference_broadcasts_is_detected():
    given_case = Case("given", "given", parsed_shapes("x=f32[16, 64], cos=f32[16, 32]", []))
    repeated = Case("32 → 1", "sizes", parsed_shapes("x=f32[16, 64], cos=f32[16, 1]", []))
    smaller = Case("16 → 1", "sizes", parsed_shapes("x=f32[1, 64], cos=f32[1, 32]", []))
    assert _broadcasts(repeated, given_case)
    assert not _broadcasts(smaller, given_case)
    assert not _broadcasts(given_case, given_case)


def test_sizes_that_leave_results_empty_are_detected():
    heads = Case("24 → 1", "sizes", parsed_shapes("q=f32[1, 4], k=f32[6, 4]", []))
    empty = Case("without elements", BEYOND, parsed_shapes("q=f32[0, 4]", []))
    assert _is_emptied(heads, [np.zeros((0, 4))])
    assert not _is_emptied(heads, [np.zeros((1, 4)), 3])
    assert not _is_emptied(empty, [np.zeros((0, 4))])


def prepared(folder, code, shapes):
    """Return a reference of a file's function, a maker, and the case that the shapes give."""
    (folder / "reference.py").write_text(f"import torch\n\n\ndef op{code}\n")
    maker = CaseMaker(folder, (), 3, named_extents=True)
    case = maker.fill(Case("given", "given", parsed_shapes(shapes, [])), None)
    return Reference(Place(folder / "reference.py", "op"), folder), maker, case


@pytest.mark.parametrize(
    ("code", "shapes", "bounds"),
    [
        ("(table, index): return table[index]", "table=f32[197, 130], index=i64[67]", {1: 197}),
        (
            "(x, n): return torch.where(torch.arange(x.shape[1]) < n[:, None], x, 0).sum(1)",
            "x=f32[197, 130], n=i64[197]", {1: 130},
        ),
        ("(x, label): return x.gather(1, label)", "x=f32[197, 30], label=i64[197, 1]", {1: 30}),
        ("(x, n): return x * (n >= 0)", "x=f32[197], n=i64[197]", {}),
    ],
)  # fmt: skip
def test_extents_that_integers_may_reach_are_learned_from_the_reference(
    tmp_path, code, shapes, bounds
):
    reference, maker, case = prepared(tmp_path, code, shapes)
    assert _bounds_of_integers(reference, maker, case, tmp_path) == bounds


@pytest.mark.parametrize(
    ("code", "names", "omitted"),
    [
        ("(x, label, smoothing=0.0): ...", ["x", "label", "smoothing"], {"smoothing": 0.0}),
        ("(x, y, alpha=1.0, causal=False): ...", ["x", "y", "alpha"], {"alpha": 1.0}),
        ("(x, y, bias=None, eps=1e-6): ...", ["x", "y", "bias", "eps"], {}),
        ("(x, y, eps=1e-6): ...", ["x", "y", "epsilon"], {}),
        ("(x, eps=1e-6): ...", ["x", "eps"], {}),
    ],
)
def test_default_numbers_that_the_inputs_leave_out_are_inputs(tmp_path, code, names, omitted):
    reference, _, _ = prepared(tmp_path, code, "x=f32[4]")
    numbers = _omitted_numbers(reference, names, 2)
    assert {number.name: number.value for number in numbers} == omitted


def test_default_numbers_of_a_model_are_those_of_its_forward(tmp_path):
    (tmp_path / "reference.py").write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n"
        "    def __init__(self, size=3):\n        super().__init__()\n\n"
        "    def forward(self, x, scale=2.0):\n        return x * scale\n"
    )
    reference = Reference(Place(tmp_path / "reference.py", "Model"), tmp_path)
    assert [n.value for n in _omitted_numbers(reference, ["x", "scale"], 1)] == [2.0]


@pytest.mark.parametrize(
    ("shapes", "most"), [("x=f64[40]", 1e-12), ("x=f32[40]", 1e-4), ("x=f16[40]", 0.1)]
)
@pytest.mark.parametrize("code", ["(x): return x * 0.1", "(x): return torch.tanh(x)"])
def test_reference_grants_what_its_type_loses(
    tmp_path: Path, code: str, shapes: str, most: float
) -> None:
    reference, _, case = prepared(tmp_path, code, shapes)

    expected = reference.results(case, tmp_path, tmp_path, "0")

    granted, exact = (
        tensors.array(tmp_path, stored[0]) for stored in (expected.granted, expected.exact)
    )
    assert 0 < np.max(granted / np.abs(exact)) < most


SCORES = "(q, k): return torch.softmax(q @ k.transpose(-1, -2), -1)"


def test_problems_whose_cost_grows_fast_are_given_smaller(tmp_path):
    reference, maker, case = prepared(tmp_path, SCORES, "q=f32[197, 130, 16], k=f32[197, 130, 16]")
    smaller = _of_suitable_size(reference, maker, case, tmp_path, 1 << 20)
    assert smaller.tensors[0].shape == (35, 27, 13)
    assert _of_suitable_size(reference, maker, case, tmp_path, 1 << 30) == case


def test_sizes_that_the_reference_refuses_are_replaced_by_grouped_ones(tmp_path):
    code = "(q, k): return q @ k.repeat_interleave(q.shape[0] // k.shape[0], 0).transpose(-1, -2)"
    reference, maker, case = prepared(tmp_path, code, "q=f32[130, 29, 8], k=f32[197, 29, 8]")
    q, k = _of_suitable_size(reference, maker, case, tmp_path, 1 << 20).tensors
    assert q.shape[0] % k.shape[0] == 0 < k.shape[0]


def test_work_of_a_reference_grows_with_its_results(tmp_path):
    reference, maker, case = prepared(tmp_path, SCORES, "q=f32[20, 30, 16], k=f32[20, 30, 16]")
    small = maker.fill(
        Case("small", "sizes", parsed_shapes("q=f32[2, 3, 4], k=f32[2, 3, 4]", [])), None
    )
    (work, _), (small_work, _) = _accepted_cases(
        reference, maker, [case, small], tmp_path, derives=False
    )
    assert 20 * 30 * 29 <= work - small_work <= 20 * (30 * 30 + 30 * 16) * 8


def test_work_of_a_reference_grows_with_its_operators(tmp_path):
    code = "(x): return torch.stack([row * 2 for row in x])"
    reference, maker, case = prepared(tmp_path, code, "x=f32[500, 2]")
    few = maker.fill(Case("few", "sizes", parsed_shapes("x=f32[5, 200]", [])), None)
    (work, _), (work_of_few, _) = _accepted_cases(
        reference, maker, [case, few], tmp_path, derives=False
    )
    assert work > 20 * work_of_few


@pytest.mark.parametrize(
    ("code", "naive"),
    [
        (
            "(x): return -torch.log_softmax(x, -1)[:, 0]",
            lambda x: (
                torch.log(torch.exp(x - x.amax(-1, keepdim=True)).sum(-1)) + x.amax(-1) - x[:, 0]
            ),
        ),
        (
            "(x): return torch.logsumexp(x, -1) - x.amax(-1)",
            lambda x: torch.logsumexp(x, -1) - x.amax(-1),
        ),
    ],
    ids=["loss", "difference"],
)  # fmt: skip
def test_a_reduction_grants_what_is_lost_of_numbers_as_large_as_its_inputs(tmp_path, code, naive):
    reference, _, case = prepared(tmp_path, code, "x=f32[600, 37]")
    x = 64 * tensors.tensor_from(case.tensors[0], tmp_path)
    x[:, 0] = x.amax(-1) + 20  # results are about 1e-8, beside numbers of 200
    (tmp_path / case.tensors[0].file).write_bytes(tensors.bytes_of(x))

    expected = reference.results(case, tmp_path, tmp_path, "0")

    granted, exact = (
        tensors.array(tmp_path, stored[0]) for stored in (expected.granted, expected.exact)
    )
    assert (np.abs(naive(x).numpy() - exact) <= granted).all()
    assert granted.max() < 1e-3


def test_an_element_alone_grants_nothing_of_other_numbers(tmp_path):
    reference, _, case = prepared(
        tmp_path, "(x, y): return torch.log1p(x * y)", "x=f32[64], y=f32[64]"
    )
    for tensor in case.tensors:
        values = torch.rand(64)
        values[::2] = 1e-4
        (tmp_path / tensor.file).write_bytes(tensors.bytes_of(values))

    expected = reference.results(case, tmp_path, tmp_path, "0")

    granted, exact = (
        tensors.array(tmp_path, stored[0]) for stored in (expected.granted, expected.exact)
    )
    assert (granted < exact / 100).all()
