"""Random indices of a fixed seed; `python -m tests.addons.graphs.hlo.index_fuzz` runs more."""

import numpy as np

from tests.addons.graphs.hlo import index_fuzz
from tests.support.thorough import usually


def test_random_indices_have_the_results_of_numpy():
    number = usually(500, thorough=5_000)
    counts, differences = index_fuzz.fuzz(number, seed=20)

    assert differences == []
    assert counts["right"] > 0.8 * number
    assert counts["refused"] < 0.04 * number


def test_the_index_fuzzer_detects_a_wrong_result(monkeypatch):
    by_numpy = index_fuzz._by_numpy

    def turned(case):
        expected, value = by_numpy(case)
        return (expected[::-1] if np.ndim(expected) else expected), value

    monkeypatch.setattr(index_fuzz, "_by_numpy", turned)
    _, differences = index_fuzz.fuzz(100, seed=20)

    assert any(ended.startswith("wrong") for _, ended in differences)
