"""Values that a mask compares in the lane of a witness, with their names in the kernel.

For `mask=index < n`, n = 1,001 and a tensor of 1,000 elements: "the mask admits index = 1,000; x
has 1000 elements".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op
from kvtrace.ir.constants import constant_of
from kvtrace.ir.flow import value_before
from kvtrace.ir.ops import SPREADING, mask_of, operator_of
from kvtrace.symbolic.expressions import value_expression
from kvtrace.symbolic.terms import Symbol, Term, as_term
from kvtrace.symbolic.walk_types import shape_of
from kvtrace.text import plural
from kvtrace.verdicts.lanes import Lanes, lanes_before

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import OutOfBounds
    from kvtrace.ir import Value
    from kvtrace.symbolic.summary import Access
    from kvtrace.verdicts.binding import BoundCall

#: Start of the reason of a violation by an access with a mask.
MASK_ADMITS: Final = "the mask admits"

_MAX_CHARACTERS: Final = 60
"""Expressions of more characters are not shown."""


def admitted(bound: BoundCall, access: Access, defect: OutOfBounds) -> str | None:
    """Return a phrase with the compared values in an outside lane and the tensor's extent.

    Returns None if the access has no mask, or a constant one.
    """
    mask = mask_of(access.op)
    if mask is None or constant_of(value_before(mask, SPREADING)) is not None:
        return None
    lanes = tuple(as_term(number) for number in defect.lane)
    values_by_name = (
        {} if access.calls else dict(_compared_values(bound, access, defect, mask, lanes))
    )
    values_text = (
        ", ".join(f"{name} = {number:,}" for name, number in values_by_name.items()) or "this lane"
    )
    tensor = bound.call.arguments[defect.argument]
    assert isinstance(tensor, TensorArgument)
    return f"{MASK_ADMITS} {values_text}; {tensor.name} has {_extent(tensor)}"


def _extent(tensor: TensorArgument) -> str:
    if len(tensor.shape) > 1:
        return f"shape {list(tensor.shape)}"
    return plural(tensor.shape[0] if tensor.shape else 1, "element")


def _compared_values(
    bound: BoundCall, access: Access, defect: OutOfBounds, value: Value, lanes: Lanes
) -> Iterator[tuple[str, int]]:
    """Yield each integer expression that a mask compares, with its value in a lane."""
    op = value.owner
    if not isinstance(op, Op) or lanes is None:
        return
    operator = operator_of(op)
    if op.name in SPREADING:
        source = op.operand("source")
        source_lanes = lanes if shape_of(source.type) else ()
        yield from _compared_values(bound, access, defect, source, source_lanes)
    elif operator in ("expand_dims", "trans", "reshape"):
        source = op.operand("source")
        yield from _compared_values(bound, access, defect, source, lanes_before(op, lanes))
    elif operator == "&":
        for name in ("left", "right"):
            yield from _compared_values(bound, access, defect, op.operand(name), lanes)
    elif operator == "compare":
        for name in ("left", "right"):
            operand = op.operand(name)
            term = bound.summary.values.get(operand.id)
            if isinstance(term, Term) and _varies(term):
                number = _value_in_lane(bound, access, defect, term, lanes)
                text = value_expression(operand, bound.summary)
                if number is not None and len(text) <= _MAX_CHARACTERS:
                    yield text, number


def _varies(term: Term) -> bool:
    return any(
        isinstance(a, Symbol) and a.kind in ("program", "lane", "trip") for a in _all_atoms(term)
    )


def _all_atoms(term: Term) -> Iterator[object]:
    """Yield the atoms of a term and the atoms inside of these."""
    for atom in term.atoms():
        yield atom
        yield from atom.within()


def _value_in_lane(
    bound: BoundCall, access: Access, defect: OutOfBounds, term: Term, lanes: tuple[Term, ...]
) -> int | None:
    """Return a term's value in the witness's lane, None if it depends on unknown values."""
    trips = {access.loops[-1].trip: defect.iteration} if access.loops else {}
    point: dict[Symbol, int] = {}
    for atom in _all_atoms(term):
        if not isinstance(atom, Symbol):
            continue
        low, high = bound.ranges.of(atom)
        if low == high:
            point[atom] = low
        elif atom.kind == "program" and isinstance(atom.key, int):
            point[atom] = defect.program[atom.key]
        elif atom.kind == "lane" and isinstance(atom.key, int) and atom.key < len(lanes):
            point[atom] = lanes[atom.key].value({})
        elif atom in trips:
            point[atom] = trips[atom]
    try:
        return term.value(point)
    except KeyError:  # the term depends on contents, or on the trip of an outer loop
        return None
