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
from typing import TYPE_CHECKING, Any, Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DenseAttribute,
    DictionaryAttribute,
    IntegerAttribute,
)
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import GROWING, operator_of
from kvtrace.ir.types import TensorDescriptorType
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.functions import assuming, choice, simplified
from kvtrace.symbolic.hashes import makes_hash
from kvtrace.symbolic.meanings import meaning_of
from kvtrace.symbolic.pointers import unknown_block, unknown_pointer
from kvtrace.symbolic.summary import (
    Access,
    Arithmetic,
    Assertion,
    BlockPointer,
    Division,
    Hint,
    Known,
    Loop,
    Place,
    Pointer,
    PointerChoice,
    Summary,
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
from kvtrace.symbolic.walk_types import (
    integer_bits,
    is_block_pointer,
    is_pointer,
    number_of,
    pointee_bytes,
    shape_of,
)

if TYPE_CHECKING:
    from kvtrace.ir.types import Type

_MOST_ATOMS = 48
"""Limit on the atoms of a term, nested ones included; sorting networks exceed the limit."""

_MOST_MONOMIALS = 96
_WIDEST = 1 << 192
"""Arithmetic beyond these (hashes, random numbers) is kept wrapped, or not followed."""


@once_per_module
def summarize(module: Module) -> Summary:
    """Return the summary of a module's kernel, cached by module.

    Raises:
        NoKernel: the module has no function to run.

    """
    return Walk(module).summary()


class Walk:
    """State of the walk: formulas of values, the current place, and the summary so far."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.values: dict[int, Known] = {}
        self.places: dict[Block, Place] = {}
        self.guard: Condition = TRUE
        self.loops: tuple[Loop, ...] = ()
        self.calls: tuple[Op, ...] = ()
        self.returned: list[Known | None] = []
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
            known = _argument(position, value.type)
            if known is not None:
                self.values[value.id] = known
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
        """Visit all ops of a block, except for its terminator."""
        self.places[block] = Place(block.ops[-1], self.guard, self.loops, self.calls)
        for op in block.ops[:-1]:
            self.visit(op)

    def visit(self, op: Op) -> None:
        """Visit one op."""
        meaning = meaning_of(op.name)
        if makes_hash(op):
            self.set_unknown(op.results[0], op, "a hash")
        elif meaning is not None:
            meaning(self, op)
        else:
            self._without_meaning(op)
        for value in op.results:
            known = self.values.get(value.id)
            if isinstance(known, Term | Condition) and len(known.atoms()) > _MOST_ATOMS:
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
        for value in op.results:
            self.set_unknown(value, op, f"comes from {op.name}")

    @contextmanager
    def under(self, condition: Condition) -> Iterator[None]:
        """Visit under a further guard."""
        before = self.guard
        self.guard = conjunction((before, condition))
        try:
            yield
        finally:
            self.guard = before

    @contextmanager
    def inside(self, loop: Loop) -> Iterator[None]:
        """Visit inside a loop."""
        before = self.loops
        self.loops = (*before, loop)
        try:
            yield
        finally:
            self.loops = before

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Visit to set values only: accesses, arithmetic and all else are discarded afterwards."""
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

    def known(self, value: Value) -> Known | None:
        """Return a value's formula, or None for floats and other values without one."""
        return self.values.get(value.id)

    def term(self, value: Value) -> Term:
        """Return an integer's term."""
        known = self.values.get(value.id)
        if isinstance(known, Term):
            return known
        owner = value.owner if isinstance(value.owner, Op) else None
        return self.unknown(owner, "not followed", value.type)

    def condition(self, value: Value) -> Condition:
        """Return a Boolean's condition."""
        known = self.values.get(value.id)
        if isinstance(known, Condition):
            return known
        return self.opaque(value.owner if isinstance(value.owner, Op) else None, "not followed")

    def pointer(self, value: Value) -> Pointer:
        """Return a pointer's formula."""
        known = self.values.get(value.id)
        if isinstance(known, Pointer):
            return known
        return unknown_pointer("a pointer that is not followed", shape_of(value.type))

    def set(self, value: Value, known: Known | None) -> None:
        """Set the formula of a value; None sets no formula."""
        if known is None:
            self.values.pop(value.id, None)
        else:
            self.values[value.id] = known

    def set_unknown(
        self,
        value: Value,
        op: Op,
        reason: str,
        bounds: tuple[int, int] | None = None,
        *,
        always_new: bool = False,
    ) -> None:
        """Set an unknown formula for a value; floats have none.

        `always_new`: the value differs between programs, as results of atomics do.
        """
        self.set(value, self.unknown_of(value, op, reason, bounds, always_new=always_new))

    def unknown_of(
        self,
        value: Value,
        op: Op,
        reason: str,
        bounds: tuple[int, int] | None = None,
        *,
        always_new: bool = False,
    ) -> Known | None:
        """Return a formula that represents a value that is not followed."""
        shape = shape_of(value.type)
        bits = integer_bits(value.type)
        if is_block_pointer(value.type) or isinstance(value.type, TensorDescriptorType):
            return unknown_block(reason, shape)
        if is_pointer(value.type):
            return unknown_pointer(reason, shape)
        if bits is None:
            return None
        at = self.coordinates(shape, every_program=always_new)
        key = self.key(op, value.position) if len(op.results) > 1 else self.key(op)
        if bits == 1:
            return Opaque(key, reason, at)
        low, high = bounds if bounds is not None else signed_range(bits)
        return Symbol("unknown", (key, reason), low, high, at).term

    def unknown(
        self, op: Op | None, reason: str, type_: Type, bounds: tuple[int, int] | None = None
    ) -> Term:
        """Return a symbol for an integer of a type that is not followed."""
        low, high = bounds if bounds is not None else signed_range(integer_bits(type_) or 64)
        at = self.coordinates(shape_of(type_))
        return Symbol("unknown", (self.key(op), reason), low, high, at).term

    def opaque(self, op: Op | None, reason: str, shape: tuple[int, ...] = ()) -> Condition:
        """Return a condition that is not followed."""
        return Opaque(self.key(op), reason, self.coordinates(shape))

    def key(self, op: Op | None, *more: int) -> Key:
        """Return an op's key at the current place: its index, or a tuple with calls' indices."""
        index = -1 if op is None else op.index
        if not self.calls and not more:
            return index
        return (index, *more, *(("call", call.index) for call in self.calls))

    def coordinates(
        self, shape: tuple[int, ...], *, every_program: bool = False
    ) -> tuple[Term, ...]:
        """Return the terms that a value may vary over: programs, trips and lanes."""
        programs = tuple(program(axis) for axis in range(3)) if every_program else self._programs
        trips = (loop.trip.term for loop in self.loops)
        lanes = (lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
        return (*programs, *trips, *lanes)

    # -- the summary's entries --------------------------------------------------------------------

    def place(self, op: Op) -> dict[str, Any]:
        """Return the fields of `Place` for an op at the current place."""
        return {"op": op, "guard": self.guard, "loops": self.loops, "calls": self.calls}

    def computed(self, op: Op, result: Term) -> None:
        """Set the ideal result of an integer op, and record the op if the result may not fit."""
        value = op.results[0]
        bits = integer_bits(value.type) or 64
        low, high = signed_range(bits)
        if len(result.coefficients) > _MOST_MONOMIALS:
            self.lost(value, op, "arithmetic of too many terms")
            return
        if result.low < -_WIDEST or result.high > _WIDEST:
            self._note(op, value, result, followed=False)
            self.values[value.id] = wrapped(result, bits, signed=True)
            return
        if result.low < low or result.high > high:
            self._note(op, value, result)
        self.values[value.id] = result

    def lost(self, value: Value, op: Op, reason: str) -> None:
        """Set an unknown result for an integer op that may wrap around."""
        key = (self.key(op, value.position), reason)
        at = self.coordinates(shape_of(value.type))
        anything = Symbol("unknown", key, -_WIDEST, _WIDEST, at).term
        self._note(op, value, anything, followed=False)
        self.set_unknown(value, op, reason)

    def _note(self, op: Op, value: Value, result: Term, *, followed: bool = True) -> None:
        if op.name not in GROWING and not op.regions:
            return  # the result fits if the operands do
        bits, shape = integer_bits(value.type) or 64, shape_of(value.type)
        self.arithmetic.append(
            Arithmetic(**self.place(op), result=result, bits=bits, shape=shape, followed=followed)
        )

    def counts(self, loop: Op, result: Term, bits: int) -> None:
        """Record the counter of a counted loop if it may not fit into its width."""
        low, high = signed_range(bits)
        if result.low < low or result.high > high:
            self.arithmetic.append(
                Arithmetic(**self.place(loop), result=result, bits=bits, shape=())
            )

    def divides(self, op: Op, divisor: Term) -> None:
        """Record a division whose divisor may be 0."""
        if divisor.low <= 0 <= divisor.high:
            shape = shape_of(op.results[0].type)
            self.divisions.append(Division(**self.place(op), divisor=divisor, shape=shape))

    def accessed(
        self,
        op: Op,
        kind: Literal["load", "store", "atomic"],
        pointer: Pointer,
        mask: Condition,
        element_bytes: int,
        shape: tuple[int, ...],
        **details: Any,
    ) -> list[Access]:
        """Record an access for each argument that the pointer may point into."""
        accesses = []
        for chosen in pointer.choices:
            guards = self.guard.conjuncts()
            active = simplified(conjunction((chosen.condition, mask)), guards)
            holding = (*guards, *active.conjuncts())
            access = Access(
                **self.place(op),
                kind=kind,
                argument=chosen.argument,
                offset=assuming(chosen.offset, holding),
                element_bytes=element_bytes,
                shape=shape,
                mask=active,
                unknown=chosen.unknown,
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
        for position, entries in enumerate(attributes):
            if not isinstance(entries, DictionaryAttribute) or position >= len(arguments):
                continue
            for name, attribute in entries.entries.items():
                if name not in _HINTS:
                    continue
                term = self.values.get(arguments[position].id)
                argument = position if isinstance(term, Pointer) else None
                self.hints.append(
                    Hint(
                        op=function,
                        what=_HINTS[name],
                        numbers=_numbers(attribute),
                        term=ZERO if isinstance(term, Pointer) else _as_integer(term),
                        value=arguments[position],
                        argument=argument,
                        position=position,
                    )
                )

    def _hint(self, op: Op, name: str) -> None:
        """Record a hint on an op's result, or (`tt.divisibility_arg1`) its body's argument."""
        what, _, number = name.partition("_arg")
        if what not in _HINTS:
            return
        value, loops = op.results[0] if op.results else None, self.loops
        if number:
            arguments = op.regions[0].blocks[0].arguments if op.regions else ()
            value = arguments[int(number)] if int(number) < len(arguments) else None
            loops = (*loops, *(loop for loop in self.found_loops[-1:] if loop.op is op))
        if value is None:
            return
        known = self.values.get(value.id)
        argument, term = None, _as_integer(known)
        if isinstance(known, Condition):
            term = choice(known, 1, 0)
        if isinstance(known, Pointer) and len(known.choices) == 1:
            argument, term = known.choices[0].argument, known.choices[0].offset
        self.hints.append(
            Hint(
                op=op,
                what=_HINTS[what],
                numbers=_numbers(op.attributes[name]),
                term=term,
                value=value,
                argument=argument,
                guard=self.guard,
                loops=loops,
                shape=shape_of(value.type),
                element_bytes=0 if argument is None else pointee_bytes(value.type),
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


def _as_integer(known: Known | None) -> Term | None:
    return known if isinstance(known, Term) else None


def _argument(position: int, type_: Type) -> Known | None:
    """Return the formula of a kernel argument."""
    if is_pointer(type_):
        return Pointer((PointerChoice(position, ZERO, TRUE),), ())
    if isinstance(type_, TensorDescriptorType):
        rank = len(type_.block.shape)
        low, high = signed_range(64)
        sizes = [
            Symbol("scalar", (position, what, axis), low, high).term
            for what in ("shape", "stride")
            for axis in range(rank)
        ]
        base = Pointer((PointerChoice(position, ZERO, TRUE),), ())
        return BlockPointer(base, tuple(sizes[:rank]), tuple(sizes[rank:]), ())
    bits = integer_bits(type_)
    if bits is None:
        return None
    number = scalar(position, bits)
    return at_least(number, 1) if bits == 1 else number
