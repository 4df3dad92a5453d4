"""What Triton gets for `CompiledKernel.run` while it launches: a launcher that looks first.

Triton asks a compiled kernel for its launcher at each launch, and calls it with all values:
`run(x, y, z, stream, …, *values)`. Other libraries take the launcher out once, and pass it other
values; they get the plain one. Who asks is known by the launch that the thread has in progress, the
recorder's `launching`: one of the kernel's function, or, by `compiled[grid](…)`, of the kernel.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels.around import Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import Watch, Watching
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
    from kvtrace.backends.compiled_kernels.judged_launches import Judging
    from kvtrace.capture.session import Session

#: Arguments of a launcher before the values of the kernel's parameters, and the stream's place.
_BEFORE_VALUES: Final = 9
_STREAM: Final = 3

_ATTRIBUTE: Final = "_kvtrace_watch"


def _is_launched(session: "Session", kernel: Any) -> bool:
    """Whether the running thread is in a launch of Triton's of that kernel."""
    if not session.recording:
        return False
    try:
        launching = session.recorder.launching
        return launching != 0 and launching == owner_of(kernel)
    except Exception as error:  # noqa: BLE001 - counted; never the program's problem
        session.problem(error)
        return False


def judged(before: property, judging: "Judging", session: "Session") -> property:
    """Return the property for `CompiledKernel.run` whose launchers judge a call before it."""
    plain: Any = before.fget

    def run(kernel: Any) -> Any:
        launcher = plain(kernel)
        if not _is_launched(session, kernel):
            return launcher
        return judging.around(kernel, launcher, _BEFORE_VALUES)

    return property(run)


def checked(before: property, checking: "AroundLaunches", session: "Session") -> property:
    """Return the property for `CompiledKernel.run` whose launchers keep what is to be checked."""
    plain: Any = before.fget

    def run(kernel: Any) -> Any:
        launcher = plain(kernel)
        if not _is_launched(session, kernel):
            return launcher
        try:
            variant = checking.variant(kernel, lambda: _variant(kernel))
            if variant is None or not checking.is_due(variant):
                return launcher
        except Exception as error:  # noqa: BLE001 - counted; its launch is not checked
            session.problem(error)
            return launcher
        count = len(kernel.src.signature)

        def launch(*given: Any) -> Any:
            begun = None
            if len(given) == _BEFORE_VALUES + count:
                values, stream = given[_BEFORE_VALUES:], given[_STREAM]
                grid = partial(_grid, given)
                begun = checking.before(variant, grid, values, stream, lambda: module_of(kernel))
            if begun is None:
                return launcher(*given)
            return checking.launched(begun, lambda: launcher(*given))

        return launch

    return property(run)


def _variant(kernel: Any) -> Variant:
    signature = tuple(signature_of(kernel.src).items())
    return Variant(kernel_name(kernel), parameters_of(kernel), _flattening(signature))


def _grid(given: Sequence[Any]) -> tuple[int, int, int]:
    x, y, z = map(int, given[:3])
    return x, y, z


class _Watched:
    """A kernel whose launches are inspected: whose they are, when the next is, and what looks."""

    __slots__ = ("capturing", "owner", "watch")

    def __init__(self, owner: int, watch: Watch, capturing: Callable[..., Any]) -> None:
        self.owner = owner
        self.watch = watch
        self.capturing = capturing


class WatchedLaunchers:
    """Has launches inspected; kernels that need no watch keep Triton's own launcher."""

    def __init__(self, session: "Session", watching: Watching) -> None:
        """`watching` decides which launches are inspected."""
        self._session = session
        self._watching = watching
        self._marked: weakref.WeakSet[Any] = weakref.WeakSet()
        self._plain: Callable[[Any], Any] | None = None

    def as_property(self, before: property) -> Any:
        """Return the property that takes the place of `CompiledKernel.run`."""
        plain: Any = before.fget
        self._plain = plain
        session = self._session
        recorder: Any = session.recorder
        if self._watching.looks is not None:
            return recorder.watched_property(before, lambda kernel: self._first(kernel, plain))

        def run(kernel: Any) -> Any:
            try:
                watched = kernel._kvtrace_watch
            except AttributeError:
                watched = self._first(kernel, plain)
            if watched is None or session.recorder.launching != watched.owner:
                return plain(kernel)
            watch = watched.watch
            if watch.wait:
                watch.wait -= 1
                return plain(kernel)
            return watched.capturing

        return property(run)

    def known(self, kernel: Any) -> tuple[Any, ...]:
        """Return, for the hot path, what looks at a kernel's launches; () if that is not known."""
        found = getattr(kernel, "__dict__", {}).get(_ATTRIBUTE, self)
        return () if found is self else (found,)

    def watch_unasked(self, kernel: Any) -> None:
        """Decide whether a kernel is watched that is launched without asking for its launcher."""
        if self._plain is not None and _ATTRIBUTE not in getattr(kernel, "__dict__", {}):
            self._decide(kernel, self._plain(kernel), at_once=True)  # its launch is over

    def unmark(self) -> None:
        """Leave kernels as they were found."""
        for kernel in list(self._marked):
            vars(kernel).pop(_ATTRIBUTE, None)

    def _first(self, kernel: Any, plain: Callable[[Any], Any]) -> Any:
        """Decide whether a kernel is watched, at the first launch of it by Triton."""
        launcher = plain(kernel)
        if not _is_launched(self._session, kernel):
            return None
        return self._decide(kernel, launcher)

    def _decide(self, kernel: Any, launcher: Callable[..., Any], *, at_once: bool = False) -> Any:
        watched: Any = None
        try:
            if self._session.settings.records_kernel(kernel_name(kernel)):
                watched = self._watched(kernel, launcher, at_once=at_once)
        except Exception as error:  # noqa: BLE001 - counted; its contents are not kept
            self._session.problem(error)
        setattr(kernel, _ATTRIBUTE, watched)
        self._marked.add(kernel)
        return watched

    def _watched(self, kernel: Any, launcher: Callable[..., Any], *, at_once: bool) -> Any:
        """Return what looks at a kernel's launches; None where nothing has to."""
        held = weakref.ref(kernel)
        signature = tuple(signature_of(kernel.src).items())
        watch = self._watching.watch(
            kernel, parameters_of(kernel), _flattening(signature), lambda: _read(held()),
            at_once=at_once,
        )  # fmt: skip
        if watch is None:
            return None
        owner = owner_of(kernel)
        look = self._watching.look(watch, places_in(signature), launcher, len(signature), owner)
        if look is not None:
            return look
        return _Watched(owner, watch, self._capturing(watch, launcher, len(signature)))

    def _capturing(self, watch: Watch, launcher: Any, count: int) -> Callable[..., Any]:
        session, before = self._session, self._watching.before

        def launch(*given: Any) -> Any:
            number = 0
            if len(given) == _BEFORE_VALUES + count and session.recording:
                try:
                    values = given[_BEFORE_VALUES:]
                    number = before(watch, given[:3], values, given[_STREAM])
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    session.problem(error)
            result = launcher(*given)
            session.recorder.tag(number)
            return result

        return launch


def _read(kernel: Any) -> Any:
    return None if kernel is None else module_of(kernel)


def _flattening(signature: Sequence[tuple[Any, Any]]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return what flattens the values of a launch as `parameters_of` flattens the signature."""
    if not any(isinstance(kind, tuple | list) for _, kind in signature):
        return lambda values: values
    from kvtrace.capture.arguments import flattened

    def flat(values: Sequence[Any]) -> Sequence[Any]:
        return [
            value
            for (name, kind), given in zip(signature, values, strict=True)
            for _, _, value in flattened(str(name), kind, given)
        ]

    return flat
