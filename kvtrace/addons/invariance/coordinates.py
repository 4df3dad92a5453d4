"""Coordinates of an output's elements: the row and column that a lane of a program writes.

Formulas are rewritten over coordinates. Programs, trips and lanes that remain in a tree then show
that a value depends on more than the element's position.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term

if TYPE_CHECKING:
    from kvtrace.symbolic.summary import Access

PLACING: Final = ("program", "trip", "lane")
"""Kinds of symbols that tell lanes of a launch apart."""

MOST: Final = (1 << 31) - 1
"""The largest index."""


class Unfollowed(KvtraceError):
    """The address of a store is not a formula over programs, trips and lanes."""

    slug = "unfollowed"


class Ambiguous(Unfollowed):
    """Two axes have the same byte step in the recorded call, so that they cannot be told apart."""

    slug = "ambiguous"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an output, which steps by `factor` bytes: a number or a formula of scalars.

    `step` is the value of `factor` in the recorded call, and `coordinate` represents the index
    along the axis. `is_entry`: the axis numbers the entries of a tensor of integers that say where
    items begin, such as `cu_seqlens`. `is_index`: the coordinate is the index in the tensor;
    otherwise a constant or the begin of an item is left out.
    """

    coordinate: Symbol
    factor: Term
    step: int
    is_entry: bool = False
    is_index: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """The elements of an output that a store writes.

    `axes` are ordered from the outermost on. `substitutions`, applied in order, replace programs,
    trips and lanes by coordinates; `blocks` then replace the remaining ones if coordinates
    determine them. `facts` are conditions on coordinates.
    """

    access: Access
    axes: tuple[Axis, ...]
    substitutions: tuple[Substitution, ...]
    blocks: tuple[Substitution, ...]
    facts: tuple[Condition, ...]

    def over_coordinates(self, condition: Condition) -> Condition:
        """Return a condition with programs and trips replaced by coordinates, by `blocks`."""
        for blocks in self.blocks:
            condition = condition.substitute(blocks)
        return condition


def coordinate(number: int, low: int = 0, high: int = MOST) -> Symbol:
    """Return the symbol for the index along an output's axis with this number."""
    return Symbol("lane", ("coordinate", number), low, high)


def number_of_coordinate(symbol: object) -> int | None:
    """Return the number of the axis that a coordinate belongs to; None for another symbol."""
    match symbol:
        case Symbol(kind="lane", key=("coordinate", int(number))):
            return number
    return None


def is_placing(atom: object) -> bool:
    """Return whether an atom is a program, trip or lane of a launch, and not a coordinate."""
    if not isinstance(atom, Symbol) or atom.kind not in PLACING:
        return False
    return atom.kind != "lane" or not isinstance(atom.key, tuple)


def is_number(atom: object) -> bool:
    """Return whether an atom is a scalar argument of the kernel."""
    return isinstance(atom, Symbol) and atom.kind == "scalar"


def byte_strides(tensor: TensorArgument) -> list[int]:
    """Return the strides of a tensor's axes of several elements, in bytes, the largest first."""
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    strides = {stride for extent, stride in pairs if extent > 1 and stride > 0}
    return sorted((stride * tensor.element.bytes for stride in strides), reverse=True)


def with_leading_axes(output: Output, steps: Collection[int]) -> Output:
    """Return an output with the axes of the given byte steps before all others.

    The output is returned unchanged if its outermost axis has such a step or numbers entries, or no
    axis has such a step.
    """
    leading = [axis for axis in output.axes if axis.step in steps]
    if not leading or output.axes[0].step in steps or output.axes[0].is_entry:
        return output
    others = [axis for axis in output.axes if axis.step not in steps]
    return replace(output, axes=(*leading, *others))


def first_row_of(output: Output) -> Output:
    """Return an output restricted to its first row: the outermost coordinate is 0."""
    zero_row = Substitution({output.axes[0].coordinate: ZERO})
    return replace(
        output,
        axes=output.axes[1:],
        substitutions=(*output.substitutions, zero_row),
        blocks=(*output.blocks, zero_row),
        facts=tuple(fact.substitute(zero_row) for fact in output.facts),
    )
