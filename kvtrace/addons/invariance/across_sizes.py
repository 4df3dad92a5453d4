"""Comparison of an output's recorded launches at several sizes of the batch.

Launches add reasons to a result that one launch cannot show: another tree, other rows or elements
that are stored, other compile options, and a row with two values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from time import thread_time
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from kvtrace.addons.invariance.batches import (
    Across,
    Kept,
    by_tree,
    sizes_of,
    with_most_sizes,
    worst_comparison,
)
from kvtrace.addons.invariance.output_results import OutputResult, RowGuard, Why
from kvtrace.addons.invariance.witness import (
    Batched,
    Witness,
    batch_axes,
    between,
    in_other_order,
    with_other_rows,
)
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.invariance.compared import Comparison
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.recorded_calls.recorded import Call

ORDERING: Final = ("num_warps", "num_ctas")
"""Compile options that decide how sums across lanes are ordered."""
_GROUP: Final = 4
"""Warps that multiply together."""
Options: TypeAlias = "dict[int, dict[str, object]]"
"""Compile options by the id of a call."""
_MOST_WITNESSES: Final = 4
"""So many pairs of calls are evaluated to find a row with two values."""
_MOST_ROWS: Final = 65
_MOST_FIXED: Final = 1 << 20
"""Rows, and numbers, up to which rows are sought that a guard leaves out."""
_WITNESS_SECONDS: Final = 5.0
"""So long evaluations are begun for that."""


def compare_sizes(result: OutputResult, options: Options) -> None:
    """Compare launches that differ in the size of the batch; look for a witness where trees do."""
    kept = with_most_sizes(result.kept.values())
    _note_stored(result, kept)
    _note_left_out(result, kept)
    _note_options(result, kept, options)
    recorded = {launch.batch.rows for own in result.kept.values() for launch in own}
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
                [next(iter(launches.values())) for launches in trees.values()],
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
    """Return an element whose atomic updates depend on the order of programs, if one is found."""
    for launch in kept[:1]:
        accesses = summarize(launch.call.module).accesses
        if any(access.kind == "atomic" for access in accesses):
            return in_other_order(launch.call, launch.position)
    return None


def _note_stored(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Note rows with other stored elements than the first row, or than at another size."""
    patterns: dict[int, NDArray[np.bool_]] = {}
    for launch in kept:
        stored = launch.stored() if result.row_axes else None
        if stored is None:
            continue
        axes = sorted(result.row_axes)
        rows = np.moveaxis(stored, axes, range(len(axes))).reshape(launch.batch.rows, -1)
        any_of: NDArray[np.bool_] = np.asarray(rows.any(axis=1))
        if not any_of.any():
            continue
        first = int(np.argmax(any_of))
        unlike = np.flatnonzero((rows != rows[first]).any(axis=1))
        count = int(any_of.sum())
        is_prefix = first == 0 and not any_of[count:].any()
        if unlike.size and not (
            is_prefix and (unlike >= count).all() and _is_size(result, launch, count, axes, stored)
        ):
            _note_unlike(result, launch, rows, first, int(unlike[0]))
        patterns[launch.batch.rows] = rows[first]
    sizes = sorted(patterns)
    for size in sizes[1:]:
        small, large = patterns[sizes[0]], patterns[size]
        if small.size == large.size and (small != large).any() and result.witness is None:
            element = int(np.flatnonzero(small != large)[0])
            states = tuple("stored" if mask[element] else "not stored" for mask in (small, large))
            text = "other elements of it are stored at another size of the batch"
            _note(result, Why("size", "guard", text, result.place))
            result.witness = Witness(
                element, f"{sizes[0]} rows", f"{size} rows", (states[0], states[1])
            )


def _note_left_out(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Note a row that a guard leaves out at a size of the batch that no launch had."""
    if sizes_of(kept) < 2:
        return
    launches = [(launch.batch.rows, _scalars_of(launch.call)) for launch in kept]
    for guard in result.leaving:
        left_out = _left_out_row(guard, launches)
        if left_out is not None:
            row, count = left_out
            text = f"row {row} of {count} is not stored"
            _note(result, Why("size", "guard", text, result.place))
            result.is_certain = True


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
    values = {name: {numbers.get(name) for _, numbers in launches} for name in names}
    counts = {n for n in names if all(numbers.get(n) == rows for rows, numbers in launches)}
    fixed = {
        name: value
        for name, (value, *others) in values.items()
        if not others and isinstance(value, int) and 0 <= value < _MOST_FIXED
    }
    if counts | fixed.keys() != names:
        return None
    beyond_fixed = (value + 1 for value in fixed.values())
    for count in (*range(1, _MOST_ROWS), *beyond_fixed):
        numbers = {n: count if name in counts else fixed[name] for n, name in guard.names.items()}
        truth = guard.condition.values({guard.row: np.arange(count), **numbers})
        stored = np.broadcast_to(truth, (count,))
        if not stored.all():
            return int(np.argmin(stored)), count
    return None


def _scalars_of(call: Call) -> dict[str, object]:
    return {each.name: each.value for each in call.arguments if isinstance(each, ScalarArgument)}


def _note_collected(result: OutputResult, kept: Sequence[Kept]) -> None:
    """Make a result with collected updates unknown, unless equally many programs always update.

    The host decides their number, so recorded launches at several sizes must agree.
    """
    assert result.collected is not None
    grids = {tuple(launch.batch.grid[axis] for axis in result.collected) for launch in kept}
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
    """Return whether a scalar argument counts the stored rows of a tensor with room for more."""
    given = {a.name: a.value for a in kept.call.arguments if isinstance(a, ScalarArgument)}
    inner = [prod(stored.shape[axis] for axis in axes[n:]) for n in range(1, len(axes) + 1)]
    return any(given.get(name, 0) * by == count for name in result.sizes for by in inner
               if isinstance(given.get(name), int))  # fmt: skip


def _note_unlike(
    result: OutputResult, kept: Kept, rows: NDArray[np.bool_], first: int, other: int
) -> None:
    """Note a row of which other elements are stored than of the first row."""
    count = kept.batch.rows
    text = f"row {other} of {count} is not stored as row {first} is"
    _note(result, Why("grid" if not rows[other].any() else "row", "guard", text, result.place))
    inputs = (kept.call.arguments[n] for n in _positions(kept.call, result.own))
    lengths = {
        tensor.shape[0] for tensor in inputs if isinstance(tensor, TensorArgument) and tensor.shape
    }
    if rows[other].any() or kept.batch.rows in lengths:
        element = int(np.flatnonzero(rows[first] != rows[other])[0])
        names = ("stored", "not stored") if rows[first][element] else ("not stored", "stored")
        name = f"{count} rows, row "
        result.witness = Witness(element, f"{name}{first}", f"{name}{other}", names)


def _positions(call: Call, names: Sequence[str]) -> list[int]:
    arguments = enumerate(call.module.main.arguments)
    return [n for n, value in arguments if value.name.lstrip("%") in names]


def _note_options(result: OutputResult, kept: Sequence[Kept], options: Options) -> None:
    """Note compile options that are not the same at all sizes of the batch.

    Warps share the rows and columns of a product, never its K, in all layouts of Triton. They
    decide which instruction multiplies: with whole groups of four, NVIDIA's takes any number.
    """
    options_by_size, decisive = [], "reduction" in result.ordered_by
    for name in ORDERING:
        values: dict[int, set[object]] = {}
        for each in kept:
            values.setdefault(each.batch.rows, set()).add(options[id(each.call)].get(name))
        if len({frozenset(each) for each in values.values()}) > 1:
            known = sorted(set().union(*values.values()) - {None}, key=str)
            options_by_size.append(f"{name} {' or '.join(map(str, known))}")
            in_groups = all(isinstance(each, int) and each % _GROUP == 0 for each in known)
            decisive |= name != "num_warps" or not in_groups
    result.options = tuple(options_by_size)
    if options_by_size and decisive and result.order == "compiled":
        text = f"{', '.join(options_by_size)}, which order sums across lanes in the compiled code"
        result.is_certain = True
        _note(result, Why("size", "data", text, result.place))


def _missed(result: OutputResult) -> int | None:
    """Return the smallest number of rows of a variant that is not compared with others."""
    kept = {one.batch.variant for own in result.kept.values() for one in own}
    missed = [rows for variant, rows in result.launched.items() if variant not in kept]
    return min(missed) if len(result.launched) > 1 and missed else None


def _rounds(tree: Tree) -> bool:
    """Return whether a tree computes with floats: integer sums do not depend on their order."""
    nodes = (node for node in tree.walk() if node.what in ("op", "product"))
    return any(node.what == "product" or node.detail[2].startswith(("f", "bf")) for node in nodes)


def _is_seen(result: OutputResult, *, rounds: bool) -> bool:
    """Return whether trees were seen to differ, or what a value depends on needs no proof.

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
    """Return a reason for each scalar in the value that differs between batches."""
    text = "{}, which differs between the recorded sizes of the batch"
    names = _differing_names(result, kept)
    return tuple(Why("size", "data", text.format(name), result.place) for name in names)


def _differing_names(result: OutputResult, kept: Sequence[Kept]) -> list[str]:
    """Return the scalars in a value without a number that all sizes of the batch share."""
    names = []
    for name in result.scalars:
        values: dict[int, set[object]] = {}
        for launch in kept:
            scalars = _scalars_of(launch.call)
            values.setdefault(launch.batch.rows, set()).add(scalars.get(name))
        alike = set.intersection(*values.values())
        if not alike:
            names.append(name)
    return names


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
    deadline = thread_time() + _WITNESS_SECONDS
    for any_row in (False, True):
        for first, last in pairs:
            if thread_time() > deadline:
                return None
            axes = batch_axes(first.call, last.call, (first.batch.rows, last.batch.rows))
            one, other = (Batched(each.call, axes) for each in (first, last))
            if not axes.get(last.position):
                continue
            witness = between(one, other, first.position, any_row=any_row, numbers=numbers)
            if not any_row:
                witness = witness or with_other_rows(other, last.position)
            if witness is not None:
                return witness
    return None
