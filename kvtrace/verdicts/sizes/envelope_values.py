"""Size envelope of index tensors: the values of elements for which every rule is proven."""

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
    Row,
    Subject,
    loaded_symbols,
    recorded_ranges,
    unproven_claims,
)
from kvtrace.verdicts.sizes.launch_numbers import call_with
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized import MOST, AssumedContents, Clock, OutOfTime, Sized
from kvtrace.verdicts.sizes.sized_claims import Claim
from kvtrace.verdicts.sizes.wraps import AssumedRanges, overflow_text, rule_violation

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MAX_BYTES: Final = 1 << 28
"""Larger index tensors are not allocated to replay a wrap, as they may exceed the memory."""


def index_symbols(call: Call, position: int) -> list[Symbol]:
    """Return the symbols of a tensor's loads that affect accesses to memory."""
    argument = call.arguments[position]
    contents = BoundCall(call).contents
    return [s for s in loaded_symbols(call.module) if argument in contents.sources(s)]


def index_tensors(call: Call) -> list[int]:
    """Return the positions of the arguments whose contents affect an access."""
    return [
        position
        for position, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument) and index_symbols(call, position)
    ]


def ranges_by_tensor(
    call: Call, ranges: AssumedRanges
) -> Iterator[tuple[TensorArgument, Interval]]:
    """Yield each index tensor whose values have a known range, with the range."""
    for position in index_tensors(call):
        load_ranges = [
            ranges[s.kind, s.key]
            for s in index_symbols(call, position)
            if (s.kind, s.key) in ranges
        ]
        argument = call.arguments[position]
        if load_ranges and isinstance(argument, TensorArgument):
            yield (
                argument,
                (min(low for low, _ in load_ranges), max(high for _, high in load_ranges)),
            )


class ValuesOfTensor(Subject):
    """The values of an index tensor as the subject of a row; `SIZE` is the largest value."""

    def __init__(self, kernel: Kernel, relations: Relations, position: int, clock: Clock) -> None:
        """Prepare the search for the index tensor at a position of the arguments."""
        call = self._call = call_with(relations.call, relations.base)
        self._place = position
        symbols = index_symbols(relations.call, position)
        keys = tuple((symbol.kind, symbol.key) for symbol in symbols)
        ranges = recorded_ranges(relations.call)
        recorded_values = [ranges.pop(key) for key in keys if key in ranges]
        smallest = min((low for low, _ in recorded_values), default=0)
        largest = max((high for _, high in recorded_values), default=0)
        sized = Sized(
            call, relations.at({}), AssumedContents(ranges, {}), clock, (smallest, largest), keys
        )
        name = f"values of {call.arguments[position].name}"
        end = min(MOST, *(symbol.high + 1 for symbol in symbols))
        assumptions = (
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in ranges_by_tensor(relations.call, ranges)
        )
        basis = relations.basis()
        super().__init__(kernel, name, sized, tuple(assumptions), basis, min(smallest, 0), end)

    def rows(self, broken: tuple[Claim, ...] | None = None) -> list[Row]:
        """Return the rows; if recorded values break a claim, those of a range around 0."""
        smallest, largest = self.sized.recorded
        try:
            broken = unproven_claims(self.sized, self.kernel.claims) if broken is None else broken
        except OutOfTime:
            return super().rows()
        has_range = broken and (smallest, largest) != (0, 0)
        recorded = self.kernel.as_recorded(broken) if has_range else None
        if recorded is None or recorded[1].verdict != "violation":
            return super().rows(broken)
        self.sized.recorded = (0, 0)
        self.least = 0
        rows = super().rows()
        self.sized.recorded = (smallest, largest)
        return [self._with_recorded(row) for row in rows]

    def _with_recorded(self, row: Row) -> Row:
        smallest, largest = self.sized.recorded
        row = replace(row, recorded=largest)
        if row.first_bad is None or row.first_bad > largest:
            return replace(row, along=(*row.along, f"{self.name} are never negative"))
        return replace(row, what=f"{row.what}; the recorded values are {smallest:,} to {largest:,}")

    def launches(self, value: int) -> list[tuple[Call, AssumedRanges]]:
        """Return the recorded launch, and the range of the tensor's loads up to a value."""
        return [(self._call, dict.fromkeys(self.sized.values, (self.least, value)))]

    def runnable(self, call: Call, ranges: AssumedRanges) -> Call | None:
        """Return the launch whose tensor has the largest value everywhere."""
        return filled_with(call, self._place, max(high for _, high in ranges.values()))

    def refutation_by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return a violation of the launch in which every element is the value, else None."""
        call = filled_with(self._call, self._place, value)
        if call is None:
            return None
        broken = rule_violation(call, claim)
        if broken is not None and claim.use is not None:
            return overflow_text(call, claim.use)
        return broken


def filled_to(call: Call, ranges: AssumedRanges) -> Call | None:
    """Return a launch in which index tensors hold their largest assumed value everywhere.

    Returns None if a tensor is too large to allocate.
    """
    filled: Call | None = call
    for position in index_tensors(call):
        keys = [(symbol.kind, symbol.key) for symbol in index_symbols(call, position)]
        largest_values = [ranges[key][1] for key in keys if key in ranges]
        if largest_values and filled is not None:
            filled = filled_with(filled, position, max(largest_values))
    return filled


def filled_with(call: Call, position: int, value: int) -> Call | None:
    """Return a launch whose index tensor has one value in every element, None if too large."""
    tensor = call.arguments[position]
    assert isinstance(tensor, TensorArgument)
    if tensor.storage.nbytes > _MAX_BYTES:
        return None
    size = tensor.element.bytes
    element_count = tensor.storage.nbytes // size
    data = np.full(element_count, value, f"{'u' if tensor.dtype[0] == 'u' else 'i'}{size}").view(
        np.uint8
    )
    filled = replace(tensor, storage=Storage(data.nbytes, data))
    arguments = (*call.arguments[:position], filled, *call.arguments[position + 1 :])
    recorded = tuple(dict.fromkeys((*call.recorded, tensor.name)))
    return replace(call, arguments=arguments, recorded=recorded)
