"""Symbolic execution of a module that builds its summary.

Each op of the kernel is visited once in order, a loop's body with a symbol for the trip, and both
sides of a branch under their conditions; `values` has the formulas so far. The functions of the
folder `meanings` set the formulas of each op's results. Values without a formula raise no error:
integers become symbols of kind "unknown", Booleans opaque conditions, and pointers unknown
pointers, each with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.asynchronous import ADDRESSING, strangers
from kvtrace.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DenseAttribute,
    DictionaryAttribute,
    IntegerAttribute,
)
from kvtrace.ir.feeding import is_packing, is_read_unsigned
from kvtrace.ir.model import number_of, once_per_module
from kvtrace.ir.ops import contents_of, effect_of, may_overflow, operator_of
from kvtrace.ir.types import (
    TensorDescriptorType,
    Type,
    integer_bits,
    is_block_pointer,
    is_pointer,
    pointee_bytes,
    shape_of,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.functions import assuming, choice, simplified
from kvtrace.symbolic.hashes import makes_hash, sum_of_digits
from kvtrace.symbolic.meanings import meaning_of
from kvtrace.symbolic.summary import (
    Access,
    Arithmetic,
    Assertion,
    BlockPointer,
    Division,
    Formula,
    Hint,
    Loop,
    Place,
    Pointer,
    PointerChoice,
    Summary,
    unknown_block,
    unknown_pointer,
)
from kvtrace.symbolic.terms import (
    ZERO,
    Key,
    Symbol,
    Term,
    lane,
    program,
    scalar,
    signed_range,
)

_MOST_ATOMS = 48
"""Limit on the atoms of a term, nested ones included; sorting networks exceed the limit."""

_MOST_MONOMIALS = 96
_WIDEST = 1 << 192
"""Limit on ideal results; larger ones (hashes, random numbers) are wrapped, or not followed."""


@once_per_module
def summarize(module: Module) -> Summary:
    """Return the summary of a module's kernel, cached by module.

    Raises:
        NoKernel: the module has no function to run.
        NotFollowed: an op may access memory in a way that is not known.

    """
    for op in strangers(module, ADDRESSING):
        raise NotFollowed(f"{op.name}, an op of the kernel's TTGIR, is not followed")
    return Walk(module).summary()


class NotFollowed(KvtraceError):
    """Raised for a kernel with an op of a GPU's dialect of which accesses are not known."""

    slug = "not-followed"


class Walk:
    """State of the walk: formulas of values, the current place, and the summary so far."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.values: dict[int, Formula] = {}
        self.places: dict[Block, Place] = {}
        self.guard: Condition = TRUE
        self.loops: tuple[Loop, ...] = ()
        self.calls: tuple[Op, ...] = ()
        self.returned: list[Formula | None] = []
        self.found_loops: list[Loop] = []
        self.accesses: list[Access] = []
        self.arithmetic: list[Arithmetic] = []
        self.divisions: list[Division] = []
        self.assertions: list[Assertion] = []
        self.assumptions: list[Assertion] = []
        self.hints: list[Hint] = []
        axes = {number_of(op, "axis") for op in module.ops if operator_of(op) == "program_id"}
        self._programs = tuple(program(axis) for axis in sorted(axes))

    def summary(self) -> Summary:
        """Visit the kernel's ops and return the summary."""
        from kvtrace.symbolic.meanings.cf import run_function

        main = self.module.main
        for position, value in enumerate(main.arguments):
            formula = _argument(position, value.type)
            if formula is not None:
                self.values[value.id] = formula
        self._hint_arguments(main.op, main.arguments)
        run_function(self, main)
        return Summary(
            self.module,
            tuple(self.accesses),
            tuple(self.found_loops),
            tuple(self.arithmetic),
            tuple(self.divisions),
            tuple(self.assertions),
            tuple(self.assumptions),
            tuple(self.hints),
            self.places,
            self.values,
        )

    # -- visiting --------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Visit all ops of a block, except for a terminator without regions."""
        self.places[block] = Place(block.ops[-1], self.guard, self.loops, self.calls)
        for op in block.ops if block.ops[-1].regions else block.ops[:-1]:
            self.visit(op)

    def visit(self, op: Op) -> None:
        """Visit one op."""
        meaning = meaning_of(op.name)
        if makes_hash(op):
            self.set_unknown(op.results[0], op, "a hash")
        elif (summed := sum_of_digits(op)) is not None:
            self.set_unknown(op.results[0], op, "a sum of digits", (0, summed[1]))
        elif meaning is not None:
            meaning(self, op)
        else:
            self._without_meaning(op)
        for value in op.results:
            formula = self.values.get(value.id)
            if isinstance(formula, Term | Condition) and len(formula.atoms()) > _MOST_ATOMS:
                self.set_unknown(value, op, "arithmetic too deep to be followed")
        for name in op.attributes:
            if name.startswith(_HINTED):
                self._hint(op, name)

    def _without_meaning(self, op: Op) -> None:
        for region in op.regions:
            with self.under(self.opaque(op, f"depends on {op.name}")):
                for block in region.blocks:
                    for value in block.arguments:
                        self.set_unknown(value, op, f"comes from {op.name}")
                    self.block(block)
        effect = effect_of(op)
        if effect is not None:
            shape = shape_of(contents_of(op).type)
            address = unknown_pointer(f"{op.name}, which is not followed", shape)
            self.record_accesses(op, effect, address, TRUE, 1, shape)
        for value in op.results:
            self.set_unknown(value, op, f"comes from {op.name}")

    @contextmanager
    def under(self, condition: Condition) -> Iterator[None]:
        """Add a condition to the guard of all ops visited in the context."""
        outer_guard = self.guard
        self.guard = conjunction((outer_guard, condition))
        try:
            yield
        finally:
            self.guard = outer_guard

    @contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        """Add a loop to the loops of all ops visited in the context."""
        outer_loops = self.loops
        self.loops = (*outer_loops, loop)
        try:
            yield
        finally:
            self.loops = outer_loops

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Discard all records made in the context, except for formulas of values."""
        lists: Sequence[list[Any]] = (
            self.found_loops, self.accesses, self.arithmetic, self.divisions,
            self.assertions, self.assumptions, self.hints,
        )  # fmt: skip
        lengths = [len(entries) for entries in lists]
        try:
            yield
        finally:
            for entries, length in zip(lists, lengths, strict=True):
                del entries[length:]

    # -- values ----------------------------------------------------------------------------------

    def formula(self, value: Value) -> Formula | None:
        """Return a value's formula, or None for floats and other values without one."""
        return self.values.get(value.id)

    def term(self, value: Value) -> Term:
        """Return an integer's term, or a new unknown symbol if it has no term."""
        formula = self.values.get(value.id)
        if isinstance(formula, Term):
            return formula
        owner = value.owner if isinstance(value.owner, Op) else None
        return self.unknown(owner, "not followed", value.type)

    def condition(self, value: Value) -> Condition:
        """Return a Boolean's condition, or an opaque condition if it has none."""
        formula = self.values.get(value.id)
        if isinstance(formula, Condition):
            return formula
        return self.opaque(value.owner if isinstance(value.owner, Op) else None, "not followed")

    def pointer(self, value: Value) -> Pointer:
        """Return a pointer's formula, or an unknown pointer if it has none."""
        formula = self.values.get(value.id)
        if isinstance(formula, Pointer):
            return formula
        return unknown_pointer("a pointer that is not followed", shape_of(value.type))

    def set(self, value: Value, formula: Formula | None) -> None:
        """Set the formula of a value; None removes the formula."""
        if formula is None:
            self.values.pop(value.id, None)
        else:
            self.values[value.id] = formula

    def set_unknown(
        self,
        value: Value,
        op: Op,
        reason: str,
        bounds: tuple[int, int] | None = None,
        *,
        always_new: bool = False,
    ) -> None:
        """Set the formula of a value that is not followed; floats have no formula.

        `always_new`: the value differs between programs, as results of atomics do.
        """
        self.set(value, self.unknown_formula(value, op, reason, bounds, always_new=always_new))

    def unknown_formula(
        self,
        value: Value,
        op: Op,
        reason: str,
        bounds: tuple[int, int] | None = None,
        *,
        always_new: bool = False,
    ) -> Formula | None:
        """Return a formula for a value that is not followed, within bounds; None for floats."""
        shape = shape_of(value.type)
        bits = integer_bits(value.type)
        if is_block_pointer(value.type) or isinstance(value.type, TensorDescriptorType):
            return unknown_block(reason, shape, positioned=is_block_pointer(value.type))
        if is_pointer(value.type):
            return unknown_pointer(reason, shape)
        if bits is None:
            return None
        at = self.coordinates(shape, every_program=always_new)
        key = self.key(op, value.position) if len(op.results) > 1 else self.key(op)
        if bits == 1:
            return Opaque(key, reason, at)
        return Symbol("unknown", (key, reason), *(bounds or signed_range(bits)), at).term

    def unknown(
        self, op: Op | None, reason: str, type_: Type, bounds: tuple[int, int] | None = None
    ) -> Term:
        """Return a new symbol for an integer that is not followed."""
        low, high = bounds or signed_range(integer_bits(type_) or 64)
        at = self.coordinates(shape_of(type_))
        return Symbol("unknown", (self.key(op), reason), low, high, at).term

    def opaque(self, op: Op | None, reason: str, shape: tuple[int, ...] = ()) -> Condition:
        """Return an opaque condition that may vary over the lanes of a shape."""
        return Opaque(self.key(op), reason, self.coordinates(shape))

    def key(self, op: Op | None, *more: int) -> Key:
        """Return the key of an op's symbols at the current place.

        It is the op's index, or a tuple of the index, `more`, and the indices of the calls around.
        """
        index = -1 if op is None else op.index
        if not self.calls and not more:
            return index
        return (index, *more, *(("call", call.index) for call in self.calls))

    def coordinates(
        self, shape: tuple[int, ...], *, every_program: bool = False
    ) -> tuple[Term, ...]:
        """Return the terms that an unknown value may vary over: programs, trips and lanes.

        `every_program`: all three program axes, not only those that the kernel reads.
        """
        programs = tuple(program(axis) for axis in range(3)) if every_program else self._programs
        trips = (loop.trip.term for loop in self.loops)
        lanes = (lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
        return (*programs, *trips, *lanes)

    # -- the summary's entries --------------------------------------------------------------------

    def place_fields(self, op: Op) -> dict[str, Any]:
        """Return the fields of `Place` for an op at the current place, as keyword arguments."""
        return {"op": op, "guard": self.guard, "loops": self.loops, "calls": self.calls}

    def set_computed(self, op: Op, result: Term) -> None:
        """Set the ideal result of an integer op; record the op if the result may not fit."""
        value = op.results[0]
        bits, shape = integer_bits(value.type) or 64, shape_of(value.type)
        low, high = signed_range(bits)
        if len(result.coefficients) > _MOST_MONOMIALS:
            self.set_wrapped_unknown(value, op, "arithmetic of too many terms")
            return
        if result.low < -_WIDEST or result.high > _WIDEST:
            self.note(op, result, bits, shape, followed=False)
            self.values[value.id] = wrapped(result, bits, signed=True)
            return
        if result.low < low or result.high > high:
            holds_all = result.low >= 0 and result.high < 1 << bits
            if holds_all and is_packing(op) and is_read_unsigned(value, self.module):
                result = wrapped(result, bits, signed=True)
            else:
                self.note(op, result, bits, shape)
        self.values[value.id] = result

    def set_wrapped_unknown(self, value: Value, op: Op, reason: str) -> None:
        """Set an unknown result for an integer op, and record that it may wrap around."""
        key, shape = (self.key(op, value.position), reason), shape_of(value.type)
        anything = Symbol("unknown", key, -_WIDEST, _WIDEST, self.coordinates(shape)).term
        self.note(op, anything, integer_bits(value.type) or 64, shape, followed=False)
        self.set_unknown(value, op, reason)

    def note(
        self, op: Op, result: Term, bits: int, shape: tuple[int, ...], *, followed: bool = True
    ) -> None:
        """Record an integer op whose ideal result may not fit."""
        if op.regions or may_overflow(op):  # else the result fits if the operands do
            place = self.place_fields(op)
            self.arithmetic.append(
                Arithmetic(**place, result=result, bits=bits, shape=shape, followed=followed)
            )

    def record_counter(self, loop: Op, result: Term, bits: int) -> None:
        """Record a loop's counter as arithmetic if it may not fit into its width."""
        low, high = signed_range(bits)
        if result.low < low or result.high > high:
            self.note(loop, result, bits, ())

    def record_division(self, op: Op, divisor: Term) -> None:
        """Record a division if its divisor may be 0."""
        if divisor.low <= 0 <= divisor.high:
            shape = shape_of(op.results[0].type)
            self.divisions.append(Division(**self.place_fields(op), divisor=divisor, shape=shape))

    def record_accesses(
        self,
        op: Op,
        kind: Literal["load", "store", "atomic"],
        pointer: Pointer,
        mask: Condition,
        element_bytes: int,
        shape: tuple[int, ...],
        **details: Any,
    ) -> list[Access]:
        """Record an access for each argument that a pointer may point into, and return them all.

        Accesses whose mask is never true are returned, but not recorded.
        """
        accesses = []
        for option in pointer.choices:
            guards = self.guard.conjuncts()
            active = simplified(conjunction((option.condition, mask)), guards)
            holding = (*guards, *active.conjuncts())
            access = Access(
                **self.place_fields(op),
                kind=kind,
                argument=option.argument,
                offset=assuming(option.offset, holding),
                element_bytes=element_bytes,
                shape=shape,
                mask=active,
                unknown=option.unknown,
                **details,
            )
            accesses.append(access)
            if active is not FALSE or (mask is FALSE and self.arithmetic):
                self.accesses.append(access)  # what has wrapped around may not be false
        return accesses

    # -- hints -----------------------------------------------------------------------------------

    def _hint_arguments(self, function: Op, arguments: Sequence[Value]) -> None:
        attributes = function.attributes.get("arg_attrs")
        if not isinstance(attributes, ArrayAttribute):
            return
        for position, (value, entries) in enumerate(zip(arguments, attributes, strict=False)):
            if isinstance(entries, DictionaryAttribute):
                for name, attribute in entries.entries.items():
                    if name in _HINTS:
                        self._add_hint(function, name, attribute, value, position=position)

    def _hint(self, op: Op, name: str) -> None:
        """Record a hint on an op's result, or on its body's argument (`tt.divisibility_arg1`)."""
        hint_name, _, argument_number = name.partition("_arg")
        values, loops = op.results[:1], self.loops
        if argument_number:
            arguments = op.regions[0].blocks[0].arguments if op.regions else ()
            values = arguments[int(argument_number) :][:1]
            loops = (*loops, *(loop for loop in self.found_loops[-1:] if loop.op is op))
        if hint_name in _HINTS:
            for value in values:
                self._add_hint(op, hint_name, op.attributes[name], value, loops=loops)

    def _add_hint(
        self, op: Op, name: str, attribute: Attribute, value: Value, **place: Any
    ) -> None:
        formula = self.values.get(value.id)
        argument, term = None, formula if isinstance(formula, Term) else None
        if isinstance(formula, Condition):
            term = choice(formula, 1, 0)
        if isinstance(formula, Pointer) and len(formula.choices) == 1:
            argument, term = formula.choices[0].argument, formula.choices[0].offset
        self.hints.append(
            Hint(
                op=op,
                what=_HINTS[name],
                numbers=_numbers(attribute),
                term=term,
                value=value,
                argument=argument,
                guard=self.guard,
                shape=shape_of(value.type),
                element_bytes=0 if argument is None else pointee_bytes(value.type),
                **place,
            )
        )


_HINTS: dict[str, Literal["divisibility", "contiguity", "constancy"]] = {
    "tt.divisibility": "divisibility",
    "tt.contiguity": "contiguity",
    "tt.constancy": "constancy",
}
_HINTED = tuple(_HINTS)


def _numbers(attribute: Attribute) -> tuple[int, ...]:
    if isinstance(attribute, IntegerAttribute):
        return (attribute.value,)
    if isinstance(attribute, DenseAttribute | DenseArrayAttribute):
        return tuple(int(number) for number in attribute.values)
    return ()


def _argument(position: int, type_: Type) -> Formula | None:
    """Return the formula of the kernel argument at a position; None for floats."""
    base = Pointer((PointerChoice(position, ZERO, TRUE),), ())
    if is_pointer(type_):
        return base
    if isinstance(type_, TensorDescriptorType):
        rank = len(type_.block.shape)
        sizes = [
            Symbol("scalar", (position, what, axis), *signed_range(64)).term
            for what in ("shape", "stride")
            for axis in range(rank)
        ]
        return BlockPointer(base, tuple(sizes[:rank]), tuple(sizes[rank:]), ())
    bits = integer_bits(type_)
    if bits is None:
        return None
    number = scalar(position, bits)
    return at_least(number, 1) if bits == 1 else number
