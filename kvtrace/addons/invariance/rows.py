"""Is the value of a row of an output the same in every batch? The question, put to one kernel."""

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
    """Whether what a store writes is a function of its row alone.

    `rows` are the axes of the output that number the rows, outermost first: as many as it holds
    for. `sizes` are the numbers that say how many rows there are, `scalars` those that the value
    depends on; `selecting` see `Dependence`. `unsplit` has the axes as strides tell them.
    `ambiguous`: the strides of this call do not tell the axes apart. `leaving` are guards over the
    row's coordinate and numbers that may leave out rows. `collected` are axes of the grid along
    which programs update the same elements, by what has no order; None: by one program each.
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
        kernel: The kernel and a recorded call. What is proven holds for all sizes, except that
            reads of a row's own part are compared with the strides of this call.

    """
    stores = [access for access in kernel.summary.accesses if access.kind != "load"]
    verdicts = tuple(_verdict(access, kernel) for access in stores)
    unsteady = [
        each
        for each in verdicts
        if each.verdict != "proven" or not is_made_in_any_batch(each, kernel)
    ]
    return tuple(with_own_writes(verdict, unsteady, kernel) for verdict in verdicts)


def with_own_writes(
    verdict: RowVerdict, unsteady: Sequence[RowVerdict], kernel: Kernel
) -> RowVerdict:
    """Return a verdict with what the launch's own writes say against it.

    Memory that the launch writes is what the row's program made of the row's data before, if all
    writes to it are functions of the row alone and are made whatever the batch is: by induction
    over the program's steps. That no other program writes it is what the rule `race` is about.

    Args:
        verdict: What takes what it reads for what the launch began with.
        unsteady: Stores of the kernel of which that is not proven.
        kernel: The kernel.

    """
    if verdict.tree is None or verdict.verdict == "whole":
        return verdict
    found: dict[Reason, None] = {}
    for store in unsteady:
        name = kernel.name(store.access.argument)
        for load in read_after_write(verdict.tree, store.access, kernel):
            text = f"{name}, which the kernel writes, too"
            found[Reason("unknown", "data", text, load.op.index)] = None
        if store is not verdict and store.access.argument == verdict.access.argument:
            text = f"which of its stores to {name} writes an element"
            found[Reason("unknown", "guard", text, store.op.index)] = None
    reasons = (*verdict.reasons, *found)
    return replace(verdict, reasons=reasons, verdict=_outcome(reasons))


def is_made_in_any_batch(verdict: RowVerdict, kernel: Kernel) -> bool:
    """Whether a row's elements are written whatever the batch is: no guard tells batches apart."""
    assert verdict.output is not None
    rows = verdict.rows[:1]
    simplifier = Simplifier(verdict.output, kernel.sizes)
    own, active = _numbering(rows, simplifier, verdict.access), simplifier.active
    sizes = sizes_of_batch(active, rows)
    for part in verdict.output.located(active).conjuncts():
        symbols = {atom for atom in without_contents(part) if isinstance(atom, Symbol)}
        telling = symbols & own or symbols & sizes
        placing = any(atom.kind == "programs" or is_placing(atom) for atom in symbols)
        if placing or (telling and not _is_bound(part, own) and not _is_length(part, rows)):
            return False
    return True


def _is_length(part: Condition, rows: Sequence[Axis]) -> bool:
    """Tell whether a condition is on the row's length alone, an end minus a begin."""
    coordinates = {axis.coordinate for axis in rows}
    return without_contents(part).isdisjoint(coordinates) and stays_when_moved(part)


def _numbering(rows: Sequence[Axis], simplifier: Simplifier, access: Access) -> Set[Symbol]:
    """Return what says which row is written: its number, and what memory has for that number."""
    entries = {axis.coordinate for axis in rows if axis.is_own}
    begins = simplifier.term(access.offset).symbols("content") if entries else ()
    found = {each for each in begins if not entries.isdisjoint(each.within())}
    return found | {axis.coordinate for axis in rows}


def _is_bound(part: Condition, own: Set[Symbol]) -> bool:
    """Whether a condition says no more than that there is such a row."""
    if not isinstance(part, AtLeast):
        return part is TRUE
    for atom in (single(Term({m: 1})) for m, n in part.term.coefficients.items() if n == 1):
        if isinstance(atom, Minimum):
            rest = part.term - atom.term
            return all(_is_bound(at_least(rest + each), own) for each in atom.arguments)
    terms = part.term.coefficients.items()
    rows = [n for m, n in terms if any(_rises(atom, own) for atom in m)]
    rest = Term({m: n for m, n in terms if not any(_rises(atom, own) for atom in m)})
    if not all(_is_apart(atom, own) for atom in without_contents(rest)):
        return False
    if rows and all(number > 0 for number in rows):
        return rest.constant is not None and rest.constant >= 0
    return bool(rows) and all(number < 0 for number in rows)


def _is_apart(atom: Atom, own: Set[Symbol]) -> bool:
    """Whether an atom says nothing of the row: it is a number, or in memory for something else."""
    if not isinstance(atom, Symbol) or atom.kind in ("scalar", "programs"):
        return True
    return atom.kind == "content" and own.isdisjoint(atom.within())


def _rises(atom: Atom, own: Set[Symbol]) -> bool:
    """Whether an atom is the number of a row or of its block, which is at least 0."""
    if isinstance(atom, Quotient) and atom.arguments[1].constant is not None:
        inner = single(atom.arguments[0])
        return atom.arguments[1].low > 0 and inner is not None and _rises(inner, own)
    return atom in own


def _verdict(access: Access, kernel: Kernel) -> RowVerdict:
    name = kernel.name(access.argument)
    try:
        output = coordinates_of(
            access, kernel.tensor(access.argument), kernel.bound.ranges, kernel.sizes
        )
        output = led_by(output, kernel.growing(access.argument))
        tree = kernel.tree(access, output)
    except (Unfollowed, TooLarge) as error:
        failed = Reason("unknown", "address", str(error), access.op.index)
        ambiguous = isinstance(error, Ambiguous)
        return RowVerdict(access, name, "unknown", reasons=(failed,), ambiguous=ambiguous)
    if not output.axes:
        return RowVerdict(access, name, "whole", output, tree, unsplit=output)
    unsplit = output
    best = _judged(access, output, tree, kernel, 1)
    divisor = _divisor(tree, output.axes[0].coordinate, kernel)
    splits = divisor is not None and _has_whole_parts(divisor, access, output, kernel)
    if divisor is not None and splits and any(reason.cause == "row" for reason in best.reasons):
        output = split_axis(output, divisor, kernel.bound.ranges.interval(divisor)[1])
        tree = kernel.tree(access, output)
        best = _judged(access, output, tree, kernel, 1)
    for count in range(2, len(output.axes) + 1):
        if best.verdict != "proven":
            break
        finer = _judged(access, output, tree, kernel, count)
        if finer.verdict != "proven":
            break
        best = finer
    return replace(best, unsplit=unsplit)


def _divisor(tree: Tree, row: Symbol, kernel: Kernel) -> Term | None:
    """Return what rows are divided by, as tokens by the length of a sequence; None: by nothing."""
    found: dict[Term, int] = {}
    for node in tree.walk():
        for formula in node.formulas():
            for atom in formula.atoms():
                if isinstance(atom, Quotient | Remainder) and atom.arguments[0] == row.term:
                    divisor = atom.arguments[1]
                    scalars = all(is_uniform(each) for each in divisor.atoms())
                    number = divisor.constant
                    if (number is None and scalars) or number in kernel.shapes:
                        found[divisor] = kernel.bound.ranges.interval(divisor)[1]
    return max(found, key=lambda each: found[each], default=None)


def _has_whole_parts(divisor: Term, access: Access, output: Output, kernel: Kernel) -> bool:
    """Tell whether a divisor of the row's number divides the number of rows, too."""
    count = kernel.rows(access.argument, output.axes[:1])
    low, high = kernel.bound.ranges.interval(divisor)
    return count is None or low != high or low <= 0 or count % low == 0


def _judged(access: Access, output: Output, tree: Tree, kernel: Kernel, count: int) -> RowVerdict:
    """Judge with the first so many axes of an output as the rows."""
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
    own = _numbering(rows, simplifier, access)
    guards = _guards(located, own, output, simplifier, sizes, kernel, rows)
    found = Follower(batch, kernel.summary).follow(tree, guards, simplifier.term(access.offset))
    scalars = tuple(dict.fromkeys((*found.scalars, *_choosing(access, located, own, kernel))))
    reasons = (
        *found.reasons,
        *(_updates(access) if collected is None else ()),
        *_as_many(scalars, found.guarding, access, rows, kernel),
    )
    return RowVerdict(
        access, kernel.name(access.argument), _outcome(reasons), output, tree, rows,
        tuple(sorted(map(kernel.scalar, sizes))), reasons, found.reads,
        tuple(sorted((*map(kernel.scalar, scalars), *found.floats))), found.selecting,
        tuple(sorted(found.assumed)), tuple(sorted(found.shared)),
        leaving=tuple(each for each in guards if _is_of_rows(each, rows)), collected=collected,
    )  # fmt: skip


def _guards(
    located: Condition,
    own: Set[Symbol],
    output: Output,
    simplifier: Simplifier,
    sizes: Set[Symbol],
    kernel: Kernel,
    rows: Sequence[Axis],
) -> list[Condition]:
    """Return the formulas that decide which elements of a row are stored.

    Programs that have no say in where they store do so for others: the first one is in every grid.
    """
    elsewhere = located.atoms() - output.access.offset.atoms()
    programs = (a for a in elsewhere if isinstance(a, Symbol) and a.kind == "program")
    of_first = Substitution(dict.fromkeys(programs, ZERO))
    walking = _walking(output, simplifier, sizes)
    parts = located.substitute(of_first).conjuncts()
    ranges = simplifier.given.ranges
    divisions = (fact for part in parts for fact in _divisions(part, ranges))
    known = Given((*output.facts, *divisions), ranges)
    return [
        part
        for each in parts
        if is_followed(each) and each not in walking
        for part in _without_minimum(each)
        if (
            not _is_bound(part, own)
            or _leaves_out_rows(part, rows, output, simplifier.active, kernel)
        )
        and not _is_end(part, output)
        and follows(part, known) is None
    ]


def _divisions(part: Condition, ranges: Ranges) -> Iterator[Condition]:
    """Yield facts of division: remainders by passed numbers are from 0 to below the number."""
    for atom in part.atoms():
        if isinstance(atom, Quotient) and atom.arguments[1].constant is None:
            dividend, divisor = atom.arguments
            is_down = atom.floor or ranges.interval(dividend)[0] >= 0
            if is_down and ranges.interval(divisor)[0] > 0:
                rest = dividend - atom.term * divisor
                yield at_least(rest)
                yield less(rest, divisor)


def _is_of_rows(part: Condition, rows: Sequence[Axis]) -> bool:
    """Tell whether a condition is on a row's number and passed numbers, and nothing else."""
    atoms = {atom for atom in part.atoms() if isinstance(atom, Symbol)}
    numbers = {atom for atom in atoms if atom.kind == "scalar" and isinstance(atom.key, int)}
    is_alone = len(rows) == 1 and rows[0].is_index and atoms - numbers == {rows[0].coordinate}
    return is_alone and bool(numbers)


def _leaves_out_rows(
    part: Condition, rows: Sequence[Axis], output: Output, active: Condition, kernel: Kernel
) -> bool:
    """Tell whether a guard may leave out rows at a size of the batch that was not recorded.

    The number of rows itself must admit each of them: `4 * tile + 4 <= M` loses those of a tile
    that is not full. A number that ends an inner axis does not count rows, nor does a constant.
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
    """Return conditions that are one: a smaller of two is at least what both are."""
    if isinstance(part, AtLeast):
        for atom in (single(Term({m: 1})) for m, n in part.term.coefficients.items() if n == 1):
            if isinstance(atom, Minimum):
                rest = part.term - atom.term
                return [at_least(rest + each) for each in atom.arguments]
    return [part]


def _walking(output: Output, simplifier: Simplifier, sizes: Set[Symbol]) -> set[Condition]:
    """Return that tiles that a loop walks over end where the batch does.

    Which rows these are, formulas do not tell there: recorded launches are asked.
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
    """Whether a condition says that an element's place in memory is before an end.

    A number that is passed, or a product of such, may be one; what the kernel makes of them by
    division, as M - M // 16, may be less at another size.
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
    """Return what holds where an element is written, of coordinates alone where that is known."""
    exact = simplifier.given.exact
    located = map(output.located, exact)
    return tuple(dict.fromkeys((*exact, *located)))


def _extents(access: Access, axes: Sequence[Axis], kernel: Kernel) -> tuple[Condition, ...]:
    """Return that an index along an inner axis ends where the axis outside of it takes a step.

    One along an axis outside of the rows ends where the tensor does. All begin at 0.
    """
    steps = [axis for axis in axes if not axis.is_own and axis.step > 0]
    steps.sort(key=lambda axis: -axis.step)
    found = [
        less(inner.coordinate.term, -(-outer.step // inner.step))
        for outer, inner in itertools.pairwise(steps)
    ]
    found += [at_least(axis.coordinate.term) for axis in axes if axis.is_index]
    tensor = kernel.tensor(access.argument)
    if tensor is not None and steps and steps[0] is not axes[0]:
        first, last = tensor.view_bytes
        found.append(less(steps[0].coordinate.term, -(-(last - first) // steps[0].step)))
    return tuple(found)


def _choosing(access: Access, active: Condition, own: Set[Symbol], kernel: Kernel) -> list[Symbol]:
    """Return the numbers that choose which of several stores writes an element of an output.

    One that only says that there is such a row chooses nothing.
    """
    stores = [each for each in kernel.summary.accesses if each.kind != "load"]
    if sum(each.argument == access.argument for each in stores) < 2:
        return []
    return [
        atom
        for part in active.conjuncts()
        if not _is_bound(part, own)
        for atom in without_contents(part)
        if isinstance(atom, Symbol) and atom.kind == "scalar"
    ]


def _as_many(
    scalars: Sequence[Symbol],
    guarding: Set[Symbol],
    access: Access,
    rows: Sequence[Axis],
    kernel: Kernel,
) -> tuple[Reason, ...]:
    """Return a reason for each number that a value depends on and that is the number of rows here.

    Where it is an extent of a row, too, one call cannot tell which of the two it is; a mask of an
    axis is taken to end where the axis does.
    """
    count = kernel.rows(access.argument, rows)
    inner = kernel.inner(access.argument, rows)
    found = []
    for scalar in scalars:
        if count is not None and kernel.bound.ranges.of(scalar) == (count, count):
            if scalar in guarding and (count in inner or count == 1):
                continue
            name = kernel.scalar(scalar)
            text = f"{name}, which is the number of rows"
            if count in inner or count == 1:
                text = f"{name}, which may be the number of rows: record the kernel at another size"
            cause: Cause = "unknown" if count in inner or count == 1 else "size"
            found.append(Reason(cause, "data", text, access.op.index))
    return tuple(found)


def _outcome(reasons: Sequence[Reason]) -> Outcome:
    if any(reason.cause == "unknown" for reason in reasons):
        return "unknown"
    return "depends" if reasons else "proven"


def _collected(
    access: Access, output: Output, simplifier: Simplifier, kernel: Kernel
) -> frozenset[int] | None:
    """Return along which axes of the grid programs update the same elements, each once.

    None where other programs or lanes than these may update an element, or not all of these do.
    Whether their order matters, `determinism_of` says.
    """
    if access.kind != "atomic" or access.operator in FREE or access.loops:
        return None
    if not kernel.has_one_store(access.argument):
        return None
    places = placing(access.offset)
    lanes = sum(each.kind == "lane" for each in places)
    rows = output.axes[0]
    if rows.is_own or not rows.is_index or lanes < sum(extent > 1 for extent in access.shape):
        return None
    if any(map(is_placing, (a for each in places for a in simplifier.term(each.term).atoms()))):
        return None
    if any(program not in places for program in access.active.symbols("program")):
        return None
    return frozenset(range(3)) - {each.key for each in places if each.kind == "program"}


def _updates(access: Access) -> tuple[Reason, ...]:
    """Return why an atomic update has no value of a row's own."""
    if access.kind != "atomic":
        return ()
    if access.operator in FREE:
        text = "an atomic sum of floats, whose order is free"
        return (Reason("update", "data", text, access.op.index),)
    text = f"an atomic {access.operator}, which may collect what several programs add"
    return (Reason("unknown", "data", text, access.op.index),)
