"""Wrappers of launches for the setting `check`, and the one whose recorder copies their memory.

A launch is selected by its number among the launches of its kernel variant. Trial launches of
autotuners are neither counted nor recorded.
"""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from kvtrace.addons.check.settings import checks_of
from kvtrace.backends.compiled_kernels.around import Grid, Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import in_trials, places_of
from kvtrace.capture.arguments import unseen
from kvtrace.capture.device_copies import CopyFailed
from kvtrace.capture.records import Parameter
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.check.recording.checks import BegunCopies, Checks
    from kvtrace.addons.check.recording.memory_needed import Kernel, Parts
    from kvtrace.addons.check.recording.outputs import Outputs
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module


@dataclass(slots=True)
class CountedKernel:
    """A compiled kernel whose launches may be recorded, with its number of launches.

    Attributes:
        variant: facts of the kernel.
        every: all launches are recorded.
        count: number of launches so far.
        read: the kernel's IR with facts, or the error that prevents them; None: not read yet.
        parts: cache of `memory_needed`.
    """

    variant: Variant
    every: bool
    count: int = 0
    read: "Kernel | KvtraceError | None" = None
    parts: "Parts" = field(default_factory=dict)


class LaunchWrapper(ABC):
    """Wrapper of one backend's launches in one session; `recorder` acts before and after them.

    Errors of kvtrace are counted or reported, not raised.
    """

    def __init__(self, session: "Session", recorder: "Checks | Outputs") -> None:
        self._session = session
        self._recorder = recorder
        self._kernels: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def follow(self) -> None:
        """Make the run's journal report launches to the recorder; called for each new call."""
        self._recorder.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Any:
        """Return the record of `kernel`, on first use made from `make()`; None: not recorded."""
        if kernel not in self._kernels:
            variant = make()
            is_recorded = self._session.settings.records_kernel(variant.name)
            self._kernels[kernel] = self._record_of(variant) if is_recorded else None
        return self._kernels[kernel]

    @unseen
    def before(
        self,
        kernel: Any,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> Any:
        """Act before a launch of a kernel's record; return `begun` for `launched`, or None.

        `grid` and `module` are called for the launch's grid and the kernel's IR.
        """
        try:
            return self._before(kernel, grid, kernel.variant.pick(values), stream, module)
        except CopyFailed as error:
            self._recorder.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return None

    def launched(self, begun: Any, launch: Callable[[], Any], number: int = 0) -> Any:
        """Call `launch`, act after it, and return its result.

        `number` is the launch's number if another wrapper gave it one, else 0.
        """
        recorder = self._recorder
        try:
            result = launch()
        except BaseException:
            recorder.drop(begun)
            raise
        number = number or self._session.recorder.tag(0)
        try:
            number = recorder.end(begun, number)
        except CopyFailed as error:
            recorder.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        self._session.recorder.tag(number)
        return result

    @abstractmethod
    def _record_of(self, variant: Variant) -> Any:
        """Return a new record of a kernel, with its `variant`; None: it is not recorded."""

    @abstractmethod
    def _before(
        self,
        kernel: Any,
        grid: Callable[[], Grid],
        values: Sequence[Any],
        stream: int,
        module: "Callable[[], Module]",
    ) -> Any:
        """Act before a launch with the flattened `values`, and return `begun`, or None."""


class LaunchSelector(LaunchWrapper):
    """Wrapper that records the memory of selected launches."""

    def __init__(self, session: "Session", checks: "Checks") -> None:
        super().__init__(session, checks)
        self._checks = checks
        self._setting = checks_of(session.settings)
        self._generation = checks.generation

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Any:
        """Return the launch counter of `kernel`; a forked process counts anew."""
        if self._generation != self._checks.generation:
            self._generation = self._checks.generation
            self._kernels.clear()
        return super().variant(kernel, make)

    def _record_of(self, variant: Variant) -> CountedKernel:
        every = any(fnmatchcase(variant.name, glob) for glob in self._setting.kernels)
        return CountedKernel(variant, every)

    def is_due(self, counted: CountedKernel) -> bool:
        """Return whether the kernel's next launch is recorded; count others, except for trials."""
        if in_trials(self._session):
            return False
        if self._selecting_part(counted):
            return True
        counted.count += 1
        return False

    def _selecting_part(self, counted: CountedKernel) -> str:
        if counted.every:
            return "kernel"
        if self._setting.first and counted.count == 0:
            return "first"
        sample = self._setting.sample
        return "sample" if sample and counted.count % sample == 0 else ""

    def _before(
        self,
        counted: CountedKernel,
        grid: Callable[[], Grid],
        values: Sequence[Any],
        stream: int,
        module: "Callable[[], Module]",
    ) -> "BegunCopies | None":
        from kvtrace.addons.check.recording.memory_needed import Launch, kind_of, memory_needed

        device_type = kind_of(values)
        if not self._checks.may_begin(device_type):
            return None  # it stays due
        why = self._selecting_part(counted)
        counted.count += 1
        extents = grid()
        if 0 in extents:
            return None
        try:
            if counted.read is None:
                counted.read = _kernel_facts(module, counted.variant.parameters)
            if isinstance(counted.read, KvtraceError):
                raise counted.read.with_traceback(None)
            fetched = partial(self._checks.fetched, device_type, stream)
            launch = Launch(counted.variant.parameters, values, extents, counted.read, fetched)
            needed = memory_needed(launch, counted.parts)
        except KvtraceError as error:
            text = f"launches of {counted.variant.name} are not recorded for checks: {error}"
            self._session.message("info", "check-left-out", text)
            return None
        return self._checks.begin(why, needed, device_type, stream)


def _kernel_facts(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> "Kernel | KvtraceError":
    """Read a kernel's IR, and return it with facts on its parameters, or the error that occurs."""
    from kvtrace.addons.check.recording.memory_needed import Kernel, NotKept
    from kvtrace.evaluate.reach import follows_addresses
    from kvtrace.ir.index_arguments import index_arguments

    try:
        ir = module()
    except KvtraceError as error:
        return error
    if follows_addresses(ir):
        return NotKept("the kernel follows addresses that it loads from memory")
    roles = index_arguments(ir)
    written, deciding = (
        places_of(positions, roles, parameters) for positions in (roles.written, roles.read)
    )
    return Kernel(ir, written, deciding)
