"""Integer results that differ as indices of equal elements may."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.outcomes import Outcome, Values, input_values
from kvtrace.addons.judge.tensors import array
from kvtrace.inputs.cases import EPSILON


def picks_tied_elements(values: Values, outcome: Outcome) -> bool:
    """Return whether wrong results are integers, and differ as indices of ties may.

    Beside results of floats, as of top-k, they pick elements of an input that equal the reference's
    in value. Alone they may differ more, as ranks do, unless the reference's results are indices of
    an input's extreme elements along an axis, and the candidate's are not.
    """
    results = values.expected.native
    are_integers = [r["dtype"] != "bool" and r["dtype"] not in EPSILON for r in results]
    wrong = {comparison.result for comparison in outcome.comparisons if comparison.wrong}
    inputs = [
        input_values(values.case, number, values.inputs).astype(np.float64)
        for number, tensor in enumerate(values.case.inputs_of_tensors)
        if tensor.dtype in EPSILON
    ]
    axes = [(elements, axis) for elements in inputs for axis in range(elements.ndim)]
    return all(
        are_integers[at]
        and _may_be_tied(
            array(values.answers, results[at]), outcome.results[at], axes, all(are_integers)
        )
        for at in wrong
    )


def _may_be_tied(
    expected: NDArray[Any], got: NDArray[Any], axes: list[tuple[NDArray[Any], int]], alone: bool
) -> bool:  # fmt: skip
    picked = [
        (elements, axis, right, _picked(elements, axis, got))
        for elements, axis in axes
        if (right := _picked(elements, axis, expected)) is not None
    ]
    if alone:
        return not any(
            np.array_equal(right, extreme) and (other is None or not np.array_equal(other, extreme))
            for elements, axis, right, other in picked
            for extreme in (elements.max(axis, keepdims=True), elements.min(axis, keepdims=True))
        )
    return any(
        other is not None
        and np.array_equal(right, other)
        and _repeats(got, axis) <= _repeats(expected, axis)
        for _, axis, right, other in picked
    )


def _picked(values: NDArray[Any], axis: int, index: NDArray[Any]) -> NDArray[Any] | None:
    """Return the elements that indices along an axis pick, or None if they are no such indices."""
    before, after = values.shape[:axis], values.shape[axis + 1 :]
    if index.size == math.prod((*before, *after)):
        index = index.reshape(*before, 1, *after)
    if index.ndim != values.ndim or (*index.shape[:axis], *index.shape[axis + 1 :]) != (
        *before,
        *after,
    ):
        return None
    if not index.size or index.min() < 0 or index.max() >= values.shape[axis]:
        return None
    return np.take_along_axis(values, index.astype(np.int64), axis)


def _repeats(index: NDArray[Any], axis: int) -> int:
    """Return how many indices are repeated along an axis."""
    if index.ndim <= axis:
        return 0
    return int((np.diff(np.sort(index, axis), axis=axis) == 0).sum())


def differs_where_reference_does(values: Values, outcome: Outcome) -> bool:
    """Return whether results differ only in integers that the reference itself does not decide.

    Such are indices of elements that are equal in the inputs' types and not in float64, as small
    numbers are after a softmax. At least one index of the reference then differs between both.
    """
    expected = values.expected
    if not expected.in_float64:
        return False
    wrong = {comparison.result for comparison in outcome.comparisons if comparison.wrong}
    return bool(wrong) and all(
        expected.native[at]["dtype"] not in EPSILON
        and not np.array_equal(
            array(values.answers, expected.native[at]), array(values.answers, expected.exact[at])
        )
        for at in wrong
    )
