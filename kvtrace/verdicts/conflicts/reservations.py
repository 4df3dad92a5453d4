"""Places that draws reserve: an atomic addition of n to a counter draws n numbers for its program.

Programs then share none of the places of their numbers, whatever the order, also where n is data.

Example: `first = tl.atomic_add(counter, n)`, then `tl.store(out + first + lanes, …, lanes < n)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover.digits import are_apart
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import ZERO, Atom, Symbol, Term
from kvtrace.verdicts.binding import BoundCall, once_per_call
from kvtrace.verdicts.conflicts.parts import ADD, updates_by
from kvtrace.verdicts.conflicts.sharers import sharers_of
from kvtrace.verdicts.conflicts.slots import (
    counted_places,
    draws_fixed_numbers,
    has_additions,
    is_at_least,
    is_single,
    lies_within,
    step_of,
    wraps_as,
)


class Reserved(NamedTuple):
    """Places of a tensor: a number of the counter at `offset` of `counter` has `unit` bytes.

    The places of all programs begin `moved` bytes after those of the numbers. Ops with the same
    `Reserved` access no byte in two programs.
    """

    tensor: int | None
    counter: int | None
    offset: Term
    unit: int
    moved: Term


@once_per_call
def reservations(bound: BoundCall) -> Mapping[int, Reserved]:
    """Return the places that ops keep to, of those that their program drew; by op index; cached."""
    sharers = sharers_of(bound) if has_additions(bound) else ()
    users = [s.access for s in sharers if is_single(bound, s.access)]
    places = ((user, _reserved_by(bound, user)) for user in users)
    return {user.op.index: place for user, place in places if place}


def _reserved_by(bound: BoundCall, user: Access) -> Reserved | None:
    """Return the drawn places that an access keeps to; None if it does not, or it is not known."""
    for variable, unit in user.offset.coefficients.items():
        symbols = _chosen_symbols(variable[0]) if len(variable) == 1 else []
        draw = _drawn(bound, symbols, user) if symbols and unit >= user.element_bytes else None
        if draw is None or not wraps_as(bound, user, variable[0].term):
            continue
        is_apart = bound.counters.draws_no_number_twice(draw.op.index, unit)
        if not is_apart and not bound.has_ideal_address(user):
            continue
        places, step = user.offset - variable[0].term * unit, step_of(bound, draw)
        reserved = Reserved(user.argument, draw.argument, draw.offset, unit, ZERO)
        if isinstance(step, Term) and lies_within(bound, places, step * unit, user):
            return reserved
        counted = counted_places(bound, draw, user, places, unit)
        if counted and is_at_least(bound, counted[0], 1, user):
            return reserved._replace(moved=counted[1])
    return None


def _drawn(bound: BoundCall, symbols: Sequence[Symbol], user: Access) -> Access | None:
    """Return one of the additions whose results symbols are, if all draw from one counter alike."""
    sharers = sharers_of(bound)
    indices = [s.key[0] if isinstance(s.key, tuple) else s.key for s in symbols]
    draws = [s for index in indices for s in sharers if s.access.op.index == index]
    if len(draws) < len(symbols) or any(
        s.exact is None or s.exact.form.constant is None or not updates_by(s.access.op, ADD)
        for s in draws
    ):
        return None
    alike = {(s.access.argument, s.access.offset, step_of(bound, s.access)) for s in draws}
    first, storage = draws[0].access, draws[0].storage
    is_alone = bound.counters.draws_no_number_twice(first.op.index) and all(
        s.role.strong or (s.exact and draws[0].exact and are_apart(draws[0].exact, s.exact))
        for s in sharers
        if s.role.writes and s.storage in (None, storage)
    )
    # Unless all steps are equal, a number of another trip or lane has another step.
    is_own = [s.term for s in symbols] == [bound.summary.values[first.op.results[0].id]]
    is_of_step = is_own or draws_fixed_numbers(bound, draws[0])
    covers = (_covers_lanes(d.access, s, user) for d, s in zip(draws, symbols, strict=True))
    return first if len(alike) == 1 and is_alone and is_of_step and all(covers) else None


def _covers_lanes(draw: Access, symbol: Symbol, user: Access) -> bool:
    """Return whether each active lane of `user` has drawn its number in an active lane."""
    lanes = [a.key for term in symbol.at for a in term.symbols("lane")]
    is_lane_by_lane = lanes == list(range(len(lanes)))
    is_within = set(draw.mask.conjuncts()) <= set(user.active.conjuncts())
    return bool(draw.mask.decided) or (is_lane_by_lane and is_within)


def _chosen_symbols(variable: Atom) -> list[Symbol]:
    """Return the symbol, or all symbols that a choice selects from; else an empty list."""
    if isinstance(variable, Symbol):
        return [variable] if variable.kind in ("content", "unknown") else []
    symbols: list[Symbol] = []
    for term in (variable.then, variable.otherwise) if isinstance(variable, Choice) else ():
        chosen = [s for atom in term.atoms() if atom.term == term for s in _chosen_symbols(atom)]
        if not chosen:
            return []
        symbols += chosen
    return symbols
