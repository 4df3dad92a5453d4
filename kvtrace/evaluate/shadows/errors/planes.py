"""Numbers with what is kept beside each: the exact number, and bounds of a device's error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import Array, Shadowed, actual

PLANES: Final = np.dtype(
    [(name, np.float64) for name in ("off", "worst", "meaning", "near", "bias", "own", "common")]
)
"""The planes of a shadow. All but `off` are never negative, infinity: nothing is known.

* `off`: the exact number less the evaluator's; the exact number itself where the evaluator's is
  not finite and the exact one is (`exact_from`).
* `worst`: how far a device's is from the exact one at most.
* `meaning`: how far the exact one is from what the kernel's author means, who writes constants
  that are rounded when the kernel is compiled; and what float64 itself loses here.
* `near`: how far a device's is, except with the stated chance. The least of what two ways of
  counting give: the way that `worst` is made, with sums bounded as below, or `bias` and as many
  scales as the chance asks for.
* `bias`: the part of the error that may have one sign all along.
* `own`, `common`: scales (of sub-Gaussian errors) of what is random in each element, without and
  with what other elements of the same program may share.
"""

RADIUS: Final = np.dtype([("worst", np.float64)])
"""The one plane around the evaluator's numbers: how far a device's is from them at most.

Of Booleans and pointers any radius above 0 says that another one may be there.
"""

Span = tuple[int, int] | None
"""The births of the roundings that a scale is made of: first and last. None: any, or all."""


@dataclass(frozen=True)
class Deviating(Shadowed):
    """A number with planes around the exact one, and the births of what is random in them.

    `narrowed`: the last rounding was counted as float32's, so that storing it rounds once more.
    """

    planes: ClassVar[np.dtype[Any]] = PLANES

    own_span: Span = None
    common_span: Span = None
    narrowed: bool = False

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return the planes of a value."""
        if isinstance(value, Deviating):
            return value.shadow
        return np.zeros((1,) * (len(type_.shape) + 1), cls.planes)

    @classmethod
    def joined(cls, value: Any, shadow: Array, given: Sequence[Any] = ()) -> Any:
        """Put planes beside a value that was made by moving some."""
        from_ = [each for each in given if isinstance(each, Deviating)]
        return cls(
            actual(value),
            shadow,
            hull(each.own_span for each in from_),
            hull(each.common_span for each in from_),
            any(each.narrowed for each in from_),
        )

    def shared(self) -> Deviating:
        """Return the number, repeated: what is random in it may be shared by elements."""
        planes = self.shadow.copy()
        span = shared_in_place(planes, self.own_span, self.common_span)
        return replace(self, shadow=planes, own_span=None, common_span=span)


@dataclass(frozen=True)
class Uncertain(Deviating):
    """A number that a device may compute otherwise, with a radius around the evaluator's."""

    planes = RADIUS

    @classmethod
    def joined(cls, value: Any, shadow: Array, given: Sequence[Any] = ()) -> Any:
        """Put a radius beside a value, unless all of it is zero."""
        del given
        return cls(actual(value), shadow) if shadow["worst"].any() else value

    def shared(self) -> Deviating:
        """Return the number itself: nothing in a radius is random."""
        return self


def shared_in_place(planes: Array, own_span: Span, common_span: Span) -> Span:
    """Make what is random in planes common to the elements; return its span."""
    total, span = together([(planes["own"], own_span), (planes["common"], common_span)])
    planes["common"], planes["own"] = total, 0.0
    return span


def hull(spans: Iterable[Span]) -> Span:
    """Return the span around some; None if one is, or there is none."""
    known: Span = None
    for span in spans:
        if span is None:
            return None
        known = span if known is None else (min(known[0], span[0]), max(known[1], span[1]))
    return known


def are_apart(left: Span, right: Span) -> bool:
    """Whether no rounding is in both."""
    return left is not None and right is not None and (left[1] < right[0] or right[1] < left[0])


def together(parts: Sequence[tuple[Array | float, Span]]) -> tuple[Array | float, Span]:
    """Return the scale of a sum of errors: of independent ones by squares, of others by sums.

    A scale of zero needs no span.
    """
    total: Array | float = 0.0
    span: Span = None
    begun = False
    for scale, born in parts:
        if not np.any(scale):
            continue
        if not begun:
            total, span, begun = scale, born, True
        elif are_apart(span, born):
            total, span = np.hypot(total, scale), hull((span, born))
        else:
            total, span = total + scale, hull((span, born))
    return total, span


def full_planes(value: Any, type_: ValueType, planes: np.dtype[Any]) -> tuple[Array, Span, Span]:
    """Return planes with all lanes, and their spans; what is repeated for that is shared."""
    if not isinstance(value, Deviating):
        return np.zeros((1, *type_.shape), planes), None, None
    if value.shadow.shape[1:] == type_.shape:
        return value.shadow, value.own_span, value.common_span
    spread = value.shared()
    shape = (spread.shadow.shape[0], *type_.shape)
    return np.broadcast_to(spread.shadow, shape), None, spread.common_span


def is_blank(planes: Array) -> bool:
    """Tell whether all planes are zero: the evaluator's numbers are exact, and every device's."""
    return not any(planes[plane].any() for plane in planes.dtype.names or ())


#: An exact zero beside a number that is not finite; a plain 0 there says that both are the same.
_ZERO: Final = 5e-324


def offset_from(exact: Array, value: Array) -> tuple[Array, Array]:
    """Return the plane `off`, and where no distance is known.

    That is where one is infinite, or a NaN, and the other is not.
    """
    wide = value.astype(np.float64)
    with np.errstate(all="ignore"):
        off = exact - wide
    finite = np.isfinite(exact)
    alone = np.where(exact == 0, _ZERO, exact)
    off = np.where(np.isfinite(wide), np.where(finite, off, 0.0), np.where(finite, alone, 0.0))
    same = (exact == wide) | (np.isnan(exact) & np.isnan(wide))
    return off, ~same & ~(finite & np.isfinite(wide))


def exact_from(value: npt.ArrayLike, off: Array) -> Array:
    """Return the exact numbers, of the evaluator's and the plane `off`."""
    wide = np.asarray(value, np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(np.isfinite(wide) | (off == 0), wide + off, off))


def centers(value: Array, planes: Array) -> Array:
    """Return the numbers that planes lie around: exact ones, or the evaluator's."""
    return exact_from(value, planes["off"]) if "off" in (planes.dtype.names or ()) else value
