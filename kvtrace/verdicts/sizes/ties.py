"""Ties: formulas by which numbers of a launch follow from others, and constants of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import add, mul, sub
from typing import Final

from msgspec import Struct

from kvtrace.ir import Module
from kvtrace.ir.flow import constant_of
from kvtrace.ir.model import once_per_module
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.functions import Quotient, Remainder, maximum, minimum, quotient
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.symbolic.walk import summarize


class Formula(Struct, frozen=True):
    """The term by which a number follows from others, and its text."""

    text: str
    term: Term


# -- constants of a kernel -------------------------------------------------------------------------


@once_per_module
def divisors_of(module: Module) -> frozenset[int]:
    """Return the constants by which a kernel's launch may divide a size: blocks and divisors."""
    accesses = summarize(module).accesses
    atoms = frozenset().union(*(a.offset.atoms() | a.active.atoms() for a in accesses))
    by_atoms = (a.arguments[1].constant for a in atoms if isinstance(a, Quotient | Remainder))
    by_programs = (factor for axis in range(3) for factor in factors_of_program(module, axis))
    extents = (size for access in accesses for size in access.shape)
    all_constants = (*by_atoms, *extents, *by_programs, 2, 3, 4)
    return frozenset(number for number in all_constants if number is not None and number > 1)


@once_per_module
def fixed_numbers(module: Module) -> frozenset[int]:
    """Return the extents of a kernel's blocks, and its integer constants."""
    extents = (size for access in summarize(module).accesses for size in access.shape)
    constants = (constant_of(op.results[0]) for op in module.ops if op.results)
    return frozenset((*extents, *(number for number in constants if isinstance(number, int))))


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


def symbols_by_access(module: Module) -> Iterator[tuple[Access, Symbol]]:
    """Yield each access with each symbol of its address and mask."""
    for access in summarize(module).accesses:
        atoms = access.offset.atoms() | access.active.atoms()
        yield from ((access, atom) for atom in atoms if isinstance(atom, Symbol))


@once_per_module
def limits_of(module: Module) -> frozenset[int]:
    """Return the scalar arguments that affect whether memory is accessed."""
    atoms = frozenset().union(*(a.active.atoms() for a in summarize(module).accesses))
    symbols = (atom for atom in atoms if isinstance(atom, Symbol) and atom.kind == "scalar")
    return frozenset(symbol.key for symbol in symbols if isinstance(symbol.key, int))


# -- expressions that a user writes ----------------------------------------------------------------


class BadTie(KvtraceError):
    """The error of a tie that cannot be read, or that fits no kernel."""

    slug = "bad-tie"


def parts_of_tie(text: str) -> tuple[str, str, ast.expr]:
    """Return a tie's number, its expression, and the expression's tree.

    Raises:
        BadTie: the text is no tie.

    """
    name, equals, expression = (part.strip() for part in text.partition("="))
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not equals or not name:
        raise BadTie(f"{text!r} is not a tie such as part.shape[0] = n // 32.")
    return name, expression, tree


def ceiling(term: Term, divisor: Term | int) -> Term:
    """Return a term divided by a number, rounded up."""
    return quotient(term + divisor - 1, divisor, floor=True)


_OPERATIONS: Final[Mapping[str | type[ast.operator], Callable[[Term, Term], Term]]] = {
    "min": minimum, "max": maximum, "cdiv": ceiling, ast.FloorDiv: partial(quotient, floor=True),
    ast.Add: add, ast.Sub: sub, ast.Mult: mul,
}  # fmt: skip


def term_of(node: ast.expr, term_of_name: Callable[[str], Term | None]) -> Term | None:
    """Return an expression as a term, None if it has an unknown name or operator."""
    match node:
        case ast.Constant():
            return as_term(node.value) if type(node.value) is int else None
        case ast.UnaryOp(ast.USub()):
            inner = term_of(node.operand, term_of_name)
            return None if inner is None else -inner
        case ast.BinOp():
            operation, operands = _OPERATIONS.get(type(node.op)), [node.left, node.right]
        case ast.Call(ast.Name(name), keywords=[]):
            operation, operands = _OPERATIONS.get(name), node.args
        case _:
            return term_of_name(ast.unparse(node))
    terms = [term_of(operand, term_of_name) for operand in operands]
    if operation is None or len(terms) != 2 or terms[0] is None or terms[1] is None:
        return None
    left, right = terms[0], terms[1]
    is_division = operation in (_OPERATIONS["cdiv"], _OPERATIONS[ast.FloorDiv])
    return None if is_division and right.constant == 0 else operation(left, right)
