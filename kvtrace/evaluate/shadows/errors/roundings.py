"""The roundings that count in an evaluation: their sizes, and those granted to a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct, field

from kvtrace.evaluate.shadows.errors.planes import (
    NumberWithPlanes,
    NumberWithRadius,
    Span,
    combined_scale,
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
    """Return the largest relative error of rounding to nearest to a float type, by its name."""
    return 2.0 ** -_FORMS[name][0]


def largest_whole(name: str) -> float:
    """Return the magnitude below which a type holds all whole numbers, so sums are exact."""
    return 1.0 / unit_of(name)


def is_float(name: str) -> bool:
    """Return whether a name is that of a float type in `_FORMS`."""
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
    """Return the largest distance of constants from the numbers in the source.

    A constant of a few bits, as 0.5 or 3, and a whole number that its type holds with all its
    neighbors, equal the number in the source and have 0; others were rounded.
    """
    fraction, _ = np.frexp(np.where(np.isfinite(values), values, 0.0))
    scaled = fraction * 2.0**_SHORT_BITS
    is_whole = (values == np.rint(values)) & (rounding(name, np.abs(values)) <= 0.5)
    short = (scaled == np.rint(scaled)) | is_whole | ~np.isfinite(values)
    return np.where(short, 0.0, rounding(name, np.abs(np.where(short, 0.0, values))))


class GrantedRoundings(Struct, frozen=True):
    r"""Roundings that a kernel may have besides float32's and those of storing results.

    Attributes:
        tf32: whether dots may cut float32 factors to tf32; None: as the kernel requests.
        narrow: whether sums may be kept in 16 bits, and intermediate numbers be rounded to types
            that no tensor of the kernel has; None and False: these roundings do not count.
    """

    tf32: bool | None = None
    narrow: bool | None = None


class Roundings(Struct):
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
    granted: GrantedRoundings = field(default_factory=GrantedRoundings)
    narrow: frozenset[int] = frozenset()
    bounded: bool = True
    _births: int = 0

    @property
    def kind(self) -> type[NumberWithPlanes]:
        """The class of numbers with planes in this evaluation."""
        return NumberWithPlanes if self.all_count else NumberWithRadius

    @property
    def distances(self) -> tuple[str, ...]:
        """The planes that bound a distance and depend only on the same plane of the operands."""
        return ("worst", "meaning", "near") if self.all_count else ("worst",)

    @property
    def open(self) -> tuple[str, ...]:
        """The planes that are infinite where no bound is known."""
        return (*self.distances, "bias") if self.all_count else self.distances

    @property
    def errors(self) -> tuple[str, ...]:
        """The planes that an error of known sign increases."""
        return ("worst", "near", "bias") if self.all_count else ("worst",)

    @property
    def deciding(self) -> str:
        """The plane that is above 0 where a device may take another branch."""
        return "near" if self.all_count else "worst"

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return the planes of certain numbers (zeros), of a shape."""
        return np.zeros(shape, self.kind.planes)

    def with_planes(
        self,
        value: Any,
        planes: Array,
        own_span: Span = None,
        common_span: Span = None,
        *,
        narrowed: bool = False,
    ) -> Any:
        """Return a value with planes; the value alone if it has only a radius of 0."""
        if self.all_count:
            return NumberWithPlanes(actual(value), planes, own_span, common_span, narrowed)
        return NumberWithRadius.joined(value, planes)

    def unbounded(self, where: Array) -> Array:
        """Return planes that are infinite where `where` is above 0, and else 0."""
        planes = self.zeros(where.shape)
        for plane in self.open:
            planes[plane] = np.where(where > 0, np.inf, 0.0)
        return planes

    def unbounded_where_uncertain(self, values: Sequence[NumberWithPlanes]) -> Array:
        """Return planes that are infinite where the same plane of any value is above 0."""
        shape = np.broadcast_shapes(*(value.shadow.shape for value in values))
        planes = self.zeros(shape)
        for value in values:
            for plane in self.open:
                planes[plane] = np.where(value.shadow[plane] > 0, np.inf, planes[plane])
        return planes

    def fitted(self, planes: Array, shape: tuple[int, ...]) -> Array:
        """Return planes with the axes of `shape`; those of a block become one, as wide as any."""
        if planes.ndim == len(shape):
            return planes
        widest = np.full((1,) * len(shape), planes[self.deciding].max())
        return self.unbounded(widest) if self.all_count else widest.astype(self.kind.planes)

    def birth(self) -> Span:
        """Return the span of a new rounding, with the next birth."""
        self._births += 1
        return (self._births, self._births)

    @property
    def all_births(self) -> Span:
        """The span of all roundings so far."""
        return (0, self._births)


def meaning_radius(meaning: Array, expected: Array) -> Array:
    r"""Return the largest distance of a kernel's exact numbers from a float64 reference.

    Args:
        meaning: the plane `meaning` of the exact numbers.
        expected: the reference's numbers.
    """
    size = np.abs(expected)
    finite_size = np.where(np.isfinite(size), size, 0.0)
    return np.asarray(_SLACK * meaning + _REFERENCE_LOSS * finite_size)


def repetition(addends: Array, axis: int) -> Array:
    """Return how many independent roundings each addend of a sum is equivalent to, squared.

    Adding the same number repeatedly rounds in the same direction each time: a run of n equal
    addends counts as n². The axis is kept, with the share of each addend.
    """
    moved_addends = np.moveaxis(addends, axis, -1)
    positions = np.arange(moved_addends.shape[-1])
    begins = np.ones(moved_addends.shape, np.bool_)
    begins[..., 1:] = moved_addends[..., 1:] != moved_addends[..., :-1]
    run_starts = np.maximum.accumulate(np.where(begins, positions, 0), axis=-1)
    shares = np.where(moved_addends != 0, 2.0 * (positions - run_starts) + 1.0, 0.0)
    return np.moveaxis(shares, -1, axis)


class RepetitionDetector:
    """Detects that an op in a loop adds the same numbers again, from its last addend."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def again(self, addend: Array) -> bool:
        """Return whether most numbers equal those of the last call and are not zero; store them."""
        last, self._last = self._last, addend
        if last is None or last.shape != addend.shape:
            return False
        return 2 * int(np.count_nonzero((last == addend) & (addend != 0))) > addend.size


def deviations_for(chance: float, comparisons: int) -> float:
    """Return the number of scales that all comparisons stay within, except with a total chance.

    For a martingale with steps bounded by c_i, the Azuma-Hoeffding inequality bounds the chance of
    being farther than t·sqrt(Σ c_i²) from zero by 2·exp(-t²/2). The chance is divided evenly among
    the comparisons.
    """
    return math.sqrt(2 * math.log(2 * max(1, comparisons) / chance))


def tighten_near(planes: Any, own_span: Span, common_span: Span, roundings: Roundings) -> None:
    """Set plane `near` to the smallest of itself, its bound by scales, and `worst`, in place.

    `planes` are an array of records, or arrays by name.
    """
    random, _ = combined_scale([(planes["own"], own_span), (planes["common"], common_span)])
    by_scale = planes["bias"] + roundings.deviations * np.asarray(random)
    narrower = np.minimum(np.minimum(planes["near"], by_scale), planes["worst"])
    planes["near"] = np.where(np.isinf(planes["near"]), np.inf, narrower)  # it overflows
