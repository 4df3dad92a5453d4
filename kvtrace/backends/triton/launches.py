"""Triton's launches: the hooks around `JITFunction.run`, and what they tell the session.

`JITFunction.run` is where every launch by `kernel[grid](…)` passes, autotuned or not. A launch of
a compiled kernel (`compiled[grid](…)`) passes `CompiledKernel.__getitem__` instead.
"""

import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kvtrace.backends.compiled_kernels.around import AroundLaunches, around_launches
from kvtrace.backends.compiled_kernels.contents_to_copy import Watching
from kvtrace.backends.compiled_kernels.handed_over import hand_over, works_for
from kvtrace.backends.compiled_kernels.kernel_records import (
    Compilation,
    CompilationListener,
    function_of,
    is_gluon,
    kernel_name,
    kernel_record,
    parameters_of,
    values_of,
)
from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.compiled_kernels.recorded_calls import RecordedCalls
from kvtrace.backends.compiled_kernels.versions import definition, whole_kernel
from kvtrace.backends.compiled_kernels.written_lines import hide_generator_of
from kvtrace.backends.cupti import device_timeline
from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton import device_free_state
from kvtrace.backends.triton.dispatchers import WholeLaunches
from kvtrace.backends.triton.launchers import WatchedLaunchers, checked, judged
from kvtrace.backends.triton.load_hooks import LoadHooks
from kvtrace.backends.triton.modules import module_of
from kvtrace.capture.adapters import Apart
from kvtrace.capture.hot import DEVICE_KINDS, NO_DEVICE
from kvtrace.capture.records import AUTOTUNE, ArgumentRecord, Parameter
from kvtrace.capture.session import Session
from kvtrace.schema.layout import GLUON

if TYPE_CHECKING:
    from kvtrace.ir import Module


class LaunchAdapter:
    """Turns what the hot path has not seen before into kernels and calls of the session."""

    def __init__(self, session: Session, listener: CompilationListener) -> None:
        """Make the adapter of one session."""
        self._session = session
        self._listener = listener
        self.watching: Watching | None = None
        self.whole: WholeLaunches | None = None
        self.launchers: WatchedLaunchers | None = None
        self.around: tuple[AroundLaunches, ...] = ()
        self._recorded = RecordedCalls(session)
        self._told: tuple[str | None, set[int]] = (None, set())
        self._parameters: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a compiled variant; see `adapters.Adapter`."""
        if self.whole is not None:
            self.whole.see(type(owner))
            if self.whole.unasked and self.launchers is not None:
                self.launchers.watch_unasked(kernel)
        looks = () if self.launchers is None else self.launchers.known(kernel)
        kernel = whole_kernel(kernel)
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
        """Record a unique call; see `adapters.Adapter`.

        The hot path tells calls apart by how their arguments were passed, too: by position, by
        name, or left to their defaults. What is equal once bound is one call here.
        """
        del owner
        launch = self.coming(kernel, kernel_id, grid, args, kwargs)
        if self.watching is not None and launch.call_id >= 0:
            self.watching.after(launch.compiled, launch.values)
        for each in self.around:
            each.follow()
        self._tell_watch(launch.call_id)
        return launch.call_id

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> "ComingLaunch":
        """Describe a launch, and record its call if that is new; see `judging.Adapter`."""
        kernel = whole_kernel(kernel)
        parameters = self._signature(kernel)
        values = values_of(kernel, args, kwargs)
        call_id, records = self._recorded.call(kernel_id, grid, parameters, values)
        return ComingLaunch(call_id, kernel, grid, parameters, records, values)

    def stopped(self, cache_key: str, whole: int, made: int, lowered: int) -> None:
        """Note how long a compilation took, in ns, that stopped at TTIR: in all, and its steps."""
        compilation = Compilation(
            cache_hit=made == 0,
            begin=time.time_ns() - whole,
            duration=whole,
            initialization=made,
            stages=(("ttir", lowered),) if made else (),
            storing=0,
            thread=threading.get_native_id(),
        )
        self._listener.add(cache_key, compilation)

    def _tell_watch(self, call_id: int) -> None:
        """Tell clients that have just watched the launch which call it was, once."""
        watching = sys.modules.get("kvtrace.backends.triton.watching")
        if watching is None:
            return
        if self._told[0] != self._session.run_id:
            self._told = (self._session.run_id, set())
        if call_id not in self._told[1]:
            self._told[1].add(call_id)
            watching.is_call(self._session, call_id)

    def _signature(self, kernel: Any) -> Any:
        found = self._parameters.get(kernel)
        if found is None:
            found = self._parameters[kernel] = parameters_of(kernel)
        return found

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

        def tell(text: str) -> None:
            session.message("warning", "no-generic-ir", text)

        return session.add_kernel(
            lambda: kernel_record(kernel, compilation, load, origin, keep, tell),
            kernel_name(kernel),
        )


@dataclass(frozen=True, slots=True)
class ComingLaunch:
    """A launch by its call, with what `judging.Launch` wants to know of it."""

    call_id: int
    compiled: Any
    grid: tuple[int, int, int]
    parameters: Sequence[Parameter]
    records: Sequence[ArgumentRecord]
    values: Sequence[Any]

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return kernel_name(self.compiled)

    @property
    def place(self) -> tuple[str | None, int | None]:
        """File and line of the kernel's definition."""
        function = function_of(self.compiled)
        return (None, None) if function is None else definition(function)

    def module(self) -> "Module":
        """Read the kernel's IR; made once for a kernel."""
        return module_of(self.compiled)


def _handing_over(session: Session) -> Callable[[str, Compilation], None] | None:
    """Return what takes compilations in a process of Inductor's that compiles for another."""
    process = works_for(sys.argv)
    return None if process is None else partial(hand_over, session.out, process)


def _begin_with_device(session: Session) -> None:
    """Begin the timeline when the program begins to use the device, if torch tells when that is.

    So kernels that run before the first launch, or in a program that never launches from Python,
    are in it. Without torch, the first launch begins it.
    """
    torch = sys.modules.get("torch")
    when_begun = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
    if when_begun is None:
        return
    kept = weakref.ref(session)

    def begin() -> None:
        session = kept()
        if session is not None and session.recording:
            session.begin_timeline(device_timeline)

    when_begun(begin)  # at once where it has begun already


class LaunchHooks:
    """The hooks of one session in Triton's classes; each can be taken out again."""

    def __init__(self, session: Session) -> None:
        """Prepare the hooks; `install` puts them in."""
        self._session = session
        self._replaced = Replacements()
        self._loads = LoadHooks(session.problem)
        self._adapter: LaunchAdapter | None = None
        self._launchers: WatchedLaunchers | None = None
        self._has_launchers = False

    @property
    def adapter(self) -> LaunchAdapter | None:
        """What records launches, once Triton is hooked."""
        return self._adapter

    def install(self) -> None:
        """Hook Triton. The hot path itself is made, and put in place, by the first launch."""
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
        self._replaced.put(Autotuner, "_bench", self._in_autotune(Autotuner._bench))
        direct = CompiledKernel.__getitem__
        self._replaced.put_at_first_call(
            CompiledKernel, "__getitem__", lambda: self._hot_getitem(direct), self._session.problem
        )
        contents = self._session.contents
        if contents is not None:
            watching = self._adapter.watching = Watching(self._session, contents)
            self._launchers = WatchedLaunchers(self._session, watching)
            self._adapter.launchers = self._launchers
        self._adapter.around = around_launches(self._session)
        self._adapter.whole = WholeLaunches(
            (JITFunction, Autotuner), self._session, self._replaced, knobs.runtime,
            inspected=self._inspects_launches(),
        )  # fmt: skip
        self._adapter.whole.see_all()
        if self._session.settings.mode == "timeline":
            _begin_with_device(self._session)

    def _inspects_launches(self) -> bool:
        """Whether launches have to be inspected before they are made, by Triton's launcher.

        Of the setting `index`, each call's first launch can be inspected after it was made.
        """
        assert self._adapter is not None
        settings = self._session.settings
        keeps_all = settings.tensors not in ("none", "index")
        return keeps_all or settings.sanitize != "off" or bool(self._adapter.around)

    def uninstall(self) -> None:
        """Put back what was there, where nothing else lies on top of it."""
        self._loads.uninstall()
        self._replaced.undo()
        if self._launchers is not None:
            self._launchers.unmark()

    def _hot_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Make the hot path around `run`; the first launch does, when the device is known."""
        assert self._adapter is not None
        self._begin()
        return self._session.recorder.wrap(run, self._adapter)

    def _hot_getitem(self, getitem: Callable[..., Any]) -> Callable[..., Any]:
        """Make the hot path around `compiled[grid]`, where the first launch is one of these."""
        assert self._adapter is not None
        self._begin()
        return self._session.recorder.wrap_getitem(getitem, self._adapter)

    def _begin(self) -> None:
        """Begin what the first launch does: the timeline; launchers that look, check, judge."""
        self._session.begin_timeline(device_timeline)
        if self._has_launchers:
            return
        self._has_launchers = True
        from triton.compiler.compiler import CompiledKernel

        assert self._adapter is not None
        if self._launchers is not None:
            run = self._launchers.as_property(CompiledKernel.run)
            self._replaced.put(CompiledKernel, "run", run)
        for each in self._adapter.around:
            run = checked(CompiledKernel.run, each, self._session)
            self._replaced.put(CompiledKernel, "run", run)
        if self._session.settings.sanitize != "off":
            from kvtrace.backends.compiled_kernels.judged_launches import Judging

            judging = Judging(self._session, self._adapter)
            run = judged(CompiledKernel.run, judging, self._session)
            self._replaced.put(CompiledKernel, "run", run)

    def _in_autotune(self, bench: Callable[..., Any]) -> Callable[..., Any]:
        session = self._session

        def _bench(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            with session.in_phase("autotune"):
                return bench(self, *args, **kwargs)

        _bench.__wrapped__ = bench  # type: ignore[attr-defined]
        return _bench


def _device_of(kernel: Any) -> tuple[int, int]:
    """DLPack's kind and the index of the device that a kernel has just been launched on.

    Triton keeps compiled kernels for each device apart, so this holds for all its launches.
    """
    from triton.runtime import driver

    if device_free_state.state.driver is not None:
        return (NO_DEVICE, -1)  # launches run in the evaluator
    kind = DEVICE_KINDS.get(kernel.metadata.target.backend, NO_DEVICE)
    return (kind, int(driver.active.get_current_device()))
