"""Requests: memory ops with address and mask, but without the data, and their bounds check."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.arguments import NOTHING, TensorArgument
from kvtrace.evaluate.lane_ranges import loose_extremes, ranges_of
from kvtrace.evaluate.observe import AccessKind, LaneRanges
from kvtrace.evaluate.reports import report_access, report_defects
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import both, factors_of
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    Sum,
    Unknown,
    conjunction,
    select_programs,
    sum_of_terms,
)
from kvtrace.ir import Op

#: Accesses of a launch whose ranges are known at a time, and the elements of their arrays, which
#: stay in memory.
_MOST_LATEST, _LARGEST = 4, 1 << 18


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


def _ranges(request: Request) -> LaneRanges:
    """Return where programs reach; computed once for accesses of a launch that are alike."""
    offset, mask, shape = request.offset, request.mask, request.type_.shape
    latest = request.scope.launch.latest_ranges
    if sum(array.size for array in (*offset.terms, *factors_of(mask))) > _LARGEST:
        return ranges_of(offset, mask, shape)
    key = id(offset.terms), offset.constant, id(mask), shape
    if key not in latest:
        # References to terms and mask keep their ids from being reused.
        latest[key] = ranges_of(offset, mask, shape), offset.terms, mask
        if len(latest) > _MOST_LATEST:
            del latest[next(iter(latest))]
    return latest[key][0]


def values_outside(request: Request) -> Array | None:
    """Return the number that each lane reads if it lies outside its storage; None: zero."""
    outside, element = request.tensor.outside, request.type_.element
    if outside is NOTHING:
        return None
    numbers = outside.at(request.lane_bytes() // element.bytes)
    return (numbers % 2 if element.value.kind == "b" else numbers).astype(element.value)


def touches_nothing(pointer: Any, mask: Any) -> bool:
    """Return whether an access has no active lane and its pointer no argument."""
    if mask is None or isinstance(mask, Unknown):
        return False
    if not isinstance(pointer, Pointer) or pointer.argument is not None:
        return False
    return mask is False or (mask is not True and not conjunction(factors_of(mask)).any())


def check_bounds(request: Request) -> Request:
    """Report the access and its defects; return it with lanes outside the storage masked off."""
    span = None
    if request.scope.launch.access_observers:
        span = report_access(request, _ranges(request))
    size = request.type_.element.bytes
    first, last = request.tensor.storage_bytes
    low, high = request.tensor.view_bytes
    low, high = max(low, first), min(high, last)
    if low <= request.offset.low and request.offset.high + size <= high:
        return request
    if span is not None and low <= span[0] and span[1] + size <= high:
        return request
    suspects = _suspects(request, low, high - size)
    if not len(suspects):
        return request
    inside = report_defects(request.at(suspects), (low, high), (first, last))
    if inside is None:
        return request
    allowed = np.ones((request.scope.programs, *inside.shape[1:]), np.bool_)
    allowed[suspects] = inside
    return replace(request, mask=allowed if request.mask is None else both(request.mask, allowed))


def _suspects(request: Request, low: int, high: int) -> Array:
    """Return the indices of programs with active lanes that start before `low` or after `high`."""
    lowest, highest = loose_extremes(request.offset)
    doubtful = (lowest < low) | (highest > high)
    if not doubtful.any():
        return np.zeros(0, np.int64)
    programs = request.scope.programs
    index = np.arange(programs) if len(doubtful) == 1 else np.flatnonzero(doubtful)
    if request.mask is None:
        return index
    suspected_request = request if len(index) == programs else request.at(index)
    ranges = ranges_of(suspected_request.offset, suspected_request.mask, request.type_.shape)
    outside = (ranges.active > 0) & ((ranges.lowest < low) | (ranges.highest > high))
    return index[np.broadcast_to(outside, (len(index),))]
