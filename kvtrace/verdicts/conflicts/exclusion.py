"""Counters and locks that keep programs from racing."""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.ir import Module, Op
from kvtrace.ir.constants import constant_of
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Linear, Variable
from kvtrace.symbolic.prover.digits import Common, Side, are_apart
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.conflicts.parts import ADD, updates_by
from kvtrace.verdicts.conflicts.releases import Releases
from kvtrace.verdicts.conflicts.sections import Section, sections_of
from kvtrace.verdicts.conflicts.sharers import Sharer


class Exclusion:
    """The counters and locks of one call, which keep accesses of programs apart."""

    def __init__(self, module: Module, sharers: Sequence[Sharer], releases: Releases) -> None:
        self._module = module
        self._sharers = sharers
        self._releases = releases

    # -- counters --------------------------------------------------------------------------------

    def draws_numbers(self, left: Sharer, right: Sharer, common: Common) -> bool:
        """Return whether a variable that both accesses share was drawn from a counter.

        No number is drawn twice, so both accesses are then of one program.
        """
        return any(self._is_drawn(variable, (left, right)) for variable in common.variables)

    def _is_drawn(self, variable: Variable, users: Sequence[Sharer]) -> bool:
        """Return whether a variable is always the result of an addition to the same counter."""
        symbols = _chosen_symbols(variable)
        draws = [self._drawing_atomic(symbol) for symbol in symbols]
        if not all(
            draw is not None and _covers_lanes(draw, symbol, user)
            for draw, symbol in zip(draws, symbols, strict=True)
            for user in users
        ):
            return False
        first_draw = draws[0] if draws else None
        if first_draw is None or first_draw.exact is None or first_draw.exact.form.coefficients:
            return False
        counter = first_draw.exact.form
        if any(d is None or d.exact is None or d.exact.form != counter for d in draws):
            return False
        return all(d is not None and d.storage is first_draw.storage for d in draws) and all(
            self._is_counting(sharer, counter) or self._keeps_unchanged(sharer, first_draw.exact)
            for sharer in self._sharers
            if sharer.storage in (None, first_draw.storage)
        )

    def _drawing_atomic(self, symbol: Symbol) -> Sharer | None:
        """Return the only atomic access whose result a symbol is, else None."""
        index = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
        sharers = [s for s in self._sharers if s.access.op.index == index]
        if symbol.kind not in ("content", "unknown") or len(sharers) != 1:
            return None
        return sharers[0] if sharers[0].role.kind == "atomic" else None

    @staticmethod
    def _is_counting(sharer: Sharer, counter: Linear) -> bool:
        """Return whether an access adds a positive constant to the counter."""
        op = sharer.access.op
        return (
            updates_by(op, ADD)
            and sharer.role.strong
            and sharer.exact is not None
            and sharer.exact.form == counter
            and _counts_up(op)
        )

    @staticmethod
    def _keeps_unchanged(sharer: Sharer, counter: Side) -> bool:
        """Return whether an access does not write to the counter."""
        if not sharer.role.writes:
            return True
        return sharer.exact is not None and are_apart(counter, sharer.exact)

    # -- locks -----------------------------------------------------------------------------------

    def are_locked(self, left: Sharer, right: Sharer, common: Common) -> bool:
        """Return whether both accesses are in critical sections of the same lock.

        The lock's address must be equal wherever the two accesses meet.
        """
        sections = sections_of(self._module)
        for first in sections:
            if not self._is_within(left, first):
                continue
            for second in sections:
                if self._is_within(right, second) and self._have_same_lock(first, second, common):
                    return True
        return False

    def _is_within(self, sharer: Sharer, section: Section) -> bool:
        """Return whether all threads do an op while their program holds a section's lock."""
        return (
            sharer.role.op.index in section.inside
            and self._releases.orders_all_threads(section.shuts)
            and self._releases.order(sharer.role.op, section.opens) is True
        )

    def _have_same_lock(self, first: Section, second: Section, common: Common) -> bool:
        """Return whether two sections lock the same address wherever the accesses meet."""
        lock_accesses = [self._lock_access(section) for section in (first, second)]
        if (
            lock_accesses[0] is None
            or lock_accesses[1] is None
            or lock_accesses[0].storage is not lock_accesses[1].storage
        ):
            return False
        first_side, second_side = lock_accesses[0].exact, lock_accesses[1].exact
        if first_side is None or second_side is None or first_side.form != second_side.form:
            return False
        return common.is_form_equal_in_both(first_side.form)

    def _lock_access(self, section: Section) -> Sharer | None:
        """Return the access that locks a section; None if other ops may write the lock."""
        sections = sections_of(self._module)
        lock_ops = {
            op.index for lock_section in sections for op in (lock_section.shuts, lock_section.opens)
        }
        locking = [s for s in self._sharers if s.access.op is section.shuts]
        if len(locking) != 1 or locking[0].exact is None:
            return None
        for sharer in self._sharers:
            if sharer.storage not in (None, locking[0].storage) or not sharer.role.writes:
                continue
            if sharer.access.op.index in lock_ops:
                continue
            if sharer.exact is None or not are_apart(locking[0].exact, sharer.exact):
                return None
        return locking[0]


def _covers_lanes(draw: Sharer, symbol: Symbol, user: Sharer) -> bool:
    """Return whether each active lane of `user` has drawn its number in an active lane."""
    mask = draw.access.mask
    if mask.decided:
        return True
    lanes = [a.key for term in symbol.at for a in term.symbols("lane")]
    if lanes != list(range(len(lanes))):
        return False
    return set(mask.conjuncts()) <= set(user.access.active.conjuncts())


def _chosen_symbols(variable: Variable) -> list[Symbol]:
    """Return the symbol, or all symbols that a choice selects from; else an empty list."""
    if isinstance(variable, Symbol):
        return [variable]
    if not isinstance(variable, Choice):
        return []
    symbols = []
    for term in (variable.then, variable.otherwise):
        form = term.affine()
        if form is None or form[0] or list(form[1].values()) != [1]:
            return []
        branch_symbols = _chosen_symbols(next(iter(form[1])))
        if not branch_symbols:
            return []
        symbols += branch_symbols
    return symbols


def _counts_up(addition: Op) -> bool:
    """Return whether an atomic adds a positive constant."""
    step = constant_of(addition.operand("value"))
    return step is not None and step > 0
