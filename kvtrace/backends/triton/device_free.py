"""Execution on machines without a GPU: a driver for Triton that runs kernels in the evaluator.

Triton selects its driver when one is first needed; this driver is used only if Triton finds none.
Binder, specialization, compiler and cache of Triton run unchanged. On a machine with a GPU, nothing
here is used.
"""

import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton import autotune_free
from kvtrace.backends.triton.device_free_state import STOPPED, state
from kvtrace.capture.ends import before_finalization
from kvtrace.settings import missing

if TYPE_CHECKING:
    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.backends.triton.unfinished_kernels import UnfinishedKernel
    from kvtrace.capture.session import Session


def install(session: "Session", adapter: "LaunchAdapter | None" = None) -> None:
    """Make Triton use the driver of this module if it finds no driver of its own.

    Triton still looks for a driver only when the program needs one. Defects of executed launches
    are recorded in the session, and their calls by `adapter`; the session's setting `target` names
    the device.
    """
    _take_back()  # a driver of an earlier session with other settings
    module: Any = sys.modules["triton.runtime.driver"]
    state.create = module._create_driver
    state.session, state.adapter = session, adapter
    state.has_reported_equal_times = False
    module._create_driver = partial(_create, state.create, session)
    state.compiler += [_replace_backend_drivers(), autotune_free.install()]


def uninstall() -> None:
    """Detach launches from the session, and remove the driver after `kvtrace.capture`.

    Otherwise Triton keeps the driver until finalization: the program continues after
    `kvtrace.stop()`, and daemon threads continue after exit functions. At finalization it is
    removed, since nanobind would report its objects as leaks.
    """
    leaves_nothing = state.session is not None and state.session.leaves_nothing
    state.session = state.adapter = None
    if state.driver is None or leaves_nothing:
        _take_back()
    else:
        before_finalization(_take_back)


def _take_back() -> None:
    """Remove the driver and all replacements from Triton."""
    if state.create is None:
        return
    module: Any = sys.modules["triton.runtime.driver"]
    module._create_driver = state.create
    state.create = None
    while state.compiler:
        state.compiler.pop().undo()
    if state.driver is None:
        return
    if state.launchers is not None:
        state.launchers.undo()
        state.launchers = None
    configuration = module.driver
    if configuration._active is state.driver:
        configuration._active = None
    if configuration._default is state.driver:
        configuration._default = None
    state.driver = None


def is_active() -> bool:
    """Return whether Triton uses the driver of this module."""
    return state.driver is not None


def _create(original: Callable[[], Any], session: "Session") -> Any:
    from kvtrace.backends.triton import absent_gpu

    if not absent_gpu.on_host():  # else Triton would believe torch's report of a GPU
        try:
            return original()
        except RuntimeError as error:
            if not _says_no_driver(str(error)) or _lacks_evaluator(session):
                raise
    from kvtrace.backends.triton import compiler_key
    from kvtrace.backends.triton.absent_gpu.facts import DEFAULT_TARGET
    from kvtrace.backends.triton.free_driver import DeviceFreeDriver
    from kvtrace.schema.errors import BadSetting

    target = session.settings.target
    try:
        driver = DeviceFreeDriver(target)
    except BadSetting as error:
        session.message("warning", "bad-target", f"{error} Continuing with {DEFAULT_TARGET}.")
        driver = DeviceFreeDriver(target := DEFAULT_TARGET)
    state.driver = driver
    absent_gpu.answer(session, target)
    state.compiler.append(compiler_key.install())
    if session.settings.compile != "full":
        state.compiler.append(_stop_compiler_at_ttir(session))
    state.launchers = _link_launchers_to_kernels()
    session.message(
        "info",
        "device-free",
        f"Triton found no GPU: the target is {target}, and compiled kernels run in the evaluator",
    )
    return driver


def _lacks_evaluator(session: "Session") -> bool:
    """Return whether the evaluator lacks a package; if so, add a message to the run."""
    package = missing(("numpy", "ml_dtypes"))
    if package is not None:
        text = f"without a GPU kernels run in kvtrace's evaluator, which needs {package}"
        session.message("warning", "missing-package", text)
    return package is not None


def _stop_compiler_at_ttir(session: "Session") -> Replacements:
    from kvtrace.backends.triton.unfinished_kernels import StoppingCompiler

    background = None
    if session.settings.compile == "background":
        from kvtrace.backends.triton.background import BackgroundCompiler

        background = BackgroundCompiler(session)

    def report(kernel: "UnfinishedKernel") -> None:
        session.message(
            "info",
            STOPPED,
            "a kernel was compiled to TTIR alone, so later stages, registers and shared memory "
            "are not recorded; kvtrace report, diff and convert compute them if Triton is "
            "installed, and KVTRACE_COMPILE=full records them",
        )
        if background is not None:
            background.add(kernel.ttir_kernel)

    def record_times(cache_key: str, total: int, initialization: int, lowered: int) -> None:
        if state.adapter is not None:
            state.adapter.stopped(cache_key, total, initialization, lowered)

    return StoppingCompiler(report, record_times, session.problem).install()


def _link_launchers_to_kernels() -> Replacements:
    """Set `compiled` of each evaluating launcher to a reference to its compiled kernel.

    Return the replacements; undoing them also unloads the kernels.
    """
    from triton.compiler.compiler import CompiledKernel

    from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

    original = CompiledKernel._init_handles
    kernels: weakref.WeakSet[Any] = weakref.WeakSet()

    def _init_handles(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        launcher = getattr(self, "_run", None)
        if isinstance(launcher, EvaluatingLauncher):
            launcher.compiled = weakref.ref(self)
            kernels.add(self)
        return result

    def unload() -> None:
        # A deleted kernel asks the driver to unload it (since Triton 3.8), and ours is gone.
        for kernel in list(kernels):
            kernel.module = None

    _init_handles.__wrapped__ = original  # type: ignore[attr-defined]
    replaced = Replacements()
    replaced.put(CompiledKernel, "_init_handles", _init_handles)
    replaced.undone_by(unload)
    return replaced


def _replace_backend_drivers() -> Replacements:
    """Make each driver class of Triton return kvtrace's driver while torch reports a simulated GPU.

    Inductor's `set_driver_to_gpu` makes a driver of each backend whose device torch reports.
    """
    from triton.backends import backends

    from kvtrace.backends.triton import absent_gpu

    replaced = Replacements()
    for backend in backends.values():
        original = backend.driver.__new__

        def new(cls: Any, *arguments: Any, _original: Any = original, **named: Any) -> Any:
            if absent_gpu.on_host() and state.create is not None:
                return sys.modules["triton.runtime.driver"].driver.active
            return _original(cls, *arguments, **named)

        replaced.put(backend.driver, "__new__", staticmethod(new))
    return replaced


def _says_no_driver(error: str) -> bool:
    """Return whether Triton's error says that no driver is active, not several or a broken one."""
    is_chosen_missing = error.startswith("Backend device") and error.endswith("is not active.")
    return error.startswith("0 active drivers") or is_chosen_missing
