"""Hooks around Triton's launches, and the kernels and calls that they record.

Every launch by `kernel[grid](…)`, autotuned or not, calls `JITFunction.run`. A launch of a compiled
kernel (`compiled[grid](…)`) calls `CompiledKernel.__getitem__` instead.

Triton calls `kernel_load_start_hook` and `kernel_load_end_hook` right around the driver's
`load_binary`, once per kernel and device, at its first launch.
"""

import copy
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kvtrace.backends.compiled_kernels.around import AroundLaunches, around_launches
from kvtrace.backends.compiled_kernels.contents_to_copy import ContentsWatcher
from kvtrace.backends.compiled_kernels.handed_over import compiles_for, hand_over
from kvtrace.backends.compiled_kernels.kernel_records import (
    Compilation,
    CompilationListener,
    definition_of,
    early_record,
    function_of,
    is_gluon,
    kernel_name,
    kernel_record,
    parameters_of,
    values_of,
)
from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.compiled_kernels.recorded_calls import PendingLaunch, RecordedCalls
from kvtrace.backends.compiled_kernels.versions import finished_kernel
from kvtrace.backends.compiled_kernels.written_lines import hide_generator_of
from kvtrace.backends.cupti import device_timeline
from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton import device_free, device_free_state
from kvtrace.backends.triton.dispatchers import DispatcherHooks
from kvtrace.backends.triton.dynamo_frames import skip_launching_frames
from kvtrace.backends.triton.launch_metadata import stated_work
from kvtrace.backends.triton.launchers import WatchedLaunchers, checked, judged
from kvtrace.backends.triton.modules import module_of
from kvtrace.backends.triton.tuning_notes import TuningNotes, keeping_failure
from kvtrace.capture.adapters import Apart
from kvtrace.capture.hot import DEVICE_KINDS, NO_DEVICE
from kvtrace.capture.records import AUTOTUNE, CallFacts
from kvtrace.capture.session import Session
from kvtrace.schema.layout import GLUON

if TYPE_CHECKING:
    pass


class LaunchAdapter:
    """The adapter that records new kernels and calls of Triton (`capture/adapters.py`)."""

    def __init__(self, session: Session, listener: CompilationListener) -> None:
        """`listener` has the compilations, from which kernels' records are made."""
        self._session = session
        self._listener = listener
        self.watching: ContentsWatcher | None = None
        self.dispatchers: DispatcherHooks | None = None
        self.launchers: WatchedLaunchers | None = None
        self.around: tuple[AroundLaunches, ...] = ()
        self._recorded = RecordedCalls(session)
        self._calls_of_watch: tuple[str | None, set[int]] = (None, set())
        self._parameters: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a compiled variant; return kernel id, device and inspector (`Adapter`)."""
        if self.dispatchers is not None:
            self.dispatchers.hook(type(owner))
            if self.dispatchers.unasked and self.launchers is not None:
                self.launchers.watch_after_launch(kernel)
        looks = () if self.launchers is None else self.launchers.known(kernel)
        kernel = finished_kernel(kernel)
        if kernel is None or not self._session.settings.records_kernel(kernel_name(kernel)):
            return (-1, NO_DEVICE, -1)
        hide_generator_of(function_of(kernel))
        kernel_id = self._recorded.kernel_id(kernel, lambda: self._add_kernel(kernel))
        kind, index = _device_of(kernel)
        return (kernel_id, kind, index, *looks)

    def new_call(
        self,
        owner: Any,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Record a unique call if it is new, and return its id.

        Calls whose arguments differ only in being passed by position, by name or as defaults are
        new to the hot path, and one call here.
        """
        del owner
        launch = self.coming(kernel, kernel_id, grid, args, kwargs)
        if self.watching is not None and launch.call_id >= 0:
            self.watching.after(finished_kernel(kernel), launch.values)
        for inspection in self.around:
            inspection.follow()
        self._tell_watch(launch.call_id)
        return launch.call_id

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> PendingLaunch:
        """Return the description of a launch, after recording its call if that is new."""
        kernel = finished_kernel(kernel)
        parameters = self._signature(kernel)
        values = values_of(kernel, args, kwargs)

        def facts() -> CallFacts:
            return CallFacts(stated_work(self._session, kernel, grid, args, kwargs))

        call_id, records = self._recorded.call(kernel_id, grid, parameters, values, facts)
        place, module = partial(definition_of, kernel), partial(module_of, kernel)
        return PendingLaunch(
            call_id, kernel_name(kernel), place, module, grid, parameters, records, values
        )

    def stopped(self, cache_key: str, total: int, initialization: int, lowered: int) -> None:
        """Store the durations, in ns, of a compilation that stopped at TTIR.

        `initialization` is from Python to TTIR (0: from a cache), `lowered` of the TTIR passes.
        """
        compilation = Compilation(
            cache_hit=initialization == 0,
            begin=time.time_ns() - total,
            duration=total,
            initialization=initialization,
            stages=(("ttir", lowered),) if initialization else (),
            storing=0,
            thread=threading.get_native_id(),
        )
        self._listener.add(cache_key, compilation)

    def _tell_watch(self, call_id: int) -> None:
        """Pass the call id to clients that have just watched the launch, once for each call."""
        watching = sys.modules.get("kvtrace.backends.triton.watching")
        if watching is None:
            return
        if self._calls_of_watch[0] != self._session.run_id:
            self._calls_of_watch = (self._session.run_id, set())
        if call_id not in self._calls_of_watch[1]:
            self._calls_of_watch[1].add(call_id)
            watching.is_call(self._session, call_id)

    def _signature(self, kernel: Any) -> Any:
        parameters = self._parameters.get(kernel)
        if parameters is None:
            parameters = self._parameters[kernel] = parameters_of(kernel)
        return parameters

    def _add_kernel(self, kernel: Any) -> int:
        session = self._session
        phase = session.recorder.swap_phase(AUTOTUNE)
        session.recorder.swap_phase(phase)
        origin = "autotune" if phase == AUTOTUNE else "jit"
        if is_gluon(kernel):
            origin = GLUON
        compilation = self._listener.take(str(kernel.hash))
        load = LOADS.take(str(kernel.hash))
        keep = session.settings.source

        def report_failure(text: str) -> None:
            session.message("warning", "no-generic-ir", text)

        return session.add_kernel(
            lambda: kernel_record(kernel, compilation, load, origin, keep, report_failure),
            lambda: early_record(kernel, origin),
        )


def _handing_over(session: Session) -> Callable[[str, Compilation], None] | None:
    """Return a function that passes compilations to the parent if this is a compile worker."""
    process = compiles_for(sys.argv)
    return None if process is None else partial(hand_over, session.out, process)


class LaunchHooks:
    """The hooks of one session in Triton's classes."""

    def __init__(self, session: Session) -> None:
        """Prepare the hooks; `install` adds them to Triton."""
        self._session = session
        self._replaced = Replacements()
        self._loads = LoadHooks(session.problem)
        self._adapter: LaunchAdapter | None = None
        self._launchers: WatchedLaunchers | None = None
        self._has_launchers = False

    @property
    def adapter(self) -> LaunchAdapter | None:
        """The adapter that records launches; None before `install`."""
        return self._adapter

    def install(self) -> None:
        """Hook Triton. The first launch makes the hot path and installs it."""
        from triton import knobs
        from triton.compiler.compiler import CompiledKernel
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        listener = CompilationListener(
            knobs.compilation.listener, self._session.problem, _handing_over(self._session)
        )
        self._replaced.put(knobs.compilation, "listener", listener)
        self._loads.install(knobs.runtime)
        self._adapter = LaunchAdapter(self._session, listener)
        launch = JITFunction.run
        self._replaced.put_at_first_call(
            JITFunction, "run", lambda: self._hot_run(launch), self._session.problem
        )
        skip_launching_frames()
        self._watch_tunings(Autotuner)
        direct = CompiledKernel.__getitem__
        self._replaced.put_at_first_call(
            CompiledKernel, "__getitem__", lambda: self._hot_getitem(direct), self._session.problem
        )
        contents = self._session.contents
        if contents is not None:
            watching = self._adapter.watching = ContentsWatcher(self._session, contents)
            self._launchers = WatchedLaunchers(self._session, watching)
            self._adapter.launchers = self._launchers
        self._adapter.around = around_launches(self._session)
        self._adapter.dispatchers = DispatcherHooks(
            (JITFunction, Autotuner), self._session, self._replaced, knobs.runtime,
            inspected=self._inspects_launches(),
        )  # fmt: skip
        self._adapter.dispatchers.hook_all()

    def _inspects_launches(self) -> bool:
        """Return whether launches have to be inspected before they are made, by the launcher.

        With `tensors=index` alone they need not: calls' first launches can be inspected afterwards.
        """
        assert self._adapter is not None
        settings = self._session.settings
        keeps_all = settings.tensors not in ("none", "index")
        return keeps_all or settings.sanitize != "off" or bool(self._adapter.around)

    def uninstall(self) -> None:
        """Remove the hooks, unless other hooks lie on top."""
        self._loads.uninstall()
        self._session.remove_hooks(self._replaced.undo)
        if self._launchers is not None:
            self._launchers.unmark()

    def _hot_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return `run` wrapped by the hot path; called at the first launch, which has a device."""
        assert self._adapter is not None
        self._begin()
        return self._session.recorder.wrap(run, self._adapter)

    def _hot_getitem(self, getitem: Callable[..., Any]) -> Callable[..., Any]:
        """Return `compiled[grid]` wrapped by the hot path; called at its first use."""
        assert self._adapter is not None
        self._begin()
        return self._session.recorder.wrap_getitem(getitem, self._adapter)

    def _begin(self) -> None:
        """Begin the timeline and, once, install launchers that copy, check or judge."""
        self._session.begin_timeline(device_timeline)
        if self._has_launchers:
            return
        self._has_launchers = True
        from triton.compiler.compiler import CompiledKernel

        assert self._adapter is not None
        if self._launchers is not None:
            run = self._launchers.as_property(CompiledKernel.run)
            self._replaced.put(CompiledKernel, "run", run)
        for check in self._adapter.around:
            run = checked(CompiledKernel.run, check, self._session)
            self._replaced.put(CompiledKernel, "run", run)
        if self._session.settings.sanitize != "off":
            from kvtrace.backends.compiled_kernels.judged_launches import LaunchJudge

            judging = LaunchJudge(self._session, self._adapter)
            run = judged(CompiledKernel.run, judging, self._session)
            self._replaced.put(CompiledKernel, "run", run)

    def _watch_tunings(self, autotuner: Any) -> None:
        """Put an autotuner's trials into the phase "autotune", and note what it decides."""
        session, bench, prune = self._session, autotuner._bench, autotuner.prune_configs
        notes = TuningNotes(session)

        def prune_configs(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            remaining = prune(self, *args, **kwargs)
            notes.begin(self, kwargs.get("kwargs", args[0] if args else {}), remaining)
            return remaining

        def _bench(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            try:
                trial = copy.copy(self)  # other threads may use the tuner itself
                trial.nargs = self.nargs
                vars(trial)["do_bench"] = keeping_failure(lambda *a, **k: self.do_bench(*a, **k))
            except Exception as error:  # noqa: BLE001 - counted; the trial's failure has no name
                session.problem(error)
                trial = self
            with session.in_phase("autotune"):
                times = bench(trial, *args, **kwargs)
            notes.end_trial(
                self, kwargs.get("config"), times, timed=device_free_state.state.driver is None
            )
            return times

        prune_configs.__wrapped__ = prune  # type: ignore[attr-defined]
        _bench.__wrapped__ = bench  # type: ignore[attr-defined]
        self._replaced.put(autotuner, "prune_configs", prune_configs)
        self._replaced.put(autotuner, "_bench", _bench)


def _device_of(kernel: Any) -> tuple[int, int]:
    """Return DLPack's kind and index of the device on which a kernel has just been launched.

    Triton makes separate compiled kernels for each device, so all launches are on this device.
    """
    from triton.runtime import driver

    if device_free_state.state.driver is not None:
        return (NO_DEVICE, -1)  # launches run in the evaluator
    kind = DEVICE_KINDS.get(kernel.metadata.target.backend, NO_DEVICE)
    return (kind, int(driver.active.get_current_device()))


# -- hooks around loading --------------------------------------------------------------------------


class LoadHooks:
    """Load hooks of kvtrace among Triton's; these hooks never raise."""

    def __init__(self, problem: Callable[[Exception], None]) -> None:
        """`problem` is called with kvtrace's failures."""
        self._problem = problem
        self._added: list[tuple[Any, Any]] = []

    def install(self, runtime: Any) -> None:
        """Add the hooks to `triton.knobs.runtime`, if several hooks can be added there."""
        LOADS.clear()
        for name, listener in (
            ("kernel_load_start_hook", LOADS.begins),
            ("kernel_load_end_hook", LOADS.ends),
        ):
            chain: Any = getattr(runtime, name, None)
            if hasattr(chain, "add") and hasattr(chain, "remove"):
                hook = self._guarded(listener)
                chain.add(hook)
                self._added.append((chain, hook))

    def uninstall(self) -> None:
        """Remove the hooks."""
        while self._added:
            chain, hook = self._added.pop()
            chain.remove(hook)

    def _guarded(self, listener: Callable[..., None]) -> Callable[..., None]:
        def hook(*args: Any) -> None:
            if device_free.is_active():
                return  # there is no device to load onto
            try:
                listener(*args)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)

        return hook
