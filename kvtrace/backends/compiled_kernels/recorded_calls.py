"""Kernels and calls that a backend has recorded in the session's run, each of them once.

The hot path has separate identities for calls whose arguments were passed by position and by name,
and a call that is judged before its launch is passed twice; here, calls with equal bound arguments
are one call.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from kvtrace.capture.arguments import addresses_of, argument_records
from kvtrace.capture.records import ArgumentRecord, CallFacts, Parameter

if TYPE_CHECKING:
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module


@dataclass(frozen=True, slots=True)
class PendingLaunch:
    """The description of a launch that has not been made yet.

    Attributes:
        call_id: the id of the recorded call; -1 if the call is not recorded.
        kernel: the kernel's name.
        place: returns file and line of the kernel's definition.
        module: returns the kernel's IR, parsed once for each kernel.
        grid: the numbers of programs.
        parameters: the kernel's flattened signature.
        records: the records of the arguments, in the order of the parameters.
        values: the argument values, in the order of the parameters.

    """

    call_id: int
    kernel: str
    place: "Callable[[], tuple[str | None, int | None]]"
    module: "Callable[[], Module]"
    grid: tuple[int, int, int]
    parameters: Sequence[Parameter]
    records: Sequence[ArgumentRecord]
    values: Sequence[Any]


class RecordedCalls:
    """Ids of the kernels and calls that one adapter has recorded in the current run."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._run: str | None = None
        self._kernel_ids: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._calls: dict[bytes, int] = {}

    def kernel_id(self, kernel: Any, add: Callable[[], int]) -> int:
        """Return the id of a compiled kernel, which `add` records if it is new."""
        self._renew()
        recorded_id = self._kernel_ids.get(kernel)
        if recorded_id is None:
            recorded_id = self._kernel_ids[kernel] = add()
            self._run = self._session.run_id  # the first kernel begins the run
        return recorded_id

    def call(
        self,
        kernel_id: int,
        grid: tuple[int, int, int],
        parameters: Sequence[Parameter],
        values: Sequence[Any],
        facts: Callable[[], CallFacts] = CallFacts,
    ) -> tuple[int, tuple[ArgumentRecord, ...]]:
        """Return the id of a call and its argument records, after recording the call if it is new.

        Args:
            kernel_id: The kernel.
            grid: The grid.
            parameters: The kernel's flattened signature.
            values: The arguments, in the order of the parameters.
            facts: Returns the further columns of a new call.

        """
        self._renew()
        session = self._session
        records = argument_records(parameters, values, session.identities.storages)
        if session.recorder.keeps_addresses:
            session.recorder.place(addresses_of(records, values))
        text = repr((kernel_id, grid, records)).encode(errors="replace")
        identity = blake2b(text, digest_size=16).digest()
        call_id = self._calls.get(identity)
        if call_id is None:
            if len(self._calls) > session.settings.max_calls:
                self._calls.clear()
            call_id = session.add_call(kernel_id, grid, records, facts=facts())
            self._calls[identity] = call_id
        return call_id, records

    def _renew(self) -> None:
        if self._run != self._session.run_id:
            self._calls.clear()
            self._kernel_ids.clear()
            self._run = self._session.run_id
