"""Ties of a kernel's formulas: the scalars and grid axes that affect accesses to each tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kvtrace.ir.constants import constant_of
from kvtrace.ir.memo import once_per_module
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or
from kvtrace.symbolic.functions import Applied, Choice, Quotient, Remainder
from kvtrace.symbolic.terms import Atom, Symbol, Term
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from kvtrace.ir import Module

Tie = tuple[tuple[str, int], int]
"""("scalar", position) or ("grid", axis), and the position of the tensor that it accesses."""


_NUMBERS: Final[Mapping[str, Callable[[int], tuple[str, int]]]] = {
    "scalar": lambda key: ("scalar", key),
    "program": lambda key: ("grid", key),
}


@once_per_module
def ties_of(module: Module) -> frozenset[Tie]:
    """Return the scalars and grid axes that affect where, or whether, a tensor is accessed.

    Divisors, and numbers that only affect where an index is loaded from, are left out; moduli are
    not, as they bound the index.
    """
    return frozenset(
        (_NUMBERS[symbol.kind](symbol.key), access.argument)
        for access in summarize(module).accesses
        if access.argument is not None
        for symbol in (*_symbols_in_term(access.offset), *_symbols_in_condition(access.active))
        if symbol.kind in _NUMBERS and isinstance(symbol.key, int)
    )


@once_per_module
def constant_moduli(module: Module) -> frozenset[tuple[int, int]]:
    """Return (argument, modulus) of accesses whose address has a remainder such as `i % 8`."""
    return frozenset(
        (access.argument, atom.arguments[1].constant)
        for access in summarize(module).accesses
        if access.argument is not None
        for atom in access.offset.atoms()
        if isinstance(atom, Remainder) and atom.arguments[1].constant is not None
    )


@once_per_module
def quotients_in(module: Module) -> frozenset[tuple[int, Quotient]]:
    """Return (argument, quotient) of accesses by a quotient of scalars such as `n // 2`."""
    return frozenset(
        (access.argument, atom)
        for access in summarize(module).accesses
        if access.argument is not None
        for atom in access.offset.atoms() | access.active.atoms()
        if isinstance(atom, Quotient)
        if all(
            isinstance(part, Quotient)
            or (isinstance(part, Symbol) and part.kind == "scalar" and isinstance(part.key, int))
            for part in atom.within()
        )
    )


@once_per_module
def compared_in(module: Module) -> frozenset[tuple[tuple[str, int], int]]:
    """Return (number, scalar argument) for numbers that occur in one condition of an access."""
    return frozenset(
        (_NUMBERS[left.kind](left.key), right.key)
        for access in summarize(module).accesses
        for condition in access.active.conjuncts()
        for symbols in (tuple(_symbols_in_condition(condition)),)
        for left in symbols
        if left.kind in _NUMBERS and isinstance(left.key, int)
        for right in symbols
        if right.kind == "scalar" and isinstance(right.key, int) and right is not left
    )


@once_per_module
def limits_of(module: Module) -> frozenset[int]:
    """Return the scalar arguments that affect whether memory is accessed."""
    return frozenset(
        symbol.key
        for access in summarize(module).accesses
        for symbol in _symbols_in_condition(access.active)
        if symbol.kind == "scalar" and isinstance(symbol.key, int)
    )


@once_per_module
def fixed_numbers(module: Module) -> frozenset[int]:
    """Return the extents of a kernel's blocks, and its integer constants."""
    extents = (size for access in summarize(module).accesses for size in access.shape)
    constants = (constant_of(op.results[0]) for op in module.ops if op.results)
    return frozenset((*extents, *(number for number in constants if isinstance(number, int))))


def size_by_grid(term: Term) -> tuple[int, int, int] | None:
    """Return (argument, axis, block) of a condition `block * grid >= argument`, else None."""
    grid = scalar = None
    for monomial, factor in term.coefficients.items():
        if len(monomial) != 1 or not isinstance(monomial[0], Symbol):
            return None
        symbol = monomial[0]
        if symbol.kind == "programs" and factor > 0 and grid is None:
            grid = (symbol.key, factor)
        elif symbol.kind == "scalar" and factor == -1 and isinstance(symbol.key, int):
            scalar = symbol.key
        else:
            return None
    if grid is None or scalar is None or not isinstance(grid[0], int):
        return None
    return scalar, grid[0], grid[1]


def factors_of_program(module: Module, axis: int) -> frozenset[int]:
    """Return the constants above 1 by which the program id of an axis is multiplied."""
    factors = set()
    for arithmetic in summarize(module).arithmetic:
        for monomial, factor in arithmetic.result.coefficients.items():
            if len(monomial) == 1 and isinstance(monomial[0], Symbol):
                symbol = monomial[0]
                if symbol.kind == "program" and symbol.key == axis and factor > 1:
                    factors.add(factor)
    return frozenset(factors)


@once_per_module
def divisors_of(module: Module) -> frozenset[int]:
    """Return the constants above 1 by which an address or a mask divides."""
    divisors = (
        atom.arguments[1].constant
        for access in summarize(module).accesses
        for atom in access.offset.atoms() | access.active.atoms()
        if isinstance(atom, Quotient | Remainder)
    )
    return frozenset(divisor for divisor in divisors if divisor is not None and divisor > 1)


def block_extents(module: Module) -> tuple[int, ...]:
    """Return the sorted extents above 1 of a kernel's blocks."""
    accesses = summarize(module).accesses
    return tuple(sorted({size for access in accesses for size in access.shape if size > 1}))


def _symbols_in_term(term: Term) -> Iterator[Symbol]:
    for monomial in term.coefficients:
        for atom in monomial:
            yield from _symbols_in_atom(atom)


def _symbols_in_atom(atom: Atom) -> Iterator[Symbol]:
    if isinstance(atom, Symbol):
        yield atom
    elif isinstance(atom, Quotient):
        yield from _symbols_in_term(atom.arguments[0])
    elif isinstance(atom, Choice):
        yield from _symbols_in_condition(atom.condition)
        yield from (*_symbols_in_term(atom.then), *_symbols_in_term(atom.otherwise))
    elif isinstance(atom, Applied):
        for argument in atom.arguments:
            yield from _symbols_in_term(argument)


def _symbols_in_condition(condition: Condition) -> Iterator[Symbol]:
    if isinstance(condition, AtLeast | Equal):
        yield from _symbols_in_term(condition.term)
    elif isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _symbols_in_condition(part)
    elif isinstance(condition, Not):
        yield from _symbols_in_condition(condition.inner)
