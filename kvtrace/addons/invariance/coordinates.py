"""Coordinates of an output's elements: the row and column that a lane of a program writes.

Formulas are rewritten over them, so that what is left of programs, trips and lanes in a tree is
what the value depends on besides which element it is.
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
    """The elements of its output that a kernel writes are not followed."""

    slug = "unfollowed"


class Ambiguous(Unfollowed):
    """Two indices have equal steps in the recorded call, where an axis has one element."""

    slug = "ambiguous"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an output: it steps by `factor` bytes, `step` of them in the recorded call.

    `coordinate` represents a lane's index along it. `is_own`: it numbers entries of a tensor of
    integers that say where the data of an item begin, as sequences in `cu_seqlens`. `is_index`: the
    coordinate is the index in the tensor; else something is left out, as where an item begins.
    """

    coordinate: Symbol
    factor: Term
    step: int
    is_own: bool = False
    is_index: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """The elements that a store writes: `axes` from the outermost on.

    `written`, one after the other, rewrite symbols of the launch as coordinates, `blocks` what is
    left of them where coordinates say which program or trip it is; `facts` hold of coordinates.
    """

    access: Access
    axes: tuple[Axis, ...]
    written: tuple[Substitution, ...]
    blocks: tuple[Substitution, ...]
    facts: tuple[Condition, ...]

    def located(self, condition: Condition) -> Condition:
        """Return a condition rewritten from programs, trips and lanes to coordinates."""
        for blocks in self.blocks:
            condition = condition.substitute(blocks)
        return condition


def coordinate(number: int, low: int = 0, high: int = MOST) -> Symbol:
    """Return the symbol of an output's axis."""
    return Symbol("lane", ("coordinate", number), low, high)


def number_of_coordinate(symbol: object) -> int | None:
    """Return the output axis whose index a symbol is; None for a symbol of another kind."""
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


def strides_of(tensor: TensorArgument) -> list[int]:
    """Return the strides of a tensor's axes of several elements, in bytes, the largest first."""
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    strides = {stride for extent, stride in pairs if extent > 1 and stride > 0}
    return sorted((stride * tensor.element.bytes for stride in strides), reverse=True)


def led_by(output: Output, steps: Collection[int]) -> Output:
    """Return an output with the axes of some steps, in bytes, before all others.

    Return the output unchanged if its outermost axis has such a step, no axis has one, or memory
    says where items begin.
    """
    own = [axis for axis in output.axes if axis.step in steps]
    if not own or output.axes[0].step in steps or output.axes[0].is_own:
        return output
    others = [axis for axis in output.axes if axis.step not in steps]
    return replace(output, axes=(*own, *others))


def pin(output: Output) -> Output:
    """Return an output restricted to its first row."""
    first = Substitution({output.axes[0].coordinate: ZERO})
    return replace(
        output,
        axes=output.axes[1:],
        written=(*output.written, first),
        blocks=(*output.blocks, first),
        facts=tuple(fact.substitute(first) for fact in output.facts),
    )
