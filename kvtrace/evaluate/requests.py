"""Requests: memory ops with address and mask, but without the data, and their bounds check."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.lane_ranges import loose_extremes, ranges_of
from kvtrace.evaluate.observe import AccessKind, LaneRanges
from kvtrace.evaluate.reports import report_access, report_defects
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import both, factors_of
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    Sum,
    Unknown,
    conjunction,
    select_programs,
    sum_of_terms,
)
from kvtrace.ir import Op


class Request(Struct, frozen=True):
    """One memory op of a batch of programs; `type_` is the type of the block read or written.

    `offset` counts bytes from the argument's data pointer, each part a multiple of `unit`.
    `mask`: None, an array or a Mask. With a `doubt`, only part of the mask is known: active
    lanes may be inactive.
    """

    op: Op
    kind: AccessKind
    scope: Scope
    argument: int
    tensor: TensorArgument
    offset: Sum
    unit: int
    mask: Any
    type_: ValueType
    doubt: Unknown | None = None

    @property
    def rank(self) -> int:
        """The number of axes of arrays of this access, with the programs' axis."""
        return len(self.type_.shape) + 1

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The extents over programs and lanes."""
        return (self.scope.programs, *self.type_.shape)

    def at(self, index: Array) -> Request:
        """Return the same access restricted to the programs at `index`."""
        return replace(
            self,
            scope=self.scope.restricted(index),
            offset=select_programs(self.offset, index),
            mask=None if self.mask is None else select_programs(self.mask, index),
        )

    def lane_mask(self) -> Array:
        """Return the mask as a full array over programs and lanes."""
        if self.mask is None:
            return np.ones(self.full_shape, np.bool_)
        return np.broadcast_to(conjunction(factors_of(self.mask)), self.full_shape)

    def lane_bytes(self) -> Array:
        """Return each lane's byte index in the storage, as a full array over programs and lanes."""
        total = sum_of_terms(self.offset)
        result: Array = np.broadcast_to(total, self.full_shape) + self.tensor.offset_bytes
        return result


def check_bounds(request: Request) -> Request:
    """Report the access and its defects; return it with lanes outside the storage masked off."""
    ranges = None
    if request.scope.launch.access_observers:
        ranges = ranges_of(request.offset, request.mask, request.type_.shape)
        report_access(
            request.op,
            request.kind,
            request.scope,
            request.argument,
            request.type_,
            request.offset,
            request.mask,
            None,
            request.doubt,
            ranges,
        )
    size = request.type_.element.bytes
    first, last = request.tensor.storage_bytes
    low, high = request.tensor.view_bytes
    low, high = max(low, first), min(high, last)
    if low <= request.offset.low and request.offset.high + size <= high:
        return request
    suspects = _suspects(request, low, high - size, ranges)
    if not len(suspects):
        return request
    inside = report_defects(request.at(suspects), (low, high), (first, last))
    if inside is None:
        return request
    allowed = np.ones((request.scope.programs, *inside.shape[1:]), np.bool_)
    allowed[suspects] = inside
    return replace(request, mask=allowed if request.mask is None else both(request.mask, allowed))


def _suspects(request: Request, low: int, high: int, ranges: LaneRanges | None) -> Array:
    """Return the indices of programs with active lanes that start before `low` or after `high`.

    `ranges` are of all programs, None if they are not known.
    """
    lowest, highest = loose_extremes(request.offset)
    doubtful = (lowest < low) | (highest > high)
    if not doubtful.any():
        return np.zeros(0, np.int64)
    programs = request.scope.programs
    index = np.arange(programs)
    if len(doubtful) > 1 and (request.mask is None or ranges is None):
        index = np.flatnonzero(doubtful)
    if request.mask is None:
        return index
    if ranges is None:
        suspected_request = request if len(index) == programs else request.at(index)
        ranges = ranges_of(suspected_request.offset, suspected_request.mask, request.type_.shape)
    outside = (ranges.active > 0) & ((ranges.lowest < low) | (ranges.highest > high))
    return index[np.broadcast_to(outside, (len(index),))]
