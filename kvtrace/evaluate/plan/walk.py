"""One walk over the IR for one region of the grid: its values, instructions and facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.arguments import Argument
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.affine import Affine, Domain, Interval, whole, within
from kvtrace.evaluate.plan.array_functions import CONJUNCTION
from kvtrace.evaluate.plan.instructions import (
    Call,
    Crop,
    Instruction,
    Map,
    Operand,
    Operation,
    Pad,
    Ramp,
    View,
)
from kvtrace.evaluate.plan.records import AccessRecord, LoopRecord, Region
from kvtrace.evaluate.plan.values import (
    Box,
    Condition,
    Constant,
    Integer,
    Number,
    Register,
    Tensor,
)

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.steps import PlannedBlock

INTEGERS: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}
BOOLEAN = np.dtype(np.bool_)
FIRST_TRIP = 64
"""Symbols from here on are trips; those below are program axes."""

PLACEHOLDERS = 1 << 20
"""Symbols from here on stand for a loop's carried values until their steps are known."""

MOST_LANES = 1 << 22
"""The most lanes of a tensor that is broadcast in memory, per program."""


def has_placeholder(form: Affine) -> bool:
    """Return whether a form has a placeholder, so that its range is not known yet."""
    return bool(form.outer) and form.outer[-1][0] >= PLACEHOLDERS


@dataclass(eq=False)
class Mark:
    """Lengths of a walk's lists of accesses, loops and blocks, for `discard_since`."""

    accesses: int
    loops: int
    executed: int


@dataclass(eq=False)
class Walk:
    """State of one walk over the IR: planned values, and the instructions and facts so far.

    `values` has the planned value of each IR value, by id. `arguments` are the launch's; `written`
    are the positions of those whose storage the kernel may write to. `nest` are the symbols of the
    loops around the current op, and `executions` is how often it runs. `runs` is False if only the
    facts are needed.
    """

    region: Region
    arguments: tuple[Argument, ...]
    written: frozenset[int]
    values: list[Any]
    runs: bool
    domain: Domain = field(init=False)
    axes: tuple[int, ...] = field(init=False)
    instructions: list[Instruction] = field(default_factory=list)
    accesses: list[AccessRecord] = field(default_factory=list)
    loops: list[LoopRecord] = field(default_factory=list)
    executed: list[tuple[PlannedBlock, int]] = field(default_factory=list)
    nest: tuple[int, ...] = ()
    executions: int = field(init=False)
    registers: int = 0
    symbols: int = FIRST_TRIP
    placeholders: int = PLACEHOLDERS

    def __post_init__(self) -> None:
        self.domain = Domain(dict(self.region.ranges))
        self.axes = self.region.axes
        self.executions = self.region.programs

    # -- going back ----------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Return the current lengths of the lists of accesses, loops and blocks."""
        return Mark(len(self.accesses), len(self.loops), len(self.executed))

    def discard_since(self, mark: Mark) -> None:
        """Delete the accesses, loops and blocks recorded since a mark."""
        del self.accesses[mark.accesses :]
        del self.loops[mark.loops :]
        del self.executed[mark.executed :]

    def new_trip(self) -> int:
        """Return a new symbol for the trips of a loop; its range is not set."""
        self.symbols += 1
        return self.symbols

    def new_placeholder(self) -> int:
        """Return a new symbol for the trips so far of a carried value whose step is not known."""
        self.placeholders += 1
        self.domain.ranges[self.placeholders] = (0, 1)
        return self.placeholders

    # -- ranges --------------------------------------------------------------------------------

    def extremes(self, form: Affine, shape: tuple[int, ...]) -> Interval:
        """Return a form's extremes over programs, trips and lanes; no placeholder may be left."""
        if not form.outer:
            return within(form, whole(shape)) if form.lanes else (form.constant, form.constant)
        if form.outer[-1][0] >= PLACEHOLDERS:
            raise Unplannable("a value that a loop carries is not advanced by a constant alone")
        return self.domain.extremes(form, whole(shape) if form.lanes else ())

    def constant_of(self, value: Any) -> int | None:
        """Return the number that a value equals for all programs and lanes; None if it varies."""
        if not isinstance(value, Integer):
            return None
        form = value.form
        if form.lanes:
            return None
        if form.outer:
            form = self.domain.folded(form)
        return form.constant if form.is_constant else None

    # -- instructions --------------------------------------------------------------------------

    def register(
        self, axes: tuple[bool, ...], lanes: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Register:
        """Return a new register with these flags of program axes, lane extents and dtype."""
        self.registers += 1
        return Register(self.registers, axes, lanes, dtype)

    def emit(self, instruction: Instruction) -> None:
        """Append an instruction."""
        self.instructions.append(instruction)

    def axes_of(self, form: Affine) -> tuple[bool, ...]:
        """Return flags of the program axes along which a form varies."""
        named = dict(form.outer)
        return tuple([symbol in named for symbol in self.axes])

    def lanes_of(self, form: Affine, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the lane extents of an array of a form's values: 1 where it is constant."""
        if not form.lanes:
            return (1,) * len(extents)
        return tuple(
            [n if coefficient else 1 for coefficient, n in zip(form.lanes, extents, strict=True)]
        )

    def ramp(
        self, form: Affine, lanes: Sequence[Interval], dtype: np.dtype[Any], *, condition: bool
    ) -> Register:
        """Emit the values of a form over lanes, or whether they are >= 0; return the register."""
        form = self.domain.folded(form)
        extents = [last - first + 1 for first, last in lanes]
        register = self.register(self.axes_of(form), self.lanes_of(form, extents), dtype)
        starts = tuple(first for first, _ in lanes)
        self.emit(Ramp(register, (), form, starts, condition))
        return register

    def conditions(self, forms: Sequence[Affine], lanes: Sequence[Interval]) -> Register:
        """Emit the conjunction of `form >= 0` for all forms, over lanes; return its register."""
        result: Register | None = None
        for form in forms:
            register = self.ramp(form, lanes, BOOLEAN, condition=True)
            result = register if result is None else self.map(CONJUNCTION, (result, register))
        assert result is not None
        return result

    def map(self, operation: Operation, operands: Sequence[Operand]) -> Register:
        """Emit an elementwise operation on at least one register; return the result's register."""
        first_register, *other_registers = [
            operand for operand in operands if type(operand) is Register
        ]
        axes, lanes = first_register.axes, first_register.lanes
        for register in other_registers:
            if register.axes != axes:
                axes = tuple(map(or_, axes, register.axes))
            if register.lanes != lanes:
                lanes = tuple(map(max, lanes, register.lanes))
        target = self.register(axes, lanes, operation.dtype)
        self.instructions.append(Map(target, tuple(operands), operation))
        return target

    def view(self, register: Register, axes: tuple[int | None, ...]) -> Register:
        """Emit a move of lane axes (None: a new one); return the result's register."""
        lanes = tuple([1 if axis is None else register.lanes[axis] for axis in axes])
        count = len(self.axes)
        target = self.register(register.axes, lanes, register.dtype)
        moved = [None if axis is None else count + axis for axis in axes]
        self.emit(View(target, (register,), (*range(count), *moved)))
        return target

    # -- values --------------------------------------------------------------------------------

    def constant_or_tensor(self, value: Any) -> Constant | Tensor:
        """Return a number as a Constant if it is the same everywhere, else as a Tensor."""
        if type(value) in _MATERIALISED:
            typed: Constant | Tensor = value
            return typed
        if isinstance(value, Integer):
            number = self.constant_of(value)
            dtype = INTEGERS[value.bits]
            if number is not None:
                return Constant(dtype.type(number), value.shape)
            register = self.ramp(value.form, whole(value.shape), dtype, condition=False)
            return Tensor(register, value.shape)
        if isinstance(value, Condition):
            return self._condition(value)
        raise Unplannable(f"a {type(value).__name__} value is used as a number")

    def _condition(self, value: Condition) -> Constant | Tensor:
        open_forms = []
        for form in value.forms:
            low, high = self.extremes(form, value.shape)
            if high < 0:
                return Constant(np.bool_(False), value.shape)
            if low < 0:
                open_forms.append(form)
        if not open_forms:
            return Constant(np.bool_(True), value.shape)
        return Tensor(self.conditions(open_forms, whole(value.shape)), value.shape)

    def padded(self, value: Tensor) -> Tensor:
        """Return a tensor with all lanes in its register, emitting the fill outside its box."""
        if value.box is None:
            return value
        source, fill = value.register, value.fill
        assert fill is not None
        outside: Operand
        axes = source.axes
        if isinstance(fill, Constant):
            outside = fill.value
        else:
            outside = fill.register
            axes = tuple(a or b for a, b in zip(axes, fill.register.axes, strict=True))
        lanes = tuple(
            n if cut is None else extent
            for n, cut, extent in zip(source.lanes, value.box, value.shape, strict=True)
        )
        target = self.register(axes, lanes, source.dtype)
        self.emit(Pad(target, (source, outside), value.box))
        return Tensor(target, value.shape)

    def spread(self, value: Number) -> Tensor:
        """Return a number as a tensor with all lanes repeated in memory and without a box."""
        materialized = self.constant_or_tensor(value)
        if isinstance(materialized, Tensor):
            materialized = self.padded(materialized)
            if materialized.register.lanes == materialized.shape:
                return materialized
            source: Operand = materialized.register
            axes, dtype = materialized.register.axes, materialized.register.dtype
        else:
            source, axes, dtype = (
                materialized.value,
                (False,) * len(self.axes),
                materialized.value.dtype,
            )
        if math.prod(materialized.shape) > MOST_LANES:
            raise Unplannable(f"a tensor has more than {MOST_LANES:,} lanes")
        target = self.register(axes, materialized.shape, dtype)
        self.emit(Pad(target, (source, source), (None,) * len(materialized.shape)))
        return Tensor(target, materialized.shape)

    def in_register(self, value: Number) -> Register:
        """Return a number's register, without a box; it has extent 1 along constant axes."""
        materialized = self.constant_or_tensor(value)
        if isinstance(materialized, Tensor):
            return self.padded(materialized).register
        ones = (1,) * len(materialized.shape)
        target = self.register((False,) * len(self.axes), ones, materialized.value.dtype)
        self.emit(Pad(target, (materialized.value, materialized.value), (None,) * len(ones)))
        return target

    def cropped(self, value: Tensor, box: Box) -> Tensor:
        """Return a tensor whose register has only the lanes inside a box."""
        source = self.padded(value).register
        cuts = tuple(None if n == 1 else cut for n, cut in zip(source.lanes, box, strict=True))
        if all(cut is None for cut in cuts):
            return Tensor(source, value.shape)
        lanes = tuple(
            n if cut is None else cut[1] - cut[0] for n, cut in zip(source.lanes, cuts, strict=True)
        )
        target = self.register(source.axes, lanes, source.dtype)
        self.emit(Crop(target, (source,), cuts))
        return Tensor(target, value.shape)

    def elementwise(
        self, operation: Operation, values: Sequence[Any], shape: tuple[int, ...]
    ) -> Constant | Tensor:
        """Return the result of an operation on values, lane by lane.

        If all operands are constant, it is computed now. If operands share a box, only its lanes
        are computed, and the fill outside once.
        """
        operand_values: list[Any] = [
            v if type(v) in _MATERIALISED else self.constant_or_tensor(v) for v in values
        ]
        tensors = [value for value in operand_values if type(value) is Tensor]
        if tensors and all(tensor.box is None for tensor in tensors):
            operands = [v.register if type(v) is Tensor else v.value for v in operand_values]
            return Tensor(self.map(operation, operands), shape)
        if not tensors:
            arrays = [np.full((1,), value.value) for value in operand_values]
            with np.errstate(all="ignore"):
                result = operation.function(*arrays).astype(operation.dtype, copy=False)
            return Constant(result[0], shape)
        box = _common_box(tensors)
        if box is None:
            operand_values = [
                self.padded(v) if isinstance(v, Tensor) else v for v in operand_values
            ]
        target = self.map(
            operation, [v.register if isinstance(v, Tensor) else v.value for v in operand_values]
        )
        if box is None:
            return Tensor(target, shape)
        outside = [
            v.fill if isinstance(v, Tensor) and v.box is not None else v for v in operand_values
        ]
        return Tensor(target, shape, box, self.elementwise(operation, outside, shape))

    def call(
        self,
        function: Any,
        operands: Sequence[Register],
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[np.dtype[Any]],
    ) -> list[Tensor]:
        """Emit a call on whole arrays; return results, which vary along all program axes."""
        axes = tuple(any(flags) for flags in zip(*(r.axes for r in operands), strict=True))
        targets = tuple(
            self.register(axes, shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
        )
        self.emit(Call(None, tuple(operands), function, targets))
        return [Tensor(t, shape) for t, shape in zip(targets, shapes, strict=True)]


_MATERIALISED = frozenset({Constant, Tensor})


def _common_box(tensors: Sequence[Tensor]) -> Box | None:
    """Return the only box if tensors without one are constant along its axes, else None."""
    boxes = {tensor.box for tensor in tensors if tensor.box is not None}
    if len(boxes) != 1:
        return None
    box = next(iter(boxes))
    for tensor in tensors:
        if tensor.box is None and any(
            cut is not None and n != 1 for cut, n in zip(box, tensor.register.lanes, strict=True)
        ):
            return None
    return box
