"""Results of a run: one for each output of each kernel, with the verdict on its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf, prod
from time import thread_time
from typing import Any, Final

from kvtrace.addons.invariance.across_sizes import ORDERING, Options, compare_sizes
from kvtrace.addons.invariance.batches import Batch, ComparedCall
from kvtrace.addons.invariance.coordinates import Unfollowed, first_row_of, with_leading_axes
from kvtrace.addons.invariance.determinism import Determinism, determinism_of
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.layouts import Orders, orders_by_ttgir
from kvtrace.addons.invariance.output_results import (
    DEPENDENCES,
    Invariance,
    OutputResult,
    Reason,
    RowGuard,
    SourceLine,
)
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.rows import Outcome, RowVerdict, rows_of
from kvtrace.addons.invariance.stores import stored_elements
from kvtrace.addons.invariance.whole_numbers import kinds_in_order
from kvtrace.clients.recorded import estimated_costs
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.progress import progress
from kvtrace.recorded_calls.reading import calls_of, kernels_of_calls, stage_artifact
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Selection, Trace
from kvtrace.symbolic.trees.tree import Tree
from kvtrace.text import plural
from kvtrace.verdicts.sizes.unwritten import elements_of

_WORST: Final[tuple[Outcome, ...]] = ("unknown", "depends", "whole", "proven")
_MOST_CALLS: Final = 8
"""Limit on the judged calls of a variant, as proofs hold for all sizes and one call's strides."""


def invariance_of(
    selection: Selection,
    kernels: Collection[str] = (),
    *,
    seconds: float | None = None,
) -> Invariance:
    """Judge all outputs of the kernels of runs.

    Args:
        selection: The runs.
        kernels: Names to judge; none: all.
        seconds: Time limit, in seconds, for judging and comparing the calls of a kernel; calls that
            are not reached make its outputs unknown. None: no limit.

    """
    failures: list[str] = []
    unready: dict[str, UnreadyCall] = {}
    calls_by_kernel: dict[str, dict[int, list[Call]]] = {}
    options_of_calls: Options = {}
    costs: dict[str, float] = {}
    for run in selection.runs:
        options_by_call = kernels_of_calls(selection.trace, run, (*ORDERING, "stages"))
        run_costs = estimated_costs(selection.trace, run)
        for call in calls_of(selection.trace, run):
            if kernels and call.kernel not in kernels:
                continue
            if isinstance(call, UnreadyCall):
                failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
                unready.setdefault(call.kernel, call)
            else:
                variants = calls_by_kernel.setdefault(call.kernel, {})
                variants.setdefault(id(call.module), []).append(call)
                options = options_by_call[call.call_id]
                if "orders" not in options:  # of a kernel, whose calls share its row
                    options["orders"] = _orders_of_kernel(selection.trace, options)
                options_of_calls[id(call)] = options
                costs[call.kernel] = costs.get(call.kernel, 0.0) + run_costs[call.call_id]
    outputs: list[OutputResult] = []
    with progress("invariance") as report:
        done = 0.0
        for kernel, variants in calls_by_kernel.items():
            judged = [_selected_calls(calls) for calls in variants.values()]
            outputs += _judge_kernel(judged, options_of_calls, failures, seconds)
            report(done := done + costs[kernel], sum(costs.values()))
    _note_unseen(outputs)
    first_calls = {name: next(iter(calls.values()))[0] for name, calls in calls_by_kernel.items()}
    return Invariance(tuple(outputs), tuple(failures), first_calls, unready)


def _orders_of_kernel(trace: Trace, kernel: Mapping[str, Any]) -> Orders | None:
    """Return what decides the order of a kernel's sums, None if its TTGIR is not recorded."""
    ttgir = trace.artifact(stage_artifact(kernel, "ttgir"))
    return None if ttgir is None else orders_by_ttgir(ttgir.decode(errors="replace"))


def _note_unseen(outputs: Sequence[OutputResult]) -> None:
    """Set `unseen_sizes`: batch sizes at which other kernels were launched, but not this one.

    The row counts of an output may be counts of all elements of a tensor. So an output is compared
    only with outputs that share a row count; if no output does, with all, provided that it has
    several row counts.
    """
    sizes: dict[tuple[str, str], set[int]] = {}
    for result in outputs:
        row_counts = {call.batch.rows for calls in result.compared_calls.values() for call in calls}
        sizes.setdefault((result.kernel, result.output), set()).update(row_counts)
    for result in outputs:
        name = (result.kernel, result.output)
        own_sizes = sizes[name]
        other_sizes = [
            row_counts
            for key, row_counts in sizes.items()
            if key != name and row_counts & own_sizes
        ]
        if not other_sizes and len(own_sizes) > 1:
            other_sizes = list(sizes.values())
        result.unseen_sizes = tuple(sorted(set().union(*other_sizes) - own_sizes))


def _selected_calls(calls: Sequence[Call]) -> list[Call]:
    """Return at most `_MOST_CALLS` calls of a variant, from the smallest to the largest tensors."""
    ordered = sorted(calls, key=elements_of)
    step = max(1, -(-len(ordered) // _MOST_CALLS))
    return [*ordered[:-1:step], ordered[-1]]


def _judge_kernel(
    variants: Sequence[Sequence[Call]], options: Options, failures: list[str], seconds: float | None
) -> list[OutputResult]:
    """Judge the outputs of one kernel by calls of its variants, from the largest call on.

    The largest call decides which axes of each output number its rows. A call of one row is only
    compared with the others, as it cannot show these axes. Failures are appended to `failures`.
    """
    results: dict[tuple[str, int], OutputResult] = {}
    calls = [(call, variant) for variant, recorded in enumerate(variants) for call in recorded]
    growing = _growing_axes([call for call, _ in calls])
    deadline, unjudged = thread_time() + (inf if seconds is None else seconds), 0
    kernels: list[Kernel] = []
    for call, variant in sorted(calls, key=lambda pair: -elements_of(pair[0])):
        if results and thread_time() > deadline:
            unjudged += 1
            continue
        try:
            determinism = next(iter(results.values())).determinism if results else None
            call_determinism = (
                determinism_of(call)
                if determinism is None or determinism.answer == "proven"
                else determinism
            )
            recorded = [each for each, _ in calls]
            kernels.append(Kernel(call, growing=growing, recorded=recorded, deadline=deadline))
            _add_verdicts(kernels[-1], results, variant, call_determinism)
        except KvtraceError as error:
            failures.append(f"call {call.call_id} of {call.kernel}: {error}")
    unjudged += sum(kernel.is_late for kernel in kernels)
    for result in results.values():
        is_compared = not unjudged and thread_time() <= deadline
        if is_compared:
            compare_sizes(result, options)
        late_count = unjudged or sum(kernel.is_late for kernel in kernels)
        if (late_count or not is_compared) and result.verdict != "violation":
            subject = (
                f"{plural(late_count, 'call')} of the kernel"
                if late_count
                else "how its launches compare"
            )
            text = f"{subject}, for which {seconds:g} s did not suffice"
            result.reasons = (*result.reasons, Reason("unknown", "data", text, result.source))
            result.verdict = "unknown"
        _apply_race(result)
    return list(results.values())


def _apply_race(result: OutputResult) -> None:
    """Make an output unknown if programs are proven to race on its memory: verdicts assume none."""
    race = result.race
    is_assumed = result.verdict in ("proven", "whole")
    if race is not None and race.verdict == "violation" and is_assumed:
        reason = Reason("race", "data", race.message, SourceLine.of(race.op))
        result.verdict, result.reasons = "unknown", (*result.reasons, reason)


def _growing_axes(calls: Sequence[Call]) -> dict[int, frozenset[int]]:
    """Return the axes of tensors, by argument position, whose extents differ between calls."""
    growing: dict[int, frozenset[int]] = {}
    for position in range(max(len(call.arguments) for call in calls)):
        arguments = [call.arguments[position] for call in calls if position < len(call.arguments)]
        shapes = {argument.shape for argument in arguments if isinstance(argument, TensorArgument)}
        if len({len(shape) for shape in shapes}) == 1:
            axes = enumerate(zip(*shapes, strict=True))
            growing[position] = frozenset(axis for axis, extents in axes if len(set(extents)) > 1)
    return growing


def _add_verdicts(
    kernel: Kernel,
    results: dict[tuple[str, int], OutputResult],
    variant: int,
    determinism: Determinism,
) -> None:
    call = kernel.call
    store_numbers: dict[str, int] = {}
    for verdict in rows_of(kernel):
        number = store_numbers[verdict.argument] = store_numbers.get(verdict.argument, -1) + 1
        result = results.get((verdict.argument, number))
        batch = None if result is None else _batch(result, verdict, kernel, variant)
        if result is None:
            result = _result(call, verdict, determinism)
            result.row_axes = _row_axes(verdict, kernel)
            result.row_guards = _row_guards(verdict, kernel)
            result.update_axes = verdict.update_axes
            results[verdict.argument, number] = result
            batch = _batch(result, verdict, kernel, variant)
        elif verdict.ambiguous and variant in result.variants:
            continue
        elif batch is None or batch.rows > 1:
            _merge(result, _result(call, verdict, determinism))
        if not verdict.ambiguous:
            result.variants.add(variant)
        if batch is not None:
            result.fewest_rows[variant] = batch.rows
            _add_compared_call(result, verdict, kernel, batch)


def _row_guards(verdict: RowVerdict, kernel: Kernel) -> tuple[RowGuard, ...]:
    """Return guards that may leave out rows; none if several stores write the output."""
    if not verdict.row_guards or not kernel.has_one_store(verdict.access.argument):
        return ()
    row = verdict.row_axes[0].coordinate
    return tuple(
        RowGuard(guard, row, {number: kernel.scalar(number) for number in guard.symbols("scalar")})
        for guard in verdict.row_guards
    )


def _row_axes(verdict: RowVerdict, kernel: Kernel) -> frozenset[int]:
    """Return the tensor's axes that number an output's rows; empty if no axis is known."""
    tensor = kernel.call.tensor_at(verdict.access.argument)
    if tensor is None or verdict.unsplit_output is None or not verdict.unsplit_output.axes:
        return frozenset()
    step = verdict.unsplit_output.axes[0].step
    axis_steps = list(enumerate(stride * tensor.element.bytes for stride in tensor.strides))
    if any(axis.step > step for axis in verdict.unsplit_output.axes):
        return frozenset(axis for axis, stride in axis_steps if stride == step)
    return frozenset(axis for axis, stride in axis_steps if stride >= step)


def _batch(result: OutputResult, verdict: RowVerdict, kernel: Kernel, variant: int) -> Batch | None:
    """Return the size of a call's batch; None where no axis of the output numbers rows."""
    tensor = kernel.call.tensor_at(verdict.access.argument)
    if tensor is None or not result.row_axes or max(result.row_axes) >= len(tensor.shape):
        return None
    rows = prod(tensor.shape[axis] for axis in result.row_axes)
    return Batch(rows, variant, kernel.call.grid)


def _merge(result: OutputResult, other: OutputResult) -> None:
    """Add another call's result to an output's result; the worse verdict counts."""
    result.calls += 1
    if _WORST.index(other.verdict) < _WORST.index(result.verdict):
        result.verdict, result.source, result.rows = (other.verdict, other.source, other.rows)
    for name in DEPENDENCES:
        setattr(result, name, tuple(dict.fromkeys((*getattr(result, name), *getattr(other, name)))))
    result.ordered_by |= other.ordered_by
    if result.determinism.answer == "proven":
        result.determinism = other.determinism


def _result(call: Call, verdict: RowVerdict, determinism: Determinism) -> OutputResult:
    return OutputResult(
        call.kernel, verdict.argument, verdict.verdict, len(verdict.row_axes),
        SourceLine.of(verdict.op), determinism, kinds_in_order(verdict.tree),
        **{name: getattr(verdict, name) for name in DEPENDENCES},
    )  # fmt: skip


# -- several sizes of the batch ------------------------------------------------------------------


def _add_compared_call(
    result: OutputResult, verdict: RowVerdict, kernel: Kernel, batch: Batch
) -> None:
    """Add a call to the calls of the same inner extents, for comparison with them.

    Calls whose coordinates are not followed, or whose rows are not the outermost axis, are not
    added.
    """
    position, output = verdict.access.argument, verdict.unsplit_output
    tensor = kernel.call.tensor_at(position)
    if tensor is None or position is None:
        return
    if batch.rows == 1:
        ranges = kernel.bound.ranges
        try:
            output = coordinates_of(verdict.access, tensor, ranges, ranges, this_call_only=True)
            output = with_leading_axes(output, kernel.growing_steps(position))
        except Unfollowed:
            return
    if output is None:
        return
    has_merged_axes = batch.rows == 1 and kernel.is_merged(position)
    strides = [tensor.strides[axis] * tensor.element.bytes for axis in result.row_axes]
    has_rows = not has_merged_axes and bool(output.axes) and output.axes[0].step == min(strides)
    if batch.rows > 1 and not has_rows:
        return
    first_row, is_single_row = first_row_of(output) if has_rows else output, batch.rows == 1

    def tree(of_all_rows: bool) -> Tree:
        coordinates = output if of_all_rows else first_row
        return kernel.tree(
            verdict.access, coordinates, bound=True, indexed=True, this_call_only=is_single_row
        )

    inner_extents = tuple(n for axis, n in enumerate(tensor.shape) if axis not in result.row_axes)
    key = (inner_extents, tensor.dtype, _shared_shapes(result, kernel, batch.rows))
    extents = kernel.extents(output)
    row_coordinates = frozenset(extents.keys() - kernel.extents(first_row).keys())
    has_all_rows = has_rows and batch.rows > 1
    call = ComparedCall(
        batch, has_all_rows, tree, kernel.call, position, extents, row_coordinates,
        lambda: stored_elements(kernel.call, position),
    )  # fmt: skip
    result.compared_calls.setdefault(key, []).append(call)


def _shared_shapes(result: OutputResult, kernel: Kernel, rows: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of tensors shared by all rows, with -1 for extents that equal the rows."""
    shapes = []
    for position in (kernel.names.index(name) for name in result.shared if name in kernel.names):
        tensor, growing = kernel.call.tensor_at(position), kernel.growing_axes(position)
        if tensor is not None:
            extents = enumerate(tensor.shape)
            shapes.append(tuple(-1 if n == rows and axis in growing else n for axis, n in extents))
    return tuple(shapes)
