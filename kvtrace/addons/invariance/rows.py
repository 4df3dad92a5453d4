"""Batch invariance of one kernel's stores: is a row's value a function of the row alone?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from kvtrace.addons.invariance.begins import stays_when_moved
from kvtrace.addons.invariance.coordinates import (
    Ambiguous,
    Axis,
    Output,
    Unfollowed,
    is_placing,
    with_leading_axes,
)
from kvtrace.addons.invariance.dependence import (
    ArgumentRead,
    Cause,
    DependenceCollector,
    Reason,
    RowDefinition,
    is_uniform,
    sizes_of_batch,
    without_contents,
)
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.digits import placing_symbols
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of, split_axis
from kvtrace.addons.invariance.simplifying import Simplifier
from kvtrace.addons.invariance.trees import Tree
from kvtrace.symbolic.conditions import TRUE, AtLeast, Condition, at_least, less
from kvtrace.symbolic.functions import Minimum, Quotient, Remainder, single
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.symbolic.prover import Ranges
    from kvtrace.symbolic.summary import Access

Outcome = Literal["proven", "violation", "depends", "whole", "unknown"]
"""
- proven: a row's value is a function of the row's data alone, in every batch.
- violation: the evaluator gives a row two values for the same data.
- depends: a row's tree differs between batches; no two values were found.
- whole: the output has one value for the whole batch, so no row has its own value.
- unknown: a formula, loop or address is not followed.
"""


@dataclass(frozen=True)
class RowVerdict:
    """The verdict on a store: is the stored value a function of its row alone?

    `row_axes` are the axes of the output that number the rows, outermost first: as many axes as the
    verdict holds for. `sizes` are the scalars that bound the number of rows, `scalars` those that
    the value depends on; for `selecting`, `assumed` and `shared` see `Dependence`. `unsplit_output`
    is the output with its axes as strides give them. `ambiguous`: the strides of this call do not
    tell the axes apart. `row_guards` are guards over the row's coordinate and scalars that may
    leave out rows. `update_axes` are the axes of the grid along which programs update the
    same elements, in any order; None: no such axes, or `reasons` say that they are not known.
    """

    access: Access
    argument: str
    verdict: Outcome
    output: Output | None = None
    tree: Tree | None = None
    row_axes: tuple[Axis, ...] = ()
    sizes: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    reads: tuple[ArgumentRead, ...] = ()
    scalars: tuple[str, ...] = ()
    selecting: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    unsplit_output: Output | None = None
    ambiguous: bool = False
    row_guards: tuple[Condition, ...] = ()
    update_axes: frozenset[int] | None = None

    @property
    def op(self) -> Op:
        """The op of the store or atomic update."""
        return self.access.op


def rows_of(kernel: Kernel) -> tuple[RowVerdict, ...]:
    """Return a verdict for each store of a kernel: is a row's value the same in every batch?

    Args:
        kernel: The kernel and a recorded call. Proofs hold for all sizes, except that reads of a
            row's own part are compared with the strides of this call.

    """
    stores = [access for access in kernel.summary.accesses if access.kind != "load"]
    verdicts = tuple(_verdict(access, kernel) for access in stores)
    unsteady = [
        verdict
        for verdict in verdicts
        if verdict.verdict != "proven" or not is_stored_in_any_batch(verdict, kernel)
    ]
    return tuple(with_write_reasons(verdict, unsteady, kernel) for verdict in verdicts)


def with_write_reasons(
    verdict: RowVerdict, unsteady: Sequence[RowVerdict], kernel: Kernel
) -> RowVerdict:
    """Return a verdict with a reason for each load of memory that the launch itself writes.

    By induction over a program's steps, memory that the program wrote is a function of the row's
    data if all stores to that memory are functions of the row alone and are executed in any batch.
    The rule `race` checks that no other program writes the same memory.

    Args:
        verdict: The verdict under the assumption that loads give the launch's initial memory.
        unsteady: Verdicts of stores that are not proven, or not made in any batch.
        kernel: The kernel.
    """
    if verdict.tree is None or verdict.verdict == "whole":
        return verdict
    write_reasons: dict[Reason, None] = {}
    for store in unsteady:
        name = kernel.name(store.access.argument)
        for load in read_after_write(verdict.tree, store.access, kernel):
            text = f"{name}, which the kernel writes, too"
            write_reasons[Reason("unknown", "data", text, load.op.index)] = None
        if store is not verdict and store.access.argument == verdict.access.argument:
            text = f"several stores to {name} may write the same element"
            write_reasons[Reason("unknown", "guard", text, store.op.index)] = None
    reasons = (*verdict.reasons, *write_reasons)
    return replace(verdict, reasons=reasons, verdict=_outcome(reasons))


def is_stored_in_any_batch(verdict: RowVerdict, kernel: Kernel) -> bool:
    """Return whether no guard of a row's elements depends on the batch."""
    assert verdict.output is not None
    rows = verdict.row_axes[:1]
    simplifier = Simplifier(verdict.output, kernel.sizes)
    row_symbols, active = _row_symbols(rows, simplifier, verdict.access), simplifier.active
    sizes = sizes_of_batch(active, rows)
    for condition in verdict.output.over_coordinates(active).conjuncts():
        symbols = {atom for atom in without_contents(condition) if isinstance(atom, Symbol)}
        batch_symbols = symbols & row_symbols or symbols & sizes
        is_placed = any(atom.kind == "programs" or is_placing(atom) for atom in symbols)
        if is_placed or (
            batch_symbols
            and not _says_row_exists(condition, row_symbols)
            and not _is_on_row_length(condition, rows)
        ):
            return False
    return True


def _is_on_row_length(part: Condition, rows: Sequence[Axis]) -> bool:
    """Return whether a condition uses the row only by its length, an end minus a begin."""
    coordinates = {axis.coordinate for axis in rows}
    return without_contents(part).isdisjoint(coordinates) and stays_when_moved(part)


def _row_symbols(rows: Sequence[Axis], simplifier: Simplifier, access: Access) -> Set[Symbol]:
    """Return the symbols that identify the row: its coordinates, and its begins in memory."""
    entries = {axis.coordinate for axis in rows if axis.is_entry}
    begins = simplifier.term(access.offset).symbols("content") if entries else ()
    row_begins = {begin for begin in begins if not entries.isdisjoint(begin.within())}
    return row_begins | {axis.coordinate for axis in rows}


def _says_row_exists(part: Condition, row_symbols: Set[Symbol]) -> bool:
    """Return whether a condition only bounds the row's number by a scalar, or from below by 0."""
    if not isinstance(part, AtLeast):
        return part is TRUE
    for atom in (
        single(Term({monomial: 1}))
        for monomial, factor in part.term.coefficients.items()
        if factor == 1
    ):
        if isinstance(atom, Minimum):
            other_summands = part.term - atom.term
            return all(
                _says_row_exists(at_least(other_summands + argument), row_symbols)
                for argument in atom.arguments
            )
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


def _verdict(access: Access, kernel: Kernel) -> RowVerdict:
    name = kernel.name(access.argument)
    try:
        output = coordinates_of(
            access, kernel.tensor(access.argument), kernel.bound.ranges, kernel.sizes
        )
        output = with_leading_axes(output, kernel.growing_steps(access.argument))
        tree = kernel.tree(access, output)
    except (Unfollowed, TooLarge) as error:
        failure = Reason("unknown", "address", str(error), access.op.index)
        ambiguous = isinstance(error, Ambiguous)
        return RowVerdict(access, name, "unknown", reasons=(failure,), ambiguous=ambiguous)
    if not output.axes:
        return RowVerdict(access, name, "whole", output, tree, unsplit_output=output)
    unsplit_output = output
    best = _verdict_for_rows(access, output, tree, kernel, 1)
    divisor = _divisor(tree, output.axes[0].coordinate, kernel)
    splits = divisor is not None and _has_whole_parts(divisor, access, output, kernel)
    if divisor is not None and splits and any(reason.cause == "row" for reason in best.reasons):
        output = split_axis(output, divisor, kernel.bound.ranges.interval(divisor)[1])
        tree = kernel.tree(access, output)
        best = _verdict_for_rows(access, output, tree, kernel, 1)
    for count in range(2, len(output.axes) + 1):
        if best.verdict != "proven":
            break
        finer = _verdict_for_rows(access, output, tree, kernel, count)
        if finer.verdict != "proven":
            break
        best = finer
    return replace(best, unsplit_output=unsplit_output)


def _divisor(tree: Tree, row: Symbol, kernel: Kernel) -> Term | None:
    """Return the largest divisor of the row's number, as in tokens // length, or None."""
    divisors: dict[Term, int] = {}
    for node in tree.walk():
        for formula in node.formulas():
            for atom in formula.atoms():
                if isinstance(atom, Quotient | Remainder) and atom.arguments[0] == row.term:
                    divisor = atom.arguments[1]
                    is_of_scalars = all(is_uniform(candidate) for candidate in divisor.atoms())
                    number = divisor.constant
                    if (number is None and is_of_scalars) or number in kernel.shapes:
                        divisors[divisor] = kernel.bound.ranges.interval(divisor)[1]
    return max(divisors, key=lambda candidate: divisors[candidate], default=None)


def _has_whole_parts(divisor: Term, access: Access, output: Output, kernel: Kernel) -> bool:
    """Return whether a divisor of the row's number may also divide the number of rows."""
    count = kernel.row_count(access.argument, output.axes[:1])
    lowest, highest = kernel.bound.ranges.interval(divisor)
    return count is None or lowest != highest or lowest <= 0 or count % lowest == 0


def _verdict_for_rows(
    access: Access, output: Output, tree: Tree, kernel: Kernel, count: int
) -> RowVerdict:
    """Return the verdict with the first `count` axes of the output as row axes."""
    assert access.argument is not None
    simplifier = Simplifier(output, kernel.sizes)
    rows = output.axes[:count]
    sizes = sizes_of_batch(simplifier.active, rows)
    update_axes = _update_axes(access, output, simplifier, kernel)
    batch = RowDefinition(
        rows, sizes, kernel.batched_arguments(rows, access.argument), kernel.strides,
        kernel.bound.ranges, _facts(simplifier, output),
        _coordinate_bounds(access, output.axes, kernel),
        frozenset(axis.coordinate for axis in output.axes), update_axes or frozenset(),
    )  # fmt: skip
    located = output.over_coordinates(simplifier.active)
    row_symbols = _row_symbols(rows, simplifier, access)
    guards = _guards(located, row_symbols, output, simplifier, sizes, kernel, rows)
    dependence = DependenceCollector(batch, kernel.summary).follow(
        tree, guards, simplifier.term(access.offset)
    )
    scalars = tuple(
        dict.fromkeys(
            (*dependence.scalars, *_choosing_scalars(access, located, row_symbols, kernel))
        )
    )
    reasons = (
        *dependence.reasons,
        *(_update_reasons(access) if update_axes is None else ()),
        *_row_count_reasons(scalars, dependence.guarding, access, rows, kernel),
    )
    return RowVerdict(
        access, kernel.name(access.argument), _outcome(reasons), output, tree, rows,
        tuple(sorted(map(kernel.scalar, sizes))), reasons, dependence.reads,
        tuple(sorted((*map(kernel.scalar, scalars), *dependence.floats))), dependence.selecting,
        tuple(sorted(dependence.assumed)), tuple(sorted(dependence.shared)),
        row_guards=tuple(guard for guard in guards if _is_of_rows(guard, rows)),
        update_axes=update_axes,
    )  # fmt: skip


def _guards(
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
    divisions = (fact for part in parts for fact in _divisions(part, ranges))
    assumptions = Given((*output.facts, *divisions), ranges)
    return [
        part
        for conjunct in parts
        if is_followed(conjunct) and conjunct not in loop_ends
        for part in _without_minimum(conjunct)
        if (
            not _says_row_exists(part, row_symbols)
            or _leaves_out_rows(part, rows, output, simplifier.active, kernel)
        )
        and not _is_before_end(part, output)
        and follows(part, assumptions) is None
    ]


def _divisions(part: Condition, ranges: Ranges) -> Iterator[Condition]:
    """Yield facts of division by scalars: remainders are from 0 to below the divisor."""
    for atom in part.atoms():
        if isinstance(atom, Quotient) and atom.arguments[1].constant is None:
            dividend, divisor = atom.arguments
            is_down = atom.floor or ranges.interval(dividend)[0] >= 0
            if is_down and ranges.interval(divisor)[0] > 0:
                remainder = dividend - atom.term * divisor
                yield at_least(remainder)
                yield less(remainder, divisor)


def _is_of_rows(part: Condition, rows: Sequence[Axis]) -> bool:
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


def _facts(simplifier: Simplifier, output: Output) -> tuple[Condition, ...]:
    """Return the conditions on an element's coordinates that hold if it is stored."""
    exact = simplifier.given.exact
    located = map(output.over_coordinates, exact)
    return tuple(dict.fromkeys((*exact, *located)))


def _coordinate_bounds(
    access: Access, axes: Sequence[Axis], kernel: Kernel
) -> tuple[Condition, ...]:
    """Return bounds of the output's coordinates: at least 0, and below the outer axis's next step.

    The coordinate of an axis outside of the rows ends where the tensor ends.
    """
    steps = [axis for axis in axes if not axis.is_entry and axis.step > 0]
    steps.sort(key=lambda axis: -axis.step)
    conditions = [
        less(inner.coordinate.term, -(-outer.step // inner.step))
        for outer, inner in itertools.pairwise(steps)
    ]
    conditions += [at_least(axis.coordinate.term) for axis in axes if axis.is_index]
    tensor = kernel.tensor(access.argument)
    if tensor is not None and steps and steps[0] is not axes[0]:
        first, last = tensor.view_bytes
        conditions.append(less(steps[0].coordinate.term, -(-(last - first) // steps[0].step)))
    return tuple(conditions)


def _choosing_scalars(
    access: Access, active: Condition, row_symbols: Set[Symbol], kernel: Kernel
) -> list[Symbol]:
    """Return the scalars that decide which of several stores writes an element of an output.

    Empty for a single store. Scalars in conditions that only say that the row exists are left out.
    """
    stores = [store for store in kernel.summary.accesses if store.kind != "load"]
    if sum(store.argument == access.argument for store in stores) < 2:
        return []
    return [
        atom
        for part in active.conjuncts()
        if not _says_row_exists(part, row_symbols)
        for atom in without_contents(part)
        if isinstance(atom, Symbol) and atom.kind == "scalar"
    ]


def _row_count_reasons(
    scalars: Sequence[Symbol],
    guarding: Set[Symbol],
    access: Access,
    rows: Sequence[Axis],
    kernel: Kernel,
) -> tuple[Reason, ...]:
    """Return a reason for each scalar in a value that equals the number of rows.

    If the scalar also equals an extent of a row, one call cannot show which of the two it is; a
    mask over an inner axis is assumed to end where the axis does.
    """
    count = kernel.row_count(access.argument, rows)
    inner = kernel.inner_extents(access.argument, rows)
    reasons = []
    for scalar in scalars:
        if count is not None and kernel.bound.ranges.of(scalar) == (count, count):
            if scalar in guarding and (count in inner or count == 1):
                continue
            name = kernel.scalar(scalar)
            text = f"{name}, which is the number of rows"
            if count in inner or count == 1:
                text = f"{name}, which may be the number of rows: record the kernel at another size"
            cause: Cause = "unknown" if count in inner or count == 1 else "size"
            reasons.append(Reason(cause, "data", text, access.op.index))
    return tuple(reasons)


def _outcome(reasons: Sequence[Reason]) -> Outcome:
    if any(reason.cause == "unknown" for reason in reasons):
        return "unknown"
    return "depends" if reasons else "proven"


def _update_axes(
    access: Access, output: Output, simplifier: Simplifier, kernel: Kernel
) -> frozenset[int] | None:
    """Return the axes of the grid along which programs update the same elements, each once.

    None if other programs or lanes may update these elements, or not all of these programs do.
    `determinism_of` judges whether the order of updates matters.
    """
    if access.kind != "atomic" or access.operator in FREE or access.loops:
        return None
    if not kernel.has_one_store(access.argument):
        return None
    symbols = placing_symbols(access.offset)
    lanes = sum(symbol.kind == "lane" for symbol in symbols)
    rows = output.axes[0]
    if rows.is_entry or not rows.is_index or lanes < sum(extent > 1 for extent in access.shape):
        return None
    if any(
        map(
            is_placing,
            (atom for symbol in symbols for atom in simplifier.term(symbol.term).atoms()),
        )
    ):
        return None
    if any(program not in symbols for program in access.active.symbols("program")):
        return None
    return frozenset(range(3)) - {symbol.key for symbol in symbols if symbol.kind == "program"}


def _update_reasons(access: Access) -> tuple[Reason, ...]:
    """Return a tuple of the reason why an atomic update may depend on other rows; else ()."""
    if access.kind != "atomic":
        return ()
    if access.operator in FREE:
        text = "an atomic sum of floats, in any order of the programs"
        return (Reason("update", "data", text, access.op.index),)
    text = f"an atomic {access.operator}, which may combine values of several programs"
    return (Reason("unknown", "data", text, access.op.index),)
