"""The planning compiler: from a module's ops to planning steps, once per module.

A step reads and writes the values of a walk. Ops that only compute and have no planner (see
meanings/) become instructions that call the array evaluator's functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import TYPED, Compiler, array_function, compiled
from kvtrace.evaluate.dialects.arith_fused import FusedSum, fused_sums
from kvtrace.evaluate.errors import Unplannable, UnsupportedOp
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.array_functions import ROUND_TO_BF16, ufunc_operation
from kvtrace.evaluate.plan.bridge import array_call_step
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.meanings import PLANNERS, PlanStep, load_meanings
from kvtrace.evaluate.plan.values import Condition, Constant, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.registry import ELEMENTWISE, LOWERINGS, Elementwise, Step
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.ir import Block, Module, Op
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import SILENT, Kind, named


@dataclass(frozen=True, eq=False)
class PlannedBlock:
    """A block with its planning steps, and the slots of its arguments and passed operands."""

    block: Block
    arguments: tuple[int, ...]
    steps: tuple[PlanStep, ...]
    terminator: Op
    operands: tuple[int, ...]

    def walk(self, walk: Walk) -> list[Any]:
        """Run every step on a walk; return the values of the terminator's operands."""
        walk.executed.append((self, walk.executions))
        for step in self.steps:
            step(walk)
        values = walk.values
        return [values[slot] for slot in self.operands]


class PlanCompiler:
    """Compiles the ops of one module to planning steps."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.arrays = compiled(module, observed=False)
        load_meanings(op.name for op in module.ops)
        self._blocks: dict[Block, PlannedBlock] = {}
        self._counts: dict[int, tuple[int, int]] | None = None

    def block(self, block: Block) -> PlannedBlock:
        """Return a block's planning steps, from a cache."""
        planned = self._blocks.get(block)
        if planned is None:
            *body, terminator = block.ops
            planned = PlannedBlock(
                block,
                tuple(value.id for value in block.arguments),
                tuple(self._step(op) for op in body),
                terminator,
                tuple(value.id for value in terminator.operands),
            )
            self._blocks[block] = planned
        return planned

    def _step(self, op: Op) -> PlanStep:
        if op.name in SILENT:
            return _do_nothing
        fused = fused_sums(self.module).get(op.index)
        if fused is not None:
            return _step_of_fused_sum(op, fused)
        planner = PLANNERS.get(op.name)
        try:
            if planner is not None:
                return planner(op, self)
            if op.name in ELEMENTWISE:
                return self.elementwise(op)
            if op.name in _COMPUTING and op.name in LOWERINGS:
                return array_call_step(op, self)
        except UnsupportedOp as error:
            return refusal(str(error))
        return refusal(f"{op.name} is not planned")

    def elementwise(self, op: Op) -> PlanStep:
        """Return a step that emits the op's array function as an instruction."""
        type_ = value_type(op.results[0].type)
        meaning = ELEMENTWISE[op.name].on(self.module.target, op)
        return step_of_operations(op, *operations_of(op, meaning, type_))

    def counts(self) -> dict[int, tuple[int, int]]:
        """Return (elements, FLOPs) of one execution of each compute op, as in array evaluation."""
        if self._counts is None:
            reader = _CountReader(self.module)
            for op in self.module.ops:
                reader.read(op)
            self._counts = reader.counts
        return self._counts


_COMPUTING = named(lambda row: row.kind in {
    Kind.ELEMENTWISE, Kind.REARRANGED, Kind.PICKED, Kind.REDUCTION, Kind.SCAN, Kind.COUNT,
    Kind.PRODUCT,
})  # fmt: skip
"""Ops that only compute: their results depend only on the elements of their operands."""
_COUNTED = _COMPUTING | named(lambda row: row.kind is Kind.ADDRESS)
"""Ops that count as compute ops; others have regions, end blocks, or are accesses."""


class _CountReader(Compiler):
    """A compiler that records the elements and FLOPs of ops; its steps never run."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, observed=False)
        self.counts: dict[int, tuple[int, int]] = {}

    def read(self, op: Op) -> None:
        """Record the elements and FLOPs of an op, if it is a compute op that is implemented."""
        name = op.name
        if name not in _COUNTED:
            return
        meaning = ELEMENTWISE.get(name)
        try:
            if meaning is not None and name not in LOWERINGS:
                type_ = value_type(op.results[0].type)
                size = type_.size
                flops = meaning.flops * size if type_.element.kind == "f" else 0
                self.counts[op.index] = (size, flops)
                return
            self.step(op)
        except (UnsupportedOp, KeyError):
            return  # never executed: planning refuses it

    def counting_step(self, op: Op, step: Step, elements: int, flops: int) -> Step:
        self.counts[op.index] = (elements, flops)
        return step


def _do_nothing(_walk: Walk) -> None:
    return


def refusal(reason: str) -> PlanStep:
    """Return a step that raises Unplannable with this reason."""

    def step(_walk: Walk) -> None:
        raise Unplannable(reason)

    return step


def step_of_operations(op: Op, *operations: Operation | None) -> PlanStep:
    """Return a step that emits operations in turn, the first on the operands; None: skipped."""
    slots = tuple(value.id for value in op.operands)
    result = op.results[0].id
    shape = value_type(op.results[0].type).shape
    first_operation, *later_operations = operations
    further = [operation for operation in later_operations if operation is not None]

    def step(walk: Walk) -> None:
        values = walk.values
        value = values[slots[0]]
        if first_operation is not None:
            value = walk.elementwise(first_operation, [values[slot] for slot in slots], shape)
        for operation in further:
            value = walk.elementwise(operation, [value], shape)
        values[result] = value

    return step


def _step_of_fused_sum(op: Op, fused: FusedSum) -> PlanStep:
    """Return a step that emits a sum of a product as one operation, and its rounding."""
    into, type_ = fused.into(), value_type(op.results[0].type)
    operation = Operation("fused sum", into, into, _ANY_OPERAND, type_.element.value)
    terms = [(value.id, axes) for value, axes in fused.terms]

    def step(walk: Walk) -> None:
        operands = [
            rearranged(walk, walk.constant_or_tensor(walk.values[slot]), axes, type_.shape)
            for slot, axes in terms
        ]
        total = walk.elementwise(operation, operands, type_.shape)
        walk.values[op.results[0].id] = rounded(walk, total, type_)

    return step


_ANY_OPERAND = frozenset(range(3))


def operations_of(
    op: Op, meaning: Elementwise, type_: ValueType
) -> tuple[Operation, Operation | None]:
    """Return the operation of an elementwise op, and a separate rounding (None if not needed)."""
    dtype = type_.element.value
    extra = [attribute(op, name) for name in meaning.attributes]
    rounding = None
    if type_.element.name == "bf16" and op.name not in TYPED:
        rounding = ROUND_TO_BF16
    function = meaning.function
    plain = isinstance(function, np.ufunc) and not extra and op.name not in TYPED
    if plain and keeps_dtype(op, type_) and (rounding or not type_.element.rounded):
        return ufunc_operation(op.name, function, dtype), rounding
    bound = array_function(op, meaning, type_, extra)
    return Operation(op.name, bound, None, frozenset(), dtype), None


def keeps_dtype(op: Op, type_: ValueType) -> bool:
    """Return whether arrays of the operands already have the result's dtype."""
    return all(value_type(value.type).element.value == type_.element.value for value in op.operands)


def rounded(walk: Walk, value: Constant | Tensor, type_: ValueType) -> Constant | Tensor:
    """Return a value, emitting its rounding to a narrower element type if the type needs one."""
    rounding = rounding_to(type_.element)
    if rounding is None:
        return value
    if type_.element.name == "bf16":
        return walk.elementwise(ROUND_TO_BF16, [value], value.shape)
    operation = Operation("round", partial(rounding), None, frozenset(), type_.element.value)
    return walk.elementwise(operation, [value], value.shape)


Axes = tuple[int | None, ...]
"""Source lane axis of each result axis; None: a new axis, of extent 1 (or repeated)."""


def _moved_form(form: Affine, axes: Axes) -> Affine:
    if not form.lanes:
        return form
    lanes = tuple([0 if axis is None else form.lanes[axis] for axis in axes])
    return Affine(form.constant, form.outer, lanes if any(lanes) else ())


def rearranged(walk: Walk, value: Any, axes: Axes, shape: tuple[int, ...]) -> Any:
    """Return a value with its lane axes moved as `axes` says; the result has `shape`."""
    if isinstance(value, Integer):
        return Integer(_moved_form(value.form, axes), shape, value.bits)
    if isinstance(value, Pointer):
        return Pointer(value.argument, _moved_form(value.form, axes), shape)
    if isinstance(value, Condition):
        return Condition(tuple(_moved_form(form, axes) for form in value.forms), shape)
    if isinstance(value, Constant):
        return Constant(value.value, shape)
    if isinstance(value, Tensor):
        return _moved_tensor(walk, value, axes, shape)
    raise Unplannable(f"the axes of a {type(value).__name__} value are rearranged")


def _moved_tensor(walk: Walk, value: Tensor, axes: Axes, shape: tuple[int, ...]) -> Tensor:
    register = value.register
    if axes != tuple(range(len(register.lanes))):
        register = walk.view(register, axes)
    box = value.box
    if box is not None:
        box = tuple(None if axis is None else box[axis] for axis in axes)
    fill = value.fill
    if fill is not None:
        fill = rearranged(walk, fill, axes, shape)
    return Tensor(register, shape, box, fill)


def unit_axes(source: tuple[int, ...], shape: tuple[int, ...]) -> Axes | None:
    """Return the source axis of each axis if shapes differ by extents of 1 only, else None."""
    long_axes = [axis for axis, extent in enumerate(source) if extent != 1]
    if [source[axis] for axis in long_axes] != [extent for extent in shape if extent != 1]:
        return None
    remaining = iter(long_axes)
    return tuple(None if extent == 1 else next(remaining) for extent in shape)
