"""Indices of equal elements: which of them may differ from the reference's."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from kvtrace.addons.judge.outcomes import Values
from kvtrace.addons.judge.tensors import store_result
from kvtrace.addons.judge.ties import picks_tied_elements
from kvtrace.inputs.cases import Case, whole_tensor

torch = pytest.importorskip("torch")

X = np.array([[3, 1, 3, 2], [0, 0, 5, 0]], np.float32)
TOP = np.array([[3, 3], [5, 0]], np.float32)


def are_tied(folder, pairs):
    """Return the verdict on pairs of the reference's and the candidate's result, for inputs X."""
    X.tofile(folder / "x.bin")
    tensor = replace(whole_tensor("x", "float32", X.shape), file="x.bin")
    pairs = [(np.array(right), np.array(got)) for right, got in pairs]
    stored = [
        store_result(torch.from_numpy(right), folder, f"{at}.bin")
        for at, (right, _) in enumerate(pairs)
    ]
    comparisons = [
        SimpleNamespace(result=at, wrong=not np.array_equal(*pair)) for at, pair in enumerate(pairs)
    ]
    outcome = SimpleNamespace(comparisons=comparisons, results=[got for _, got in pairs])
    expected = SimpleNamespace(native=stored)
    return picks_tied_elements(
        Values(Case("case", "given", (tensor,)), folder, expected, folder), outcome
    )


@pytest.mark.parametrize(
    ("indices", "tied"),
    [
        ([[2, 0], [2, 3]], True),  # the same elements by other indices
        ([[0, 0], [2, 3]], False),  # one of two equal elements twice
        ([[0, 1], [2, 0]], False),  # an element of another value
        ([[0, 2], [2, 9]], False),  # no element
    ],
)
def test_indices_beside_values_pick_elements_of_the_same_values(tmp_path, indices, tied):
    assert are_tied(tmp_path, [(TOP, TOP), ([[0, 2], [2, 0]], indices)]) == tied


def test_wrong_values_beside_indices_are_no_ties(tmp_path):
    assert not are_tied(tmp_path, [(TOP, TOP + 1), ([[0, 2], [2, 0]], [[2, 0], [2, 0]])])


@pytest.mark.parametrize(("index", "tied"), [([2, 2], True), ([1, 2], False), ([9, 2], False)])
def test_indices_of_maxima_pick_maxima(tmp_path, index, tied):
    assert are_tied(tmp_path, [([0, 2], index)]) == tied


def test_ranks_alone_may_differ(tmp_path):
    assert are_tied(tmp_path, [([[2, 0, 3, 1], [0, 1, 3, 2]], [[3, 0, 2, 1], [2, 1, 3, 0]])])


def test_truth_values_are_no_indices(tmp_path):
    assert not are_tied(tmp_path, [([True, False], [False, False])])
