"""Vector clocks of programs: detection of accesses that no atomic orders.

A program's clock says of each other program how many of its steps happened before. All that a
program does up to a release is one step. A release stores a copy of the clock at the address that
it writes, and the acquire that reads the address merges the copy into its own program's clock. Two
accesses race if neither is in the other's clock. Example: program 0 stores x and releases flag f in
its step 1; program 1 acquires f, so its clock for program 0 becomes 1, and its load of x (stored in
step 1) is ordered; without the acquire the clock stays 0 < 1, a race. Ops that not every release
orders (`releases.py`) have separate clocks. The method is that of FastTrack (Flanagan and Freund,
PLDI 2009), but with the last access of each op kept apart, so that it is exact for each pair of
ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.ir import Module, Op
from kvtrace.ir.ops import KINDS, WRITING
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.conflicts.parts import Role, roles_of
from kvtrace.verdicts.conflicts.releases import NO_GAPS, Gaps
from kvtrace.verdicts.conflicts.schedules import Schedule

_MAX_NUMBERS: Final = 1 << 25
"""Limit of stored numbers: clocks at addresses, and concurrent accesses besides the last."""

Cell = tuple[Storage, int]
RaceKey = tuple[int, int, Storage]
"""The indices of both ops, ascending, and the storage."""


class TooLarge(KvtraceError):
    """The error of an evaluation whose programs synchronize too often to be tracked."""

    slug = "too-large"


@dataclass(frozen=True)
class Race:
    """Two programs that touch the same byte of a storage, which no atomic orders."""

    first: Op
    second: Op
    storage: Storage
    byte: int
    programs: tuple[int, int]
    schedule: Schedule = field(compare=False, repr=False)


@dataclass
class _LastAccesses:
    """The last access of an op to each watched byte: its program (-1: none) and program's step.

    `concurrent` has earlier accesses that the last one is not ordered after: step by program, by
    byte.
    """

    role: Role
    width: int
    program: NDArray[np.int32]
    step: NDArray[np.int32]
    concurrent: dict[int, dict[int, int]] = field(default_factory=dict)

    def unordered(
        self, clock: NDArray[np.int32], program: int, positions: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return at which positions another program was last, which a program's clock lacks."""
        programs = self.program[positions]
        is_unordered = clock[programs] < self.step[positions]
        return np.asarray((programs >= 0) & (programs != program) & is_unordered)


class Clocks(Observer):
    """An observer that updates vector clocks and finds races, one program after the other.

    `watched` are the bytes of each storage (ascending, from the storage's start) where races are
    looked for, `schedule` is that of the run, `gaps` has the ops that releases and acquires do not
    order. `groups` is updated: a number by program, equal for those that touch the same bytes.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Argument],
        programs: int,
        watched: Mapping[Storage, NDArray[np.int64]],
        schedule: Schedule,
        groups: NDArray[np.int64],
        gaps: Gaps = NO_GAPS,
    ) -> None:
        self._arguments = arguments
        self._roles = roles_of(module).by_op
        self._watched = watched
        self._schedule = schedule
        self._own_thread_only = gaps.own_thread_only
        missing = {
            index: frozenset(r for r, missed in gaps.unordered.items() if index in missed)
            for index in self._roles
        }
        kinds = list(dict.fromkeys(missing.values())) or [frozenset()]
        self._kind_of = {index: kinds.index(releases) for index, releases in missing.items()}
        self._released_by = {
            release: np.array([release not in releases for releases in kinds])
            for release in self._roles
        }
        # By kind of op and program: the steps of each other program that happened before, and of
        # itself those that it has released.
        self._clocks = np.zeros((len(kinds), programs, programs), np.int32)
        self._steps = np.ones(programs, np.int32)
        self._released: dict[Cell, NDArray[np.int32]] = {}
        self._unread: dict[Cell, NDArray[np.int32]] = {}
        self._releasers: dict[Cell, int] = {}
        self._last: dict[Storage, dict[tuple[int, int], _LastAccesses]] = {s: {} for s in watched}
        self._numbers_kept = 0
        self._groups = groups
        self._users: dict[Cell, int] = {}
        self._cells: list[Cell] = []
        self.races: dict[RaceKey, Race] = {}
        self.doubt: str | None = None

    def access(self, access: Access) -> None:
        """Update the clocks by one op of one program, and record its races."""
        role = self._roles[access.op.index]
        if access.active == 0:
            return
        if access.argument is None or access.lowest is None or not access.certain:
            self.doubt = self.doubt or access.reason or "an address could not be derived"
            return
        argument = self._arguments[access.argument]
        assert isinstance(argument, TensorArgument)
        watched = self._watched.get(argument.storage)
        if watched is None and not (role.acquires or role.strong):
            return
        elements = access.elements()
        assert elements is not None
        starts, programs = elements
        program = int(programs[0])
        starts = starts + argument.offset_bytes
        if role.acquires or role.strong:
            for byte in (starts[:, None] + np.arange(access.element_bytes)).ravel():
                self._join(program, self._users.setdefault((argument.storage, int(byte)), program))
        if role.acquires and role.op.index not in self._own_thread_only:
            self._acquire(program, argument.storage, starts)
        if watched is not None:
            positions = _watched_positions(watched, starts, access.element_bytes)
            self._record_access(role, access.element_bytes, program, argument.storage, positions)
        if role.kind == "store" and role.strong and not role.releases:
            self._overwrite(program, argument.storage, starts)
        elif role.releases or (role.kind == "atomic" and role.strong):
            self._cells = [(argument.storage, int(start)) for start in starts]
            if not is_compare_and_swap(access.op):  # else `swapped` says where it wrote
                self._change(role, program, self._cells)

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Record the reason for doubt if a loop's trip count is unknown: it may wait for others."""
        if (trips < 0).any():
            self.doubt = self.doubt or f"the number of trips of {op.name} depends on data"

    def waited_for_unknown(self, op: Op) -> None:
        """Record the reason for doubt: an op waits for contents that were not recorded."""
        self.doubt = self.doubt or f"the contents that {op.name} waits for were not recorded"

    def swapped(self, op: Op, program: int, done: NDArray[np.bool_]) -> None:
        """Follow the change of the addresses where a compare-and-swap wrote."""
        role = self._roles[op.index]
        if role.strong and self.doubt is None:  # else its cells are not known
            cells = [cell for cell, is_done in zip(self._cells, done, strict=True) if is_done]
            self._change(role, program, cells)

    def _change(self, role: Role, program: int, cells: Sequence[Cell]) -> None:
        """Release at cells that an op changes, or continue what was released there."""
        if role.releases:
            self._release(role.op, program, cells, continues=role.kind == "atomic")
        elif role.strong and role.changes:
            for cell in cells:
                self._release_unread(cell)

    def _join(self, program: int, other: int) -> None:
        groups = self._groups
        if groups[program] != groups[other]:
            groups[groups == groups[other]] = groups[program]

    def _acquire(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        """Merge the clocks released at the addresses into the program's clock."""
        clock = self._clocks[:, program]
        for start in starts:
            released = self._released.get((storage, int(start)))
            if released is not None:
                np.maximum(clock, released, out=clock)

    def _overwrite(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        """Delete the clocks of other programs at addresses that a program stores to.

        Nobody reads from these releases any more. The program's own release stays: with the store
        after it, it is a release pattern.
        """
        for start in starts:
            cell = (storage, int(start))
            if self._releasers.get(cell) != program:
                self._released.pop(cell, None)

    def _release(
        self, op: Op, program: int, cells: Sequence[Cell], *, continues: bool = True
    ) -> None:
        """Store the program's clock at the cells, and begin the program's next step."""
        ordered_kinds = self._released_by[op.index]
        self._clocks[ordered_kinds, program, program] = self._steps[program]
        clock = self._clocks[:, program].copy()
        for cell in cells:
            if not self._roles[op.index].changes:
                # An acquire sees by the value that a change came before it, not that this did.
                unread = self._unread.get(cell)
                self._count_numbers(clock.size if unread is None else 0)
                self._unread[cell] = clock if unread is None else np.maximum(unread, clock)
                continue
            # Updates continue the release sequence that they read from: merge the clocks.
            self._release_unread(cell)
            previous = self._released.get(cell) if continues else None
            self._releasers[cell] = program
            if previous is None:
                self._count_numbers(clock.size)
                self._released[cell] = clock
            else:
                self._released[cell] = np.maximum(previous, clock)
        self._steps[program] += 1

    def _release_unread(self, cell: Cell) -> None:
        """Release, by a change of a cell, what was before it released without one."""
        unread = self._unread.pop(cell, None)
        if unread is not None:
            self._released[cell] = np.maximum(self._released.get(cell, 0), unread)

    def _count_numbers(self, numbers: int) -> None:
        """Add to the count of stored numbers; raise TooLarge beyond the limit."""
        self._numbers_kept += numbers
        if self._numbers_kept > _MAX_NUMBERS:
            raise TooLarge("its programs synchronize in too many places to follow each")

    def _record_access(
        self, role: Role, width: int, program: int, storage: Storage, positions: NDArray[np.int64]
    ) -> None:
        """Find races with the last accesses to these bytes, then become their last access."""
        if not len(positions):
            return
        accesses_by_op = self._last[storage]
        clock = self._clocks[self._kind_of[role.op.index], program]
        for earlier in accesses_by_op.values():
            for other in np.unique(earlier.program[positions]):
                self._join(program, program if other < 0 else int(other))
            if role.clashes(earlier.role, one_width=width == earlier.width):
                self._find_race(role, program, storage, positions, earlier)
        key = (role.op.index, width)
        if key not in accesses_by_op:
            count = len(self._watched[storage])
            accesses_by_op[key] = _LastAccesses(
                role, width, np.full(count, -1, np.int32), np.zeros(count, np.int32)
            )
        own_accesses = accesses_by_op[key]
        for position in positions[own_accesses.unordered(clock, program, positions)]:
            self._count_numbers(1)
            steps = own_accesses.concurrent.setdefault(int(position), {})
            steps[int(own_accesses.program[position])] = int(own_accesses.step[position])
        own_accesses.program[positions] = program
        own_accesses.step[positions] = self._steps[program]

    def _find_race(
        self,
        role: Role,
        program: int,
        storage: Storage,
        positions: NDArray[np.int64],
        earlier: _LastAccesses,
    ) -> None:
        """Record the race of an access with earlier accesses of one op, if there is one."""
        low_index, high_index = sorted((role.op.index, earlier.role.op.index))
        if (low_index, high_index, storage) in self.races:
            return
        clock = self._clocks[self._kind_of[earlier.role.op.index], program]
        is_racing = earlier.unordered(clock, program, positions)
        racing_access: tuple[int, int] | None = None
        if is_racing.any():
            # The last racing byte: the first may belong to the releasing thread, which is ordered.
            position = int(positions[np.flatnonzero(is_racing)[-1]])
            racing_access = position, int(earlier.program[position])
        elif earlier.concurrent:
            racing_access = next(self._concurrent_races(clock, program, positions, earlier), None)
        if racing_access is None:
            return
        byte = int(self._watched[storage][racing_access[0]])
        pair = racing_access[1], program
        race = Race(earlier.role.op, role.op, storage, byte, pair, self._schedule)
        self.races[low_index, high_index, storage] = race

    def _concurrent_races(
        self,
        clock: NDArray[np.int32],
        program: int,
        positions: NDArray[np.int64],
        earlier: _LastAccesses,
    ) -> Iterator[tuple[int, int]]:
        """Yield position and program of earlier accesses that the program's clock lacks."""
        for position in positions:
            for earlier_program, step in earlier.concurrent.get(int(position), {}).items():
                if earlier_program != program and clock[earlier_program] < step:
                    yield int(position), earlier_program


def _watched_positions(
    watched: NDArray[np.int64], starts: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """Return the positions in `watched` of the bytes of elements that begin at `starts`."""
    bytes_ = np.unique((starts[:, None] + np.arange(width)).reshape(-1))
    positions = np.minimum(np.searchsorted(watched, bytes_), len(watched) - 1)
    return np.asarray(positions[watched[positions] == bytes_])


def is_compare_and_swap(op: Op) -> bool:
    """Return whether an op is a compare-and-swap."""
    return op.name in WRITING and KINDS[op.name].has("expected")
