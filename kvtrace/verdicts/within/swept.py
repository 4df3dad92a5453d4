"""Deciding by an evaluation that two ops touch no byte in common in any program.

What formulas leave open, such as where indices lead, the recorded contents may decide. Of one op
the trips are compared. Where lanes do meet, nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.order import memory_sites, written_storages
from kvtrace.ir import Op
from kvtrace.metrics.of_ops import kind_of
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.feeding import loads_behind
from kvtrace.verdicts.races.telling import names_of, scope_of
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "race-within-program"

_MOST_ELEMENTS: Final = 1 << 24


@dataclass(frozen=True)
class Left:
    """What formulas leave of an op: indices of those that it may race with, and why not others."""

    others: frozenset[int]
    why: tuple[str, ...]


@dataclass(frozen=True)
class _Touched:
    """The first bytes of what one trip's lanes touch, from the start of the storage."""

    storage: Storage
    starts: NDArray[np.int64]
    programs: NDArray[np.int64]
    width: int


class Swept(Concrete):
    """Proves ops of which no program touches a byte twice; leaves others as they are."""

    rules: ClassVar[frozenset[str]] = frozenset({RULE})

    def __init__(self, bound: BoundCall, left: Mapping[int, Left]) -> None:
        """`left` is what is open, by op index."""
        self._bound = bound
        self._left = left
        self._touched: dict[int, list[_Touched]] = defaultdict(list)
        self._elements = 0
        self._lost = {index for index in self._indices() if self._is_of_stores(index)}

    def _indices(self) -> frozenset[int]:
        return frozenset(self._left).union(*(each.others for each in self._left.values()))

    def _is_of_stores(self, index: int) -> bool:
        """Whether what the launch itself writes may decide where an op goes."""
        module, arguments = self._bound.call.module, self._bound.call.arguments
        behind, written = (
            loads_behind(module.ops[index], module),
            written_storages(module, arguments),
        )
        return any(
            isinstance(argument, TensorArgument)
            and argument.storage in written
            and site.op.index in behind
            and site.reaches(position)
            for site in memory_sites(module)
            for position, argument in enumerate(arguments)
        )

    def access(self, access: Access) -> None:
        """Note which bytes each program touches, trip by trip."""
        index = access.op.index
        if index not in self._indices() or access.active == 0 or index in self._lost:
            return
        for trip in (access,) if access.each_trip is None else access.each_trip():
            self._note(trip)

    def _note(self, access: Access) -> None:
        index = access.op.index
        call = self._bound.call
        argument = None if access.argument is None else call.arguments[access.argument]
        self._elements += access.lanes if access.active is None else access.active
        found = access.elements() if self._elements <= _MOST_ELEMENTS else None
        if found is None or not isinstance(argument, TensorArgument):
            if access.active != 0:
                self._lost.add(index)
            return
        offsets, programs = found
        starts = offsets + argument.offset_bytes
        self._touched[index].append(
            _Touched(argument.storage, starts, programs, access.element_bytes)
        )

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return a proof of each op that no other meets in its program."""
        if failure is not None:
            return []
        found = []
        for index, left in self._left.items():
            others = sorted(left.others)
            if self._lost.isdisjoint((index, *others)) and all(
                self._are_apart(index, other) for other in others
            ):
                found.append(self._proven(self._bound.call.module.ops[index], left))
        return found

    def _proven(self, op: Op, left: Left) -> Verdict:
        kind = kind_of(op)
        scope = scope_of(self._bound.call, op, left.why)
        message = f"{kind} races with no other lane of its program{scope}"
        return Verdict(
            RULE, "proven", op, message, "evaluated", access=kind, arg=names_of(self._bound, op)
        )

    def _are_apart(self, one: int, other: int) -> bool:
        """Whether no program touches a byte by both, or in two trips of one."""
        mine, others = self._touched[one], self._touched[other]
        if one == other:
            return _have_no_two(mine)
        storages = {each.storage for each in mine} & {each.storage for each in others}
        for storage in storages:
            sides = [[t for t in side if t.storage is storage] for side in (mine, others)]
            cell = _cell([*sides[0], *sides[1]])
            first, second = (
                np.concatenate([_cells(each, cell) for each in side]) for side in sides
            )
            if len(np.intersect1d(first, second)):
                return False
        return True


def _have_no_two(touched: list[_Touched]) -> bool:
    """Whether no cell is touched in two trips."""
    for storage in {each.storage for each in touched}:
        trips = [each for each in touched if each.storage is storage]
        cell = _cell(trips)
        sets = [np.unique(_cells(each, cell)) for each in trips]
        if len(np.unique(np.concatenate(sets))) < sum(map(len, sets)):
            return False
    return True


def _cell(touched: list[_Touched]) -> int:
    """Return a width in bytes of which all that is touched is made."""
    starts = (int(np.gcd.reduce(each.starts, initial=0)) for each in touched)
    return gcd(*(each.width for each in touched), *starts)


def _cells(touched: _Touched, cell: int) -> NDArray[np.int64]:
    """Return the cells of each program as numbers that no other program has."""
    steps = np.arange(touched.width // cell)
    room = touched.storage.nbytes // cell + (1 << 20)
    cells = touched.starts[:, None] // cell + steps + touched.programs[:, None] * room
    return np.asarray(cells.reshape(-1))
