"""Matrix products of a kernel: their shapes, and the loads and stores of their tiles.

They are read from the kernel's TTIR; fields that it does not determine are None.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import Flow, backward, enclosing_ops, flow_of, forward
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import LOOPS, WRITING, Kind, effect_of, named, operator_of
from kvtrace.ir.types import TensorType

_PRODUCTS: Final = named(lambda row: row.kind is Kind.PRODUCT)
#: Ops that keep a tile's elements in place, or transpose the tile.
_SAME_TILE: Final = named(lambda row: row.kind is Kind.ELEMENTWISE or row.operator == "trans")


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot op: the product C[m, n] = A[m, k] · B[k, n]; `op` and all other indices are `op_index`.

    `a` and `b` are the loads whose tiles become the factors by elementwise ops, `a_transposed` and
    `b_transposed` whether a tile is transposed in between. `c` is the store of the result, if there
    is exactly one. `loop` is the innermost loop around the product.
    """

    op: int
    m: int | None
    n: int | None
    k: int | None
    a: int | None
    a_transposed: bool
    b: int | None
    b_transposed: bool
    c: int | None
    loop: int | None


@once_per_module
def dots_of(module: Module) -> tuple[Dot, ...]:
    """Return the products of a module, in program order."""
    flow = flow_of(module)
    return tuple(_dot(op, flow) for op in module.ops if op.name in _PRODUCTS)


def _dot(op: Op, flow: Flow) -> Dot:
    left, right = op.operand("left"), op.operand("right")
    m = n = k = None
    shapes = [v.type.shape for v in (left, right) if isinstance(v.type, TensorType)]
    if operator_of(op) == "dot" and len(shapes) == 2:  # factors of scaled products are packed
        (m, k), n = shapes[0][-2:], shapes[1][-1]
    a, a_transposed = _source_load(left)
    b, b_transposed = _source_load(right)
    loop = next((outer.index for outer in enclosing_ops(op) if outer.name in LOOPS), None)
    return Dot(op.index, m, n, k, a, a_transposed, b, b_transposed, _result_store(op, flow), loop)


def _source_load(factor: Value) -> tuple[int | None, bool]:
    """Return the index of the only load behind a factor, and whether its tile is transposed.

    (None, False) if there is no load, or more than one.
    """
    loads: set[int] = set()
    is_transposed = False
    for value in backward([factor], _source_tiles):
        op = value.owner
        if isinstance(op, Op):
            is_transposed ^= operator_of(op) == "trans"
            if effect_of(op) == "load":
                loads.add(op.index)
    return (loads.pop(), is_transposed) if len(loads) == 1 else (None, False)


def _source_tiles(value: Value) -> Iterable[Value]:
    """Return the operands of an elementwise or transposing op; () for any other value."""
    op = value.owner
    return op.operands if isinstance(op, Op) and op.name in _SAME_TILE else ()


def _result_store(dot: Op, flow: Flow) -> int | None:
    """Return the index of the only store of the dot's result, or None.

    The result may pass through loops, elementwise ops and the addend of further dots.
    """
    stores: set[int] = set()

    def results_to_follow(op: Op, value: Value) -> Iterable[Value]:
        if op.name in WRITING and value in op.group("value"):
            stores.add(op.index)
        is_same_tile = op.name in _SAME_TILE or (
            op.name in _PRODUCTS and value is op.operand("added")
        )
        return op.results if is_same_tile else ()

    forward(flow, dot.results, results_to_follow)
    return stores.pop() if len(stores) == 1 else None
