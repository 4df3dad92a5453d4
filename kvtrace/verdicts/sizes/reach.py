"""Conditions for stores to reach every element that their masks admit: `columns <= 128`.

A mask `index < n` admits `n` indices; the last index is reached only if the grid and its blocks
extend that far. Otherwise part of the result is never written. The condition is necessary, not
sufficient: it is about the largest index alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvtrace.symbolic.conditions import AtLeast, Condition, at_least
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.verdicts.sizes.certificate import Certifier
from kvtrace.verdicts.sizes.upper_bounds import Elimination, varies


def reach(masks: Iterable[Condition], running: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the condition that the largest index reaches the limit, per comparison in a mask.

    Args:
        masks: the conditions under which a store's lanes are active.
        running: the conditions under which the loops around the store run.

    """
    running = tuple(running)
    facts = [condition.term for condition in running if isinstance(condition, AtLeast)]
    for mask in masks:
        if not isinstance(mask, AtLeast) or mask in running:
            continue
        index = _index(mask.term)
        if index is None:
            continue
        last = mask.term + index
        bounds = Elimination(facts).bounds(index)
        certifier = Certifier(running)
        if len(bounds) == 1 and bounds[0].scale == 1 and certifier.certifies(index, bounds[0]):
            condition = at_least(bounds[0].limit - last)
            if follows(condition, Given((), Ranges({}))) is None:
                yield condition


def _index(term: Term) -> Term | None:
    """Return the index of a mask `last - index >= 0`, None if the mask has another form."""
    varying = {
        monomial: -coefficient
        for monomial, coefficient in term.coefficients.items()
        if any(map(varies, monomial))
    }
    atoms = {atom for monomial in varying for atom in monomial}
    if not varying or min(varying.values()) < 0:
        return None
    if not all(isinstance(a, Symbol) and a.kind not in ("content", "unknown") for a in atoms):
        return None
    return Term(varying)
