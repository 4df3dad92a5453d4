"""Selection of compiled kernels' launches whose memory is recorded: the setting `check`.

A launch is selected by its number among the launches of its kernel variant. Trial launches of
autotuners are not counted, and not checked.
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
    from kvtrace.addons.check.recording.checks import Begun, Checks
    from kvtrace.addons.check.recording.memory_needed import Kernel, Parts
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module


class CountedKernel:
    """A compiled kernel whose launches may be checked, with its number of launches.

    Attributes:
        name: the kernel's name.
        parameters: the flattened signature.
        pick: returns the flattened values of a launch.
        every: all launches are checked.
        count: number of launches so far.
    """

    __slots__ = ("count", "every", "name", "parameters", "parts", "pick", "read")

    def __init__(self, variant: Variant, every: bool) -> None:
        """Create the record, without any launch."""
        self.name = variant.name
        self.parameters = variant.parameters
        self.pick = variant.pick
        self.every = every
        self.count = 0
        self.read: Kernel | KvtraceError | None = None
        self.parts: Parts = {}


class Checking:
    """Selection of the checked launches of one backend in one session."""

    def __init__(self, session: "Session", checks: "Checks") -> None:
        """Create the selection, without any kernel."""
        self._session = session
        self._checks = checks
        self._setting = checks_of(session.settings)
        self._variants: weakref.WeakKeyDictionary[Any, CountedKernel | None] = (
            weakref.WeakKeyDictionary()
        )
        self._generation = checks.generation

    def follow(self) -> None:
        """Make the run's journal report launches; called for each new call."""
        self._checks.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> CountedKernel | None:
        """Return the record of a kernel, created on first use; None if not recorded."""
        if self._generation != self._checks.generation:  # in a forked process
            self._generation = self._checks.generation
            self._variants.clear()
        if kernel not in self._variants:
            compiled = make()
            every = any(fnmatchcase(compiled.name, glob) for glob in self._setting.kernels)
            is_recorded = self._session.settings.records_kernel(compiled.name)
            self._variants[kernel] = CountedKernel(compiled, every) if is_recorded else None
        return self._variants[kernel]

    def is_due(self, variant: CountedKernel) -> bool:
        """Return whether the kernel's next launch is checked; if not, count the launch."""
        if in_trials(self._session):
            return False
        if self._why(variant):
            return True
        variant.count += 1
        return False

    def _why(self, variant: CountedKernel) -> str:
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
    ) -> "Begun | None":
        """Copy the memory of a launch that is about to start; None if it is not checked.

        `module` reads the kernel's IR.
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
    ) -> "Begun | None":
        from kvtrace.addons.check.recording.memory_needed import Launch, kind_of, memory_needed

        kind = kind_of(values)
        if not self._checks.may_begin(kind):
            return None  # it stays due
        why = self._why(variant)
        variant.count += 1
        extents = grid()
        if 0 in extents:
            return None
        try:
            if variant.read is None:
                variant.read = _read(module, variant.parameters)
            if isinstance(variant.read, KvtraceError):
                raise variant.read.with_traceback(None)
            fetched = partial(self._checks.fetched, kind, stream)
            launch = Launch(variant.parameters, values, extents, variant.read, fetched)
            needed = memory_needed(launch, variant.parts)
        except KvtraceError as error:
            text = f"launches of {variant.name} are not recorded for checks: {error}"
            self._session.message("info", "check-left-out", text)
            return None
        return self._checks.begin(why, needed, kind, stream)

    def launched(self, begun: "Begun", launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, and copy memory after it; `number` is the launch's, or 0."""
        return launched(self._session, self._checks, begun, self._checks.end, launch, number)


class Around(Protocol):
    """Protocol of recorders that copy something before and after a launch."""

    def drop(self, begun: Any) -> None:
        """Discard copies made before a launch that then failed."""

    def failed(self, error: CopyFailed) -> None:
        """Count a failed copy."""


def launched(
    session: "Session",
    around: Around,
    begun: Any,
    end: Callable[[Any, int], int],
    launch: Callable[[], Any],
    number: int,
) -> Any:
    """Make a launch, and finish the copies begun before it, without raising errors of kvtrace.

    `end` takes the launch's number for its copies, or 0, and returns the number to tag it with.
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


def _read(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> "Kernel | KvtraceError":
    """Return the facts on a kernel from its IR, or the error that prevents them."""
    from kvtrace.addons.check.recording.memory_needed import Kernel, NotKept
    from kvtrace.evaluate.reach import follows_addresses
    from kvtrace.verdicts.contents.index_arguments import index_arguments

    try:
        ir = module()
    except KvtraceError as error:
        return error
    if follows_addresses(ir):
        return NotKept("it follows addresses that lie in memory")
    roles = index_arguments(ir)
    written, deciding = (
        places_of(positions, parameters) for positions in (roles.written, roles.read)
    )
    return Kernel(ir, written, deciding)
