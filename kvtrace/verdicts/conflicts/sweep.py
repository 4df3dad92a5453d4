"""Bytes that two programs touch, found by a sweep over the accesses of the whole grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.touches import Touches
from kvtrace.ir import Module, Op
from kvtrace.verdicts.conflicts.orders import Order
from kvtrace.verdicts.conflicts.parts import roles_of

MOST_ELEMENTS = 1 << 26
"""Limit of elements that a sweep reads, over all accesses to written storages."""

MOST_CELLS = 1 << 26
"""Limit of cells that a sweep stores, over all ops and storages, at 16 bytes each."""


@dataclass(frozen=True)
class SharedBytes:
    """The bytes of a storage that two ops touch in different programs, at least one op writing.

    `programs` touch the first byte; `certain` False: it depends on unrecorded data whether one of
    the accesses happens.
    """

    first: Op
    second: Op
    storage: Storage
    bytes: NDArray[np.int64]
    programs: tuple[int, int]
    certain: bool


class _Kind(NamedTuple):
    """A kind of accesses that meet others or not: by one op, with elements of one width."""

    op_index: int
    certain: bool
    width: int


class Sweep(Observer):
    """An observer that records which programs touch each byte of the written storages.

    `order` has the ids of programs by their turn, if accesses have turns. `lost` has, by op index
    and argument (None: any), the reason why an address is not known; `doubt` the reason why some
    recorded accesses may not happen; `failure` the reason why the sweep stopped.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Argument],
        order: Order | None = None,
    ) -> None:
        self._arguments = arguments
        self._order = order
        self._roles = roles_of(module).by_op
        written = written_storages(module, arguments)
        self._touches = {storage: Touches[_Kind](storage.nbytes) for storage in written}
        self._elements = 0
        self.lost: dict[tuple[int, int | None], str] = {}
        self.doubt: str | None = None
        self.failure: str | None = None

    def access(self, access: Access) -> None:
        """Record the bytes that an access touches, or the reason why they are unknown."""
        if access.active == 0 or self.failure is not None:
            return
        argument = None if access.argument is None else self._arguments[access.argument]
        if isinstance(argument, TensorArgument) and argument.storage not in self._touches:
            return
        if access.lowest is None or not isinstance(argument, TensorArgument):
            reason = access.reason or "its address could not be derived"
            self.lost.setdefault((access.op.index, access.argument), reason)
            return
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > MOST_ELEMENTS:
            self.failure = f"it touches more than {MOST_ELEMENTS:,} elements that may be shared"
            return
        elements = access.elements()
        assert elements is not None
        if not access.certain:
            self.doubt = self.doubt or access.reason
        offsets, programs = elements
        if self._order is not None:
            programs = self._order[programs]
        self._record(access, argument.storage, offsets + argument.offset_bytes, programs)

    def _record(
        self,
        access: Access,
        storage: Storage,
        starts: NDArray[np.int64],
        programs: NDArray[np.int64],
    ) -> None:
        kind = _Kind(access.op.index, access.certain, access.element_bytes)
        self._touches[storage].add(kind, starts, kind.width, programs)
        if sum(touches.count for touches in self._touches.values()) > MOST_CELLS:
            self.failure = f"programs share more than {MOST_CELLS:,} cells of memory"

    def meetings(self) -> Iterator[SharedBytes]:
        """Yield the shared bytes of each pair of ops that clash in different programs."""
        for storage, touches in self._touches.items():
            for left, right in combinations_with_replacement(touches.kinds, 2):
                roles = self._roles[left.op_index], self._roles[right.op_index]
                if not roles[0].clashes(roles[1], one_width=left.width == right.width):
                    continue
                if not roles[0].writes:
                    left, right, roles = right, left, roles[::-1]
                meeting = touches.meeting(left, right)
                if meeting is not None:
                    yield SharedBytes(
                        roles[0].op, roles[1].op, storage, meeting.bytes, meeting.actors,
                        certain=left.certain and right.certain,
                    )  # fmt: skip
