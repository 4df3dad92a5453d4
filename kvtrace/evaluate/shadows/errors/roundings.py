"""Roundings that count in an evaluation: their sizes, and the roundings granted to a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.shadows.errors.planes import (
    NumberWithPlanes,
    NumberWithRadius,
    Span,
    together,
)
from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array, actual

#: Bits of the significand, and the exponent of the smallest normal number, by MLIR's name.
_FORMS: Final = {
    "f64": (53, -1022), "f32": (24, -126), "f16": (11, -14), "bf16": (8, -126),
    "f8E4M3FN": (4, -6), "f8E4M3FNUZ": (4, -7), "f8E4M3B11FNUZ": (4, -10),
    "f8E5M2": (3, -14), "f8E5M2FNUZ": (3, -15),
}  # fmt: skip
FLOAT32: Final = "f32"
_SHORT_BITS: Final = 12
#: Factor on the plane `meaning` that bounds the distance of a kernel from its reference.
_SLACK: Final = 4.0
#: Relative error of a reference in float64 by its own roundings.
_REFERENCE_LOSS: Final = 2.0**-44


def unit_of(name: str) -> float:
    """Return the largest relative error of one rounding to nearest, by the type's name."""
    return 2.0 ** -_FORMS[name][0]


def largest_whole(name: str) -> float:
    """Return the size up to which a type holds all whole numbers, so that their sums are exact."""
    return 1.0 / unit_of(name)


def is_float(name: str) -> bool:
    """Return whether a type's name is that of a float type known here."""
    return name in _FORMS


def rounding(name: str, sizes: Array) -> Array:
    """Return the largest error of rounding numbers of at most these sizes to nearest."""
    bits, least = _FORMS[name]
    return np.asarray(2.0**-bits * np.maximum(sizes, 2.0**least))


def largest_of(element: ElementType) -> float:
    """Return the largest finite number of a type."""
    import ml_dtypes

    return float(ml_dtypes.finfo(element.memory).max)


def smallest_of(name: str) -> float:
    """Return the smallest normal number of a type, by its name."""
    return float(2.0 ** _FORMS[name][1])


def saturates(element: ElementType) -> bool:
    """Return whether numbers too large for a type become its largest number, not infinity."""
    return element.bits == 8


def constants_radius(name: str, values: Array) -> Array:
    """Return how far constants may be from the numbers in the source: 0 for short constants.

    A constant of a few bits, as 0.5 or 3, equals the number in the source; others were rounded.
    """
    fraction, _ = np.frexp(np.where(np.isfinite(values), values, 0.0))
    scaled = fraction * 2.0**_SHORT_BITS
    short = (scaled == np.rint(scaled)) | ~np.isfinite(values)
    return np.where(short, 0.0, rounding(name, np.abs(np.where(short, 0.0, values))))


@dataclass(frozen=True, slots=True)
class Granted:
    """Roundings that a kernel may have besides those of float32 and of storing its results.

    Attributes:
        tf32: whether dots may cut float32 factors to tf32; None: as the kernel requests.
        narrow: whether sums may be kept in 16 bits, and intermediate numbers be rounded to types
            that no tensor of the kernel has; None and False: these roundings do not count.

    """

    tf32: bool | None = None
    narrow: bool | None = None


@dataclass(slots=True)
class Roundings:
    """The roundings that count in one evaluation.

    Attributes:
        all_count: whether all roundings count, and bounds lie around exact numbers. If not, those
            count in which the IR leaves a choice to the device, and bounds lie around the
            evaluator's numbers, which are rounded wherever the IR rounds.
        deviations: the number of scales that an error exceeds only with the stated chance.
        granted: the granted roundings of the kernel itself.
        narrow: indices of ops whose rounding to a narrow type is not granted and counts as
            float32's.
        bounded: whether bounds are followed, or exact numbers alone.

    """

    all_count: bool
    deviations: float = 0.0
    granted: Granted = field(default_factory=Granted)
    narrow: frozenset[int] = frozenset()
    bounded: bool = True
    _births: int = field(default=0)

    @property
    def kind(self) -> type[NumberWithPlanes]:
        """The class of values with planes."""
        return NumberWithPlanes if self.all_count else NumberWithRadius

    @property
    def distances(self) -> tuple[str, ...]:
        """The planes that bound a distance and grow only by the same plane of operands."""
        return ("worst", "meaning", "near") if self.all_count else ("worst",)

    @property
    def open(self) -> tuple[str, ...]:
        """The planes that are infinite where no bound is known."""
        return (*self.distances, "bias") if self.all_count else self.distances

    @property
    def rounded(self) -> tuple[str, ...]:
        """The distances that grow by a device's roundings."""
        return ("worst", "near") if self.all_count else ("worst",)

    @property
    def errors(self) -> tuple[str, ...]:
        """The planes that grow by an error of one sign."""
        return ("worst", "near", "bias") if self.all_count else ("worst",)

    @property
    def deciding(self) -> str:
        """The plane that tells whether a device may take another branch."""
        return "near" if self.all_count else "worst"

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return planes of certain numbers, in a shape."""
        return np.zeros(shape, self.kind.planes)

    def beside(
        self,
        value: Any,
        planes: Array,
        own_span: Span = None,
        common_span: Span = None,
        *,
        narrowed: bool = False,
    ) -> Any:
        """Return a value with planes."""
        if self.all_count:
            return NumberWithPlanes(actual(value), planes, own_span, common_span, narrowed)
        return NumberWithRadius.joined(value, planes)

    def opened(self, where: Array) -> Array:
        """Return planes without a bound where `where` is above 0."""
        planes = self.zeros(where.shape)
        for plane in self.open:
            planes[plane] = np.where(where > 0, np.inf, 0.0)
        return planes

    def doubt_of(self, values: Sequence[NumberWithPlanes]) -> Array:
        """Return planes without a bound where any plane of any value is above 0."""
        shape = np.broadcast_shapes(*(value.shadow.shape for value in values))
        planes = self.zeros(shape)
        for value in values:
            for plane in self.open:
                planes[plane] = np.where(value.shadow[plane] > 0, np.inf, planes[plane])
        return planes

    def fitted(self, planes: Array, shape: tuple[int, ...]) -> Array:
        """Return the planes of a descriptor's block with the axes of the loaded tensor."""
        if planes.ndim == len(shape):
            return planes
        widest = np.full((1,) * len(shape), planes[self.deciding].max())
        return self.opened(widest) if self.all_count else widest.astype(self.kind.planes)

    def birth(self) -> Span:
        """Return the span of a new rounding."""
        self._births += 1
        return (self._births, self._births)

    @property
    def all_births(self) -> Span:
        """The span of all roundings until now."""
        return (0, self._births)


def meaning_radius(meaning: Array, expected: Array) -> Array:
    """Return how far a kernel's exact numbers may be from a float64 reference.

    Args:
        meaning: the plane `meaning` of the exact numbers.
        expected: the reference's numbers.
    """
    size = np.abs(expected)
    finite_size = np.where(np.isfinite(size), size, 0.0)
    return np.asarray(_SLACK * meaning + _REFERENCE_LOSS * finite_size)


def repetition(addends: Array, axis: int) -> Array:
    """Return the number of independent roundings that a sum of addends is equivalent to, squared.

    Adding the same number repeatedly rounds in the same direction each time: a run of n equal
    addends counts as n². The axis is kept, with the count up to each addend.
    """
    along = np.moveaxis(addends, axis, -1)
    positions = np.arange(along.shape[-1])
    begins = np.ones(along.shape, np.bool_)
    begins[..., 1:] = along[..., 1:] != along[..., :-1]
    run_starts = np.maximum.accumulate(np.where(begins, positions, 0), axis=-1)
    counted = np.where(along != 0, 2.0 * (positions - run_starts) + 1.0, 0.0)
    return np.moveaxis(counted, -1, axis)


class Repeats:
    """The last addend of an op in a loop, to detect that the same numbers are added again."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def again(self, addend: Array) -> bool:
        """Return whether most numbers equal those of the last call, and are not zero."""
        last, self._last = self._last, addend
        if last is None or last.shape != addend.shape:
            return False
        return 2 * int(np.count_nonzero((last == addend) & (addend != 0))) > addend.size


def deviations_for(chance: float, comparisons: int) -> float:
    """Return the number of scales that all comparisons stay within, except with a total chance.

    For a martingale with steps bounded by c_i, the Azuma-Hoeffding inequality bounds the chance to
    be farther than t·sqrt(Σ c_i²) from zero by 2·exp(-t²/2). The chance is divided evenly.
    """
    return math.sqrt(2 * math.log(2 * max(1, comparisons) / chance))


def settle(planes: Array, own_span: Span, common_span: Span, roundings: Roundings) -> None:
    """Set `near` to the smaller of its two bounds, and to at most `worst`, in place."""
    random, _ = together([(planes["own"], own_span), (planes["common"], common_span)])
    by_scale = planes["bias"] + roundings.deviations * np.asarray(random)
    narrower = np.minimum(np.minimum(planes["near"], by_scale), planes["worst"])
    planes["near"] = np.where(np.isinf(planes["near"]), np.inf, narrower)  # it overflows
