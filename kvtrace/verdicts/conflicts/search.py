"""Search for two actors (programs, or lanes of one program) that touch the same byte.

First the digits of both addresses are compared, then linear reasoning and a solver run over two
copies of all formulas. All symbols of a program are free, so the search does not depend on the size
of the grid. The caller says in which loops both lanes of a program are in the same trip.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec.structs import replace

from kvtrace.ir import Module
from kvtrace.ir.flow import enclosing_ops
from kvtrace.symbolic.prover import Proven, Refuted, prove
from kvtrace.symbolic.prover.digits import Common, Shared, Side, are_far_apart
from kvtrace.symbolic.summary import op_index
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall
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

_LOST: Final = "its address depends on a branch that kvtrace does not track"


def shared_by_lanes(module: Module, own_trips: Collection[Symbol] = ()) -> Shared:
    """Return a function that says whether two lanes of a program share a symbol's value.

    Each lane has a lane index, and a separate trip in the loops of `own_trips`. A loaded or
    untracked value is shared if both lanes use the same execution of its op, at the same
    position.
    """
    trip_keys = {trip.key for trip in own_trips}
    loop_indices = set(map(op_index, own_trips))

    def is_shared(symbol: Symbol) -> bool:
        if symbol.kind == "lane":
            return False
        if symbol.kind == "trip":
            return symbol.key not in trip_keys
        if symbol.kind not in ("content", "unknown"):
            return True
        source = source_of(module, symbol)
        if source is not None and not loop_indices.isdisjoint(
            op.index for op in (source, *enclosing_ops(source))
        ):
            return False
        atoms = (atom for term in symbol.at for atom in term.atoms())
        return all(is_shared(atom) for atom in atoms if isinstance(atom, Symbol))

    return is_shared


def meeting(
    bound: BoundCall, left: Sharer, right: Sharer, actors: Actors
) -> NoConflict | SuspectedConflict | Undecided:
    """Return whether two actors touch the same byte of a storage by these accesses."""
    outcome = compare_digits(bound, left, right, actors)
    return (
        search_pair(bound, left, right, actors, outcome) if isinstance(outcome, Common) else outcome
    )


def compare_digits(
    bound: BoundCall, left: Sharer, right: Sharer, actors: Actors
) -> NoConflict | Undecided | Common:
    """Decide a pair by ranges and digits of addresses; return the shared digits if undecided."""
    is_one = left is right
    if not actors.are_programs:
        left = as_in_one_program(bound, left, actors.shared)
        right = left if is_one else as_in_one_program(bound, right, actors.shared)
    exact_sides = (left.exact, right.exact)
    if any(side is not None and side.given.is_impossible for side in exact_sides):
        return NoConflict("interval")
    if left.side is None or right.side is None:
        return _outcome_without_address(bound, left, right, actors)
    is_exact = left.modulus is None and right.modulus is None
    if is_exact and are_far_apart(left.side, right.side):
        return NoConflict("interval")
    shared_digits, differing = Common(left.side, right.side, actors.shared), actors.differing
    are_equal = (
        shared_digits.is_nowhere if differing is None else shared_digits.are_equal(differing)
    )
    if are_equal and _is_near(left, right, shared_digits):
        return NoConflict("affine")
    if not is_exact:
        return _outcome_without_address(bound, left, right, actors)
    if actors.are_programs and _are_one_program(left.side, right.side, differing or ()):
        return NoConflict("affine")
    return shared_digits


def _is_near(left: Sharer, right: Sharer, common: Common) -> bool:
    """Return whether addresses that are equal modulo their modulus are surely equal."""
    moduli = {sharer.modulus for sharer in (left, right) if sharer.modulus is not None}
    return not moduli or (len(moduli) == 1 and common.spread <= min(moduli))


def _are_one_program(left: Side, right: Side, axes: Sequence[Symbol]) -> bool:
    """Return whether guards leave only one program, the same for both accesses."""
    programs = [_only_program(side, axes) for side in (left, right)]
    return programs[0] is not None and programs[0] == programs[1]


def _only_program(side: Side, axes: Sequence[Symbol]) -> tuple[int, ...] | None:
    """Return the ids along the axes of the only program that can be active, else None."""
    bounds = [side.given.bounds(axis.term) for axis in axes]
    if any(bound is None or bound[0] != bound[1] for bound in bounds):
        return None
    return tuple(bound[0] for bound in bounds if bound is not None)


def _outcome_without_address(
    bound: BoundCall, left: Sharer, right: Sharer, actors: Actors
) -> NoConflict | Undecided:
    """Return the outcome of a pair of which an address is not exactly known."""
    data = data_behind(bound, (left, right))
    if data is None or data.evaluating:
        return Undecided(left.reason or right.reason or "its address could not be derived")
    if _is_unreached(bound, left, right):
        return NoConflict("affine")
    assumption = _assumption(bound, left, right, actors, None)
    return replace(data, assumption=assumption)


def _is_unreached(bound: BoundCall, *pair: Sharer) -> bool:
    """Return whether no program reaches one of two accesses."""
    return any(is_unreached(bound, sharer.access) for sharer in pair if sharer.exact is not None)


def _assumption(
    bound: BoundCall, left: Sharer, right: Sharer, actors: Actors, common: Common | None
) -> str | None:
    """Return a condition on contents under which two programs do not meet, else None."""
    if not actors.are_programs:
        return None
    return assumption_of(bound, (left, right), common, actors.differing or ())


def search_pair(
    bound: BoundCall, left: Sharer, right: Sharer, actors: Actors, common: Common
) -> NoConflict | SuspectedConflict | Undecided:
    """Decide a pair by recorded contents, linear reasoning and a solver.

    `common` has the digits that both actors share, from `compare_digits`.
    """
    if left is not right and common.are_apart:
        return NoConflict("affine")
    assert left.storage is not None
    copies, nbytes = (copy_of(bound, left), copy_of(bound, right)), left.storage.nbytes
    question = Question(*copies, actors, bound.ranges, nbytes)
    data = data_behind(bound, (left, right))
    if data is not None and not data.evaluating and _is_unreached(bound, left, right):
        return NoConflict("affine")
    if question.is_lost:
        return data or Undecided(_LOST)
    if any(is_loaded(sharer.access.offset.atoms()) for sharer in (left, right)):
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
        assumption = _assumption(bound, left, right, actors, common)
        return replace(data, solver_ns=decision.solver_ns, assumption=assumption)
    if not isinstance(decision, Refuted):
        return Undecided(decision.reason, solver_ns=decision.solver_ns)
    first_program, second_program = map(bound.program_of, question.sides(decision.model))
    byte = question.byte(decision.model)
    return SuspectedConflict(
        (first_program, second_program), byte, decision.method, decision.solver_ns
    )
