"""Orders of sums across threads, as the compiled code of a variant lays blocks out.

A block of [1, 64] numbers may be held by 32 threads along its rows, one of [16, 64] by 16: the same
`tl.sum` over an axis of 64 then adds in another tree. What decides is how the summed axis is spread
over registers, threads and warps; of a product, the instruction that multiplies.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from kvtrace.ir.ops import COMBINING, computing
from kvtrace.ir.types import TensorType

if TYPE_CHECKING:
    from kvtrace.ir import Module

Sums = Literal["reduction", "product"]
Orders: TypeAlias = "dict[Sums, frozenset[tuple[str, ...]]]"
"""Facts that decide the order of a kernel's sums of floats, by their kind."""
_ALIAS: Final = re.compile(r"^(#\w+) = (#.*)$", re.MULTILINE)
_REDUCTION: Final = re.compile(
    r'"tt\.(?:reduce|scan)"\(.*?<\{axis = (\d+).*?\n(.*?)\n\s*\}\) : \((tensor<.*?)\) -> ',
    re.DOTALL,
)
_TENSOR: Final = re.compile(r"tensor<([\dx]+)x(b?f\w+), (#\w+|#ttg\.\w+<\{.*?\}>+)>")
_PRODUCT: Final = re.compile(r"^.* = (?:tt\.dot\w*|\w+\.\w*(?:dot|mma)\w*) (.*)$", re.MULTILINE)
_LIST: Final = re.compile(r"(\w+) = \[([\d, ]*)\]")
_MULTIPLYING: Final = re.compile(r"-> tensor<.*?, (#\w+)>")
_INSTRUCTION: Final = re.compile(r"^#ttg\.\w+|version\w* = \d+")
_WIDTH: Final = re.compile(r"kWidth = \d+")
_PRODUCTS: Final = computing("dot")


def orders_by_ttgir(ttgir: str) -> Orders:
    """Return what decides the order of a variant's sums: layouts along the axes, instructions."""
    layouts = dict(_ALIAS.findall(ttgir))
    reductions = {
        (kind, *_along(int(axis), shape, layouts.get(layout, layout)))
        for axis, body, operands in _REDUCTION.findall(ttgir)
        if "arith.addf" in body or "arith.mulf" in body
        for shape, kind, layout in _TENSOR.findall(operands)
    }
    products = set()
    for text in _PRODUCT.findall(ttgir):
        made = _MULTIPLYING.search(text)
        layout = layouts.get(made[1], "") if made else ""
        products.add((*_INSTRUCTION.findall(layout), *sorted({*_WIDTH.findall(text)})))
    return {"reduction": frozenset(reductions), "product": frozenset(products)}


def orders_by_shape(module: Module) -> Orders:
    """Return the shapes of the blocks that a variant sums, which other layouts may have."""
    shapes: dict[Sums, set[tuple[str, ...]]] = {"reduction": set(), "product": set()}
    for op in module.ops:
        kind: Sums = "reduction" if op.name in COMBINING else "product"
        if op.name in COMBINING or op.name in _PRODUCTS:
            tensors = (one for one in op.operand_types if isinstance(one, TensorType))
            shapes[kind].update(tuple(map(str, one.shape)) for one in tensors)
    return {kind: frozenset(of_kind) for kind, of_kind in shapes.items()}


def _along(axis: int, shape: str, layout: str) -> tuple[str, ...]:
    """Return what decides the order of a sum along an axis of a block with a layout."""
    lists = {name: numbers.split(", ") for name, numbers in _LIST.findall(layout)}
    parts = [lists.get(name, []) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA")]
    if not layout.startswith("#ttg.blocked<") or any(axis >= len(one) for one in parts):
        return shape, layout
    return (shape.split("x")[axis], *(one[axis] for one in parts))
