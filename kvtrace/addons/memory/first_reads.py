"""Reads that no earlier store of the same program precedes: by formulas, or program by program.

Where formulas leave it open whether a program reads what it stored before, the launch is evaluated
on arrays: each access is listed as keys of program and cell, in the program's order, and a read is
first if no earlier store has its key. Bounded by the number of elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.ir import Module
from kvtrace.ir.memory_sites import Site, memory_sites
from kvtrace.ir.ops import AccessKind
from kvtrace.ir.updates import update_of
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges
from kvtrace.metrics.distinct import distinct
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import Condition, less
from kvtrace.symbolic.prover.digits import Side
from kvtrace.symbolic.summary import Access as SymbolicAccess
from kvtrace.symbolic.terms import Substitution, Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.barriers import common_loops
from kvtrace.verdicts.conflicts.copies import Actors, When, two_programs
from kvtrace.verdicts.conflicts.outcomes import NoConflict
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.search import meeting, shared_by_lanes
from kvtrace.verdicts.conflicts.sharers import Sharer
from kvtrace.verdicts.replaying import TooManyLanes

MOST_ELEMENTS: Final = 1 << 21
"""Limit of elements that are listed, over all accesses to all followed storages."""

Numbers = NDArray[np.int64]


class _Elements(Struct, frozen=True, eq=False):
    """One access: the offsets of its elements in the storage, and their programs.

    `flags`: whether it reads, whether it stores, and whether it certainly happens.
    """

    starts: Numbers
    programs: Numbers
    width: int
    flags: tuple[bool, bool, bool]


class _Listed(Struct, eq=False):
    """Accesses of one storage in order; stores at unknown addresses may come before `unsure`."""

    accesses: list[_Elements] = []
    unsure: int | None = None


class FirstReads(Observer):
    """Lists the accesses of some storages; raises TooManyLanes beyond MOST_ELEMENTS.

    The launch must be evaluated on arrays, where accesses come in the order of each program.
    """

    def __init__(
        self,
        arguments: Sequence[Argument],
        storages: Sequence[Storage],
        kinds: Mapping[int, AccessKind],
    ) -> None:
        """`kinds` are those of the ops, by index, which may take an atomic as a store."""
        self._arguments, self._kinds = arguments, kinds
        self._listed: Mapping[Storage, _Listed] = {storage: _Listed() for storage in storages}
        self._elements = 0

    def access(self, access: Access) -> None:
        """List the elements of an access to a followed storage."""
        argument = None if access.argument is None else self._arguments[access.argument]
        if not isinstance(argument, TensorArgument):
            for listed in self._listed.values():
                _lose_track(listed, access)
            return
        listed_storage = self._listed.get(argument.storage)
        if listed_storage is None or access.active == 0:
            return
        if access.parts is None:
            _lose_track(listed_storage, access)
            return
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > MOST_ELEMENTS:
            raise TooManyLanes("it may read what the same program stored, and is too large to list")
        elements = access.elements()
        assert elements is not None
        starts, programs = elements[0] + argument.offset_bytes, elements[1]
        is_inside = (starts >= 0) & (starts + access.element_bytes <= argument.storage.nbytes)
        kind = self._kinds[access.op.index]
        is_certain = access.certain and access.active is not None
        flags = kind != "store", kind != "load", is_certain
        listed_storage.accesses.append(
            _Elements(starts[is_inside], programs[is_inside], access.element_bytes, flags)
        )

    def bounds(self, storage: Storage) -> tuple[ByteRanges, ByteRanges]:
        """Return the bytes that are certainly read first, and all known ones that may be.

        Raises:
            TooManyRanges: they are in too many ranges.
        """
        listed = self._listed[storage]
        accesses = listed.accesses
        if not accesses:
            return NOTHING, NOTHING
        cell = gcd(*(access.width for access in accesses)) or 1
        if any((access.starts % cell).any() for access in accesses):
            cell = 1
        cells = storage.nbytes // cell + 1
        keys = [_keys(access, cell, cells) for access in accesses]
        counts = [len(of_access) for of_access in keys]
        order = np.repeat(np.arange(len(accesses)), counts)
        is_read, is_store, is_certain = (
            np.repeat(np.array(flags, np.bool_), counts)
            for flags in zip(*(access.flags for access in accesses), strict=True)
        )
        all_keys = np.concatenate(keys)
        unique, places = np.unique(all_keys, return_inverse=True)

        def is_preceded(by: NDArray[np.bool_]) -> NDArray[np.bool_]:
            """Return whether an access before has the same key, of those that `by` chooses."""
            earliest = np.full(len(unique), len(accesses))
            np.minimum.at(earliest, places[by], order[by])
            return np.asarray(earliest[places] < order)

        unsure = len(accesses) if listed.unsure is None else listed.unsure
        is_first = is_read & is_certain & (order < unsure) & ~is_preceded(is_store)
        may_be_first = is_read & ~is_preceded(is_store & is_certain)
        first, maybe_first = all_keys[is_first], all_keys[may_be_first]
        return _bytes_of(first, cell, cells), _bytes_of(maybe_first, cell, cells)


def accessing_sites(module: Module) -> tuple[Site, ...]:
    """Return the memory ops of a module; an exchange whose old value is dropped is a store."""
    return tuple(
        replace(site, kind="store")
        if site.kind == "atomic" and not site.result_used and update_of(site.op) == "exch"
        else site
        for site in memory_sites(module)
    )


def _lose_track(listed: _Listed, access: Access) -> None:
    if access.kind != "load" and listed.unsure is None and access.executions:
        listed.unsure = len(listed.accesses)


def _keys(access: _Elements, cell: int, cells: int) -> Numbers:
    first = access.programs * cells + access.starts // cell
    return (first[:, None] + np.arange(access.width // cell)).reshape(-1)


def _bytes_of(keys: Numbers, cell: int, cells: int) -> ByteRanges:
    return ByteRanges.of_elements(distinct(keys % cells) * cell, cell)


def may_precede(
    bound: BoundCall, store: SymbolicAccess, read: SymbolicAccess, *, listed_first: bool
) -> bool:
    """Return whether a store may reach bytes of a read earlier in the same program.

    False is certain. The integers of both addresses and masks do not wrap around.

    Args:
        bound: their call.
        store: the access that may come first, to the storage of `read`.
        read: the access that may come later.
        listed_first: whether `store` comes before `read` in the kernel's text.
    """
    if store.calls or read.calls:  # trips of loops in called functions are not told apart
        return _may_meet(bound, store, read, [loop.trip for loop in (*store.loops, *read.loops)])
    trips = [loop.trip for loop in common_loops(store, read)]
    atoms = store.active.atoms() | read.active.atoms()
    for level, trip in enumerate(trips):  # trips of the loops around this one are equal

        def is_earlier(of_read: Substitution, trip: Symbol = trip) -> Condition:
            return less(trip.term, of_read(trip.term))

        if _may_meet(bound, store, read, trips[level:], is_earlier if trip in atoms else None):
            return True
    return listed_first and _may_meet(bound, store, read)


def others_may_store(call: Call, args: Sequence[int]) -> bool:
    """Return whether a program may read what only another one of the launch stored, in a storage.

    `args` are the tensors in it. A program that reads an element before it stores it does not
    count: whichever such program comes first reads what was there before the launch.
    """
    if prod(call.grid) < 2:
        return False
    bound = BoundCall(call)
    kinds = {site.op.index: site.kind for site in accessing_sites(call.module)}
    within = [a for a in bound.summary.accesses if a.argument is None or a.argument in args]
    reads = [access for access in within if kinds[access.op.index] != "store"]
    for store in within:
        if kinds[store.op.index] != "store" or any(_is_update(store, read) for read in reads):
            continue
        for read in reads:
            if None in (store.argument, read.argument) or store.unknown or read.unknown:
                return True
            if may_meet_elsewhere(bound, store, read):
                return True
    return False


def may_meet_elsewhere(bound: BoundCall, store: SymbolicAccess, read: SymbolicAccess) -> bool:
    """Return whether a program may read bytes that another program of the call stores."""
    sides = _sharer(bound, store), _sharer(bound, read)
    outcome = meeting(bound, *sides, two_programs(bound.call.grid))
    return not isinstance(outcome, NoConflict) or bool(outcome.why)


def _is_update(store: SymbolicAccess, read: SymbolicAccess) -> bool:
    """Return whether each lane of a store was read before, at the same place, by its program."""
    return (
        (read.argument, read.offset, read.shape, read.loops, read.element_bytes)
        == (store.argument, store.offset, store.shape, store.loops, store.element_bytes)
        and read.op.index < store.op.index
        and set(read.active.conjuncts()) <= set(store.active.conjuncts())
    )


def _may_meet(
    bound: BoundCall,
    store: SymbolicAccess,
    read: SymbolicAccess,
    separate_trips: Sequence[Symbol] = (),
    when: When | None = None,
) -> bool:
    shared = shared_by_lanes(bound.call.module, separate_trips)
    sides = _sharer(bound, store), _sharer(bound, read)
    return not isinstance(meeting(bound, *sides, Actors(None, shared, when)), NoConflict)


def _sharer(bound: BoundCall, access: SymbolicAccess) -> Sharer:
    argument = bound.call.tensor(access.argument or 0)
    form = bound.ranges.form(access.offset) + argument.offset_bytes
    side = Side(form, access.element_bytes, bound.active(access))
    role = roles_of(bound.call.module).by_op[access.op.index]
    return Sharer(access, role, argument.storage, side, None)
