"""Planning of counted loops: carried values are affine in the trip, or are registers.

A loop is walked once for all its trips, or once per range of trips with equal masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.errors import SplitAxis, Unplannable
from kvtrace.evaluate.plan.affine import Affine, Interval, plus, times
from kvtrace.evaluate.plan.instructions import (
    Instruction,
    Loop,
    Operand,
)
from kvtrace.evaluate.plan.integers import fits
from kvtrace.evaluate.plan.masks import split_for
from kvtrace.evaluate.plan.meanings import PlanStep
from kvtrace.evaluate.plan.records import LoopRecord
from kvtrace.evaluate.plan.staircase import (
    Staircase,
    loop_records,
    runs_on_slices,
    staircase_of,
    staircase_records,
)
from kvtrace.evaluate.plan.steps import PlanCompiler, PlannedBlock
from kvtrace.evaluate.plan.values import Constant, Integer, Pointer, Register, Tensor
from kvtrace.evaluate.plan.walk import Walk, has_placeholder
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Block, Op
from kvtrace.ir.flow import deciding
from kvtrace.ir.integers import signed_range, wraps_around

_MOST_SEGMENTS = 64
_UNROLLED = 1
"""Loops and runs of at most so many trips are walked trip by trip."""


class CountedLoop:
    """The planner of an `scf.for`; `slices` has the steps that compute each carried integer."""

    def __init__(self, op: Op, compiler: PlanCompiler) -> None:
        self.op = op
        self.body: PlannedBlock = compiler.block(op.regions[0].blocks[0])
        self.bounds = slots_of(deciding(op))
        self.initial = slots_of(op.group("initial"))
        self.results = tuple(value.id for value in op.results)
        self.bits = value_type(op.operand("first").type).element.bits
        self.slices = {
            position: _steps_to_result(op.regions[0].blocks[0], self.body, position)
            for position, value in enumerate(op.results)
            if _may_be_affine(value)
        }

    def step(self, walk: Walk) -> None:
        """Walk all trips and set the results; SplitAxis if programs have different trips."""
        values = walk.values
        low, high, stride_value = (values[slot] for slot in self.bounds)
        stride = walk.constant_of(stride_value)
        if not isinstance(low, Integer) or not isinstance(high, Integer) or stride is None:
            raise Unplannable("the bounds of a loop are not affine, or depend on data")
        if stride <= 0:
            raise Unplannable("a loop does not count upwards")
        if "unsignedCmp" in self.op.attributes:
            raise Unplannable("the counter of a loop is compared as an unsigned integer")
        if self._may_wrap(walk, low.form, high.form, stride):
            raise Unplannable("the counter of a loop may wrap around")
        length = walk.domain.folded(plus(high.form, low.form, -1))
        carried = [values[slot] for slot in self.initial]
        result = self._as_staircase(walk, low.form, length, stride, carried)
        if result is None:
            trips = self._trips(walk, length, stride)
            walk.loops.append(LoopRecord(self.op, trips, walk.executions))
            result = self._from_first_trip(walk, low.form, stride, trips, carried, None)
        for slot, value in zip(self.results, result, strict=True):
            values[slot] = value

    def _may_wrap(self, walk: Walk, low: Affine, high: Affine, stride: int) -> bool:
        if low.is_constant and high.is_constant:
            return wraps_around(low.constant, high.constant, stride, self.bits)
        return walk.extremes(high, ())[1] - 1 + stride > signed_range(self.bits)[1]

    def _as_staircase(
        self, walk: Walk, low: Affine, span: Affine, stride: int, carried: list[Any]
    ) -> list[Any] | None:
        """Plan a loop with evenly growing trips per program; return its results, else None."""
        stairs = staircase_of(low, span, stride, walk.region, walk.nest)
        if stairs is None:
            return None
        if stairs.together_at_end:
            assert stairs.form is not None
            # Each program's first trip is the one at which it joins the others.
            offset = Affine(stairs.most * stride)
            low = plus(plus(low, times(stairs.form, stride)), offset, -1)
        instructions, walk.instructions = walk.instructions, list(walk.instructions)
        mark = walk.mark()
        walk.loops.extend(loop_records(self.op, stairs, walk.executions))
        result: list[Any] | None
        try:
            result = self._from_first_trip(walk, low, stride, stairs.most, list(carried), stairs)
        except Unplannable:
            result = None  # split, each part may still be planned
        if result is None or not self._runs_on_slices(walk, stairs, len(instructions)):
            walk.instructions = instructions
            walk.discard_since(mark)
            return None
        instructions[:] = walk.instructions
        walk.instructions = instructions
        return result

    def _runs_on_slices(self, walk: Walk, stairs: Staircase, since: int) -> bool:
        axis = walk.axes.index(stairs.symbol)
        loops = [i for i in walk.instructions[since:] if isinstance(i, Loop) and i.stairs]
        return all(runs_on_slices(loop, axis) for loop in loops)

    def _from_first_trip(
        self,
        walk: Walk,
        low: Affine,
        stride: int,
        trips: int,
        carried: list[Any],
        stairs: Staircase | None,
    ) -> list[Any]:
        """Create the loop's symbol and counter; return the carried values after all trips."""
        if not trips:
            return carried
        symbol = walk.new_trip()
        walk.domain.ranges[symbol] = (0, trips - 1)
        counter = Integer(plus(low, Affine(0, ((symbol, stride),))), (), self.bits)
        return self._all_trips(walk, symbol, counter, trips, carried, stairs)

    def _trips(self, walk: Walk, span: Affine, stride: int) -> int:
        """Return the number of trips; SplitAxis if it differs between programs."""
        low, high = walk.extremes(span, ())
        fewest, greatest = (max(0, -(-span_end // stride)) for span_end in (low, high))
        if fewest == greatest:
            return fewest
        form = Affine(span.constant - fewest * stride - 1, span.outer)
        raise split_for(walk, form, low - fewest * stride - 1, high - fewest * stride - 1)

    # -- all trips -------------------------------------------------------------------------------

    def _all_trips(
        self,
        walk: Walk,
        symbol: int,
        counter: Integer,
        trips: int,
        carried: list[Any],
        stairs: Staircase | None,
    ) -> list[Any]:
        """Walk all trips, in ranges with equal masks; return the carried values afterwards."""
        outer_nest, executions = walk.nest, walk.executions
        steps = self._steps_per_trip(walk, carried, counter) if trips > _UNROLLED else {}
        if stairs is not None and steps and (stairs.form is None or stairs.together_at_end):
            raise Unplannable("a carried value depends on the number of trips")
        starts = list(carried)
        pending: list[Interval] = [(0, trips - 1)]
        walked = 0
        while pending:
            first, last = pending.pop(0)
            walk.nest = (*outer_nest, symbol)
            walk.domain.ranges[symbol] = (first, last)
            walk.executions = executions * (last - first + 1)
            if stairs is not None:
                together = walk.domain.extent(stairs.symbol)
                walk.executions = executions // together * stairs.executions((first, last))
            for position, step in steps.items():
                distance = times(Affine(0, ((symbol, 1),)), step)
                carried[position] = _moved(walk, starts[position], distance)
            instructions = walk.instructions
            mark = walk.mark()
            try:
                carried = self._segment(walk, symbol, counter, carried, steps, stairs)
            except SplitAxis as split:
                if split.symbol != symbol:
                    raise
                walked += 1
                if walked > _MOST_SEGMENTS:
                    raise Unplannable("masks differ between too many trips of a loop") from split
                walk.instructions = instructions
                walk.discard_since(mark)
                pending[:0] = [(first, split.at - 1), (split.at, last)]
                continue
            if stairs is not None:
                walk.accesses[mark.accesses :] = [
                    partial_record
                    for record in walk.accesses[mark.accesses :]
                    for partial_record in staircase_records(record, stairs, symbol)
                ]
        walk.nest, walk.executions = outer_nest, executions
        for position, step in steps.items():
            trip_count = Affine(trips) if stairs is None or stairs.form is None else stairs.form
            carried[position] = _moved(walk, starts[position], times(trip_count, step))
        return carried

    def _segment(
        self,
        walk: Walk,
        symbol: int,
        counter: Integer,
        carried: list[Any],
        steps: dict[int, int],
        stairs: Staircase | None,
    ) -> list[Any]:
        """Walk a range of trips; return the carried values after the last."""
        first, last = walk.domain.ranges[symbol]
        if last - first + 1 <= _UNROLLED and stairs is None:
            before = list(walk.instructions)
            instructions, walk.instructions = walk.instructions, before
            outcome = self._body(walk, counter, carried)
            instructions[:] = walk.instructions
            walk.instructions = instructions
            return outcome
        return self._loop(walk, symbol, counter, carried, steps, stairs)

    def _body(self, walk: Walk, counter: Integer, carried: list[Any]) -> list[Any]:
        """Walk the body once; return the values that it passes on."""
        self._enter(walk, counter, carried)
        return self.body.walk(walk)

    def _enter(self, walk: Walk, counter: Integer, carried: list[Any]) -> None:
        for slot, value in zip(self.body.arguments, (counter, *carried), strict=True):
            walk.values[slot] = value

    # -- registers -------------------------------------------------------------------------------

    def _loop(
        self,
        walk: Walk,
        symbol: int,
        counter: Integer,
        carried: list[Any],
        steps: dict[int, int],
        stairs: Staircase | None,
    ) -> list[Any]:
        """Walk a body until the axes of its carried registers are known, and emit the loop.

        The axes grow from those of the initial values, walk by walk. Return the carried values
        after the loop.
        """
        positions = [p for p in range(len(carried)) if p not in steps]
        starts: list[Constant | Tensor] = []
        for position in positions:
            start_value = walk.constant_or_tensor(carried[position])
            starts.append(
                walk.padded(start_value) if isinstance(start_value, Tensor) else start_value
            )
        shapes = [shape_of(walk, start) for start in starts]
        if stairs is not None:
            # Programs that have run all their trips keep their carried values.
            stairs_axis = tuple(s == stairs.symbol for s in walk.axes)
            shapes = [
                Shape(
                    tuple(a or b for a, b in zip(shape.axes, stairs_axis, strict=True)), shape.lanes
                )
                for shape in shapes
            ]
        instructions_before = walk.instructions
        mark = walk.mark()
        while True:
            in_body = list(carried)
            registers = []
            for position, start, shape in zip(positions, starts, shapes, strict=True):
                dtype = start.register.dtype if isinstance(start, Tensor) else start.value.dtype
                register = walk.register(shape.axes, shape.lanes, dtype)
                registers.append(register)
                in_body[position] = Tensor(register, start.shape)
            body: list[Instruction] = []
            walk.instructions = body
            outcome = self._body(walk, counter, in_body)
            outcomes = [walk.in_register(outcome[position]) for position in positions]
            walk.instructions = instructions_before
            wider = [joined(s, r) for s, r in zip(shapes, outcomes, strict=True)]
            if wider == shapes:
                break
            shapes = wider
            walk.discard_since(mark)
        operands: tuple[Operand, ...] = tuple(
            start.register if isinstance(start, Tensor) else start.value for start in starts
        )
        results = tuple(walk.register(r.axes, r.lanes, r.dtype) for r in registers)
        walk.emit(
            Loop(
                None, operands, symbol, walk.domain.ranges[symbol], tuple(registers),
                tuple(outcomes), results, body, stairs,
            )
        )  # fmt: skip
        carried_after = list(carried)
        for position, start, register in zip(positions, starts, results, strict=True):
            carried_after[position] = Tensor(register, start.shape)
        return carried_after

    # -- affine ----------------------------------------------------------------------------------

    def _steps_per_trip(self, walk: Walk, carried: list[Any], counter: Integer) -> dict[int, int]:
        """Return the constant step per trip of carried integers and pointers, by position."""
        candidates = [
            position for position in self.slices if isinstance(carried[position], Integer | Pointer)
        ]
        if not candidates:
            return {}
        in_body = list(carried)
        placeholders = {}
        for position in candidates:
            placeholder = walk.new_placeholder()
            placeholders[position] = placeholder
            in_body[position] = _moved(walk, carried[position], Affine(0, ((placeholder, 1),)))
        steps = {}
        for position in candidates:
            step = self._step_per_trip(walk, position, in_body, counter)
            if step is not None:
                steps[position] = step
            elif isinstance(carried[position], Pointer):
                raise Unplannable("a pointer that a loop carries does not advance by a constant")
        return steps

    def _step_per_trip(
        self, walk: Walk, position: int, inner: list[Any], counter: Integer
    ) -> int | None:
        """Return the constant by which a carried value grows per trip; None if it does not."""
        planned_slice = self.slices[position]
        if planned_slice is None:
            return None
        self._enter(walk, counter, inner)
        instructions, walk.instructions = walk.instructions, []
        mark = walk.mark()
        try:
            for step in planned_slice:
                step(walk)
        except Unplannable:
            return None
        finally:
            walk.instructions = instructions
            walk.discard_since(mark)
        outcome = walk.values[self.body.operands[position]]
        start = inner[position]
        if type(outcome) is not type(start):
            return None
        if isinstance(start, Pointer) and outcome.argument != start.argument:
            return None
        difference = walk.domain.folded(plus(outcome.form, start.form, -1))
        return difference.constant if difference.is_constant else None


def _may_be_affine(value: Any) -> bool:
    type_ = value_type(value.type)
    return type_.pointer or type_.element.kind == "i"


def _steps_to_result(block: Block, body: PlannedBlock, position: int) -> list[PlanStep] | None:
    """Return a body's steps for one passed value; None if they include control flow."""
    needed = {block.ops[-1].group("passed")[position].id}
    steps: list[PlanStep] = []
    for op, step in zip(reversed(block.ops[:-1]), reversed(body.steps), strict=True):
        if not any(value.id in needed for value in op.results):
            continue
        if op.regions:
            return None
        needed.update(value.id for value in op.operands)
        steps.append(step)
    return steps[::-1]


def _moved(walk: Walk, value: Integer | Pointer, distance: Affine) -> Integer | Pointer:
    """Return a carried integer or pointer plus a form; Unplannable if an integer may wrap."""
    form = plus(value.form, distance)
    if isinstance(value, Pointer):
        return Pointer(value.argument, form, value.shape)
    if not has_placeholder(form) and not fits(walk, form, value.shape, signed_range(value.bits)):
        raise Unplannable("an integer that a loop carries may wrap around")
    return Integer(form, value.shape, value.bits)


# -- shapes of carried registers -------------------------------------------------------------------


class Shape(NamedTuple):
    """The program axes along which a register varies, as flags, and its extents over lanes."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]


def shape_of(walk: Walk, value: Constant | Tensor) -> Shape:
    """Return the shape of a value's register."""
    if isinstance(value, Tensor):
        return Shape(value.register.axes, value.register.lanes)
    return Shape((False,) * len(walk.axes), (1,) * len(value.shape))


def joined(shape: Shape, other: Shape | Register) -> Shape:
    """Return the shape of a register that varies wherever either of two shapes does."""
    return Shape(
        tuple([a or b for a, b in zip(shape.axes, other.axes, strict=True)]),
        tuple([max(a, b) for a, b in zip(shape.lanes, other.lanes, strict=True)]),
    )
