"""Evaluation with a shadow beside each integer: its value without a width.

An instrument of array evaluation. If an op wraps around, its result becomes a `WrappedNumber`
value; the ideal number in it is carried through casts, branches, loops, reductions and calls. Where
a number decides something (an address in active lanes, a mask, a branch, a loop's bounds, a stored
index) both numbers are compared: a difference shows the wrap. A wrap that cancels, is masked off or
is never used does not show.

Example: in 32 bits, `i = 2**31 - 1; j = i + 1` gives -2**31 with the ideal number 2**31. `load(x +
j)` shows the wrap; `load(x + (j - 1))` does not, as both numbers agree again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.evaluate.dialects.tt_descriptor import descriptor_of
from kvtrace.evaluate.shadows.driver import Shadows, is_unknown, on_actual
from kvtrace.evaluate.shadows.ideal import (
    BINARY,
    FIRST_UNSIGNED,
    MEANINGS,
    Ideal,
    TooLarge,
    WrappedNumber,
    certainly_fits,
    combination_of,
    combined,
    compared_numbers,
    folded,
    ideal_numbers,
    is_unsigned,
    limits,
    narrowed,
    origins_of,
    read_unsigned,
    wrapped_to,
)
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, Pointer, Unknown, actual, to_array, with_rank
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import counter_of, deciding
from kvtrace.ir.model import attribute, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    COMBINING,
    DESCRIBING,
    ELEMENTWISE,
    FILLING,
    SIGNED,
    UNSIGNED,
    address_of,
    computing,
    mask_of,
    may_overflow,
    operator_of,
)
from kvtrace.ir.types import integer_bits, is_pointer
from kvtrace.ir.updates import positions_of
from kvtrace.symbolic.hashes import hashes_read_by, hashing_ops, makes_hash, recurring_hashes
from kvtrace.verdicts.deciding import (
    Purpose,
    deciding_ops,
    has_sign,
    stored_index,
    stored_part,
    unsigned_differences,
)
from kvtrace.verdicts.ideal_seen import Seen
from kvtrace.verdicts.replaying import run

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.ir import Module
    from kvtrace.recorded_calls.recorded import Call

_EXTENSIONS: Final = computing("cast") & (SIGNED | UNSIGNED)

_BITCASTS: Final = computing("bitcast")


def followed(
    call: Call, programs: Sequence[int] | None, lanes: int, contents: str = "integers"
) -> tuple[Seen, str | None]:
    """Evaluate programs (linear ids; None: all) of a call, with ideal numbers as shadow values.

    `contents` are those that `run` takes.
    Returns the observations, and the reason why the evaluation ended early, or None if it was
    complete. It ends early after `lanes` lanes of memory accesses.
    """
    idle_instruments = _instruments(call.module)
    instrument = idle_instruments.pop() if idle_instruments else Ideals(call.module)
    failure = run(call, (), programs, contents=contents, lanes=lanes, instrument=instrument)
    seen = instrument.forget()
    idle_instruments.append(instrument)
    return seen, failure


class Ideals(Shadows):
    """An instrument that carries ideal numbers and compares them with actual ones at their uses."""

    kind = WrappedNumber
    enters_reductions = True

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._deciding = deciding_ops(module)
        self._differences = unsigned_differences(module)
        self._hashes = hashing_ops(module)
        self.seen = Seen(self._deciding)

    def forget(self) -> Seen:
        """Return the observations so far, and replace them by empty ones."""
        seen, self.seen = self.seen, Seen(self._deciding)
        seen.clear_lanes()
        return seen

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Set the ideal numbers of unsigned scalar arguments that exceed the signed range."""
        for argument, parameter in zip(launch.arguments, self.module.main.arguments, strict=True):
            number = argument.value if isinstance(argument, ScalarArgument) else None
            bits = integer_bits(parameter.type) or 1
            if bits > 1 and isinstance(number, int) and 1 << (bits - 1) <= number < 1 << bits:
                ideal = narrowed(np.full((1,), number, object))
                values[parameter.id] = WrappedNumber(values[parameter.id], ideal, frozenset())

    def decided(self, op: Op, value: Value, held: Any, scope: Any) -> None:
        """Compare the actual and ideal number of a branch's, jump's or loop's condition."""
        branches = op.name in BRANCHES or bool(op.successors)
        self.seen.use(op, value, held, scope, "branch" if branches else "loop")

    def _decision(self, op: Op, step: Step) -> Step:
        """Wrap a branch or loop op; counters of loops are also checked for wrap-around."""
        controlled = super()._decision(op, step)
        if counter_of(op) is None or op.index not in self._deciding:
            return controlled

        def counted(values: list[Any], scope: Any) -> None:
            self.seen.counts(op, [actual(values[value.id]) for value in deciding(op)], scope)
            controlled(values, scope)

        return counted

    def lost(self, operands: Sequence[Any]) -> None:
        """Record that the ideal numbers of the operands are lost at an op."""
        self.seen.lose(operands)

    # -- ideal results ---------------------------------------------------------------------------

    def _ideal_function(self, op: Op) -> Ideal | None:
        """Return the function from operands to an op's ideal result, None if there is none."""
        if not all(map(_has_integers, (*op.operands, *op.results))):
            return None
        if op.name in BINARY:
            return self._ideal_binary
        if op.name in _EXTENSIONS:
            return self._ideal_extension
        if operator_of(op) == "compare":
            return self._ideal_comparison
        return MEANINGS.get(operator_of(op))

    def _ideal_binary(self, op: Op, operands: Sequence[Any]) -> Array:
        type_ = value_type(op.operand("left").type)
        bits = type_.element.bits
        values = [self._without_hash_wraps(op, value) for value in operands]
        numbers = self.kind.shadow_of if operator_of(op) == "+" else ideal_numbers
        left, right = (numbers(value, type_) for value in values)
        if op.index in recurring_hashes(self.module):
            left, right = folded(left), folded(right)
        if is_unsigned(op):
            left, right = (
                read_unsigned(numbers, bits, keep_negative=self._may_be_negative(value))
                for numbers, value in zip((left, right), values, strict=True)
            )
        return combined(op, left, right, bits)

    def _ideal_comparison(self, op: Op, operands: Sequence[Any]) -> Array:
        """Return a comparison; unsigned numbers below 0 are large ones in questions for the sign.

        They may be so in range checks (`x - low < size`), too: such wraps count as missed.
        """
        type_, read = value_type(op.operand("left").type), list(operands)
        past_less = attribute(op, "predicate", 0) - FIRST_UNSIGNED
        for position, value in enumerate(operands if past_less >= 0 else ()):
            if not self._may_be_negative(value):
                continue
            plain = ideal_numbers(value.actual, type_)
            is_same = np.all(wrapped_to(value.shadow, type_.element.bits) == plain)
            if is_same and position == (past_less >= 2):  # the lesser one
                self.seen.hidden |= value.origins
            elif limits(ideal_numbers(read[~position], type_))[0] >= 0:
                continue
            read[position] = value.actual
        return compared_numbers(op, read, keeps_negative=self._may_be_negative)

    def _ideal_extension(self, op: Op, operands: Sequence[Any]) -> Array:
        source = value_type(op.operand("source").type)
        numbers = self.kind.shadow_of(operands[0], source)
        from_unsigned = op.name in UNSIGNED
        if source.element.kind == "b":
            return numbers.astype(np.int64) * (1 if from_unsigned else -1)
        if not from_unsigned:
            return numbers
        below_zero = self._may_be_negative(operands[0])
        return read_unsigned(numbers, source.element.bits, keep_negative=below_zero)

    def _may_be_negative(self, value: Any) -> bool:
        """Return whether a value was computed from a difference of unsigned integers."""
        return isinstance(value, WrappedNumber) and not self._differences.isdisjoint(value.origins)

    def _without_hash_wraps(self, op: Op, value: Any) -> Any:
        """Return an operand, without its ideal number if `op` takes a part of a wrapped hash."""
        hashes = hashes_read_by(op, self.module) if isinstance(value, WrappedNumber) else ()
        return actual(value) if hashes and not value.origins.isdisjoint(hashes) else value

    # -- computing both --------------------------------------------------------------------------

    def computation(self, op: Op, step: Step) -> Step:
        """Wrap an op so that it also computes an ideal result, if that may differ.

        The ideal result may differ if an operand has wrapped, or if the result may exceed its
        width. A hash equals its ideal number unless its operands have wrapped.
        """
        ideal = self._ideal_function(op)
        if ideal is None:
            return self._without_meaning(op, step)
        type_ = value_type(op.results[0].type)
        hashes = makes_hash(op)
        decides = op.index in self._deciding and not hashes
        grows = decides and may_overflow(op)
        always = grows and op.index in self._differences
        run = on_actual(op, step)

        def computed(values: list[Any], scope: Any) -> None:
            operands = run(values, scope)
            wrapped = [operand for operand in operands if type(operand) is WrappedNumber]
            if not wrapped and not grows:
                return
            if grows and any(isinstance(operand, Unknown) for operand in operands):
                self.seen.hidden.add(op.index)
            if not wrapped and not always and certainly_fits(op, operands, type_):
                return
            if hashes and all(operand.origins <= self._hashes for operand in wrapped):
                return
            self._compute_ideal(op, operands, values, scope, ideal)

        return computed

    def combination(self, op: Op, step: Step) -> Step:
        """Wrap a reduction or scan so that it also combines ideal numbers.

        Those of a body of several ops are combined in the body.
        """
        combination = combination_of(op)
        body = op.regions[0].blocks[0].ops
        grows = op.index in self._deciding and any(map(may_overflow, body))
        run: Callable[[list[Any], Any], Any] = step if combination is None else on_actual(op, step)

        def combined(values: list[Any], scope: Any) -> None:
            operands = [values[value.id] for value in op.operands]
            run(values, scope)
            if not grows and not any(type(value) is WrappedNumber for value in operands):
                return
            results = [values[value.id] for value in op.results]
            if any(map(is_unknown, (*operands, *results))):
                self._record_missed(op, operands)
            elif combination is not None:
                self._compute_ideal(op, operands, values, scope, combination)
            else:
                self.seen.reached.setdefault(op.index, set()).update(origins_of(results))

        return combined

    def _compute_ideal(
        self, op: Op, operands: Sequence[Any], values: list[Any], scope: Any, ideal: Ideal
    ) -> None:
        """Add the ideal number to an op's result in `values`, or record a missed wrap."""
        result = values[op.results[0].id]
        if any(map(is_unknown, (result, *operands))):
            self.seen.lose(operands)
            return
        try:
            numbers = ideal(op, operands)
        except TooLarge:
            self._record_missed(op, operands)
            return
        values[op.results[0].id] = self._wrapped_result(op, operands, numbers, result, scope)

    def _record_missed(self, op: Op, operands: Sequence[Any]) -> None:
        """Record that wraps in the op and its operands may have been missed."""
        self.seen.lose(operands)
        self.seen.hidden.add(op.index)

    def _wrapped_result(
        self, op: Op, operands: Sequence[Any], ideal: Array, result: Any, scope: Any
    ) -> Any:
        """Return a result, with its ideal number if the two differ; record a new wrap."""
        value = op.results[0]
        type_ = value_type(value.type)
        actual_numbers = ideal_numbers(result, type_)
        origins = origins_of(operands)
        if op.index in self._differences:
            adds = operator_of(op) == "+"  # a large unsigned constant; below 0 the sum fits
            below_zero = self._negative_differences(op, operands, ideal)
            if below_zero.any() and not (adds and np.all(ideal < 0)):
                # Numbers are the same; that they are read as unsigned ones makes the difference.
                unsigned = read_unsigned(actual_numbers, type_.element.bits)
                shown = np.where(below_zero, ideal, unsigned)
                if adds:
                    shown = ideal = narrowed(ideal.astype(object) + (1 << type_.element.bits))
                self.seen.wrapped(op, scope, shown, unsigned)
                return WrappedNumber(result, ideal, origins | {op.index})
        if not np.any(ideal != actual_numbers):
            negative = not self._differences.isdisjoint(origins) and limits(ideal)[0] < 0
            return WrappedNumber(result, ideal, origins) if negative else result
        if op.name in COMBINING or may_overflow(op):
            low, high = limits(ideal)
            bits = type_.element.bits
            fits = -(1 << (bits - 1)) <= low and high < (1 << bits)
            wrapped_before = any(isinstance(operand, WrappedNumber) for operand in operands)
            if not fits or not wrapped_before:
                origins |= {op.index}
                self.seen.wrapped(op, scope, ideal, actual_numbers)
        if origins:
            self.seen.reached.setdefault(op.index, set()).update(origins)
        return WrappedNumber(result, ideal, origins)

    def _negative_differences(self, op: Op, operands: Sequence[Any], ideal: Array) -> Array:
        """Return where a difference of two non-negative numbers is negative."""
        type_ = value_type(op.operand("left").type)
        minuend, subtrahend = (ideal_numbers(value, type_) for value in operands)
        subtracts = (subtrahend >= 0) if operator_of(op) == "-" else (subtrahend < 0)
        return np.asarray((minuend >= 0) & subtracts & (ideal < 0), np.bool_)

    def _without_meaning(self, op: Op, step: Step) -> Step:
        """Wrap an op that has no ideal function; wraps in its operands may then be missed."""
        decides = op.index in self._deciding
        unseen = (
            decides
            and op.name in ELEMENTWISE
            and any(map(_is_number, op.results))
            and any(map(_is_number, op.operands))
        )
        run = on_actual(op, step)

        def ran(values: list[Any], scope: Any) -> None:
            if unseen:
                self.seen.hidden.add(op.index)
            operands = run(values, scope)
            if op.name in DESCRIBING and not is_unknown(operands[0]):
                base, *operands = operands
                if isinstance(base, WrappedNumber):
                    result = op.results[0]
                    offsets = with_rank(base.shadow, len(value_type(result.type).shape) + 1)
                    values[result.id] = self.kind(values[result.id], offsets, base.origins)
            if decides or op.name in _BITCASTS:
                self.seen.lose(operands)

        return ran

    # -- uses of numbers --------------------------------------------------------------------------

    def access(self, op: Op, step: Step) -> Step:
        """Wrap a memory op to compare both numbers of its address, mask and stored index."""
        mask = mask_of(op)
        stored = stored_index(op, self.module)
        signed = stored is not None and has_sign(stored, self.module)
        part = stored_part(op, self.module)
        pointer, positions = address_of(op), positions_of(op)
        unsigned = self._read_as_unsigned
        run = on_actual(op, step)

        def accessed(values: list[Any], scope: Any) -> None:
            active: Any = True
            if mask is not None:
                active = values[mask.id]
                self.seen.use(op, mask, active, scope, "mask")
            address: Any = values[pointer.id]
            if positions and isinstance(address, WrappedNumber):
                active = _reaches_any(op, values, positions)
            self.seen.use(op, pointer, address, scope, "address", active=active)
            for axis, value in enumerate(positions):
                number = values[value.id]
                shown = isinstance(number, WrappedNumber)
                reaches = _reaches(op, values, axis, value) if shown else True
                self.seen.use(op, value, number, scope, "address", active=reaches)
            if stored is not None:
                kind, number = _kind_of_tensor(values[pointer.id], scope), values[stored.id]
                purpose: Purpose = "signed index" if signed and kind == "i" else "index"
                if kind != "u" or self._hashes.isdisjoint(origins_of((number,))):
                    self.seen.use(op, stored, number, scope, purpose, active=active)
            if part is not None:
                self.seen.use(op, part, values[part.id], scope, "part", active=active)
            run(values, scope)
            if op.name in FILLING:
                unsigned(op, values, scope)

        return accessed

    def _read_as_unsigned(self, op: Op, values: list[Any], scope: Any) -> None:
        """Set the ideal numbers of integers loaded from a tensor of unsigned integers."""
        pointer, result = values[op.operand("pointer").id], op.results[0]
        loaded = values[result.id]
        if is_unknown(loaded) or not _is_number(result) or _kind_of_tensor(pointer, scope) != "u":
            return
        type_ = value_type(result.type)
        numbers = ideal_numbers(loaded, type_)
        if limits(numbers)[0] < 0:
            ideal = read_unsigned(numbers, type_.element.bits)
            values[result.id] = WrappedNumber(loaded, ideal, frozenset())


def _kind_of_tensor(pointer: Any, scope: Any) -> str:
    """Return the kind of elements of a pointer's tensor, as "i" of "i32"; "" if it is unknown."""
    pointer = actual(pointer)
    if not isinstance(pointer, Pointer) or pointer.argument is None:
        return ""
    tensor = scope.launch.arguments[pointer.argument]
    return tensor.dtype[0] if isinstance(tensor, TensorArgument) else ""


def _reaches(op: Op, values: list[Any], axis: int, value: Value) -> Any:
    """Return whether a block from a position on is inside its descriptor's extent of an axis.

    By the ideal or the actual position: outside by both, the block is padded or dropped anyway.
    """
    position, target = values[value.id], op.operand("descriptor")
    extents = descriptor_of(actual(values[target.id])).shape
    if not extents or is_unknown(position) or is_unknown(extents[axis]):
        return Unknown(frozenset())
    type_, block = value_type(value.type), value_type(target.type).shape[axis]
    end = to_array(extents[axis], replace(type_, shape=()))
    end = with_rank(end, len(type_.shape) + 1)
    both = (ideal_numbers(number, type_) for number in (position, actual(position)))
    ideal, plain = ((number > -block) & (number < end) for number in both)
    return np.asarray(ideal | plain, np.bool_)


def _reaches_any(op: Op, values: list[Any], positions: Sequence[Value]) -> Any:
    """Return whether some of a block is inside its descriptor's extents of all axes."""
    reaches = [_reaches(op, values, axis, value) for axis, value in enumerate(positions)]
    if any(map(is_unknown, reaches)):
        return Unknown(frozenset())
    inside = reduce(and_, (reach.reshape(len(reach), -1).any(1) for reach in reaches))
    return with_rank(inside, len(value_type(op.operand("descriptor").type).shape) + 1)


def _is_number(value: Value) -> bool:
    """Return whether a value is an integer, not a Boolean."""
    return (integer_bits(value.type) or 1) > 1


def _has_integers(value: Value) -> bool:
    """Return whether a value is an integer, a Boolean or a pointer."""
    return integer_bits(value.type) is not None or is_pointer(value.type)


@once_per_module
def _instruments(_module: Module) -> list[Ideals]:
    """Return a module's list of idle instruments with compiled ops, empty at first."""
    return []
