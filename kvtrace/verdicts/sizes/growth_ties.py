"""Ties of a kernel's formulas: which scalars and axes of the grid decide accesses to a tensor."""

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
"""("scalar", argument) or ("grid", axis), and the tensor argument that is accessed by it."""


_NUMBERS: Final[Mapping[str, Callable[[int], tuple[str, int]]]] = {
    "scalar": lambda key: ("scalar", key),
    "program": lambda key: ("grid", key),
}


@once_per_module
def ties_of(module: Module) -> frozenset[Tie]:
    """Return the scalars and axes of the grid that decide where, or whether, a tensor is accessed.

    Divisors, and numbers that only decide where an index is loaded from, do not count; moduli do,
    as they bound the index.
    """
    return frozenset(
        (_NUMBERS[symbol.kind](symbol.key), access.argument)
        for access in summarize(module).accesses
        if access.argument is not None
        for symbol in (*_of_term(access.offset), *_of_condition(access.active))
        if symbol.kind in _NUMBERS and isinstance(symbol.key, int)
    )


@once_per_module
def constant_moduli(module: Module) -> frozenset[tuple[int, int]]:
    """Return (argument, modulus) of accesses by a remainder of a constant: `i % 8`."""
    return frozenset(
        (access.argument, atom.arguments[1].constant)
        for access in summarize(module).accesses
        if access.argument is not None
        for atom in access.offset.atoms()
        if isinstance(atom, Remainder) and atom.arguments[1].constant is not None
    )


@once_per_module
def quotients_in(module: Module) -> frozenset[tuple[int, Quotient]]:
    """Return (argument, quotient) of accesses by a quotient of scalars: `n // 2`."""
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
    """Return (number, scalar argument) of numbers that an access's condition has together."""
    return frozenset(
        (_NUMBERS[one.kind](one.key), other.key)
        for access in summarize(module).accesses
        for condition in access.active.conjuncts()
        for symbols in (tuple(_of_condition(condition)),)
        for one in symbols
        if one.kind in _NUMBERS and isinstance(one.key, int)
        for other in symbols
        if other.kind == "scalar" and isinstance(other.key, int) and other is not one
    )


@once_per_module
def limits_of(module: Module) -> frozenset[int]:
    """Return the scalar arguments that decide whether memory is accessed."""
    return frozenset(
        symbol.key
        for access in summarize(module).accesses
        for symbol in _of_condition(access.active)
        if symbol.kind == "scalar" and isinstance(symbol.key, int)
    )


@once_per_module
def fixed_numbers(module: Module) -> frozenset[int]:
    """Return the extents of a kernel's blocks, and its integer constants."""
    extents = (size for access in summarize(module).accesses for size in access.shape)
    constants = (constant_of(op.results[0]) for op in module.ops if op.results)
    return frozenset((*extents, *(number for number in constants if isinstance(number, int))))


def size_by_grid(term: Term) -> tuple[int, int, int] | None:
    """Return (argument, axis, block) of a condition `block * grid - argument >= 0`."""
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
    """Return the constants that the program index of an axis is multiplied by."""
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
    """Return the constants, above 1, that an address or a mask divides by."""
    divisors = (
        atom.arguments[1].constant
        for access in summarize(module).accesses
        for atom in access.offset.atoms() | access.active.atoms()
        if isinstance(atom, Quotient | Remainder)
    )
    return frozenset(by for by in divisors if by is not None and by > 1)


def block_extents(module: Module) -> tuple[int, ...]:
    """Return the extents of a kernel's blocks."""
    accesses = summarize(module).accesses
    return tuple(sorted({size for access in accesses for size in access.shape if size > 1}))


def _of_term(term: Term) -> Iterator[Symbol]:
    for monomial in term.coefficients:
        for atom in monomial:
            yield from _of_atom(atom)


def _of_atom(atom: Atom) -> Iterator[Symbol]:
    if isinstance(atom, Symbol):
        yield atom
    elif isinstance(atom, Quotient):
        yield from _of_term(atom.arguments[0])
    elif isinstance(atom, Choice):
        yield from _of_condition(atom.condition)
        yield from (*_of_term(atom.then), *_of_term(atom.otherwise))
    elif isinstance(atom, Applied):
        for argument in atom.arguments:
            yield from _of_term(argument)


def _of_condition(condition: Condition) -> Iterator[Symbol]:
    if isinstance(condition, AtLeast | Equal):
        yield from _of_term(condition.term)
    elif isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _of_condition(part)
    elif isinstance(condition, Not):
        yield from _of_condition(condition.inner)
