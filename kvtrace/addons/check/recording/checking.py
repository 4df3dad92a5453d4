"""Selection of the launches whose memory is recorded, by the setting `check`.

A launch is selected by its number among the launches of its kernel variant. Trial launches of
autotuners are neither counted nor recorded.
"""

import weakref
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kvtrace.addons.check.settings import checks_of
from kvtrace.backends.compiled_kernels.around import Grid, Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import in_trials, places_of
from kvtrace.capture.device_copies import CopyFailed
from kvtrace.capture.records import Parameter
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.check.recording.checks import BegunCopies, Checks
    from kvtrace.addons.check.recording.memory_needed import Kernel, Parts
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module


class CountedKernel:
    """A compiled kernel whose launches may be recorded, with its number of launches.

    Attributes:
        parameters: the flattened signature.
        pick: returns the flattened argument values of a launch.
        every: all launches are recorded.
        count: number of launches so far.
        read: the kernel's IR with facts, or the error that prevents them; None: not read yet.
        parts: cache of `memory_needed`.
    """

    __slots__ = ("count", "every", "name", "parameters", "parts", "pick", "read")

    def __init__(self, variant: Variant, every: bool) -> None:
        self.name = variant.name
        self.parameters = variant.parameters
        self.pick = variant.pick
        self.every = every
        self.count = 0
        self.read: Kernel | KvtraceError | None = None
        self.parts: Parts = {}


class LaunchSelector:
    """Wrapper that records the memory of selected launches of one backend in one session."""

    def __init__(self, session: "Session", checks: "Checks") -> None:
        self._session = session
        self._checks = checks
        self._setting = checks_of(session.settings)
        self._variants: weakref.WeakKeyDictionary[Any, CountedKernel | None] = (
            weakref.WeakKeyDictionary()
        )
        self._generation = checks.generation

    def follow(self) -> None:
        """Make the run's journal report launches to `Checks`; called for each new call."""
        self._checks.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> CountedKernel | None:
        """Return the launch counter of `kernel`, on first use created from `make()`.

        None if the settings exclude the kernel from the recording.
        """
        if self._generation != self._checks.generation:  # in a forked process
            self._generation = self._checks.generation
            self._variants.clear()
        if kernel not in self._variants:
            variant = make()
            every = any(fnmatchcase(variant.name, glob) for glob in self._setting.kernels)
            is_recorded = self._session.settings.records_kernel(variant.name)
            self._variants[kernel] = CountedKernel(variant, every) if is_recorded else None
        return self._variants[kernel]

    def is_due(self, variant: CountedKernel) -> bool:
        """Return whether the kernel's next launch is recorded; count others, except for trials."""
        if in_trials(self._session):
            return False
        if self._selecting_part(variant):
            return True
        variant.count += 1
        return False

    def _selecting_part(self, variant: CountedKernel) -> str:
        if variant.every:
            return "kernel"
        if self._setting.first and variant.count == 0:
            return "first"
        sample = self._setting.sample
        return "sample" if sample and variant.count % sample == 0 else ""

    # -- around a launch that is due ----------------------------------------------------------

    def before(
        self,
        variant: CountedKernel,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> "BegunCopies | None":
        """Copy the memory of a launch that is about to start, and return the copies.

        None if the launch cannot be recorded; errors are counted, not raised. `grid` and `module`
        are called for the launch's grid and the kernel's IR.
        """
        try:
            return self._before(variant, grid, variant.pick(values), stream, module)
        except CopyFailed as error:
            self._checks.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return None

    def _before(
        self,
        variant: CountedKernel,
        grid: Callable[[], Grid],
        values: Sequence[Any],
        stream: int,
        module: "Callable[[], Module]",
    ) -> "BegunCopies | None":
        from kvtrace.addons.check.recording.memory_needed import Launch, kind_of, memory_needed

        device_type = kind_of(values)
        if not self._checks.may_begin(device_type):
            return None  # it stays due
        why = self._selecting_part(variant)
        variant.count += 1
        extents = grid()
        if 0 in extents:
            return None
        try:
            if variant.read is None:
                variant.read = _kernel_facts(module, variant.parameters)
            if isinstance(variant.read, KvtraceError):
                raise variant.read.with_traceback(None)
            fetched = partial(self._checks.fetched, device_type, stream)
            launch = Launch(variant.parameters, values, extents, variant.read, fetched)
            needed = memory_needed(launch, variant.parts)
        except KvtraceError as error:
            text = f"launches of {variant.name} are not recorded for checks: {error}"
            self._session.message("info", "check-left-out", text)
            return None
        return self._checks.begin(why, needed, device_type, stream)

    def launched(self, begun: "BegunCopies", launch: Callable[[], Any], number: int = 0) -> Any:
        """Call `launch`, copy memory after it, and return its result.

        `number` is the launch's number if another wrapper gave it one, else 0.
        """
        return launched(self._session, self._checks, begun, self._checks.end, launch, number)


class AroundRecorder(Protocol):
    """Protocol of recorders that act before and after a launch."""

    def drop(self, begun: Any) -> None:
        """Discard what was recorded before a launch that then raised an error."""

    def failed(self, error: CopyFailed) -> None:
        """Report a failed copy, and stop recording."""


def launched(
    session: "Session",
    around: AroundRecorder,
    begun: Any,
    end: Callable[[Any, int], int],
    launch: Callable[[], Any],
    number: int,
) -> Any:
    """Call `launch`, finish the recording begun before it, and return the result of `launch`.

    Errors of kvtrace are reported, not raised. `end` gets `begun` and the launch's number, or 0 if
    it has none yet, and returns the number for the launch's row.
    """
    try:
        result = launch()
    except BaseException:
        around.drop(begun)
        raise
    number = number or session.recorder.tag(0)
    try:
        number = end(begun, number)
    except CopyFailed as error:
        around.failed(error)
    except Exception as error:  # noqa: BLE001 - counted; never the program's problem
        session.problem(error)
    session.recorder.tag(number)
    return result


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
        places_of(positions, parameters) for positions in (roles.written, roles.read)
    )
    return Kernel(ir, written, deciding)
