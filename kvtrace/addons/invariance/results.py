"""Results of a run: one for each output of each kernel, with the verdict on its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod
from time import thread_time
from typing import TYPE_CHECKING, Final

from kvtrace.addons.invariance.across_sizes import ORDERING, Options, compare_sizes
from kvtrace.addons.invariance.batches import Batch, Kept
from kvtrace.addons.invariance.coordinates import Unfollowed, led_by, pin
from kvtrace.addons.invariance.determinism import Determinism, determinism_of
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.output_results import (
    Invariance,
    OutputResult,
    Place,
    RowGuard,
    Why,
)
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.rows import Outcome, RowVerdict, rows_of
from kvtrace.addons.invariance.stored import stored_elements
from kvtrace.addons.invariance.trees import Tree
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.schema.trace import Run, Selection

_WORST: Final[tuple[Outcome, ...]] = ("unknown", "depends", "whole", "proven")
_MOST_CALLS: Final = 8
"""So many calls of a variant are judged: proofs are for all sizes and the strides of one call."""


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
        shown: Callback that shows progress.
        seconds: Time limit, in seconds, for judging and comparing the calls of a kernel; calls that
            are not reached make its outputs unknown. None: no limit.

    """
    failures: list[str] = []
    called: dict[str, dict[int, list[Call]]] = {}
    options: Options = {}
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
    """Return the compile options that order sums, for each call of a run."""
    rows = selection.trace.table("kernels", (run,), ["kernel_id", *ORDERING]).to_pylist()
    kernels = {row.pop("kernel_id"): row for row in rows}
    calls = selection.trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    return {row["call_id"]: kernels.get(row["kernel_id"], {}) for row in calls}


def _note_unseen(outputs: Sequence[OutputResult]) -> None:
    """Note sizes of the batch for which other kernels were launched and this one was not.

    What an output counts as rows may be all elements of a tensor. So it is compared with those
    alone that were seen at a size that it was seen at; where there are none, with all, if it was
    seen at several sizes.
    """
    sizes: dict[tuple[str, str], set[int]] = {}
    for result in outputs:
        rows = {one.batch.rows for kept in result.kept.values() for one in kept}
        sizes.setdefault((result.kernel, result.output), set()).update(rows)
    for result in outputs:
        name = (result.kernel, result.output)
        own = sizes[name]
        others = [rows for key, rows in sizes.items() if key != name and rows & own]
        if not others and len(own) > 1:
            others = list(sizes.values())
        result.unseen = tuple(sorted(set().union(*others) - own))


def _spread(calls: Sequence[Call]) -> list[Call]:
    """Return the calls of a variant that are judged, from the smallest to the largest."""
    ordered = sorted(calls, key=_elements)
    step = max(1, -(-len(ordered) // _MOST_CALLS))
    return [*ordered[:-1:step], ordered[-1]]


def _elements(call: Call) -> int:
    return sum(prod(each.shape) for each in call.arguments if isinstance(each, TensorArgument))


def _of_kernel(
    variants: Sequence[Sequence[Call]],
    options: Options,
    failures: list[str],
    seconds: float | None,
) -> list[OutputResult]:
    """Judge one kernel by calls of its variants.

    The largest call tells which axes of each output number its rows. A call of one row cannot: it
    is only compared with the others.
    """
    results: dict[tuple[str, int], OutputResult] = {}
    calls = [(call, variant) for variant, own in enumerate(variants) for call in own]
    growing = _growing([call for call, _ in calls])
    deadline, left = thread_time() + (inf if seconds is None else seconds), 0
    kernels: list[Kernel] = []
    for call, variant in sorted(calls, key=lambda pair: -_elements(pair[0])):
        if results and thread_time() > deadline:
            left += 1
            continue
        try:
            determinism = next(iter(results.values())).determinism if results else None
            again = (
                determinism_of(call)
                if determinism is None or determinism.answer == "proven"
                else determinism
            )
            kernels.append(Kernel(call, growing=growing, deadline=deadline))
            _add(kernels[-1], results, variant, again)
        except KvtraceError as error:
            failures.append(f"call {call.call_id} of {call.kernel}: {error}")
    left += sum(kernel.is_late for kernel in kernels)
    for result in results.values():
        is_compared = not left and thread_time() <= deadline
        if is_compared:
            compare_sizes(result, options)
        late = left or sum(kernel.is_late for kernel in kernels)
        if (late or not is_compared) and result.verdict != "violation":
            what = f"{plural(late, 'call')} of the kernel" if late else "how its launches compare"
            text = f"{what}, for which {seconds:g} s did not suffice"
            result.why = (*result.why, Why("unknown", "data", text, result.place))
            result.verdict = "unknown"
    for kernel in kernels:
        kernel.end_deadline()  # what is made of it from here on is drawn
    return list(results.values())


def _growing(calls: Sequence[Call]) -> dict[int, frozenset[int]]:
    """Return the axes of tensors, by argument position, whose length differs between calls."""
    growing: dict[int, frozenset[int]] = {}
    for position in range(max(len(call.arguments) for call in calls)):
        given = [call.arguments[position] for call in calls if position < len(call.arguments)]
        shapes = {each.shape for each in given if isinstance(each, TensorArgument)}
        if len({len(shape) for shape in shapes}) == 1:
            axes = enumerate(zip(*shapes, strict=True))
            growing[position] = frozenset(axis for axis, extents in axes if len(set(extents)) > 1)
    return growing


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
            known.leaving = _row_guards(verdict, kernel)
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


def _row_guards(verdict: RowVerdict, kernel: Kernel) -> tuple[RowGuard, ...]:
    """Return the guards of an output's only store that may leave out rows."""
    if not verdict.leaving or not kernel.has_one_store(verdict.access.argument):
        return ()
    row = verdict.rows[0].coordinate
    return tuple(
        RowGuard(guard, row, {number: kernel.scalar(number) for number in guard.symbols("scalar")})
        for guard in verdict.leaving
    )


def _row_axes(verdict: RowVerdict, kernel: Kernel) -> frozenset[int]:
    """Return the axes of the tensor that number the rows of an output."""
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
    """Merge the result of another call into an output's result: the worse verdict counts."""
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
    """Return the operations in a tree whose order the compiler's layout decides."""
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
    """Return the shapes of tensors that all rows share, without axes as long as the batch."""
    shapes = []
    for position in (kernel.names.index(name) for name in result.shared if name in kernel.names):
        tensor, growing = kernel.tensor(position), kernel.growing_axes(position)
        if tensor is not None:
            extents = enumerate(tensor.shape)
            shapes.append(tuple(-1 if n == rows and axis in growing else n for axis, n in extents))
    return tuple(shapes)
