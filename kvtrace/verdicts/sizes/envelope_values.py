"""Size envelope of index tensors: the values for which every rule is proven."""

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
    AssumedRanges,
    Kernel,
    Kind,
    Row,
    Subject,
    broken_by,
    broken_of,
    loaded_symbols,
    overflow_text,
    recorded_ranges,
)
from kvtrace.verdicts.sizes.growth import Relations
from kvtrace.verdicts.sizes.sized import MOST, AssumedContents, Clock, OutOfTime, Sized
from kvtrace.verdicts.sizes.sized_claims import Claim

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_BYTES: Final = 1 << 28
"""Larger index tensors are not allocated to show a wrap, as they may exceed the memory."""


def index_symbols(call: Call, place: int) -> list[Symbol]:
    """Return the symbols of a tensor's loads that decide accesses to memory."""
    argument = call.arguments[place]
    contents = BoundCall(call).contents
    return [s for s in loaded_symbols(call.module) if argument in contents.sources(s)]


def index_tensors(call: Call) -> list[int]:
    """Return the indices of arguments whose contents decide an access."""
    return [
        place
        for place, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument) and index_symbols(call, place)
    ]


def ranges_by_tensor(
    call: Call, ranges: AssumedRanges
) -> Iterator[tuple[TensorArgument, Interval]]:
    """Yield the index tensors whose values have a known range, with that range."""
    for place in index_tensors(call):
        of_loads = [
            ranges[s.kind, s.key] for s in index_symbols(call, place) if (s.kind, s.key) in ranges
        ]
        argument = call.arguments[place]
        if of_loads and isinstance(argument, TensorArgument):
            yield argument, (min(low for low, _ in of_loads), max(high for _, high in of_loads))


class ValuesOfTensor(Subject):
    """The values of an index tensor as the subject of a row: `SIZE` is the greatest value."""

    def __init__(self, kernel: Kernel, relations: Relations, place: int, clock: Clock) -> None:
        """`place` is the index tensor's argument."""
        call = self._call = relations.grown({}).call
        self._place = place
        symbols = index_symbols(relations.call, place)
        keys = tuple((symbol.kind, symbol.key) for symbol in symbols)
        ranges = recorded_ranges(relations.call)
        of_tensor = [ranges.pop(key) for key in keys if key in ranges]
        least = min((low for low, _ in of_tensor), default=0)
        most = max((high for _, high in of_tensor), default=0)
        terms, _ = relations.numbers_with({})
        sized = Sized(call, terms, AssumedContents(ranges, {}), clock, (least, most), keys)
        name = f"values of {call.arguments[place].name}"
        end = min(MOST, *(symbol.high + 1 for symbol in symbols))
        assumed = (
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in ranges_by_tensor(relations.call, ranges)
        )
        basis = relations.basis_of_all()
        super().__init__(kernel, name, sized, tuple(assumed), basis, min(least, 0), end)

    def rows(self, broken: tuple[Claim, ...] | None = None) -> list[Row]:
        """Return the rows; if recorded values break a claim, of a range around 0."""
        least, most = self.sized.recorded
        try:
            broken = broken_of(self.sized, self.kernel.claims) if broken is None else broken
        except OutOfTime:
            return super().rows()
        has_range = broken and (least, most) != (0, 0)
        recorded = self.kernel.as_recorded(broken) if has_range else None
        if recorded is None or recorded[1].verdict != "violation":
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

    def launch(self, value: int) -> tuple[Call, AssumedRanges]:
        """Return the recorded launch, and the tensor's range up to a value."""
        return self._call, self.subject_ranges(value)

    def subject_ranges(self, value: int) -> AssumedRanges:
        """Return the range of the tensor's loads up to a value."""
        return dict.fromkeys(self.sized.values, (self.least, value))

    def runnable(self, value: int) -> Call | None:
        """Return the launch whose tensor holds one value everywhere."""
        return filled_with(self._call, self._place, value)

    def shown_by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return the violation of the launch whose tensor holds one value everywhere, or None."""
        call = self.runnable(value)
        if call is None:
            return None
        broken = broken_by(call, claim)
        if broken is not None and claim.use is not None:
            return overflow_text(call, claim.use)
        return broken

    def end_reason(self) -> tuple[Kind, str]:
        """Return no reason: the values end at the greatest integer of their type."""
        return "none", ""


def filled_to(call: Call, ranges: AssumedRanges) -> Call | None:
    """Return a launch whose index tensors hold their greatest assumed value everywhere.

    None: a tensor is too large to be allocated.
    """
    filled: Call | None = call
    for place in index_tensors(call):
        keys = [(symbol.kind, symbol.key) for symbol in index_symbols(call, place)]
        most = [ranges[key][1] for key in keys if key in ranges]
        if most and filled is not None:
            filled = filled_with(filled, place, max(most))
    return filled


def filled_with(call: Call, place: int, value: int) -> Call | None:
    """Return a launch whose index tensor holds one number everywhere; None: it is too large."""
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
