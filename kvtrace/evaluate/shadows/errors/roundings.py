"""The roundings that count in an evaluation, how much each brings, and what a test grants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.shadows.errors.planes import Deviating, Span, Uncertain, together
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
#: How many times what constants and float64 lose a kernel's meaning may be from its reference's.
_SLACK: Final = 4.0
#: What a reference in float64 loses by its own roundings, relative.
_REFERENCE_LOSS: Final = 2.0**-44


def unit_of(name: str) -> float:
    """Return the largest relative error of one rounding to nearest, by the type's name."""
    return 2.0 ** -_FORMS[name][0]


def largest_whole(name: str) -> float:
    """Return up to which size a type holds all whole numbers, so that sums of them are exact."""
    return 1.0 / unit_of(name)


def is_float(name: str) -> bool:
    """Whether a type, by its name, is one of floats that are known here."""
    return name in _FORMS


def rounding(name: str, sizes: Array) -> Array:
    """Return how far numbers of at most these sizes move when they are rounded to nearest."""
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
    """Whether what is too large for a type becomes its largest number, not infinity."""
    return element.bits == 8


def constants_radius(name: str, values: Array) -> Array:
    """Return how far constants may be from those that were written: of short ones, nothing.

    A constant of a few bits, as 0.5 or 3, is what was written; others were rounded to their type.
    """
    fraction, _ = np.frexp(np.where(np.isfinite(values), values, 0.0))
    scaled = fraction * 2.0**_SHORT_BITS
    short = (scaled == np.rint(scaled)) | ~np.isfinite(values)
    return np.where(short, 0.0, rounding(name, np.abs(np.where(short, 0.0, values))))


@dataclass(frozen=True, slots=True)
class Granted:
    """What a kernel may lose besides what float32 loses, and storing its results.

    Attributes:
        tf32: whether dots may cut float32 factors to tf32; None: as the kernel asks.
        narrow: whether sums may be kept in 16 bits, and numbers on the way be rounded to types that
            no tensor of the kernel has; None and False: what that loses does not count.

    """

    tf32: bool | None = None
    narrow: bool | None = None


@dataclass(slots=True)
class Roundings:
    """The roundings that count in one evaluation.

    Attributes:
        all_count: whether all of them count, and bounds lie around exact numbers. Otherwise those
            count where the IR leaves a choice to the device, and bounds lie around the evaluator's
            numbers, which are rounded wherever the IR rounds.
        deviations: how many scales an error stays within, except with the stated chance.
        granted: what of the kernel's own roundings counts.
        narrow: ops whose rounding to a narrow type is not granted, and counts as float32's.
        bounded: whether bounds are followed, or exact numbers alone.

    """

    all_count: bool
    deviations: float = 0.0
    granted: Granted = field(default_factory=Granted)
    narrow: frozenset[int] = frozenset()
    bounded: bool = True
    _births: int = field(default=0)

    @property
    def kind(self) -> type[Deviating]:
        """The class of numbers with bounds."""
        return Deviating if self.all_count else Uncertain

    @property
    def distances(self) -> tuple[str, ...]:
        """The planes that say how far a number may be, each followed by itself."""
        return ("worst", "meaning", "near") if self.all_count else ("worst",)

    @property
    def open(self) -> tuple[str, ...]:
        """The planes that are infinite where nothing is known."""
        return (*self.distances, "bias") if self.all_count else self.distances

    @property
    def rounded(self) -> tuple[str, ...]:
        """The distances that a device's roundings add to."""
        return ("worst", "near") if self.all_count else ("worst",)

    @property
    def errors(self) -> tuple[str, ...]:
        """The planes that an error of one sign adds to."""
        return ("worst", "near", "bias") if self.all_count else ("worst",)

    @property
    def deciding(self) -> str:
        """The plane that says whether a device may decide otherwise."""
        return "near" if self.all_count else "worst"

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return planes of numbers that are certain."""
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
        """Return a value with planes beside it."""
        if self.all_count:
            return Deviating(actual(value), planes, own_span, common_span, narrowed)
        return Uncertain.joined(value, planes)

    def opened(self, where: Array) -> Array:
        """Return planes of which nothing is known where a number is above 0."""
        planes = self.zeros(where.shape)
        for plane in self.open:
            planes[plane] = np.where(where > 0, np.inf, 0.0)
        return planes

    def doubt_of(self, values: Sequence[Deviating]) -> Array:
        """Return planes of which nothing is known where something in any of some values is not."""
        shape = np.broadcast_shapes(*(each.shadow.shape for each in values))
        planes = self.zeros(shape)
        for each in values:
            for plane in self.open:
                planes[plane] = np.where(each.shadow[plane] > 0, np.inf, planes[plane])
        return planes

    def fitted(self, planes: Array, shape: tuple[int, ...]) -> Array:
        """Give the planes of a descriptor's block the axes of the tensor that it becomes."""
        if planes.ndim == len(shape):
            return planes
        widest = np.full((1,) * len(shape), planes[self.deciding].max())
        return self.opened(widest) if self.all_count else widest.astype(self.kind.planes)

    def birth(self) -> Span:
        """Return the span of a rounding that happens now."""
        self._births += 1
        return (self._births, self._births)

    @property
    def all_births(self) -> Span:
        """The span of everything until now."""
        return (0, self._births)


def meaning_radius(meaning: Array, expected: Array) -> Array:
    """Return how far a kernel's exact numbers may be from a reference's in float64.

    Args:
        meaning: the plane of that name.
        expected: the reference's numbers.

    """
    size = np.abs(expected)
    known = np.where(np.isfinite(size), size, 0.0)
    return np.asarray(_SLACK * meaning + _REFERENCE_LOSS * known)


def repetition(addends: Array, axis: int) -> Array:
    """Return how many roundings a sum of addends is like, if each was independent, squared.

    To add the same number again and again rounds in the same direction again and again: a run of n
    equal addends counts as n². The axis is kept, with what comes up to each addend.
    """
    along = np.moveaxis(addends, axis, -1)
    places = np.arange(along.shape[-1])
    begins = np.ones(along.shape, np.bool_)
    begins[..., 1:] = along[..., 1:] != along[..., :-1]
    began = np.maximum.accumulate(np.where(begins, places, 0), axis=-1)
    counted = np.where(along != 0, 2.0 * (places - began) + 1.0, 0.0)
    return np.moveaxis(counted, -1, axis)


class Repeats:
    """Tells whether an op adds in a loop what it added the time before."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def again(self, addend: Array) -> bool:
        """Whether most of the numbers are those of the last call, and not zero."""
        last, self._last = self._last, addend
        if last is None or last.shape != addend.shape:
            return False
        return 2 * int(np.count_nonzero((last == addend) & (addend != 0))) > addend.size


def deviations_for(chance: float, comparisons: int) -> float:
    """Return how many scales hold all of so many comparisons, except with a chance in all.

    Of a martingale whose steps are bounded by c_i, Azuma and Hoeffding bound the chance to be
    farther than t·sqrt(Σ c_i²) from zero by 2·exp(-t²/2). The chance is divided evenly.
    """
    return math.sqrt(2 * math.log(2 * max(1, comparisons) / chance))


def settle(planes: Array, own_span: Span, common_span: Span, roundings: Roundings) -> None:
    """Take the narrower of the two ways in which `near` is counted, and never more than `worst`."""
    random, _ = together([(planes["own"], own_span), (planes["common"], common_span)])
    by_scale = planes["bias"] + roundings.deviations * np.asarray(random)
    narrower = np.minimum(np.minimum(planes["near"], by_scale), planes["worst"])
    planes["near"] = np.where(np.isinf(planes["near"]), np.inf, narrower)  # it overflows
