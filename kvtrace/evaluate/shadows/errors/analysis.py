"""The two instruments that bound a device's errors, which differ in the roundings that count.

Planes of each number of an evaluation are followed through ops, by each op's rule, and through
memory, loops, branches and calls. The analyses differ in the roundings that count, and so in the
numbers that their bounds lie around:

* `Radii`: roundings in which a device has a choice (how it rounds an approximate function, in which
  order it sums, whether it joins a product with a sum). 1e8 + 1 is 1e8 in float32 on every device
  that keeps to the IR, and has radius 0. Bounds lie around the evaluator's numbers, as checked
  launches need them.
* `Deviations`: all roundings. The exact number is followed, too, and bounds lie around the exact
  number, so that a reference in float64 can be compared with a device's numbers (tolerances).
  1e8 + 1 is 100000001, and 1e8 is within the bound of 6 around that. TTIR only.

Where a number that is not certain decides a branch, a loop or an address, nothing can be concluded
about the launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.arguments import Argument, ScalarArgument, TensorArgument
from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.dialects.tt_dot import dot_operands
from kvtrace.evaluate.engine import evaluate
from kvtrace.evaluate.errors import UNFIT, Undecided, UnfitOp
from kvtrace.evaluate.narrow import narrowing_ops
from kvtrace.evaluate.partitions import needs_clocks
from kvtrace.evaluate.registry import Step, place
from kvtrace.evaluate.scope import Launch
from kvtrace.evaluate.shadows.driver import Shadows, on_actual
from kvtrace.evaluate.shadows.errors.arith import elementwise_rule
from kvtrace.evaluate.shadows.errors.planes import PLANES, NumberWithPlanes
from kvtrace.evaluate.shadows.errors.radius_rules import approximates, undefined_by
from kvtrace.evaluate.shadows.errors.roundings import (
    GrantedRoundings,
    Roundings,
    constants_radius,
    deviations_for,
)
from kvtrace.evaluate.shadows.errors.tt_dot import Product
from kvtrace.evaluate.shadows.errors.tt_memory import (
    BoundedMemory,
    BoundedPartitions,
    BoundedSharedMemory,
    StoragePlanes,
)
from kvtrace.evaluate.shadows.errors.tt_reduce import combination
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Array, Unknown, actual, to_array, unknown_of
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.ops import (
    ELEMENTWISE,
    KINDS,
    MOVING,
    Kind,
    address_of,
    computing,
    mask_of,
    operator_of,
)
from kvtrace.ir.updates import data_of, positions_of, update_of

#: The chance that a right result is farther than `near` somewhere, by default.
CHANCE: Final = 1e-9
_DOTS: Final = computing("dot")
_ADDING: Final = frozenset({"add", "fadd"})
_COMMUTING: Final = frozenset({"add", "and", "or", "xor", "max", "min", "umax", "umin"})


class ErrorAnalysis(Shadows):
    r"""An instrument that computes planes (bounds of errors) for the values of a launch.

    Attributes:
        memory: the launch's memory with planes, complete after an evaluation.
        shared: the memory that threads share; its `faults` are reads before a copy has arrived.
        roundings: the roundings that count.
        open: names of planes that bound nothing any more, because the path of the launch may change
            with roundings as large as these planes allow.
    """

    enters_reductions = True
    memory: BoundedMemory
    shared: BoundedSharedMemory

    def __init__(self, module: Module, roundings: Roundings) -> None:
        super().__init__(module)
        self.kind = roundings.kind
        self.roundings = roundings
        self.open: set[str] = set()
        self._shared_storages: set[int] | None = set()

    def run(
        self, arguments: Sequence[Argument], grid: tuple[int, ...], kernel: str, **options: Any
    ) -> BoundedMemory:
        """Evaluate a launch, and return its complete memory; `options` are those of `evaluate`.

        Raises:
            KvtraceError: The launch cannot be evaluated.
        """
        try:
            evaluate(self.module, arguments, grid, kernel=kernel, instrument=self, **options)
        except UNFIT as error:  # recorded IR may be anything; reported for the launch
            raise UnfitOp(kernel, error) from error
        self.memory.finish()
        return self.memory

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Replace the launch's memory and shared memory by ones with planes."""
        del values
        self._shared_storages = _shared_storages(self.module, launch)
        written = launch.memory.written
        self.memory = launch.memory = BoundedMemory(launch.arguments, written, self.roundings)
        kind = BoundedPartitions if needs_clocks(self.module) else BoundedSharedMemory
        self.shared = launch.shared = kind(prod(launch.grid), memory=self.memory)

    # -- decisions --------------------------------------------------------------------------------

    def decided(self, op: Op, value: Value, operand: Any, scope: Any) -> None:
        """Raise Undecided if a deciding value is uncertain, except with the stated chance."""
        del value, scope
        self._require_certain(
            operand,
            f"the decision at {place(op)} depends on a rounding or an order that the device "
            "chooses",
        )

    def _require_certain(self, value: Any, reason: str) -> None:
        """Raise Undecided if a value is uncertain, except with the stated chance.

        Planes that allow another value are added to `open`.
        """
        if not isinstance(value, NumberWithPlanes):
            return
        planes, roundings = value.shadow, self.roundings
        if np.any(planes[roundings.deciding] > 0):
            raise Undecided(reason)
        self.open |= {plane for plane in roundings.open if np.any(planes[plane] > 0)}

    def _require_unshared(self, op: Op, pointer: Any) -> None:
        """Raise Undecided if a pointer goes to a storage that is both read and written."""
        storages = self.memory.storages_of(actual(pointer))
        if self._shared_storages is None or not storages.isdisjoint(self._shared_storages):
            raise Undecided(
                f"at {place(op)} programs access memory that other programs write, so their order "
                "matters"
            )

    # -- ops --------------------------------------------------------------------------------------

    def wrapped(self, op: Op, step: Step) -> Step:
        """Return an op's step with planes.

        Elements that are repeated share their random errors. The order of `cat` is the compiler's
        choice, so its results may be any number.
        """
        if operator_of(op) == "cat":
            return self._unbounded_step(op, step, always=True)
        wrapped = super().wrapped(op, step)
        if op.name not in MOVING or KINDS[op.name].kind not in (Kind.SPREAD, Kind.PICKED):
            return wrapped
        results = [value.id for value in op.results]

        def spread(values: list[Any], scope: Any) -> None:
            wrapped(values, scope)
            for slot in results:
                if isinstance(values[slot], NumberWithPlanes):
                    values[slot] = values[slot].shared()

        return spread if self.roundings.all_count else wrapped

    def computation(self, op: Op, step: Step) -> Step:
        """Return the step of a computing op with planes, by the op's kind."""
        row = KINDS.get(op.name)
        if row is None:
            return step
        if row.kind is Kind.GIVEN:
            return self._constant_step(op, step)
        if row.kind is Kind.SHARED:
            return self._shared_memory_step(op, step)
        if op.name in _DOTS:
            return self._product_step(op, step)
        if row.kind is Kind.ADDRESS:
            return self._address_step(op, step)
        if op.name in ELEMENTWISE and len(op.results) == 1:
            return self._elementwise_step(op, step)
        # A scaled product is made in steps of the compiler's choice.
        return self._unbounded_step(op, step, always=row.kind is Kind.PRODUCT or approximates(op))

    def combination(self, op: Op, step: Step) -> Step:
        """Return the step of a reduction or a scan with planes."""
        return combination(op, step, self.roundings)

    def _constant_step(self, op: Op, step: Step) -> Step:
        """Return the step of a constant, rounded by the compiler if all roundings count."""
        type_ = value_type(op.results[0].type) if len(op.results) == 1 else None
        is_float = type_ is not None and type_.element.kind == "f"
        if operator_of(op) != "constant" or not is_float or not self.roundings.all_count:
            return step
        assert type_ is not None
        result, element = op.results[0].id, type_.element

        def run_with_rounding(values: list[Any], scope: Any) -> None:
            step(values, scope)
            values[result] = _rounded_constant(values[result], element)

        return run_with_rounding

    def _elementwise_step(self, op: Op, step: Step) -> Step:
        result, result_type = op.results[0].id, value_type(op.results[0].type)
        types = [value_type(value.type) for value in op.operands]
        if result_type.pointer or any(type_.pointer for type_ in types) or approximates(op):
            return self._unbounded_step(op, step, always=approximates(op))
        rule = elementwise_rule(op, self.module, self.roundings)
        integers = result_type.element.kind != "f"
        undefined = undefined_by(op) if self.roundings.bounded else None
        run = on_actual(op, step)

        def computed(values: list[Any], scope: Any) -> None:
            operands = run(values, scope)
            value = values[result]
            if isinstance(value, Unknown) or unknown_of(map(actual, operands)) is not None:
                return
            if not integers or any(isinstance(value, NumberWithPlanes) for value in operands):
                bounded = rule(operands, to_array(value, result_type))
                values[result] = value if bounded is None else bounded
            if undefined is not None:
                arrays = [
                    to_array(actual(operand), t) for operand, t in zip(operands, types, strict=True)
                ]
                values[result] = self._without_bounds(values[result], undefined(arrays))

        return computed

    def _without_bounds(self, value: Any, where: Array) -> Any:
        """Return a value with infinite bounds in the elements where `where` is true."""
        if not where.any():
            return value
        unbounded = self.roundings.unbounded(where)
        if isinstance(value, NumberWithPlanes):
            shape = np.broadcast_shapes(unbounded.shape, value.shadow.shape)
            unbounded = np.where(where, unbounded, np.broadcast_to(value.shadow, shape))
        return self.roundings.with_planes(value, unbounded)

    def _product_step(self, op: Op, step: Step) -> Step:
        product = Product(op, self.roundings)
        if product.is_exact:
            return self._unbounded_step(op, step)
        result, operands_of = op.results[0].id, dot_operands(op)
        slots = slots_of(op.operand(name) for name in ("left", "right", "added"))

        def computed(values: list[Any], scope: Any) -> None:
            operands = operands_of(values, scope)
            numbers = [actual(operand) for operand in operands]
            unknown = unknown_of(numbers)
            if unknown is not None:
                values[result] = unknown
                return
            value = None
            if self.roundings.all_count:
                given = [values[slot] for slot in slots]
                for slot, number in zip(slots, numbers, strict=True):
                    values[slot] = number  # read only once, as copies may arrive
                step(values, scope)
                for slot, operand in zip(slots, given, strict=True):
                    values[slot] = operand
                value = values[result]
            values[result] = product.of(operands, value)

        return computed

    def _address_step(self, op: Op, step: Step) -> Step:
        """Return the step of an address op: pointers may be uncertain, descriptors not."""
        result, result_type = op.results[0].id, value_type(op.results[0].type)
        rank, roundings = len(result_type.shape) + 1, self.roundings
        run = on_actual(op, step)

        def addressed(values: list[Any], scope: Any) -> None:
            doubtful = [
                operand for operand in run(values, scope) if isinstance(operand, NumberWithPlanes)
            ]
            if not (doubtful and roundings.bounded) or isinstance(values[result], Unknown):
                return
            if result_type.descriptor or any(operand.shadow.ndim > rank for operand in doubtful):
                for operand in doubtful:
                    self._require_certain(
                        operand, f"a descriptor at {place(op)} depends on the device's roundings"
                    )
                return
            values[result] = roundings.with_planes(
                values[result], roundings.unbounded_where_uncertain(doubtful)
            )

        return addressed

    def _unbounded_step(self, op: Op, step: Step, *, always: bool = False) -> Step:
        """Return the step of an op without a rule; uncertain operands give unbounded results."""
        types = [value_type(value.type) for value in op.results]
        results = [
            (value.id, len(type_.shape) + 1) for value, type_ in zip(op.results, types, strict=True)
        ]
        is_float = [type_.element.kind == "f" and not type_.pointer for type_ in types]
        roundings = self.roundings
        run = on_actual(op, step)

        def ran(values: list[Any], scope: Any) -> None:
            doubts = [
                operand.shadow
                for operand in run(values, scope)
                if isinstance(operand, NumberWithPlanes)
            ]
            if not (always or doubts):
                return
            for (slot, rank), holds_floats in zip(results, is_float, strict=True):
                if isinstance(values[slot], Unknown) or not (roundings.bounded or holds_floats):
                    continue
                planes = roundings.zeros((1,) * rank)
                if not roundings.bounded:
                    planes["off"] = np.nan
                for plane in roundings.open if roundings.bounded else ():
                    if always or any(np.any(doubt[plane] > 0) for doubt in doubts):
                        planes[plane] = np.inf
                values[slot] = roundings.with_planes(values[slot], planes)

        return ran

    # -- memory -----------------------------------------------------------------------------------

    def _shared_memory_step(self, op: Op, step: Step) -> Step:
        """Return the step of an op of shared memory, whose positions and waits must be certain."""
        deciding = _deciding_in_shared(op)

        def ran(values: list[Any], scope: Any) -> None:
            for value in deciding:
                self.decided(op, value, values[value.id], scope)
            step(values, scope)

        return ran

    def access(self, op: Op, step: Step) -> Step:
        """Return the step of a memory access that stores and loads planes with the elements."""
        pointer, mask, data = address_of(op), mask_of(op), data_of(op)
        deciding = (*positions_of(op), *_deciding_in_shared(op))
        effect, shares = KINDS[op.name].effect, KINDS[op.name].has("shared")
        loads, atomic = effect == "load", effect == "atomic"
        results = [value.id for value in op.results]
        shapes = [(1, *value_type(value.type).shape) for value in op.results]
        adds = _float_sum(op) if atomic else None
        used = atomic and bool(op.results) and bool(flow_of(self.module).uses(op.results[0]))
        any_order = not atomic or adds is not None or update_of(op) in _COMMUTING
        roundings = self.roundings
        run = on_actual(op, step)

        def accessed(values: list[Any], scope: Any) -> None:
            memory = self.memory
            address, mask_lanes = values[pointer.id], None if mask is None else values[mask.id]
            if scope.launch.in_order and not atomic:
                self._require_unshared(op, address)
            for value in deciding:
                self.decided(op, value, values[value.id], scope)
            if not loads:
                self._require_certain(
                    address,
                    f"the address that {place(op)} writes depends on the device's roundings",
                )
            if atomic:
                self._require_certain(
                    mask_lanes, f"a mask at {place(op)} depends on the device's roundings"
                )
            doubtful = [
                operand
                for operand in (address, mask_lanes)
                if isinstance(operand, NumberWithPlanes)
            ]
            doubt = roundings.unbounded_where_uncertain(doubtful) if doubtful else None
            memory.prepare([values[value.id] for value in data], doubt, adds)
            run(values, scope)
            if not any_order:
                raise Undecided(
                    f"the memory that {place(op)} updates depends on the order of updates"
                )
            planes = None
            if loads and not shares:
                planes = memory.loaded
            elif used:
                planes = roundings.unbounded(np.ones((1,) * len(shapes[0])))
            if planes is not None and not isinstance(values[results[0]], Unknown):
                planes, births = roundings.fitted(planes, shapes[0]), roundings.all_births
                values[results[0]] = roundings.with_planes(values[results[0]], planes, None, births)

        return accessed


class Radii(ErrorAnalysis):
    """Analysis whose bounds lie around the evaluator's numbers, for TTIR and TTGIR."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, Roundings(all_count=False))


class Deviations(ErrorAnalysis):
    """Analysis that follows exact numbers, and bounds a device's distance from them."""

    def __init__(
        self,
        module: Module,
        *,
        chance: float = CHANCE,
        granted: GrantedRoundings | None = None,
        before: Mapping[int, StoragePlanes] | None = None,
        bounded: bool = True,
    ) -> None:
        """Prepare to follow the planes of a module's evaluations.

        Args:
            module: The module to evaluate.
            chance: The chance that a right result is farther than `near` somewhere.
            granted: The kernel's own roundings that are granted.
            before: The planes that an earlier launch left in memory, by the storage's id. They
                are copied.
            bounded: Whether bounds are followed. If not, exact numbers alone are: the results of
                the kernel's formula for the numbers in memory, on the evaluator's path.

        """
        granted = granted or GrantedRoundings()
        narrow = () if granted.narrow else narrowing_ops(module)
        counted_wide = frozenset(op.index for op in narrow)
        super().__init__(
            module,
            Roundings(all_count=True, granted=granted, narrow=counted_wide, bounded=bounded),
        )
        self._chance = chance
        self._before = before or {}

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Set the planes of an earlier launch in memory, and those of rounded float scalars."""
        super().begin(launch, values)
        tensors = [entry for entry in launch.arguments if isinstance(entry, TensorArgument)]
        elements = sum(prod(tensor.shape) for tensor in tensors)
        self.roundings.deviations = deviations_for(self._chance, elements)
        for storage, (size, phase, planes) in self._before.items():
            self.memory.planes.by_storage[storage] = (size, phase, planes.copy())
        parameters = zip(self.module.main.arguments, launch.arguments, strict=False)
        for parameter, argument in parameters:
            type_ = value_type(parameter.type)
            if isinstance(argument, ScalarArgument) and type_.element.kind == "f":
                scalar = values[parameter.id]
                if isinstance(argument.value, float) and not isinstance(scalar, Unknown):
                    values[parameter.id] = _rounded_constant(scalar, type_.element, argument.value)


def _rounded_constant(constant: Any, element: ElementType, written: float | None = None) -> Any:
    """Return a constant with planes if it is rounded; `written` is the number before."""
    array = np.asarray(actual(constant))
    values = array.astype(np.float64)
    radius = constants_radius(element.name, values)
    off = np.zeros(values.shape) if written is None else written - values
    off = np.where(np.isfinite(off), off, 0.0)
    if written is not None:
        radius = np.where(off == 0, 0.0, radius)
    if not (radius.any() or off.any()):
        return constant
    planes = np.zeros(values.shape, PLANES)
    planes["off"] = off
    for plane in ("worst", "meaning", "near", "bias"):
        planes[plane] = radius
    return NumberWithPlanes(actual(constant), planes)


def _float_sum(op: Op) -> ElementType | None:
    """Return the element type of an atomic addition of floats; None for other atomics."""
    element = value_type(op.operand("value").type).element
    return element if element.kind == "f" and update_of(op) in _ADDING else None


def _deciding_in_shared(op: Op) -> tuple[Value, ...]:
    """Return the operands (index, phase, predicate) that an op of shared memory depends on."""
    row = KINDS[op.name]
    names = ("index", "phase", "predicate")
    return tuple(value for name in names if row.has(name) for value in op.group(name))


def _shared_storages(module: Module, launch: Launch) -> set[int] | None:
    """Return ids of storages that a launch reads and writes; None if a program waits."""
    kinds: dict[int, set[str]] = {}
    for site in memory_sites(module):
        if site.waits:
            return None
        for position, argument in enumerate(launch.arguments):
            if isinstance(argument, TensorArgument) and site.reaches(position):
                kinds.setdefault(id(argument.storage), set()).add(site.kind)
    return {storage for storage, accesses in kinds.items() if len(accesses) > 1}
