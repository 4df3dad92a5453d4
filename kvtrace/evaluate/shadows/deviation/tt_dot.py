"""Deviations of matrix products. `radius/tt_dot.py` says how tensor cores add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.shadows.deviation.arith import settle
from kvtrace.evaluate.shadows.deviation.planes import (
    PLANES,
    Deviating,
    Span,
    exact_from,
    full_planes,
    hull,
    offset_from,
    together,
)
from kvtrace.evaluate.shadows.deviation.roundings import FLOAT32, Noise, largest_of, unit_of
from kvtrace.evaluate.shadows.radius.tt_dot import TF32_STEP, adder_of, split_of
from kvtrace.evaluate.shadows.radius.tt_reduce import LARGEST_EXACT
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array
from kvtrace.ir import Op

#: An adder that keeps less than this is followed step by step.
_SHORT: Final = 2.0**-20
#: So many roots of their number the signs of products may be out of balance by chance.
_BALANCED: Final = 3.0
#: The part of a unit that products of one sign lose: half of it, where that is uniform, and more.
_MEAN_LOSS: Final = 0.75


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor, or the addend: exact numbers, their sizes, and planes with all lanes."""

    exact: Array
    sizes: Array
    planes: Array
    own_span: Span
    common_span: Span
    certain: bool

    @property
    def random(self) -> Array:
        """All of it that is random."""
        return np.asarray(together(self.parts)[0] + np.zeros(self.exact.shape))

    @property
    def parts(self) -> list[tuple[Array | float, Span]]:
        """What is random in each element, and what others may share."""
        return [(self.planes["own"], self.own_span), (self.planes["common"], self.common_span)]


def _factor(value: Any, type_: ValueType) -> _Factor:
    array = full_array(actual(value), type_).astype(np.float64)
    planes, own_span, common_span = full_planes(value, type_)
    exact = exact_from(array, planes["off"])
    certain = not isinstance(value, Deviating)
    return _Factor(exact, np.abs(exact), planes, own_span, common_span, certain)


class Product:
    """A `dot`: exact in float64, with planes beside."""

    def __init__(self, op: Op, noise: Noise) -> None:
        self._form = dot_form(op)
        self._types = [value_type(op.operand(name).type) for name in ("left", "right", "added")]
        self._noise = noise
        self._adder = adder_of(op)
        self._split = split_of(op)
        self._element = self._types[2].element
        narrow = self._element.bits == 16
        self._narrowed = narrow and not noise.granted.narrow
        self._is_narrow = narrow and not self._narrowed
        self._is_short = not self._is_narrow and self._adder.unit > _SHORT
        self._cuts = self._form.tf32 and noise.granted.tf32 is not False

    @property
    def is_exact(self) -> bool:
        """Whether it is of integers, which are not rounded."""
        return self._form.integers

    def _keeps(self, sizes: Array) -> bool:
        """Tell whether sums of whole numbers of these sizes are exact, in any order."""
        precise = self._element.bits >= 32 and self._adder.unit <= 2.0**-23
        return precise and bool(sizes.max(initial=0) < LARGEST_EXACT[32])

    def of(self, given: Sequence[Any], value: Array) -> Any:
        """Return what the evaluator made of operands, with planes."""
        left, right, start = (
            _factor(each, type_) for each, type_ in zip(given, self._types, strict=True)
        )
        with np.errstate(all="ignore"):
            exact = np.matmul(left.exact, right.exact) + start.exact
            magnitude = np.matmul(left.sizes, right.sizes)
        whole = all(
            np.array_equal(each.exact, np.rint(each.exact)) for each in (left, right, start)
        )
        grown = magnitude + start.sizes
        certain = left.certain and right.certain and start.certain
        if certain and whole and self._keeps(grown):
            return value
        off, lost = offset_from(exact, value)
        made = np.zeros(np.broadcast_shapes(off.shape, grown.shape), PLANES)
        made["off"] = off
        if not self._noise.bounded:
            return Deviating(value, made)
        with np.errstate(all="ignore"):
            self._pass_on(made, left, right, start)
            common_span = self._scales(made, left, right, start)
            own_span = self._round(made, exact, (left, right), magnitude, start)
        depth = left.exact.shape[-1]
        made["meaning"] += depth * 2.0**-53 * np.where(np.isfinite(grown), grown, 0.0)
        for plane in ("worst", "near", "bias"):
            held = np.where(np.isnan(made[plane]), np.inf, made[plane])
            made[plane] = np.where(lost, np.inf, held)
        settle(made, own_span, common_span, self._noise)
        return Deviating(value, made, own_span, common_span, self._narrowed)

    def _pass_on(self, made: Array, left: _Factor, right: _Factor, start: _Factor) -> None:
        for plane in ("worst", "meaning", "near"):
            made[plane] = start.planes[plane]
            if not left.certain:
                made[plane] += np.matmul(left.planes[plane], right.sizes + right.planes[plane])
            if not right.certain:
                made[plane] += np.matmul(left.sizes, right.planes[plane])
        made["bias"] = start.planes["bias"]
        if not left.certain:
            made["bias"] += np.matmul(left.planes["bias"], right.sizes)
        if not right.certain:
            made["bias"] += np.matmul(left.sizes, right.planes["bias"])
        if not (left.certain or right.certain):
            made["bias"] += np.matmul(left.planes["near"], right.planes["near"])

    def _scales(self, made: Array, left: _Factor, right: _Factor, start: _Factor) -> Span:
        """Add what is random in factors. Elements of a row, or a column, share it."""
        parts: list[tuple[Array | float, Span]] = []
        if not left.certain:
            own = np.sqrt(np.matmul(left.planes["own"] ** 2, right.sizes**2))
            parts.append((own, left.own_span))
            shared = np.matmul(left.planes["common"], right.sizes)
            parts.append((shared, left.common_span))
        if not right.certain:
            own = np.sqrt(np.matmul(left.sizes**2, right.planes["own"] ** 2))
            parts.append((own, right.own_span))
            shared = np.matmul(left.sizes, right.planes["common"])
            parts.append((shared, right.common_span))
        parts.append((start.planes["common"], start.common_span))
        scale, span = together(parts)
        made["common"] = scale
        # The addend's own stay in their elements.
        made["own"] = start.planes["own"]
        self._own_span = start.own_span
        return span

    def _round(
        self, made: Array, exact: Array, factors: tuple[_Factor, _Factor], magnitude: Array,
        start: _Factor,
    ) -> Span:  # fmt: skip
        left, right = factors
        depth = left.exact.shape[-1]
        random: Array | float = 0.0
        if self._cuts:  # dropped bits make each factor smaller: all alike, and then each for itself
            squares = np.sqrt(np.matmul(left.sizes**2, right.sizes**2))
            made["worst"] += 2 * TF32_STEP * magnitude
            cut = 2 * TF32_STEP * np.abs(exact - start.exact)
            random = math.sqrt(2) * TF32_STEP / 2 * squares
            made["bias"] += cut
            made["near"] += np.minimum(
                2 * TF32_STEP * magnitude, cut + self._noise.deviations * random
            )
        split = self._split * magnitude
        for plane in ("worst", "near", "bias"):
            made[plane] += split
        for plane in ("worst", "near"):
            grown = magnitude + start.sizes + np.where(np.isfinite(made[plane]), made[plane], 0.0)
            if self._is_short:
                fresh = self._of_short_sums(made, plane, left, right, start)
            else:
                fresh = self._of_adding(made, plane, depth, grown, magnitude)
            if plane == "near" and fresh is not None:
                random = np.hypot(random, fresh)
            beyond = np.isfinite(grown) & (grown > largest_of(self._element))
            made[plane] = np.where(beyond, np.inf, made[plane])
        parts = [(made["own"], self._own_span), (random, self._noise.birth())]
        made["own"], span = together(parts)
        return hull((span, self._own_span)) if start.own_span and span else span

    def _of_short_sums(
        self, made: Array, plane: str, left: _Factor, right: _Factor, start: _Factor
    ) -> Array | None:
        """Add what comes of sums with few bits, step by step; return its scale where it is random.

        Each addend loses less than a unit of the largest exponent of its step, toward zero (Fasi et
        al., section 3). What it loses is taken to be uniform below that: of products with both
        signs it is random, of a sum of one sign, and of the sum so far, it has that sign.
        """
        held = start.exact
        away = np.where(np.isfinite(made[plane]), made[plane], 0.0)
        squares: Array | float = 0.0
        at_once = self._adder.at_once
        for begin in range(0, left.exact.shape[-1], at_once):
            part = slice(begin, begin + at_once)
            a, b = left.exact[..., part], right.exact[..., part, :]
            several = a.shape[-1]
            largest = np.abs(a).max(-1)[..., None] * np.abs(b).max(-2)[..., None, :]
            after = held + np.matmul(a, b)
            reach = np.maximum(np.maximum(np.abs(held), np.abs(after)), largest) + away
            reach = np.where(np.isfinite(reach), reach, 0.0)
            unit = self._adder.unit * np.exp2(np.frexp(reach)[1] - 1.0) * (reach > 0)
            if plane == "worst":
                made[plane] += (several + 2) * unit
            else:
                one_sided = np.abs(np.matmul(np.sign(a), np.sign(b)))
                balanced = one_sided <= _BALANCED * math.sqrt(several)
                bias = np.where(balanced, 1.0, 1.0 + _MEAN_LOSS * one_sided) * unit
                made["bias"] += bias
                made[plane] += bias
                squares = squares + (several + 1) / 3 * unit * unit
            held = after
        if plane == "worst":
            return None
        fresh = np.sqrt(squares)
        made[plane] += self._noise.deviations * fresh
        return np.asarray(fresh)

    def _of_adding(
        self, made: Array, plane: str, depth: int, grown: Array, magnitude: Array
    ) -> Array | None:
        """Add what comes of adding up; return its scale where it is random."""
        if self._is_narrow or self._adder.at_once == 1:
            unit = unit_of(self._element.name if self._is_narrow else _working(self._types[0]))
            if plane == "worst":
                made[plane] += (depth + 1) * unit * grown
                return None
            fresh = np.asarray(math.sqrt(depth + 1) * unit * grown)
            made[plane] += self._noise.deviations * fresh
            return fresh
        # Tensor cores drop what falls off: all in one direction.
        steps = -(-depth // self._adder.at_once)
        dropped = (self._adder.at_once + 2) * self._adder.unit * (steps * grown + magnitude)
        made[plane] += dropped
        if plane == "near":
            made["bias"] += dropped
        return None


def _working(type_: ValueType) -> str:
    return "f64" if type_.element.bits == 64 else FLOAT32
