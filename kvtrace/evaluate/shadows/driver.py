"""The instrument that follows shadows: what is the same whatever the shadow is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Pointer,
    PointerChoice,
    Shadowed,
    Unknown,
    actual,
    of_one_dtype,
)
from kvtrace.ir.flow import counter_of, deciding
from kvtrace.ir.ops import BRANCHES, CALLS, COMBINING, LOOPS, MEMORY, MOVING, computing

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Module, Op, Value

_BITCASTS: Final = computing("bitcast")


class Shadows(Instrument):
    """Follows the shadows of one kind: what memory, reductions and other ops do is its own."""

    kind: type[Shadowed]

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def decided(self, op: Op, value: Value, held: Any, scope: Any) -> None:
        """Look at a value that decides a branch, a jump or a loop: it goes there without shadow."""
        raise NotImplementedError

    def lost(self, given: Sequence[Any]) -> None:
        """Note that the shadows of some values go no further."""

    def access(self, op: Op, step: Step) -> Step:
        """Wrap an access of memory."""
        raise NotImplementedError

    def combination(self, op: Op, step: Step) -> Step:
        """Wrap a reduction or a scan."""
        raise NotImplementedError

    def computation(self, op: Op, step: Step) -> Step:
        """Wrap an op that makes elements of elements."""
        raise NotImplementedError

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap an op by its kind."""
        name = op.name
        if name in MEMORY:
            return self.access(op, step)
        if name in BRANCHES or counter_of(op) is not None:
            return self._decision(op, step)
        if name in LOOPS or name in CALLS:  # `ending` sees what continues, and what is passed
            return step
        if name in COMBINING:
            return self.combination(op, step)
        if name in MOVING or _leaves_elements(op):
            return self._motion(op, step)
        return self.computation(op, step)

    def ending(self, op: Op) -> Step | None:
        """Look at what decides a jump, or whether a loop continues."""
        found = deciding(op)

        def ended(values: list[Any], scope: Any) -> None:
            self._decide(op, found, values, scope)

        return ended if found else None

    def _decision(self, op: Op, step: Step) -> Step:
        """Look at what decides a branch or a loop's bounds; what a loop carries is carried."""
        found = deciding(op)

        def controlled(values: list[Any], scope: Any) -> None:
            kept = self._decide(op, found, values, scope)
            step(values, scope)
            for value, held in zip(found, kept, strict=True):
                values[value.id] = held

        return controlled

    def _decide(self, op: Op, found: Sequence[Value], values: list[Any], scope: Any) -> list[Any]:
        """Look at values, which continue without a shadow; return them as they were."""
        kept = [values[value.id] for value in found]
        for value, held in zip(found, kept, strict=True):
            self.decided(op, value, held, scope)
            values[value.id] = actual(held)
        return kept

    def _motion(self, op: Op, step: Step) -> Step:
        """Move shadows as the elements: the step does not look at them."""
        slots, results = slots_of(op.operands), slots_of(op.results)
        types = [value_type(value.type) for value in op.operands]
        moves, run = op.name in MOVING, on_actual(op, step)

        def moved(values: list[Any], scope: Any) -> None:
            given = run(values, scope)
            if not [each for each in given if isinstance(each, Shadowed)]:
                return
            outcome = [values[slot] for slot in results]
            if any(map(is_unknown, (*given, *outcome))):
                self.lost(given)
                return
            shadows = of_one_dtype(
                [self.kind.shadow_of(each, type_) for each, type_ in zip(given, types, strict=True)]
            )
            if moves:
                for slot, shadow in zip(slots, shadows, strict=True):
                    values[slot] = shadow
                step(values, scope)
                shadows = [values[slot] for slot in results]
                for slot, each in zip(slots, given, strict=True):
                    values[slot] = each
            for slot, value, shadow in zip(results, outcome, shadows, strict=True):
                values[slot] = self.kind.joined(value, shadow, given)

        return moved


def on_actual(op: Op, step: Step) -> Callable[[list[Any], Any], list[Any]]:
    """Return what runs a step on what the kernel computes; it gives the operands, with shadows."""
    slots = slots_of(op.operands)

    def ran(values: list[Any], scope: Any) -> list[Any]:
        given = [values[slot] for slot in slots]
        for each in given:
            if isinstance(each, Shadowed):
                break
        else:
            step(values, scope)
            return given
        for slot, each in zip(slots, given, strict=True):
            values[slot] = actual(each)
        step(values, scope)
        for slot, each in zip(slots, given, strict=True):
            values[slot] = each
        return given

    return ran


def is_unknown(value: Any) -> bool:
    """Tell whether a value, or where a pointer goes, depends on what was not recorded."""
    value = actual(value)
    if isinstance(value, Pointer):
        return isinstance(value.offset, Unknown)
    if isinstance(value, PointerChoice):
        return is_unknown(value.first) or is_unknown(value.second)
    return isinstance(value, Unknown)


def _leaves_elements(op: Op) -> bool:
    """Whether an op is a bitcast that changes no element."""
    if op.name not in _BITCASTS:
        return False
    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    return source.pointer or source.element == target.element
