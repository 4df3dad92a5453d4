"""The accesses of a call to storages that it writes: those that races are between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.symbolic.summary import Access
from kvtrace.verdicts.races.digits import Side
from kvtrace.verdicts.races.parts import Part, parts_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


@dataclass(frozen=True, eq=False)
class Sharer:
    """An access to a storage (None: it is not known which) that the launch writes.

    `side` has its address; where that is not known, `reason` says why.
    """

    access: Access
    part: Part
    storage: Storage | None
    side: Side | None
    reason: str | None


def sharers_of(bound: BoundCall) -> tuple[Sharer, ...]:
    """Give the accesses to what is written, in the order of the summary."""
    return tuple(_sharers(bound))


def _sharers(bound: BoundCall) -> Iterator[Sharer]:
    accesses = bound.summary.accesses
    parts = parts_of(bound.call.module).by_op
    tensors = [_tensor(bound, access) for access in accesses]
    pairs = list(zip(accesses, tensors, strict=True))
    writing = [tensor for access, tensor in pairs if access.kind != "load"]
    written = {tensor.storage for tensor in writing if tensor is not None}
    for access, tensor in pairs:
        storage = None if tensor is None else tensor.storage
        if storage is None or storage in written or None in writing:
            side, reason = _side(bound, access, tensor)
            yield Sharer(access, parts[access.op.index], storage, side, reason)


def _tensor(bound: BoundCall, access: Access) -> TensorArgument | None:
    argument = None if access.argument is None else bound.call.arguments[access.argument]
    return argument if isinstance(argument, TensorArgument) else None


def _side(
    bound: BoundCall, access: Access, tensor: TensorArgument | None
) -> tuple[Side | None, str | None]:
    if tensor is None or access.unknown is not None:
        return None, access.unknown or "its address could not be derived"
    if bound.may_wrap(access) is not None:
        return None, "its address may be computed from integers that wrap around"
    form = bound.ranges.form(access.offset).shifted(tensor.offset_bytes)
    return Side(form, access.element_bytes, bound.active(access)), None
