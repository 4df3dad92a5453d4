"""Results of `kvtrace invariance`: an output of a kernel, its verdict, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.invariance.batches import Across, Kept
    from kvtrace.addons.invariance.determinism import Determinism
    from kvtrace.addons.invariance.rows import Outcome
    from kvtrace.addons.invariance.witness import Witness
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.terms import Symbol

Order = Literal["program", "compiled"]
"""What fixes the order of a value's operations: the TTIR alone, or how one variant was compiled."""


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
class RowGuard:
    """A guard of a store over the row's number and numbers that are passed, by their names."""

    condition: Condition
    row: Symbol
    names: Mapping[Symbol, str]


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
        leaving: Guards that may leave out rows.
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
    leaving: tuple[RowGuard, ...] = ()
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
