"""Calls are merged if they do the same work, and only then."""

import re

from kvtrace.addons.suite.choice import alike_calls, weighed_calls
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT


def groups(selection, part=WHOLE):
    weighed = weighed_calls(selection, part)
    return alike_calls(selection.trace, weighed.calls)


def test_another_factor_and_other_shapes_are_the_same_work(made):
    ids = sorted(sorted(call.call_id for call in calls) for calls in groups(made.selection))

    # 3 begins within another cache line, 4 has another size, 6 and 7 other indices
    assert ids == [[0, 1, 2], [3], [4], [5], [6], [7], [8]]


def test_equal_kernels_of_ranks_are_merged_though_their_files_differ():
    selection = select_runs(ROOT / "tests" / "fixtures" / "h200" / "llama_ranks")

    merged = groups(selection)

    alone = [calls[0].kernel for calls in merged if len({call.run for call in calls}) == 1]
    assert len({call.ir for call in merged[0]}) == 2
    assert sum(map(len, merged)) == 72
    assert len(merged) == 26
    # work depends on indices that were not recorded
    assert len(alone) == 6
    assert all(re.search("embedding|nll_loss", kernel) for kernel in alone)


def test_merged_calls_took_about_the_same_time():
    selection = select_runs(ROOT / "tests" / "fixtures" / "h200" / "llama_ranks")

    ratios = [
        max(call.median_ns for call in calls) / min(call.median_ns for call in calls)
        for calls in groups(selection)
    ]

    assert sum(ratio < 1.05 for ratio in ratios) >= 0.9 * len(ratios)
    assert max(ratios) < 1.5  # what is in the cache differs
