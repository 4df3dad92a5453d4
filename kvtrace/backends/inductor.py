"""The Inductor backend: launches of the kernels that `torch.compile` generates.

They do not pass `JITFunction.run` but `CachingAutotuner.run`, all of them. That is wrapped, and
nothing else of a launch: a launch hook of Triton's would change which launcher Inductor picks. The
trials of Inductor's own autotuning pass `bench`, which is given a launcher that records; they have
phase "autotune", as has a whole run that Inductor makes to measure.
"""

import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.inductor_kernels import LIBRARY, Launched, launched_with
from kvtrace.backends.triton.contents import Contents
from kvtrace.backends.triton.kernels import Compilation, CompilationListener
from kvtrace.capture.arguments import argument_records
from kvtrace.capture.hot import CUDA, NO_DEVICE, ROCM

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

__all__ = ["BACKEND", "InductorBackend"]

_DEVICE_KINDS: Final = {"cuda": CUDA, "hip": ROCM}
#: Stands for the grid in a launch's identity: the grid follows from kernel and arguments.
_ANY_GRID: Final = (0, 0, 0)


class InductorAdapter:
    """Turns what the hot path has not seen before into kernels and calls of the session."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.contents: Contents | None = None
        if session.settings.tensors != "none":
            self.contents = Contents(session, session.identities)
        self._launched: weakref.WeakKeyDictionary[Any, Launched] = weakref.WeakKeyDictionary()

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int]:
        """Record a configuration, given its autotuner and its launcher; see `hot.Adapter`."""
        launched = launched_with(owner, kernel)
        if not self._session.settings.records_kernel(launched.name):
            return (-1, NO_DEVICE, -1)
        keep_source = self._session.settings.source

        def tell(text: str) -> None:
            self._session.message("info", "inductor-ir", text)

        compilation = _compilation_of(launched)
        kernel_id = self._session.add_kernel(
            lambda: launched.record(keep_source, compilation, tell)
        )
        device = owner.device_props
        kind = _DEVICE_KINDS.get(device.type, NO_DEVICE)
        self._launched[kernel] = launched
        return (kernel_id, kind, -1 if device.index is None else int(device.index))

    def new_call(
        self,
        _owner: Any,
        kernel: Any,
        kernel_id: int,
        _grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Record a distinct call; see `hot.Adapter`."""
        launched = self._launched[kernel]
        contents = None if self.contents is None else self.contents.of
        values = launched.values(args, kwargs)
        records = argument_records(launched.parameters(), values, contents)
        return self._session.add_call(kernel_id, launched.grid(args, kwargs), records)


def _compilation_of(launched: Launched) -> Compilation | None:
    """Find how it was compiled, if that happened in this process and not in a worker."""
    from triton import knobs

    listener = knobs.compilation.listener
    if not isinstance(listener, CompilationListener):
        return None
    return listener.take(str(launched.kernel.hash))


class InductorBackend:
    """Hooks Inductor's runtime."""

    name: Final = "inductor"
    libraries: Final = (LIBRARY,)

    def __init__(self) -> None:
        self._undo: Callable[[], None] | None = None

    def install(self, session: "Session") -> None:
        """Wrap the method that every launch passes, and the one that measures a trial."""
        autotuner: Any = sys.modules[LIBRARY].CachingAutotuner
        adapter = InductorAdapter(session)
        ours = {
            "run": _wrapped(autotuner.run, session, adapter),
            "bench": _with_trials(autotuner.bench, session, adapter),
        }
        originals = {name: getattr(autotuner, name) for name in ours}
        for name, hook in ours.items():
            setattr(autotuner, name, hook)

        def undo() -> None:
            for name, hook in ours.items():
                if getattr(autotuner, name) is hook:
                    setattr(autotuner, name, originals[name])

        self._undo = undo

    def uninstall(self) -> None:
        """Take the hook out, where nothing else lies on top of it."""
        if self._undo is not None:
            self._undo()
            self._undo = None


def _wrapped(
    original: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    clock = time.time_ns
    with_timeline = session.settings.mode == "timeline"

    def run(self: Any, /, *args: Any, stream: Any, **kwargs: Any) -> Any:
        recorder = session.recorder
        if not recorder.active or getattr(self, "triton_interpret", False):
            return original(self, *args, stream=stream, **kwargs)
        if with_timeline:
            session.begin_timeline()
        if kwargs.get("benchmark_run"):
            with session.in_phase("autotune"):
                return launch(self, args, stream, kwargs)
        return launch(self, args, stream, kwargs)

    def launch(autotuner: Any, args: tuple[Any, ...], stream: Any, kwargs: dict[str, Any]) -> Any:
        if adapter.contents is not None:
            try:
                adapter.contents.before(autotuner, args, kwargs)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                session.problem(error)
        enter = clock()
        result = original(autotuner, *args, stream=stream, **kwargs)
        leave = clock()
        try:
            launchers = autotuner.launchers
            if len(launchers) == 1:
                passed = kwargs
                if kwargs:
                    passed = {k: v for k, v in kwargs.items() if k != "benchmark_run"}
                session.recorder.record(
                    adapter, autotuner, launchers[0], _ANY_GRID, args, passed, enter, leave
                )
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
        return result

    run.__wrapped__ = original  # type: ignore[attr-defined]
    return run


class _Trial:
    """A launcher that records its launches; all else about it is the launcher's own."""

    def __init__(self, launcher: Any, owner: Any, session: "Session", adapter: Any) -> None:
        self._launcher = launcher
        self._facts = (owner, session, adapter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        enter = time.time_ns()
        result = self._launcher(*args, **kwargs)
        leave = time.time_ns()
        owner, session, adapter = self._facts
        try:
            passed = {name: value for name, value in kwargs.items() if name != "stream"}
            session.recorder.record(
                adapter, owner, self._launcher, _ANY_GRID, args, passed, enter, leave
            )
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._launcher, name)

    def __hash__(self) -> int:
        return hash(self._launcher)

    def __eq__(self, other: object) -> bool:
        return self._launcher is (other._launcher if isinstance(other, _Trial) else other)


def _with_trials(
    original: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    def bench(self: Any, launcher: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not session.recorder.active or getattr(self, "triton_interpret", False):
            return original(self, launcher, *args, **kwargs)
        session.begin_timeline()
        trial = _Trial(launcher, self, session, adapter)
        with session.in_phase("autotune"):
            return original(self, trial, *args, **kwargs)

    bench.__wrapped__ = original  # type: ignore[attr-defined]
    return bench


BACKEND: Final = InductorBackend()
