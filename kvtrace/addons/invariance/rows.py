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
    led_by,
)
from kvtrace.addons.invariance.dependence import (
    Batch,
    Cause,
    Follower,
    Read,
    Reason,
    is_uniform,
    sizes_of_batch,
    without_contents,
)
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.digits import placing
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
- proven: a row's value is a function of the row, whatever the batch.
- violation: the evaluator gives a row two values for the same data.
- depends: its tree differs between batches; no two values were seen.
- whole: the output has one value for the whole batch, so no row has its own value.
- unknown: something is not followed.
"""


@dataclass(frozen=True)
class RowVerdict:
    """The verdict on a store: is the stored value a function of its row alone?

    `rows` are the axes of the output that number the rows, outermost first: as many axes as the
    verdict holds for. `sizes` are the scalars that bound the number of rows, `scalars` those that
    the value depends on; for `selecting`, `assumed` and `shared` see `Dependence`. `unsplit` is the
    output with its axes as strides give them. `ambiguous`: the strides of this call do not tell the
    axes apart. `leaving` are guards over the row's coordinate and scalars that may leave out rows.
    `collected` are the axes of the grid along which programs update the same elements, in any
    order; None: no such axes, or `reasons` say that they are not known.
    """

    access: Access
    argument: str
    verdict: Outcome
    output: Output | None = None
    tree: Tree | None = None
    rows: tuple[Axis, ...] = ()
    sizes: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    reads: tuple[Read, ...] = ()
    scalars: tuple[str, ...] = ()
    selecting: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    unsplit: Output | None = None
    ambiguous: bool = False
    leaving: tuple[Condition, ...] = ()
    collected: frozenset[int] | None = None

    @property
    def op(self) -> Op:
        """The op that writes."""
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
        if verdict.verdict != "proven" or not is_made_in_any_batch(verdict, kernel)
    ]
    return tuple(with_own_writes(verdict, unsteady, kernel) for verdict in verdicts)


def with_own_writes(
    verdict: RowVerdict, unsteady: Sequence[RowVerdict], kernel: Kernel
) -> RowVerdict:
    """Return a verdict with further reasons: loads of memory that the launch itself writes.

    By induction over a program's steps, memory that the program wrote is a function of the row's
    data if all stores to that memory are functions of the row alone and are made in any batch. The
    rule `race` checks that no other program writes the same memory.

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
            text = f"which of its stores to {name} writes an element"
            write_reasons[Reason("unknown", "guard", text, store.op.index)] = None
    reasons = (*verdict.reasons, *write_reasons)
    return replace(verdict, reasons=reasons, verdict=_outcome(reasons))


def is_made_in_any_batch(verdict: RowVerdict, kernel: Kernel) -> bool:
    """Return whether a row's elements are stored in any batch: no guard depends on the batch."""
    assert verdict.output is not None
    rows = verdict.rows[:1]
    simplifier = Simplifier(verdict.output, kernel.sizes)
    row_symbols, active = _row_symbols(rows, simplifier, verdict.access), simplifier.active
    sizes = sizes_of_batch(active, rows)
    for part in verdict.output.located(active).conjuncts():
        symbols = {atom for atom in without_contents(part) if isinstance(atom, Symbol)}
        batch_symbols = symbols & row_symbols or symbols & sizes
        is_placed = any(atom.kind == "programs" or is_placing(atom) for atom in symbols)
        if is_placed or (
            batch_symbols and not _is_bound(part, row_symbols) and not _is_length(part, rows)
        ):
            return False
    return True


def _is_length(part: Condition, rows: Sequence[Axis]) -> bool:
    """Return whether a condition depends only on the row's length, an end minus a begin."""
    coordinates = {axis.coordinate for axis in rows}
    return without_contents(part).isdisjoint(coordinates) and stays_when_moved(part)


def _row_symbols(rows: Sequence[Axis], simplifier: Simplifier, access: Access) -> Set[Symbol]:
    """Return the symbols that number the row: its coordinates, and its begins in memory."""
    entries = {axis.coordinate for axis in rows if axis.is_own}
    begins = simplifier.term(access.offset).symbols("content") if entries else ()
    row_begins = {begin for begin in begins if not entries.isdisjoint(begin.within())}
    return row_begins | {axis.coordinate for axis in rows}


def _is_bound(part: Condition, row_symbols: Set[Symbol]) -> bool:
    """Return whether a condition says only that the row exists."""
    if not isinstance(part, AtLeast):
        return part is TRUE
    for atom in (single(Term({m: 1})) for m, n in part.term.coefficients.items() if n == 1):
        if isinstance(atom, Minimum):
            rest = part.term - atom.term
            return all(
                _is_bound(at_least(rest + argument), row_symbols) for argument in atom.arguments
            )
    terms = part.term.coefficients.items()
    rows = [n for m, n in terms if any(_rises(atom, row_symbols) for atom in m)]
    rest = Term({m: n for m, n in terms if not any(_rises(atom, row_symbols) for atom in m)})
    if not all(_is_apart(atom, row_symbols) for atom in without_contents(rest)):
        return False
    if rows and all(number > 0 for number in rows):
        return rest.constant is not None and rest.constant >= 0
    return bool(rows) and all(number < 0 for number in rows)


def _is_apart(atom: Atom, row_symbols: Set[Symbol]) -> bool:
    """Return whether an atom is independent of the row: a scalar, or an integer of no row."""
    if not isinstance(atom, Symbol) or atom.kind in ("scalar", "programs"):
        return True
    return atom.kind == "content" and row_symbols.isdisjoint(atom.within())


def _rises(atom: Atom, row_symbols: Set[Symbol]) -> bool:
    """Return whether an atom is the number of a row or of its block, which is not negative."""
    if isinstance(atom, Quotient) and atom.arguments[1].constant is not None:
        inner = single(atom.arguments[0])
        return atom.arguments[1].low > 0 and inner is not None and _rises(inner, row_symbols)
    return atom in row_symbols


def _verdict(access: Access, kernel: Kernel) -> RowVerdict:
    name = kernel.name(access.argument)
    try:
        output = coordinates_of(
            access, kernel.tensor(access.argument), kernel.bound.ranges, kernel.sizes
        )
        output = led_by(output, kernel.growing(access.argument))
        tree = kernel.tree(access, output)
    except (Unfollowed, TooLarge) as error:
        failure = Reason("unknown", "address", str(error), access.op.index)
        ambiguous = isinstance(error, Ambiguous)
        return RowVerdict(access, name, "unknown", reasons=(failure,), ambiguous=ambiguous)
    if not output.axes:
        return RowVerdict(access, name, "whole", output, tree, unsplit=output)
    unsplit = output
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
    return replace(best, unsplit=unsplit)


def _divisor(tree: Tree, row: Symbol, kernel: Kernel) -> Term | None:
    """Return the largest divisor of the row's number, as tokens // sequence length, if any."""
    divisors: dict[Term, int] = {}
    for node in tree.walk():
        for formula in node.formulas():
            for atom in formula.atoms():
                if isinstance(atom, Quotient | Remainder) and atom.arguments[0] == row.term:
                    divisor = atom.arguments[1]
                    scalars = all(is_uniform(candidate) for candidate in divisor.atoms())
                    number = divisor.constant
                    if (number is None and scalars) or number in kernel.shapes:
                        divisors[divisor] = kernel.bound.ranges.interval(divisor)[1]
    return max(divisors, key=lambda candidate: divisors[candidate], default=None)


def _has_whole_parts(divisor: Term, access: Access, output: Output, kernel: Kernel) -> bool:
    """Return whether a divisor of the row's number also divides the number of rows."""
    count = kernel.rows(access.argument, output.axes[:1])
    low, high = kernel.bound.ranges.interval(divisor)
    return count is None or low != high or low <= 0 or count % low == 0


def _verdict_for_rows(
    access: Access, output: Output, tree: Tree, kernel: Kernel, count: int
) -> RowVerdict:
    """Return the verdict with the first `count` axes of the output as row axes."""
    assert access.argument is not None
    simplifier = Simplifier(output, kernel.sizes)
    rows = output.axes[:count]
    sizes = sizes_of_batch(simplifier.active, rows)
    collected = _collected(access, output, simplifier, kernel)
    batch = Batch(
        rows, sizes, kernel.batched(rows, access.argument), kernel.strides, kernel.bound.ranges,
        _facts(simplifier, output), _extents(access, output.axes, kernel),
        frozenset(axis.coordinate for axis in output.axes), collected or frozenset(),
    )  # fmt: skip
    located = output.located(simplifier.active)
    row_symbols = _row_symbols(rows, simplifier, access)
    guards = _guards(located, row_symbols, output, simplifier, sizes, kernel, rows)
    dependence = Follower(batch, kernel.summary).follow(
        tree, guards, simplifier.term(access.offset)
    )
    scalars = tuple(
        dict.fromkeys(
            (*dependence.scalars, *_choosing_scalars(access, located, row_symbols, kernel))
        )
    )
    reasons = (
        *dependence.reasons,
        *(_update_reasons(access) if collected is None else ()),
        *_row_count_reasons(scalars, dependence.guarding, access, rows, kernel),
    )
    return RowVerdict(
        access, kernel.name(access.argument), _outcome(reasons), output, tree, rows,
        tuple(sorted(map(kernel.scalar, sizes))), reasons, dependence.reads,
        tuple(sorted((*map(kernel.scalar, scalars), *dependence.floats))), dependence.selecting,
        tuple(sorted(dependence.assumed)), tuple(sorted(dependence.shared)),
        leaving=tuple(guard for guard in guards if _is_of_rows(guard, rows)), collected=collected,
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
    elsewhere = located.atoms() - output.access.offset.atoms()
    programs = (atom for atom in elsewhere if isinstance(atom, Symbol) and atom.kind == "program")
    of_first = Substitution(dict.fromkeys(programs, ZERO))
    walking = _tile_loop_ends(output, simplifier, sizes)
    parts = located.substitute(of_first).conjuncts()
    ranges = simplifier.given.ranges
    divisions = (fact for part in parts for fact in _divisions(part, ranges))
    assumptions = Given((*output.facts, *divisions), ranges)
    return [
        part
        for conjunct in parts
        if is_followed(conjunct) and conjunct not in walking
        for part in _without_minimum(conjunct)
        if (
            not _is_bound(part, row_symbols)
            or _leaves_out_rows(part, rows, output, simplifier.active, kernel)
        )
        and not _is_end(part, output)
        and follows(part, assumptions) is None
    ]


def _divisions(part: Condition, ranges: Ranges) -> Iterator[Condition]:
    """Yield facts of division by scalars: remainders are from 0 to below the divisor."""
    for atom in part.atoms():
        if isinstance(atom, Quotient) and atom.arguments[1].constant is None:
            dividend, divisor = atom.arguments
            is_down = atom.floor or ranges.interval(dividend)[0] >= 0
            if is_down and ranges.interval(divisor)[0] > 0:
                rest = dividend - atom.term * divisor
                yield at_least(rest)
                yield less(rest, divisor)


def _is_of_rows(part: Condition, rows: Sequence[Axis]) -> bool:
    """Return whether a condition is over the row's number and scalar arguments alone."""
    atoms = {atom for atom in part.atoms() if isinstance(atom, Symbol)}
    numbers = {atom for atom in atoms if atom.kind == "scalar" and isinstance(atom.key, int)}
    is_alone = len(rows) == 1 and rows[0].is_index and atoms - numbers == {rows[0].coordinate}
    return is_alone and bool(numbers)


def _leaves_out_rows(
    part: Condition, rows: Sequence[Axis], output: Output, active: Condition, kernel: Kernel
) -> bool:
    """Return whether a guard may leave out rows at a size of the batch that was not recorded.

    The guard must hold for every row below the number of rows: `4 * tile + 4 <= M` loses the rows
    of a last tile that is not full. Scalars that end an inner axis, and constants, do not count
    rows.
    """
    count = kernel.rows(output.access.argument, rows)
    if len(rows) > 1 or rows[0].is_own or count is None:
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
    counting = [each for each in scalars if ranges.of(each) == (count, count)]
    if counting:
        below = ((at_least(row.term), less(row.term, each.term)) for each in counting)
        return all(follows(part, Given(each, kernel.sizes)) is None for each in below)
    return not sizes_of_batch(active, output.axes[1:]).isdisjoint(scalars)


def _without_minimum(part: Condition) -> list[Condition]:
    """Return the parts of a condition on a minimum: `min(a, b) >= c` is `a >= c` and `b >= c`."""
    if isinstance(part, AtLeast):
        for atom in (single(Term({m: 1})) for m, n in part.term.coefficients.items() if n == 1):
            if isinstance(atom, Minimum):
                rest = part.term - atom.term
                return [at_least(rest + argument) for argument in atom.arguments]
    return [part]


def _tile_loop_ends(output: Output, simplifier: Simplifier, sizes: Set[Symbol]) -> set[Condition]:
    """Return the loop conditions that end a walk over tiles where the batch ends.

    Formulas do not give the rows that are left out there; recorded launches are compared instead.
    """
    placed = output.access.offset.atoms()
    runs = [loop.running for loop in output.access.loops if loop.trip in placed]
    parts = [
        part
        for running in runs
        for part in output.located(simplifier.rewritten(running)).conjuncts()
    ]
    return {part for part in parts if any(map(is_placing, part.atoms())) and part.atoms() & sizes}


def _is_end(part: Condition, output: Output) -> bool:
    """Return whether a condition says only that an element's place in memory is before an end.

    An end is a scalar argument or a product of scalars; a quotient, as in M - M // 16, may be less
    than the end at another size.
    """
    if not isinstance(part, AtLeast):
        return False
    size = output.access.element_bytes
    place = sum((axis.coordinate.term * (axis.step // size) for axis in output.axes), ZERO)
    return all(
        isinstance(atom, Symbol) and _is_apart(atom, frozenset())
        for atom in without_contents(part.term + place)
    )


def _facts(simplifier: Simplifier, output: Output) -> tuple[Condition, ...]:
    """Return the conditions that hold where an element is written, also over coordinates."""
    exact = simplifier.given.exact
    located = map(output.located, exact)
    return tuple(dict.fromkeys((*exact, *located)))


def _extents(access: Access, axes: Sequence[Axis], kernel: Kernel) -> tuple[Condition, ...]:
    """Return bounds of the output's coordinates: each is below its outer axis's next step.

    The coordinate of an axis outside of the rows ends where the tensor does. All begin at 0.
    """
    steps = [axis for axis in axes if not axis.is_own and axis.step > 0]
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
    """Return the scalars that choose which of several stores writes an element of an output.

    Scalars in conditions that only say that the row exists are left out.
    """
    stores = [store for store in kernel.summary.accesses if store.kind != "load"]
    if sum(store.argument == access.argument for store in stores) < 2:
        return []
    return [
        atom
        for part in active.conjuncts()
        if not _is_bound(part, row_symbols)
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
    """Return a reason for each scalar that a value depends on and that equals the number of rows.

    If the scalar also equals an extent of a row, one call cannot tell which of the two it is; a
    mask over an inner axis is assumed to end where the axis does.
    """
    count = kernel.rows(access.argument, rows)
    inner = kernel.inner(access.argument, rows)
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


def _collected(
    access: Access, output: Output, simplifier: Simplifier, kernel: Kernel
) -> frozenset[int] | None:
    """Return the axes of the grid along which programs update the same elements, each once.

    None if other programs or lanes may update such an element, or not all of these programs do.
    `determinism_of` says whether their order matters.
    """
    if access.kind != "atomic" or access.operator in FREE or access.loops:
        return None
    if not kernel.has_one_store(access.argument):
        return None
    symbols = placing(access.offset)
    lanes = sum(symbol.kind == "lane" for symbol in symbols)
    rows = output.axes[0]
    if rows.is_own or not rows.is_index or lanes < sum(extent > 1 for extent in access.shape):
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
    """Return the reason for which an atomic update may depend on other rows, if any."""
    if access.kind != "atomic":
        return ()
    if access.operator in FREE:
        text = "an atomic sum of floats, whose order is free"
        return (Reason("update", "data", text, access.op.index),)
    text = f"an atomic {access.operator}, which may collect what several programs add"
    return (Reason("unknown", "data", text, access.op.index),)
