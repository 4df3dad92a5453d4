"""Errors of matrix products, from the way in which tensor cores add.

A tensor core adds some products at a time to the sum so far: all addends are shifted to the largest
exponent among them, and the bits below are dropped. So each addend may be off by a unit of the
largest. With 13 bits behind the point, 1 + 2^-14 is 1. The number of bits that remain was measured
by several groups (Fasi et al., 2021, among them): at least float32's for 16-bit factors and tf32,
13 behind the point for 8-bit floats on Hopper (the reason for Triton's max_num_imprecise_acc).
Without tensor cores each product is added with one rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.rounding import rounded_to_bf16, rounding_to, truncated_to_tf32
from kvtrace.evaluate.shadows.errors.planes import (
    Span,
    centers,
    combined_scale,
    full_planes,
    hull,
    is_blank,
    offset_from,
)
from kvtrace.evaluate.shadows.errors.roundings import (
    FLOAT32,
    Roundings,
    largest_of,
    largest_whole,
    tighten_near,
    unit_of,
)
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array
from kvtrace.ir import Op

#: Error of splitting float32 into parts, relative to a product.
_SPLIT: Final = {"tf32x3": 3 * 2.0**-20, "bf16x3": 3 * 2.0**-14, "bf16x6": 3 * 2.0**-20}
#: The first part of a split factor.
_CUT: Final[dict[str, Callable[[Array], Array]]] = {
    "tf32": truncated_to_tf32, "tf32x3": truncated_to_tf32,
    "bf16x3": rounded_to_bf16, "bf16x6": rounded_to_bf16,
}  # fmt: skip

TF32_STEP: Final = 2.0**-10
#: An adder that keeps less than this is followed step by step.
_SHORT: Final = 2.0**-20
#: Products of random signs have a sum of signs of at most so many square roots of their number.
_BALANCED: Final = 3.0
#: The part of a unit that products of one sign lose on average: 1/2 if uniform, and a margin.
_MEAN_LOSS: Final = 0.75


class Adder(Struct, frozen=True):
    """An adder of `at_once` products; each, and the sum, may be off by `unit`, relative."""

    at_once: int
    unit: float


def _adder_for(op: Op) -> Adder:
    element = value_type(op.operand("left").type).element
    if element.bits == 64:
        return Adder(1, 2.0**-53)
    if element.bits == 8:
        return Adder(32, 2.0**-13)
    if element.bits == 16:
        return Adder(16, 2.0**-23)
    return Adder(1, 2.0**-24) if dot_form(op).precision == "ieee" else Adder(8, 2.0**-23)


class _Factor(Struct, frozen=True):
    """A factor or the addend of a product.

    `center` are the numbers that the planes lie around, `sizes` their magnitudes, `planes` those of
    all lanes.
    """

    center: Array
    sizes: Array
    planes: Array
    own_span: Span
    common_span: Span
    certain: bool

    def is_whole(self, cut: Callable[[Array], Array] | None) -> bool:
        """Return whether all numbers are whole and unchanged by a device's cut to fewer bits."""
        after_cut = self.center if cut is None else cut(self.center.astype(np.float32))
        return np.array_equal(self.center, np.rint(after_cut))

    def cut(self) -> _Factor:
        """Return the factor in tf32, whose low bits a device may drop or round.

        An uncertain number may be a tf32 step away even if the number here has no such bits.
        """
        after_cut = truncated_to_tf32(self.center.astype(np.float32)).astype(np.float64)
        worst = self.planes["worst"]
        planes = np.array(
            np.broadcast_to(self.planes, np.broadcast_shapes(worst.shape, after_cut.shape))
        )
        inexact = (self.center != after_cut) | (worst > 0)
        planes["worst"] = worst + np.where(inexact, np.abs(after_cut) * TF32_STEP, 0.0)
        certain = not inexact.any()
        return replace(
            self, center=after_cut, sizes=np.abs(after_cut), planes=planes, certain=certain
        )


class Product:
    """The rule of a `dot`: the product in float64, with planes."""

    def __init__(self, op: Op, roundings: Roundings) -> None:
        self._form = dot_form(op)
        self._types = [value_type(op.operand(name).type) for name in ("left", "right", "added")]
        self._roundings = roundings
        self._adder = _adder_for(op)
        self._split = _SPLIT.get(self._form.precision, 0.0)
        self._first = _CUT.get(self._form.precision)
        self._element = self._types[2].element
        self._working = "f64" if self._types[0].element.bits == 64 else FLOAT32
        narrow = self._element.bits == 16
        self._narrowed = narrow and roundings.all_count and not roundings.granted.narrow
        self._is_narrow = narrow and not self._narrowed
        # Steps are followed in one order; radii also hold if several accumulators are added up.
        short = self._adder.unit > _SHORT
        self._is_short = roundings.all_count and short and not self._is_narrow
        self._cuts = self._form.tf32 and roundings.granted.tf32 is not False

    @property
    def is_exact(self) -> bool:
        """The product is of integers, which are not rounded."""
        return self._form.integers

    def _factor(self, value: Any, type_: ValueType) -> _Factor:
        array = full_array(actual(value), type_).astype(np.float64)
        planes, *spans = full_planes(value, type_, self._roundings.kind.planes)
        center = centers(array, planes)
        return _Factor(center, np.abs(center), planes, spans[0], spans[1], is_blank(planes))

    def _is_exact_in_any_order(
        self, factors: Sequence[_Factor], start: _Factor, sizes: Array
    ) -> bool:
        """Return whether all partial sums, in any order, are whole numbers that are exact."""
        precise = self._element.bits >= 32 and self._adder.unit <= 2.0**-23
        small = precise and bool(sizes.max(initial=0) < largest_whole(FLOAT32))
        if not small or not all(factor.certain for factor in (*factors, start)):
            return False
        return start.is_whole(None) and all(factor.is_whole(self._first) for factor in factors)

    def of(self, operands: Sequence[Any], value: Array | None) -> Any:
        r"""Return the product of operands, with planes unless it is exact.

        Args:
            operands: The factors and the addend.
            value: The evaluator's result; None: the exact product, rounded once.
        """
        left, right, start = (
            self._factor(operand, type_)
            for operand, type_ in zip(operands, self._types, strict=True)
        )
        if self._form.tf32 and not self._roundings.all_count:
            left, right = left.cut(), right.cut()
        with np.errstate(all="ignore"):
            exact = np.matmul(left.center, right.center) + start.center
            magnitude = np.matmul(left.sizes, right.sizes)
        rounded_once = self._rounded(exact) if value is None else value
        magnitude_bound = magnitude + start.sizes
        if self._is_exact_in_any_order((left, right), start, magnitude_bound):
            return rounded_once
        rows = max(len(factor.planes) for factor in (left, right, start))
        one_each = (rows, *(1,) * (exact.ndim - 1))
        planes = self._roundings.zeros(
            np.broadcast_shapes(exact.shape, magnitude_bound.shape, one_each)
        )
        lost = np.zeros((), np.bool_)
        if self._roundings.all_count:
            planes["off"], lost = offset_from(exact, rounded_once)
        if not self._roundings.bounded:
            return self._roundings.with_planes(rounded_once, planes)
        with np.errstate(all="ignore"):
            self._set_distances(planes, left, right, start)
            if not self._roundings.all_count:
                return self._with_radius(
                    planes, exact, rounded_once, (left, right), magnitude, start
                )
            self._set_bias(planes, left, right, start)
            common_span = self._set_scales(planes, left, right, start)
            own_span = self._add_roundings(planes, exact, (left, right), magnitude, start)
        depth = left.center.shape[-1]
        planes["meaning"] += (
            depth * 2.0**-53 * np.where(np.isfinite(magnitude_bound), magnitude_bound, 0.0)
        )
        for plane in ("worst", "near", "bias"):
            bound = np.where(np.isnan(planes[plane]), np.inf, planes[plane])
            planes[plane] = np.where(lost, np.inf, bound)
        tighten_near(planes, own_span, common_span, self._roundings)
        return self._roundings.with_planes(
            rounded_once, planes, own_span, common_span, narrowed=self._narrowed
        )

    def _with_radius(
        self, planes: Array, exact: Array, once: Array, factors: tuple[_Factor, _Factor],
        magnitude: Array, start: _Factor,
    ) -> Any:  # fmt: skip
        """Return the exact product, rounded once, with a radius around it."""
        operand_error = planes["worst"].copy()
        self._add_summation_errors(planes, "worst", factors, magnitude, start)
        finite = np.isfinite(exact)
        rounding = np.where(finite, np.abs(once.astype(np.float64) - exact), 0.0)
        # A NaN or infinity of certain numbers in exact arithmetic appears in every order.
        radius_of_infinite = np.where(operand_error > 0, np.inf, 0.0)
        radius_of_infinite = np.where(np.isnan(operand_error), np.inf, radius_of_infinite)
        worst = np.where(finite, planes["worst"] + rounding, radius_of_infinite)
        planes["worst"] = np.where(np.isnan(worst), np.inf, worst)
        return self._roundings.with_planes(once, planes)

    def _rounded(self, exact: Array) -> Array:
        value = exact.astype(self._element.value)
        narrow = rounding_to(self._element)
        return value if narrow is None else narrow(value)

    # -- errors of factors ------------------------------------------------------------------------

    def _set_distances(self, planes: Array, left: _Factor, right: _Factor, start: _Factor) -> None:
        for plane in self._roundings.distances:
            planes[plane] = start.planes[plane]
            if not left.certain:
                planes[plane] += np.matmul(left.planes[plane], right.sizes + right.planes[plane])
            if not right.certain:
                planes[plane] += np.matmul(left.sizes, right.planes[plane])

    def _set_bias(self, planes: Array, left: _Factor, right: _Factor, start: _Factor) -> None:
        planes["bias"] = start.planes["bias"]
        if not left.certain:
            planes["bias"] += np.matmul(left.planes["bias"], right.sizes)
        if not right.certain:
            planes["bias"] += np.matmul(left.sizes, right.planes["bias"])
        if not (left.certain or right.certain):
            planes["bias"] += np.matmul(left.planes["near"], right.planes["near"])

    def _set_scales(self, planes: Array, left: _Factor, right: _Factor, start: _Factor) -> Span:
        """Set random errors from the factors', which rows or columns share; return their span."""
        parts: list[tuple[Array | float, Span]] = []
        if not left.certain:
            own_scale = np.sqrt(np.matmul(left.planes["own"] ** 2, right.sizes**2))
            parts.append((own_scale, left.own_span))
            common_scale = np.matmul(left.planes["common"], right.sizes)
            parts.append((common_scale, left.common_span))
        if not right.certain:
            own_scale = np.sqrt(np.matmul(left.sizes**2, right.planes["own"] ** 2))
            parts.append((own_scale, right.own_span))
            common_scale = np.matmul(left.sizes, right.planes["common"])
            parts.append((common_scale, right.common_span))
        parts.append((start.planes["common"], start.common_span))
        scale, span = combined_scale(parts)
        planes["common"] = scale
        # The addend's own errors stay in their elements.
        planes["own"] = start.planes["own"]
        self._own_span = start.own_span
        return span

    # -- roundings --------------------------------------------------------------------------------

    def _add_roundings(
        self, planes: Array, exact: Array, factors: tuple[_Factor, _Factor], magnitude: Array,
        start: _Factor,
    ) -> Span:  # fmt: skip
        """Add errors of cutting and summation; return the span of the own random errors."""
        left, right = factors
        random: Array | float = 0.0
        if self._cuts:  # dropped bits make each factor smaller: a common part, and a random one
            squares = np.sqrt(np.matmul(left.sizes**2, right.sizes**2))
            planes["worst"] += 2 * TF32_STEP * magnitude
            cut = 2 * TF32_STEP * np.abs(exact - start.center)
            random = math.sqrt(2) * TF32_STEP / 2 * squares
            planes["bias"] += cut
            planes["near"] += np.minimum(
                2 * TF32_STEP * magnitude, cut + self._roundings.deviations * random
            )
        for plane in ("worst", "near"):
            fresh = self._add_summation_errors(planes, plane, factors, magnitude, start)
            if fresh is not None:
                random = np.hypot(random, fresh)
        parts = [(planes["own"], self._own_span), (random, self._roundings.birth())]
        planes["own"], span = combined_scale(parts)
        return hull((span, self._own_span)) if start.own_span and span else span

    def _add_summation_errors(
        self, planes: Array, plane: str, factors: tuple[_Factor, _Factor], magnitude: Array,
        start: _Factor,
    ) -> Array | None:  # fmt: skip
        """Add errors of splitting and summation; return the random part's scale, or None."""
        split = self._split * magnitude
        planes[plane] += split
        if plane == "near":
            planes["bias"] += split
        magnitude_bound = (
            magnitude + start.sizes + np.where(np.isfinite(planes[plane]), planes[plane], 0.0)
        )
        if self._is_short:
            fresh = self._add_short_sum_errors(planes, plane, factors, start)
        else:
            depth = factors[0].center.shape[-1]
            fresh = self._add_adder_errors(planes, plane, depth, magnitude_bound, magnitude)
        overflows = np.isfinite(magnitude_bound) & (magnitude_bound > largest_of(self._element))
        planes[plane] = np.where(overflows, np.inf, planes[plane])
        return fresh

    def _add_short_sum_errors(
        self, planes: Array, plane: str, factors: tuple[_Factor, _Factor], start: _Factor
    ) -> Array | None:
        """Add errors of sums with few bits, step by step; return the random scale, or None.

        Each addend loses less than a unit of the largest exponent of its step, toward zero (Fasi et
        al., section 3). The loss is taken to be uniform below that unit: products of both signs
        lose at random; a sum of one sign, and the sum so far, lose in the direction of their sign.
        """
        left, right = factors
        total = start.center
        error = np.where(np.isfinite(planes[plane]), planes[plane], 0.0)
        squares: Array | float = 0.0
        at_once = self._adder.at_once
        for begin in range(0, left.center.shape[-1], at_once):
            step_slice = slice(begin, begin + at_once)
            a, b = left.center[..., step_slice], right.center[..., step_slice, :]
            product_count = a.shape[-1]
            largest = np.abs(a).max(-1)[..., None] * np.abs(b).max(-2)[..., None, :]
            after = total + np.matmul(a, b)
            reach = np.maximum(np.maximum(np.abs(total), np.abs(after)), largest) + error
            reach = np.where(np.isfinite(reach), reach, 0.0)
            unit = self._adder.unit * np.exp2(np.frexp(reach)[1] - 1.0) * (reach > 0)
            if plane == "worst":
                planes[plane] += (product_count + 2) * unit
            else:
                one_sided = np.abs(np.matmul(np.sign(a), np.sign(b)))
                balanced = one_sided <= _BALANCED * math.sqrt(product_count)
                bias = np.where(balanced, 1.0, 1.0 + _MEAN_LOSS * one_sided) * unit
                planes["bias"] += bias
                planes[plane] += bias
                squares = squares + (product_count + 1) / 3 * unit * unit
            total = after
        if plane == "worst":
            return None
        fresh = np.sqrt(squares)
        planes[plane] += self._roundings.deviations * fresh
        return np.asarray(fresh)

    def _add_adder_errors(
        self, planes: Array, plane: str, depth: int, magnitude_bound: Array, magnitude: Array
    ) -> Array | None:
        """Add the errors of an adder with enough bits; return the random scale, or None."""
        steps = -(-depth // self._adder.at_once)
        if self._is_narrow or self._adder.at_once == 1:
            unit = unit_of(self._element.name if self._is_narrow else self._working)
            if plane == "worst":
                # Around the evaluator's, sums are taken to be rounded to 16 bits once a step.
                in_steps = self._is_narrow and not self._roundings.all_count
                planes[plane] += (steps if in_steps else depth + 1) * unit * magnitude_bound
                return None
            fresh = np.asarray(math.sqrt(depth + 1) * unit * magnitude_bound)
            planes[plane] += self._roundings.deviations * fresh
            return fresh
        # Tensor cores drop low bits: all in one direction.
        dropped = (
            (self._adder.at_once + 2) * self._adder.unit * (steps * magnitude_bound + magnitude)
        )
        planes[plane] += dropped
        if plane == "near":
            planes["bias"] += dropped
        return None
