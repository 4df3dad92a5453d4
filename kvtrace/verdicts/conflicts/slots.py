"""Stores to slots: at places that follow from the result of an atomic addition to a counter.

Which program draws which number depends on the order of the programs. Which numbers are drawn does
not, if all additions to the counter are of one op, of one constant, and at addresses and under
masks that no order changes. If the place of a store follows from the counter and the number alone,
all orders store to the same places, each for one draw: a run in one order shows whether two draws
share a byte.

Example: `slot = tl.atomic_add(counts + expert, 1)`, then `tl.store(rows + expert * 32 + slot, …)`
with 10 tokens of expert 3: elements 96 to 105 are stored once each in every order.

A compaction draws as many numbers at once as it keeps elements, `tl.atomic_add(counter,
tl.sum(kept))`, and stores from there on at `tl.cumsum(kept)`: in the places that it has reserved.

A loop by tickets, `while tile < tiles`, draws a tile before it and in each trip. In every order one
trip has each number from the counter's on that is below `tiles`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from kvtrace.evaluate import Storage
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.feeding import feeding, loads_behind
from kvtrace.ir.flow import constant_of, counter_of, value_before
from kvtrace.ir.ops import COMBINING, MODULAR, computing
from kvtrace.ir.types import shape_of
from kvtrace.symbolic.conditions import (
    TRUE,
    AtLeast,
    Condition,
    at_least,
    conjunction,
)
from kvtrace.symbolic.functions import Applied, Choice
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.prover.digits import Common, are_apart
from kvtrace.symbolic.summary import Access, Loop
from kvtrace.symbolic.terms import ZERO, Atom, Symbol, Term
from kvtrace.verdicts.binding import BoundCall, once_per_call
from kvtrace.verdicts.conflicts.parts import ADD, roles_of, updates_by
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of, source_of
from kvtrace.verdicts.counters import drawn_numbers

_ADDING: Final = MODULAR & computing("+")
_RESHAPING: Final = computing("reshape")


@once_per_call
def slot_stores(bound: BoundCall) -> frozenset[int]:
    """Return the indices of the ops that store to slots, in every order to the same ones; cached.

    Two draws may still share a slot.
    """
    return frozenset(_slot_stores(bound))


def steady_counters(bound: BoundCall) -> frozenset[Storage]:
    """Return the storages of counters whose numbers decide the same accesses in every order.

    These are stores that nobody in the launch reads, and loads of what nobody writes.
    """
    module, sharers = bound.call.module, sharers_of(bound)
    tickets = list(_tickets(bound))
    draws = {draw.access.op.index: draw.storage for draw in _draws(bound)}
    drawn = {index for ticket in tickets for index in ticket.draws}
    draws |= {s.access.op.index: s.storage for s in sharers if s.access.op.index in drawn}
    steady = slot_stores(bound) | {
        a.op.index for a in bound.summary.accesses if any(t.determines(a) for t in tickets)
    }
    read = {sharer.storage for sharer in sharers if sharer.role.kind != "store"}
    steady -= {s.access.op.index for s in sharers if s.storage in read or None in read} - drawn
    others = (a.op for a in bound.summary.accesses if a.op.index not in steady)
    deciding = frozenset().union(*(_behind(op, module) for op in others))
    return frozenset(
        storage
        for storage in draws.values()
        if storage is not None
        if all(
            index in draws and index not in deciding
            for index in (s.access.op.index for s in sharers if s.storage in (None, storage))
        )
    )


def step_of(bound: BoundCall, draw: Access) -> object:
    """Return the formula of the number that an atomic adds, if the walk has one."""
    return bound.summary.values.get(draw.op.operand("value").id)


def lies_within(bound: BoundCall, places: Term, end: Term | int, user: Access) -> bool:
    """Return whether an access at byte `places` stays in the bytes from 0 to `end - 1`."""
    return is_at_least(bound, places, 0, user) and is_at_least(
        bound, end - places, user.element_bytes, user
    )


def is_at_least(bound: BoundCall, term: Term, least: int, user: Access) -> bool:
    """Return whether a term is at least a number wherever an access is executed."""
    return isinstance(bound.prove(at_least(term, least), bound.active(user)), Proven)


def _places_from_drawn(bound: BoundCall, draw: Access, user: Access) -> Term | None:
    """Return an access's byte offsets from the slot at its program's drawn number.

    None unless all programs compute addresses from their draws in one way, and from nothing else.
    """
    result = bound.summary.values[draw.op.results[0].id]
    assert isinstance(result, Term)
    if draw.mask is not TRUE or draw.loops != user.loops:
        return None
    if _behind(user.op, bound.call.module) & _varying(bound) != {draw.op.index}:
        return None
    is_drawn_once = bound.counters.draws_no_number_twice(draw.op.index)
    if not is_drawn_once or not wraps_as(bound, user, result):
        return None
    return user.offset - result * user.element_bytes


def wraps_as(bound: BoundCall, user: Access, number: Term) -> bool:
    """Return whether only `number + x` wraps around, and `x` has no part of the number."""
    return all(
        number.atoms().isdisjoint((arithmetic.result - number).atoms())
        for arithmetic in bound.arithmetic_of(user)
        if bound.wraps(arithmetic)
    )


def counted_places(
    bound: BoundCall, draw: Access, user: Access, places: Term, unit: int
) -> tuple[Term, Term] | None:
    """Return the counted numbers of a compaction, and a shift that is equal in all programs.

    The places are the running sums of the numbers, plus the shift, and the draw adds their sum.
    """
    module, values = bound.call.module, bound.summary.values
    step = draw.op.operand("value").owner
    kept = _summed(step) if isinstance(step, Op) else None
    element = None if kept is None else values.get(kept.id)
    if kept is None or not isinstance(element, Term) or bound.ranges.interval(element)[0] < 0:
        return None
    behind = (module.ops[index] for index in feeding(user.op, module))
    sums = (
        values.get(op.results[0].id)
        for op in behind
        if op.name in COMBINING and _summed(op) is kept
    )
    trips = _trips_of_counters(draw)
    shifts = (
        (places - (each - less) * unit, move)
        for each in sums
        if isinstance(each, Term)
        for less, move in ((element, ZERO), (ZERO, ZERO + unit))
    )
    for shift, move in shifts:
        if lies_within(bound, shift, unit, user):
            return element, move
        if _is_of(shift, trips):
            return element, shift + move
    return None


def _trips_of_counters(draw: Access) -> frozenset[Atom]:
    """Return the trips of a loop if each trip has its own counter, which all programs share."""
    varying = [atom for atom in draw.offset.atoms() if not _is_of(atom.term)]
    is_of_trip = varying == [loop.trip for loop in draw.loops]
    return frozenset(varying if is_of_trip and draw.offset.affine() is not None else ())


def _fills(bound: BoundCall, draw: Access, user: Access) -> bool:
    """Return whether a compaction stores to all places that it reserves, up to a bound."""
    if len(user.shape) != 1 or any(counter_of(loop.op) is None for loop in draw.loops):
        return False
    places = _places_from_drawn(bound, draw, user)
    if places is None:
        return False
    counted = counted_places(bound, draw, user, places, user.element_bytes)
    if counted is None or bound.ranges.interval(counted[0])[1] > 1:
        return False
    chosen = conjunction(part for part in user.mask.conjuncts() if not _is_of_place(part, user))
    return (
        user.guard is TRUE
        and is_at_least(bound, counted[0], 1, user)
        and isinstance(bound.prove(chosen, bound.given_of([at_least(counted[0], 1)])), Proven)
    )


def _is_of_place(condition: Condition, user: Access) -> bool:
    """Return whether a condition bounds the place of an access, by scalars alone."""
    return isinstance(condition, AtLeast) and any(
        _is_of(condition.term * user.element_bytes + place)
        for place in (user.offset, -1 * user.offset)
    )


def _summed(op: Op) -> Value | None:
    """Return the vector whose sum, or running sums, an op computes; None for another op."""
    if op.name not in COMBINING or len(op.operands) != 1:
        return None
    (source,) = (value_before(value, _RESHAPING) for value in op.group("source"))
    adds, *others = op.regions[0].blocks[0].ops[:-1]
    is_vector = len(shape_of(source.type)) == 1
    return source if adds.name in _ADDING and not others and is_vector else None


def _slot_stores(bound: BoundCall) -> Iterable[int]:
    alone = _draws(bound)
    draws = [_Draw(bound, draw) for draw in alone if draws_fixed_numbers(bound, draw)]
    draws += _tickets(bound)
    for sharer in sharers_of(bound) if alone or draws else ():
        user = sharer.access
        if sharer.role.kind != "store" or not is_single(bound, user):
            continue
        is_slot = any(draw.determines(user) for draw in draws)
        if is_slot or any(_fills(bound, draw.access, user) for draw in alone):
            yield user.op.index


def has_additions(bound: BoundCall) -> bool:
    """Return whether the kernel has atomic additions."""
    return any(updates_by(role.op, ADD) for role in roles_of(bound.call.module).by_op.values())


def _draws(bound: BoundCall) -> list[Sharer]:
    """Return the additions of which each draws numbers of its own, whatever the order."""
    sharers = sharers_of(bound) if has_additions(bound) else ()
    return [
        sharer
        for sharer in sharers
        if is_single(bound, sharer.access) and _draws_alone(bound, sharer)
    ]


def _behind(op: Op, module: Module) -> frozenset[int]:
    """Return the ops that determine an op's address and execution, also through loads."""
    loads = loads_behind(op, module)
    return feeding(op, module).union(*(feeding(module.ops[load], module) for load in loads))


def is_single(bound: BoundCall, access: Access) -> bool:
    """Return whether an op is one access of the kernel itself, not of a function that it calls."""
    is_known = not access.calls and access.unknown is None
    others = (other for other in bound.summary.accesses if other is not access)
    return is_known and all(other.op is not access.op for other in others)


def _draws_alone(bound: BoundCall, draw: Sharer) -> bool:
    """Return whether an access alone adds to its counters, which are the same in every order."""
    op, values = draw.access.op, bound.summary.values
    if not updates_by(op, ADD) or not draw.role.strong or draw.exact is None:
        return False
    step, result = values.get(op.operand("value").id), values.get(op.results[0].id)
    if not isinstance(result, Term) or not isinstance(step, Term):
        return False
    if not _varying(bound).isdisjoint(_behind(op, bound.call.module)):
        return False
    return all(
        sharer is draw or (sharer.exact is not None and are_apart(draw.exact, sharer.exact))
        for sharer in sharers_of(bound)
        if sharer.role.writes and sharer.storage in (None, draw.storage)
    )


def draws_fixed_numbers(bound: BoundCall, draw: Sharer) -> bool:
    """Return whether an addition draws the same numbers in every order: its step is constant."""
    step = step_of(bound, draw.access)
    return isinstance(step, Term) and _is_of(step)


def _is_of(term: Term, trips: frozenset[Atom] = frozenset()) -> bool:
    """Return whether a term is of scalars and these trips of loops alone."""
    return all(
        isinstance(atom, Symbol) and (atom.kind == "scalar" or atom in trips)
        for atom in term.atoms()
    )


def _varying(bound: BoundCall) -> frozenset[int]:
    """Return the indices of the ops whose results may depend on the order of the programs."""
    return frozenset(sharer.access.op.index for sharer in sharers_of(bound))


class _Draw:
    """One atomic addition by one lane, and what follows from its counter's address and result.

    Lanes and trips that only the user of the result has are free: the user is executed for all.
    """

    def __init__(self, bound: BoundCall, draw: Sharer) -> None:
        assert draw.exact is not None
        self._bound = bound
        self._access = draw.access
        self.draws = frozenset({draw.access.op.index})
        self._common = Common(draw.exact, draw.exact)
        result = bound.summary.values[draw.access.op.results[0].id]
        assert isinstance(result, Term)
        self._own_lanes = result.symbols("lane")
        self._result = set(bound.ranges.form(result).coefficients)
        self._free_trips: frozenset[Atom] = frozenset()

    def determines(self, user: Access) -> bool:
        """Return whether the places of an access, all of them, follow from the draw."""
        draw, bound, depth = self._access, self._bound, len(self._access.loops)
        inner_loops = user.loops[depth:]
        if user.loops[:depth] != draw.loops:
            return False
        if any(counter_of(loop.op) is None for loop in inner_loops):
            return False
        if feeding(user.op, bound.call.module) & _varying(bound) != self.draws:
            return False
        self._free_trips = frozenset(loop.trip for loop in inner_loops)
        conditions = set(user.active.conjuncts())
        return (
            conditions.issuperset(draw.mask.conjuncts())
            and self.fixes(user.offset)
            and all(map(self._fixes_truth, conditions.difference(draw.active.conjuncts())))
            and all(
                self.fixes(arithmetic.result) or not bound.wraps(arithmetic)
                for arithmetic in bound.arithmetic_of(user)
            )
        )

    def fixes(self, term: Term) -> bool:
        """Return whether a term follows from the draw: by its atoms, or as part of the address."""
        form = self._bound.ranges.form(term)
        others = {
            monomial: factor
            for monomial, factor in form.coefficients.items()
            if monomial not in self._result
            and monomial not in self._common.variables
            and not all(map(self._fixes_atom, monomial))
        }
        return not others or self._common.is_form_equal_in_both(Term(others))

    def _fixes_atom(self, atom: Atom) -> bool:
        if isinstance(atom, Choice):
            terms: tuple[Term, ...] = (atom.then, atom.otherwise)
            return self._fixes_truth(atom.condition) and all(map(self.fixes, terms))
        if isinstance(atom, Applied):
            return all(map(self.fixes, atom.arguments))
        if not isinstance(atom, Symbol):
            return False
        if atom.kind == "lane":
            return atom not in self._own_lanes
        if atom.kind == "content":
            source = source_of(self._bound.call.module, atom)
            is_read_only = source is not None and source.index not in _varying(self._bound)
            return is_read_only and all(map(self.fixes, atom.at))
        return atom.kind in ("scalar", "programs") or atom in self._free_trips

    def _fixes_truth(self, condition: Condition) -> bool:
        """Return whether the drawn number decides whether a condition holds."""
        return not condition.opaques() and all(map(self.fixes, condition.compared()))


class _Ticket(_Draw):
    """The number that a loop drew before a trip, and what follows from it alone."""

    def __init__(self, bound: BoundCall, number: Choice, draws: Sequence[Sharer]) -> None:
        self._bound, self._access, self._number = bound, draws[-1].access, number
        self._own_lanes: frozenset[Symbol] = frozenset()
        self._free_trips: frozenset[Atom] = frozenset()
        self.draws = frozenset(draw.access.op.index for draw in draws)

    def fixes(self, term: Term) -> bool:
        """Return whether a term follows from the number."""
        return all(self._fixes_atom(atom) for monomial in term.coefficients for atom in monomial)

    def _fixes_atom(self, atom: Atom) -> bool:
        return atom == self._number or super()._fixes_atom(atom)


def _tickets(bound: BoundCall) -> Iterator[_Ticket]:
    """Yield the drawn numbers that decide the trips of loops, if each trip has its own draw."""
    draws = [
        sharer
        for sharer in sharers_of(bound)
        if updates_by(sharer.access.op, ADD) and sharer.role.strong and sharer.exact is not None
        if is_single(bound, sharer.access) and not sharer.access.shape
    ]
    for loop, first, later in product(bound.summary.loops, draws, draws):
        others = (s for s in sharers_of(bound) if s not in (first, later))
        is_alone = all(other.storage not in (None, first.storage) for other in others)
        if not is_alone or not _draw_in_turn(loop, first, later):
            continue
        for number, end in drawn_numbers(loop, {later.access.op.index}):
            ticket, symbols = _Ticket(bound, number, (first, later)), number.term.symbols("unknown")
            if (
                number.otherwise == bound.summary.values[first.access.op.results[0].id]
                and all(bound.counters.range_of(symbol) is not None for symbol in symbols)
                and number not in end.atoms()
                and ticket.fixes(end)
            ):
                yield ticket


def _draw_in_turn(loop: Loop, first: Sharer, later: Sharer) -> bool:
    """Return whether each program draws from one counter, once before a loop and in each trip."""
    assert first.exact is not None
    assert later.exact is not None
    step, next_step = (constant_of(s.access.op.operand("value")) for s in (first, later))
    return (
        isinstance(loop.going_on, AtLeast)
        and loop.guard is TRUE
        and first.access.active is TRUE
        and not first.access.loops
        and later.access.mask is TRUE
        and later.access.loops == (loop,)
        and later.access.op.block is loop.op.regions[-1].blocks[0]
        and step == next_step
        and step is not None
        and first.storage is later.storage
        and first.exact.form == later.exact.form
        and first.exact.form.constant is not None
    )
