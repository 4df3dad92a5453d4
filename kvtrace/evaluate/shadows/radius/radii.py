"""Evaluation with a radius beside each number: how far a device that keeps to the IR may be off.

An instrument of array evaluation. A number gets a radius where a device has a choice: how it rounds
an approximate function, in which order it sums, whether it joins a product with a sum. Radii go
through ops by each op's rule, through memory, loops, branches and calls. Where a number that is not
certain decides a branch, a loop or an address, nothing can be concluded about the launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.dialects.tt_dot import dot_operands
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.device_choice import (
    DeviceChoice,
    commutes,
    device_decides,
    fitted,
    float_sum,
)
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.radius.arith import approximates, rule_of, undefined_by
from kvtrace.evaluate.shadows.radius.tt_dot import Product
from kvtrace.evaluate.shadows.radius.tt_memory import FollowedMemory
from kvtrace.evaluate.shadows.radius.tt_reduce import combination, half_ulp
from kvtrace.evaluate.shadows.radius.ttg import FollowedShared
from kvtrace.evaluate.shadows.values import (
    Uncertain,
    radius_of,
    radius_or_none,
    with_radius,
)
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, actual, to_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.ops import (
    ELEMENTWISE,
    KINDS,
    Kind,
    address_of,
    computing,
    data_of,
    mask_of,
    positions_of,
)

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.ir import Module, Value

_DOTS: Final = computing("dot")


class Radii(DeviceChoice):
    """Follows radii.

    Once an evaluation has ended, `memory` has those of what was stored, and `shared` what came too
    early in the memory that threads share.
    """

    kind = Uncertain
    memory: FollowedMemory | None

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.memory = None
        self.shared: FollowedShared | None = None

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Put a memory with radii in the place of the launch's."""
        super().begin(launch, values)
        self.memory = FollowedMemory(launch.arguments, launch.memory.written)
        launch.memory = self.memory
        self.shared = launch.shared = FollowedShared(prod(launch.grid), self.memory)

    def decided(self, op: Op, value: Value, held: Any, scope: Any) -> None:
        """See that what decides is certain."""
        del value, scope
        if isinstance(held, Uncertain) and np.any(held.shadow > 0):
            raise device_decides(op)

    def computation(self, op: Op, step: Step) -> Step:
        """Wrap an op that makes elements of elements, by its kind."""
        row = KINDS.get(op.name)
        if row is None or row.kind is Kind.GIVEN:
            return step
        if row.kind is Kind.SHARED:
            return self._within_shared(op, step)
        if op.name in _DOTS:
            return self._product(op, step)
        if row.kind is Kind.ADDRESS:
            return self._addressed(op, step)
        if op.name in ELEMENTWISE and len(op.results) == 1:
            return self._elementwise(op, step)
        # A scaled product is made in steps of the compiler's choice.
        return self.unruled(op, step, always=row.kind is Kind.PRODUCT or approximates(op))

    # -- numbers ---------------------------------------------------------------------------------

    def _elementwise(self, op: Op, step: Step) -> Step:
        rule = rule_of(op, self.module)
        types = [value_type(value.type) for value in op.operands]
        result, result_type = op.results[0].id, value_type(op.results[0].type)
        if result_type.pointer or any(type_.pointer for type_ in types):
            return self.unruled(op, step)
        undefined = undefined_by(op)
        run = on_actual(op, step)

        def computed(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            value = values[result]
            if isinstance(value, Unknown) or unknown_of(map(actual, given)) is not None:
                return
            exact = result_type.element.kind != "f" and not _any_uncertain(given)
            if exact and undefined is None:
                return
            arrays = [to_array(actual(each), t) for each, t in zip(given, types, strict=True)]
            radii = [radius_or_none(each) for each in given]
            radius = None if exact else rule(arrays, radii, to_array(value, result_type))
            if undefined is not None:
                open_ = np.where(undefined(arrays), np.inf, 0.0)
                radius = open_ if radius is None else np.maximum(radius, open_)
            values[result] = with_radius(value, radius)

        return computed

    def _product(self, op: Op, step: Step) -> Step:
        product, lost = Product(op), self.unruled(op, step)
        if product.is_exact:
            return lost
        result, operands = op.results[0].id, dot_operands(op)
        names = ("left", "right", "added")
        types = [value_type(op.operand(name).type) for name in names]

        def computed(values: list[Any], scope: Any) -> None:
            given = operands(values, scope)
            stripped = [actual(each) for each in given]
            if unknown_of(stripped) is not None:
                lost(values, scope)
                return
            radii = [radius_or_none(each) for each in given]
            arrays = [to_array(each, t) for each, t in zip(stripped, types, strict=True)]
            value, radius = product.of(arrays, radii)
            values[result] = with_radius(value, radius)

        return computed

    def combination(self, op: Op, step: Step) -> Step:
        """Bound a reduction or a scan."""
        return combination(op, step)

    def _addressed(self, op: Op, step: Step) -> Step:
        """Carry doubt about a pointer on; a descriptor has to be certain."""
        result = op.results[0].id
        rank = len(value_type(op.results[0].type).shape) + 1
        run = on_actual(op, step)

        def addressed(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            doubts = [each.shadow > 0 for each in given if isinstance(each, Uncertain)]
            if not doubts:
                return
            if value_type(op.results[0].type).descriptor or any(d.ndim > rank for d in doubts):
                raise Undecided(f"a descriptor at {place(op)} depends on the device's roundings")
            doubt = np.logical_or.reduce(np.broadcast_arrays(*doubts))
            values[result] = with_radius(values[result], np.where(doubt, np.inf, 0.0))

        return addressed

    def unruled(self, op: Op, step: Step, *, always: bool = False) -> Step:
        """Run an op that no rule is for: in doubt about one operand, all that it gives is."""
        results = [(value.id, len(value_type(value.type).shape) + 1) for value in op.results]
        run = on_actual(op, step)

        def ran(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            if not (always or _any_uncertain(given)):
                return
            for slot, rank in results:
                if not isinstance(values[slot], Unknown):
                    values[slot] = with_radius(values[slot], np.full((1,) * rank, np.inf))

        return ran

    def _within_shared(self, op: Op, step: Step) -> Step:
        """Run an op of shared memory, which keeps radii itself; places and waits are certain."""
        deciding_ones = _deciding_in_shared(op)

        def ran(values: list[Any], scope: Any) -> None:
            for value in deciding_ones:
                self.decided(op, value, values[value.id], scope)
            step(values, scope)

        return ran

    # -- memory ----------------------------------------------------------------------------------

    def access(self, op: Op, step: Step) -> Step:
        """Give memory the radii of what is stored, and take those of what is loaded."""
        pointer, positions, mask = address_of(op), positions_of(op), mask_of(op)
        data = [(value, value_type(value.type)) for value in data_of(op)]
        loads = KINDS[op.name].effect == "load"
        deciding_ones = (*positions, *_deciding_in_shared(op))
        shares = KINDS[op.name].has("shared")
        atomic = KINDS[op.name].effect == "atomic"
        results = [value.id for value in op.results]
        shapes = [(1, *value_type(value.type).shape) for value in op.results]
        sums = _half_ulp_of_sum(op) if atomic else None
        ordered = atomic and self.is_used(op)
        any_order = not atomic or commutes(op)
        run = on_actual(op, step)

        def accessed(values: list[Any], scope: Any) -> None:
            memory = self.memory
            assert memory is not None
            if scope.launch.in_order and not atomic:
                self.see_that_nothing_is_shared(op, values[pointer.id])
            for value in deciding_ones:
                self.decided(op, value, values[value.id], scope)
            held = [values[value.id] for value, _ in data]
            radii = [radius_of(each, type_) for each, (_, type_) in zip(held, data, strict=True)]
            doubt = None if mask is None else values[mask.id]
            masked = radius_or_none(doubt)
            towards = values[pointer.id]
            astray = radius_or_none(towards)
            if astray is not None and not loads:
                raise Undecided(f"where {place(op)} writes depends on the device's roundings")
            if masked is not None and atomic:
                raise Undecided(f"a mask at {place(op)} depends on the device's roundings")
            memory.prepare(radii if _any_uncertain(held) else [], masked, astray, sums)
            run(values, scope)
            if loads and not shares:
                radius = memory.loaded
                if radius is not None and not isinstance(values[results[0]], Unknown):
                    values[results[0]] = with_radius(values[results[0]], fitted(radius, shapes[0]))
            elif not any_order:
                raise Undecided(f"what {place(op)} leaves in memory depends on an order")
            elif ordered and not isinstance(values[results[0]], Unknown):
                whole = np.full((1,) * len(shapes[0]), np.inf)
                values[results[0]] = with_radius(values[results[0]], whole)

        return accessed


def _deciding_in_shared(op: Op) -> tuple[Value, ...]:
    """Return what says where in shared memory an op goes, whether it does, or how long it waits."""
    row = KINDS[op.name]
    names = ("index", "phase", "predicate")
    return tuple(value for name in names if row.has(name) for value in op.group(name))


def _half_ulp_of_sum(op: Op) -> float | None:
    """Return by how much each addition of floats may be off, relatively; None: it adds none."""
    element = float_sum(op)
    return None if element is None else half_ulp(element)


def _any_uncertain(values: Sequence[Any]) -> bool:
    return any(isinstance(value, Uncertain) for value in values)
