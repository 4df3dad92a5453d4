"""Readings of a number: formulas of sizes that give it in all recorded launches.

The family of readings is small and fixed: a size itself, its quotients rounded in any way, whole
blocks, and a minimum with the length of a buffer. A number that is the same in all launches may be
a constant, one more or less than a size, or a multiple of blocks. If two readings fit, nothing here
chooses between them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import add, mul, sub
from typing import TYPE_CHECKING, Any, Final

from kvtrace.ir.constants import constant_of
from kvtrace.ir.memo import once_per_module
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.functions import Applied, Quotient, Remainder, maximum, minimum, quotient
from kvtrace.symbolic.terms import Symbol, Term, as_term, program
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from kvtrace.ir import Module
    from kvtrace.symbolic.summary import Access

_MOST_BEYOND_WINDOW: Final = 9


@dataclass(frozen=True)
class Reading:
    """A formula of sizes by which a number may follow, and its text."""

    text: str
    term: Term


def family(size: Reading, divisors: Iterable[int], *, one_more: bool = False) -> Iterator[Reading]:
    """Yield a size, and its quotients rounded down and up, and with `one_more` down plus 1."""
    yield size
    for divisor in sorted(divisors):
        floor = quotient(size.term, divisor, floor=True)
        yield Reading(f"cdiv({size.text}, {divisor})", ceiling(size.term, divisor))
        yield Reading(f"{in_parentheses(size.text)} // {divisor}", floor)
        if one_more:
            yield Reading(f"{size.text} // {divisor} + 1", floor + 1)


def quotients(
    size: Reading, launches: Iterable[tuple[int, int]], divisors: Iterable[int]
) -> Iterator[Reading]:
    """Yield the quotients `(size + k) // divisor` that fit: the usual ones, and both ends of `k`.

    `launches` has the size and the quotient of each launch.
    """
    pairs = tuple(launches)
    for divisor in sorted(divisors):
        low = max(value * divisor - n for n, value in pairs)
        high = min(value * divisor + divisor - 1 - n for n, value in pairs)
        low, high = max(low, -divisor - _MOST_BEYOND_WINDOW), min(high, divisor)
        usual = (k for k in (divisor - 1, 0, divisor) if low <= k <= high)
        for k in dict.fromkeys((*usual, low, high) if low <= high else ()):
            yield Reading(
                _quotient_text(size.text, k, divisor), quotient(size.term + k, divisor, floor=True)
            )


def _quotient_text(size: str, k: int, divisor: int) -> str:
    if k == divisor - 1:
        return f"cdiv({size}, {divisor})"
    if k in (0, divisor):
        return f"{in_parentheses(size)} // {divisor}{' + 1' if k else ''}"
    return f"({size} {'+' if k > 0 else '-'} {abs(k)}) // {divisor}"


def shifted(size: Reading, offset: int) -> Reading:
    """Return the sum of a size with a constant."""
    return Reading(f"{size.text} {'+' if offset > 0 else '-'} {abs(offset)}", size.term + offset)


def padded(size: Reading, divisors: Iterable[int]) -> Iterator[Reading]:
    """Yield a size rounded up, and down, to multiples."""
    for divisor in sorted(divisors):
        floor = quotient(size.term, divisor, floor=True)
        rounded_up = ceiling(size.term, divisor) * divisor
        yield Reading(f"cdiv({size.text}, {divisor}) * {divisor}", rounded_up)
        yield Reading(f"{size.text} // {divisor} * {divisor}", floor * divisor)


def ceiling(term: Term, divisor: Term | int) -> Term:
    """Return a term divided by a number, rounded up."""
    return quotient(term + divisor - 1, divisor, floor=True)


def multiple(reading: Reading, factor: int) -> Reading:
    """Return a reading times a constant."""
    return Reading(f"{factor} * {in_parentheses(reading.text)}", reading.term * factor)


def limited(reading: Reading, most: int) -> Reading:
    """Return a reading that is at most a constant, as a persistent kernel's grid."""
    return Reading(f"min({reading.text}, {most})", minimum(reading.term, most))


def product(left: Reading, right: Reading) -> Reading:
    """Return the reading of a number that is the product of two others' readings."""
    texts = in_parentheses(left.text), in_parentheses(right.text)
    return Reading(" * ".join(texts), left.term * right.term)


def in_parentheses(text: str) -> str:
    """Return the text of a factor, in parentheses if an operator of another kind is in it."""
    return f"({text})" if " // " in text or " + " in text or " - " in text else text


def is_quotient(reading: Reading) -> bool:
    """Return whether a quotient is in a reading, as in a number of blocks."""
    return any(isinstance(atom, Quotient) for atom in reading.term.atoms())


# -- comparison of readings ------------------------------------------------------------------------


def difference(left: Term, right: Term) -> int | None:
    """Return the smallest sampled size at which two readings of one size differ, else None."""
    return _first(left, right, lambda one, other: one != other)


def smaller(left: Term, right: Term) -> Term:
    """Return the smaller of two readings of one size."""
    if _first(left, right, lambda one, other: one > other) is None:
        return left
    if _first(left, right, lambda one, other: one < other) is None:
        return right
    return minimum(left, right)


def larger(left: Term, right: Term) -> Term:
    """Return the larger of two readings of one size."""
    chosen = smaller(left, right)
    if chosen is left:
        return right
    return left if chosen is right else maximum(left, right)


def _first(left: Term, right: Term, differs: Callable[[int, int], bool]) -> int | None:
    if left == right:
        return None
    sizes = [a for a in left.atoms() | right.atoms() if isinstance(a, Symbol)]
    if len(sizes) != 1:
        assignment = dict.fromkeys(sizes, 0)
        return 0 if not sizes and differs(left.value(assignment), right.value(assignment)) else None
    (size,) = sizes
    for value in _samples(left, right):
        if size.low <= value <= size.high:
            assignment = {size: value}
            if differs(left.value(assignment), right.value(assignment)):
                return value
    return None


def _samples(*terms: Term) -> list[int]:
    """Return sizes around all multiples of constants, where quotients and minimums change."""
    constants = {abs(n) for term in terms for n in term.coefficients.values()}
    for atom in (a for term in terms for a in term.atoms() if isinstance(a, Applied)):
        for argument in atom.arguments:
            constants |= {abs(number) for number in argument.coefficients.values()}
    steps = {*constants, *(c * d for c in constants for d in constants)} - {0}
    near = {step * count + by for step in steps for count in range(1, 5) for by in (-1, 0, 1)}
    values = {*range(150), *near, *(1 << bit for bit in range(8, 40, 4))}
    return sorted({*values, *(-value for value in values)}, key=lambda v: (v < 0, abs(v)))


# -- constants of a kernel -------------------------------------------------------------------------


@once_per_module
def divisors_of(module: Module) -> frozenset[int]:
    """Return the constants by which a kernel's launch may divide a size: blocks and divisors."""
    summary = summarize(module)
    atoms = frozenset().union(*(a.offset.atoms() | a.active.atoms() for a in summary.accesses))
    by_atoms = (a.arguments[1].constant for a in atoms if isinstance(a, Quotient | Remainder))
    by_programs = (factor for axis in range(3) for factor in factors_of_program(module, axis))
    all_constants = (*by_atoms, *block_extents(module), *by_programs, 2, 3, 4)
    return frozenset(number for number in all_constants if number is not None and number > 1)


@once_per_module
def fixed_numbers(module: Module) -> frozenset[int]:
    """Return the extents of a kernel's blocks, and its integer constants."""
    extents = (size for access in summarize(module).accesses for size in access.shape)
    constants = (constant_of(op.results[0]) for op in module.ops if op.results)
    return frozenset((*extents, *(number for number in constants if isinstance(number, int))))


@once_per_module
def block_extents(module: Module) -> frozenset[int]:
    """Return the extents above 1 of a kernel's blocks."""
    accesses = summarize(module).accesses
    return frozenset(size for access in accesses for size in access.shape if size > 1)


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
def uses_grid(module: Module) -> bool:
    """Return whether an access depends on the grid's extent, as in a persistent kernel."""
    return any(symbol.kind == "programs" for _, symbol in symbols_by_access(module))


@once_per_module
def ties_of(module: Module) -> frozenset[tuple[Any, int]]:
    """Return (symbol's kind and key, tensor argument): what decides where a tensor is accessed."""
    return frozenset(
        ((symbol.kind, symbol.key), access.argument)
        for access, symbol in symbols_by_access(module)
        if access.argument is not None and symbol.kind in ("scalar", "program")
    )


def buffers_of(module: Module, axis: int) -> frozenset[int]:
    """Return the tensor arguments of which each program of an axis has its own element."""
    return frozenset(
        access.argument
        for access in summarize(module).accesses
        if access.argument is not None and access.offset.atoms() == program(axis).atoms()
    )


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
