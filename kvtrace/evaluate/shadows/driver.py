"""The instrument that carries shadows of any kind through ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Pointer,
    PointerChoice,
    ShadowedValue,
    Unknown,
    actual,
    with_common_dtype,
)
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import counter_of, deciding
from kvtrace.ir.ops import BRANCHES, CALLS, COMBINING, LOOPS, MEMORY, MOVING, computing

_BITCASTS: Final = computing("bitcast")


class Shadows(Instrument):
    """An instrument that carries shadows of one kind; subclasses compute shadows of ops."""

    kind: type[ShadowedValue]

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def decided(self, op: Op, value: Value, operand: Any, scope: Any) -> None:
        """Inspect a value that decides a branch or jump; the op gets it without its shadow."""
        raise NotImplementedError

    def lost(self, operands: Sequence[Any]) -> None:
        """Note that the shadows of an op's operands are dropped, because a result is unknown."""

    def access(self, op: Op, step: Step) -> Step:
        """Return the step of a memory access, which loads or stores shadows as well."""
        raise NotImplementedError

    def combination(self, op: Op, step: Step) -> Step:
        """Return the step of a reduction or a scan, which computes shadows as well."""
        raise NotImplementedError

    def computation(self, op: Op, step: Step) -> Step:
        """Return the step of any other computing op, which computes shadows as well."""
        raise NotImplementedError

    def wrapped(self, op: Op, step: Step) -> Step:
        """Return the step of an op with shadows, by the op's kind."""
        name = op.name
        if name in MEMORY:
            return self.access(op, step)
        if name in BRANCHES or counter_of(op) is not None:
            return self._decision(op, step)
        if (
            name in LOOPS or name in CALLS
        ):  # `ending` inspects their deciders; operands keep shadows
            return step
        if name in COMBINING:
            return self.combination(op, step)
        if name in MOVING or _is_identity_bitcast(op):
            return self._motion(op, step)
        return self.computation(op, step)

    def ending(self, op: Op) -> Step | None:
        """Return a step that inspects what decides a jump or a loop's next trip, or None."""
        deciders = deciding(op)

        def inspect(values: list[Any], scope: Any) -> None:
            self._decide(op, deciders, values, scope)

        return inspect if deciders else None

    def _decision(self, op: Op, step: Step) -> Step:
        """Return a step that inspects a branch's or loop's deciding values, then runs the op."""
        deciders = deciding(op)

        def inspect_and_run(values: list[Any], scope: Any) -> None:
            shadowed = self._decide(op, deciders, values, scope)
            step(values, scope)
            for value, operand in zip(deciders, shadowed, strict=True):
                values[value.id] = operand

        return inspect_and_run

    def _decide(
        self, op: Op, deciders: Sequence[Value], values: list[Any], scope: Any
    ) -> list[Any]:
        """Inspect the deciding values and remove their shadows; return them with their shadows."""
        shadowed = [values[value.id] for value in deciders]
        for value, operand in zip(deciders, shadowed, strict=True):
            self.decided(op, value, operand, scope)
            values[value.id] = actual(operand)
        return shadowed

    def _motion(self, op: Op, step: Step) -> Step:
        """Return a step that runs an op that moves elements on the values, and on the shadows."""
        slots, results = slots_of(op.operands), slots_of(op.results)
        types = [value_type(value.type) for value in op.operands]
        moves, run = op.name in MOVING, on_actual(op, step)

        def move(values: list[Any], scope: Any) -> None:
            operands = run(values, scope)
            if not [operand for operand in operands if isinstance(operand, ShadowedValue)]:
                return
            outcome = [values[slot] for slot in results]
            if any(map(is_unknown, (*operands, *outcome))):
                self.lost(operands)
                return
            shadows = with_common_dtype(
                [
                    self.kind.shadow_of(operand, type_)
                    for operand, type_ in zip(operands, types, strict=True)
                ]
            )
            if moves:
                for slot, shadow in zip(slots, shadows, strict=True):
                    values[slot] = shadow
                step(values, scope)
                shadows = [values[slot] for slot in results]
                for slot, operand in zip(slots, operands, strict=True):
                    values[slot] = operand
            for slot, value, shadow in zip(results, outcome, shadows, strict=True):
                values[slot] = self.kind.joined(value, shadow, operands)

        return move


def on_actual(op: Op, step: Step) -> Callable[[list[Any], Any], list[Any]]:
    """Return a function that runs a step without shadows, and returns operands with them."""
    slots = slots_of(op.operands)

    def run_without_shadows(values: list[Any], scope: Any) -> list[Any]:
        operands = [values[slot] for slot in slots]
        for operand in operands:
            if isinstance(operand, ShadowedValue):
                break
        else:
            step(values, scope)
            return operands
        for slot, operand in zip(slots, operands, strict=True):
            values[slot] = actual(operand)
        step(values, scope)
        for slot, operand in zip(slots, operands, strict=True):
            values[slot] = operand
        return operands

    return run_without_shadows


def is_unknown(value: Any) -> bool:
    """Return whether a value, or a pointer's address, depends on data that was not recorded."""
    value = actual(value)
    if isinstance(value, Pointer):
        return isinstance(value.offset, Unknown)
    if isinstance(value, PointerChoice):
        return is_unknown(value.first) or is_unknown(value.second)
    return isinstance(value, Unknown)


def _is_identity_bitcast(op: Op) -> bool:
    if op.name not in _BITCASTS:
        return False
    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    return source.pointer or source.element == target.element
