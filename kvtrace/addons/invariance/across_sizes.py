"""Comparison of an output's recorded launches at several sizes of the batch.

The comparison adds reasons that no single launch shows: another expression tree, other stored rows
or elements, other compile options, and a row with two values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from time import thread_time
from typing import Final, TypeAlias, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.invariance.batches import (
    Batch,
    ComparedCall,
    SizeComparison,
    calls_by_tree,
    calls_of_most_sizes,
    count_sizes,
    worst_comparison,
)
from kvtrace.addons.invariance.compared import Comparison
from kvtrace.addons.invariance.layouts import Orders, Sums, orders_by_shape
from kvtrace.addons.invariance.output_results import OutputResult, Reason, RowGuard
from kvtrace.addons.invariance.trees import are_extremes_alone
from kvtrace.addons.invariance.whole_numbers import kinds_in_order
from kvtrace.addons.invariance.witness import (
    BatchedCall,
    Witness,
    batch_axes,
    witness_between_sizes,
    witness_of_other_rows,
    witness_of_program_order,
    witness_on_nans,
)
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.symbolic.trees.tree import Tree
from kvtrace.symbolic.walk import summarize

ORDERING: Final = ("num_warps", "num_ctas")
"""Compile options that decide how sums across lanes are ordered."""
_GROUP: Final = 4
"""Number of warps that multiply a matrix together on NVIDIA GPUs."""
Options: TypeAlias = "dict[int, dict[str, object]]"
"""Compile options by the id of a call."""
_MOST_WITNESSES: Final = 4
"""Limit on the pairs of calls that are evaluated to find a row with two values."""
_MOST_ROWS: Final = 65
_MOST_FIXED: Final = 1 << 20
"""Limits on the row counts, and on the scalars' values, that are tried to find a row left out."""
_WITNESS_SECONDS: Final = 5.0
"""CPU time after which no further evaluation for a witness begins."""


def compare_sizes(result: OutputResult, options: Options) -> None:
    """Compare the launches of an output at several batch sizes, and add the findings to its result.

    Reasons, verdict, `options`, `size_comparison`, `uncompared_size_count` and `witness` of the
    result are updated. A witness is searched for only if the verdict is "depends" or "unknown".
    """
    compared_calls = calls_of_most_sizes(result.compared_calls.values())
    _note_stored(result, compared_calls)
    _note_left_out_rows(result, compared_calls)
    batches_by_tree = calls_by_tree(compared_calls) if count_sizes(compared_calls) > 1 else {}
    if batches_by_tree:
        result.ordered_by = frozenset().union(*map(kinds_in_order, batches_by_tree))
    _note_options(result, compared_calls, options)
    _note_orders(result, compared_calls, options)
    recorded = {launch.batch.rows for calls in result.compared_calls.values() for launch in calls}
    result.uncompared_size_count = (
        len(recorded) - count_sizes(compared_calls) if compared_calls else 0
    )
    if result.verdict == "proven" and (missed := _smallest_uncompared_size(result)) is not None:
        text = f"the launch at {missed} rows, whose stored elements are not followed"
        result.reasons = (*result.reasons, Reason("unknown", "address", text, result.source))
        result.verdict = "unknown"
    if result.verdict == "proven" and result.update_axes is not None:
        _note_collected(result, compared_calls)
    if batches_by_tree:
        comparison = _of_ordered_floats(result, worst_comparison(batches_by_tree), batches_by_tree)
        result.size_comparison = SizeComparison(
            tuple(tuple(batches) for batches in batches_by_tree.values()), comparison
        )
        result.reasons = (*result.reasons, *_differing_scalars(result, compared_calls))
        if comparison.relation not in ("same", "equal"):
            result.reasons = (*result.reasons, _other_tree_reason(result, comparison))
        if result.reasons and result.verdict == "proven":
            result.verdict = "depends"
        if result.verdict in ("depends", "unknown") and result.witness is None:
            result.witness = _find_witness(
                [next(iter(launches.values())) for launches in batches_by_tree.values()],
                compared_calls,
                differ=comparison.relation not in ("same", "equal"),
                numbers=_differing_names(result, compared_calls),
            )
    if result.verdict == "unknown" and result.witness is None:
        result.witness = _find_order_witness(compared_calls)
    if result.witness is not None:
        result.verdict = "violation"
    elif result.verdict == "depends" and not _is_difference_seen(
        result,
        rounds=any(map(_computes_floats, batches_by_tree))
        and not are_extremes_alone(batches_by_tree),
    ):
        result.verdict = "unknown"


def _of_ordered_floats(
    result: OutputResult,
    comparison: Comparison,
    launches: Mapping[Tree, Mapping[Batch, ComparedCall]],
) -> Comparison:
    """Return a comparison as "equal" if only maxima, or only minima, are in another order.

    These are the largest numbers of the same elements, whatever the order. NaNs are left out, so a
    padding of -inf decides where all elements are NaN: this case is evaluated.
    """
    if comparison.relation != "reassociated" or not are_extremes_alone(launches):
        return comparison
    first, *others = (next(iter(of_tree.values())) for of_tree in launches.values())
    for other in others:
        axes = batch_axes(first.call, other.call, (first.batch.rows, other.batch.rows))
        small, large = (BatchedCall(launch.call, axes) for launch in (first, other))
        has_rows = axes.get(first.position)
        found = witness_on_nans(small, large, first.position) if has_rows else False
        if isinstance(found, Witness):
            result.witness = found
        if found is not True:
            return comparison
    return replace(comparison, relation="equal")


def _find_order_witness(launches: Sequence[ComparedCall]) -> Witness | None:
    """Return an element of the first launch that changes with the order of programs, else None."""
    for launch in launches[:1]:
        accesses = summarize(launch.call.module).accesses
        if any(access.kind == "atomic" for access in accesses):
            return witness_of_program_order(launch.call, launch.position)
    return None


def _note_stored(result: OutputResult, launches: Sequence[ComparedCall]) -> None:
    """Add reasons and a witness if rows, or launches, differ in the elements that they store."""
    patterns: dict[int, NDArray[np.bool_]] = {}
    for launch in launches:
        stored = launch.stored() if result.row_axes else None
        if stored is None:
            continue
        axes = sorted(result.row_axes)
        rows = np.moveaxis(stored, axes, range(len(axes))).reshape(launch.batch.rows, -1)
        has_stored: NDArray[np.bool_] = np.asarray(rows.any(axis=1))
        if not has_stored.any():
            continue
        first_stored = int(np.argmax(has_stored))
        differing_rows = np.flatnonzero((rows != rows[first_stored]).any(axis=1))
        stored_count = int(has_stored.sum())
        is_prefix = first_stored == 0 and not has_stored[stored_count:].any()
        if differing_rows.size and not (
            is_prefix
            and (differing_rows >= stored_count).all()
            and _is_size(result, launch, stored_count, axes, stored)
        ):
            _note_unlike(result, launch, rows, first_stored, int(differing_rows[0]))
        patterns[launch.batch.rows] = rows[first_stored]
    sizes = sorted(patterns)
    for size in sizes[1:]:
        small, large = patterns[sizes[0]], patterns[size]
        if small.size == large.size and (small != large).any() and result.witness is None:
            element = int(np.flatnonzero(small != large)[0])
            states = tuple("stored" if mask[element] else "not stored" for mask in (small, large))
            text = "other elements of a row are stored at another size of the batch"
            _add_reason(result, Reason("size", "guard", text, result.source))
            result.witness = Witness(
                element, f"{sizes[0]} rows", f"{size} rows", (states[0], states[1])
            )


def _note_left_out_rows(result: OutputResult, kept: Sequence[ComparedCall]) -> None:
    """Add a reason if a guard leaves out a row; launches of two sizes are needed to find it."""
    if count_sizes(kept) < 2:
        return
    rows_and_scalars = [(launch.batch.rows, launch.call.scalars) for launch in kept]
    for guard in result.row_guards:
        left_out = _left_out_row(guard, rows_and_scalars)
        if left_out is not None:
            row, count = left_out
            text = f"row {row} of {count} is not stored"
            _add_reason(result, Reason("size", "guard", text, result.source))
            result.is_certain_change = True


def _left_out_row(
    guard: RowGuard, launches: Sequence[tuple[int, Mapping[str, object]]]
) -> tuple[int, int] | None:
    """Return (row, number of rows) of the first row that a guard leaves out, if any.

    A scalar counts rows if it equals their number in launches of several sizes; other scalars keep
    their values.

    Args:
        guard: The guard.
        launches: The number of rows and the scalar arguments of each launch.

    """
    names = set(guard.names.values())
    values_by_name = {n: {scalars.get(n) for _, scalars in launches} for n in sorted(names)}
    counting = {n for n in names if all(scalars.get(n) == rows for rows, scalars in launches)}
    fixed = {
        name: value
        for name, (value, *others) in values_by_name.items()
        if not others and isinstance(value, int) and 0 <= value < _MOST_FIXED
    }
    if counting | fixed.keys() != names:
        return None
    beyond_fixed = (value + 1 for value in fixed.values())
    for row_count in (*range(1, _MOST_ROWS), *beyond_fixed):
        scalars = {
            n: row_count if name in counting else fixed[name] for n, name in guard.names.items()
        }
        guard_truth = guard.condition.values({guard.row: np.arange(row_count), **scalars})
        stored = np.broadcast_to(guard_truth, (row_count,))
        if not stored.all():
            return int(np.argmin(stored)), row_count
    return None


def _note_collected(result: OutputResult, launches: Sequence[ComparedCall]) -> None:
    """Make a result with atomic updates unknown, unless its number of updating programs is fixed.

    The host decides that number, so recorded launches at several sizes must agree on it.
    """
    assert result.update_axes is not None
    grids = {tuple(launch.batch.grid[axis] for axis in result.update_axes) for launch in launches}
    if result.determinism.answer != "proven":
        text = "an atomic update that may depend on the order of programs"
    elif count_sizes(launches) < 2 or len(grids) > 1:
        text = "an atomic update by all programs, whose number changes with the batch"
    else:
        return
    result.reasons = (*result.reasons, Reason("unknown", "data", text, result.source))
    result.verdict = "unknown"


def _add_reason(result: OutputResult, why: Reason) -> None:
    result.reasons = tuple(dict.fromkeys((*result.reasons, why)))
    if result.verdict == "proven":
        result.verdict = "depends"


def _is_size(
    result: OutputResult,
    launch: ComparedCall,
    count: int,
    axes: Sequence[int],
    stored: NDArray[np.bool_],
) -> bool:
    """Return whether the number of stored rows is a scalar argument, or a multiple of one.

    The multiples are the products of inner row axes. True for a tensor with room for more rows.
    """
    scalars = launch.call.scalars
    inner_counts = [prod(stored.shape[axis] for axis in axes[n:]) for n in range(1, len(axes) + 1)]
    sizes = [size for name in result.sizes if isinstance(size := scalars.get(name), int)]
    return any(size * n == count for size in sizes for n in inner_counts)


def _note_unlike(
    result: OutputResult, launch: ComparedCall, rows: NDArray[np.bool_], first: int, other: int
) -> None:
    """Add a reason that row `other` stores other elements than `first`; a witness if certain."""
    row_count = launch.batch.rows
    text = f"row {other} of {row_count} has other stored elements than row {first}"
    _add_reason(
        result,
        Reason("grid" if not rows[other].any() else "row", "guard", text, result.source),
    )
    parameters = zip(launch.call.module.main.arguments, launch.call.arguments, strict=False)
    inputs = (tensor for value, tensor in parameters if value.name.lstrip("%") in result.own)
    input_lengths = {
        tensor.shape[0] for tensor in inputs if isinstance(tensor, TensorArgument) and tensor.shape
    }
    if rows[other].any() or launch.batch.rows in input_lengths:
        element = int(np.flatnonzero(rows[first] != rows[other])[0])
        names = ("stored", "not stored") if rows[first][element] else ("not stored", "stored")
        name = f"{row_count} rows, row "
        result.witness = Witness(element, f"{name}{first}", f"{name}{other}", names)


def _note_options(result: OutputResult, launches: Sequence[ComparedCall], options: Options) -> None:
    """Add a reason for compile options that differ between batch sizes and may reorder sums.

    Warps divide the rows and columns of a product, never its K, in all layouts of Triton; but the
    number of warps selects the instruction that multiplies, which for NVIDIA is the same for all
    multiples of `_GROUP`.
    """
    options_by_size, change_sums = [], "reduction" in result.ordered_by
    for name in ORDERING:
        values: dict[int, set[object]] = {}
        for call in launches:
            values.setdefault(call.batch.rows, set()).add(options[id(call.call)].get(name))
        if len({frozenset(of_size) for of_size in values.values()}) > 1:
            distinct = sorted(set().union(*values.values()) - {None}, key=str)
            options_by_size.append(f"{name} {' or '.join(map(str, distinct))}")
            whole_groups = all(isinstance(n, int) and n % _GROUP == 0 for n in distinct)
            change_sums |= name != "num_warps" or not whole_groups
    result.options = tuple(options_by_size)
    if options_by_size and change_sums and result.ordered_by:
        text = f"{', '.join(options_by_size)}, which decide the order of sums across lanes"
        result.is_certain_change = True
        _add_reason(result, Reason("size", "data", text, result.source))


def _note_orders(result: OutputResult, launches: Sequence[ComparedCall], options: Options) -> None:
    """Add a reason for sums whose order other blocks of other batch sizes may change.

    The code of a variant decides on threads along a summed axis, and on instructions of products.
    """
    calls = [launch.call for launch in launches]
    by_code = all(options[id(call)]["orders"] is not None for call in calls)
    orders = {
        id(call): options[id(call)]["orders"] if by_code else orders_by_shape(call.module)
        for call in calls
    }
    kinds: tuple[Sums, ...] = ("reduction", "product")
    for kind in (kind for kind in kinds if kind in result.ordered_by):
        by_size: dict[int, set[object]] = {}
        for launch in launches:
            of_call = cast("Orders", orders[id(launch.call)])
            by_size.setdefault(launch.batch.rows, set()).add(of_call[kind])
        if len({*map(frozenset, by_size.values())}) < 2:
            continue
        if by_code and kind == "reduction":
            text = "other threads hold the blocks of its sums, which decide the order of terms"
            result.is_certain_change = True
            _add_reason(result, Reason("size", "data", text, result.source))
            continue
        text = "the order of terms in products, which other instructions multiply at another size"
        if not by_code:
            text = "the order of terms in blocks of other shapes at another size (record TTGIR)"
        result.verdict = "unknown" if result.verdict == "proven" else result.verdict
        _add_reason(result, Reason("unknown", "data", text, result.source))


def _smallest_uncompared_size(result: OutputResult) -> int | None:
    """Return the fewest rows of a variant without a compared call; None: all are compared."""
    compared = {call.batch.variant for calls in result.compared_calls.values() for call in calls}
    row_counts = [rows for variant, rows in result.fewest_rows.items() if variant not in compared]
    return min(row_counts) if len(result.fewest_rows) > 1 and row_counts else None


def _computes_floats(tree: Tree) -> bool:
    """Return whether a tree has a float operation or a product, so that its order matters."""
    nodes = (node for node in tree.walk() if node.what in ("op", "product"))
    return any(node.what == "product" or node.detail[2].startswith(("f", "bf")) for node in nodes)


def _is_difference_seen(result: OutputResult, *, rounds: bool) -> bool:
    """Return whether the verdict "depends" has evidence: trees that differ, or a certain reason.

    Trees count only if they compute with floats that round (`rounds`), as sums of integers have no
    order, nor maxima, which a padding below all numbers leaves, and
    if all other reasons are followed or both trees have the same parts in another order. A size in
    the value counts, and so do atomic updates in free order.
    """
    are_all_followed = all(why.cause in ("size", "update") for why in result.reasons)
    comparison = None if result.size_comparison is None else result.size_comparison.comparison
    tree_reason = None
    if comparison is not None and comparison.relation not in ("same", "equal"):
        if (
            rounds
            and comparison.evaluated
            and (are_all_followed or comparison.relation != "different")
        ):
            return True
        tree_reason = _other_tree_reason(result, comparison)
    size_reasons = (why for why in result.reasons if why.cause == "size" and why != tree_reason)
    in_value = any(are_all_followed or why.through in ("integer", "trips") for why in size_reasons)
    return (
        in_value or result.is_certain_change or any(why.cause == "update" for why in result.reasons)
    )


def _other_tree_reason(result: OutputResult, comparison: Comparison) -> Reason:
    kind = "another expression"
    if comparison.relation == "reassociated":
        kind = "sums or maxima in another order"
    return Reason("size", "data", f"{kind} at another size of the batch", result.source)


def _differing_scalars(
    result: OutputResult, launches: Sequence[ComparedCall]
) -> tuple[Reason, ...]:
    text = "{}, which differs between the recorded sizes of the batch"
    names = _differing_names(result, launches)
    return tuple(Reason("size", "data", text.format(name), result.source) for name in names)


def _differing_names(result: OutputResult, launches: Sequence[ComparedCall]) -> list[str]:
    """Return the scalars in a row's value for which no number occurs at every batch size."""
    names = []
    for name in result.scalars:
        values_by_size: dict[int, set[object]] = {}
        for launch in launches:
            scalars = launch.call.scalars
            values_by_size.setdefault(launch.batch.rows, set()).add(scalars.get(name))
        shared_values = set.intersection(*values_by_size.values())
        if not shared_values:
            names.append(name)
    return names


def _find_witness(
    launches_of_trees: Sequence[ComparedCall],
    launches: Sequence[ComparedCall],
    *,
    differ: bool,
    numbers: Sequence[str],
) -> Witness | None:
    """Search for a row with two values: in two launches, or beside other rows of one launch.

    Row 0 of both launches is compared first, then row 0 with all rows, since a row may be anywhere
    in a batch. None if nothing is found in `_WITNESS_SECONDS`.
    """
    ordered = sorted(launches, key=lambda launch: launch.batch.rows)
    size_pairs = [(ordered[0], launch) for launch in reversed(ordered[1:])]
    pairs = [(launches_of_trees[0], launch) for launch in launches_of_trees[1:]] if differ else []
    pairs = list(dict.fromkeys((*pairs, *size_pairs)))[:_MOST_WITNESSES]
    deadline = thread_time() + _WITNESS_SECONDS
    for any_row in (False, True):
        for small, large in pairs:
            if thread_time() > deadline:
                return None
            axes = batch_axes(small.call, large.call, (small.batch.rows, large.batch.rows))
            small_batch, large_batch = (BatchedCall(launch.call, axes) for launch in (small, large))
            if not axes.get(large.position):
                continue
            witness = witness_between_sizes(
                small_batch, large_batch, small.position, any_row=any_row, numbers=numbers
            )
            if not any_row:
                witness = witness or witness_of_other_rows(large_batch, large.position)
            if witness is not None:
                return witness
    return None
