"""Comparison of results with a reference's: errors, and the errors that are allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.shadows.errors.roundings import meaning_radius
from kvtrace.inputs.cases import EPSILON
from kvtrace.text import plural

#: Rounding of float32 factors by dots on tensor cores, unless a dot asks for `ieee`.
TF32: Final = 2.0**-10
_FACTOR: Final = 2.0
_CUT: Final = 4.0
#: Error of a reference in float64 as a share of typical results, for example of 1 - tanh(x).
_REFERENCE: Final = 2.0**-50
#: Rounding steps of float32, whose sums may be taken in another order than the reference's.
_ORDER: Final = 32.0


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """The comparison of one result of a case with the reference's.

    `error`, `allowed` and their quotient `share` (above 1: wrong) belong to the element with the
    greatest share; None stands for values that are not finite. `wrong` counts wrong elements;
    `first` is the index of the first one, `got` and `expected` its values; `axis` is a phrase if
    all wrong elements are at the end of an axis. `tolerance` is `derived`, `granted` or `fixed`
    (the reason is in `because`), or `equal`. `other_meaning` counts elements that differ from the
    reference in exact arithmetic.
    """

    result: int
    error: float | None
    allowed: float | None
    share: float | None
    wrong: int
    elements: int
    first: tuple[int, ...] = ()
    got: float | None = None
    expected: float | None = None
    axis: str = ""
    tolerance: str = "equal"
    because: str = ""
    other_meaning: int = 0


def compare_result(
    at: int, got: NDArray[Any], exact: NDArray[Any], native: NDArray[Any], dtype: str, *,
    tf32: bool, planes: NDArray[Any] | str, granted: NDArray[np.float64] | None = None,
    inexact: NDArray[np.float64] | float = 0.0,
) -> ComparedResult:  # fmt: skip
    """Compare a result with the exact result.

    The allowed error is that of a right device, by the result's planes (`deriving.py`). Without
    planes, the problem's grant (`grants.py`) is allowed. Without a grant, the tolerance is fixed: a
    share of the sum of an element's value and the typical size of all elements, since an element
    near zero may be a sum of typical elements. The share is a step of the result's type (32 steps
    for float32, whose sums may be taken in another order), plus twice the error of the reference in
    the inputs' types, plus the rounding of float32 by tensor cores if a dot allows that. Integers
    and booleans must be equal.

    Args:
        at: The result's number.
        got: The result of the launches.
        exact: The reference's result in float64.
        native: The reference's result in the inputs' types.
        dtype: The result's type.
        tf32: Dots may have rounded their factors to tf32.
        planes: The planes of the result, or the reason why there are none.
        granted: The error that the problem grants each element; None if not known.
        inexact: Distances of the exact result from what is meant, as the reference says.
    """
    if dtype not in EPSILON:
        wrong = got != native
        difference = np.abs(got.astype(np.float64) - native.astype(np.float64))
        return _compared_result(at, got, native, wrong, difference, np.zeros(got.shape))
    value, truth, rounded = (np.asarray(array, np.float64) for array in (got, exact, native))
    with np.errstate(all="ignore"):
        finite = np.isfinite(truth)
        typical = float(np.sqrt(np.mean(truth[finite] ** 2))) if finite.any() else 0.0
        is_comparable = finite & np.isfinite(rounded)
        magnitude = np.abs(truth) + typical
        native_error = float(
            np.max(
                (np.abs(rounded - truth) / magnitude)[is_comparable & (magnitude > 0)], initial=0.0
            )
        )
        step = EPSILON[dtype] * (_ORDER if dtype in ("float32", "float64") else 1)
        allowed = (step + _FACTOR * native_error + (_CUT * TF32 if tf32 else 0)) * magnitude
        allowed = np.where(finite, allowed, 0.0)
        is_equal = (value == truth) | (np.isnan(value) & np.isnan(truth)) | (value == rounded)
        is_equal |= np.isnan(value) & np.isnan(rounded)
        # the reference overflows in the inputs' types: infinity and NaN are equally right
        is_equal |= finite & ~np.isfinite(rounded) & ~np.isfinite(value)
        difference = np.where(is_equal, 0.0, np.abs(value - truth))
        other_meaning = 0
        allowed = allowed + inexact
        granted = None if granted is None else granted + inexact
        if not isinstance(planes, str):
            exact_error = inexact + (_REFERENCE * typical if dtype != "float64" else 0.0)
            meaning = meaning_radius(planes["meaning"], truth) + exact_error
            radius = planes["near"] + meaning
            if granted is not None:
                radius = np.minimum(radius, granted + exact_error)
            unbounded_count = int((~is_equal & ~np.isfinite(radius)).sum())
            if unbounded_count:
                planes = f"no bound is known for {plural(unbounded_count, 'element')}"
            else:
                allowed = radius
                granted = None
                differs_in_meaning = ~is_equal & (np.abs(value + planes["off"] - truth) > meaning)
                other_meaning = int(differs_in_meaning.sum())
        if granted is not None:
            allowed = np.where(np.isfinite(granted), granted, allowed)
        wrong = ~is_equal & ~(difference <= allowed)
    result = _compared_result(at, value, truth, wrong, difference, allowed)
    if isinstance(planes, str):
        return replace(result, tolerance="fixed" if granted is None else "granted", because=planes)
    return replace(result, tolerance="derived", other_meaning=other_meaning)


def count_differences(one: NDArray[Any], other: NDArray[Any]) -> int:
    """Return the number of elements that differ between two results of the same launches.

    Floats may differ by roundings: sums of a library depend on the number of its threads.
    """
    if one.tobytes() == other.tobytes():
        return 0
    if one.dtype.kind == "c":
        return int((one != other).sum())
    exact = one.astype(np.float64)
    return compare_result(0, other, exact, one, str(one.dtype), tf32=False, planes="").wrong


def _compared_result(
    at: int, got: NDArray[Any], expected: NDArray[Any], wrong: NDArray[np.bool_],
    difference: NDArray[np.float64], allowed: NDArray[np.float64],
) -> ComparedResult:  # fmt: skip
    if not got.size:
        return ComparedResult(at, 0.0, 0.0, 0.0, 0, 0)
    with np.errstate(all="ignore"):
        shares = np.where(difference == 0, 0.0, difference / allowed)
    shares = np.where(np.isnan(shares), np.inf, shares)
    worst = int(np.argmax(shares))
    count = int(wrong.sum())
    first_wrong_index: tuple[int, ...] = ()
    if count:
        first_wrong_index = tuple(
            int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        )
    return ComparedResult(
        at,
        _finite_or_none(difference.reshape(-1)[worst]),
        _finite_or_none(allowed.reshape(-1)[worst]),
        _finite_or_none(shares.reshape(-1)[worst]),
        count,
        int(got.size),
        first_wrong_index,
        _finite_or_none(got[first_wrong_index]) if count else None,
        _finite_or_none(expected[first_wrong_index]) if count else None,
        _end_of_axis(wrong) if count else "",
    )


def _finite_or_none(value: Any) -> float | None:
    """Return a finite number as a float; None for others, which JSON lacks."""
    return float(value) if np.isfinite(value) else None


def _end_of_axis(wrong: NDArray[np.bool_]) -> str:
    """Return a phrase such as "all in the last 3 of 64 along axis 0" if that is so, else ""."""
    for axis, size in enumerate(wrong.shape):
        other_axes = tuple(a for a in range(wrong.ndim) if a != axis)
        is_wrong = np.asarray(wrong.any(axis=other_axes))
        start = int(np.argmax(is_wrong))
        if start > 0 and is_wrong[start:].all():
            return f"all in the last {size - start} of {size} along axis {axis}"
    return ""
