"""How far a device's reductions and scans may be off, whatever the order in which it combines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute
from kvtrace.evaluate.dialects.tt_reduce import simple_ufunc
from kvtrace.evaluate.shadows.radius.tt_memory import HALF_ULP, HALF_ULP_OF_BF16
from kvtrace.evaluate.shadows.radius.uncertain import Uncertain, radius_of
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array, map_arrays
from kvtrace.ir import Op
from kvtrace.ir.ops import ELEMENTWISE, KINDS, Kind, operator_of

if TYPE_CHECKING:
    from kvtrace.evaluate.scope import Scope

_PICKING: Final = frozenset({"min", "max", "where", "compare", "&", "|", "^", "negate", "abs"})
_LARGEST_EXACT: Final = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}


def half_ulp(element: ElementType) -> float:
    """Return the largest relative error of one rounding to a type."""
    return HALF_ULP_OF_BF16 if element.name == "bf16" else HALF_ULP[max(element.bits, 16)]


def _largest(element: ElementType) -> float:
    held = np.float16 if element.name == "f16" else element.value
    return float(np.finfo(held).max)


class Combined:
    """A reduction or a scan: radii of its results, for those of its sources."""

    def __init__(self, op: Op, compiler: Callable[[], Compiler]) -> None:
        self._op = op
        self._compiler = compiler
        self._block = op.regions[0].blocks[0]
        self._axis = int(attribute(op, "axis")) + 1
        self._types = [value_type(value.type) for value in op.group("source")]
        self._results = [value_type(value.type) for value in op.results]
        self._scans = KINDS[op.name].kind is Kind.SCAN
        self._reverse = bool(attribute(op, "reverse", default=False))
        simple = len(self._types) == 1
        self._function = simple_ufunc(self._block, self._types[0]) if simple else None
        self._computes = any(
            op.name in ELEMENTWISE
            and op.results
            and value_type(op.results[0].type).element.kind == "f"
            and operator_of(op) not in _PICKING
            for op in self._block.ops
        )

    def radii(
        self, values: list[Any], given: Sequence[Any], outcome: Sequence[Any], scope: Scope
    ) -> list[Array | None]:
        """Return the radius of each result; `values` are those around the op, stripped."""
        certain = not any(isinstance(value, Uncertain) for value in given)
        if certain and not self._computes:
            return [None] * len(outcome)
        if self._function is None:
            return self._by_region(values, given, outcome, scope)
        type_ = self._types[0]
        array = full_array(actual(given[0]), type_)
        radius = np.broadcast_to(
            radius_of(given[0], type_),
            np.broadcast_shapes(radius_of(given[0], type_).shape, array.shape),
        )
        if self._reverse:
            array, radius = np.flip(array, self._axis), np.flip(radius, self._axis)
        found = self._simple(array, radius, type_.element)
        return [np.flip(found, self._axis) if self._reverse else found]

    def _simple(self, array: Array, radius: Array, element: ElementType) -> Array:
        function, axis = self._function, self._axis
        if function not in (np.add, np.multiply):
            return np.asarray(self._along(np.maximum, radius))
        sizes = np.abs(array.astype(np.float64))
        if function is np.add and element.kind == "i":
            return np.asarray(self._along(np.add, radius))
        extent = array.shape[axis]
        unit = half_ulp(element)
        if function is np.add:
            magnitude = self._along(np.add, sizes)
            roundings = (extent + math.log2(max(extent, 2))) * unit * magnitude
            whole = self._along(np.logical_and, array == np.rint(array)) & (
                magnitude < _LARGEST_EXACT.get(element.bits, 0.0)
            )
            given_away = self._along(np.add, radius)
            # On the way a sum may leave what its type holds; one with an infinity keeps it.
            beyond = np.isfinite(magnitude) & (magnitude > _largest(element))
            roundings = np.where(beyond, np.inf, np.where(whole, 0.0, roundings))
            kept = np.where(given_away > 0, np.inf, 0.0)
            return np.where(np.isfinite(magnitude), roundings + given_away, kept)
        with np.errstate(all="ignore"):
            relative = np.log1p(np.where(radius > 0, radius / sizes, 0.0))
            grown = self._along(np.add, relative) + 2 * extent * math.log1p(unit)
            away = self._along(np.multiply, sizes) * np.expm1(grown)
        return np.where(np.isnan(away), np.inf, away)

    def _along(self, function: Any, array: Array) -> Array:
        if self._scans:
            return np.asarray(function.accumulate(array, axis=self._axis))
        return np.asarray(function.reduce(array, axis=self._axis))

    # -- regions of several ops ------------------------------------------------------------------

    def _by_region(
        self, values: list[Any], given: Sequence[Any], outcome: Sequence[Any], scope: Scope
    ) -> list[Array | None]:
        """Combine values with radii in a tree, as the evaluator does.

        A device may take another tree, in which an element goes through more roundings: at most
        through one for each other element, where here it went through the tree's depth.
        """
        parts = [_whole(value, type_) for value, type_ in zip(given, self._types, strict=True)]
        if self._reverse:
            parts = [map_arrays(part, lambda each: np.flip(each, self._axis)) for part in parts]
        extent = self._types[0].shape[self._axis - 1]
        combine = self._combining(values, scope)
        parts = (
            self._scanned(parts, extent, combine)
            if self._scans
            else self._tree(parts, extent, combine)
        )
        if self._reverse:
            parts = [map_arrays(part, lambda each: np.flip(each, self._axis)) for part in parts]
        longer = (extent - 1) / max(1.0, math.log2(extent)) if self._computes else 1.0
        found: list[Array | None] = []
        for part, value, type_ in zip(parts, outcome, self._results, strict=True):
            radius = radius_of(part, type_)
            if not np.any(radius):
                found.append(None)
                continue
            with np.errstate(all="ignore"):
                ours = np.abs(np.asarray(actual(part), np.float64) - np.asarray(value, np.float64))
            found.append(radius * longer + np.where(np.isnan(ours), 0.0, ours))
        return found

    def _tree(self, parts: list[Any], extent: int, combine: Any) -> list[Any]:
        axis, count = self._axis, extent
        while count > 1:
            half = count // 2
            parts = combine(
                [_part(part, axis, 0, half) for part in parts],
                [_part(part, axis, half, 2 * half) for part in parts],
            )
            count = half
        return [map_arrays(part, lambda each: _squeezed(each, axis)) for part in parts]

    def _scanned(self, parts: list[Any], extent: int, combine: Any) -> list[Any]:
        axis, distance = self._axis, 1
        while distance < extent:
            later = combine(
                [_part(part, axis, 0, extent - distance) for part in parts],
                [_part(part, axis, distance, extent) for part in parts],
            )
            parts = [
                _joined(_part(part, axis, 0, distance), new, axis, type_)
                for part, new, type_ in zip(parts, later, self._types, strict=True)
            ]
            distance *= 2
        return parts

    def _combining(self, values: list[Any], scope: Scope) -> Callable[..., list[Any]]:
        block = self._compiler().block(self._block)
        rank = len(self._types[0].shape) + 1

        def lifted(each: Array) -> Array:
            return each.reshape(each.shape + (1,) * (rank - each.ndim))

        def combine(left: list[Any], right: list[Any]) -> list[Any]:
            inner = list(values)
            for slot in block.outer:
                inner[slot] = map_arrays(values[slot], lifted)
            for slot, value in zip(block.arguments, (*left, *right), strict=True):
                inner[slot] = value
            return block.outcome(inner, scope)

        return combine


def _whole(value: Any, type_: ValueType) -> Any:
    """Give a value, and its radius, all lanes."""
    array = full_array(actual(value), type_)
    if not isinstance(value, Uncertain):
        return array
    shape = np.broadcast_shapes(array.shape, value.shadow.shape)
    return Uncertain(np.broadcast_to(array, shape), np.broadcast_to(value.shadow, shape))


def _part(value: Any, axis: int, low: int, high: int) -> Any:
    index = (slice(None),) * axis + (slice(low, high),)
    return map_arrays(value, lambda array: array[index] if array.shape[axis] > 1 else array)


def _squeezed(array: Array, axis: int) -> Array:
    return np.squeeze(array, axis) if array.ndim > axis and array.shape[axis] == 1 else array


def _joined(first: Any, second: Any, axis: int, type_: ValueType) -> Any:
    pairs = [np.asarray(actual(each)) for each in (first, second)]
    shape = list(np.broadcast_shapes(*(_without(each, axis) for each in pairs)))
    arrays = [_spread(each, shape, axis) for each in pairs]
    joined = np.concatenate(arrays, axis)
    if not any(isinstance(each, Uncertain) for each in (first, second)):
        return joined
    radii = [
        np.broadcast_to(radius_of(each, type_).reshape(-1)[0], array.shape)
        if not isinstance(each, Uncertain)
        else np.broadcast_to(each.shadow, array.shape)
        for each, array in zip((first, second), arrays, strict=True)
    ]
    return Uncertain(joined, np.concatenate(radii, axis))


def _without(array: Array, axis: int) -> tuple[int, ...]:
    shape = list(array.shape)
    shape[axis] = 1
    return tuple(shape)


def _spread(array: Array, shape: list[int], axis: int) -> Array:
    wanted = list(shape)
    wanted[axis] = array.shape[axis]
    return np.broadcast_to(array, wanted)
