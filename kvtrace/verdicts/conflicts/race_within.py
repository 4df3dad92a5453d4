"""The rule `race-within-program`: lanes of one program access the same byte in no fixed order.

Each writing op is judged against all accesses of other lanes of its program, by other ops or in
other trips of its loop. Lanes of one execution of one op are judged by the rule `lane-conflict`.

Formulas come first (`lane_pairs.py`). Recorded contents may decide pairs that formulas leave open,
such as accesses through loaded indices: the evaluation shows whether two ops (or two trips of
an op) touch the same byte in a program. Such a program is replayed in two orders of its lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.touches import Touches
from kvtrace.ir import Op
from kvtrace.ir.feeding import feeding_execution, loads_behind
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.schema.cached_property import cached_property
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.lane_pairs import LanePairs
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN
from kvtrace.verdicts.conflicts.outcomes import ConfirmedConflict, NoConflict, Undecided
from kvtrace.verdicts.conflicts.pairs import (
    EvaluatedPairs,
    UndecidedPairs,
    ascending,
    evaluation,
    judged,
)
from kvtrace.verdicts.verdict import Verdict

_MOST_ELEMENTS: Final = 1 << 24
#: Limit of replays per op, of other ops that touch the same byte.
_MAX_REPLAYS: Final = 4

_WRITTEN: Final = "may depend on what the launch itself writes to"
_ORDERING: Final = ": tl.debug_barrier() after its load of that would order both"
_NO_RACE_REPLAYED: Final = "lanes access the same byte, but no replay showed a race"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each store, and each atomic that other lanes load or store."""
    return judged(bound, LanePairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by the bytes of each program, None if none is open."""
    return evaluation(bound, LanePairs, undecided, EvaluatedLanes)


# -- by an evaluation of the grid ------------------------------------------------------------------


class EvaluatedLanes(EvaluatedPairs[LanePairs]):
    """An observer that compares the bytes of ops in each program, and replays common bytes."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE_WITHIN})

    def __init__(
        self, bound: BoundCall, pairs: LanePairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare to record bytes; `pairs` replays a program in which two ops meet."""
        super().__init__(bound, pairs, undecided, ops)
        self._touches: dict[Storage, Touches[int]] = {}
        self._elements = self._trips = 0
        indices = [op.index for op in ops]
        self._indices = frozenset(indices).union(*map(undecided.partners, indices))
        self._undecidable: dict[int, str] = {}
        self._writes = {
            site.op.index for site in memory_sites(self._call.module) if site.kind != "load"
        }
        #: Storages that the launch may write: those that it writes if all addresses are known.
        self._evaluated_writes: set[Storage] | None = set()

    def _dependence(self, index: int, written: Collection[Storage]) -> str:
        """Return a phrase if an op depends on values in `written` storages, else ""."""
        module, arguments = self._call.module, self._call.arguments
        load_indices = loads_behind(module.ops[index], module)
        loads = {
            site.op.index: argument.name
            for site in memory_sites(module)
            for position, argument in enumerate(arguments)
            if isinstance(argument, TensorArgument)
            and argument.storage in written
            and site.op.index in load_indices
            and site.reaches(position)
        }
        if not loads:
            return ""
        is_run = loads.keys() <= feeding_execution(module.ops[index], module)
        names = ", ".join(sorted(set(loads.values())))
        if is_run:
            return f"whether it runs {_WRITTEN} {names}{_ORDERING}"
        return f"its address {_WRITTEN} {names}"

    @cached_property
    def _dependences(self) -> dict[int, str]:
        """Phrases for ops that may depend on values that the launch writes, by index."""
        writes = self._evaluated_writes
        if writes is None or any(self._dependence(index, writes) for index in self._writes):
            writes = set(written_storages(self._call.module, self._call.arguments))
        return {
            index: reason for index in self._indices if (reason := self._dependence(index, writes))
        }

    def access(self, access: Access) -> None:
        """Record the bytes that each program touches in each trip."""
        index = access.op.index
        self._add_write(access)
        if index not in self._indices or access.active == 0 or index in self._undecidable:
            return
        argument = self._call.tensor_at(access.argument)
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > _MOST_ELEMENTS:
            self._undecidable[index] = f"it touches more than {_MOST_ELEMENTS:,} elements"
            return
        elements = access.elements()
        if elements is None or argument is None:
            self._undecidable[index] = access.reason or "its address could not be derived"
            return
        offsets, programs = elements
        self._trips += 1
        touches = self._touches.setdefault(argument.storage, Touches(argument.storage.nbytes))
        touches.add(
            index, offsets + argument.offset_bytes, access.element_bytes,
            np.full(len(offsets), self._trips), programs,
        )  # fmt: skip

    def _add_write(self, access: Access) -> None:
        if access.op.index not in self._writes or access.active == 0:
            return
        argument = self._call.tensor_at(access.argument)
        if access.lowest is None or argument is None:
            self._evaluated_writes = None
        elif self._evaluated_writes is not None:
            self._evaluated_writes.add(argument.storage)

    def outcomes(self, op: Op) -> Iterator[NoConflict | ConfirmedConflict | Undecided]:
        """Yield, for each partner of an op, whether both race in any program."""
        partners = self._undecided.partners(op.index)
        for index in (op.index, *partners):
            reason = self._dependences.get(index) or self._undecidable.get(index)
            if reason:
                yield Undecided(reason)
                return
        replays = 0
        for partner in partners:
            common = self._common_byte(op.index, partner)
            if common is None:
                yield NoConflict("evaluated")
                continue
            replays += 1
            storage, program, byte = common
            left, right = (
                replace(sharer, storage=storage)
                for sharer in self._undecided.pairs[ascending(op.index, partner)]
            )
            race = (
                self._pairs.confirm_at(left, right, program, byte)
                if replays <= _MAX_REPLAYS
                else None
            )
            yield race or Undecided(_NO_RACE_REPLAYED)

    def _common_byte(self, left: int, right: int) -> tuple[Storage, int, int] | None:
        """Return a storage, program and byte that two ops (or two trips of an op) touch, else None.

        The byte is an offset from the storage's start.
        """
        for storage, touches in self._touches.items():
            meeting = touches.meeting(left, right)
            if meeting is not None:
                return storage, meeting.group, int(meeting.starts[0])
        return None
