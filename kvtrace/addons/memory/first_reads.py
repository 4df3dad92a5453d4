"""Reads that no earlier store of the same program precedes, found program by program.

Where formulas leave it open whether a program reads what it stored before, the launch is evaluated
on arrays: each access is listed as keys of program and cell, in the program's order, and a read is
first if no earlier store has its key. Bounded by the number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.formulas import AffineAxis, AffineFormula, FormulaAccess
from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.ir import Module
from kvtrace.ir.memory_sites import Site, memory_sites
from kvtrace.ir.ops import AccessKind
from kvtrace.ir.updates import update_of
from kvtrace.metrics.byte_ranges import ByteRanges
from kvtrace.metrics.distinct import distinct
from kvtrace.verdicts.replaying import TooManyLanes

_MOST_STEPS: Final = 2_000
"""Limit of distances that are tried for one pair of accesses; beyond, they may meet."""

_MOST_PAIRS: Final = 1 << 12
"""Limit of pairs of a store and a read whose formulas are compared, for one storage."""

Term = tuple[int, int, int]
"""A step in bytes, and the lowest and highest number of such steps."""
MOST_ELEMENTS: Final = 1 << 21
"""Limit of elements that are listed, over all accesses to all followed storages."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Elements:
    """One access: the offsets of its elements in the storage, and their programs."""

    starts: Numbers
    programs: Numbers
    width: int
    kind: str
    certain: bool


@dataclass(slots=True, eq=False)
class _Listed:
    """Accesses of one storage in order; stores at unknown addresses may come before `unsure`."""

    accesses: list[_Elements] = field(default_factory=list)
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
        listed_storage.accesses.append(
            _Elements(
                starts[is_inside],
                programs[is_inside],
                access.element_bytes,
                self._kinds[access.op.index],
                access.certain and access.active is not None,
            )
        )

    def bounds(self, storage: Storage) -> tuple[ByteRanges, ByteRanges]:
        """Return the bytes that are certainly read first, and all known ones that may be.

        Raises:
            TooManyRanges: they are in too many ranges.
        """
        listed = self._listed[storage]
        accesses = listed.accesses
        cell = math.gcd(*(access.width for access in accesses)) or 1
        if any((access.starts % cell).any() for access in accesses):
            cell = 1
        cells = storage.nbytes // cell + 1
        keys = [_keys(access, cell, cells) for access in accesses]
        stores = [i for i, access in enumerate(accesses) if access.kind != "load"]
        possible = _Earliest(keys, stores)
        certain = _Earliest(keys, [i for i in stores if accesses[i].certain])
        first, maybe_first = [], []
        for index, access in enumerate(accesses):
            if access.kind == "store":
                continue
            maybe_first.append(keys[index][~certain.precedes(keys[index], index)])
            if access.certain and (listed.unsure is None or index < listed.unsure):
                first.append(keys[index][~possible.precedes(keys[index], index)])
        return _bytes_of(first, cell, cells), _bytes_of(maybe_first, cell, cells)


def accessing_sites(module: Module) -> tuple[Site, ...]:
    """Return the memory ops of a module; an exchange whose old value is dropped is a store."""
    return tuple(
        replace(site, kind="store")
        if site.kind == "atomic" and not site.result_used and update_of(site.op) == "exch"
        else site
        for site in memory_sites(module)
    )


class _Earliest:
    """The index of the earliest of some accesses for each key."""

    def __init__(self, keys: Sequence[Numbers], chosen: Sequence[int]) -> None:
        none: Numbers = np.zeros(0, np.int64)
        all_keys = np.concatenate([none, *(keys[i] for i in chosen)])
        indices = np.repeat(np.array(chosen, np.int64), [len(keys[i]) for i in chosen])
        self._keys, first = np.unique(all_keys, return_index=True)
        self._indices = indices[first]

    def precedes(self, keys: Numbers, index: int) -> NDArray[np.bool_]:
        """Return for each key whether an access before the one at `index` has it."""
        if not len(self._keys):
            return np.zeros(len(keys), np.bool_)
        position = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray((self._keys[position] == keys) & (self._indices[position] < index))


def _lose_track(listed: _Listed, access: Access) -> None:
    if access.kind != "load" and listed.unsure is None and access.executions:
        listed.unsure = len(listed.accesses)


def _keys(access: _Elements, cell: int, cells: int) -> Numbers:
    first = access.programs * cells + access.starts // cell
    return (first[:, None] + np.arange(access.width // cell)).reshape(-1)


def _bytes_of(keys: Sequence[Numbers], cell: int, cells: int) -> ByteRanges:
    if not keys:
        return ByteRanges()
    begins = distinct(np.concatenate([part % cells for part in keys])) * cell
    return ByteRanges.of_elements(begins, cell)


# Stores that may come before a read in the same program, decided from the formulas of both.
#
# An access is executed once for each trip of the loops around it. A store comes before a read if it
# is earlier in the program's order: in an earlier trip of a common loop, or in the same trips and
# earlier in the loop's body. The two meet if the difference of their offsets, a sum of multiples of
# the distances between programs, trips and lanes, can be less than an element.
#
# Example: `for k: x = load(p + 64 * k + lane); store(p + 64 * k + lane, x)`, 64 lanes of 1 byte.
# The store of an earlier trip is 64 * d bytes before, d >= 1, plus a distance of lanes of at most
# 63: it never meets the read.


def unpreceded(formulas: Sequence[FormulaAccess]) -> Iterator[FormulaAccess]:
    """Yield the certain reads by formulas that no store by a formula precedes in its program.

    `formulas` are the accesses to one storage. Programs with formulas and those without differ.
    """
    stores = [(i, access) for i, access in enumerate(formulas) if access.kind != "load"]
    reads = [(i, access) for i, access in enumerate(formulas) if access.kind != "store"]
    if len(stores) * len(reads) > _MOST_PAIRS:
        return
    for position, read in reads:
        if read.certain and not any(
            may_precede(store, read, listed_first=i < position) for i, store in stores
        ):
            yield read


def may_precede(store: FormulaAccess, read: FormulaAccess, *, listed_first: bool) -> bool:
    """Return whether a store may reach bytes of a read earlier in the same program.

    False is certain. Both accesses have formulas, of one storage and one evaluation.

    Args:
        store: what may come first.
        read: what may come later.
        listed_first: whether the evaluation reported the store before the read.
    """
    before, after = store.formula, read.formula
    programs = _program_terms(before, after)
    if programs is None:
        return False
    constant = after.base + after.origin_bytes - before.base - before.origin_bytes
    lanes = [(axis.step, axis.first, axis.last) for axis in _axes(after, "lane")]
    lanes += [(-axis.step, axis.first, axis.last) for axis in _axes(before, "lane")]
    # An offset differs by at least -width of the store and at most by that of the read.
    widths = store.element_bytes, read.element_bytes
    return any(
        _can_meet(constant, [*programs, *lanes, *trips], widths)
        for trips in _earlier_trips(before, after, listed_first=listed_first)
    )


def _axes(formula: AffineFormula, kind: str) -> list[AffineAxis]:
    return [axis for axis in formula.axes if axis.kind == kind]


def _program_terms(before: AffineFormula, after: AffineFormula) -> list[Term] | None:
    """Return the distances between equal programs of two accesses, None if they have none."""
    axes = {axis.number: axis for axis in _axes(before, "program")}
    terms = []
    for axis in _axes(after, "program"):
        same = axes.pop(axis.number, None)
        if same is None:
            terms.append((axis.step, axis.first, axis.last))
            continue
        first, last = max(axis.first, same.first), min(axis.last, same.last)
        if first > last:
            return None
        terms.append((axis.step - same.step, first, last))
    return terms + [(-axis.step, axis.first, axis.last) for axis in axes.values()]


def _earlier_trips(
    before: AffineFormula, after: AffineFormula, *, listed_first: bool
) -> Iterator[list[Term]]:
    """Yield the distances between trips, for each way in which one access may come first.

    Loops around both are common; in order from the outermost, their trips are equal, then those of
    one loop ascend, and those of all further loops are any.
    """
    own = {axis.number: axis for axis in _axes(before, "trip")}
    common, others = [], []
    for axis in _axes(after, "trip"):
        same = own.pop(axis.number, None)
        if same is None:
            others.append((axis.step, axis.first, axis.last))
        else:
            common.append((same, axis))
    others += [(-axis.step, axis.first, axis.last) for axis in own.values()]
    equal: list[Term] = []
    for level, (earlier, later) in enumerate(common):
        distance = _ascending(earlier, later)
        if distance is not None:
            inner = [
                term
                for first, second in common[level + 1 :]
                for term in (
                    (second.step, second.first, second.last),
                    (-first.step, first.first, first.last),
                )
            ]
            yield [*equal, *distance, *inner, *others]
        first, last = max(earlier.first, later.first), min(earlier.last, later.last)
        if first > last:
            return
        equal.append((later.step - earlier.step, first, last))
    if listed_first:
        yield [*equal, *others]


def _ascending(earlier: AffineAxis, later: AffineAxis) -> list[Term] | None:
    """Return the distances of a later trip from an earlier one, None if there is no such pair."""
    low, high = max(1, later.first - earlier.last), later.last - earlier.first
    if low > high:
        return None
    if earlier.step == later.step:
        return [(later.step, low, high)]
    return [
        (later.step, later.first, later.last),
        (-earlier.step, earlier.first, earlier.last),
    ]


def _can_meet(constant: int, terms: Sequence[Term], widths: tuple[int, int]) -> bool:
    """Return whether a sum of steps can be so small that two elements overlap.

    `widths` are those of the store and of the read, in bytes: they overlap if the read begins less
    than the store's width after the store, or the store less than the read's width after the read.
    """
    merged: dict[int, tuple[int, int]] = {}
    for step, low, high in terms:
        if step < 0:
            step, low, high = -step, -high, -low
        if step:
            least, most = merged.get(step, (0, 0))
            merged[step] = least + low, most + high
    steps = sorted(((step, *ends) for step, ends in merged.items()), reverse=True)
    reaches = [(0, 0)]
    for step, low, high in reversed(steps):
        least, most = reaches[-1]
        reaches.append((least + step * low, most + step * high))
    reaches.reverse()
    remaining = _MOST_STEPS

    def meets(total: int, position: int) -> bool:
        nonlocal remaining
        least, most = reaches[position]
        if total + least >= widths[0] or total + most <= -widths[1]:
            return False
        if position == len(steps) or remaining <= 0:
            return True
        step, low, high = steps[position]
        least, most = reaches[position + 1]
        # Only numbers of steps from which the smaller steps can reach 0.
        low = max(low, -((total + most + widths[1] - 1) // step))
        high = min(high, (widths[0] - 1 - total - least) // step)
        remaining -= 1 + max(0, high - low)
        if remaining <= 0:
            return True
        return any(meets(total + step * number, position + 1) for number in range(low, high + 1))

    return meets(constant, 0)
