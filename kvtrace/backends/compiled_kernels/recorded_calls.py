"""Kernels and calls that a backend has recorded in the session's run, each of them once.

The hot path tells calls apart by how their arguments were passed, too, and a call that is judged
before its launch is met twice; what is equal once bound is one call here.
"""

import weakref
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from kvtrace.capture.arguments import KnownStorages, argument_records
from kvtrace.capture.records import ArgumentRecord, Parameter

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


class RecordedCalls:
    """What one adapter has recorded. A forked process begins a separate run, and again here."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._run: str | None = None
        self._kernel_ids: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._calls: dict[bytes, int] = {}
        self._storages = KnownStorages()

    def kernel_id(self, kernel: Any, add: Callable[[], int]) -> int:
        """Return the id of a compiled kernel; `add` records it, if that is not done yet."""
        self._renew()
        known = self._kernel_ids.get(kernel)
        if known is None:
            known = self._kernel_ids[kernel] = add()
            self._run = self._session.run_id  # the first kernel has begun it
        return known

    def call(
        self,
        kernel_id: int,
        grid: tuple[int, int, int],
        parameters: Sequence[Parameter],
        values: Sequence[Any],
    ) -> tuple[int, tuple[ArgumentRecord, ...]]:
        """Return the id and the arguments' records of a call, which is recorded if it is new.

        Args:
            kernel_id: the kernel.
            grid: the grid.
            parameters: the kernel's flattened signature.
            values: the arguments, in the order of the parameters.

        """
        self._renew()
        session = self._session
        records = argument_records(parameters, values, self._storages)
        text = repr((kernel_id, grid, records)).encode(errors="replace")
        identity = blake2b(text, digest_size=16).digest()
        known = self._calls.get(identity)
        if known is None:
            if len(self._calls) > session.settings.max_calls:
                self._calls.clear()
            known = self._calls[identity] = session.add_call(kernel_id, grid, records)
        return known, records

    def _renew(self) -> None:
        if self._run != self._session.run_id:
            self._calls.clear()
            self._kernel_ids.clear()
            self._run = self._session.run_id
