"""Guards of stores: conditions under which an element of a row is stored."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kvtrace.addons.invariance.begins import stays_when_moved
from kvtrace.addons.invariance.coordinates import Axis, Output, is_number, is_placing
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.reads import division_facts, without_contents
from kvtrace.addons.invariance.simplifying import Simplifier
from kvtrace.symbolic.conditions import TRUE, AtLeast, Condition, at_least, in_order, less
from kvtrace.symbolic.functions import Minimum, Quotient, single
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term
from kvtrace.symbolic.trees.formulas import is_followed


def sizes_of_batch(active: Condition, axes: Sequence[Axis]) -> frozenset[Symbol]:
    """Return the scalars that bound a coordinate of the axes from above in a condition."""
    sizes: set[Symbol] = set()
    for conjunct in active.conjuncts():
        if not isinstance(conjunct, AtLeast):
            continue
        coefficients = conjunct.term.coefficients
        is_bounded = any(
            factor < 0 and axis.coordinate in monomial
            for axis in axes
            for monomial, factor in coefficients.items()
        )
        for monomial, factor in coefficients.items() if is_bounded else ():
            if factor > 0 and all(is_number(atom) for atom in monomial):
                sizes |= {atom for atom in monomial if isinstance(atom, Symbol)}
    return frozenset(sizes)


def is_on_row_length(part: Condition, rows: Sequence[Axis]) -> bool:
    """Return whether a condition uses the row only by its length, an end minus a begin."""
    coordinates = {axis.coordinate for axis in rows}
    return without_contents(part).isdisjoint(coordinates) and stays_when_moved(part)


def symbols_of_row(rows: Sequence[Axis], simplifier: Simplifier, access: Access) -> Set[Symbol]:
    """Return the symbols that identify the row: its coordinates, and its begins in memory."""
    entries = {axis.coordinate for axis in rows if axis.is_entry}
    begins = simplifier.term(access.offset).symbols("content") if entries else ()
    row_begins = {begin for begin in begins if not entries.isdisjoint(begin.within())}
    return row_begins | {axis.coordinate for axis in rows}


def says_row_exists(part: Condition, row_symbols: Set[Symbol]) -> bool:
    """Return whether a condition only bounds the row's number by a scalar, or from below by 0."""
    if not isinstance(part, AtLeast):
        return part is TRUE
    if len(parts := _without_minimum(part)) > 1:
        return all(says_row_exists(summand, row_symbols) for summand in parts)
    summands = part.term.coefficients.items()
    row_factors = [
        factor
        for monomial, factor in summands
        if any(_numbers_rows(atom, row_symbols) for atom in monomial)
    ]
    other_summands = Term(
        {
            monomial: factor
            for monomial, factor in summands
            if not any(_numbers_rows(atom, row_symbols) for atom in monomial)
        }
    )
    if not all(
        _is_independent_of_row(atom, row_symbols) for atom in without_contents(other_summands)
    ):
        return False
    if row_factors and all(number > 0 for number in row_factors):
        return other_summands.constant is not None and other_summands.constant >= 0
    return bool(row_factors) and all(number < 0 for number in row_factors)


def _is_independent_of_row(atom: Atom, row_symbols: Set[Symbol]) -> bool:
    """Return whether an atom is a scalar or grid extent, or a loaded integer of no row."""
    if not isinstance(atom, Symbol) or atom.kind in ("scalar", "programs"):
        return True
    return atom.kind == "content" and row_symbols.isdisjoint(atom.within())


def _numbers_rows(atom: Atom, row_symbols: Set[Symbol]) -> bool:
    """Return whether an atom is the number of a row or of a block of rows, at least 0."""
    if isinstance(atom, Quotient) and atom.arguments[1].constant is not None:
        inner = single(atom.arguments[0])
        return atom.arguments[1].low > 0 and inner is not None and _numbers_rows(inner, row_symbols)
    return atom in row_symbols


def guards_of(
    located: Condition,
    row_symbols: Set[Symbol],
    output: Output,
    simplifier: Simplifier,
    sizes: Set[Symbol],
    kernel: Kernel,
    rows: Sequence[Axis],
) -> list[Condition]:
    """Return the formulas that decide which elements of a row are stored.

    Program axes that are not in the store's address are taken as 0: program 0 is in every grid.
    """
    other_atoms = located.atoms() - output.access.offset.atoms()
    programs = (atom for atom in other_atoms if isinstance(atom, Symbol) and atom.kind == "program")
    first_programs = Substitution(dict.fromkeys(programs, ZERO))
    loop_ends = _tile_loop_ends(output, simplifier, sizes)
    parts = located.substitute(first_programs).conjuncts()
    ranges = simplifier.given.ranges
    divisions = (
        fact
        for part in parts
        for atom in in_order(part.atoms())
        if isinstance(atom, Quotient) and atom.arguments[1].constant is None
        for fact in division_facts(atom, ranges)
    )
    assumptions = Given((*output.facts, *divisions), ranges)
    return [
        part
        for conjunct in parts
        if is_followed(conjunct) and conjunct not in loop_ends
        for part in _without_minimum(conjunct)
        if (
            not says_row_exists(part, row_symbols)
            or _leaves_out_rows(part, rows, output, simplifier.active, kernel)
        )
        and not _is_before_end(part, output)
        and follows(part, assumptions) is None
    ]


def is_of_rows(part: Condition, rows: Sequence[Axis]) -> bool:
    """Return whether a condition is on the row's number and scalar arguments alone."""
    symbols = {atom for atom in part.atoms() if isinstance(atom, Symbol)}
    scalars = {atom for atom in symbols if atom.kind == "scalar" and isinstance(atom.key, int)}
    is_alone = len(rows) == 1 and rows[0].is_index and symbols - scalars == {rows[0].coordinate}
    return is_alone and bool(scalars)


def _leaves_out_rows(
    part: Condition, rows: Sequence[Axis], output: Output, active: Condition, kernel: Kernel
) -> bool:
    """Return whether a guard may leave out rows at a batch size that was not recorded.

    The guard must hold for every row below the number of rows: `4 * tile + 4 <= M` fails for rows
    of a last tile that is not full. Scalars that end an inner axis, and constants, do not count
    rows.
    """
    count = kernel.row_count(output.access.argument, rows)
    if len(rows) > 1 or rows[0].is_entry or count is None:
        return False
    row, ranges = rows[0].coordinate, kernel.bound.ranges
    atoms = without_contents(part)
    if any(isinstance(atom, Symbol) and atom.kind in ("content", "programs") for atom in atoms):
        return False
    scalars = [atom for atom in atoms if isinstance(atom, Symbol) and atom.kind == "scalar"]
    if not scalars:
        return (
            follows(part, Given((at_least(row.term), less(row.term, count + 1)), ranges))
            is not None
        )
    row_counts = [scalar for scalar in scalars if ranges.of(scalar) == (count, count)]
    if row_counts:
        rows_below = ((at_least(row.term), less(row.term, scalar.term)) for scalar in row_counts)
        return all(follows(part, Given(below, kernel.sizes)) is None for below in rows_below)
    return not sizes_of_batch(active, output.axes[1:]).isdisjoint(scalars)


def _without_minimum(part: Condition) -> list[Condition]:
    """Return the conjuncts of a condition: `min(a, b) >= c` is `a >= c` and `b >= c`."""
    if isinstance(part, AtLeast):
        for atom in (single(Term({m: 1})) for m, n in part.term.coefficients.items() if n == 1):
            if isinstance(atom, Minimum):
                other_summands = part.term - atom.term
                return [at_least(other_summands + argument) for argument in atom.arguments]
    return [part]


def _tile_loop_ends(output: Output, simplifier: Simplifier, sizes: Set[Symbol]) -> set[Condition]:
    """Return the conditions of loops over tiles that end where the batch ends.

    Formulas do not show rows that are left out there; recorded launches are compared instead.
    """
    address_atoms = output.access.offset.atoms()
    loop_conditions = [loop.running for loop in output.access.loops if loop.trip in address_atoms]
    parts = [
        part
        for running in loop_conditions
        for part in output.over_coordinates(simplifier.rewritten(running)).conjuncts()
    ]
    return {part for part in parts if any(map(is_placing, part.atoms())) and part.atoms() & sizes}


def _is_before_end(part: Condition, output: Output) -> bool:
    """Return whether a condition only says that an element is before an end of memory.

    An end is a scalar argument or a product of scalars; a quotient, as in M - M // 16, may be less
    than the end at another size.
    """
    if not isinstance(part, AtLeast):
        return False
    size = output.access.element_bytes
    flat_index = sum((axis.coordinate.term * (axis.step // size) for axis in output.axes), ZERO)
    return all(
        isinstance(atom, Symbol) and _is_independent_of_row(atom, frozenset())
        for atom in without_contents(part.term + flat_index)
    )
