"""Launches like an earlier one compute no address again, however many there are."""

import pytest

from benchmarks.recorder_growth import counted_calls
from kvtrace.evaluate.known import KnownValues
from tests.evaluate.small_launches import CASES
from tests.kernels.launching import launch


@pytest.mark.parametrize("case", CASES)
def test_launches_like_an_earlier_one_keep_nothing_and_take_the_same_work(case, monkeypatch):
    kernel, grid, arguments, constexprs = CASES[case]
    kept = []
    keep = KnownValues.keep

    def counting(known, key, result, operands=None):
        kept.append(key)
        return keep(known, key, result, operands)

    monkeypatch.setattr(KnownValues, "keep", counting)

    def work(programs):
        with counted_calls() as calls:
            launch(kernel, programs, arguments(), constexprs)
        return calls[0]

    work((grid[0] + 1,))  # another grid: values of its own
    assert kept
    work(grid)
    kept.clear()
    later = [work(grid) for _ in range(4)]

    assert kept == []
    assert max(later) <= 1.15 * min(later)
