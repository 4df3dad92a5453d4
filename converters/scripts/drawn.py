"""Distributions that contents are drawn from where none were recorded: numbers of tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.schema.element_values import LEVELS
from kvtrace.schema.tensor_statistics import TensorStatistics

#: Significant digits of a quantile in a script: those of a float32.
_DIGITS: Final = 9
_EXACT: Final = 1e6


@dataclass(frozen=True, slots=True)
class Drawn:
    """The distribution of a storage's elements; the fields are those of `Drawn` in the script."""

    quantiles: tuple[float, ...]
    zeros: float
    negative_infinities: float
    infinities: float
    sorted: str | None


def drawn_from(statistics: TensorStatistics) -> Drawn | None:
    """Return the distribution of a tensor's elements without NaNs, or None if nothing else is."""
    count = statistics.sampled - statistics.nans
    nonzero = count - statistics.zeros - statistics.infinities
    if count <= 0 or nonzero < 0 or (nonzero and len(statistics.quantiles) != len(LEVELS)):
        return None
    return Drawn(
        tuple(map(_short, statistics.quantiles)),
        round(statistics.zeros / count, _DIGITS),
        round(statistics.negative_infinities / count, _DIGITS),
        round((statistics.infinities - statistics.negative_infinities) / count, _DIGITS),
        statistics.sorted,
    )


def _short(quantile: float) -> float:
    """Return a float with the digits of a float32; large ones may be integers, and stay exact."""
    return quantile if abs(quantile) >= _EXACT else float(f"{quantile:.{_DIGITS}g}")


def statistics_of_storage(
    rows: Sequence[Mapping[str, Any]], name: str, statistics: Mapping[int, TensorStatistics]
) -> TensorStatistics | None:
    """Return the numbers of the largest tensor in a storage, by the name of its first argument.

    Args:
        rows: entries of `calls.args`.
        name: the storage's.
        statistics: numbers of tensors by their index in `rows`.

    """
    first = next(index for index, row in enumerate(rows) if row["name"] == name)
    group = rows[first]["alias_group"]
    tensors = [
        numbers
        for index, numbers in statistics.items()
        if index == first
        or (group is not None and index < len(rows) and rows[index]["alias_group"] == group)
    ]
    return max(tensors, key=lambda numbers: numbers.elements, default=None)
