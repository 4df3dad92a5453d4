"""Classes of a kernel's summary: accesses, loops, arithmetic and assertions as formulas.

Symbols of the kinds program, lane and trip represent all programs, lanes and trips of a launch at
once. `guard` is the condition under which an op is reached, by branches around the op and around
calls of its function. `guard` does *not* say that loops run: that is `Loop.running`, which
`Place.reached` includes. For `if n > 0: for k in range(n): load(x + k)`, `guard` is `n > 0` and
`reached` is `n > 0 and k < n`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.ops import AccessKind
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, at_least, conjunction, in_order
from kvtrace.symbolic.terms import ZERO, Key, Symbol, Term, lane, signed_range


class CarriedInteger(Struct, frozen=True, eq=False):
    """An integer that a loop carries and for which there is no formula of the trip.

    `now` is the integer in a trip, `following` in the next trip, and `initial` in the first. `keys`
    are the keys of the integer's symbols, in the loop and after the loop.
    """

    now: Symbol
    following: Term
    initial: Term
    keys: tuple[Key, ...]


class Loop(Struct, frozen=True, eq=False):
    """A loop at one place of its execution.

    `running` is the condition that the loop has the trip of the trip symbol: `first + step * trip <
    end` for `scf.for`; for `scf.while`, that the loop's condition held in the previous trip (the
    guards of the body say that it holds now). `trips` is the number of trips, an unknown symbol for
    `scf.while`. `calls` are the `tt.call` ops that lead to the loop, outermost first. `going_on` is
    the condition that another trip follows; `carried` are integers that the loop carries.
    """

    op: Op
    trip: Symbol
    trips: Term
    running: Condition
    guard: Condition
    calls: tuple[Op, ...] = ()
    going_on: Condition = TRUE
    carried: tuple[CarriedInteger, ...] = ()

    @property
    def is_asked_once_more(self) -> bool:
        """The loop's condition is evaluated once more after the last trip, as in `scf.while`."""
        return self.going_on is not self.running


class Place(Struct, frozen=True, eq=False, dict=True):
    """An op at one place of execution: under `guard`, in `loops` and `calls`, outermost first."""

    op: Op
    guard: Condition
    loops: tuple[Loop, ...]
    calls: tuple[Op, ...]

    @cached_property
    def reached(self) -> Condition:
        """The guard, and the condition that each loop has the trip of its trip symbol."""
        return conjunction((*(loop.running for loop in self.loops), self.guard))


class Access(Place, frozen=True, eq=False, dict=True):
    """A load, store or atomic update of a block of elements.

    `offset` is the distance in bytes from the data pointer of the kernel's argument `argument` to
    the first byte of an element, which has `element_bytes`. If the argument is not known,
    `argument` is None and `unknown` has the reason; then `offset` has no meaning, except for
    pointers cast from integers, whose address it is.

    A lane is active if `mask` holds, which includes boundary checks of block pointers and
    descriptors. A pointer that is chosen between several arguments gives several accesses of one
    op; their masks exclude each other.

    `value`: the stored value, or the result of a load or atomic. `operator`: an atomic's, by
    Triton's name. `descriptor`: the access's tensor descriptor at the block's position, with the
    extents that the kernel states; `mask` may admit more elements, as some targets store in chunks.
    """

    kind: AccessKind
    argument: int | None
    offset: Term
    element_bytes: int
    shape: tuple[int, ...]
    mask: Condition
    value: Value | None = None
    operator: str = ""
    unknown: str | None = None
    descriptor: BlockPointer | None = None

    @cached_property
    def active(self) -> Condition:
        """The condition that a lane is reached and not masked off: `reached` and `mask`."""
        return conjunction((self.reached, self.mask))

    @cached_property
    def lanes(self) -> tuple[Symbol, ...]:
        """The lane symbols, outermost axis first; () for a scalar access."""
        axes = (lane(axis, extent).atoms() for axis, extent in enumerate(self.shape))
        return tuple(atom for atoms in axes for atom in atoms if isinstance(atom, Symbol))

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of the conditions in `active`, in order: an index before what it selects."""
        conditions = (*(loop.running for loop in self.loops), self.guard, self.mask)
        atoms = {atom for condition in conditions for atom in condition.atoms()}
        return tuple(atom for atom in in_order(atoms) if isinstance(atom, Symbol))

    def lies_within(self, first: Term | int, end: Term | int) -> Condition:
        """Return the claim that an element lies in the bytes from `first` to before `end`."""
        last = end - self.element_bytes
        return conjunction((at_least(self.offset, first), at_least(last - self.offset)))


class Arithmetic(Place, frozen=True, eq=False):
    """An integer op whose ideal `result` may not fit into its width, for some arguments.

    A counted loop has two: its counter after a trip, and, before the loop, a number that fits only
    if the step is positive.

    `Summary.values` has the ideal result, too: a proof that uses it must prove that it fits.
    `followed` False: `Summary.values` has the wrapped result, and `result` may be any number.
    """

    result: Term
    bits: int
    shape: tuple[int, ...]
    followed: bool = True

    @property
    def width(self) -> str:
        """The result's width, in words."""
        return f"{self.bits} bits" if self.bits > 1 else "one bit"

    @property
    def stays_in_width(self) -> Condition:
        """The claim that the result fits into its width."""
        low, high = (0, 1) if self.bits == 1 else signed_range(self.bits)
        return conjunction((at_least(self.result, low), at_least(high - self.result)))


class Division(Place, frozen=True, eq=False):
    """An integer division or remainder whose divisor is not a nonzero constant."""

    divisor: Term
    shape: tuple[int, ...]


class Assertion(Place, frozen=True, eq=False):
    """A `tt.assert`: `condition` must hold in every lane."""

    condition: Condition
    message: str
    shape: tuple[int, ...]


class Hint(Struct, frozen=True, eq=False):
    """A promise of the IR on a value: `what` is divisibility, contiguity or constancy.

    `numbers` has one number per axis of the value, and one for scalars. `term` is the value, or
    None if the walk does not follow it; of a pointer, `term` is the byte offset from the data
    pointer of `argument`, to elements of `element_bytes` (divisibility of pointers counts bytes,
    contiguity and constancy count elements). `position` is the index of the kernel's argument that
    `value` is, with `op` as the kernel's function; None: `value` is a result of `op`, or an
    argument of the body of the loop `op`.
    """

    op: Op
    what: Literal["divisibility", "contiguity", "constancy"]
    numbers: tuple[int, ...]
    term: Term | None
    value: Value
    argument: int | None = None
    position: int | None = None
    guard: Condition = TRUE
    loops: tuple[Loop, ...] = ()
    shape: tuple[int, ...] = ()
    element_bytes: int = 0


class PointerChoice(Struct, frozen=True, eq=False):
    """An argument that a pointer may point into, with the byte offset and the condition for it.

    `argument` is None, for `unknown`, if the pointer comes from memory or arithmetic.
    """

    argument: int | None
    offset: Term
    condition: Condition
    unknown: str | None = None


class Pointer(Struct, frozen=True, eq=False):
    """A pointer or a tensor of pointers; the conditions of `choices` exclude each other."""

    choices: tuple[PointerChoice, ...]
    shape: tuple[int, ...]


class BlockPointer(Struct, frozen=True, eq=False):
    """A pointer to a block, or a descriptor (`checked` on all axes, without `positions`).

    `extents`, `strides` and `positions` count elements, one per axis of the block.
    """

    base: Pointer
    extents: tuple[Term, ...]
    strides: tuple[Term, ...]
    positions: tuple[Term, ...]


Formula = Term | Condition | Pointer | BlockPointer
"""Formula of a value that the walk follows."""


class Summary(Struct, frozen=True):
    """Formulas of everything that a launch of a module's kernel does; see the module's docstring.

    `assumptions` are promises to the compiler (`tl.assume`), which nothing checks. `values` has the
    formulas of IR values that the walk follows, by `Value.id`: integers as ideal terms, Booleans as
    conditions, and pointers. `places` has the place of each block's last op. For a function that is
    called several times, both have the formulas of the last call.
    """

    module: Module
    accesses: tuple[Access, ...]
    loops: tuple[Loop, ...]
    arithmetic: tuple[Arithmetic, ...]
    divisions: tuple[Division, ...]
    assertions: tuple[Assertion, ...]
    assumptions: tuple[Assertion, ...]
    hints: tuple[Hint, ...]
    places: Mapping[Block, Place]
    values: Mapping[int, Formula]

    def place_of(self, op: Op) -> Place | None:
        """Return the place of any op, as `places`; None: the op is never reached."""
        place = None if op.block is None else self.places.get(op.block)
        return None if place is None else replace(place, op=op)


_MOST_CHOICES: Final = 16


def op_index(symbol: Symbol) -> int | None:
    """Return the index of the op that a trip, content or unknown symbol is of, None if of none."""
    key: object = symbol.key
    while isinstance(key, tuple):
        key = key[0]
    return key if isinstance(key, int) and key >= 0 else None


def unknown_pointer(reason: str, shape: tuple[int, ...]) -> Pointer:
    """Return a pointer whose address is unknown."""
    return Pointer((PointerChoice(None, ZERO, TRUE, reason),), shape)


def unknown_block(reason: str, shape: tuple[int, ...], *, positioned: bool) -> BlockPointer:
    """Return a block pointer, or a descriptor (not `positioned`), whose address is unknown."""
    zeros = (ZERO,) * len(shape)
    return BlockPointer(unknown_pointer(reason, ()), zeros, zeros, zeros if positioned else ())


def limited(choices: Sequence[PointerChoice], shape: tuple[int, ...]) -> Pointer:
    """Return a pointer with the possible choices, or an unknown pointer if there are too many."""
    possible = [choice for choice in choices if choice.condition is not FALSE]
    if len(possible) > _MOST_CHOICES:
        return unknown_pointer("a pointer chosen between too many", shape)
    return Pointer(tuple(possible), shape)
