"""What a summary of a kernel holds: its accesses, loops, arithmetic and assertions as formulas.

Everything is per launch of one program: symbols of kinds program, lane and trip represent all
programs, lanes and trips at once. `guard` is the condition under which an op is reached at all (its
branches, and for calls those around the call); that its loops run is *not* in it: see
`Loop.running`, which is in `Place.reached`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.ops import AccessKind
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction
from kvtrace.symbolic.terms import Key, Symbol, Term, signed_range


@dataclass(frozen=True, eq=False)
class CarriedInteger:
    """An integer that a loop carries and that no formula says.

    `now` is what it is in a trip, `following` in the one after it, `initial` in the first; `keys`
    are those of the symbols that it is, in the loop and after it.
    """

    now: Symbol
    following: Term
    initial: Term
    keys: tuple[Key, ...]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop where it is run.

    `running` says that the trip symbol is one of its trips: `first + step * trip < end` for
    `scf.for`; for `scf.while`, that its condition held in the trip before (that it holds now is in
    the guards of its body). `trips` is how many there are, an unknown symbol for `scf.while`.
    `calls` are the `tt.call` ops through which it is reached, outermost first. Another trip comes
    after the one of its symbol's number where `going_on` holds; `carried` are integers of it.
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
        """Whether what decides on a trip runs after the last one, too, as in `scf.while`."""
        return self.going_on is not self.running


@dataclass(frozen=True, eq=False)
class Place:
    """An op where it is reached: under `guard`, in `loops` (outermost first), by `calls`."""

    op: Op
    guard: Condition
    loops: tuple[Loop, ...]
    calls: tuple[Op, ...]

    @cached_property
    def reached(self) -> Condition:
        """The guard, and that each trip symbol is one of its loop's trips."""
        return conjunction((*(loop.running for loop in self.loops), self.guard))


@dataclass(frozen=True, eq=False)
class Access(Place):
    """A load, store or atomic update of a block of elements.

    `argument` is the index of the kernel's argument whose data pointer `offset` counts from, in
    bytes, to the first byte of an element of `element_bytes`; None if `unknown` says why it is not
    known (then `offset` means nothing, but of pointers made of integers it is the address).

    A lane is active where `mask` holds, which includes boundary checks of block pointers and
    descriptors. A pointer that is chosen between several arguments gives several accesses of one
    op; their masks exclude each other.

    `value`: what is stored, or the load's or atomic's result. `operator`, `semantics`, `scope`: an
    atomic's, by Triton's names. `descriptor`: the tensor descriptor that it goes through, at the
    block's position; its extents are those that the kernel states, which `mask` exceeds where the
    target stores in chunks.
    """

    kind: AccessKind
    argument: int | None
    offset: Term
    element_bytes: int
    shape: tuple[int, ...]
    mask: Condition
    value: Value | None = None
    operator: str = ""
    semantics: str = ""
    scope: str = ""
    unknown: str | None = None
    descriptor: BlockPointer | None = None

    @cached_property
    def active(self) -> Condition:
        """That a lane is reached and not masked off: `reached` and `mask`."""
        return conjunction((self.reached, self.mask))

    def lies_within(self, first: Term | int, end: Term | int) -> Condition:
        """Return the claim that an element lies from byte `first` on, and ends at `end` at most."""
        last = end - self.element_bytes
        return conjunction((at_least(self.offset, first), at_least(last - self.offset)))


@dataclass(frozen=True, eq=False)
class Arithmetic(Place):
    """An integer op whose ideal `result` may leave its width (for some arguments).

    Of a counted loop it is the counter after a trip, in the trip; and, before the loop, a number
    that leaves its width unless the step is positive.

    Its IR result in `values` is the ideal one, too: who uses it must see that it fits. `followed`
    False: that is what the width holds of it; `result` may represent any number.
    """

    result: Term
    bits: int
    shape: tuple[int, ...]
    followed: bool = True

    @property
    def stays_in_width(self) -> Condition:
        """The claim that the result stays within its width."""
        low, high = signed_range(self.bits)
        return conjunction((at_least(self.result, low), at_least(high - self.result)))


@dataclass(frozen=True, eq=False)
class Division(Place):
    """An integer division, or remainder, whose divisor is not a number other than 0."""

    divisor: Term
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Assertion(Place):
    """A `tt.assert`: `condition` must hold in every lane (`of_overflow`: made by debug=True)."""

    condition: Condition
    message: str
    shape: tuple[int, ...]
    of_overflow: bool = False


@dataclass(frozen=True, eq=False)
class Hint:
    """What the IR promises of a value: `what` is divisibility, contiguity or constancy.

    `numbers` has one per axis of the value (one for scalars). `term` is the value, None if it is
    not followed; of a pointer, the byte offset from the data pointer of `argument`, to elements of
    `element_bytes` (divisibility of pointers counts bytes, the others count elements). `position`:
    `value` is that argument of the kernel, `op` being its function; None: it is a result of `op`,
    or what the body of the loop `op` is given.
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


@dataclass(frozen=True, eq=False)
class PointerChoice:
    """One of the arguments that a pointer may be into: byte offset, and where it is the one.

    `argument` is None, and `unknown` says why, if it comes from memory or arithmetic.
    """

    argument: int | None
    offset: Term
    condition: Condition
    unknown: str | None = None


@dataclass(frozen=True, eq=False)
class Pointer:
    """A pointer, or a tensor of them: its choices' conditions exclude each other."""

    choices: tuple[PointerChoice, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BlockPointer:
    """A pointer to a block, or a descriptor (`checked` on all axes, without `positions`).

    `extents`, `strides` and `positions` count elements, one per axis of the block.
    """

    base: Pointer
    extents: tuple[Term, ...]
    strides: tuple[Term, ...]
    positions: tuple[Term, ...]


Known = Term | Condition | Pointer | BlockPointer
"""What the walk may know of a value."""


@dataclass(frozen=True)
class Summary:
    """All that a launch of a module's kernel does; see the module's text.

    `assumptions` are what the kernel promises the compiler (`tl.assume`): nothing checks them.
    `values` has what each IR value is, by `Value.id`, where the walk follows it: integers as ideal
    terms, Booleans as conditions, pointers. `places` says when the ops of a block are reached (its
    `op` is the block's last). In a function that is called from several places both have the last
    one's.
    """

    module: Module
    accesses: tuple[Access, ...]
    loops: tuple[Loop, ...]
    arithmetic: tuple[Arithmetic, ...]
    divisions: tuple[Division, ...]
    assertions: tuple[Assertion, ...]
    assumptions: tuple[Assertion, ...]
    hints: tuple[Hint, ...]
    places: Mapping[Block, Place] = field(repr=False)
    values: Mapping[int, Known] = field(repr=False)
