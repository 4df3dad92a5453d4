"""Launches of the kernels that Inductor generates: the hooks, and what they tell the session.

They do not pass `JITFunction.run` but `CachingAutotuner.run`, all of them. That is wrapped, and
nothing else of a launch: a launch hook of Triton's would change which launcher Inductor picks. The
trials of Inductor's own autotuning pass `bench`, which is given a launcher that records; they have
phase "autotune", as has a whole run that Inductor makes to measure.
"""

import re
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels import handed_over
from kvtrace.backends.compiled_kernels.around import AroundLaunches, Variant, around_launches
from kvtrace.backends.compiled_kernels.contents_to_copy import Watch, Watching
from kvtrace.backends.compiled_kernels.kernel_records import Compilation, CompilationListener
from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.compiled_kernels.recorded_calls import RecordedCalls
from kvtrace.backends.cupti import device_timeline
from kvtrace.backends.inductor.generated_kernels import STATIC_LAUNCHERS, Launched, launched_with
from kvtrace.backends.inductor.libraries import LIBRARY
from kvtrace.backends.inductor.origins import calling_module
from kvtrace.backends.inductor.static_loads import time_static_loads
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.adapters import Apart
from kvtrace.capture.hot import DEVICE_KINDS, NO_DEVICE, NO_GRID
from kvtrace.capture.records import ArgumentRecord, KernelRecord, Parameter

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.judged_launches import Judging
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module

#: How Inductor names the pointers of the kernels that it writes itself.
_OWN_POINTER: Final = re.compile(r"(in|out|in_out)_ptr\d+|ws_ptr\w*|seed\w*")


class InductorAdapter:
    """Turns what the hot path has not seen before into kernels and calls of the session."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.watching: Watching | None = None
        if session.contents is not None:
            self.watching = Watching(session, session.contents)
        self.around = around_launches(session)
        self._recorded = RecordedCalls(session)
        self.judging = _judging(session, self)
        self._launched: weakref.WeakKeyDictionary[Any, Launched] = weakref.WeakKeyDictionary()
        self._watches: weakref.WeakKeyDictionary[Any, Watch | None] = weakref.WeakKeyDictionary()

    def prepare(self, autotuner: Any) -> None:
        """Have an autotuner compile what it has to, as its run does first."""
        try:
            if not autotuner.launchers:
                autotuner.precompile()
        except Exception as error:  # noqa: BLE001 - its run tells the program
            self._session.problem(error)

    def judge_chosen(self, autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Judge a launch of the configuration that the autotuner has; trials are judged apart.

        Raises:
            KernelDefect: it has a defect, and the user asked for that.

        """
        assert self.judging is not None
        launchers = autotuner.launchers
        if len(launchers) == 1:
            self.judging.before(launchers[0], NO_GRID, args, _passed(kwargs), autotuner)

    def look_at(
        self, autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stream: Any
    ) -> int:
        """Look at what tensors hold before a launch; give the number of what was copied, or 0."""
        if self.watching is None:
            return 0
        try:
            launchers = autotuner.launchers
            if len(launchers) != 1:
                return 0
            watch = self._watch(autotuner, launchers[0])
            if watch is None:
                return 0
            if watch.look is not None:
                return int(watch.look.at(args, int(stream or 0)))
            if watch.wait:
                watch.wait -= 1
                return 0
            values = launched_with(autotuner, launchers[0]).values(args, _passed(kwargs))
            return self.watching.before(watch, NO_GRID, tuple(values), int(stream or 0))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
            return 0

    def begin_check(
        self,
        checking: AroundLaunches,
        autotuner: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        stream: Any,
    ) -> Any:
        """Copy what is there before a launch that is to be checked; None if it is not."""
        if not self._session.recorder.active:
            return None
        if getattr(autotuner, "triton_interpret", False):
            return None
        try:
            self.prepare(autotuner)
            if len(autotuner.launchers) != 1:
                return None
            (launcher,) = autotuner.launchers
            variant = checking.variant(launcher, lambda: _variant(autotuner, launcher))
            if variant is None or not checking.is_due(variant):
                return None
            launched, passed = launched_with(autotuner, launcher), _passed(kwargs)
        except Exception as error:  # noqa: BLE001 - counted; the launch is not checked
            self._session.problem(error)
            return None
        return checking.before(
            variant,
            lambda: launched.grid(args, passed),
            launched.values(args, passed),
            int(stream or 0),
            lambda: module_of(launched),
        )

    def _watch(self, autotuner: Any, launcher: Any) -> Watch | None:
        """Return the watch of a launcher, if it needs one; decided once.

        Its first launch is inspected when it has happened, so what it writes has to be known:
        Inductor's own kernels have that in the names of their parameters.
        """
        if launcher not in self._watches:
            self._watches[launcher] = self._new_watch(autotuner, launcher)
        return self._watches[launcher]

    def _new_watch(self, autotuner: Any, launcher: Any) -> Watch | None:
        assert self.watching is not None
        launched = launched_with(autotuner, launcher)
        if not self._session.settings.records_kernel(launched.name):
            return None
        parameters = launched.parameters()
        pointers = [n for n, each in enumerate(parameters) if each.type.startswith("*")]
        own = all(_OWN_POINTER.fullmatch(parameters[n].name) for n in pointers)
        watch = self.watching.watch(
            launcher, parameters, tuple, lambda: module_of(launched), at_once=not own
        )
        if watch is not None and watch.written is None:
            inputs = (n for n in pointers if parameters[n].name.startswith("in_ptr"))
            watch.written = frozenset(pointers).difference(inputs)
        if watch is not None:
            self.watching.look(watch, launched.places)
        return watch

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a configuration, given its autotuner and its launcher; see `adapters.Adapter`."""
        if getattr(owner, "triton_interpret", False):
            return (-1, NO_DEVICE, -1)  # Triton's interpreter ran the function, and no launcher
        launched = launched_with(owner, kernel)
        if not self._session.settings.records_kernel(launched.name):
            return (-1, NO_DEVICE, -1)
        keep = self._session.settings.source

        def tell(text: str) -> None:
            self._session.message("info", "inductor-ir", text)

        def add() -> int:
            cache_key = str(launched.kernel.hash)
            compilation, load = _compilation_of(launched), LOADS.take(cache_key)
            out, module = self._session.out, calling_module()

            def record() -> KernelRecord:
                by_worker = handed_over.take(out, cache_key)
                return launched.record(keep, by_worker or compilation, load, module, tell)

            return self._session.add_kernel(record, launched.name)

        kernel_id = self._recorded.kernel_id(kernel, add)
        device = owner.device_props
        kind = DEVICE_KINDS.get(device.type, NO_DEVICE)
        self._launched[kernel] = launched
        index = -1 if device.index is None else int(device.index)
        return (kernel_id, kind, index, self._looking(owner, kernel))

    def _looking(self, autotuner: Any, launcher: Any) -> Any:
        """Return what looks at a launcher's launches; True where Python does, None: nothing."""
        watch = None if self.watching is None else self._watch(autotuner, launcher)
        if watch is None:
            return None
        # What is checked and inspected has one number for both, which Python gives.
        return True if watch.look is None or self.around else watch.look

    def new_call(
        self,
        _owner: Any,
        kernel: Any,
        kernel_id: int,
        _grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Record a unique call; see `adapters.Adapter`."""
        launch = self.coming(kernel, kernel_id, NO_GRID, args, kwargs)
        if self.watching is not None:
            self.watching.after(kernel, launch.values)
        for each in self.around:
            each.follow()
        return launch.call_id

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        _grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> "ComingLaunch":
        """Describe a launch, and record its call if that is new; see `judging.Adapter`."""
        launched = self._launched[kernel]
        grid, parameters = launched.grid(args, kwargs), launched.parameters()
        values = launched.values(args, kwargs)
        call_id, records = self._recorded.call(kernel_id, grid, parameters, values)
        return ComingLaunch(call_id, launched, grid, parameters, records, values)


@dataclass(frozen=True, slots=True)
class ComingLaunch:
    """A launch by its call, with what `judging.Launch` wants to know of it."""

    call_id: int
    launched: Launched
    grid: tuple[int, int, int]
    parameters: Sequence[Parameter]
    records: Sequence[ArgumentRecord]
    values: Sequence[Any]

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.launched.name

    @property
    def place(self) -> tuple[str | None, int | None]:
        """File and line of the kernel's definition."""
        return self.launched.place

    def module(self) -> "Module":
        """Read the kernel's IR; made once for a kernel."""
        return module_of(self.launched)


def _variant(autotuner: Any, launcher: Any) -> Variant:
    launched = launched_with(autotuner, launcher)
    return Variant(launched.name, launched.parameters(), tuple)


def module_of(launched: Launched) -> "Module":
    """Read the IR of what an autotuner launches; made once for a launcher."""
    found = _modules.get(launched.launcher)
    if found is None:
        from kvtrace.backends.compiled_kernels.generic import generic_ttir
        from kvtrace.ir.relocation import module_defined_in

        text = generic_ttir(launched.stages()["ttir"])
        found = module_defined_in(text, launched.place[0], launched.target)
        _modules[launched.launcher] = found
    return found


_modules: "weakref.WeakKeyDictionary[Any, Module]" = weakref.WeakKeyDictionary()


def _judging(session: "Session", adapter: InductorAdapter) -> "Judging | None":
    if session.settings.sanitize == "off":
        return None
    from kvtrace.backends.compiled_kernels.judged_launches import Judging

    return Judging(session, adapter)


def _compilation_of(launched: Launched) -> Compilation | None:
    """Find how it was compiled, if that happened in this process and not in a worker."""
    from triton import knobs

    listener = knobs.compilation.listener
    if not isinstance(listener, CompilationListener):
        return None
    return listener.take(str(launched.kernel.hash))


class InductorHooks:
    """The hooks of one session in Inductor's runtime."""

    def __init__(self, session: "Session") -> None:
        """Prepare the hooks; `install` puts them in."""
        self._session = session
        self._replaced = Replacements()

    def install(self) -> None:
        """Wrap the method that every launch passes, and the one that measures a trial."""
        session = self._session
        autotuner: Any = sys.modules[LIBRARY].CachingAutotuner
        adapter = InductorAdapter(session)
        run = autotuner.run
        self._replaced.put_at_first_call(
            autotuner, "run", lambda: _hot_run(run, session, adapter), session.problem
        )
        self._replaced.put(autotuner, "bench", _with_trials(autotuner.bench, session, adapter))
        session.at_end.append(partial(handed_over.clear, session.out))
        for name in STATIC_LAUNCHERS:
            time_static_loads(sys.modules.get(name), self._replaced, session.problem)

    def uninstall(self) -> None:
        """Take the hooks out, where nothing else lies on top of them."""
        self._replaced.undo()


def _hot_run(
    run: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    """Make what records launches; the first launch does, which is when a device is known."""
    session.begin_timeline(device_timeline)
    careful = _careful(run, session, adapter)
    if session.settings.tensors == "all" or adapter.judging is not None:
        return careful
    for each in adapter.around:
        run = _checked(run, adapter, each)
    return session.recorder.wrap_choosing(run, adapter, careful)


def _checked(
    original: Callable[..., Any], adapter: InductorAdapter, checking: AroundLaunches
) -> Callable[..., Any]:
    """Launch, and keep what is to be checked."""

    def run(self: Any, /, *args: Any, stream: Any, **kwargs: Any) -> Any:
        begun = adapter.begin_check(checking, self, args, kwargs, stream)
        if begun is None:
            return original(self, *args, stream=stream, **kwargs)
        return checking.launched(begun, lambda: original(self, *args, stream=stream, **kwargs))

    run.__wrapped__ = original  # type: ignore[attr-defined]
    return run


def _careful(
    original: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    """Launch to measure, or with contents to keep, or what is to be judged first."""
    clock = time.time_ns

    def run(self: Any, /, *args: Any, stream: Any, **kwargs: Any) -> Any:
        if not session.recorder.active or getattr(self, "triton_interpret", False):
            return original(self, *args, stream=stream, **kwargs)
        if kwargs.get("benchmark_run"):
            with session.in_phase("autotune"):
                return launch(self, args, stream, kwargs)
        return launch(self, args, stream, kwargs)

    def launch(autotuner: Any, args: tuple[Any, ...], stream: Any, kwargs: dict[str, Any]) -> Any:
        if adapter.judging is not None or session.settings.tensors == "all":
            adapter.prepare(autotuner)
        if adapter.judging is not None:
            adapter.judge_chosen(autotuner, args, kwargs)
        number = adapter.look_at(autotuner, args, kwargs, stream)
        made = partial(original, autotuner, *args, stream=stream, **kwargs)
        checked = False
        for each in adapter.around:
            begun = adapter.begin_check(each, autotuner, args, kwargs, stream)
            if begun is not None:
                made, checked = partial(each.launched, begun, made, number), True
        enter = clock()
        result = made()
        leave = clock()
        if not checked:
            session.recorder.tag(number)
        try:
            launchers = autotuner.launchers
            if len(launchers) == 1:
                passed = _passed(kwargs)
                session.recorder.record(
                    adapter, autotuner, launchers[0], NO_GRID, args, passed, enter, leave
                )
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
        return result

    run.__wrapped__ = original  # type: ignore[attr-defined]
    return run


def _passed(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is for the autotuner and not for the kernel."""
    if not kwargs:
        return kwargs
    return {k: v for k, v in kwargs.items() if k not in ("benchmark_run", "stream")}


class _Trial:
    """A launcher that records its launches; all else about it is the launcher's own."""

    def __init__(self, launcher: Any, owner: Any, session: "Session", adapter: Any) -> None:
        self._launcher = launcher
        self._facts = (owner, session, adapter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner, session, adapter = self._facts
        passed = _passed(kwargs)
        if adapter.judging is not None:
            adapter.judging.before(self._launcher, NO_GRID, args, passed, owner)
        enter = time.time_ns()
        result = self._launcher(*args, **kwargs)
        leave = time.time_ns()
        try:
            session.recorder.record(
                adapter, owner, self._launcher, NO_GRID, args, passed, enter, leave
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
        session.begin_timeline(device_timeline)
        trial = _Trial(launcher, self, session, adapter)
        with session.in_phase("autotune"):
            return original(self, trial, *args, **kwargs)

    bench.__wrapped__ = original  # type: ignore[attr-defined]
    return bench
