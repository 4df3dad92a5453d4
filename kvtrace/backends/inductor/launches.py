"""Hooks around the launches of Inductor's kernels, and the kernels and calls that they record.

All launches call `CachingAutotuner.run` instead of `JITFunction.run`. Only this method is wrapped,
since with a launch hook in Triton Inductor would select another launcher. Trials of Inductor's
autotuning call `bench`, which gets a launcher that records; they have phase "autotune", as does a
call of `run` that Inductor makes to measure.
"""

import re
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels import handed_over
from kvtrace.backends.compiled_kernels.around import AroundLaunches, Variant, around_launches
from kvtrace.backends.compiled_kernels.contents_to_copy import ContentsWatcher, Watch
from kvtrace.backends.compiled_kernels.kernel_records import Compilation, CompilationListener
from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.compiled_kernels.recorded_calls import PendingLaunch, RecordedCalls
from kvtrace.backends.cupti import device_timeline
from kvtrace.backends.inductor.generated_kernels import (
    STATIC_LAUNCHERS,
    LauncherKernel,
    kernel_of_launcher,
)
from kvtrace.backends.inductor.libraries import LIBRARY
from kvtrace.backends.inductor.origins import calling_module
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.adapters import Apart
from kvtrace.capture.hot import DEVICE_KINDS, NO_DEVICE, NO_GRID
from kvtrace.capture.records import KernelRecord

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.judged_launches import LaunchJudge
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module


def time_static_loads(
    module: Any, replaced: Replacements, problem: Callable[[Exception], None]
) -> None:
    """Wrap `load_kernel` of Inductor's static launchers in `module`, unless that is None."""
    for owner in _static_launchers(module):
        replaced.put(owner, "load_kernel", _timed(owner.load_kernel, problem))


def _static_launchers(module: Any) -> Iterator[Any]:
    for value in list(vars(module).values()) if module is not None else ():
        if isinstance(value, type) and "load_kernel" in vars(value):
            yield value


def _timed(load: Callable[..., Any], problem: Callable[[Exception], None]) -> Callable[..., Any]:
    def load_kernel(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "function", None) is not None:
            return load(self, *args, **kwargs)  # already loaded: nothing happens
        begin, before = time.time_ns(), time.perf_counter_ns()
        result = load(self, *args, **kwargs)
        duration = time.perf_counter_ns() - before
        try:
            LOADS.add(str(self.hash), begin, duration)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return result

    load_kernel.__wrapped__ = load  # type: ignore[attr-defined]
    return load_kernel


#: Inductor's names of pointers in kernels that it generates itself.
_GENERATED_POINTER: Final = re.compile(r"(in|out|in_out)_ptr\d+|ws_ptr\w*|seed\w*")


class InductorAdapter:
    """The adapter that records new kernels and calls of Inductor (`capture/adapters.py`)."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.watching: ContentsWatcher | None = None
        if session.contents is not None:
            self.watching = ContentsWatcher(session, session.contents)
        self.around = around_launches(session)
        self._recorded = RecordedCalls(session)
        self.judging = _judging(session, self)
        self._launched: weakref.WeakKeyDictionary[Any, LauncherKernel] = weakref.WeakKeyDictionary()
        self._watches: weakref.WeakKeyDictionary[Any, Watch | None] = weakref.WeakKeyDictionary()

    def prepare(self, autotuner: Any) -> None:
        """Make an autotuner compile its configurations now, as its `run` would."""
        try:
            if not autotuner.launchers:
                autotuner.precompile()
        except Exception as error:  # noqa: BLE001 - `run` raises it in the program
            self._session.problem(error)

    def judge_chosen(self, autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Judge a launch before it is made, if the autotuner has chosen a configuration.

        Raises:
            KernelDefect: The call has a defect, and `sanitize=raise` is set.

        """
        assert self.judging is not None
        launchers = autotuner.launchers
        if len(launchers) == 1:
            self.judging.before(launchers[0], NO_GRID, args, _passed(kwargs), autotuner)

    def look_at(
        self, autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stream: Any
    ) -> int:
        """Copy watched tensors before a launch unless `wait` > 0; return the copies' id, or 0."""
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
            values = kernel_of_launcher(autotuner, launchers[0]).values(args, _passed(kwargs))
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
        """Call a wrapper's `before` for a launch, and return its result; None: do not wrap.

        None also if the wrapper is not due, or while the autotuner has several launchers.
        """
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
            launcher_kernel, passed = kernel_of_launcher(autotuner, launcher), _passed(kwargs)
        except Exception as error:  # noqa: BLE001 - counted; the launch is not checked
            self._session.problem(error)
            return None
        return checking.before(
            variant,
            lambda: launcher_kernel.grid(args, passed),
            launcher_kernel.values(args, passed),
            int(stream or 0),
            lambda: module_of(launcher_kernel),
        )

    def _watch(self, autotuner: Any, launcher: Any) -> Watch | None:
        """Return the watch of a launcher, made at the first call; None if it needs none.

        The first launch is inspected afterwards, so the written positions must be known: of kernels
        that Inductor generated they follow from the parameters' names, else from the IR.
        """
        if launcher not in self._watches:
            self._watches[launcher] = self._new_watch(autotuner, launcher)
        return self._watches[launcher]

    def _new_watch(self, autotuner: Any, launcher: Any) -> Watch | None:
        assert self.watching is not None
        launcher_kernel = kernel_of_launcher(autotuner, launcher)
        if not self._session.settings.records_kernel(launcher_kernel.name):
            return None
        parameters = launcher_kernel.parameters()
        pointers = [n for n, p in enumerate(parameters) if p.type.startswith("*")]
        is_generated = all(_GENERATED_POINTER.fullmatch(parameters[n].name) for n in pointers)
        watch = self.watching.watch(
            launcher,
            parameters,
            tuple,
            lambda: module_of(launcher_kernel),
            at_once=not is_generated,
        )
        if watch is not None and watch.written is None:
            inputs = (n for n in pointers if parameters[n].name.startswith("in_ptr"))
            watch.written = frozenset(pointers).difference(inputs)
        if watch is not None:
            self.watching.look(watch, launcher_kernel.places)
        return watch

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a configuration of the autotuner `owner` with the launcher `kernel`.

        Return kernel id (-1: not recorded), the device's kind and index, and `_inspector`.
        """
        if getattr(owner, "triton_interpret", False):
            return (-1, NO_DEVICE, -1)  # Triton's interpreter ran the function without a launcher
        launcher_kernel = kernel_of_launcher(owner, kernel)
        if not self._session.settings.records_kernel(launcher_kernel.name):
            return (-1, NO_DEVICE, -1)
        keep = self._session.settings.source

        def tell(text: str) -> None:
            self._session.message("info", "inductor-ir", text)

        def add() -> int:
            cache_key = str(launcher_kernel.kernel.hash)
            compilation, load = _compilation_of(launcher_kernel), LOADS.take(cache_key)
            out, module = self._session.out, calling_module()

            def record() -> KernelRecord:
                by_worker = handed_over.take(out, cache_key)
                return launcher_kernel.record(keep, by_worker or compilation, load, module, tell)

            return self._session.add_kernel(record, launcher_kernel.early)

        kernel_id = self._recorded.kernel_id(kernel, add)
        device = owner.device_props
        kind = DEVICE_KINDS.get(device.type, NO_DEVICE)
        self._launched[kernel] = launcher_kernel
        index = -1 if device.index is None else int(device.index)
        return (kernel_id, kind, index, self._inspector(owner, kernel))

    def _inspector(self, autotuner: Any, launcher: Any) -> Any:
        """Return a launcher's native inspector; True if Python inspects, None without a watch."""
        watch = None if self.watching is None else self._watch(autotuner, launcher)
        if watch is None:
            return None
        # A launch that is checked and inspected has one number for both, assigned by Python.
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
        """Record a unique call and return its id; then inspect and check its first launch."""
        launch = self.coming(kernel, kernel_id, NO_GRID, args, kwargs)
        if self.watching is not None:
            self.watching.after(kernel, launch.values)
        for wrapper in self.around:
            wrapper.follow()
        return launch.call_id

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        _grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> PendingLaunch:
        """Return the description of a launch, after recording its call if that is new."""
        launcher_kernel = self._launched[kernel]
        grid, parameters = launcher_kernel.grid(args, kwargs), launcher_kernel.parameters()
        values = launcher_kernel.values(args, kwargs)
        call_id, records = self._recorded.call(kernel_id, grid, parameters, values)
        place, module = lambda: launcher_kernel.place, partial(module_of, launcher_kernel)
        return PendingLaunch(
            call_id, launcher_kernel.name, place, module, grid, parameters, records, values
        )


def _variant(autotuner: Any, launcher: Any) -> Variant:
    launcher_kernel = kernel_of_launcher(autotuner, launcher)
    return Variant(launcher_kernel.name, launcher_kernel.parameters(), tuple)


def module_of(launcher_kernel: LauncherKernel) -> "Module":
    """Return the IR of a launcher's kernel, parsed once for each launcher."""
    module = _modules.get(launcher_kernel.launcher)
    if module is None:
        from kvtrace.backends.compiled_kernels.generic import generic_ttir
        from kvtrace.ir.relocation import module_defined_in

        text = generic_ttir(launcher_kernel.stages()["ttir"])
        module = module_defined_in(text, launcher_kernel.place[0], launcher_kernel.target)
        _modules[launcher_kernel.launcher] = module
    return module


_modules: "weakref.WeakKeyDictionary[Any, Module]" = weakref.WeakKeyDictionary()


def _judging(session: "Session", adapter: InductorAdapter) -> "LaunchJudge | None":
    if session.settings.sanitize == "off":
        return None
    from kvtrace.backends.compiled_kernels.judged_launches import LaunchJudge

    return LaunchJudge(session, adapter)


def _compilation_of(launcher_kernel: LauncherKernel) -> Compilation | None:
    """Return the kernel's compilation, if it happened in this process and not in a worker."""
    from triton import knobs

    listener = knobs.compilation.listener
    if not isinstance(listener, CompilationListener):
        return None
    return listener.take(str(launcher_kernel.kernel.hash))


class InductorHooks:
    """The hooks of one session in Inductor's runtime."""

    def __init__(self, session: "Session") -> None:
        """Prepare the hooks; `install` adds them to Inductor."""
        self._session = session
        self._replaced = Replacements()

    def install(self) -> None:
        """Wrap `run`, which makes every launch, and `bench`, which measures a trial."""
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
        """Remove the hooks, unless other hooks lie on top."""
        self._session.remove_hooks(self._replaced.undo)


def _hot_run(
    run: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    """Return a `run` that records launches, made at the first launch, when a device is known."""
    session.begin_timeline(device_timeline)
    inspecting = _inspecting_run(run, session, adapter)
    if session.settings.tensors == "all" or adapter.judging is not None:
        return inspecting
    for wrapper in adapter.around:
        run = _checked(run, adapter, wrapper)
    return session.recorder.wrap_choosing(run, adapter, inspecting)


def _checked(
    original: Callable[..., Any], adapter: InductorAdapter, checking: AroundLaunches
) -> Callable[..., Any]:
    """Return `original` with launches that `begin_check` selects made by `checking.launched`."""

    def run(self: Any, /, *args: Any, stream: Any, **kwargs: Any) -> Any:
        pending = adapter.begin_check(checking, self, args, kwargs, stream)
        if pending is None:
            return original(self, *args, stream=stream, **kwargs)
        return checking.launched(pending, lambda: original(self, *args, stream=stream, **kwargs))

    run.__wrapped__ = original  # type: ignore[attr-defined]
    return run


def _inspecting_run(
    original: Callable[..., Any], session: "Session", adapter: InductorAdapter
) -> Callable[..., Any]:
    """Return a `run` in Python that makes and records launches to tune, judge or inspect."""
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
        make = partial(original, autotuner, *args, stream=stream, **kwargs)
        is_checked = False
        for wrapper in adapter.around:
            pending = adapter.begin_check(wrapper, autotuner, args, kwargs, stream)
            if pending is not None:
                make, is_checked = partial(wrapper.launched, pending, make, number), True
        enter = clock()
        result = make()
        leave = clock()
        if not is_checked:
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
    """Return the keyword arguments without the autotuner's own keywords."""
    if not kwargs:
        return kwargs
    return {k: v for k, v in kwargs.items() if k not in ("benchmark_run", "stream")}


class _Trial:
    """A launcher that records its launches; all other attributes are the launcher's own."""

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
