"""Launchers in place of `CompiledKernel.run` that inspect a launch before making it.

Triton reads the property `run` of a compiled kernel at each launch, and calls this launcher with
all values: `run(x, y, z, stream, …, *values)`. Other libraries read the launcher once, and pass
other values; for them the property returns Triton's own launcher. The recorder's `launching` shows
which caller it is: during a launch by Triton, it is the kernel's function or, for
`compiled[grid](…)`, the kernel.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels.around import Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import ContentsWatcher, Watch
from kvtrace.backends.compiled_kernels.kernel_records import (
    kernel_name,
    parameters_of,
    places_in,
    signature_of,
)
from kvtrace.backends.triton.modules import module_of
from kvtrace.capture.hot import owner_of

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.around import AroundLaunches
    from kvtrace.backends.compiled_kernels.judged_launches import LaunchJudge
    from kvtrace.capture.session import Session

#: Number of a launcher's arguments before the values, and the position of the stream.
_BEFORE_VALUES: Final = 9
_STREAM: Final = 3

_ATTRIBUTE: Final = "_kvtrace_watch"


def _is_launched(session: "Session", kernel: Any) -> bool:
    """Return whether the running thread is in Triton's launch of that kernel."""
    if not session.records_launches:
        return False
    try:
        launching = session.recorder.launching
        return launching != 0 and launching == owner_of(kernel)
    except Exception as error:  # noqa: BLE001 - counted; never the program's problem
        session.problem(error)
        return False


def judged(before: property, judging: "LaunchJudge", session: "Session") -> property:
    """Return a property for `CompiledKernel.run` whose launchers judge new calls first."""
    original: Any = before.fget

    def run(kernel: Any) -> Any:
        launcher = original(kernel)
        if not _is_launched(session, kernel):
            return launcher
        return judging.around(kernel, launcher, _BEFORE_VALUES)

    return property(run)


def checked(before: property, checking: "AroundLaunches", session: "Session") -> property:
    """Return a property for `CompiledKernel.run` whose launches are wrapped by `checking`."""
    original: Any = before.fget

    def run(kernel: Any) -> Any:
        launcher = original(kernel)
        if not _is_launched(session, kernel):
            return launcher
        try:
            variant = checking.variant(kernel, lambda: _variant(kernel))
            if variant is None or not checking.is_due(variant):
                return launcher
        except Exception as error:  # noqa: BLE001 - counted; the launch is not checked
            session.problem(error)
            return launcher
        count = len(kernel.src.signature)

        def launch(*arguments: Any) -> Any:
            pending = None
            if len(arguments) == _BEFORE_VALUES + count:
                values, stream = arguments[_BEFORE_VALUES:], arguments[_STREAM]
                grid = partial(_grid, arguments)
                pending = checking.before(variant, grid, values, stream, lambda: module_of(kernel))
            if pending is None:
                return launcher(*arguments)
            return checking.launched(pending, lambda: launcher(*arguments))

        return launch

    return property(run)


def _variant(kernel: Any) -> Variant:
    signature = tuple(signature_of(kernel.src).items())
    return Variant(kernel_name(kernel), parameters_of(kernel), _flattening(signature))


def _grid(arguments: Sequence[Any]) -> tuple[int, int, int]:
    x, y, z = map(int, arguments[:3])
    return x, y, z


class _WatchedKernel:
    """The mark of a kernel whose launches Python inspects.

    `owner` is the recorder's `launching` during its launches, `capturing` the inspecting launcher.
    """

    __slots__ = ("capturing", "owner", "watch")

    def __init__(self, owner: int, watch: Watch, capturing: Callable[..., Any]) -> None:
        self.owner = owner
        self.watch = watch
        self.capturing = capturing


class WatchedLaunchers:
    """Launchers that copy tensors before a launch, for kernels that have a watch."""

    def __init__(self, session: "Session", watching: ContentsWatcher) -> None:
        """`watching` decides which kernels have a watch, and when launches are inspected."""
        self._session = session
        self._watching = watching
        self._marked: weakref.WeakSet[Any] = weakref.WeakSet()
        self._triton_run: Callable[[Any], Any] | None = None

    def as_property(self, before: property) -> Any:
        """Return a property for `CompiledKernel.run`, given Triton's, with inspecting launchers."""
        unwatched: Any = before.fget
        self._triton_run = unwatched
        session = self._session
        if self._watching.looks is not None:
            return session.recorder.watched_property(
                before, lambda kernel: self._first_mark(kernel, unwatched)
            )

        def run(kernel: Any) -> Any:
            try:
                watched = kernel._kvtrace_watch
            except AttributeError:
                watched = self._first_mark(kernel, unwatched)
            if watched is None or session.recorder.launching != watched.owner:
                return unwatched(kernel)
            watch = watched.watch
            if watch.wait:
                watch.wait -= 1
                return unwatched(kernel)
            return watched.capturing

        return property(run)

    def known(self, kernel: Any) -> tuple[Any, ...]:
        """Return (inspector,) of a kernel's launches; (None,) without a watch, () if undecided."""
        inspector = getattr(kernel, "__dict__", {}).get(_ATTRIBUTE, self)
        return () if inspector is self else (inspector,)

    def watch_after_launch(self, kernel: Any) -> None:
        """Mark a kernel, if not yet marked, after a launch that did not read the property `run`."""
        if self._triton_run is not None and _ATTRIBUTE not in getattr(kernel, "__dict__", {}):
            self._decide(kernel, self._triton_run(kernel), at_once=True)  # the launch is over

    def unmark(self) -> None:
        """Remove this session's marks from kernels."""
        for kernel in list(self._marked):
            vars(kernel).pop(_ATTRIBUTE, None)

    def _first_mark(self, kernel: Any, unwatched: Callable[[Any], Any]) -> Any:
        """Mark a kernel at its first launch by Triton, and return the mark; None if unmarked."""
        launcher = unwatched(kernel)
        if not _is_launched(self._session, kernel):
            return None
        return self._decide(kernel, launcher)

    def _decide(self, kernel: Any, launcher: Callable[..., Any], *, at_once: bool = False) -> Any:
        watched: Any = None
        try:
            if self._session.settings.records_kernel(kernel_name(kernel)):
                watched = self._watched(kernel, launcher, at_once=at_once)
        except Exception as error:  # noqa: BLE001 - counted; contents are not recorded
            self._session.problem(error)
        setattr(kernel, _ATTRIBUTE, watched)
        self._marked.add(kernel)
        return watched

    def _watched(self, kernel: Any, launcher: Callable[..., Any], *, at_once: bool) -> Any:
        """Return the mark of a kernel: a native inspector or a `_WatchedKernel`; None: no watch."""
        reference = weakref.ref(kernel)
        signature = tuple(signature_of(kernel.src).items())
        watch = self._watching.watch(
            kernel, parameters_of(kernel), _flattening(signature), lambda: _read(reference()),
            at_once=at_once,
        )  # fmt: skip
        if watch is None:
            return None
        owner = owner_of(kernel)
        argument_paths = places_in(signature)
        inspector = self._watching.look(watch, argument_paths, launcher, len(signature), owner)
        if inspector is not None:
            return inspector
        return _WatchedKernel(owner, watch, self._capturing(watch, launcher, len(signature)))

    def _capturing(self, watch: Watch, launcher: Any, count: int) -> Callable[..., Any]:
        session, inspect = self._session, self._watching.before

        def launch(*arguments: Any) -> Any:
            copies_number = 0
            if len(arguments) == _BEFORE_VALUES + count and session.records_launches:
                try:
                    values = arguments[_BEFORE_VALUES:]
                    copies_number = inspect(watch, arguments[:3], values, arguments[_STREAM])
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    session.problem(error)
            result = launcher(*arguments)
            session.recorder.tag(copies_number)
            return result

        return launch


def _read(kernel: Any) -> Any:
    return None if kernel is None else module_of(kernel)


def _flattening(signature: Sequence[tuple[Any, Any]]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that flattens a launch's values in the order of `parameters_of`."""
    if not any(isinstance(kind, tuple | list) for _, kind in signature):
        return lambda values: values
    from kvtrace.capture.arguments import flattened

    def flat(values: Sequence[Any]) -> Sequence[Any]:
        return [
            value
            for (name, kind), argument in zip(signature, values, strict=True)
            for _, _, value in flattened(str(name), kind, argument)
        ]

    return flat
