"""Meanings of ops of `tt` that rearrange elements: substitutions of the positional lane symbols."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.conditions import Condition, equal, less
from kvtrace.symbolic.functions import quotient, remainder, with_digits_joined
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import chosen, rewritten
from kvtrace.symbolic.summary import Formula
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.symbolic.walk import Walk


def lane_symbol(axis: int, extent: int) -> Symbol:
    """Return the lane symbol of an axis of more than one element."""
    return Symbol("lane", axis, 0, extent - 1)


def with_lanes_replaced(
    formula: Formula, source: Sequence[int], places: Sequence[Term | None]
) -> Formula:
    """Return a formula with new indices along the axes of shape `source` (None: unchanged)."""
    replacements: dict[Atom, Term | int] = {
        lane_symbol(axis, extent): index
        for axis, (extent, index) in enumerate(zip(source, places, strict=True))
        if extent > 1 and index is not None
    }
    return rewritten(formula, Substitution(replacements)) if replacements else formula


@meaning(
    "tt.splat", "tt.unsplat", "tt.broadcast", "ttg.convert_layout", "tt.descriptor_to_tensor",
)  # fmt: skip
def same_everywhere(walk: Walk, op: Op) -> None:
    """Set the result to the source's formula, which has no lane of new axes."""
    walk.set(op.results[0], walk.formula(op.operand("source")))


@meaning("tt.expand_dims", "tt.trans", "tt.reshape")
def moved(walk: Walk, op: Op) -> None:
    """Set the result to the rearranged elements."""
    formula = walk.formula(op.operand("source"))
    walk.set(op.results[0], None if formula is None else rearranged(op, formula))


def rearranged(op: Op, formula: Formula) -> Formula:
    """Return the formula of a rearranging op's result, from the formula of its source."""
    source, target = shape_of(op.operand("source").type), shape_of(op.results[0].type)
    if operator_of(op) == "reshape":
        return reshaped(formula, source, target)
    return with_lanes_replaced(formula, source, source_indices(op, 0, lanes_of(target)))


def reshaped(formula: Formula, source: tuple[int, ...], target: tuple[int, ...]) -> Formula:
    """Return the formula of a value's elements in another shape, in row-major order."""
    if source == target:
        return formula
    indices = reshaped_indices(lanes_of(target), target, source)
    rewritten = with_lanes_replaced(formula, source, indices)
    return with_digits_joined(rewritten) if isinstance(rewritten, Term) else rewritten


def lanes_of(shape: Sequence[int]) -> tuple[Term, ...]:
    """Return the lanes of a shape: the index along each axis."""
    return tuple(lane(axis, extent) for axis, extent in enumerate(shape))


def row_major_index(at: Sequence[Term], shape: Sequence[int]) -> Term:
    """Return the flat index of an element in row-major order."""
    flat_index = ZERO
    for index, extent in zip(at, shape, strict=True):
        flat_index = flat_index * extent + index
    return flat_index


def reshaped_indices(
    at: tuple[Term, ...], target: Sequence[int], source: Sequence[int]
) -> tuple[Term, ...]:
    """Return the indices in shape `source` of the element with indices `at` in shape `target`.

    Elements are numbered in row-major order.
    """
    if tuple(target) == tuple(source):
        return at
    long_axes = [(index, extent) for index, extent in zip(at, target, strict=True) if extent > 1]
    if [extent for _, extent in long_axes] == [extent for extent in source if extent > 1]:
        remaining_indices = iter(index for index, _ in long_axes)
        return tuple(next(remaining_indices) if extent > 1 else ZERO for extent in source)
    flat_index = row_major_index(at, target)
    return tuple(
        remainder(quotient(flat_index, prod(source[axis + 1 :])), extent)
        for axis, extent in enumerate(source)
    )


def source_indices(op: Op, position: int, at: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the indices of the source element that an op moves to a result's indices `at`."""
    source, target = (shape_of(v.type) for v in (op.operand("source"), op.results[position]))
    match operator_of(op):
        case "expand_dims":
            axis = number_of(op, "axis")
            return (*at[:axis], *at[axis + 1 :])
        case "trans":
            attribute = op.attributes.get("order")
            order = list(range(len(source)))[::-1]
            if isinstance(attribute, DenseArrayAttribute):
                order = [int(axis) for axis in attribute.values]
            return tuple(at[order.index(axis)] for axis in range(len(source)))
        case "reshape":
            return reshaped_indices(at, target, source)
        case "split":
            return (*at, ZERO + position)
    if not source or not target:
        return (ZERO,) * len(source)
    return tuple(index if extent > 1 else ZERO for index, extent in zip(at, source, strict=True))


@meaning("tt.join")
def join(walk: Walk, op: Op) -> None:
    """Set the result to two tensors joined along a new last axis."""
    first, second = (walk.formula(value) for value in op.operands)
    last_index = lane(len(shape_of(op.operand("first").type)), 2)
    if isinstance(first, Term) and isinstance(second, Term):
        step = (second - first).constant
        if step is not None:
            walk.set(op.results[0], first + last_index * step)
            return
    walk.set(op.results[0], chosen(walk, op, op.results[0], equal(last_index, 0), first, second))


@meaning("tt.split")
def split(walk: Walk, op: Op) -> None:
    """Set the results to the two halves along the last axis, of extent 2."""
    formula, source = walk.formula(op.operand("source")), shape_of(op.operand("source").type)
    for number, value in enumerate(op.results):
        if formula is None:
            walk.set(value, None)
            continue
        indices = source_indices(op, number, lanes_of(source[:-1]))
        walk.set(value, with_lanes_replaced(formula, source, indices))


@meaning("tt.cat")
def cat(walk: Walk, op: Op) -> None:
    """Set the result to two tensors concatenated along their only axis."""
    first, second = (walk.formula(value) for value in op.operands)
    source = shape_of(op.operand("first").type)
    extent = source[0]
    index = lane(0, 2 * extent)
    if first is not None and second is not None:
        index_in_part = remainder(index, extent)  # for both, so that lanes stay in their range
        first, second = (
            with_lanes_replaced(part, source, [index_in_part]) for part in (first, second)
        )
    walk.set(op.results[0], chosen(walk, op, op.results[0], less(index, extent), first, second))


@meaning("tt.gather")
def gather(walk: Walk, op: Op) -> None:
    """Set elements gathered along an axis; unknown if an index may be out of range."""
    formula, index = walk.formula(op.operand("source")), walk.term(op.operand("index"))
    axis, source = number_of(op, "axis"), shape_of(op.operand("source").type)
    if isinstance(formula, Term | Condition) and index.low >= 0 and index.high < source[axis]:
        places: list[Term | None] = [None] * len(source)
        places[axis] = index
        walk.set(op.results[0], with_lanes_replaced(formula, source, places))
        return
    bounds = (formula.low, formula.high) if isinstance(formula, Term) else None
    reason = "gathered by an index that may be outside" if formula is not None else "gathered"
    walk.set_unknown(op.results[0], op, reason, bounds)


@meaning("tt.histogram")
def histogram(walk: Walk, op: Op) -> None:
    """Set the result to unknown counts, from 0 to the number of elements."""
    count = prod(shape_of(op.operand("source").type))
    walk.set_unknown(op.results[0], op, "counts of a histogram", (0, count))


@meaning("tt.map_elementwise")
def map_elementwise(walk: Walk, op: Op) -> None:
    """Visit a region for each element, if it has one block and takes one element at a time."""
    blocks = op.regions[0].blocks
    if number_of(op, "pack", 1) == 1 and len(blocks) == 1:
        for argument, value in zip(blocks[0].arguments, op.operands, strict=True):
            walk.set(argument, walk.formula(value))
        walk.block(blocks[0])
        for value, outcome in zip(op.results, blocks[0].ops[-1].operands, strict=True):
            walk.set(value, walk.formula(outcome))
        return
    for value in op.results:
        walk.set_unknown(value, op, "mapped by elements")


@meaning("tt.elementwise_inline_asm", "tt.extern_elementwise")
def foreign(walk: Walk, op: Op) -> None:
    """Set the results to unknown values, as assembly and library functions are not read."""
    for value in op.results:
        if integer_bits(value.type) is not None:
            walk.set_unknown(value, op, "an integer made by assembly or a library")
        else:
            walk.set(value, None)
