"""Batch invariance of one kernel's stores: is a row's value a function of the row alone?"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from kvtrace.addons.invariance.coordinates import (
    Ambiguous,
    Axis,
    Output,
    Unfollowed,
    is_placing,
    is_uniform,
    placing_symbols,
    split_axis,
    with_leading_axes,
)
from kvtrace.addons.invariance.dependence import DependenceCollector, RowDefinition
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.guards import (
    guards_of,
    is_of_rows,
    is_on_row_length,
    says_row_exists,
    sizes_of_batch,
    symbols_of_row,
)
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.output_results import Cause, Reason, RowDependence, SourceLine
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.reads import without_contents
from kvtrace.addons.invariance.simplifying import Simplifier
from kvtrace.ir import Op
from kvtrace.symbolic.conditions import Condition, at_least, in_order, less
from kvtrace.symbolic.functions import Quotient, Remainder
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.symbolic.trees.elements import TooLarge
from kvtrace.symbolic.trees.tree import Tree

Outcome = Literal["proven", "violation", "depends", "whole", "unknown"]
"""
- proven: a row's value is a function of the row's data alone, in every batch.
- violation: the evaluator gives a row two values for the same data.
- depends: a row's tree differs between batches; no two values were found.
- whole: the output has one value for the whole batch, so no row has its own value.
- unknown: a formula, loop or address is not followed.
"""


@dataclass
class RowVerdict(RowDependence):
    """The verdict on a store: is the stored value a function of its row alone?

    `row_axes` are the axes of the output that number the rows, outermost first: as many axes as the
    verdict holds for. `unsplit_output` is the output with its axes as strides give them.
    `ambiguous`: the strides of this call do not tell the axes apart. `row_guards` are guards over
    the row's coordinate and scalars that may leave out rows. `update_axes` are the axes of the grid
    along which programs update the same elements, in any order; None: no such axes, or `reasons`
    say that they are not known.
    """

    access: Access
    argument: str
    verdict: Outcome
    output: Output | None = None
    tree: Tree | None = None
    row_axes: tuple[Axis, ...] = ()
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
            write_reasons[Reason("unknown", "data", text, SourceLine.of(load.op))] = None
        if store is not verdict and store.access.argument == verdict.access.argument:
            text = f"several stores to {name} may write the same element"
            write_reasons[Reason("unknown", "guard", text, SourceLine.of(store.op))] = None
    reasons = (*verdict.reasons, *write_reasons)
    return replace(verdict, reasons=reasons, verdict=_outcome(reasons))


def is_stored_in_any_batch(verdict: RowVerdict, kernel: Kernel) -> bool:
    """Return whether no guard of a row's elements depends on the batch."""
    assert verdict.output is not None
    rows = verdict.row_axes[:1]
    simplifier = Simplifier(verdict.output, kernel.sizes)
    row_symbols, active = symbols_of_row(rows, simplifier, verdict.access), simplifier.active
    sizes = sizes_of_batch(active, rows)
    for condition in verdict.output.over_coordinates(active).conjuncts():
        symbols = {atom for atom in without_contents(condition) if isinstance(atom, Symbol)}
        batch_symbols = symbols & row_symbols or symbols & sizes
        is_placed = any(atom.kind == "programs" or is_placing(atom) for atom in symbols)
        if is_placed or (
            batch_symbols
            and not says_row_exists(condition, row_symbols)
            and not is_on_row_length(condition, rows)
        ):
            return False
    return True


def _verdict(access: Access, kernel: Kernel) -> RowVerdict:
    name = kernel.name(access.argument)
    try:
        output = coordinates_of(
            access, kernel.call.tensor_at(access.argument), kernel.bound.ranges, kernel.sizes
        )
        output = with_leading_axes(output, kernel.growing_steps(access.argument))
        tree = kernel.tree(access, output)
    except (Unfollowed, TooLarge) as error:
        failure = Reason("unknown", "address", str(error), SourceLine.of(access.op))
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
            for atom in in_order(formula.atoms()):
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
        rows, sizes, kernel.batched_arguments(rows, access.argument),
        kernel.fixed_arguments(rows, access.argument), kernel.repeated_indices,
        kernel.strides, kernel.bound.ranges, _facts(simplifier, output),
        _coordinate_bounds(access, output.axes, kernel),
        frozenset(axis.coordinate for axis in output.axes), update_axes or frozenset(),
    )  # fmt: skip
    located = output.over_coordinates(simplifier.active)
    row_symbols = symbols_of_row(rows, simplifier, access)
    guards = guards_of(located, row_symbols, output, simplifier, sizes, kernel, rows)
    collector = DependenceCollector(batch, kernel.summary, access.op)
    dependence = collector.follow(tree, guards, simplifier.term(access.offset))
    choosing = _choosing_scalars(access, located, row_symbols, kernel)
    scalars = dict.fromkeys((*collector.scalars, *choosing))
    dependence.reasons += (
        *(_update_reasons(access) if update_axes is None else ()),
        *_row_count_reasons(scalars, collector.guarding, access, rows, kernel),
    )
    dependence.scalars = tuple(sorted((*map(kernel.scalar, scalars), *collector.floats)))
    dependence.sizes = tuple(sorted(map(kernel.scalar, sizes)))
    return RowVerdict(
        access, kernel.name(access.argument), _outcome(dependence.reasons), output, tree, rows,
        row_guards=tuple(guard for guard in guards if is_of_rows(guard, rows)),
        update_axes=update_axes, **vars(dependence),
    )  # fmt: skip


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
    tensor = kernel.call.tensor_at(access.argument)
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
    if kernel.has_one_store(access.argument):
        return []
    return [
        atom
        for part in active.conjuncts()
        if not says_row_exists(part, row_symbols)
        for atom in in_order(without_contents(part))
        if isinstance(atom, Symbol) and atom.kind == "scalar"
    ]


def _row_count_reasons(
    scalars: Iterable[Symbol],
    guarding: Set[Symbol],
    access: Access,
    rows: Sequence[Axis],
    kernel: Kernel,
) -> tuple[Reason, ...]:
    """Return a reason for each scalar in a value that equals the number of rows in all calls.

    If the scalar also equals an extent of a row, one call cannot show which of the two it is; a
    mask over an inner axis is assumed to end where the axis does.
    """
    count = kernel.row_count(access.argument, rows)
    inner = kernel.inner_extents(access.argument, rows)
    reasons = []
    for scalar in scalars:
        if kernel.is_row_count(scalar, access.argument, rows):
            if scalar in guarding and (count in inner or count == 1):
                continue
            name = kernel.scalar(scalar)
            text = f"{name}, which is the number of rows"
            if count in inner or count == 1:
                text = f"{name}, which may be the number of rows: record the kernel at another size"
            cause: Cause = "unknown" if count in inner or count == 1 else "size"
            reasons.append(Reason(cause, "data", text, SourceLine.of(access.op)))
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
        return (Reason("update", "data", text, SourceLine.of(access.op)),)
    text = f"an atomic {access.operator}, which may combine values of several programs"
    return (Reason("unknown", "data", text, SourceLine.of(access.op)),)
