"""Stores of which it does not matter whose comes last: all programs store the same there.

A value is the same in all programs if it is computed, in whatever lane, from constants, parameters
and lane indices alone, and from what memory holds at addresses made of these, where no program of
the launch writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Op, Value
from kvtrace.ir.flow import unmoved
from kvtrace.ir.ops import (
    CONSTANTS,
    FILLING,
    FUNCTIONS,
    POINTED,
    SPREADING,
    Kind,
    computing,
    effect_of,
    named,
    operator_of,
)
from kvtrace.ir.types import TensorType
from kvtrace.symbolic.taint import leaves_lanes

Sameness = Literal["everywhere", "by lane"]
"""Whether a value is one number, or one number in each lane."""

_COMPUTING: Final = (
    Kind.ELEMENTWISE, Kind.SPREAD, Kind.REARRANGED, Kind.PICKED, Kind.REDUCTION, Kind.SCAN,
    Kind.COUNT, Kind.PRODUCT,
)  # fmt: skip
_PURE: Final = (
    named(lambda row: row.kind in _COMPUTING)
    | computing("+", "int_to_ptr", "ptr_to_int", "num_programs", "constant")
) - computing("inline_asm", "extern", "map")
"""Ops whose result depends on their operands alone."""
_ARRANGING: Final = named(lambda row: row.kind in (Kind.SCAN, Kind.COUNT)) | computing(
    "join", "cat"
)
"""Those whose lanes may differ although those of each operand do not."""
_SPREADING: Final = SPREADING | computing("expand_dims", "reshape")
_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MOST_OPS: Final = 256


def stored_alike(stores: Sequence[Op], shared: Collection[int]) -> Sameness | None:
    """Return whether all programs store the same with these ops; None: not that it is seen.

    `shared` are the indices of the ops that access what the launch writes: what others load is the
    same for all.
    """
    sources = [_source(op) for op in stores]
    if sources[0] is None or any(source != sources[0] for source in sources):
        return None
    first, *others = (op.operand("value") for op in stores)
    found = _Followed(shared).sameness(first)
    one_value = all(value is first for value in others)
    return found if found == "everywhere" or one_value else None


def _source(store: Op) -> object | None:
    """Return what tells a stored value from others: a constant, or the value it comes from."""
    if store.name not in POINTED or effect_of(store) != "store":
        return None
    value = store.operand("value")
    kind = str(value.type)
    value = unmoved(value, _SPREADING)
    owner = value.owner
    if isinstance(owner, Op) and owner.name in CONSTANTS:
        return str(owner.attributes["value"]), kind
    return value.id


class _Followed:
    """Values followed back to what they are computed from, each once."""

    def __init__(self, shared: Collection[int]) -> None:
        self._shared = shared
        self._known: dict[int, Sameness | None] = {}

    def sameness(self, value: Value) -> Sameness | None:
        """Return whether a value is the same in all programs."""
        if value.id not in self._known:
            if len(self._known) > _MOST_OPS:
                return None
            self._known[value.id] = self._followed(value)
        return self._known[value.id]

    def _followed(self, value: Value) -> Sameness | None:
        op = value.owner
        if not isinstance(op, Op):
            return "everywhere" if _is_parameter(value) else None
        if operator_of(op) == "arange":
            return "by lane"
        if op.name in CONSTANTS:
            return "everywhere" if getattr(op.attributes["value"], "is_splat", True) else "by lane"
        if not (_is_pure(op) or self._reads(op)):
            return None
        parts = [self.sameness(operand) for operand in (*op.operands, *_captured(op))]
        if None in parts:
            return None
        by_lane = "by lane" in parts or op.name in _ARRANGING
        return "by lane" if by_lane and isinstance(value.type, TensorType) else "everywhere"

    def _reads(self, op: Op) -> bool:
        """Tell whether a load of one address gives every program the same."""
        return (
            op.name in FILLING
            and op.index not in self._shared
            and not leaves_lanes(op)
            and not attribute(op, "isVolatile", False)
        )


def _is_pure(op: Op) -> bool:
    """Tell whether what an op gives depends on its operands alone, and on what its regions use."""
    return all(each.name in _PURE for each in op.walk() if each is op or each.name not in _ENDS)


def _captured(op: Op) -> Iterator[Value]:
    """Yield the values from outside that an op's regions use."""
    first, *inner = op.walk()
    own = {first.index, *(each.index for each in inner)}
    for value in (value for each in inner for value in each.operands):
        owner = value.owner.region.owner if isinstance(value.owner, Block) else value.owner
        if owner is None or owner.index not in own:
            yield value


def _is_parameter(value: Value) -> bool:
    """Tell whether a value is a parameter of the kernel."""
    block = value.owner
    if not isinstance(block, Block):
        return False
    function = block.region.owner
    return (
        function.name in FUNCTIONS
        and function.parent is not None
        and function.parent.parent is None
        and getattr(function.attributes.get("sym_visibility"), "value", "public") == "public"
    )
