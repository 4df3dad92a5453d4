"""Coordinates of an output's elements: the row and column that a lane of a program writes.

Formulas are rewritten over coordinates. Programs, trips and lanes that remain in a tree then show
that a value depends on more than the element's position. Quotients and remainders in addresses are
digits of indices that are sums of programs and lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import Condition, at_least, less
from kvtrace.symbolic.functions import (
    Quotient,
    Remainder,
    divided_by_unit,
    quotient,
    remainder,
    single,
)
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term

PLACING: Final = ("program", "trip", "lane")
"""Kinds of symbols that tell lanes of a launch apart."""

MOST: Final = (1 << 31) - 1
"""The largest index."""


class Unfollowed(KvtraceError):
    """The address of a store is not a formula over programs, trips and lanes."""

    slug = "unfollowed"


class Ambiguous(Unfollowed):
    """Two axes have the same byte step in the recorded call, so that they cannot be told apart."""

    slug = "ambiguous"


class Axis(Struct, frozen=True):
    """One axis of an output, which steps by `factor` bytes: a number or a formula of scalars.

    `step` is the value of `factor` in the recorded call, and `coordinate` represents the index
    along the axis. `is_entry`: the axis numbers the entries of a tensor of integers that say where
    items begin, such as `cu_seqlens`. `is_index`: the coordinate is the index in the tensor;
    otherwise a constant or the begin of an item is left out.
    """

    coordinate: Symbol
    factor: Term
    step: int
    is_entry: bool = False
    is_index: bool = False


class Output(Struct, frozen=True):
    """The elements of an output that a store writes.

    `axes` are ordered from the outermost on. `substitutions`, applied in order, replace programs,
    trips and lanes by coordinates; `blocks` then replace the remaining ones if coordinates
    determine them. `facts` are conditions on coordinates.
    """

    access: Access
    axes: tuple[Axis, ...]
    substitutions: tuple[Substitution, ...]
    blocks: tuple[Substitution, ...]
    facts: tuple[Condition, ...]

    def over_coordinates(self, condition: Condition) -> Condition:
        """Return a condition with programs and trips replaced by coordinates, by `blocks`."""
        for blocks in self.blocks:
            condition = condition.substitute(blocks)
        return condition


def coordinate(number: int, low: int = 0, high: int = MOST) -> Symbol:
    """Return the symbol for the index along an output's axis with this number."""
    return Symbol("lane", ("coordinate", number), low, high)


def number_of_coordinate(symbol: object) -> int | None:
    """Return the number of the axis that a coordinate belongs to; None for another symbol."""
    match symbol:
        case Symbol(kind="lane", key=("coordinate", int(number))):
            return number
    return None


def is_placing(atom: object) -> bool:
    """Return whether an atom is a program, trip or lane of a launch, and not a coordinate."""
    if not isinstance(atom, Symbol) or atom.kind not in PLACING:
        return False
    return atom.kind != "lane" or not isinstance(atom.key, tuple)


def is_number(atom: object) -> bool:
    """Return whether an atom is a scalar argument of the kernel."""
    return isinstance(atom, Symbol) and atom.kind == "scalar"


def is_uniform(atom: Atom) -> bool:
    """Return whether an atom is made of scalar arguments and the grid, so constant in a launch."""
    symbols = (symbol for symbol in (atom, *atom.within()) if isinstance(symbol, Symbol))
    return all(symbol.kind in ("scalar", "programs") for symbol in symbols)


def byte_strides(tensor: TensorArgument) -> list[int]:
    """Return the strides of a tensor's axes of several elements, in bytes, the largest first."""
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    strides = {stride for extent, stride in pairs if extent > 1 and stride > 0}
    return sorted((stride * tensor.element.bytes for stride in strides), reverse=True)


def with_leading_axes(output: Output, steps: Collection[int]) -> Output:
    """Return an output with the axes of the given byte steps before all others.

    The output is returned unchanged if its outermost axis has such a step or numbers entries, or no
    axis has such a step.
    """
    leading = [axis for axis in output.axes if axis.step in steps]
    if not leading or output.axes[0].step in steps or output.axes[0].is_entry:
        return output
    others = [axis for axis in output.axes if axis.step not in steps]
    return replace(output, axes=(*leading, *others))


def first_row_of(output: Output) -> Output:
    """Return an output restricted to its first row: the outermost coordinate is 0."""
    zero_row = Substitution({output.axes[0].coordinate: ZERO})
    return replace(
        output,
        axes=output.axes[1:],
        substitutions=(*output.substitutions, zero_row),
        blocks=(*output.blocks, zero_row),
        facts=tuple(fact.substitute(zero_row) for fact in output.facts),
    )


def divided_parts(
    index: Term, divisor: Term, quotient_coordinate: Symbol, remainder_coordinate: Symbol
) -> dict[Atom, Term]:
    """Return coordinates for an index's quotients and remainders, in both rounding modes."""
    parts: dict[Atom, Term] = {}
    for floor in (False, True):
        for term, coordinate in (
            (quotient(index, divisor, floor=floor), quotient_coordinate),
            (remainder(index, divisor, floor=floor), remainder_coordinate),
        ):
            atom = single(term)
            if atom is not None:
                parts[atom] = coordinate.term
    return parts


def divided_index(part: Quotient | Remainder) -> Term:
    """Return the dividend of a quotient or remainder, or of nested ones."""
    while isinstance(nested := single(part.arguments[0]), Quotient | Remainder):
        part = nested
    return part.arguments[0]


def division_step(division: Quotient | Remainder) -> int | None:
    """Return the distance of indices at which a quotient, or a remainder's dividend, changes.

    For nested divisions, the product of their divisors. None if a divisor is not a number.
    """
    step = 1
    atom: Atom | None = division
    while isinstance(atom, Quotient | Remainder):
        divisor = atom.arguments[1].constant
        if divisor is None or divisor < 1:
            return None
        if atom is division or isinstance(atom, Quotient):
            step *= divisor
        atom = single(atom.arguments[0])
    return step


def positions_by_factor(offset: Term) -> dict[Monomial, Term]:
    """Split an offset into positions by their factor, the part that no lane changes.

    Example: `s * (4 * program + lane) + 4 * lane` gives {s: 4 * program + lane, 1: 4 * lane}.
    """
    by_factor_of_lanes: dict[Monomial, dict[Monomial, int]] = {}
    grid = offset.symbols("programs")  # an extent is the step of a grid-stride loop
    for monomial, coefficient in offset.coefficients.items():
        has_trip = any(isinstance(atom, Symbol) and atom.kind == "trip" for atom in monomial)
        varying_atoms = tuple(
            atom for atom in monomial if placing_symbols(atom.term) or (has_trip and atom in grid)
        )
        factor = tuple(atom for atom in monomial if atom not in varying_atoms)
        if varying_atoms:
            by_factor = by_factor_of_lanes.setdefault(factor, {})
            by_factor[varying_atoms] = by_factor.get(varying_atoms, 0) + coefficient
    for (
        factor,
        summands,
    ) in by_factor_of_lanes.items():  # as `(rows - 1 - program) * stride`: an index, too
        if factor and all(coefficient < 0 for coefficient in summands.values()):
            summands |= _multiples(offset, factor)
        elif not factor:
            falling = {-coefficient for coefficient in summands.values() if coefficient < 0}
            constant_multiples = _multiples(offset, factor).items()
            summands |= {
                monomial_of_constant: n
                for monomial_of_constant, n in constant_multiples
                if monomial_of_constant and n in falling
            }
    constant = offset.coefficients.get((), 0)
    if constant and () in by_factor_of_lanes:
        by_factor_of_lanes[()][()] = constant
    return {factor: Term(summands) for factor, summands in by_factor_of_lanes.items()}


def _multiples(offset: Term, pure: Monomial) -> dict[Monomial, int]:
    """Return the summands that no lane changes and that have a factor, divided by the factor."""
    still = {
        monomial: number
        for monomial, number in offset.coefficients.items()
        if not any(placing_symbols(atom.term) for atom in monomial)
    }
    return divided_by_unit(Term(still), Term({pure: 1}))[0].coefficients


def placing_symbols(term: Term) -> frozenset[Symbol]:
    """Return the programs, trips and lanes in a term, without coordinates."""
    return frozenset(atom for atom in term.atoms() if isinstance(atom, Symbol) and is_placing(atom))


def solvable_symbol(position: Term, replaced: Iterable[Atom]) -> Symbol | None:
    """Return a symbol that a position has exactly once, as a summand with factor 1 or -1.

    Lanes are preferred to trips, and trips to programs. None: there is no such symbol.
    """
    excluded = frozenset(replaced)
    choices: list[Symbol] = []
    for monomial, number in position.coefficients.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if abs(number) != 1 or not isinstance(atom, Symbol):
            continue
        if not is_placing(atom) or atom in excluded:
            continue
        others = Term({other: n for other, n in position.coefficients.items() if other != monomial})
        if atom not in others.atoms():
            choices.append(atom)
    order = ("lane", "trip", "program")
    return min(choices, key=lambda atom: (order.index(atom.kind), atom.order), default=None)


def split_axis(output: Output, divisor: Term, length: int) -> Output:
    """Return an output whose outermost axis is split into its index's quotient and remainder.

    Args:
        output: The output, with at least one axis.
        divisor: A number of at least 1 that no lane changes, such as the length of a sequence.
        length: The divisor's value in the recorded call.
    """
    old, *inner_axes = output.axes
    quotient_coordinate = coordinate(100)
    remainder_coordinate = coordinate(101, 0, max(divisor.high - 1, 0))
    index = old.coordinate.term
    combined = quotient_coordinate.term * divisor + remainder_coordinate.term
    substitution = Substitution(
        {
            old.coordinate: combined,
            **divided_parts(index, divisor, quotient_coordinate, remainder_coordinate),
        }
    )
    bounds = (at_least(remainder_coordinate.term), less(remainder_coordinate.term, divisor))
    return Output(
        output.access,
        (
            Axis(
                quotient_coordinate, old.factor * divisor, old.step * length, is_index=old.is_index
            ),
            Axis(remainder_coordinate, old.factor, old.step, is_index=old.is_index),
            *inner_axes,
        ),
        (*output.substitutions, substitution),
        (*output.blocks, substitution),
        (*(fact.substitute(substitution) for fact in output.facts), *bounds),
    )


def last_axis(tensor: TensorArgument) -> int | None:
    """Return the contiguous axis: the last one, or another axis of a transposed tensor.

    -1 if no axis has several elements; None if no axis is contiguous.
    """
    if not tensor.shape:
        return -1
    if tensor.shape[-1] <= 1 or tensor.strides[-1] in (0, 1):
        return len(tensor.shape) - 1
    steps = zip(tensor.shape, tensor.strides, strict=True)
    return next((n for n, (extent, step) in enumerate(steps) if extent > 1 and step == 1), None)


def fixed_steps(tensor: TensorArgument) -> tuple[int, ...]:
    """Return the byte step of each axis under fixed strides; () for a tensor without axes."""
    if not tensor.shape:
        return ()
    size, last = tensor.element.bytes, last_axis(tensor)
    axes = reversed(range(len(tensor.shape) - 1))
    outer = [size << (_INNER + _OUTER * axis) for axis in axes]
    outer.insert(len(outer) if last is None else last, size)
    return tuple(outer)


_INNER: Final = 20
_OUTER: Final = 12
"""Bits of the index along a tensor's last axis, and along each other, where strides are fixed."""
