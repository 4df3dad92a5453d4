"""Reports of memory accesses and defects to observers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.lane_ranges import ranges_of
from kvtrace.evaluate.observe import (
    Access,
    AccessKind,
    AccessParts,
    LaneRanges,
    OutOfBounds,
)
from kvtrace.evaluate.registry import place
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


def report_access(request: Request, ranges: LaneRanges) -> tuple[int, int] | None:
    """Send an access at a known address to all observers of accesses; return its span."""
    scope, offset, doubt = request.scope, request.offset, request.doubt

    def elements() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        shape = request.full_shape
        offsets = np.broadcast_to(sum_of_terms(offset), shape)
        owners = np.broadcast_to(scope.linear.reshape((-1,) + (1,) * (len(shape) - 1)), shape)
        if request.mask is None:
            return offsets.reshape(-1), owners.reshape(-1)
        active_lanes = request.lane_mask()
        return offsets[active_lanes], owners[active_lanes]

    span = ranges.span
    lowest, highest = span or (None, None)
    access = Access(
        request.op,
        request.kind,
        request.argument,
        element_bytes=request.type_.element.bytes,
        executions=scope.programs,
        lanes=scope.programs * request.type_.size,
        active=ranges.total(scope.programs) if doubt is None else None,
        lowest=lowest,
        highest=highest,
        certain=scope.certain and doubt is None,
        reason=scope.reason or ("" if doubt is None else doubt.reason),
        elements=elements,
        parts=AccessParts(
            constant=offset.constant,
            terms=offset.terms,
            factors=factors_of(request.mask),
            block=request.type_.shape,
            programs=scope.linear,
            iteration=scope.iteration,
            origin_bytes=request.tensor.offset_bytes,
        ),
        ranges=ranges,
    )
    for observer in scope.launch.access_observers:
        observer.access(access)
    return span


def report_unknown_address(
    op: Op, kind: AccessKind, scope: Scope, argument: int | None, type_: ValueType, mask: Any,
    unknown: Unknown,
) -> None:  # fmt: skip
    """Send an access to all observers of accesses; `unknown` has the sources of its address."""
    if not scope.launch.access_observers:
        return
    programs, active = scope.programs, None
    if scope.certain and not isinstance(mask, Unknown):
        active = ranges_of(constant_sum(0), mask, type_.shape).total(programs)
    access = Access(
        op, kind, argument, type_.element.bytes, programs, programs * type_.size, active,
        lowest=None, highest=None, certain=False, reason=unknown.reason,
    )  # fmt: skip
    for observer in scope.launch.access_observers:
        observer.access(access)


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
    scalar_shape = (1,) * len(request.full_shape)
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


def unknown_address(op: Op, scope: Scope, offset: Sum | Unknown, mask: Any) -> str:
    """Return the message for an access into no argument, with the first lane's address."""
    shown = ""
    if isinstance(offset, Sum):
        addresses = np.asarray(sum_of_terms(offset))
        if mask is not None and not isinstance(mask, Unknown):
            addresses, active = np.broadcast_arrays(addresses, conjunction(factors_of(mask)))
            addresses = addresses[active]
        shown = f", {int(addresses.reshape(-1)[0]):#x},"
    return (
        f"the address{shown} of {op.name!r} at {place(op)} in kernel {scope.launch.kernel!r} comes "
        "from no tensor argument (it is a pointer made from an integer, or loaded from memory) and "
        "lies in no tensor on the CPU that the program holds; kvtrace cannot execute such an access"
    )
