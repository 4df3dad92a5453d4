"""The size envelope of index tensors: for which values every rule is proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.envelope_rows import (
    Kernel,
    Kind,
    Row,
    Subject,
    Supposed,
    broken_by,
    broken_of,
    contents_of,
    loaded_symbols,
    wraps_of,
)
from kvtrace.verdicts.sizes.growth import Relations
from kvtrace.verdicts.sizes.sized import MOST, Clock, Contents, Sized, Spent
from kvtrace.verdicts.sizes.sized_claims import Claim

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_BYTES: Final = 1 << 28
"""An index tensor that is larger is not made to show a wrap: it may be more than a machine has."""


def index_symbols(call: Call, place: int) -> list[Symbol]:
    """Return what loads of a tensor give that decides where, whether or how often is accessed."""
    argument = call.arguments[place]
    contents = BoundCall(call).contents
    return [each for each in loaded_symbols(call.module) if argument in contents.sources(each)]


def index_tensors(call: Call) -> list[int]:
    """Return the arguments whose values decide an access."""
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


class ValuesOfTensor(Subject):
    """The values of an index tensor: `SIZE` is the greatest."""

    def __init__(self, kernel: Kernel, relations: Relations, place: int, clock: Clock) -> None:
        """`place` is the index tensor's argument."""
        call = self._call = relations.grown({}).call
        self._place = place
        symbols = index_symbols(relations.call, place)
        keys = tuple((symbol.kind, symbol.key) for symbol in symbols)
        known = contents_of(relations.call)
        own = [known.pop(key) for key in keys if key in known]
        least = min((low for low, _ in own), default=0)
        most = max((high for _, high in own), default=0)
        terms, _ = relations.followed({})
        sized = Sized(call, terms, Contents(known, {}), clock, (least, most), keys)
        name = f"values of {call.arguments[place].name}"
        end = min(MOST, *(symbol.high + 1 for symbol in symbols))
        stay = (
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in ranges_by_tensor(relations.call, known)
        )
        basis = relations.basis_of_all()
        super().__init__(kernel, name, sized, tuple(stay), basis, min(least, 0), end)

    def rows(self, broken: tuple[Claim, ...] | None = None) -> list[Row]:
        """Return the rows; where recorded values break a claim, of the values that do not."""
        least, most = self.sized.recorded
        try:
            broken = broken_of(self.sized, self.kernel.claims) if broken is None else broken
        except Spent:
            return super().rows()
        known = self.kernel.as_recorded(broken) if broken and (least, most) != (0, 0) else None
        if known is None or known[1].verdict != "violation":
            return super().rows(broken)
        self.sized.recorded = (0, 0)
        self.least = 0
        rows = super().rows()
        self.sized.recorded = (least, most)
        return [self._with_recorded(row) for row in rows]

    def _with_recorded(self, row: Row) -> Row:
        least, most = self.sized.recorded
        row = replace(row, recorded=most)
        if row.first_bad is None or row.first_bad > most:
            return replace(row, along=(*row.along, f"{self.name} are never negative"))
        return replace(row, what=f"{row.what}; the recorded values are {least:,} to {most:,}")

    def launch(self, value: int) -> tuple[Call, Supposed]:
        """Return the recorded launch, with values up to one."""
        return self._call, self.chosen(value)

    def chosen(self, value: int) -> Supposed:
        """Return the range of the tensor's own values."""
        return dict.fromkeys(self.sized.values, (self.least, value))

    def filled(self, value: int) -> Call | None:
        """Return the launch whose tensor holds one value everywhere."""
        return filled_with(self._call, self._place, value)

    def by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Judge the launch with one value everywhere, and all else as recorded."""
        call = self.filled(value)
        if call is None:
            return None
        found = broken_by(call, claim)
        if found is not None and claim.use is not None:
            return wraps_of(call, claim.use)
        return found

    def ended(self) -> tuple[Kind, str]:
        """Return that nothing does: the greatest integer of its type is fine."""
        return "none", ""


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
