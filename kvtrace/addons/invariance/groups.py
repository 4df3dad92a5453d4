"""Loops whose carried values are being built as trees."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvtrace.addons.invariance.formulas import Coordinates
from kvtrace.addons.invariance.trees import level_of
from kvtrace.ir import Op
from kvtrace.symbolic.terms import Symbol


@dataclass(frozen=True, eq=False)
class LoopDefinitions:
    """The definitions of a loop's carried values, which grow while their trees are built.

    `numbers` maps a carried value's position and element indices to the definition's number;
    symbols bound inside the loop are numbered from `level` + 1 on. `pending` are definitions
    without trees.
    """

    loop: Op
    level: int
    trip: Symbol
    numbers: dict[tuple[int, Coordinates], int] = field(default_factory=dict)
    pending: list[tuple[int, Coordinates]] = field(default_factory=list)


def symbol_extents(definitions: LoopDefinitions) -> tuple[tuple[int, ...], ...]:
    """Return the extents of the symbols bound inside the loop, for each carried value."""
    return tuple(
        tuple(symbol.high + 1 for symbol in bound_inside(elements, definitions.level))
        for _, elements in definitions.numbers
    )


def bound_inside(at: Coordinates, level: int) -> list[Symbol]:
    """Return the symbols in indices that are bound inside the loop of a level, by level."""
    symbols = {atom for term in at for atom in term.atoms() if isinstance(atom, Symbol)}
    levels_and_symbols = [
        (symbol_level, symbol)
        for symbol in symbols
        if (symbol_level := level_of(symbol)) is not None
    ]
    return [
        symbol
        for symbol_level, symbol in sorted(levels_and_symbols, key=lambda pair: pair[0])
        if symbol_level > level
    ]
