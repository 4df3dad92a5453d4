"""Matrix products of a kernel: their shapes, and which loads and store their tiles belong to.

Read from its TTIR alone; what it does not show is None.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import Flow, backward, enclosing_ops, flow_of, forward
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import LOOPS, WRITING, Kind, effect_of, named, operator_of
from kvtrace.ir.types import TensorType

__all__ = ["Dot", "dots_of"]

_PRODUCTS: Final = named(lambda row: row.kind is Kind.PRODUCT)
#: Ops that keep a tile's elements where they are, or only turn it.
_SAME_TILE: Final = named(lambda row: row.kind is Kind.ELEMENTWISE or row.operator == "trans")


@dataclass(frozen=True, slots=True)
class Dot:
    """One product C[m, n] = A[m, k] · B[k, n] in each execution; indices are those of ops.

    `a` and `b` are the loads whose elements the factors are made of one by one, `a_transposed`
    and `b_transposed` whether the tiles were turned on the way; `c` is the one store that the sum
    gets to. `loop` is the innermost loop around it.
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
    """Return the products of a module, in its order."""
    flow = flow_of(module)
    return tuple(_dot(op, flow) for op in module.ops if op.name in _PRODUCTS)


def _dot(op: Op, flow: Flow) -> Dot:
    left, right = op.operand("left"), op.operand("right")
    m = n = k = None
    shapes = [each.type.shape for each in (left, right) if isinstance(each.type, TensorType)]
    if operator_of(op) == "dot" and len(shapes) == 2:  # of scaled ones the factors are packed
        (m, k), n = shapes[0][-2:], shapes[1][-1]
    a, a_turned = _load(left)
    b, b_turned = _load(right)
    loop = next((each.index for each in enclosing_ops(op) if each.name in LOOPS), None)
    return Dot(op.index, m, n, k, a, a_turned, b, b_turned, _store(op, flow), loop)


def _load(factor: Value) -> tuple[int | None, bool]:
    """Return the one load that a factor is made of, and whether it was turned."""
    found: set[int] = set()
    turned = False
    for value in backward([factor], _tiles):
        op = value.owner
        if isinstance(op, Op):
            turned ^= operator_of(op) == "trans"
            if effect_of(op) == "load":
                found.add(op.index)
    return (found.pop(), turned) if len(found) == 1 else (None, False)


def _tiles(value: Value) -> Iterable[Value]:
    """Return the tiles that one is made of, element by element."""
    op = value.owner
    return op.operands if isinstance(op, Op) and op.name in _SAME_TILE else ()


def _store(dot: Op, flow: Flow) -> int | None:
    """Return the one store that the sum gets to, through loops and element by element."""
    stores: set[int] = set()

    def onwards(op: Op, value: Value) -> Iterable[Value]:
        if op.name in WRITING and value in op.group("value"):
            stores.add(op.index)
        goes_on = op.name in _SAME_TILE or (op.name in _PRODUCTS and value is op.operand("added"))
        return op.results if goes_on else ()

    forward(flow, dot.results, onwards)
    return stores.pop() if len(stores) == 1 else None
