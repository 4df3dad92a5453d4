"""The search for two actors, programs or lanes of one, that touch one byte with two accesses.

First the digits of their addresses, then linear reasoning and a solver over two copies of all that
is an actor's own. All that a program is made of is free in it, so nothing depends on how large the
grid is. Which loops both lanes of a program are in the same trip of is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Module
from kvtrace.ir.flow import enclosing_ops
from kvtrace.symbolic.prover import Proven, Refuted, prove
from kvtrace.symbolic.prover.digits import Common, Shared, Side, are_far_apart
from kvtrace.symbolic.terms import Symbol, lane
from kvtrace.verdicts.conflicts.copies import Actors, Question
from kvtrace.verdicts.conflicts.data import assumption_of, data_behind, is_loaded
from kvtrace.verdicts.conflicts.outcomes import Free, Meeting, Open
from kvtrace.verdicts.conflicts.read_indices import ReadIndices
from kvtrace.verdicts.conflicts.sharers import (
    Sharer,
    as_in_one_program,
    copy_of,
    is_unreached,
    source_of,
)

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_LOST: Final = "a branch that is not followed is part of an address"


def shared_by_lanes(module: Module, own_trips: Collection[Symbol] = ()) -> Shared:
    """Return which symbols two lanes of one program have in common.

    Each has its own lane, and a separate trip in the loops of `own_trips`. What is loaded, or not
    followed, is the same if both have it from the same execution of an op, at the same place.
    """
    keys = {trip.key for trip in own_trips}
    loops = {key if isinstance(key, int) else key[0] for key in keys}

    def is_shared(symbol: Symbol) -> bool:
        if symbol.kind == "lane":
            return False
        if symbol.kind == "trip":
            return symbol.key not in keys
        if symbol.kind not in ("content", "unknown"):
            return True
        source = source_of(module, symbol)
        if source is not None and not loops.isdisjoint(
            op.index for op in (source, *enclosing_ops(source))
        ):
            return False
        inside = (atom for term in symbol.at for atom in term.atoms())
        return all(is_shared(atom) for atom in inside if isinstance(atom, Symbol))

    return is_shared


def lanes_of(sharer: Sharer) -> tuple[Symbol, ...]:
    """Return the symbols of the lanes of an access, outermost axis first; a scalar's has none."""
    axes = (lane(axis, extent).atoms() for axis, extent in enumerate(sharer.access.shape))
    return tuple(symbol for axis in axes for symbol in axis if isinstance(symbol, Symbol))


def meeting(bound: BoundCall, one: Sharer, other: Sharer, actors: Actors) -> Free | Meeting | Open:
    """Find two actors that touch one byte, one by each access of one storage."""
    found = by_digits(bound, one, other, actors)
    return searched(bound, one, other, actors, found) if isinstance(found, Common) else found


def by_digits(bound: BoundCall, one: Sharer, other: Sharer, actors: Actors) -> Free | Open | Common:
    """Decide by ranges and digits alone; otherwise return the digits that both actors share."""
    is_one = one is other
    if not actors.are_programs:
        one = as_in_one_program(bound, one, actors.shared)
        other = one if is_one else as_in_one_program(bound, other, actors.shared)
    exact = (one.exact, other.exact)
    if any(side is not None and side.given.is_impossible for side in exact):
        return Free("interval")
    if one.side is None or other.side is None:
        return _lost(bound, one, other, actors)
    is_exact = one.modulus is None and other.modulus is None
    if is_exact and are_far_apart(one.side, other.side):
        return Free("interval")
    common, differing = Common(one.side, other.side, actors.shared), actors.differing
    equal = common.is_nowhere if differing is None else common.are_equal(differing)
    if equal and _is_near(one, other, common):
        return Free("affine")
    if not is_exact:
        return _lost(bound, one, other, actors)
    if actors.are_programs and _are_one_program(one.side, other.side, differing or ()):
        return Free("affine")
    return common


def _is_near(one: Sharer, other: Sharer, common: Common) -> bool:
    """Whether addresses that are equal modulo their modulus, if any, are equal."""
    moduli = {each.modulus for each in (one, other) if each.modulus is not None}
    return not moduli or (len(moduli) == 1 and common.spread <= min(moduli))


def _are_one_program(one: Side, other: Side, axes: Sequence[Symbol]) -> bool:
    """Whether guards leave only one and the same program on both sides."""
    found = [_only_program(side, axes) for side in (one, other)]
    return found[0] is not None and found[0] == found[1]


def _only_program(side: Side, axes: Sequence[Symbol]) -> tuple[int, ...] | None:
    """Return the only program that can be active, if there is but one."""
    bounds = [side.given.bounds(axis.term) for axis in axes]
    if any(each is None or each[0] != each[1] for each in bounds):
        return None
    return tuple(each[0] for each in bounds if each is not None)


def _lost(bound: BoundCall, one: Sharer, other: Sharer, actors: Actors) -> Free | Open:
    """Return the outcome where the address of one access is not known."""
    data = data_behind(bound, (one, other))
    if data is None or data.evaluating:
        return Open(one.reason or other.reason or "its address could not be derived")
    if _is_unreached(bound, one, other):
        return Free("affine")
    assumption = _assumption(bound, one, other, actors, None)
    return replace(data, assumption=assumption)


def _is_unreached(bound: BoundCall, *pair: Sharer) -> bool:
    """Whether no program gets to one of two accesses, wherever it would go."""
    return any(is_unreached(bound, each.access) for each in pair if each.exact is not None)


def _assumption(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors, common: Common | None
) -> str | None:
    """Return the assumption under which two programs do not meet; None for lanes."""
    if not actors.are_programs:
        return None
    return assumption_of(bound, (one, other), common, actors.differing or ())


def searched(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors, common: Common
) -> Free | Meeting | Open:
    """Decide a pair that digits leave open: by contents, linear reasoning and a solver.

    `common` is what `by_digits` found that the two have in common.
    """
    if one is not other and common.are_apart:
        return Free("affine")
    assert one.storage is not None
    copies, nbytes = (copy_of(bound, one), copy_of(bound, other)), one.storage.nbytes
    question = Question(*copies, actors, bound.ranges, nbytes)
    data = data_behind(bound, (one, other))
    if data is not None and not data.evaluating and _is_unreached(bound, one, other):
        return Free("affine")
    if question.is_lost:
        return data or Open(_LOST)
    if any(is_loaded(each.access.offset.atoms()) for each in (one, other)):
        # Of an address from memory a solver finds but what the memory might hold.
        decision = prove(question.claim, question.given, seconds=0)
    else:
        decision = bound.prove(question.claim, question.given)
    if isinstance(decision, Proven):
        return Free(decision.method, solver_ns=decision.solver_ns)
    if actors.differing is not None and actors.when is None:
        read = ReadIndices(bound, actors).judged(*copies, nbytes)
        if read is True:
            return Free("affine", solver_ns=decision.solver_ns)
        if isinstance(read, Meeting):
            return replace(read, solver_ns=decision.solver_ns)
    if data is not None:
        assumption = _assumption(bound, one, other, actors, common)
        return replace(data, solver_ns=decision.solver_ns, assumption=assumption)
    if not isinstance(decision, Refuted):
        return Open(decision.reason, solver_ns=decision.solver_ns)
    first, second = map(bound.program_of, question.sides(decision.model))
    byte = question.byte(decision.model)
    return Meeting((first, second), byte, decision.method, decision.solver_ns)
