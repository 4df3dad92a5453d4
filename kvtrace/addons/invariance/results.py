"""What `kvtrace invariance` finds in a run: a row for each output of each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from kvtrace.addons.invariance.batches import (
    Across,
    Batch,
    Kept,
    by_tree,
    sizes_of,
    with_most_sizes,
    worst_comparison,
)
from kvtrace.addons.invariance.compared import Comparison
from kvtrace.addons.invariance.coordinates import Unfollowed, is_number, led_by, pin
from kvtrace.addons.invariance.determinism import Determinism, determinism_of
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.rows import Outcome, RowVerdict, rows_of
from kvtrace.addons.invariance.stored import stored_elements
from kvtrace.addons.invariance.trees import Tree
from kvtrace.addons.invariance.witness import (
    Batched,
    Witness,
    batch_axes,
    between,
    in_other_order,
    with_other_rows,
)
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarise
from kvtrace.text import plural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.ir import Op
    from kvtrace.schema.trace import Run, Selection
    from kvtrace.symbolic.conditions import Condition

Order = Literal["program", "compiled"]
"""What fixes the order of a value's operations: the TTIR alone, or how one variant was compiled."""

_WORST: Final[tuple[Outcome, ...]] = ("unknown", "depends", "whole", "proven")
_ORDERING: Final = ("num_warps", "num_ctas")
"""Compile options that decide how sums across lanes are ordered."""
_GROUP: Final = 4
"""Warps that multiply together."""
_Options: TypeAlias = "dict[int, dict[str, object]]"
"""Compile options by the id of a call."""
_MOST_WITNESSES: Final = 4
"""So many pairs of calls are evaluated to find a row with two values."""
_MOST_ROWS: Final = 65
_MOST_FIXED: Final = 1 << 20
"""Rows, and numbers, up to which rows are sought that a guard leaves out."""
_WITNESS_SECONDS: Final = 5.0
"""So long evaluations are begun for that."""
_MOST_CALLS: Final = 8
"""So many calls of a variant are judged: proofs are for all sizes and the strides of one call."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source; file is None where it was not recorded."""

    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Why:
    """One reason why a value may change with its batch."""

    cause: str
    through: str
    what: str
    place: Place


@dataclass
class OutputResult:
    """An output of a kernel.

    Attributes:
        kernel: Its name.
        output: The argument.
        verdict: Whether a row's value is a function of the row alone; see `rows.Outcome`.
        rows: How many axes of the output number its rows.
        place: The store.
        why: Reasons against it.
        own: Arguments of which it reads the row's own part.
        shared: Arguments of which it reads what is the same for all rows.
        scalars: Numbers that it depends on.
        sizes: Numbers that say how many rows there are.
        selecting: Tensors of integers that are assumed to select inside the row.
        assumed: Tensors of integers whose entries are treated as the row's own data.
        constant: Tensors of integers that are assumed to hold the same in all batches.
        options: Compile options that are not the same at all sizes of the batch, with the values.
        order: What fixes the order of its sums.
        ordered_by: What the compiled code orders in it: sums across lanes, products of matrices.
        determinism: Whether the kernel leaves the same when it runs again.
        across: Recorded launches at several sizes of the batch; None: there is one size.
        witness: Two values of one row, shown by the evaluator; None: none was found or sought.
        row_axes: Which axes of the tensor number the rows.
        leaving: Guards that may leave out rows, with the row's number and the names of numbers.
        collected: Axes of the grid along which programs update the same elements; None: none do.
        is_certain: Whether what it depends on was seen to change what is stored, or in which order.
        unseen: Numbers of rows that other kernels were launched for and this one was not: there the
            program may use another kernel.
        uncompared: Sizes of the batch at which other extents differ, too, so that nothing compares.
        calls: How many distinct calls were judged.
        variants: Those of which a call was judged whose strides tell the output's axes apart.
        launched: The smallest number of rows that each variant was launched for.

    """

    kernel: str
    output: str
    verdict: Outcome
    rows: int
    place: Place
    why: tuple[Why, ...]
    own: tuple[str, ...]
    shared: tuple[str, ...]
    scalars: tuple[str, ...]
    sizes: tuple[str, ...]
    selecting: tuple[str, ...]
    order: Order
    determinism: Determinism
    assumed: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    ordered_by: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()
    across: Across | None = None
    witness: Witness | None = None
    row_axes: frozenset[int] = frozenset()
    leaving: tuple[tuple[Condition, Symbol, Mapping[Symbol, str]], ...] = ()
    collected: frozenset[int] | None = None
    is_certain: bool = False
    uncompared: int = 0
    unseen: tuple[int, ...] = ()
    calls: int = 1
    variants: set[int] = field(default_factory=set, repr=False)
    launched: dict[int, int] = field(default_factory=dict, repr=False)
    kept: dict[tuple[Any, ...], list[Kept]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Invariance:
    """All outputs that were judged, and a sentence for each call that could not be."""

    outputs: tuple[OutputResult, ...]
    failures: tuple[str, ...]

    def count(self, verdict: Outcome) -> int:
        """Return how many outputs have a verdict."""
        return sum(each.verdict == verdict for each in self.outputs)


def invariance_of(
    selection: Selection,
    kernels: Sequence[str] = (),
    shown: Shown = unshown,
    *,
    seconds: float | None = None,
) -> Invariance:
    """Judge all outputs of the kernels of runs.

    Args:
        selection: The runs.
        kernels: Names to judge; none: all.
        shown: Where progress is shown.
        seconds: So long, in seconds, calls of a kernel are judged; what is left makes its outputs
            unknown. None: as long as it takes.

    """
    failures: list[str] = []
    called: dict[str, dict[int, list[Call]]] = {}
    options: _Options = {}
    for run in selection.runs:
        of_run = _options_of(selection, run)
        for call in calls_of(selection.trace, run):
            if isinstance(call, UnreadyCall):
                failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
            elif not kernels or call.kernel in kernels:
                variants = called.setdefault(call.kernel, {})
                variants.setdefault(id(call.module), []).append(call)
                options[id(call)] = of_run.get(call.call_id, {})
    outputs: list[OutputResult] = []
    with shown("invariance") as progress:
        for number, variants in enumerate(called.values(), start=1):
            if progress is not None:
                progress(number, len(called))
            judged = [_spread(calls) for calls in variants.values()]
            outputs += _of_kernel(judged, options, failures, seconds)
    _note_unseen(outputs)
    return Invariance(tuple(outputs), tuple(failures))


def _options_of(selection: Selection, run: Run) -> dict[int, dict[str, object]]:
    """Return what orders sums in the compiled code of each call of a run."""
    rows = selection.trace.table("kernels", (run,), ["kernel_id", *_ORDERING]).to_pylist()
    kernels = {row.pop("kernel_id"): row for row in rows}
    calls = selection.trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    return {row["call_id"]: kernels.get(row["kernel_id"], {}) for row in calls}


def _note_unseen(outputs: Sequence[OutputResult]) -> None:
    """Note which sizes of the batch a kernel was not launched for, and others were.

    What an output counts as rows may be all elements of a tensor. So it is compared with those
    alone that were seen at a size that it was seen at; where there are none, with all, if it was
    seen at several sizes.
    """
    sizes: dict[tuple[str, str], set[int]] = {}
    for each in outputs:
        rows = {one.batch.rows for kept in each.kept.values() for one in kept}
        sizes.setdefault((each.kernel, each.output), set()).update(rows)
    for each in outputs:
        name = (each.kernel, each.output)
        own = sizes[name]
        others = [rows for key, rows in sizes.items() if key != name and rows & own]
        if not others and len(own) > 1:
            others = list(sizes.values())
        each.unseen = tuple(sorted(set().union(*others) - own))


def _spread(calls: Sequence[Call]) -> list[Call]:
    """Return the calls of a variant that are judged, from the smallest to the largest."""
    ordered = sorted(calls, key=_elements)
    step = max(1, -(-len(ordered) // _MOST_CALLS))
    return [*ordered[:-1:step], ordered[-1]]


def _elements(call: Call) -> int:
    return sum(prod(each.shape) for each in call.arguments if isinstance(each, TensorArgument))


def _of_kernel(
    variants: Sequence[Sequence[Call]],
    options: _Options,
    failures: list[str],
    seconds: float | None,
) -> list[OutputResult]:
    """Judge one kernel by calls of its variants.

    The largest call tells which axes of each output number its rows. A call of one row cannot: it
    is only compared with the others.
    """
    found: dict[tuple[str, int], OutputResult] = {}
    calls = [(call, variant) for variant, own in enumerate(variants) for call in own]
    growing = _growing([call for call, _ in calls])
    deadline, left = monotonic() + (inf if seconds is None else seconds), 0
    kernels: list[Kernel] = []
    for call, variant in sorted(calls, key=lambda pair: -_elements(pair[0])):
        if found and monotonic() > deadline:
            left += 1
            continue
        try:
            known = next(iter(found.values())).determinism if found else None
            again = determinism_of(call) if known is None or known.answer == "proven" else known
            kernels.append(Kernel(call, growing=growing, deadline=deadline))
            _add(kernels[-1], found, variant, again)
        except KvtraceError as error:
            failures.append(f"call {call.call_id} of {call.kernel}: {error}")
    left += sum(kernel.is_late for kernel in kernels)
    for result in found.values():
        if not left:
            _compare(result, options)
        late = left or sum(kernel.is_late for kernel in kernels)
        if late and result.verdict != "violation":
            text = f"{plural(late, 'call')} of the kernel, for which {seconds:g} s did not suffice"
            result.why = (*result.why, Why("unknown", "data", text, result.place))
            result.verdict = "unknown"
    for kernel in kernels:
        kernel.end_deadline()  # what is made of it from here on is drawn
    return list(found.values())


def _growing(calls: Sequence[Call]) -> dict[int, frozenset[int]]:
    """Return which axes of tensors, by the arguments' positions, are not as long in all calls."""
    found: dict[int, frozenset[int]] = {}
    for position in range(max(len(call.arguments) for call in calls)):
        given = [call.arguments[position] for call in calls if position < len(call.arguments)]
        shapes = {each.shape for each in given if isinstance(each, TensorArgument)}
        if len({len(shape) for shape in shapes}) == 1:
            axes = enumerate(zip(*shapes, strict=True))
            found[position] = frozenset(axis for axis, extents in axes if len(set(extents)) > 1)
    return found


def _add(
    kernel: Kernel,
    found: dict[tuple[str, int], OutputResult],
    variant: int,
    determinism: Determinism,
) -> None:
    call = kernel.call
    numbered: dict[str, int] = {}
    for verdict in rows_of(kernel):
        number = numbered[verdict.argument] = numbered.get(verdict.argument, -1) + 1
        known = found.get((verdict.argument, number))
        batch = None if known is None else _batch(known, verdict, kernel, variant)
        if known is None:
            known = _result(call, verdict, determinism)
            known.row_axes = _row_axes(verdict, kernel)
            known.leaving = _leaving(verdict, kernel)
            known.collected = verdict.collected
            found[verdict.argument, number] = known
            batch = _batch(known, verdict, kernel, variant)
        elif verdict.ambiguous and variant in known.variants:
            continue
        elif batch is None or batch.rows > 1:
            _merge(known, _result(call, verdict, determinism))
        if not verdict.ambiguous:
            known.variants.add(variant)
        if batch is not None:
            known.launched[variant] = batch.rows
            _keep_tree(known, verdict, kernel, batch)


def _leaving(
    verdict: RowVerdict, kernel: Kernel
) -> tuple[tuple[Condition, Symbol, Mapping[Symbol, str]], ...]:
    """Return the guards of an output's only store that may leave out rows."""
    stores = (each for each in kernel.summary.accesses if each.kind != "load")
    if sum(each.argument == verdict.access.argument for each in stores) > 1:
        return ()
    return tuple(
        (
            part,
            verdict.rows[0].coordinate,
            {
                each: kernel.scalar(each)
                for each in part.atoms()
                if isinstance(each, Symbol) and is_number(each)
            },
        )
        for part in verdict.leaving
    )


def _row_axes(verdict: RowVerdict, kernel: Kernel) -> frozenset[int]:
    """Return which axes of the tensor number the rows of an output."""
    tensor = kernel.tensor(verdict.access.argument)
    if tensor is None or verdict.unsplit is None or not verdict.unsplit.axes:
        return frozenset()
    step = verdict.unsplit.axes[0].step
    reach = list(enumerate(stride * tensor.element.bytes for stride in tensor.strides))
    if any(axis.step > step for axis in verdict.unsplit.axes):
        return frozenset(axis for axis, stride in reach if stride == step)
    return frozenset(axis for axis, stride in reach if stride >= step)


def _batch(result: OutputResult, verdict: RowVerdict, kernel: Kernel, variant: int) -> Batch | None:
    """Return the size of a call's batch; None where no axis of the output numbers rows."""
    tensor = kernel.tensor(verdict.access.argument)
    if tensor is None or not result.row_axes or max(result.row_axes) >= len(tensor.shape):
        return None
    rows = prod(tensor.shape[axis] for axis in result.row_axes)
    return Batch(rows, variant, kernel.call.grid)


def _merge(known: OutputResult, other: OutputResult) -> None:
    """Add another call of the same output: the worse of the two counts."""
    known.calls += 1
    if _WORST.index(other.verdict) < _WORST.index(known.verdict):
        known.verdict, known.place, known.rows = other.verdict, other.place, other.rows
    known.why = tuple(dict.fromkeys((*known.why, *other.why)))
    for name in ("own", "shared", "scalars", "sizes", "selecting", "assumed", "constant"):
        setattr(known, name, tuple(dict.fromkeys((*getattr(known, name), *getattr(other, name)))))
    if other.order == "compiled":
        known.order = "compiled"
    known.ordered_by |= other.ordered_by
    if known.determinism.answer == "proven":
        known.determinism = other.determinism


def _result(call: Call, verdict: RowVerdict, determinism: Determinism) -> OutputResult:
    ops = {op.index: op for op in call.module.ops}
    own = {read.argument for read in verdict.reads if read.own}
    shared = {read.argument for read in verdict.reads} - own
    return OutputResult(
        call.kernel, verdict.argument, verdict.verdict, len(verdict.rows), _place(verdict.op),
        tuple(
            Why(each.cause, each.through, each.what, _place(ops.get(each.op, verdict.op)))
            for each in verdict.reasons
        ),
        tuple(sorted(own)), tuple(sorted(shared)), verdict.scalars, verdict.sizes,
        verdict.selecting, "compiled" if (ordered := _ordered_by(verdict.tree)) else "program",
        determinism, verdict.assumed, verdict.shared, ordered,
    )  # fmt: skip


def _ordered_by(tree: Tree | None) -> frozenset[str]:
    """Return what the layout that the compiler chose orders in a tree."""
    nodes: Iterable[Tree] = () if tree is None else tree.walk()
    return frozenset(node.what for node in nodes) & {"reduction", "product"}


def _place(op: Op) -> Place:
    frames = source_stack(op)
    return Place(frames[0].file, frames[0].line) if frames else Place(None, None)


# -- several sizes of the batch ------------------------------------------------------------------


def _keep_tree(result: OutputResult, verdict: RowVerdict, kernel: Kernel, batch: Batch) -> None:
    """Keep a call with its trees, with calls whose other extents are the same."""
    position, output = verdict.access.argument, verdict.unsplit
    tensor = kernel.tensor(position)
    if tensor is None or position is None:
        return
    if batch.rows == 1:
        ranges = kernel.bound.ranges
        try:
            output = coordinates_of(verdict.access, tensor, ranges, ranges, here=True)
            output = led_by(output, kernel.growing(position))
        except Unfollowed:
            return
    if output is None:
        return
    merged = batch.rows == 1 and kernel.is_merged(position)
    strides = [tensor.strides[axis] * tensor.element.bytes for axis in result.row_axes]
    has_rows = not merged and bool(output.axes) and output.axes[0].step == min(strides)
    if batch.rows > 1 and not has_rows:
        return
    one, alone = pin(output) if has_rows else output, batch.rows == 1

    def tree(whole: bool) -> Tree:
        chosen = output if whole else one
        return kernel.tree(verdict.access, chosen, bound=True, indexed=True, here=alone)

    inner = tuple(n for axis, n in enumerate(tensor.shape) if axis not in result.row_axes)
    same = (inner, tensor.dtype, _shared_shapes(result, kernel, batch.rows))
    extents = kernel.extents(output)
    rows = frozenset(extents.keys() - kernel.extents(one).keys())
    several = has_rows and batch.rows > 1
    kept = Kept(
        batch, several, tree, kernel.call, verdict.access, position, extents, rows, kernel.places,
        lambda: stored_elements(kernel, position),
    )  # fmt: skip
    result.kept.setdefault(same, []).append(kept)


def _shared_shapes(result: OutputResult, kernel: Kernel, rows: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of what all rows share, without axes that are as long as the batch is."""
    found = []
    for position in (kernel.names.index(name) for name in result.shared if name in kernel.names):
        tensor, growing = kernel.tensor(position), kernel.growing_axes(position)
        if tensor is not None:
            extents = enumerate(tensor.shape)
            found.append(tuple(-1 if n == rows and axis in growing else n for axis, n in extents))
    return tuple(found)


def _compare(result: OutputResult, options: _Options) -> None:
    """Compare launches that differ in the size of the batch; look for a witness where trees do."""
    kept = with_most_sizes(result.kept.values())
    _note_stored(result, kept)
    _note_left_out(result, kept)
    _note_options(result, kept, options)
    recorded = {each.batch.rows for own in result.kept.values() for each in own}
    result.uncompared = len(recorded) - sizes_of(kept) if kept else 0
    if result.verdict == "proven" and (missed := _missed(result)) is not None:
        text = f"how a launch at {missed} rows computes one: its elements are not followed"
        result.why = (*result.why, Why("unknown", "address", text, result.place))
        result.verdict = "unknown"
    if result.verdict == "proven" and result.collected is not None:
        _note_collected(result, kept)
    trees = by_tree(kept) if sizes_of(kept) > 1 else {}
    if trees:
        comparison = worst_comparison(trees)
        result.across = Across(tuple(tuple(batches) for batches in trees.values()), comparison)
        result.why = (*result.why, *_differing_scalars(result, kept))
        if comparison.relation not in ("same", "equal"):
            result.why = (*result.why, _other_tree(result, comparison))
        if result.why and result.verdict == "proven":
            result.verdict = "depends"
        if result.verdict in ("depends", "unknown") and result.witness is None:
            result.witness = _witness(
                [next(iter(each.values())) for each in trees.values()],
                kept,
                differ=comparison.relation not in ("same", "equal"),
                numbers=_differing_names(result, kept),
            )
    if result.verdict == "unknown" and result.witness is None:
        result.witness = _of_orders(kept)
    if result.witness is not None:
        result.verdict = "violation"
    elif result.verdict == "depends" and not _is_seen(result, rounds=any(map(_rounds, trees))):
        result.verdict = "unknown"


def _of_orders(kept: Sequence[Kept]) -> Witness | None:
    """Look for an element that atomic updates leave as the order of programs decides."""
    for each in kept[:1]:
        accesses = summarise(each.call.module).accesses
        if any(access.kind == "atomic" for access in accesses):
            return in_other_order(each.call, each.position)
    return None


def _note_stored(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Note rows of which a launch does not store the elements that it stores of others."""
    patterns: dict[int, NDArray[np.bool_]] = {}
    for each in kept:
        stored = each.stored() if result.row_axes else None
        if stored is None:
            continue
        axes = sorted(result.row_axes)
        rows = np.moveaxis(stored, axes, range(len(axes))).reshape(each.batch.rows, -1)
        any_of: NDArray[np.bool_] = np.asarray(rows.any(axis=1))
        if not any_of.any():
            continue
        first = int(np.argmax(any_of))
        unlike = np.flatnonzero((rows != rows[first]).any(axis=1))
        count = int(any_of.sum())
        is_prefix = first == 0 and not any_of[count:].any()
        if unlike.size and not (
            is_prefix and (unlike >= count).all() and _is_size(result, each, count, axes, stored)
        ):
            _note_unlike(result, each, rows, first, int(unlike[0]))
        patterns[each.batch.rows] = rows[first]
    sizes = sorted(patterns)
    for size in sizes[1:]:
        small, large = patterns[sizes[0]], patterns[size]
        if small.size == large.size and (small != large).any() and result.witness is None:
            element = int(np.flatnonzero(small != large)[0])
            states = tuple("stored" if each[element] else "not stored" for each in (small, large))
            text = "other elements of it are stored at another size of the batch"
            _note(result, Why("size", "guard", text, result.place))
            result.witness = Witness(
                element, f"{sizes[0]} rows", f"{size} rows", (states[0], states[1])
            )


def _note_left_out(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Note a row that a guard leaves out at a size of the batch that no launch had.

    A number is that of the rows if it is so in launches of several sizes; others stay as they are.
    """
    if sizes_of(kept) < 2:
        return
    given = [
        (
            each.batch.rows,
            {a.name: a.value for a in each.call.arguments if isinstance(a, ScalarArgument)},
        )
        for each in kept
    ]
    for part, row, names in result.leaving:
        known = {name: {numbers.get(name) for _, numbers in given} for name in names.values()}
        counts = {n for n in known if all(numbers.get(n) == rows for rows, numbers in given)}
        same = {name: next(iter(values)) for name, values in known.items() if len(values) == 1}
        fixed = {
            name: value
            for name, value in same.items()
            if isinstance(value, int) and 0 <= value < _MOST_FIXED
        }
        if counts | fixed.keys() != known.keys():
            continue
        ends = (value + 1 for value in fixed.values())
        for count in (*range(1, _MOST_ROWS), *ends):
            numbers = {each: count if n in counts else fixed[n] for each, n in names.items()}
            stored = np.broadcast_to(part.values({row: np.arange(count), **numbers}), (count,))
            if not stored.all():
                text = f"row {int(np.argmin(stored))} of {count} is not stored"
                _note(result, Why("size", "guard", text, result.place))
                result.is_certain = True
                break


def _note_collected(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Note what is open of elements that several programs update.

    How many do, the host says: as many at all sizes of the batch, as far as launches show.
    """
    assert result.collected is not None
    grids = {tuple(each.batch.grid[axis] for axis in result.collected) for each in kept}
    if result.determinism.answer != "proven":
        text = "an atomic update, of which programs may have an order"
    elif sizes_of(kept) < 2 or len(grids) > 1:
        text = "an atomic update by programs, as many as the grid of a launch has"
    else:
        return
    result.why = (*result.why, Why("unknown", "data", text, result.place))
    result.verdict = "unknown"


def _note(result: OutputResult, why: Why) -> None:
    result.why = tuple(dict.fromkeys((*result.why, why)))
    if result.verdict == "proven":
        result.verdict = "depends"


def _is_size(
    result: OutputResult, kept: Kept, count: int, axes: Sequence[int], stored: NDArray[np.bool_]
) -> bool:
    """Whether rows end where a number says that is passed: the tensor has room for more."""
    given = {a.name: a.value for a in kept.call.arguments if isinstance(a, ScalarArgument)}
    inner = [prod(stored.shape[axis] for axis in axes[n:]) for n in range(1, len(axes) + 1)]
    return any(given.get(name, 0) * by == count for name in result.sizes for by in inner
               if isinstance(given.get(name), int))  # fmt: skip


def _note_unlike(
    result: OutputResult, kept: Kept, rows: NDArray[np.bool_], first: int, other: int
) -> None:
    """Note a row of which other elements are stored than of the first."""
    count = kept.batch.rows
    text = f"row {other} of {count} is not stored as row {first} is"
    _note(result, Why("grid" if not rows[other].any() else "row", "guard", text, result.place))
    inputs = (kept.call.arguments[n] for n in _positions(kept.call, result.own))
    lengths = {each.shape[0] for each in inputs if isinstance(each, TensorArgument) and each.shape}
    if rows[other].any() or kept.batch.rows in lengths:
        element = int(np.flatnonzero(rows[first] != rows[other])[0])
        names = ("stored", "not stored") if rows[first][element] else ("not stored", "stored")
        name = f"{count} rows, row "
        result.witness = Witness(element, f"{name}{first}", f"{name}{other}", names)


def _positions(call: Call, names: Sequence[str]) -> list[int]:
    arguments = enumerate(call.module.main.arguments)
    return [n for n, value in arguments if value.name.lstrip("%") in names]


def _note_options(result: OutputResult, kept: Sequence[Kept], options: _Options) -> None:
    """Note compile options that are not the same at all sizes of the batch.

    Warps share the rows and columns of a product, never its K, in all layouts of Triton. They
    decide which instruction multiplies: with whole groups of four, NVIDIA's takes any number.
    """
    found, decisive = [], "reduction" in result.ordered_by
    for name in _ORDERING:
        values: dict[int, set[object]] = {}
        for each in kept:
            values.setdefault(each.batch.rows, set()).add(options[id(each.call)].get(name))
        if len({frozenset(each) for each in values.values()}) > 1:
            known = sorted(set().union(*values.values()) - {None}, key=str)
            found.append(f"{name} {' or '.join(map(str, known))}")
            in_groups = all(isinstance(each, int) and each % _GROUP == 0 for each in known)
            decisive |= name != "num_warps" or not in_groups
    result.options = tuple(found)
    if found and decisive and result.order == "compiled":
        text = f"{', '.join(found)}, which order sums across lanes in the compiled code"
        result.is_certain = True
        _note(result, Why("size", "data", text, result.place))


def _missed(result: OutputResult) -> int | None:
    """Return how many rows a variant was launched for that is not compared with others."""
    kept = {one.batch.variant for own in result.kept.values() for one in own}
    missed = [rows for variant, rows in result.launched.items() if variant not in kept]
    return min(missed) if len(result.launched) > 1 and missed else None


def _rounds(tree: Tree) -> bool:
    """Whether a tree computes with floats; integers are the same in whichever order."""
    nodes = (node for node in tree.walk() if node.what in ("op", "product"))
    return any(node.what == "product" or node.detail[2].startswith(("f", "bf")) for node in nodes)


def _is_seen(result: OutputResult, *, rounds: bool) -> bool:
    """Whether trees were seen to differ, or what a value depends on needs no proof.

    What is not shown to be the row's own may be the same in all batches: then trees that differ
    show nothing, unless they have the same parts in another order, nor do numbers in what finds it.
    Nor do trees of integers: their sums have no order.
    """
    followed = all(why.cause in ("size", "update") for why in result.why)
    across = None if result.across is None else result.across.comparison
    other = None
    if across is not None and across.relation not in ("same", "equal"):
        if rounds and across.evaluated and (followed or across.relation != "different"):
            return True
        other = _other_tree(result, across)
    sizes = (why for why in result.why if why.cause == "size" and why != other)
    in_value = any(followed or why.through in ("integer", "trips") for why in sizes)
    return in_value or result.is_certain or any(why.cause == "update" for why in result.why)


def _other_tree(result: OutputResult, comparison: Comparison) -> Why:
    how = "sums in another order" if comparison.relation == "reassociated" else "another expression"
    return Why("size", "data", f"{how} at another size of the batch", result.place)


def _differing_scalars(result: OutputResult, kept: Sequence[Kept]) -> tuple[Why, ...]:
    """Return a reason for each number of the value's that differs between batches."""
    text = "{}, which differs between the recorded sizes of the batch"
    names = _differing_names(result, kept)
    return tuple(Why("size", "data", text.format(name), result.place) for name in names)


def _differing_names(result: OutputResult, kept: Sequence[Kept]) -> list[str]:
    """Return the numbers that a value is made of and that no two sizes of the batch share."""
    found = []
    for name in result.scalars:
        values: dict[int, set[object]] = {}
        for each in kept:
            given = {a.name: a.value for a in each.call.arguments if isinstance(a, ScalarArgument)}
            values.setdefault(each.batch.rows, set()).add(given.get(name))
        alike = set.intersection(*values.values())
        if not alike:
            found.append(name)
    return found


def _witness(
    different: Sequence[Kept], kept: Sequence[Kept], *, differ: bool, numbers: Sequence[str]
) -> Witness | None:
    """Look for a row with two values: in two launches, or beside other rows.

    First among rows of one number; then among all, as a row may have any number in a batch.
    """
    ordered = sorted(kept, key=lambda each: each.batch.rows)
    ends = [(ordered[0], each) for each in reversed(ordered[1:])]
    pairs = [(different[0], each) for each in different[1:]] if differ else []
    pairs = list(dict.fromkeys((*pairs, *ends)))[:_MOST_WITNESSES]
    deadline = monotonic() + _WITNESS_SECONDS
    for any_row in (False, True):
        for first, last in pairs:
            if monotonic() > deadline:
                return None
            axes = batch_axes(first.call, last.call, (first.batch.rows, last.batch.rows))
            one, other = (Batched(each.call, axes) for each in (first, last))
            if not axes.get(last.position):
                continue
            found = between(one, other, first.position, any_row=any_row, numbers=numbers)
            if not any_row:
                found = found or with_other_rows(other, last.position)
            if found is not None:
                return found
    return None
