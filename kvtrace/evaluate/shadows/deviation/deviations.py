"""Evaluation with, beside each number, the exact one and bounds of a device's distance from it.

An instrument of array evaluation, for TTIR. `radius/` bounds the distance from the evaluator's own
numbers, where it rounds as a device does; here all roundings count, so that what is computed in
another way, as a reference in float64, can be compared with a device's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.evaluate.dialects.tt_dot import dot_operands
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.deviation.arith import elementwise_rule
from kvtrace.evaluate.shadows.deviation.planes import OPEN, PLANES, Deviating, opened
from kvtrace.evaluate.shadows.deviation.roundings import (
    Granted,
    Noise,
    constants_radius,
    deviations_for,
)
from kvtrace.evaluate.shadows.deviation.tt_dot import Product
from kvtrace.evaluate.shadows.deviation.tt_memory import DeviatingMemory
from kvtrace.evaluate.shadows.deviation.tt_reduce import combination
from kvtrace.evaluate.shadows.device_choice import (
    DeviceChoice,
    commutes,
    device_decides,
    fitted,
    float_sum,
)
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.radius.arith import approximates
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Unknown, actual, to_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.ops import (
    ELEMENTWISE,
    KINDS,
    MOVING,
    Kind,
    address_of,
    computing,
    data_of,
    mask_of,
    operator_of,
    positions_of,
)

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.evaluate.shadows.shadow_memory import Kept
    from kvtrace.ir import Module, Value

#: The chance that a right result is farther than `near` somewhere, by default.
CHANCE: Final = 1e-9
_DOTS: Final = computing("dot")


class Deviations(DeviceChoice):
    """Follows planes.

    `before` has the planes of what the launch finds in memory, by the storage's id: those that an
    earlier launch left there. They are copied. Without `bounded`, exact numbers are followed alone:
    what the kernel's formula gives for the exact numbers in memory, and on the evaluator's path.

    Attributes:
        memory: once an evaluation has ended, what was stored, with planes.
        noise: what roundings count.
        open: bounds of which nothing is known any more, for the path of the launch depends on
            roundings as large as they allow.

    """

    kind = Deviating
    memory: DeviatingMemory | None

    def __init__(
        self,
        module: Module,
        *,
        chance: float = CHANCE,
        granted: Granted | None = None,
        before: Mapping[int, Kept] | None = None,
        bounded: bool = True,
    ) -> None:
        super().__init__(module)
        granted = granted or Granted()
        narrow = () if granted.narrow else (*narrow_sums(module), *foreign_roundings(module))
        self.noise = Noise(0.0, granted, frozenset(op.index for op in narrow), bounded)
        self.memory = None
        self.open: set[str] = set()
        self._chance = chance
        self._before = before or {}

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Put a memory with planes in the place of the launch's; scalars are rounded, too."""
        super().begin(launch, values)
        tensors = [each for each in launch.arguments if isinstance(each, TensorArgument)]
        elements = sum(prod(tensor.shape) for tensor in tensors)
        self.noise.deviations = deviations_for(self._chance, elements)
        written = launch.memory.written
        self.memory = launch.memory = DeviatingMemory(launch.arguments, written, self.noise)
        for storage, (size, phase, planes) in self._before.items():
            self.memory.planes.kept[storage] = (size, phase, planes.copy())
        parameters = zip(self.module.main.arguments, launch.arguments, strict=False)
        for parameter, argument in parameters:
            type_ = value_type(parameter.type)
            if isinstance(argument, ScalarArgument) and type_.element.kind == "f":
                held = values[parameter.id]
                if isinstance(argument.value, float) and not isinstance(held, Unknown):
                    values[parameter.id] = _constant(held, type_.element, argument.value)

    # -- ops --------------------------------------------------------------------------------------

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap an op; elements that are repeated share what is random in them."""
        found = super().wrapped(op, step)
        if op.name not in MOVING or KINDS[op.name].kind not in (Kind.SPREAD, Kind.PICKED):
            return found
        results = [value.id for value in op.results]

        def spread(values: list[Any], scope: Any) -> None:
            found(values, scope)
            for slot in results:
                if isinstance(values[slot], Deviating):
                    values[slot] = values[slot].shared()

        return spread

    def decided(self, op: Op, value: Value, held: Any, scope: Any) -> None:
        """See that what decides is certain, except with the stated chance."""
        del value, scope
        if not isinstance(held, Deviating):
            return
        if np.any(held.shadow["near"] > 0):
            raise device_decides(op)
        self.open |= {plane for plane in OPEN if np.any(held.shadow[plane] > 0)}

    def computation(self, op: Op, step: Step) -> Step:
        """Wrap an op that makes elements of elements, by its kind."""
        row = KINDS.get(op.name)
        if row is None:
            return step
        if row.kind is Kind.GIVEN:
            return self._given(op, step)
        if op.name in _DOTS:
            return self._product(op, step)
        if row.kind is Kind.ADDRESS:
            return self.unruled(op, step)
        if op.name in ELEMENTWISE and len(op.results) == 1:
            return self._elementwise(op, step)
        return self.unruled(op, step, always=row.kind is Kind.PRODUCT or approximates(op))

    def _given(self, op: Op, step: Step) -> Step:
        """Doubt constants: they were rounded when the kernel was compiled."""
        type_ = value_type(op.results[0].type) if len(op.results) == 1 else None
        if operator_of(op) != "constant" or type_ is None or type_.element.kind != "f":
            return step
        result = op.results[0].id

        def given(values: list[Any], scope: Any) -> None:
            step(values, scope)
            values[result] = _constant(values[result], type_.element)

        return given

    def _elementwise(self, op: Op, step: Step) -> Step:
        result, result_type = op.results[0].id, value_type(op.results[0].type)
        types = [value_type(value.type) for value in op.operands]
        if result_type.pointer or any(type_.pointer for type_ in types) or approximates(op):
            return self.unruled(op, step, always=approximates(op))
        rule = elementwise_rule(op, self.module, self.noise)
        integers = result_type.element.kind != "f"
        run = on_actual(op, step)

        def computed(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            value = values[result]
            if isinstance(value, Unknown) or unknown_of(map(actual, given)) is not None:
                return
            if integers and not _any_deviating(given):
                return
            found = rule(given, to_array(value, result_type))
            if found is not None:
                values[result] = found

        return computed

    def _product(self, op: Op, step: Step) -> Step:
        product, lost = Product(op, self.noise), self.unruled(op, step)
        if product.is_exact:
            return lost
        result, operands = op.results[0].id, dot_operands(op)
        run = on_actual(op, step)

        def computed(values: list[Any], scope: Any) -> None:
            given = operands(values, scope)
            run(values, scope)
            value = values[result]
            if not isinstance(value, Unknown):
                values[result] = product.of(given, value)

        return computed

    def combination(self, op: Op, step: Step) -> Step:
        """Bound a reduction or a scan."""
        return combination(op, step, self.noise)

    def unruled(self, op: Op, step: Step, *, always: bool = False) -> Step:
        """Run an op that no rule is for: in doubt about one operand, all that it gives is."""
        types = [value_type(value.type) for value in op.results]
        results = [
            (value.id, len(type_.shape) + 1) for value, type_ in zip(op.results, types, strict=True)
        ]
        is_float = [type_.element.kind == "f" and not type_.pointer for type_ in types]
        bounded = self.noise.bounded
        run = on_actual(op, step)

        def ran(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            doubts = [each.shadow for each in given if isinstance(each, Deviating)]
            if not (always or doubts):
                return
            for (slot, rank), floats in zip(results, is_float, strict=True):
                if isinstance(values[slot], Unknown) or not (bounded or floats):
                    continue
                planes = np.zeros((1,) * rank, PLANES)
                if not bounded:
                    planes["off"] = np.nan
                for plane in OPEN if bounded else ():
                    if always or any(np.any(doubt[plane] > 0) for doubt in doubts):
                        planes[plane] = np.inf
                values[slot] = Deviating(values[slot], planes)

        return ran

    # -- memory -----------------------------------------------------------------------------------

    def access(self, op: Op, step: Step) -> Step:
        """Give memory the planes of what is stored, and take those of what is loaded."""
        pointer, mask = address_of(op), mask_of(op)
        data, positions = data_of(op), positions_of(op)
        effect = KINDS[op.name].effect
        loads, atomic = effect == "load", effect == "atomic"
        results = [value.id for value in op.results]
        shapes = [(1, *value_type(value.type).shape) for value in op.results]
        adds = _type_of_sum(op) if atomic else None
        used = atomic and self.is_used(op)
        any_order = not atomic or commutes(op)
        run = on_actual(op, step)

        def accessed(values: list[Any], scope: Any) -> None:
            memory = self.memory
            assert memory is not None
            if scope.launch.in_order and not atomic:
                self.see_that_nothing_is_shared(op, values[pointer.id])
            for value in positions:
                self.decided(op, value, values[value.id], scope)
            doubts = [
                values[each.id]
                for each in (pointer, mask)
                if each is not None and isinstance(values[each.id], Deviating)
            ]
            if doubts and (atomic or (isinstance(values[pointer.id], Deviating) and not loads)):
                self.decided(op, pointer, doubts[0], scope)
            memory.stored = [values[value.id] for value in data]
            memory.doubt = doubts[0].shadow if doubts else None
            memory.adds = adds
            run(values, scope)
            if loads:
                planes = memory.loaded
                if planes is not None and not isinstance(values[results[0]], Unknown):
                    fits = planes.ndim == len(shapes[0])
                    planes = planes if fits else opened(fitted(planes["near"], shapes[0]))
                    values[results[0]] = Deviating(
                        values[results[0]], planes, None, self.noise.all_births
                    )
            elif not any_order:
                raise Undecided(f"what {place(op)} leaves in memory depends on an order")
            elif used and not isinstance(values[results[0]], Unknown):
                values[results[0]] = Deviating(
                    values[results[0]], opened(np.full((1,) * len(shapes[0]), np.inf))
                )

        return accessed


def _constant(held: Any, element: ElementType, written: float | None = None) -> Any:
    """Return a constant with its planes; `written` is what it was before it was rounded."""
    array = np.asarray(actual(held))
    values = array.astype(np.float64)
    radius = constants_radius(element.name, values)
    off = np.zeros(values.shape) if written is None else written - values
    off = np.where(np.isfinite(off), off, 0.0)
    if not (radius.any() or off.any()):
        return held
    planes = np.zeros(values.shape, PLANES)
    planes["off"] = off
    for plane in OPEN:
        planes[plane] = radius
    return Deviating(actual(held), planes)


def _type_of_sum(op: Op) -> str | None:
    """Return the type that an atomic addition of floats rounds to; None: it adds none."""
    element = float_sum(op)
    return None if element is None else element.name


def _any_deviating(values: Sequence[Any]) -> bool:
    return any(isinstance(value, Deviating) for value in values)
