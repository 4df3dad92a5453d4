"""Results of `kvtrace invariance`: an output of a kernel, its verdict, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from kvtrace.ir import Op, source_stack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.invariance.batches import ComparedCall, SizeComparison
    from kvtrace.addons.invariance.begins import Through
    from kvtrace.addons.invariance.determinism import Determinism
    from kvtrace.addons.invariance.rows import Outcome
    from kvtrace.addons.invariance.witness import Witness
    from kvtrace.recorded_calls.recorded import Call, UnreadyCall
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.terms import Symbol
    from kvtrace.verdicts.verdict import Verdict


Cause = Literal["position", "grid", "size", "row", "rows", "update", "race", "unknown"]
"""Dependence of a value: on the program or lane that computes it, the grid, the batch's size, the
row's number, other rows' data, an update in any order, programs that race on its memory, or a value
that the walk does not follow."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source line; `file` and `line` are None if they were not recorded."""

    file: str | None
    line: int | None

    @classmethod
    def of(cls, op: Op) -> SourceLine:
        """Return the innermost source line of an op."""
        frames = source_stack(op)
        return cls(frames[0].file, frames[0].line) if frames else cls(None, None)


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for which a row's value may change with its batch.

    `through` is the role of the formula in the tree, and `what` describes the dependence.
    """

    cause: Cause
    through: Through
    what: str
    source: SourceLine


@dataclass(kw_only=True)
class RowDependence:
    """Dependences of a row's value, by the names of the kernel's arguments.

    Attributes:
        reasons: Reasons against invariance.
        own: Arguments of which only the row's own part is read.
        shared: Arguments of which data shared by all rows are read.
        scalars: Scalar arguments that the value depends on.
        sizes: Scalar arguments that bound the number of rows.
        selecting: Tensors of integers that are assumed to select inside the row, as a label does.
        assumed: Tensors of integers whose entries are treated as the row's own data.
        constant: Tensors of integers that are assumed to hold the same in all batches.
    """

    reasons: tuple[Reason, ...] = ()
    own: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    selecting: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()


DEPENDENCES: Final = tuple(field.name for field in fields(RowDependence))
"""The names of the attributes of `RowDependence`."""


class RowGuard(Struct, frozen=True):
    """A guard of a store over the row's number `row` and scalars, with the scalars' names."""

    condition: Condition
    row: Symbol
    names: Mapping[Symbol, str]


@dataclass
class OutputResult(RowDependence):
    """The result of an output of a kernel.

    Attributes:
        kernel: The kernel's name.
        output: The argument's name.
        verdict: Whether a row's value is a function of the row alone; see `rows.Outcome`.
        rows: The number of axes of the output that number its rows.
        source: The source line of the store.
        options: Compile options that are not the same at all sizes of the batch, with the values.
        ordered_by: Operations that the compiled code orders: sums across lanes, matrix products.
        determinism: The verdict whether the kernel gives the same bits when it runs again.
        size_comparison: Comparison of launches at several sizes of the batch; None: there is one
            size.
        witness: Two values of one row, by the evaluator; None: not found, or not searched for.
        row_axes: The axes of the tensor that number the rows.
        row_guards: Guards that may leave out rows.
        update_axes: Axes of the grid along which programs update the same elements; None:
            none do.
        is_certain_change: A dependence was seen to change the stored values, or the order of
            sums.
        unseen_sizes: Numbers of rows for which only other kernels were launched: the program may
            use another kernel there.
        uncompared_size_count: Sizes of the batch that cannot be compared, as other extents differ,
            too.
        calls: The number of distinct calls that were judged.
        variants: Variants with a judged call whose strides tell the output's axes apart.
        fewest_rows: The smallest number of rows that each variant was launched for.
    """

    kernel: str
    output: str
    verdict: Outcome
    rows: int
    source: SourceLine
    determinism: Determinism
    ordered_by: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()
    size_comparison: SizeComparison | None = None
    witness: Witness | None = None
    row_axes: frozenset[int] = frozenset()
    row_guards: tuple[RowGuard, ...] = ()
    update_axes: frozenset[int] | None = None
    is_certain_change: bool = False
    uncompared_size_count: int = 0
    unseen_sizes: tuple[int, ...] = ()
    calls: int = 1
    variants: set[int] = field(default_factory=set, repr=False)
    fewest_rows: dict[int, int] = field(default_factory=dict, repr=False)
    compared_calls: dict[tuple[Any, ...], list[ComparedCall]] = field(
        default_factory=dict, repr=False
    )

    @property
    def race(self) -> Verdict | None:
        """A verdict on races that is not proven, on the output or on what it is made of."""
        race = self.determinism.race
        memory = (None, self.output, *self.own, *self.shared)
        return race if race is not None and race.arg in memory else None


class Invariance(Struct, frozen=True):
    """The results of all judged outputs, and a message for each call that was not judged.

    `calls` and `unready` are the first call of each kernel that can be evaluated, and that cannot.
    """

    outputs: tuple[OutputResult, ...]
    failures: tuple[str, ...]
    calls: Mapping[str, Call] = {}
    unready: Mapping[str, UnreadyCall] = {}

    def count(self, verdict: Outcome) -> int:
        """Return the number of outputs with a verdict."""
        return sum(result.verdict == verdict for result in self.outputs)
