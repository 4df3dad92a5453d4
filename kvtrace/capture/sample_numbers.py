"""Numbers of a tensor's elements, computed by NumPy."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kvtrace.schema.element_values import LEVELS, element_values, stored_type

Floats = npt.NDArray[np.float64]

#: Of signaling NaNs and huge elements NumPy warns, and the program may have made warnings errors.
_quiet: Final = np.errstate(all="ignore")


@_quiet
def values_of(content: bytes, type_name: str) -> Floats:
    """Return the elements in `content`, of a type that is known."""
    stored = np.frombuffer(content, stored_type(type_name))
    return element_values(stored, type_name).astype(np.float64)


def of_tensor(
    offsets: Sequence[int], length: int, steps: Sequence[tuple[int, int]]
) -> npt.NDArray[np.bool_]:
    """Return for each element of ranges whether a tensor has it.

    Args:
        offsets: where the ranges begin, in elements from the tensor's first one.
        length: elements of each range.
        steps: pairs of stride and size, as `SampledRanges.steps`.

    """
    rest = (np.array(offsets)[:, None] + np.arange(length)).ravel()
    flags = np.ones(len(rest), np.bool_)
    for stride, size in steps:
        index, rest = np.divmod(rest, stride)
        flags &= index < size
    flags &= rest == 0
    return flags


@_quiet
def numbers_of(values: Floats) -> dict[str, Any]:
    """Return the columns of `tensor_statistics` from `sampled` on, of elements in memory's order.

    Columns whose number is not finite, as the mean of huge elements, are null.
    """
    finite = values[np.isfinite(values)]
    nonzero = finite[finite != 0]
    columns = {
        "sampled": len(values),
        "nans": int(np.isnan(values).sum()),
        "infinities": int(np.isinf(values).sum()),
        "negative_infinities": int(np.isneginf(values).sum()),
        "zeros": len(finite) - len(nonzero),
        "negatives": int((finite < 0).sum()),
        "sorted": _order(values) if len(finite) == len(values) else None,
    }
    numbers = dict.fromkeys(("minimum", "maximum", "mean", "deviation", "quantiles"))
    if len(finite):
        numbers |= {"minimum": float(finite.min()), "maximum": float(finite.max())}
        numbers |= {"mean": _known(finite.mean()), "deviation": _known(finite.std())}
    if len(nonzero):
        quantiles = np.quantile(nonzero, LEVELS)
        numbers["quantiles"] = quantiles.tolist() if np.isfinite(quantiles).all() else None
    return columns | numbers


def _known(number: np.float64) -> float | None:
    return float(number) if math.isfinite(number) else None


def _order(values: Floats) -> str | None:
    if len(values) < 2 or values[0] == values[-1]:
        return None
    if (values[:-1] <= values[1:]).all():
        return "ascending"
    return "descending" if (values[:-1] >= values[1:]).all() else None
