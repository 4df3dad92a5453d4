"""What `kvtrace invariance` finds in a run: a row for each output of each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from kvtrace.addons.invariance.compared import Comparison, compared
from kvtrace.addons.invariance.coordinates import Unfollowed
from kvtrace.addons.invariance.determinism import Determinism, determinism_of
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.rows import RowVerdict, Standing, rows_of
from kvtrace.addons.invariance.trees import Tree
from kvtrace.addons.invariance.witness import (
    Batched,
    Witness,
    axes_that_differ,
    between,
    with_other_rows,
    within,
)
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.evaluate.arguments import ScalarArgument
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.schema.trace import Selection

Order = Literal["program", "compiled"]
"""What fixes the order of a value's operations: the TTIR alone, or how one variant was compiled."""

_WORST: Final[tuple[Standing, ...]] = ("unknown", "depends", "whole", "proven")
_MOST_CALLS: Final = 8
"""So many calls of a variant are judged: proofs are for all sizes, but for strides of a call."""


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


@dataclass(frozen=True, slots=True)
class Batch:
    """A size of the batch that was recorded: how many rows, and which variant ran."""

    rows: int
    variant: int
    grid: tuple[int, int, int]


@dataclass(frozen=True)
class Across:
    """Whether launches at several sizes of the batch compute a row the same way.

    `trees` has the batches of each tree that occurs; `comparison` is of the first two.
    """

    trees: tuple[tuple[Batch, ...], ...]
    comparison: Comparison


@dataclass(frozen=True, eq=False)
class _Kept:
    """A call with its tree of an output, numbers bound."""

    batch: Batch
    tree: Tree
    call: Call
    position: int


@dataclass
class OutputResult:
    """An output of a kernel.

    Attributes:
        kernel: Its name.
        output: The argument.
        standing: Whether a row's value is a function of the row alone; see `rows.Standing`.
        rows: How many axes of the output number its rows.
        place: The store.
        why: Reasons against it.
        own: Arguments of which it reads the row's own part.
        shared: Arguments of which it reads what is the same for all rows.
        scalars: Numbers that it depends on.
        sizes: Numbers that say how many rows there are.
        selecting: Tensors of integers that are assumed to select inside the row.
        order: What fixes the order of its sums.
        determinism: Whether the kernel leaves the same when it runs again.
        across: Recorded launches at several sizes of the batch; None: there is one size.
        witness: Two values of one row, shown by the evaluator; None: none was found or sought.
        calls: How many distinct calls were judged.

    """

    kernel: str
    output: str
    standing: Standing
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
    across: Across | None = None
    witness: Witness | None = None
    calls: int = 1
    kept: dict[tuple[Any, ...], list[_Kept]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Invariance:
    """All outputs that were judged, and a sentence for each call that could not be."""

    outputs: tuple[OutputResult, ...]
    failures: tuple[str, ...]

    def count(self, standing: Standing) -> int:
        """Return how many outputs have a standing."""
        return sum(each.standing == standing for each in self.outputs)


def invariance_of(
    selection: Selection, kernels: Sequence[str] = (), shown: Shown = unshown
) -> Invariance:
    """Judge all outputs of the kernels of runs.

    Args:
        selection: The runs.
        kernels: Names to judge; none: all.
        shown: Where progress is shown.

    """
    found: dict[tuple[str, str, int], OutputResult] = {}
    failures: list[str] = []
    judged: dict[int, int] = {}
    for run in selection.runs:
        with shown(f"invariance {run.run_id}") as progress:
            for number, call in enumerate(calls_of(selection.trace, run), start=1):
                if progress is not None:
                    progress(number, number)
                if isinstance(call, UnreadyCall):
                    failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
                    continue
                variant = id(call.module)
                if kernels and call.kernel not in kernels:
                    continue
                if judged.get(variant, 0) >= _MOST_CALLS:
                    continue
                judged[variant] = judged.get(variant, 0) + 1
                try:
                    _add(call, found, list(judged).index(variant))
                except KvtraceError as error:
                    failures.append(f"call {call.call_id} of {call.kernel}: {error}")
    for result in found.values():
        _compare(result)
    return Invariance(tuple(found.values()), tuple(failures))


def _add(call: Call, found: dict[tuple[str, str, int], OutputResult], variant: int) -> None:
    determinism = determinism_of(call)
    kernel = Kernel(call)
    numbered: dict[str, int] = {}
    for verdict in rows_of(call):
        number = numbered[verdict.argument] = numbered.get(verdict.argument, -1) + 1
        key = (call.kernel, verdict.argument, number)
        result = _result(call, verdict, determinism)
        known = found.get(key)
        if known is None:
            known = found[key] = result
        else:
            _merge(known, result)
        _keep_tree(known, verdict, kernel, variant)


def _merge(known: OutputResult, other: OutputResult) -> None:
    """Add another call of the same output: the worse of the two stands."""
    known.calls += 1
    if _WORST.index(other.standing) < _WORST.index(known.standing):
        known.standing, known.place, known.rows = other.standing, other.place, other.rows
    known.why = tuple(dict.fromkeys((*known.why, *other.why)))
    for name in ("own", "shared", "scalars", "sizes", "selecting"):
        setattr(known, name, tuple(dict.fromkeys((*getattr(known, name), *getattr(other, name)))))
    if other.order == "compiled":
        known.order = "compiled"
    if known.determinism.answer == "proven":
        known.determinism = other.determinism


def _result(call: Call, verdict: RowVerdict, determinism: Determinism) -> OutputResult:
    ops = {op.index: op for op in call.module.ops}
    own = {read.argument for read in verdict.reads if read.own}
    shared = {read.argument for read in verdict.reads} - own
    return OutputResult(
        call.kernel, verdict.argument, verdict.standing, len(verdict.rows), _place(verdict.op),
        tuple(
            Why(each.cause, each.through, each.what, _place(ops.get(each.op, verdict.op)))
            for each in verdict.reasons
        ),
        tuple(sorted(own)), tuple(sorted(shared)), verdict.scalars, verdict.sizes,
        verdict.selecting, _order(verdict.tree), determinism,
    )  # fmt: skip


def _order(tree: Tree | None) -> Order:
    """Say what fixes an order: of a sum across lanes it is the layout that the compiler chose."""
    nodes: Iterable[Tree] = () if tree is None else tree.walk()
    return "compiled" if any(n.what in ("reduction", "product") for n in nodes) else "program"


def _place(op: Op) -> Place:
    frames = source_stack(op)
    return Place(frames[0].file, frames[0].line) if frames else Place(None, None)


# -- several sizes of the batch ------------------------------------------------------------------


def _keep_tree(result: OutputResult, verdict: RowVerdict, kernel: Kernel, variant: int) -> None:
    """Keep a call's tree, numbers bound, with calls whose other extents are the same."""
    if verdict.output is None or not verdict.output.axes or verdict.standing == "whole":
        return
    try:
        bound = kernel.tree(verdict.access, verdict.output, bound=True)
    except (TooLarge, Unfollowed):
        return
    tensor = kernel.tensor(verdict.access.argument)
    if tensor is None:
        return
    axis = verdict.output.axes[0]
    inner = kernel.inner(verdict.access.argument, axis)
    same = (inner, tensor.dtype, _shared_shapes(result, kernel))
    assert verdict.access.argument is not None
    count = kernel.rows(verdict.access.argument, axis)
    batch = Batch(count or 0, variant, kernel.call.grid)
    kept = _Kept(batch, bound, kernel.call, verdict.access.argument)
    result.kept.setdefault(same, []).append(kept)


def _shared_shapes(result: OutputResult, kernel: Kernel) -> tuple[tuple[int, ...], ...]:
    found = []
    for name in result.shared:
        if name in kernel.names:
            tensor = kernel.tensor(kernel.names.index(name))
            if tensor is not None:
                found.append(tuple(tensor.shape))
    return tuple(found)


def _compare(result: OutputResult) -> None:
    """Compare launches that differ in the size of the batch; look for a witness where trees do."""
    kept = max(result.kept.values(), key=_sizes, default=[])
    if _sizes(kept) > 1:
        by_tree: dict[Tree, dict[Batch, _Kept]] = {}
        for each in sorted(kept, key=lambda one: one.batch.rows):
            by_tree.setdefault(each.tree, {})[each.batch] = each
        trees = list(by_tree)
        comparison = compared(trees[0], trees[1]) if len(trees) > 1 else Comparison("same")
        result.across = Across(tuple(tuple(batches) for batches in by_tree.values()), comparison)
        result.why = (*result.why, *_differing_scalars(result, kept))
        if len(trees) > 1:
            result.why = (*result.why, _other_tree(result, comparison))
        if result.why and result.standing == "proven":
            result.standing = "depends"
        if result.standing == "depends":
            result.witness = _witness(
                [next(iter(each.values())) for each in by_tree.values()], kept
            )
    if result.witness is not None:
        result.standing = "violation"


def _sizes(kept: Sequence[_Kept]) -> int:
    return len({each.batch.rows for each in kept})


def _other_tree(result: OutputResult, comparison: Comparison) -> Why:
    how = "sums in another order" if comparison.relation == "reassociated" else "another expression"
    return Why("size", "data", f"{how} at another size of the batch", result.place)


def _differing_scalars(result: OutputResult, kept: Sequence[_Kept]) -> tuple[Why, ...]:
    """Return a reason for each number of the value's that differs between batches."""
    found = []
    for name in result.scalars:
        values: dict[int, set[object]] = {}
        for each in kept:
            given = {a.name: a.value for a in each.call.arguments if isinstance(a, ScalarArgument)}
            values.setdefault(each.batch.rows, set()).add(given.get(name))
        alike = set.intersection(*values.values())
        if not alike:
            text = f"{name}, which differs between the recorded sizes of the batch"
            found.append(Why("size", "data", text, result.place))
    return tuple(found)


def _witness(different: Sequence[_Kept], kept: Sequence[_Kept]) -> Witness | None:
    """Look for a row with two values: in two launches, among rows alike, beside others."""
    ordered = sorted(kept, key=lambda each: each.batch.rows)
    first, last = different[:2] if len(different) > 1 else (ordered[0], ordered[-1])
    axes = axes_that_differ(first.call, last.call)
    one, other = (Batched(each.call, axes) for each in (first, last))
    return (
        between(one, other, first.position)
        or within(other, last.position)
        or with_other_rows(other, last.position)
    )
