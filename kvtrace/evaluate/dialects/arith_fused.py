"""Products that compilers fuse with a sum that uses them: rounded once, not twice.

LLVM fuses, for NVIDIA's GPUs and AMD's, a product with an addition or subtraction of its block:
`a * b + c` is one instruction, also where others use the product, or repeat it along axes. Of the
products of `a * b + c * d`, NVIDIA's target fuses the one with fewer uses, of equally many `a * b`;
AMD's fuses `c * d`. Before that, LLVM makes a sum or product narrow if its operands were widened
and its result is narrowed again: `(f16)((f32)a + (f32)b)` is `a + b`. All this was read from PTX
and AMD's assembly (Triton 3.6, 3.7), and seen on an H100. Where PTX was recorded, it decides
whether a sum is fused, but not which product. With `enable_fp_fusion=False`, or where the target is
unknown, nothing is fused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.directed import fused_multiply_add, fused_to_odd
from kvtrace.evaluate.types import ElementType, element_of, value_type
from kvtrace.evaluate.values import Array
from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir import Value as IRValue
from kvtrace.ir.flow import Flow, constant_of, flow_of
from kvtrace.ir.model import once_per_module

Axes = tuple[int | None, ...]
"""Source axis of each axis of a result; None: a new one."""


class Term(Struct, frozen=True):
    """An operand of a sum: a value, or the product of two by `op`; its axes are then rearranged.

    `uses` counts the uses of the product.
    """

    values: tuple[IRValue, ...]
    axes: Axes
    op: Op | None = None
    uses: int = 0


class FusedSum(Struct, frozen=True):
    """A sum of a product and an addend, of an element type, each with a sign."""

    product: Term
    addend: Term
    element: ElementType
    negates_product: bool
    negates_addend: bool

    @property
    def terms(self) -> tuple[tuple[IRValue, Axes], ...]:
        """The three values, with their axes."""
        return tuple((v, t.axes) for t in (self.product, self.addend) for v in t.values)

    def function(self) -> Callable[..., Array]:
        """Return the function of three arrays; the caller rounds to types that NumPy lacks."""
        return partial(_rounded_once, self.element.name, self.negates_product, self.negates_addend)


@once_per_module
def fused_sums(module: Module) -> dict[int, FusedSum]:
    """Return what the compiler fuses, by the indexes of ops whose results it computes."""
    backend = module.target.partition(":")[0]
    if not module.options.fuses or backend not in ("cuda", "hip"):
        return {}
    names = {op.name for op in module.ops}
    if "arith.mulf" not in names or not names & _SUMS.keys():
        return {}
    reader = _Reader(flow_of(module), backend, module.options.fused_places())
    sums = ((op.index, reader.fused_sum(op)) for op in module.ops)
    return {index: fused_sum for index, fused_sum in sums if fused_sum is not None}


_SUMS = {"arith.addf": False, "arith.subf": True}
"""Sums, and whether the second operand is negated."""


class _Reader:
    """Finds products in the operands of sums."""

    def __init__(self, flow: Flow, backend: str, compiled: Mapping[tuple[int, int], bool]) -> None:
        self._flow, self._backend = flow, backend
        self._compiled = compiled

    def fused_sum(self, op: Op) -> FusedSum | None:
        """Return the fused sum that an op's result is; None if it is computed as written."""
        if op.name in _SUMS:
            element = value_type(op.results[0].type).element
            return self._chosen(op, element, [self._term(v, op) for v in op.operands])
        if op.name != "arith.truncf":
            return None
        total = op.operands[0].owner
        element = value_type(op.results[0].type).element
        if not isinstance(total, Op) or total.name not in _SUMS or self._uses(total) != 1:
            return None
        widened = (self._widened(value, element, total) for value in total.operands)
        terms = [term for term in widened if term is not None]
        return self._chosen(total, element, terms) if len(terms) == 2 else None

    def _uses(self, op: Op) -> int:
        return len(self._flow.uses(op.results[0]))

    def _is_fused_in_ptx(self, op: Op) -> bool | None:
        """Return whether an op's line and column have only `fma` in PTX, or only `add` and `sub`.

        None if they have both or neither, or was not recorded: the rules above then decide.
        """
        frames = source_stack(op)
        return self._compiled.get((frames[0].line, frames[0].column)) if frames else None

    def _chosen(self, total: Op, element: ElementType, terms: list[Term]) -> FusedSum | None:
        """Return the fused sum of two terms; None if none of them is a product that is fused."""
        if element.name == "bf16" and self._backend == "hip":
            return None  # computed in float32, and rounded
        product = self._fused_operand(element, total, *terms)
        if product is None or self._is_fused_in_ptx(total) is False:
            return None
        addend = terms[1 - product]
        if addend.op is not None:
            addend = _whole(total.operands[1 - product])
        negates_second = _SUMS[total.name]
        signs = negates_second and product == 1, negates_second and product == 0
        return FusedSum(terms[product], addend, element, *signs)

    def _fused_operand(
        self, element: ElementType, total: Op, first: Term, second: Term
    ) -> int | None:
        """Return which operand of a sum, 0 or 1, is the product that the target fuses, or None."""
        if first.op is None or second.op is None:
            return 0 if first.op else 1 if second.op else None
        is_twice_one = first.op is second.op and total.name == "arith.addf"
        if self._backend == "hip":  # two products of f32 are one packed product
            return None if is_twice_one or element.name == "f32" else 1
        if is_twice_one and element.bits == 16:
            return None
        return 1 if first.uses > second.uses else 0

    def _term(self, value: IRValue, sum_op: Op) -> Term:
        """Return an operand of a sum, as a product where it is one in the sum's block."""
        source, axes = _unmoved(value)
        op = source.owner
        if isinstance(op, Op) and (op.block is sum_op.block or self._is_fused_in_ptx(sum_op)):
            if op.name == "arith.mulf":
                return Term(op.operands, axes, op, self._uses(op))
            if op.name == "arith.truncf" and (factors := self._narrow_factors(op)):
                return Term(factors, axes, op, self._uses(op))
        return _whole(value)

    def _narrow_factors(self, op: Op) -> tuple[IRValue, ...]:
        """Return the narrow factors of a wide product that is narrowed, which LLVM undoes."""
        product = op.operands[0].owner
        if not isinstance(product, Op) or product.name != "arith.mulf" or self._uses(product) > 1:
            return ()
        factors = [_before_widening(value, op.results[0]) for value in product.operands]
        return tuple(value for value in factors if value is not None) if None not in factors else ()

    def _widened(self, value: IRValue, element: ElementType, sum_op: Op) -> Term | None:
        """Return an operand of a wide sum as a term of a narrow type; None if it is wide."""
        source, axes = _unmoved(value)
        number = constant_of(source)
        if number is not None:
            narrow = np.asarray(number).astype(element.memory)
            return _whole(value) if float(narrow) == number else None
        op = source.owner
        if not isinstance(op, Op) or op.name != "arith.extf":
            return None
        if value_type(op.operands[0].type).element is not element:
            return None
        inner = self._term(op.operands[0], sum_op)
        return replace(inner, axes=_composed(axes, inner.axes))


def _before_widening(value: IRValue, like: IRValue) -> IRValue | None:
    op = value.owner
    if not isinstance(op, Op) or op.name != "arith.extf":
        return None
    return op.operands[0] if op.operands[0].type == like.type else None


def _whole(value: IRValue) -> Term:
    """Return a value itself as a term, even if an op computes it as a product."""
    return Term((value,), tuple(range(len(value_type(value.type).shape))))


def _unmoved(value: IRValue) -> tuple[IRValue, Axes]:
    """Return the value that is repeated along axes, and the source of each of the result's axes."""
    axes: Axes = tuple(range(len(value_type(value.type).shape)))
    while isinstance(op := value.owner, Op) and op.name in _MOVES:
        axes = _composed(axes, _MOVES[op.name](op))
        value = op.operands[0]
    return value, axes


def _composed(outer: Axes, inner: Axes) -> Axes:
    return tuple(None if axis is None else inner[axis] for axis in outer)


def _rank(op: Op) -> int:
    return len(value_type(op.results[0].type).shape)


def _expanded(op: Op) -> Axes:
    place = int(getattr(op.attributes["axis"], "value", 0))
    return tuple(None if n == place else n - (n > place) for n in range(_rank(op)))


_MOVES: dict[str, Callable[[Op], Axes]] = {
    "tt.splat": lambda op: (None,) * _rank(op),
    "tt.expand_dims": _expanded,
    "tt.broadcast": lambda op: tuple(range(_rank(op))),
}
"""Ops that repeat elements, each of which stays where it was computed."""


# -- arithmetic -----------------------------------------------------------------------------------


def moved(array: Array, axes: Axes) -> Array:
    """Return an array (programs, lanes) with its lane axes at the places of `axes`."""
    if axes == tuple(range(array.ndim - 1)):
        return array
    return array[(slice(None), *(None if axis is None else slice(None) for axis in axes))]


def _rounded_once(
    element: str, negates_product: bool, negates_addend: bool, left: Array, right: Array,
    addend: Array,
) -> Array:  # fmt: skip
    """Return ±left * right ± addend, rounded once (bf16: to odd)."""
    dtype = element_of(element).value
    left, right, addend = (np.asarray(a, dtype) for a in (left, right, addend))
    if negates_addend:
        addend = -addend
    from kvtrace.evaluate import torch_sums  # which a process without products needs not

    if element in ("f32", "f64") and torch_sums.fuses(left, right, addend):
        return torch_sums.fused_sum(left, right, addend, negative=negates_product)
    if negates_product:
        left = -left
    if element == "bf16":
        return fused_to_odd(left, right, addend)
    if element == "f32":
        return _in_single(left, right, addend)
    return fused_multiply_add("rn", left, right, addend)


def _in_single(left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend of float32, by float64 where that decides the rounding."""
    total = np.multiply(left, right, dtype=np.float64) + addend
    is_tie = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    open_places = is_tie | ((total != 0) & (np.abs(total) < 2.0**-125))
    result: Array = total.astype(np.float32)
    if open_places.any():
        operands = (np.broadcast_to(a, total.shape)[open_places] for a in (left, right, addend))
        result[open_places] = fused_multiply_add("rn", *operands)
    return result
