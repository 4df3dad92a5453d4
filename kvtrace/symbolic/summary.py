"""What a summary of a kernel holds: its accesses, loops, arithmetic and assertions as formulas.

Everything is per launch of one program: symbols of kinds program, lane and trip stand for all
programs, lanes and trips at once. `guard` is the condition under which an op is reached at all (its
branches, and for calls those around the call); that its loops run is *not* in it: each trip symbol
of `loops` is from 0 to `trips` - 1, and an op in a loop without trips is not reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvtrace.ir import Module, Op, Value
from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.terms import Symbol, Term

AccessKind = Literal["load", "store", "atomic"]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop where it is run: of `scf.while`, `trips` is an unknown symbol.

    `calls` are the `tt.call` ops through which it is reached, outermost first.
    """

    op: Op
    trip: Symbol
    trips: Term
    guard: Condition
    calls: tuple[Op, ...] = ()

    @property
    def running(self) -> Condition:
        """That the trip symbol is one of the loop's trips."""
        return at_least(self.trips - 1 - self.trip.term)


@dataclass(frozen=True, eq=False)
class Place:
    """An op where it is reached: under `guard`, in `loops` (outermost first), by `calls`."""

    op: Op
    guard: Condition
    loops: tuple[Loop, ...]
    calls: tuple[Op, ...]

    @property
    def reached(self) -> Condition:
        """The guard, and that each trip symbol is one of its loop's trips."""
        return conjunction((*(loop.running for loop in self.loops), self.guard))


@dataclass(frozen=True, eq=False)
class Access(Place):
    """A load, store or atomic update of a block of elements.

    `argument` is the index of the kernel's argument whose data pointer `offset` counts from, in
    bytes, to the first byte of an element of `element_bytes`; None if `unknown` says why it is not
    known (then `offset` and perhaps `mask` mean nothing). A lane is active where `mask` holds,
    which includes boundary checks of block pointers and descriptors. A pointer that is chosen
    between several arguments gives several accesses of one op; their masks exclude each other.

    `has_other`: a load fills masked lanes (a descriptor's with zeros). `value`: what is stored, or
    the load's or atomic's result. `operator`, `semantics`, `scope`: an atomic's, as in the IR.
    `offset_bits`: the narrowest width in which the offset was summed up, in elements.
    """

    kind: AccessKind
    argument: int | None
    offset: Term
    element_bytes: int
    shape: tuple[int, ...]
    mask: Condition
    has_other: bool = True
    value: Value | None = None
    operator: str = ""
    semantics: str = ""
    scope: str = ""
    unknown: str | None = None

    @property
    def active(self) -> Condition:
        """That a lane is reached and not masked off: `reached` and `mask`."""
        return conjunction((self.reached, self.mask))


@dataclass(frozen=True, eq=False)
class Arithmetic(Place):
    """An integer op whose ideal `result` may leave its width (for some arguments).

    `operands` are the ideal terms. Its IR result in `values` is the ideal one, too: who uses it
    must see that it fits.
    """

    result: Term
    bits: int
    shape: tuple[int, ...]
    signed: bool = True


@dataclass(frozen=True, eq=False)
class Division(Place):
    """An integer division, or remainder, whose divisor is not a number other than 0."""

    divisor: Term
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Assertion(Place):
    """A `tt.assert`: `condition` must hold in every lane under `mask`."""

    condition: Condition
    message: str
    shape: tuple[int, ...]
    of_overflow: bool = False


@dataclass(frozen=True, eq=False)
class Hint:
    """What the IR promises of a value: `what` is divisibility, contiguity or constancy.

    On an argument of the kernel (`argument` is its index, `op` its function) or on the first
    result of an op; `number` per axis of the value (one for scalars). `term` is the value: bytes
    from the data pointer for pointers (whose `argument` is then that pointer's).
    """

    op: Op
    what: Literal["divisibility", "contiguity", "constancy"]
    numbers: tuple[int, ...]
    term: Term | None
    argument: int | None = None
    on_argument: bool = False
    guard: Condition | None = None
    loops: tuple[Loop, ...] = ()
    shape: tuple[int, ...] = ()


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


@dataclass(frozen=True)
class Summary:
    """All that a launch of a module's kernel does; see the module's text.

    `values` has what each IR value is, by `Value.id`, where the walk follows it: integers as ideal
    terms, Booleans as conditions, pointers. In a function that is called from several places it has
    the last one's.
    """

    module: Module
    accesses: tuple[Access, ...]
    loops: tuple[Loop, ...]
    arithmetic: tuple[Arithmetic, ...]
    divisions: tuple[Division, ...]
    assertions: tuple[Assertion, ...]
    hints: tuple[Hint, ...]
    values: Mapping[int, Term | Condition | Pointer] = field(repr=False)
