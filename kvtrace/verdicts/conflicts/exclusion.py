"""Counters and locks that keep programs from racing: drawn numbers and exclusive sections."""

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
    """The counters and locks of one call."""

    def __init__(self, module: Module, sharers: Sequence[Sharer], releases: Releases) -> None:
        self._module = module
        self._sharers = sharers
        self._releases = releases

    # -- counters --------------------------------------------------------------------------------

    def draws_numbers(self, one: Sharer, other: Sharer, common: Common) -> bool:
        """Return whether a variable that is equal on both sides was drawn from a counter.

        The counter never gives the same number twice, so the two sides are then one program.
        """
        return any(self._is_drawn(variable, (one, other)) for variable in common.variables)

    def _is_drawn(self, variable: Variable, users: Sequence[Sharer]) -> bool:
        """Return whether a variable is always the result of adding to one and the same counter."""
        symbols = _chosen_symbols(variable)
        draws = [self._drawing_atomic(symbol) for symbol in symbols]
        if not all(
            draw is not None and _is_active_for(draw, symbol, user)
            for draw, symbol in zip(draws, symbols, strict=True)
            for user in users
        ):
            return False
        first = draws[0] if draws else None
        if first is None or first.exact is None or first.exact.form.coefficients:
            return False
        counter = first.exact.form
        if any(d is None or d.exact is None or d.exact.form != counter for d in draws):
            return False
        return all(d is not None and d.storage is first.storage for d in draws) and all(
            self._counts(sharer, counter) or self._keeps_unchanged(sharer, first.exact)
            for sharer in self._sharers
            if sharer.storage in (None, first.storage)
        )

    def _drawing_atomic(self, symbol: Symbol) -> Sharer | None:
        index = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
        sharers = [s for s in self._sharers if s.access.op.index == index]
        if symbol.kind not in ("content", "unknown") or len(sharers) != 1:
            return None
        return sharers[0] if sharers[0].part.kind == "atomic" else None

    @staticmethod
    def _counts(sharer: Sharer, counter: Linear) -> bool:
        op = sharer.access.op
        return (
            updates_by(op, ADD)
            and sharer.part.strong
            and sharer.exact is not None
            and sharer.exact.form == counter
            and _counts_up(op)
        )

    @staticmethod
    def _keeps_unchanged(sharer: Sharer, counter: Side) -> bool:
        if not sharer.part.writes:
            return True
        return sharer.exact is not None and are_apart(counter, sharer.exact)

    # -- locks -----------------------------------------------------------------------------------

    def takes_turns(self, one: Sharer, other: Sharer, common: Common) -> bool:
        """Return whether both accesses are in sections of one lock.

        The words of the lock must be equal wherever the two accesses meet.
        """
        sections = sections_of(self._module)
        for first in sections:
            if not self._is_within(one, first):
                continue
            for second in sections:
                if self._is_within(other, second) and self._one_word(first, second, common):
                    return True
        return False

    def _is_within(self, sharer: Sharer, section: Section) -> bool:
        """Return whether all threads of a program do an op while their program has the lock."""
        return (
            sharer.part.op.index in section.inside
            and self._releases.orders_all_threads(section.shuts)
            and self._releases.order(sharer.part.op, section.opens) is True
        )

    def _one_word(self, first: Section, second: Section, common: Common) -> bool:
        words = [self._word(section) for section in (first, second)]
        if words[0] is None or words[1] is None or words[0].storage is not words[1].storage:
            return False
        one, other = words[0].exact, words[1].exact
        if one is None or other is None or one.form != other.form:
            return False
        return common.determines_form(one.form)

    def _word(self, section: Section) -> Sharer | None:
        """Return the access that locks a section, if only sections' ends write the lock's words."""
        sections = sections_of(self._module)
        ends = {
            op.index for lock_section in sections for op in (lock_section.shuts, lock_section.opens)
        }
        shutting = [s for s in self._sharers if s.access.op is section.shuts]
        if len(shutting) != 1 or shutting[0].exact is None:
            return None
        for sharer in self._sharers:
            if sharer.storage not in (None, shutting[0].storage) or not sharer.part.writes:
                continue
            if sharer.access.op.index in ends:
                continue
            if sharer.exact is None or not are_apart(shutting[0].exact, sharer.exact):
                return None
        return shutting[0]


def _is_active_for(draw: Sharer, symbol: Symbol, user: Sharer) -> bool:
    """Return whether each lane that uses a number has drawn it: masked lanes get any number."""
    mask = draw.access.mask
    if mask.decided:
        return True
    lanes = [a.key for term in symbol.at for a in term.symbols("lane")]
    if lanes != list(range(len(lanes))):
        return False
    return set(mask.conjuncts()) <= set(user.access.active.conjuncts())


def _chosen_symbols(variable: Variable) -> list[Symbol]:
    """Return the symbols that a variable is, or is chosen from; empty for other variables."""
    if isinstance(variable, Symbol):
        return [variable]
    if not isinstance(variable, Choice):
        return []
    symbols = []
    for term in (variable.then, variable.otherwise):
        form = term.affine()
        if form is None or form[0] or list(form[1].values()) != [1]:
            return []
        chosen = _chosen_symbols(next(iter(form[1])))
        if not chosen:
            return []
        symbols += chosen
    return symbols


def _counts_up(addition: Op) -> bool:
    """Return whether an atomic adds a positive constant, so that its results rise."""
    step = constant_of(addition.operand("value"))
    return step is not None and step > 0
