"""Loops whose carried values are being built as trees."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvtrace.addons.invariance.formulas import Coordinates
from kvtrace.addons.invariance.trees import level_of
from kvtrace.ir import Op
from kvtrace.symbolic.terms import Symbol


@dataclass(frozen=True, eq=False)
class Group:
    """A loop whose carried values are being built: `definitions` grows while they are.

    `numbers` has the number of each definition by the carried value and its elements, in which
    symbols bound inside the loop are numbered from `level` + 1 on.
    """

    loop: Op
    level: int
    trip: Symbol
    numbers: dict[tuple[int, Coordinates], int] = field(default_factory=dict)
    waiting: list[tuple[int, Coordinates]] = field(default_factory=list)


def extents_of(group: Group) -> tuple[tuple[int, ...], ...]:
    """Return, for each value that a loop carries, how many elements its symbols range over."""
    return tuple(
        tuple(symbol.high + 1 for symbol in bound_inside(elements, group.level))
        for _, elements in group.numbers
    )


def bound_inside(at: Coordinates, level: int) -> list[Symbol]:
    """Return the symbols of coordinates that are bound inside a loop, in order of their levels."""
    symbols = {atom for term in at for atom in term.atoms() if isinstance(atom, Symbol)}
    found = [(each, symbol) for symbol in symbols if (each := level_of(symbol)) is not None]
    return [symbol for each, symbol in sorted(found, key=lambda pair: pair[0]) if each > level]
