"""How far a device's reductions and scans may be off, whatever the order in which it combines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.values import Uncertain, radius_of, with_radius
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Array, actual, full_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.ops import ELEMENTWISE, operator_of

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step

_PICKING: Final = frozenset({"min", "max", "where", "compare", "&", "|", "^", "negate", "abs"})
LARGEST_EXACT: Final = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}

#: One rounding of a sum, relative, by the bits of its type.
_HALF_ULP: Final = {16: 2.0**-11, 32: 2.0**-24, 64: 2.0**-53}
_HALF_ULP_OF_BF16: Final = 2.0**-8


def half_ulp(element: ElementType) -> float:
    """Return the largest relative error of one rounding to a type."""
    return _HALF_ULP_OF_BF16 if element.name == "bf16" else _HALF_ULP[max(element.bits, 16)]


def _largest(element: ElementType) -> float:
    held = np.float16 if element.name == "f16" else element.value
    return float(np.finfo(held).max)


def computes_floats(op: Op) -> bool:
    """Whether the region of a reduction or a scan computes floats, and not only picks some."""
    return any(
        inner.name in ELEMENTWISE
        and inner.results
        and value_type(inner.results[0].type).element.kind == "f"
        and operator_of(inner) not in _PICKING
        for inner in op.regions[0].blocks[0].ops
    )


def lengthening(op: Op) -> float:
    """Return how many times more roundings an element may go through than in the evaluator's tree.

    In the tree it is the tree's depth; on a device at most one for each other element.
    """
    extent = value_type(op.group("source")[0].type).shape[int(attribute(op, "axis"))]
    return (extent - 1) / max(1.0, math.log2(extent)) if computes_floats(op) else 1.0


def combination(op: Op, step: Step) -> Step:
    """Run a reduction or a scan, with radii."""
    types = [value_type(value.type) for value in op.group("source")]
    block = op.regions[0].blocks[0]
    computes, longer = computes_floats(op), lengthening(op)

    def by_region(values: list[Any], scope: Any) -> None:
        step(values, scope)
        for value in op.results:
            held = values[value.id]
            if isinstance(held, Uncertain):
                values[value.id] = with_radius(held.actual, held.shadow * longer)

    function = simple_ufunc(block, types[0]) if len(types) == 1 else None
    if function is None:
        return by_region
    (source,), result = op.group("source"), op.results[0].id
    run = on_actual(op, step)

    def simple(values: list[Any], scope: Any) -> None:
        run(values, scope)
        given = values[source.id]
        if unknown_of((actual(given),)) is None and (computes or isinstance(given, Uncertain)):
            array = full_array(actual(given), types[0])
            radius = radius_of(given, types[0])
            radius = np.broadcast_to(radius, np.broadcast_shapes(radius.shape, array.shape))
            away = _radius(op, function, array, radius, types[0].element)
            values[result] = with_radius(values[result], away)

    return simple


def _radius(op: Op, function: Any, array: Array, radius: Array, element: ElementType) -> Array:
    """Return the radius of what one function combines."""
    if function not in (np.add, np.multiply):
        return along(op, np.maximum, radius)
    if function is np.add and element.kind == "i":
        return along(op, np.add, radius)
    sizes = np.abs(array.astype(np.float64))
    extent = array.shape[int(attribute(op, "axis")) + 1]
    unit = half_ulp(element)
    if function is np.add:
        magnitude = along(op, np.add, sizes)
        roundings = (extent + math.log2(max(extent, 2))) * unit * magnitude
        whole = along(op, np.logical_and, array == np.rint(array)) & (
            magnitude < LARGEST_EXACT.get(element.bits, 0.0)
        )
        given_away = along(op, np.add, radius)
        # On the way a sum may leave what its type holds; one with an infinity keeps it.
        beyond = np.isfinite(magnitude) & (magnitude > _largest(element))
        roundings = np.where(beyond, np.inf, np.where(whole, 0.0, roundings))
        kept = np.where(given_away > 0, np.inf, 0.0)
        return np.where(np.isfinite(magnitude), roundings + given_away, kept)
    relative = np.log1p(np.where(radius > 0, radius / sizes, 0.0))
    grown = along(op, np.add, relative) + 2 * extent * math.log1p(unit)
    away = along(op, np.multiply, sizes) * np.expm1(grown)
    return np.where(np.isnan(away), np.inf, away)
