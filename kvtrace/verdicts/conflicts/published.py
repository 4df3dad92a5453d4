"""Accesses after a flag: a program goes on if it reads a flag that another one set after its own.

Only what sets the flag's place counts: whoever reads there, with acquire, a number that was not
there at the start has read it from one of the releases that may leave it. If that release is of the
program of the earlier access, and comes after it, the two accesses are ordered, in all orders of
the programs.

Example: program i stores `sums + i` and then 1 to `flags + i`. Another program that looks back, and
loads `sums + j` where it has read 1 in `flags + j`, loads what program j has stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from kvtrace.symbolic.conditions import (
    TRUE,
    Condition,
    at_least,
    conjunction,
    equal,
    in_order,
)
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.summary import Access, Loop
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.copies import ACTOR_KINDS, Actors, Question, are_different
from kvtrace.verdicts.conflicts.outcomes import NoConflict
from kvtrace.verdicts.conflicts.parts import EXCHANGE, updates_by
from kvtrace.verdicts.conflicts.releases import Releases
from kvtrace.verdicts.conflicts.sharers import Sharer, copy_of

_FLAGS: Final = "a flag lets a program do it after the other"
_ZERO_AT_START: Final = "all flags are 0 when the kernel starts"
_MOST_NUMBERS: Final = 16
"""Limit of different numbers that a recorded tensor of flags has at the start."""


class _Read(Struct, frozen=True):
    """A read of a flag at one place of its program: its number, its address, and what is known.

    If a loop repeats it to wait, it is the read of the last trip, and the loop has ended.
    `assumption` is on the flags as the kernel starts.
    """

    sharer: Sharer
    number: Term
    address: Term
    known: Condition
    assumption: str | None


class Flags:
    """The flags of one call, by which a program knows what others have done."""

    def __init__(
        self, bound: BoundCall, sharers: Sequence[Sharer], releases: Releases, actors: Actors
    ) -> None:
        self._bound = bound
        self._sharers = sharers
        self._releases = releases
        self._actors = actors
        self._reads: dict[Sharer, list[_Read]] = {}

    def order(self, one: Sharer, other: Sharer) -> NoConflict | None:
        """Return the outcome of a pair of accesses that a flag orders, either first; else None."""
        for earlier, later in ((one, other), (other, one)):
            if later not in self._reads:
                self._reads[later] = list(self._reads_before(later))
            for read in self._reads[later]:
                if self._is_set_after(earlier, read, later):
                    return NoConflict("solver", _FLAGS, assumption=read.assumption)
        return None

    def _reads_before(self, later: Sharer) -> Iterator[_Read]:
        """Yield the scalar reads of flags that must be set for a program to reach an access."""
        access = later.access
        atoms = access.active.atoms() | access.offset.atoms()
        for sharer in self._sharers if later.exact is not None else ():
            role, waits = sharer.role, [x for x in sharer.access.loops if x not in access.loops]
            if role.changes or not role.acquires or sharer.exact is None or sharer.access.shape:
                continue
            number = self._bound.summary.values.get(role.op.results[0].id)
            if not isinstance(number, Term) or sharer.access.calls or len(waits) > 1:
                continue
            at_last, known = _last_trip(waits[0]) if waits else (Substitution({}), TRUE)
            starts = self._bound.contents.at_start(sharer.access)
            numbers = [0] if starts is None else np.unique(starts).tolist()
            read = _Read(
                sharer, at_last(number), at_last(copy_of(self._bound, sharer)[0]), known,
                _ZERO_AT_START if starts is None else None,
            )  # fmt: skip
            if not atoms.issuperset(read.number.atoms()) or len(numbers) > _MOST_NUMBERS:
                continue
            claims = [sharer.access.active.substitute(at_last)]
            claims += [at_least(loop.trips, 1) for loop in waits]
            claims += [~equal(read.number, start) for start in numbers]
            is_before = self._releases.orders_all_threads(role.op)
            if is_before and self._holds(conjunction(claims), read, later):
                yield read

    def _holds(self, claim: Condition, read: _Read, later: Sharer) -> bool:
        """Return whether a condition holds wherever an access after a read is reached."""
        conditions = [*later.access.active.conjuncts(), *read.known.conjuncts()]
        given = self._bound.given_of(conditions)
        return isinstance(self._bound.prove(claim, given), Proven)

    def _is_set_after(self, earlier: Sharer, read: _Read, later: Sharer) -> bool:
        """Return whether each write that `read` may see follows `earlier` in its program."""
        for write in self._sharers:
            if write.storage not in (None, read.sharer.storage) or not write.role.changes:
                continue
            if write.exact is None or write.access.calls:
                return False
            assert read.sharer.exact is not None
            meets = not Common(read.sharer.exact, write.exact).is_nowhere
            if meets and not self._is_own(earlier, write, read, later):
                return False
        return True

    def _is_own(self, earlier: Sharer, write: Sharer, read: _Read, later: Sharer) -> bool:
        """Return whether `read` sees a write only from the program of `earlier`, and after it."""
        is_replacing = write.role.kind == "store" or updates_by(write.role.op, EXCHANGE)
        if write.access.element_bytes != read.sharer.access.element_bytes or earlier.exact is None:
            return False
        bound, axes = self._bound, self._actors.differing or ()
        address, _, active = copy_of(bound, write)
        number = bound.summary.values.get(write.role.op.operand("value").id)
        written = number if is_replacing and isinstance(number, Term) else None
        third = self._third_actor(write, *axes)
        is_flag = write.role.releases and not write.access.shape
        is_after = is_flag and self._follows(write.access, earlier.access)

        def is_read(second: Substitution) -> Condition:
            conditions = [
                *(part.substitute(second) for part in read.known.conjuncts() if not part.opaques()),
                equal(second(read.address), third(address)),
                *(part.substitute(third) for part in active if not part.opaques()),
            ]
            if written is not None:
                conditions.append(equal(second(read.number), third(written)))
            if is_after:
                conditions.append(are_different((axis.term, third(axis.term)) for axis in axes))
            return conjunction(conditions)

        assert earlier.storage is not None
        question = Question(
            copy_of(bound, earlier), copy_of(bound, later),
            Actors(axes, when=is_read), bound.ranges, earlier.storage.nbytes,
            about=(read.address, read.number, read.known),
        )  # fmt: skip
        decision = bound.prove(question.claim, question.given)
        return not question.is_lost and isinstance(decision, Proven)

    def _third_actor(self, write: Sharer, *axes: Symbol) -> Substitution:
        """Return the renaming of a write's symbols to those of a third program, which writes."""
        access, values = write.access, self._bound.summary.values
        number = values.get(write.role.op.operand("value").id)
        atoms = access.offset.atoms() | access.active.atoms() | set(axes)
        atoms |= number.atoms() if isinstance(number, Term) else set()
        return Substitution(
            {
                atom: Symbol(atom.kind, ("third", position), *self._bound.ranges.of(atom)).term
                for position, atom in enumerate(in_order(atoms))
                if isinstance(atom, Symbol) and atom.kind in ACTOR_KINDS
            }
        )

    def _follows(self, write: Access, earlier: Access) -> bool:
        """Return whether a program's release orders all its executions of an earlier access."""
        is_repeated = any(loop in write.loops for loop in earlier.loops)
        return (
            not is_repeated
            and not earlier.calls
            and earlier.op.index < write.op.index
            and self._releases.order(earlier.op, write.op) is True
        )


def _last_trip(loop: Loop) -> tuple[Substitution, Condition]:
    """Return the replacement of a loop's trip by the last one, and the condition that it ends."""
    last = loop.trips - 1
    at_last, at_end = Substitution({loop.trip: last}), Substitution({loop.trip: loop.trips})
    ends = ~loop.going_on.substitute(at_end)
    goes_on = (loop.running & loop.going_on).substitute(at_last)
    return at_last, ends & (goes_on | ~at_least(last))
