"""Cases that a reference accepts."""

import numpy as np

from kvtrace.addons.judge.reference import _broadcasts, _is_emptied
from kvtrace.inputs.cases import BEYOND, Case, parsed_shapes


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
