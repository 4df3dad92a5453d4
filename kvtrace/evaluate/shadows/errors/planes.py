"""Planes: the exact number of each number of an evaluation, and bounds of a device's error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from kvtrace.evaluate.shadows.errors.images import are_same
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import Array, ShadowedValue, actual

PLANES: Final = np.dtype(
    [(name, np.float64) for name in ("off", "worst", "meaning", "near", "bias", "own", "common")]
)
"""The planes of a shadow. All but `off` are at least 0; infinity: no bound is known.

* `off`: the exact number minus the evaluator's; the exact number itself where the evaluator's is
  not finite but the exact number is (`exact_from`).
* `worst`: the largest distance of a device's number from the exact number.
* `meaning`: the largest distance of the exact number from the number that the author means, whose
  constants are rounded by the compiler; and the loss by float64 here.
* `near`: the distance that a device's number exceeds only with the stated chance: the smaller of
  two bounds, one computed as `worst` is, with sums bounded as below, the other `bias` plus as many
  scales as the chance requires.
* `bias`: the part of the error that may always have the same sign.
* `own`, `common`: scales (of sub-Gaussian errors) of the random error in each element: `own` is
  independent in each element, `common` may be shared by elements of the same program.
"""

RADIUS: Final = np.dtype([("worst", np.float64)])
"""The one plane around the evaluator's numbers: the largest distance of a device's number.

A radius above 0 of a Boolean or pointer says that a device may have another Boolean or pointer.
"""

Span = tuple[int, int] | None
"""The first and last birth (serial number) of the roundings in a scale. None: any rounding."""


class NumberWithPlanes(ShadowedValue, frozen=True):
    """A number with planes, and the spans of births of the random errors in them.

    `narrowed`: the last rounding was counted as one to float32, so storing the number rounds once
    more.
    """

    planes: ClassVar[np.dtype[Any]] = PLANES

    own_span: Span = None
    common_span: Span = None
    narrowed: bool = False

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return the planes of a value; zeros if the value is certain."""
        if isinstance(value, NumberWithPlanes):
            return value.shadow
        return np.zeros((1,) * (len(type_.shape) + 1), cls.planes)

    @classmethod
    def joined(cls, value: Any, shadow: Array, sources: Sequence[Any] = ()) -> Any:
        """Return a value with planes, with spans that contain those of the source operands."""
        deviating = [source for source in sources if isinstance(source, NumberWithPlanes)]
        return cls(
            actual(value),
            shadow,
            hull(source.own_span for source in deviating),
            hull(source.common_span for source in deviating),
            any(source.narrowed for source in deviating),
        )

    def shared(self) -> NumberWithPlanes:
        """Return the number with its own random errors counted as common to elements."""
        planes = self.shadow.copy()
        span = shared_in_place(planes, self.own_span, self.common_span)
        return replace(self, shadow=planes, own_span=None, common_span=span)


class NumberWithRadius(NumberWithPlanes, frozen=True):
    """A number with a radius: the largest distance of a device's number from the evaluator's."""

    planes = RADIUS

    @classmethod
    def joined(cls, value: Any, shadow: Array, sources: Sequence[Any] = ()) -> Any:
        """Return the value with a radius; the value alone if the radius is zero everywhere."""
        del sources
        return cls(actual(value), shadow) if shadow["worst"].any() else value

    def shared(self) -> NumberWithPlanes:
        """Return the number itself, as a radius has no random part."""
        return self


def shared_in_place(planes: Array, own_span: Span, common_span: Span) -> Span:
    """Move random errors from plane `own` to `common`, in place; return the span of `common`."""
    total, span = combined_scale([(planes["own"], own_span), (planes["common"], common_span)])
    planes["common"], planes["own"] = total, 0.0
    return span


def hull(spans: Iterable[Span]) -> Span:
    """Return the smallest span that contains all spans; None without spans, or if one is None."""
    union: Span = None
    for span in spans:
        if span is None:
            return None
        union = span if union is None else (min(union[0], span[0]), max(union[1], span[1]))
    return union


def are_apart(left: Span, right: Span) -> bool:
    """Return whether two spans are known and have no birth in common."""
    return left is not None and right is not None and (left[1] < right[0] or right[1] < left[0])


def combined_scale(parts: Sequence[tuple[Array | float, Span]]) -> tuple[Array | float, Span]:
    """Return the scale of a sum of random errors, and its span.

    Scales of errors with separate spans are added by squares, others as they are. A scale of zero
    needs no span.
    """
    total: Array | float = 0.0
    span: Span = None
    has_scale = False
    for scale, part_span in parts:
        if not np.any(scale):
            continue
        if not has_scale:
            total, span, has_scale = scale, part_span, True
        elif are_apart(span, part_span):
            total, span = np.hypot(total, scale), hull((span, part_span))
        else:
            total, span = total + scale, hull((span, part_span))
    return total, span


def full_planes(value: Any, type_: ValueType, planes: np.dtype[Any]) -> tuple[Array, Span, Span]:
    """Return a value's planes for all lanes, and two spans; repeated lanes share errors."""
    if not isinstance(value, NumberWithPlanes):
        return np.zeros((1, *type_.shape), planes), None, None
    if value.shadow.shape[1:] == type_.shape:
        return value.shadow, value.own_span, value.common_span
    spread = value.shared()
    shape = (spread.shadow.shape[0], *type_.shape)
    return np.broadcast_to(spread.shadow, shape), None, spread.common_span


def is_blank(planes: Array) -> bool:
    """Return whether all planes are zero, so that a device has exactly the same numbers."""
    return not any(planes[plane].any() for plane in planes.dtype.names or ())


#: Stands for an exact 0 of a number that is not finite; a plain 0 says that both are the same.
_ZERO: Final = 5e-324


def offset_from(exact: Array, value: Array) -> tuple[Array, Array]:
    """Return the plane `off`, and a mask of the elements without a known distance.

    The distance is unknown where one of the numbers is infinite or NaN and the other is not.
    """
    wide = value.astype(np.float64)
    with np.errstate(all="ignore"):
        off = exact - wide
    finite = np.isfinite(exact)
    exact_or_mark = np.where(exact == 0, _ZERO, exact)
    off = np.where(
        np.isfinite(wide), np.where(finite, off, 0.0), np.where(finite, exact_or_mark, 0.0)
    )
    return off, ~are_same(exact, wide) & ~(finite & np.isfinite(wide))


def exact_from(value: npt.ArrayLike, off: Array) -> Array:
    """Return the exact numbers, from the evaluator's numbers and the plane `off`."""
    wide = np.asarray(value, np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(np.isfinite(wide) | (off == 0), wide + off, off))


def centers(value: Array, planes: Array) -> Array:
    """Return the numbers that planes lie around: exact with a plane `off`, else the evaluator's."""
    return exact_from(value, planes["off"]) if "off" in (planes.dtype.names or ()) else value
