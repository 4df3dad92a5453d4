"""Running where there is no GPU: Triton gets a driver that executes kernels in the evaluator.

The driver takes the place that Triton leaves empty: Triton picks its driver when one is first
needed, and only if it finds none does it get ours. Everything else of Triton runs as it is: binder,
specialization, compiler, cache. Where there is a GPU, nothing here is ever used.
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
from kvtrace.capture.missing_packages import missing

if TYPE_CHECKING:
    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.backends.triton.unfinished_kernels import UnfinishedKernel
    from kvtrace.capture.session import Session


def install(session: "Session", adapter: "LaunchAdapter | None" = None) -> None:
    """Offer the driver to Triton, for the case that it finds no driver.

    Nothing is decided now: no driver is looked for before the program needs one. The session
    receives defects that execution meets, `adapter` of their calls; the session's setting `target`
    is what to compile for.
    """
    _take_back()  # one that is left is of another session's settings
    module: Any = sys.modules["triton.runtime.driver"]
    state.create = module._create_driver
    state.session, state.adapter = session, adapter
    state.said_not_measured = False
    module._create_driver = partial(_create, state.create, session)
    state.compiler += [_drivers_are_ours(), autotune_free.install()]


def uninstall() -> None:
    """Report to no session any more.

    A driver that Triton has got stays, unless the recording was that of a block: the program
    continues after `kvtrace.stop()`, and its daemon threads continue after its exit functions. What
    is left at the very end would outlive its modules, and nanobind reports such objects as leaks.
    """
    leaves_nothing = state.session is not None and state.session.leaves_nothing
    state.session = state.adapter = None
    if state.driver is None or leaves_nothing:
        _take_back()
    else:
        before_finalization(_take_back)


def _take_back() -> None:
    """Take the driver back: Triton is left as it was found."""
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
    """Whether Triton runs on our driver."""
    return state.driver is not None


def _create(original: Callable[[], Any], session: "Session") -> Any:
    from kvtrace.backends.triton import absent_gpu

    if not absent_gpu.on_host():  # there Triton would believe torch that there is a GPU
        try:
            return original()
        except RuntimeError as error:
            if not _means_none(str(error)) or _lacks_evaluator(session):
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
        state.compiler.append(_stop_at_ttir(session))
    state.launchers = _launchers_know_their_kernels()
    session.message(
        "info",
        "device-free",
        f"Triton found no GPU: the target is {target}, and compiled kernels run in the evaluator",
    )
    return driver


def _lacks_evaluator(session: "Session") -> bool:
    """Tell whether kernels cannot be evaluated for want of a package, and say so in the run."""
    lacking = missing(("numpy", "ml_dtypes"))
    if lacking is not None:
        text = f"without a GPU kernels run in kvtrace's evaluator, which needs {lacking}"
        session.message("warning", "missing-package", text)
    return lacking is not None


def _stop_at_ttir(session: "Session") -> Replacements:
    """Have launches compile to TTIR alone."""
    from kvtrace.backends.triton.unfinished_kernels import StoppingCompiler

    background = None
    if session.settings.compile == "background":
        from kvtrace.backends.triton.background import BackgroundCompiler

        background = BackgroundCompiler(session)

    def told(kernel: "UnfinishedKernel") -> None:
        session.message(
            "info",
            STOPPED,
            "a kernel was compiled to TTIR alone, so its later stages, registers and shared memory "
            "are not recorded; kvtrace report, diff and convert make them where Triton is "
            "installed, and KVTRACE_COMPILE=full records them",
        )
        if background is not None:
            background.add(kernel.known)

    def noted(cache_key: str, whole: int, made: int, lowered: int) -> None:
        if state.adapter is not None:
            state.adapter.stopped(cache_key, whole, made, lowered)

    return StoppingCompiler(told, noted, session.problem).install()


def _launchers_know_their_kernels() -> Replacements:
    """Have each launcher know which compiled kernel it belongs to, when Triton has made it.

    When this is undone, the kernels are no longer loaded.
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
        # A kernel that is deleted has the driver unload it (since Triton 3.8), and ours is gone.
        for kernel in list(kernels):
            kernel.module = None

    _init_handles.__wrapped__ = original  # type: ignore[attr-defined]
    replaced = Replacements()
    replaced.put(CompiledKernel, "_init_handles", _init_handles)
    replaced.undone_by(unload)
    return replaced


def _drivers_are_ours() -> Replacements:
    """Have whoever makes a backend's driver get ours, where torch says that there is a GPU.

    Inductor's `set_driver_to_gpu` makes the driver of each backend that believes torch.
    """
    from triton.backends import backends

    from kvtrace.backends.triton import absent_gpu

    replaced = Replacements()
    for backend in backends.values():
        plain = backend.driver.__new__

        def new(cls: Any, *given: Any, _plain: Any = plain, **named: Any) -> Any:
            if absent_gpu.on_host() and state.create is not None:
                return sys.modules["triton.runtime.driver"].driver.active
            return _plain(cls, *given, **named)

        replaced.put(backend.driver, "__new__", staticmethod(new))
    return replaced


def _means_none(error: str) -> bool:
    """Whether Triton says that it has no driver, rather than several or a broken one."""
    chosen_is_not_there = error.startswith("Backend device") and error.endswith("is not active.")
    return error.startswith("0 active drivers") or chosen_is_not_there
