"""Search for two actors (programs, or lanes of one program) that touch the same byte.

First the digits of both addresses are compared, then linear reasoning and a solver run over two
copies of all formulas. All symbols of a program are free, so the search does not depend on the size
of the grid. The caller says in which loops both lanes of a program are in the same trip.
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
from kvtrace.verdicts.conflicts.outcomes import NoConflict, SuspectedConflict, Undecided
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

_LOST: Final = "its address depends on a branch that kvtrace does not track"


def shared_by_lanes(module: Module, own_trips: Collection[Symbol] = ()) -> Shared:
    """Return a function that tells which symbols two lanes of one program have in common.

    Each lane has its own lane index, and a separate trip in the loops of `own_trips`. A loaded or
    untracked value is shared if both lanes have it from the same execution of an op, at the same
    position.
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
    """Return the lane symbols of an access, outermost axis first; a scalar access has none."""
    axes = (lane(axis, extent).atoms() for axis, extent in enumerate(sharer.access.shape))
    return tuple(symbol for axis in axes for symbol in axis if isinstance(symbol, Symbol))


def meeting(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors
) -> NoConflict | SuspectedConflict | Undecided:
    """Return whether two actors touch the same byte of a storage, each by one of two accesses."""
    outcome = by_digits(bound, one, other, actors)
    return searched(bound, one, other, actors, outcome) if isinstance(outcome, Common) else outcome


def by_digits(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors
) -> NoConflict | Undecided | Common:
    """Decide a pair by ranges and digits alone; if undecided, return the digits that both share."""
    is_one = one is other
    if not actors.are_programs:
        one = as_in_one_program(bound, one, actors.shared)
        other = one if is_one else as_in_one_program(bound, other, actors.shared)
    exact = (one.exact, other.exact)
    if any(side is not None and side.given.is_impossible for side in exact):
        return NoConflict("interval")
    if one.side is None or other.side is None:
        return _outcome_without_address(bound, one, other, actors)
    is_exact = one.modulus is None and other.modulus is None
    if is_exact and are_far_apart(one.side, other.side):
        return NoConflict("interval")
    common, differing = Common(one.side, other.side, actors.shared), actors.differing
    equal = common.is_nowhere if differing is None else common.are_equal(differing)
    if equal and _is_near(one, other, common):
        return NoConflict("affine")
    if not is_exact:
        return _outcome_without_address(bound, one, other, actors)
    if actors.are_programs and _are_one_program(one.side, other.side, differing or ()):
        return NoConflict("affine")
    return common


def _is_near(one: Sharer, other: Sharer, common: Common) -> bool:
    """Return whether addresses that are equal modulo their modulus, if any, are equal."""
    moduli = {sharer.modulus for sharer in (one, other) if sharer.modulus is not None}
    return not moduli or (len(moduli) == 1 and common.spread <= min(moduli))


def _are_one_program(one: Side, other: Side, axes: Sequence[Symbol]) -> bool:
    """Return whether guards leave only one program, the same on both sides."""
    programs = [_only_program(side, axes) for side in (one, other)]
    return programs[0] is not None and programs[0] == programs[1]


def _only_program(side: Side, axes: Sequence[Symbol]) -> tuple[int, ...] | None:
    """Return the ids of the only program that can be active, or None if several can."""
    bounds = [side.given.bounds(axis.term) for axis in axes]
    if any(bound is None or bound[0] != bound[1] for bound in bounds):
        return None
    return tuple(bound[0] for bound in bounds if bound is not None)


def _outcome_without_address(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors
) -> NoConflict | Undecided:
    data = data_behind(bound, (one, other))
    if data is None or data.evaluating:
        return Undecided(one.reason or other.reason or "its address could not be derived")
    if _is_unreached(bound, one, other):
        return NoConflict("affine")
    assumption = _assumption(bound, one, other, actors, None)
    return replace(data, assumption=assumption)


def _is_unreached(bound: BoundCall, *pair: Sharer) -> bool:
    """Return whether no program gets to one of two accesses, whatever its address."""
    return any(is_unreached(bound, sharer.access) for sharer in pair if sharer.exact is not None)


def _assumption(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors, common: Common | None
) -> str | None:
    """Return the assumption under which two programs do not meet; None for lanes."""
    if not actors.are_programs:
        return None
    return assumption_of(bound, (one, other), common, actors.differing or ())


def searched(
    bound: BoundCall, one: Sharer, other: Sharer, actors: Actors, common: Common
) -> NoConflict | SuspectedConflict | Undecided:
    """Decide a pair that digits leave open: by contents, linear reasoning and a solver.

    `common` has the digits that both actors share, from `by_digits`.
    """
    if one is not other and common.are_apart:
        return NoConflict("affine")
    assert one.storage is not None
    copies, nbytes = (copy_of(bound, one), copy_of(bound, other)), one.storage.nbytes
    question = Question(*copies, actors, bound.ranges, nbytes)
    data = data_behind(bound, (one, other))
    if data is not None and not data.evaluating and _is_unreached(bound, one, other):
        return NoConflict("affine")
    if question.is_lost:
        return data or Undecided(_LOST)
    if any(is_loaded(sharer.access.offset.atoms()) for sharer in (one, other)):
        # For an address that was loaded, a solver would only find possible contents.
        decision = prove(question.claim, question.given, seconds=0)
    else:
        decision = bound.prove(question.claim, question.given)
    if isinstance(decision, Proven):
        return NoConflict(decision.method, solver_ns=decision.solver_ns)
    if actors.differing is not None and actors.when is None:
        contents_answer = ReadIndices(bound, actors).judged(*copies, nbytes)
        if contents_answer is True:
            return NoConflict("affine", solver_ns=decision.solver_ns)
        if isinstance(contents_answer, SuspectedConflict):
            return replace(contents_answer, solver_ns=decision.solver_ns)
    if data is not None:
        assumption = _assumption(bound, one, other, actors, common)
        return replace(data, solver_ns=decision.solver_ns, assumption=assumption)
    if not isinstance(decision, Refuted):
        return Undecided(decision.reason, solver_ns=decision.solver_ns)
    first, second = map(bound.program_of, question.sides(decision.model))
    byte = question.byte(decision.model)
    return SuspectedConflict((first, second), byte, decision.method, decision.solver_ns)
