"""Evaluation with a second number beside each integer: what it would be without a width.

An instrument of array evaluation. Where an op wraps around, its result becomes a `Wrapped` value,
whose ideal number is carried on through casts, branches, loops, reductions and calls. Where a
number decides something (an address in the lanes that are active, a mask, a branch, a loop's
bounds, an index that is stored) both are compared: that is where a wrap shows. One that cancels,
is masked off or never used does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.evaluate.dialects.tt_reduce import simple_ufunc
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    Unknown,
    Wrapped,
    actual,
    ideal_numbers,
)
from kvtrace.ir import Op
from kvtrace.ir.flow import counter_of, deciding
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    ELEMENTWISE,
    FILLING,
    GROWING,
    LOOPS,
    MEMORY,
    MIXING,
    MOVING,
    SIGNED,
    UNSIGNED,
    address_of,
    computing,
    mask_of,
    operator_of,
    positions_of,
)
from kvtrace.symbolic.hashes import is_hash, makes_hash
from kvtrace.symbolic.walk_types import integer_bits, number_of
from kvtrace.verdicts.deciding import Purpose, deciding_ops, stored_index, unsigned_differences
from kvtrace.verdicts.exact_integers import (
    BINARY,
    TooLarge,
    combined,
    is_unsigned,
    limits,
    narrowed,
    read_unsigned,
)
from kvtrace.verdicts.ideal_meanings import (
    MEANINGS,
    Ideal,
    certainly_fits,
    combined_along,
    is_followed,
    is_number,
    is_unknown,
    lanes_of,
    same,
)
from kvtrace.verdicts.ideal_seen import Seen
from kvtrace.verdicts.replaying import run

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.ir import Module

_EXTENSIONS: Final = computing("cast") & (SIGNED | UNSIGNED)

_BITCASTS: Final = computing("bitcast")


def followed(call: Call, programs: Sequence[int] | None, lanes: int) -> tuple[Seen, str | None]:
    """Evaluate programs (linear ids; None: all) of a call, and follow ideal numbers.

    Gives what was seen, and why the end was not reached, if it was not: after so many `lanes` of
    memory accesses it ends.
    """
    kept = _instruments(call.module)
    instrument = kept.pop() if kept else Ideals(call.module)
    failure = run(call, (), programs, lanes=lanes, instrument=instrument)
    seen = instrument.forget()
    kept.append(instrument)
    return seen, failure


class Ideals(Instrument):
    """Follows ideal numbers, and compares them with the actual ones where they decide something."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._module = module
        self._deciding = deciding_ops(module)
        self._differences = unsigned_differences(module)
        self._hashes = frozenset(op.index for op in module.ops if is_hash(op))
        self.seen = Seen(self._deciding)

    def forget(self) -> Seen:
        """Return what was seen, and begin anew."""
        seen, self.seen = self.seen, Seen(self._deciding)
        seen.let_go()
        return seen

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Take large unsigned integers that are passed by value for what they are."""
        for argument, parameter in zip(launch.arguments, self._module.main.arguments, strict=True):
            number = argument.value if isinstance(argument, ScalarArgument) else None
            bits = integer_bits(parameter.type) or 1
            if bits > 1 and isinstance(number, int) and 1 << (bits - 1) <= number < 1 << bits:
                ideal = narrowed(np.full((1,), number, object))
                values[parameter.id] = Wrapped(values[parameter.id], ideal, frozenset())

    def wrapped(self, op: Op, step: Step) -> Step:
        """Stand around an op by its kind."""
        name = op.name
        if name in MEMORY:
            return self._access(op, step)
        if name in BRANCHES or counter_of(op) is not None:
            return self._control(op, step)
        if name in LOOPS or name in CALLS:  # `ending` sees what goes on, and what is passed
            return step
        if name in COMBINING:
            return self._reduction(op, step)
        if name in MOVING or name in _BITCASTS:
            return self._rearranged(op, step)
        ideal = self._meaning(op)
        if ideal is None:
            return self._without_meaning(op, step)
        if makes_hash(op):
            return self._hash(op, step, ideal)
        if op.index in self._deciding and name in GROWING and is_number(op.results[0]):
            return self._growing(op, step, ideal)
        return self._following(op, step, ideal)

    def ending(self, op: Op) -> Step | None:
        """Compare what decides a jump, or whether a loop goes on."""
        found = deciding(op)
        if not found:
            return None
        (condition,) = found
        purpose: Purpose = "branch" if op.successors else "loop"

        def ended(values: list[Any], scope: Any) -> None:
            self.seen.use(op, condition, values[condition.id], scope, purpose)
            values[condition.id] = actual(values[condition.id])

        return ended

    # -- what ops would give ---------------------------------------------------------------------

    def _meaning(self, op: Op) -> Ideal | None:
        if not all(map(is_followed, (*op.operands, *op.results))):
            return None
        if op.name in BINARY:
            return self._binary
        if op.name in _EXTENSIONS:
            return self._extended
        return MEANINGS.get(operator_of(op))

    def _binary(self, op: Op, given: Sequence[Any]) -> Array:
        type_ = value_type(op.operand("left").type)
        bits = type_.element.bits
        meant = [self._meant(op, value) for value in given]
        left, right = (ideal_numbers(value, type_) for value in meant)
        if is_unsigned(op):
            left, right = (
                read_unsigned(numbers, bits, keep_negative=self._is_below_zero(value))
                for numbers, value in zip((left, right), meant, strict=True)
            )
        return combined(op, left, right, bits)

    def _extended(self, op: Op, given: Sequence[Any]) -> Array:
        source = value_type(op.operand("source").type)
        numbers = ideal_numbers(given[0], source)
        from_unsigned = op.name in UNSIGNED
        if numbers.dtype == np.bool_:
            return numbers.astype(np.int64) * (1 if from_unsigned else -1)
        if not from_unsigned:
            return numbers
        below_zero = self._is_below_zero(given[0])
        return read_unsigned(numbers, source.element.bits, keep_negative=below_zero)

    def _is_below_zero(self, value: Any) -> bool:
        """Whether a number is a difference of unsigned ones, which went below zero."""
        return isinstance(value, Wrapped) and not self._differences.isdisjoint(value.origins)

    def _meant(self, op: Op, value: Any) -> Any:
        """Take a hash for what it is: what mixes its bits takes what the kernel computes."""
        hashed = isinstance(value, Wrapped) and not self._hashes.isdisjoint(value.origins)
        return actual(value) if hashed and op.name in MIXING else value

    def _hash(self, op: Op, step: Step, ideal: Ideal) -> Step:
        """Take a hash for what the kernel computes, unless what it is made of has wrapped."""
        slots = [value.id for value in op.operands]

        def hashed(values: list[Any], scope: Any) -> None:
            wrapped = [values[slot] for slot in slots if type(values[slot]) is Wrapped]
            if all(value.origins <= self._hashes for value in wrapped):
                self._actually(op, step, values, scope)
            else:
                self._both(op, step, values, scope, ideal)

        return hashed

    # -- computing both --------------------------------------------------------------------------

    def _following(self, op: Op, step: Step, ideal: Ideal) -> Step:
        """Compute what an op would give where something it takes has wrapped."""
        slots = [value.id for value in op.operands]

        def followed(values: list[Any], scope: Any) -> None:
            given = [values[slot] for slot in slots]
            if any(type(value) is Wrapped for value in given):
                self._both(op, step, values, scope, ideal)
            else:
                step(values, scope)

        return followed

    def _growing(self, op: Op, step: Step, ideal: Ideal) -> Step:
        """Compute both where a result may be too large for its width, too."""
        slots = [value.id for value in op.operands]
        type_ = value_type(op.results[0].type)

        def grown(values: list[Any], scope: Any) -> None:
            given = [values[slot] for slot in slots]
            if any(isinstance(value, Unknown) for value in given):
                self.seen.hidden.add(op.index)
            if (
                any(type(value) is Wrapped for value in given)
                or op.index in self._differences
                or not certainly_fits(op, given, type_)
            ):
                self._both(op, step, values, scope, ideal)
            else:
                step(values, scope)

        return grown

    def _both(self, op: Op, step: Step, values: list[Any], scope: Any, ideal: Ideal) -> None:
        slots = [value.id for value in op.operands]
        given = [values[slot] for slot in slots]
        self._actually(op, step, values, scope)
        result = values[op.results[0].id]
        if is_unknown(result) or any(map(is_unknown, given)):
            self.seen.lose(given)
            return
        try:
            numbers = ideal(op, given)
        except TooLarge:
            self.seen.lose(given)
            self.seen.hidden.add(op.index)
            return
        values[op.results[0].id] = self._joined(op, given, numbers, result, scope)

    def _joined(self, op: Op, given: Sequence[Any], ideal: Array, result: Any, scope: Any) -> Any:
        """Return a result together with what it would be, if that is another number."""
        value = op.results[0]
        type_ = value_type(value.type)
        plain = ideal_numbers(result, type_)
        origins: frozenset[int] = frozenset().union(
            *(each.origins for each in given if isinstance(each, Wrapped))
        )
        if op.name in GROWING and op.index in self._differences:
            below = self._below(op, given, ideal)
            if below.any():
                # Numbers are the same; that they are read as unsigned ones makes the difference.
                read = read_unsigned(plain, type_.element.bits)
                self.seen.wrapped(op, scope, np.where(below, ideal, read), read)
                return Wrapped(result, ideal, origins | {op.index})
        if same(ideal, plain):
            negative = not self._differences.isdisjoint(origins) and limits(ideal)[0] < 0
            return Wrapped(result, ideal, origins) if negative else result
        if is_number(value) and (op.name in GROWING or op.name in COMBINING):
            low, high = limits(ideal)
            bits = type_.element.bits
            fits = -(1 << (bits - 1)) <= low and high < (1 << bits)
            wrapped_before = any(isinstance(each, Wrapped) for each in given)
            if not fits or not wrapped_before:
                origins |= {op.index}
                self.seen.wrapped(op, scope, ideal, plain)
        if origins:
            self.seen.reached.setdefault(op.index, set()).update(origins)
        return Wrapped(result, ideal, origins)

    def _below(self, op: Op, given: Sequence[Any], ideal: Array) -> Array:
        type_ = value_type(op.operand("left").type)
        first, second = (ideal_numbers(value, type_) for value in given)
        return np.asarray((first >= 0) & (second >= 0) & (ideal < 0), np.bool_)

    def _actually(self, op: Op, step: Step, values: list[Any], scope: Any) -> None:
        """Run a step on what the kernel computes."""
        kept = {v.id: values[v.id] for v in op.operands if type(values[v.id]) is Wrapped}
        for slot, value in kept.items():
            values[slot] = value.actual
        step(values, scope)
        for slot, value in kept.items():
            values[slot] = value

    # -- ops that are not elementwise ------------------------------------------------------------

    def _without_meaning(self, op: Op, step: Step) -> Step:
        """Run an op that is not followed; it matters where it decides something.

        Whether an integer that it makes of others has left its width, nobody has seen.
        """
        slots = [value.id for value in op.operands]
        decides = op.index in self._deciding
        unseen = (
            decides
            and op.name in ELEMENTWISE
            and any(map(is_number, op.results))
            and any(map(is_number, op.operands))
        )

        def ran(values: list[Any], scope: Any) -> None:
            if unseen:
                self.seen.hidden.add(op.index)
            if not any(type(values[slot]) is Wrapped for slot in slots):
                step(values, scope)
                return
            if decides:
                self.seen.lose(values[slot] for slot in slots)
            self._actually(op, step, values, scope)

        return ran

    def _rearranged(self, op: Op, step: Step) -> Step:
        """Move ideal numbers as the actual ones: the step does not look at them."""
        slots, results = [v.id for v in op.operands], [v.id for v in op.results]
        types = [value_type(value.type) for value in op.operands]

        def moved(values: list[Any], scope: Any) -> None:
            given = [values[slot] for slot in slots]
            if not any(type(value) is Wrapped for value in given):
                step(values, scope)
                return
            self._actually(op, step, values, scope)
            outcome = [values[slot] for slot in results]
            if any(map(is_unknown, (*given, *outcome))) or op.name in _BITCASTS:
                changed = types[0].element != value_type(op.results[0].type).element
                if op.name in _BITCASTS and (types[0].pointer or not changed):
                    values[results[0]] = given[0]
                    return
                self.seen.lose(given)
                return
            ideals = [ideal_numbers(v, t) for v, t in zip(given, types, strict=True)]
            widest = np.result_type(*(array.dtype for array in ideals))
            for slot, array in zip(slots, ideals, strict=True):
                values[slot] = array.astype(widest)
            step(values, scope)
            for slot, value in zip(slots, given, strict=True):
                values[slot] = value
            origins = frozenset().union(*(v.origins for v in given if isinstance(v, Wrapped)))
            for slot, value in zip(results, outcome, strict=True):
                values[slot] = Wrapped(value, values[slot], origins)

        return moved

    def _reduction(self, op: Op, step: Step) -> Step:
        """Reduce or scan ideal numbers where one op combines them; else they are not followed."""
        source, *others = op.group("source")
        type_ = value_type(source.type)
        result = op.results[0].id
        block = op.regions[0].blocks[0]
        combining = None if others else simple_ufunc(block, type_)
        axis = number_of(op, "axis") + 1
        followed = integer_bits(source.type) is not None
        inner = any(each.name in GROWING and is_number(each.results[0]) for each in block.ops)

        def reduced(values: list[Any], scope: Any) -> None:
            given = [values[value.id] for value in op.operands]
            wraps = any(type(value) is Wrapped for value in given)
            if not wraps and not (op.index in self._deciding and inner):
                step(values, scope)
                return
            self._actually(op, step, values, scope)
            outcome = values[result]
            if combining is None or not followed or any(map(is_unknown, (*given, outcome))):
                self.seen.lose(given)
                self.seen.hidden.add(op.index)
                return
            numbers = lanes_of(ideal_numbers(given[0], type_), type_)
            most = max(map(abs, limits(numbers)))
            extent = type_.shape[axis - 1]
            if combining is np.multiply or (combining is np.add and most * extent >= 1 << 62):
                numbers = numbers.astype(object)
            try:
                ideal = narrowed(combined_along(op, combining, numbers, axis))
            except TooLarge:
                self.seen.lose(given)
                self.seen.hidden.add(op.index)
                return
            values[result] = self._joined(op, given, ideal, outcome, scope)

        return reduced

    def _control(self, op: Op, step: Step) -> Step:
        """Compare what decides a branch or a loop's bounds; what a loop carries is carried."""
        deciding_ones = deciding(op)
        purpose: Purpose = "loop" if op.name in LOOPS else "branch"

        def controlled(values: list[Any], scope: Any) -> None:
            kept = {value.id: values[value.id] for value in deciding_ones}
            for value in deciding_ones:
                self.seen.use(op, value, kept[value.id], scope, purpose)
                values[value.id] = actual(kept[value.id])
            step(values, scope)
            for slot, value in kept.items():
                values[slot] = value

        return controlled

    # -- where it shows --------------------------------------------------------------------------

    def _access(self, op: Op, step: Step) -> Step:
        """Compare an access' addresses where its mask lets it, its mask, and an index it stores."""
        mask = mask_of(op)
        stored = stored_index(op, self._module)
        pointer, positions = address_of(op), positions_of(op)
        unsigned = self._stored_as_unsigned

        def accessed(values: list[Any], scope: Any) -> None:
            active: Any = True
            if mask is not None:
                active = values[mask.id]
                self.seen.use(op, mask, active, scope, "mask")
            self.seen.use(op, pointer, values[pointer.id], scope, "address", active=active)
            for value in positions:
                self.seen.use(op, value, values[value.id], scope, "address")
            if stored is not None:
                self.seen.use(op, stored, values[stored.id], scope, "index", active=active)
            self._actually(op, step, values, scope)
            if op.name in FILLING:
                unsigned(op, values, scope)

        return accessed

    def _stored_as_unsigned(self, op: Op, values: list[Any], scope: Any) -> None:
        """Read what a tensor of unsigned integers holds as that."""
        pointer, result = actual(values[op.operand("pointer").id]), op.results[0]
        loaded = values[result.id]
        if is_unknown(loaded) or not is_number(result) or not isinstance(pointer, Pointer):
            return
        if pointer.argument is None:
            return
        tensor = scope.launch.arguments[pointer.argument]
        if not isinstance(tensor, TensorArgument) or tensor.dtype[0] != "u":
            return
        type_ = value_type(result.type)
        numbers = ideal_numbers(loaded, type_)
        if limits(numbers)[0] < 0:
            ideal = read_unsigned(numbers, type_.element.bits)
            values[result.id] = Wrapped(loaded, ideal, frozenset())


@once_per_module
def _instruments(_module: Module) -> list[Ideals]:
    """Return those of a module that no evaluation uses now: each has its ops compiled."""
    return []
