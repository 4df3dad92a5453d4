"""Reports of memory accesses and defects to observers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.lane_ranges import ranges_of
from kvtrace.evaluate.observe import (
    Access,
    AccessKind,
    AccessParts,
    LaneRanges,
    OutOfBounds,
)
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import factors_of
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    Sum,
    Unknown,
    conjunction,
    constant_sum,
    sum_of_terms,
)
from kvtrace.ir import Op

if TYPE_CHECKING:
    from kvtrace.evaluate.requests import Request


def report_access(
    op: Op,
    kind: AccessKind,
    scope: Scope,
    argument: int | None,
    type_: ValueType,
    offset: Sum | None,
    mask: Any,
    unknown: Unknown | None,
    doubt: Unknown | None = None,
    ranges: LaneRanges | None = None,
) -> None:
    """Send an access to all observers of accesses; do nothing if there are none.

    `unknown` has the sources of an unknown address, `doubt` those of the mask's unknown part. The
    access is over `type_.size` lanes per program; `offset` None: the address is unknown. `ranges`
    are of a known address.
    """
    if not scope.launch.access_observers:
        return
    programs = scope.programs
    if offset is None or unknown is not None or ranges is None:
        reason = unknown.reason if unknown is not None else scope.reason
        active = None
        if scope.certain and not isinstance(mask, Unknown):
            counts = ranges_of(constant_sum(0), mask, type_.shape).active
            active = int(np.broadcast_to(counts, (programs,)).sum())
        access = Access(
            op, kind, argument, type_.element.bytes, programs, programs * type_.size, active,
            lowest=None, highest=None, certain=False, reason=reason,
        )  # fmt: skip
    else:
        access = _known_access(op, kind, scope, argument, type_, offset, mask, ranges)
        if doubt is not None:
            reason = scope.reason or doubt.reason
            access = replace(access, active=None, certain=False, reason=reason)
    for observer in scope.launch.access_observers:
        observer.access(access)


def _known_access(
    op: Op,
    kind: AccessKind,
    scope: Scope,
    argument: int | None,
    type_: ValueType,
    offset: Sum,
    mask: Any,
    ranges: LaneRanges,
) -> Access:
    programs = scope.programs
    joint_shape = np.broadcast_shapes(ranges.lowest.shape, ranges.active.shape)
    reached = np.broadcast_to(ranges.active > 0, joint_shape)
    lowest = highest = None
    if reached.any():
        lowest = int(np.broadcast_to(ranges.lowest, reached.shape)[reached].min())
        highest = int(np.broadcast_to(ranges.highest, reached.shape)[reached].max())

    def elements() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        shape = (programs, *type_.shape)
        offsets = np.broadcast_to(sum_of_terms(offset), shape)
        owners = np.broadcast_to(scope.linear.reshape((-1,) + (1,) * len(type_.shape)), shape)
        if mask is None:
            return offsets.reshape(-1), owners.reshape(-1)
        active_lanes = np.broadcast_to(conjunction(factors_of(mask)), shape)
        return offsets[active_lanes], owners[active_lanes]

    target = None if argument is None else scope.launch.arguments[argument]
    return Access(
        op,
        kind,
        argument,
        element_bytes=type_.element.bytes,
        executions=programs,
        lanes=programs * type_.size,
        active=int(np.broadcast_to(ranges.active, (programs,)).sum()),
        lowest=lowest,
        highest=highest,
        certain=scope.certain,
        reason=scope.reason,
        elements=elements,
        parts=AccessParts(
            constant=offset.constant,
            terms=offset.terms,
            factors=factors_of(mask),
            block=type_.shape,
            programs=scope.linear,
            iteration=scope.iteration,
            origin_bytes=target.offset_bytes if isinstance(target, TensorArgument) else 0,
        ),
        ranges=ranges,
    )


def report_defects(
    request: Request, view: tuple[int, int], storage: tuple[int, int]
) -> Array | None:
    """Report lanes outside the view or the storage to observers.

    `view` and `storage` are byte limits (first, one past the last) from the data pointer; the view
    lies inside the storage. Return the mask of lanes inside the storage, or None if all active
    lanes are. The mask has the programs of the request, and extent 1 along axes that neither offset
    nor mask vary along.
    """
    size = request.type_.element.bytes
    total = sum_of_terms(request.offset)
    scalar_shape = (1,) * request.rank
    offsets = total if isinstance(total, np.ndarray) else np.full(scalar_shape, total, np.int64)
    if request.mask is None:
        active = np.ones(scalar_shape, np.bool_)
    else:
        active = conjunction(factors_of(request.mask))
    in_storage = (offsets >= storage[0]) & (offsets + size <= storage[1])
    in_view = (offsets >= view[0]) & (offsets + size <= view[1])
    outside_storage = active & ~in_storage
    outside_view = active & in_storage & ~in_view
    if outside_storage.any():
        _report_defect(request, offsets, outside_storage, "out-of-bounds", storage)
    if outside_view.any():
        _report_defect(request, offsets, outside_view, "out-of-view", view)
    if not outside_storage.any():
        return None
    inside: Array = ~outside_storage
    return np.broadcast_to(inside, (request.scope.programs, *inside.shape[1:]))


def _report_defect(
    request: Request,
    offsets: Array,
    broken: Array,
    rule: Literal["out-of-bounds", "out-of-view"],
    limits: tuple[int, int],
) -> None:
    scope = request.scope
    if not scope.launch.defect_observers:
        return
    row, *lane = (int(index) for index in np.unravel_index(int(broken.argmax()), broken.shape))
    lane_offsets = np.broadcast_to(offsets, broken.shape)
    witness_offset, broken_offsets = int(lane_offsets[row, *lane]), lane_offsets[broken]
    access_end = witness_offset + request.type_.element.bytes
    past_end = access_end - limits[1] if access_end > limits[1] else witness_offset - limits[0]
    # `broken` has extent 1 along axes on which nothing depends.
    repeats = scope.programs * request.type_.size // broken.size
    defect = OutOfBounds(
        request.op,
        request.kind,
        rule,
        request.argument,
        program=scope.program(row),
        iteration=scope.iteration,
        lane=tuple(lane),
        address_offset=witness_offset,
        past_end_bytes=past_end,
        lanes=len(broken_offsets) * repeats,
        lowest=int(broken_offsets.min()),
        highest=int(broken_offsets.max()),
        certain=scope.certain and request.doubt is None,
    )
    for observer in scope.launch.defect_observers:
        observer.out_of_bounds(defect)
