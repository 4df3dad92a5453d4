"""Ranges of floats that a kernel clamps between constants: `minimum(maximum(x, 0.0), 6.0)`.

An integer made of such a float is in the range, whatever was loaded: `maximum` and `minimum` return
the other operand for a NaN. Sums and products of ranges are rounded outward by one unit of their
type, so that a fused multiply-add stays in them. Floats without a range may be NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final

from kvtrace.ir import Op, Value
from kvtrace.ir.floats import FORMATS, FloatFormat
from kvtrace.ir.flow import constant_of
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import MOVING, named
from kvtrace.ir.types import FloatType, element_of

Range = tuple[float, float]

_ANY: Final[Range] = (-math.inf, math.inf)
_MOST_STEPS: Final = 24
"""Limit on the ops between an integer and its clamp."""
_MOVING: Final = MOVING & named(lambda row: row.operands == ("source",))
_EXTREMES: Final[dict[str, Callable[[float, float], float]]] = {
    "arith.maxnumf": max, "arith.maximumf": max, "arith.minnumf": min, "arith.minimumf": min,
}  # fmt: skip
_SUMS: Final[dict[str, Callable[[float, float], float]]] = {
    "arith.addf": operator.add, "arith.subf": operator.sub, "arith.mulf": operator.mul,
}  # fmt: skip
_WHOLE: Final[dict[str, Callable[[float], int]]] = {
    "math.floor": math.floor, "math.ceil": math.ceil,
}  # fmt: skip
_FOLLOWED: Final = {*_MOVING, *_EXTREMES, *_SUMS, *_WHOLE, "tt.clampf", "arith.extf"}
_ALL: Final = 0xFFFF
"""The attribute of a clamp that keeps NaN."""


def float_range(value: Value) -> Range | None:
    """Return the smallest and the largest number of a float that is never NaN; else None."""
    return _range(value, {}, _MOST_STEPS)


def _range(value: Value, seen: dict[int, Range | None], steps: int) -> Range | None:
    """Return the range of a float that is never NaN; `seen`: ranges of values by id."""
    if value.id not in seen:
        constant = constant_of(value)
        if constant is not None:
            seen[value.id] = None if math.isnan(constant) else (float(constant), float(constant))
        elif isinstance(value.owner, Op) and value.owner.name in _FOLLOWED and steps:
            ranges = [_range(operand, seen, steps - 1) for operand in value.owner.operands]
            seen[value.id] = _range_of_result(value.owner, ranges)
        else:
            seen[value.id] = None
    return seen[value.id]


def _range_of_result(op: Op, ranges: list[Range | None]) -> Range | None:
    if op.name in _EXTREMES:
        return _range_of_extreme(op.name, ranges)
    if op.name == "tt.clampf" and number_of(op, "propagateNan") != _ALL:
        raised = _range_of_extreme("arith.maxnumf", ranges[:2])
        return _range_of_extreme("arith.minnumf", [raised, ranges[2]])
    finite = [range_ for range_ in ranges if range_ is not None and all(map(math.isfinite, range_))]
    if len(finite) < len(ranges):
        return None
    if op.name in _WHOLE:
        low, high = map(_WHOLE[op.name], finite[0])
        return float(low), float(high)
    return _range_of_sum(op, finite) if op.name in _SUMS else finite[0]


def _range_of_extreme(name: str, ranges: list[Range | None]) -> Range | None:
    """Return the range of the larger or smaller of two floats, of which one may be NaN."""
    if None in ranges and (name in ("arith.maximumf", "arith.minimumf") or not any(ranges)):
        return None
    (low, high), (other_low, other_high) = (range_ or _ANY for range_ in ranges)
    select = _EXTREMES[name]
    return select(low, other_low), select(high, other_high)


def _range_of_sum(op: Op, ranges: list[Range]) -> Range | None:
    """Return the range of a sum, difference or product, rounded outward; None for other ops."""
    combine, type_ = _SUMS[op.name], element_of(op.results[0].type)
    assert isinstance(type_, FloatType)
    form = FORMATS[type_.name]
    left, right = (_flushed(range_, form) for range_ in ranges)
    corners = [combine(first, second) for first in left for second in right]
    low, high = min(corners), max(corners)
    if max(-low, high) >= math.ldexp(1.0, form.bias):
        return None  # it may be infinite
    return _flushed((_outward(low, -math.inf, form), _outward(high, math.inf, form)), form)


def _flushed(range_: Range, form: FloatFormat) -> Range:
    """Return a range with 0 if a device may replace its subnormal numbers by 0."""
    normal = math.ldexp(1.0, 1 - form.bias)
    low, high = range_
    return 0.0 if 0 < low < normal else low, 0.0 if -normal < high < 0 else high


def _outward(bound: float, direction: float, form: FloatFormat) -> float:
    """Return a bound, farther out by a unit in the last place; 0 is exact."""
    if bound == 0 or form.width == 64:
        return math.nextafter(bound, direction) if bound else bound
    normal = math.ldexp(1.0, 1 - form.bias)
    unit = max(abs(bound), normal) * math.ldexp(1.0, -form.mantissa_bits)
    return bound + math.copysign(unit, direction)
