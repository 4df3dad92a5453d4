"""Waits that end after the same releases in every order of the programs, seen in one run.

The clocks of `clocks.py` follow one order. Here, a wait is joined only with the releases that no
order can leave out: a loop reads a place until a comparison lets it end, and ends after the first n
changes of that place, n being the first number whose value no program is seen to reject in the same
comparison. Which changes are the first n must be the same in every order, too: each later one
happens after all n. By induction over any other order, all programs then read and do the same, so
that accesses which such waits order are ordered in each.

Example: 64 programs add 1 to a counter and wait until it is 64. All values below are seen to be
rejected, so a wait ends after all 64 additions. Were it 63, the last addition would come after no
wait: which of them is the last differs, and the order is not fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Storage, TensorArgument
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import Flow, constant_of, counter_of, deciding, flow_of
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import CALLS, LOOPS, operator_of
from kvtrace.verdicts.conflicts.clocks import Cell, Clocks
from kvtrace.verdicts.conflicts.parts import ADD, Role, roles_of, updates_by
from kvtrace.verdicts.conflicts.releases import only_atomic


@once_per_module
def polls_of(module: Module) -> Mapping[Op, Op] | None:
    """Return the atomic that each wait repeats, by the comparison by which it goes on.

    None if another op reads or writes memory in an order that programs do not have in common.
    """
    flow = flow_of(module)
    loops = [op for op in module.ops if op.name in LOOPS and counter_of(op) is None]
    waits = filter(None, map(_wait, loops))
    polls = {
        compare: read
        for read, compare in waits
        if list(flow.uses(read.results[0])) == [compare]
        if len(flow.uses(compare.results[0])) == 1
    }
    synchronizing = [r for r in roles_of(module).by_op.values() if r.strong or r.kind == "atomic"]
    has_calls = any(op.name in CALLS for op in module.ops)
    is_common = all(_is_alike_in_all_orders(role, flow, polls) for role in synchronizing)
    return polls if is_common and not has_calls else None


def _is_alike_in_all_orders(role: Role, flow: Flow, polls: Mapping[Op, Op]) -> bool:
    """Return whether the order of programs changes nothing that a strong or atomic op shows them.

    It may change memory and release that, unread, as `tl.atomic_add(p, 1)`; or a wait repeats it.
    """
    if not role.strong or (role.changes and not role.releases):
        return False
    return not any(map(flow.uses, role.op.results)) or (
        role.op in polls.values() and role.acquires and not role.changes
    )


def _wait(loop: Op) -> tuple[Op, Op] | None:
    """Return the atomic that a loop repeats, and the comparison by which it goes on, or None.

    The loop does nothing else that is seen after it.
    """
    read, decisions = only_atomic(loop), deciding(loop)
    compare = decisions[0].owner if len(decisions) == 1 else None
    is_wait = isinstance(compare, Op) and operator_of(compare) == "compare"
    if read is None or not isinstance(compare, Op) or not is_wait or loop.results or loop.operands:
        return None
    return read, compare


@dataclass
class _Place:
    """The changes of a place in order, the values between, and after how many all waits end."""

    programs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    clocks: list[NDArray[np.int32]] = field(default_factory=list)
    values: dict[int, int] = field(default_factory=dict)
    summands: set[int | None] = field(default_factory=set)
    needed: int = 0

    @property
    def fixed_count(self) -> int:
        """The number of first changes that each later one must follow, for the same values between.

        In each order of its changes, a counter to which all add 1 is 1, 2, 3 …: only the first
        `needed` must stay first. Of +1 and +2, the first decides whether 1 or 2 is seen: all.
        """
        is_counter = len(self.summands) == 1 and None not in self.summands
        return self.needed if is_counter else len(self.programs)

    def known(self, clock: NDArray[np.int32], count: int) -> NDArray[np.bool_]:
        """Return which of the first changes a clock has."""
        programs, steps = self.programs[:count], np.array(self.steps[:count], np.int32)
        return np.asarray((clock[:, programs] >= steps).all(axis=0))


class FixedWaits(Clocks):
    """Clocks of what all orders of the programs have in common, if that `is_fixed`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._places: dict[Cell, _Place] = {}
        self._read: dict[int, tuple[_Place, int]] = {}
        self._rejected: set[tuple[int, int, int]] = set()
        self._stored: set[Storage] = set()
        self._is_fixed = True

    @property
    def is_fixed(self) -> bool:
        """All orders have the same waits and changes; ordinary stores change no such place."""
        return self._is_fixed and all(storage not in self._stored for storage, _ in self._places)

    def access(self, access: Access) -> None:
        """Update the clocks by one op of one program, and record its races."""
        tensor = None if access.argument is None else self._arguments[access.argument]
        is_plain = access.kind == "store" and not self._roles[access.op.index].strong
        if is_plain and isinstance(tensor, TensorArgument):
            self._stored.add(tensor.storage)
        super().access(access)

    def compared(
        self, op: Op, program: int, value: int | None, other: int | None, goes_on: int | None
    ) -> None:
        """Record that a wait compared what it had read; if it ends, join what it waited for."""
        read = self._read.pop(program, None)
        if read is None or value is None or other is None:
            self._is_fixed = False
            return
        place, position = read
        self._is_fixed &= place.values.setdefault(position, value) == value
        if goes_on:
            self._rejected.add((op.index, other, value))
            return
        # If `while counter < 4` reads 6 after 6 changes, and 0 to 3 were rejected, `count` is 4.
        clock = self._clocks[:, program]
        known = int(place.known(clock, position).sum())
        count = next(
            count
            for count in range(known, position + 1)
            if count == position
            or (op.index, other, place.values.get(count, value)) not in self._rejected
        )
        place.needed = max(place.needed, count)
        later = place.clocks[count:]
        self._is_fixed &= all(bool(place.known(change, count).all()) for change in later)
        for change in place.clocks[:count]:
            np.maximum(clock, change, out=clock)

    def _acquire(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        place = self._places.setdefault((storage, int(starts[0])), _Place())
        self._read[program] = place, len(place.programs)
        self._is_fixed &= len(starts) == 1

    def _overwrite(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        del program, storage, starts
        self._is_fixed = False

    def _release(
        self, op: Op, program: int, cells: Sequence[Cell], *, continues: bool = True
    ) -> None:
        """Record a change of the cells, if all orders make it there."""
        del continues
        if not self._roles[op.index].changes:
            return
        summand = constant_of(op.operand("value")) if updates_by(op, ADD) else None
        self._clocks[self._released_by[op.index], program, program] = self._steps[program]
        clock = self._clocks[:, program].copy()
        for cell in cells:
            place = self._places.setdefault(cell, _Place())
            place.summands.add(None if summand is None else int(summand))
            self._is_fixed &= bool(place.known(clock, place.fixed_count).all())
            self._count_numbers(clock.size)
            place.programs.append(program)
            place.steps.append(int(self._steps[program]))
            place.clocks.append(clock)
        self._steps[program] += 1
