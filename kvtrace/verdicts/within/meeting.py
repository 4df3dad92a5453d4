"""Whether two lanes of one program touch one byte, with its ids shared by both copies of a lane.

First the digits of their addresses, then linear reasoning and a solver over two copies of all that
is a lane's own. Which loops both lanes are in the same trip of is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Module
from kvtrace.ir.flow import around
from kvtrace.symbolic.conditions import FALSE, Condition, equal
from kvtrace.symbolic.decide import Given, Method, Point, Proven, Refuted, decide_given
from kvtrace.symbolic.linear import Linear
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.races.copies import Question, Shared
from kvtrace.verdicts.races.data_behind import data_behind, is_loaded
from kvtrace.verdicts.races.digits import Common, Side, are_apart, are_far_apart
from kvtrace.verdicts.races.read_indices import Met, ReadIndices
from kvtrace.verdicts.races.same_values import Doubt
from kvtrace.verdicts.races.sharers import Sharer, as_in_one_program, copy_of, is_unreached

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

When = Callable[[Substitution], Condition]
"""Given what renames the symbols of the second side, returns what else is to hold of both."""

_LOST: Final = "a branch that is not followed is part of an address"


@dataclass(frozen=True)
class Apart:
    """No two such lanes touch one byte; `why` is the reason why it does no harm if they do."""

    method: Method
    solver_ns: int = 0
    why: str = ""


@dataclass(frozen=True)
class Meeting:
    """Two lanes that seem to touch `byte`, which counts from the start of the storage.

    `sides` has the numbers of the symbols on either side: its lane, and the trips that are its own.
    """

    program: int
    sides: tuple[Point, Point]
    byte: int
    method: Method
    solver_ns: int = 0


@dataclass(frozen=True)
class Open:
    """It is not known; `reason` says why, and `evaluating` the grid may tell."""

    reason: str
    evaluating: bool = True
    solver_ns: int = 0


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
        if loops and not loops.isdisjoint(_loops_around(module, symbol)):
            return False
        inside = (atom for term in symbol.at for atom in term.atoms())
        return all(is_shared(atom) for atom in inside if isinstance(atom, Symbol))

    return is_shared


def _loops_around(module: Module, symbol: Symbol) -> Collection[int]:
    """Return the ops around the one that a symbol comes from, itself included."""
    key: object = symbol.key
    while isinstance(key, tuple):
        key = key[0]
    if not isinstance(key, int) or not 0 <= key < len(module.ops):
        return ()
    return (key, *(op.index for op in around(module.ops[key])))


def lanes_of(sharer: Sharer) -> tuple[Symbol, ...]:
    """Return the symbols of the lanes of an access, outermost axis first; a scalar's has none."""
    axes = (lane(axis, extent).atoms() for axis, extent in enumerate(sharer.access.shape))
    return tuple(symbol for axis in axes for symbol in axis if isinstance(symbol, Symbol))


def meeting(
    bound: BoundCall,
    one: Sharer,
    other: Sharer,
    differing: Sequence[Symbol] | None,
    shared: Shared,
    when: When | None = None,
) -> Apart | Meeting | Open:
    """Find two lanes of one program that touch one byte, one by each access of one storage.

    A meeting has to be replayed before it is reported.

    Args:
        bound: the call's bound summary.
        one: the first access.
        other: the second access, to the same storage.
        differing: lanes and trips of which one differs between the sides; None: all may be equal.
        shared: symbols that are equal on both sides, from `shared_by_lanes`.
        when: further conditions, as of `Question`.

    """
    found = quickly(bound, one, other, differing, shared)
    if not isinstance(found, Common):
        return found
    return searched(bound, one, other, differing, shared, when)


def quickly(
    bound: BoundCall,
    one: Sharer,
    other: Sharer,
    differing: Sequence[Symbol] | None,
    shared: Shared,
) -> Apart | Open | Common:
    """Decide by ranges and digits alone; else give what two lanes have in common that meet."""
    is_one = one is other
    one = as_in_one_program(bound, one, shared)
    other = one if is_one else as_in_one_program(bound, other, shared)
    sides = (one.exact, other.exact)
    if any(side is not None and side.given.is_impossible for side in sides):
        return Apart("interval")
    if one.side is None or other.side is None:
        return _lost(bound, one, other)
    is_exact = one.modulus is None and other.modulus is None
    if is_exact and are_far_apart(one.side, other.side):
        return Apart("interval")
    common = Common(one.side, other.side, shared)
    apart = common.is_nowhere if differing is None else common.are_equal(differing)
    if apart and _is_near(one, other, common):
        return Apart("affine")
    if not is_exact:
        return _lost(bound, one, other)
    if one is not other and are_apart(*_besides(common, one.side, other.side)):
        return Apart("affine")
    return common


def _besides(common: Common, one: Side, other: Side) -> tuple[Side, Side]:
    """Return both sides less what is equal where they meet, as a program's ids are."""
    forms = one.form, other.form
    mine, others = (form.coefficients for form in forms)
    equal = {v for v, k in mine.items() if others.get(v) == k and common.determines(v)}
    left = (
        Linear(form.constant, {v: k for v, k in form.coefficients.items() if v not in equal})
        for form in forms
    )
    first, second = left
    return replace(one, form=first), replace(other, form=second)


def _is_near(one: Sharer, other: Sharer, common: Common) -> bool:
    """Whether addresses that are equal except for multiples of a modulus, if any, are equal."""
    moduli = {each.modulus for each in (one, other) if each.modulus is not None}
    return not moduli or (len(moduli) == 1 and common.spread <= min(moduli))


def _lost(bound: BoundCall, one: Sharer, other: Sharer) -> Apart | Open:
    """Say why it is not known where one of two goes."""
    data = data_behind(bound, (one, other))
    if data is not None and not data.evaluating:
        return Apart("affine") if _is_unreached(bound, one, other) else Open(data.reason, False)
    return Open(one.reason or other.reason or "its address could not be derived")


def _is_unreached(bound: BoundCall, *pair: Sharer) -> bool:
    return any(is_unreached(bound, each.access) for each in pair if each.exact is not None)


def searched(
    bound: BoundCall,
    one: Sharer,
    other: Sharer,
    differing: Sequence[Symbol] | None,
    shared: Shared,
    when: When | None = None,
) -> Apart | Meeting | Open:
    """Decide what `quickly` leaves, by recorded contents, linear reasoning and a solver."""
    assert one.storage is not None
    copies, nbytes = (copy_of(bound, one), copy_of(bound, other)), one.storage.nbytes
    question = Question(*copies, differing, bound.ranges, nbytes, shared, when)
    data = data_behind(bound, (one, other))
    if data is not None and not data.evaluating and _is_unreached(bound, one, other):
        return Apart("affine")
    if question.is_lost:
        return Open(_LOST) if data is None else Open(data.reason, data.evaluating)
    if any(is_loaded(each.access.offset.atoms()) for each in (one, other)):
        # Of an address from memory a solver finds but what the memory might hold.
        decision = decide_given(question.claim, question.given, budget=0)
    else:
        decision = bound.decide(question.claim, question.given)
    if isinstance(decision, Proven):
        return Apart(decision.method, decision.solver_ns)
    if differing is not None and when is None:
        read = ReadIndices(bound, differing, shared).judged(*copies, nbytes)
        if read is True:
            return Apart("affine", decision.solver_ns)
        if isinstance(read, Met):
            program = bound.program_of(read.sides[0])
            return Meeting(program, read.sides, read.byte, "affine", decision.solver_ns)
    if data is not None:
        return Open(data.reason, data.evaluating, decision.solver_ns)
    if not isinstance(decision, Refuted):
        return Open(decision.reason, solver_ns=decision.solver_ns)
    first, second = question.sides(decision.model)
    byte, program = question.byte(decision.model), bound.program_of(first)
    return Meeting(program, (first, second), byte, decision.method, decision.solver_ns)


def are_settled(
    bound: BoundCall, store: Sharer, doubts: Sequence[Doubt], shared: Shared
) -> Proven | None:
    """Prove what has to hold for two lanes of a store that meet to store the same; None: not so."""
    assert store.storage is not None
    copies, nbytes = (copy_of(bound, store), copy_of(bound, store)), store.storage.nbytes
    about = [each for doubt in doubts for each in (doubt.what, *doubt.path) if each is not None]
    question = Question(
        *copies, lanes_of(store), bound.ranges, nbytes, shared, about=about
    )  # fmt: skip
    strongest = Proven("affine")
    for doubt in doubts:
        conditions = [*question.given.exact, question.is_one_place]
        conditions += (side for each in doubt.path for side in question.both(each))
        claim: Condition = FALSE
        if isinstance(doubt.what, Term):
            claim = equal(question.gap(doubt.what))
        elif doubt.what is not None:
            one, other = question.both(doubt.what)
            claim = (one & other) | (~one & ~other)
        found = bound.decide(claim, Given(conditions, question.given.ranges))
        if not isinstance(found, Proven):
            return None
        taken = strongest.solver_ns + found.solver_ns
        by_solver = "solver" in (found.method, strongest.method)
        strongest = Proven("solver" if by_solver else "affine", taken)
    return strongest
