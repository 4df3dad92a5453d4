"""The size envelope of index tensors: the first value by which something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.decide import Decision, Proven, Refuted, Undecided, decide_given
from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarise
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.envelope_rows import (
    BUDGET,
    MOST,
    Clock,
    Found,
    Row,
    Supposed,
    contents_of,
    doubts_of,
    first_where,
    judged,
    shown_by,
    wraps_of,
)
from kvtrace.verdicts.growth import Relations
from kvtrace.verdicts.widths import uses

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call

_MOST_BYTES: Final = 1 << 28
"""An index tensor that is larger is not made to show a wrap: it may be more than a machine has."""


def index_symbols(call: Call, place: int) -> list[Symbol]:
    """Return what loads of a tensor give, where it goes into an address."""
    argument = call.arguments[place]
    bound = BoundCall(call)
    atoms = {
        atom
        for access in bound.summary.accesses
        for atom in access.offset.atoms()
        if isinstance(atom, Symbol) and atom.kind == "content"
    }
    found = [atom for atom in atoms if argument in bound.contents.sources(atom)]
    return sorted(found, key=lambda atom: atom.order)


def index_tensors(call: Call) -> list[int]:
    """Return the arguments whose values go into an address."""
    return [
        place
        for place, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument) and index_symbols(call, place)
    ]


def ranges_by_tensor(call: Call, ranges: Supposed) -> Iterator[tuple[TensorArgument, Interval]]:
    """Return the range of each index tensor's values, where it is known."""
    for place in index_tensors(call):
        found = [
            ranges[s.kind, s.key] for s in index_symbols(call, place) if (s.kind, s.key) in ranges
        ]
        argument = call.arguments[place]
        if found and isinstance(argument, TensorArgument):
            yield argument, (min(low for low, _ in found), max(high for _, high in found))


@dataclass(frozen=True)
class _Values:
    """What loads of an index tensor give: as recorded, `known` of all loads, and at most."""

    name: str
    symbols: list[Symbol]
    keys: Sequence[tuple[str, Any]]
    known: dict[tuple[str, Any], Interval]
    recorded: int
    most: int


def _values_of(call: Call, place: int) -> _Values:
    symbols = index_symbols(call, place)
    keys = [(symbol.kind, symbol.key) for symbol in symbols]
    known = contents_of(call)
    return _Values(
        name=f"values of {call.arguments[place].name}",
        symbols=symbols,
        keys=keys,
        known=known,
        recorded=max((known[key][1] for key in keys if key in known), default=0),
        most=min(MOST, *(symbol.high for symbol in symbols)),
    )


def value_rows(relations: Relations, place: int) -> list[Row]:
    """Return the rows of an index tensor: where an integer wraps around, and a tensor is left.

    Raises:
        Spent: it takes too long.

    """
    values = _values_of(relations.call, place)
    return [_index_row(relations, place, values), *_room_rows(relations, values)]


def _index_row(relations: Relations, place: int, values: _Values) -> Row:
    """Return the first value of an index tensor at which an integer wraps around.

    Raises:
        Spent: it takes too long.

    """
    call = relations.call
    symbols, keys, known = values.symbols, values.keys, values.known
    name, recorded = values.name, values.recorded
    touching = [use for use in uses(call.module) if not use.right.atoms().isdisjoint(symbols)]
    bare = relations.grown({}).call
    clock = Clock()

    def at(most: int, *, one: bool = False) -> Found:
        return judged(bare, {**known, **dict.fromkeys(keys, (0, most))}, touching, clock, one=one)

    others = [
        f"values of {tensor.name} stay within {low:,} to {high:,}"
        for tensor, (low, high) in ranges_by_tensor(call, known)
        if tensor is not call.arguments[place]
    ]
    along = (f"{name} are never negative", *others)
    most = values.most
    found = at(most)
    if not found.wrapping:
        if found.open:
            op, reason = found.open[0]
            return Row(name, recorded, "unknown", op=op, reason=reason, along=along)
        return Row(name, recorded, "none", along=along, below="all")
    if at(0, one=True).wrapping:
        reason = "it wraps around even where they are 0"
        return Row(name, recorded, "unknown", reason=reason, along=along)
    bad = first_where(lambda value: bool(at(value, one=True).wrapping), 0, most)
    before = at(bad - 1)
    if before.wrapping or before.open:
        reason = before.open[0][1] if before.open else "nothing was decided"
        return Row(name, recorded, "unknown", reason=f"at {bad - 1:,}: {reason}", along=along)
    use = shown_by(filled_with(bare, place, bad), at(bad))
    if isinstance(use, str):
        return Row(name, recorded, "unknown", reason=f"at {bad:,}: {use}", along=along)
    what, text = wraps_of(relations, use)
    return Row(
        name, recorded, "overflow", bad, what, use.access.op, text,
        f"0 <= {name} <= {bad - 1:,}", along, "all",
    )  # fmt: skip


def filled_to(call: Call, ranges: Supposed) -> Call | None:
    """Make a launch whose index tensors hold the greatest that they may hold, everywhere.

    None: one of them is too large to be made.
    """
    filled: Call | None = call
    for place in index_tensors(call):
        keys = [(symbol.kind, symbol.key) for symbol in index_symbols(call, place)]
        most = [ranges[key][1] for key in keys if key in ranges]
        if most and filled is not None:
            filled = filled_with(filled, place, max(most))
    return filled


def filled_with(call: Call, place: int, value: int) -> Call | None:
    """Make a launch whose index tensor holds one number everywhere; None: it is too large."""
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    if tensor.storage.nbytes > _MOST_BYTES:
        return None
    size = tensor.element.bytes
    count = tensor.storage.nbytes // size
    data = np.full(count, value, f"{'u' if tensor.dtype[0] == 'u' else 'i'}{size}").view(np.uint8)
    filled = replace(tensor, storage=Storage(data.nbytes, data))
    arguments = (*call.arguments[:place], filled, *call.arguments[place + 1 :])
    recorded = tuple(dict.fromkeys((*call.recorded, tensor.name)))
    return replace(call, arguments=arguments, recorded=recorded)


def _room_rows(relations: Relations, values: _Values) -> Iterator[Row]:
    """Return the first value of an index tensor at which each access leaves its tensor."""
    call = relations.call
    symbols, keys, known = values.symbols, values.keys, values.known
    name, recorded, most = values.name, values.recorded, values.most
    clock = Clock()
    for access in summarise(call.module).accesses:
        tensor = None if access.argument is None else call.arguments[access.argument]
        if not isinstance(tensor, TensorArgument) or access.offset.atoms().isdisjoint(symbols):
            continue
        first, end = tensor.view_bytes
        claim = conjunction(
            (at_least(access.offset, first), at_least(end - access.element_bytes - access.offset))
        )

        def decided(value: int, access: Access = access, claim: Condition = claim) -> Decision:
            supposed = known | dict.fromkeys(keys, (0, value))
            bound = BoundCall(call, (), BUDGET, supposed)
            given = bound.active(access)
            found = decide_given(claim, given, budget=clock.left(), order=bound.order)
            if isinstance(found, Refuted) and doubts_of(bound, found, supposed):
                return Undecided(bound.described_doubts(found.model))
            return found

        if not isinstance(decided(0), Proven):
            continue  # the other numbers decide it, which the conditions say
        if not isinstance(decided(most), Refuted):
            continue
        bad = first_where(lambda value: isinstance(decided(value), Refuted), 0, most)
        if isinstance(decided(bad - 1), Proven):
            what = f"the {access.kind} leaves {tensor.name} as it was recorded"
            yield Row(
                name, recorded, "tensor", bad, what, access.op, None,
                f"0 <= {name} <= {bad - 1:,}", (f"{name} are never negative",), "all",
            )  # fmt: skip
