"""Outcomes of pairs of accesses by two actors: programs, or lanes of one program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from kvtrace.ir import Op

if TYPE_CHECKING:
    from kvtrace.evaluate import TensorArgument
    from kvtrace.symbolic.prover import Method


class NoConflict(Struct, frozen=True):
    """Two actors do not race; `why` is the reason if they may still touch the same byte.

    An `assumption` is a condition of the outcome. `settled`: a load of the pair reads the same
    value in every order of the programs.
    """

    method: Method | Literal["evaluated"]
    why: str = ""
    solver_ns: int = 0
    assumption: str | None = None
    settled: bool = False


class SuspectedConflict(Struct, frozen=True):
    """Two actors that race at a byte (from the storage's start), according to formulas.

    It is replayed before it is reported. `programs` are the linear ids of both actors.
    """

    programs: tuple[int, int]
    byte: int
    method: Method
    solver_ns: int = 0


class Undecided(Struct, frozen=True):
    """A pair without a verdict, for a `reason`; `evaluating`: an evaluation may decide the pair.

    The two actors do not race if the `assumption`, if any, holds.
    """

    reason: str
    evaluating: bool = True
    solver_ns: int = 0
    assumption: str | None = None


class Touch(Struct, frozen=True):
    """The access of one lane of a program to a byte.

    `address_offset` is the first byte of the lane's element, from the data pointer of `argument`
    (an index), through which the lane accesses the element.
    """

    op: Op
    program: int
    iteration: int
    lane: tuple[int, ...]
    argument: int
    address_offset: int


class Witness(Struct, frozen=True):
    """Both accesses of a race at a byte, which counts from the start of the storage."""

    first: Touch
    second: Touch
    byte: int

    def ordered_for(self, op: Op) -> Witness:
        """Return the witness with the access by an op first."""
        if self.first.op is op:
            return self
        return Witness(self.second, self.first, self.byte)


class ConfirmedConflict(Struct, frozen=True):
    """A race that occurred in a replay, with its accesses in the kernel's order.

    `is_pipelined`: one thread does both, a load of a later trip first. `is_across`: the two are
    lanes of different CTAs of a program. `unordering_release`: an atomic that would order the two
    if a barrier held all threads of its program. `unrecorded`: tensors whose contents, which are
    not known, decide whether both store the same value.
    """

    witness: Witness
    method: Method | Literal["evaluated"]
    solver_ns: int = 0
    is_pipelined: bool = False
    is_across: bool = False
    unordering_release: Op | None = None
    unrecorded: tuple[TensorArgument, ...] = ()
