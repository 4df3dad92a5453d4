"""Matrix products of a kernel: their shapes, and which loads and store their tiles belong to.

Read from the generic TTIR's text alone; what cannot be told from it is None.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.converters.report.generic_ops import GenericOp, Value, generic_ops

__all__ = ["Dot", "dots_of"]

_DOTS: Final = frozenset({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot"})
_LOADS: Final = frozenset({"tt.load", "tt.descriptor_load"})
#: Ops that write their second operand.
_STORES: Final = frozenset({"tt.store", "tt.atomic_rmw", "tt.descriptor_store"})
#: Ops that keep a tile's elements where they are, or only turn it.
_SAME_TILE: Final = frozenset(
    {"tt.trans", "tt.fp_to_fp", "tt.bitcast", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf"}
)
_ELEMENTWISE: Final = ("arith.", "math.")
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)+)[^>]*>")
#: Longer chains of values than any kernel has; a text that loops ends here.
_MOST_STEPS: Final = 10_000


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


def dots_of(text: str) -> tuple[Dot, ...]:
    """Return the products of a module's generic text, in its order."""
    ops = generic_ops(text)
    found = [op for op in ops if op.name in _DOTS and len(op.operands) >= 3]
    uses = _uses(ops) if found else {}
    return tuple(_dot(op, ops, uses) for op in found)


def _dot(op: GenericOp, ops: Sequence[GenericOp], uses: dict[Value, list[tuple[int, int]]]) -> Dot:
    shapes = [
        tuple(map(int, shape.split("x")[:-1])) for shape in _TENSOR.findall(op.types.split("->")[0])
    ]
    m = n = k = None
    if op.name == "tt.dot" and len(shapes) >= 2 and len(shapes[0]) >= 2:
        (m, k), n = shapes[0][-2:], shapes[1][-1]
    a, a_turned = _load(op.operands[0], ops)
    b, b_turned = _load(op.operands[1], ops)
    return Dot(op.index, m, n, k, a, a_turned, b, b_turned, _store(op, ops, uses), _loop(op, ops))


def _loop(op: GenericOp, ops: Sequence[GenericOp]) -> int | None:
    parent = op.parent
    while parent is not None and ops[parent].name not in ("scf.for", "scf.while"):
        parent = ops[parent].parent
    return parent


def _load(value: Value | None, ops: Sequence[GenericOp]) -> tuple[int | None, bool]:
    """Return the one load that a factor is made of, and whether it was turned."""
    found: set[int] = set()
    turned = False
    waiting, seen = [value], set[Value]()
    while waiting and len(seen) < _MOST_STEPS:
        value = waiting.pop()
        if value is None or value in seen or value.argument:
            continue
        seen.add(value)
        op = ops[value.op]
        if op.name in _LOADS:
            found.add(op.index)
        elif op.name in _SAME_TILE or op.name.startswith(_ELEMENTWISE):
            turned ^= op.name == "tt.trans"
            waiting += op.operands
    return (found.pop(), turned) if len(found) == 1 else (None, False)


def _uses(ops: Sequence[GenericOp]) -> dict[Value, list[tuple[int, int]]]:
    """Return for each value the ops that take it, and as which operand."""
    uses: dict[Value, list[tuple[int, int]]] = {}
    for op in ops:
        for position, value in enumerate(op.operands):
            if value is not None:
                uses.setdefault(value, []).append((op.index, position))
    return uses


def _store(
    op: GenericOp, ops: Sequence[GenericOp], uses: dict[Value, list[tuple[int, int]]]
) -> int | None:
    """Return the one store that the sum gets to, through loops and element by element."""
    stores: set[int] = set()
    waiting, seen = [Value(op.index, 0, argument=False)], set[Value]()
    while waiting and len(seen) < _MOST_STEPS:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        for index, position in uses.get(value, ()):
            taker = ops[index]
            if taker.name in _STORES and position == 1:
                stores.add(index)
            elif taker.name == "scf.yield" and taker.parent is not None:
                waiting += _given_on(taker.parent, position, ops)
            elif taker.name in _DOTS:
                waiting += [Value(index, 0, argument=False)] if position == 2 else []
            elif taker.name in _SAME_TILE or taker.name.startswith(_ELEMENTWISE):
                waiting.append(Value(index, 0, argument=False))
    return stores.pop() if len(stores) == 1 else None


def _given_on(owner: int, position: int, ops: Sequence[GenericOp]) -> list[Value]:
    """Return what a region's yield becomes: the owner's result, and a loop's next argument."""
    given = [Value(owner, position, argument=False)]
    if ops[owner].name == "scf.for":
        given.append(Value(owner, position + 1, argument=True))
    return given
