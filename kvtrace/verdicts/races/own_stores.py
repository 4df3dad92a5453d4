"""Loads of what a program has itself stored, where all programs store the same.

Nobody writes the storage but one store, all programs store the same wherever two of them meet, and
each has stored to the place that it loads from before it loads. Then the load finds that value in
every order of programs, whoever's store came last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction
from kvtrace.symbolic.decide import Proven
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.races.sharers import Sharer, copy_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def loads_its_own(bound: BoundCall, store: Sharer, load: Sharer, sharers: Sequence[Sharer]) -> bool:
    """Tell whether each program has stored to all places that it loads from, and first.

    That all programs store the same is for the caller to tell.
    """
    others = (s for s in sharers if s.storage is None or s.storage is store.storage)
    if [each for each in others if each.part.writes] != [store]:
        return False
    if load.part.kind != "load" or not _comes_first(bound, store, load):
        return False
    if store.exact is None or load.exact is None:
        return False
    covered = _covered(bound, store, load)
    return covered is not None and isinstance(bound.decide(covered, load.exact.given), Proven)


def _comes_first(bound: BoundCall, store: Sharer, load: Sharer) -> bool:
    """Whether every program stores, in the kernel's own first block, before it gets to the load."""
    access = store.access
    first = bound.call.module.main.op.regions[0].blocks[0]
    always = access.guard is TRUE and not access.loops and not access.calls
    return always and access.op.block is first and access.op.index < load.access.op.index


def _covered(bound: BoundCall, store: Sharer, load: Sharer) -> Condition | None:
    """Return what has to hold so that a lane of the store is where the load is; None: not known.

    The store's lanes are elements in a row: the lane is how many the load is from the first.
    """
    (access, width), shape = (store.access, store.access.element_bytes), store.access.shape
    if load.access.element_bytes != width or len(shape) != 1 or shape[0] < 2:
        return None
    along = lane(0, shape[0])
    first = copy_of(bound, store)[0] - along * width
    symbol = next(iter(along.atoms()))
    if not isinstance(symbol, Symbol) or any(symbol in atom.within() for atom in first.atoms()):
        return None
    gap = copy_of(bound, load)[0] - first
    if any(factor % width for factor in gap.coefficients.values()):
        return None
    place = Term({monomial: factor // width for monomial, factor in gap.coefficients.items()})
    if access.mask.opaques():
        return None
    active = access.mask.substitute(Substitution({symbol: place}))
    return conjunction((at_least(place), at_least(shape[0] - 1 - place), active))
