"""How long Inductor's static launchers took to load binaries."""

import time
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.inductor.generated_kernels import STATIC_LAUNCHERS
from kvtrace.backends.inductor.launches import time_static_loads
from kvtrace.backends.replacements import Replacements


def raise_it(error: Exception) -> None:
    raise error


def test_the_static_launchers_loading_is_timed_once() -> None:
    # given a launcher shaped as Inductor's, which needs a device to load anything
    class Launcher:
        hash = "a static launcher's kernel"
        function: int | None = None

        def load_kernel(self, device: int) -> None:
            time.sleep(0.01)
            self.function = device

    original = Launcher.load_kernel
    replaced = Replacements()
    time_static_loads(SimpleNamespace(Launcher=Launcher, other=3), replaced, raise_it)
    launcher = Launcher()
    launcher.load_kernel(5)
    launcher.load_kernel(5)
    load = LOADS.take(Launcher.hash)
    assert load
    assert load.duration >= 0.01e9
    assert LOADS.take(Launcher.hash) is None
    replaced.undo()
    assert Launcher.load_kernel is original
    time_static_loads(None, replaced, raise_it)


def test_inductors_static_launchers_are_found() -> None:
    (static,) = (import_module(name) for name in STATIC_LAUNCHERS if find_spec(name))
    replaced = Replacements()
    time_static_loads(static, replaced, raise_it)
    assert hasattr(static.StaticallyLaunchedCudaKernel.load_kernel, "__wrapped__")
    replaced.undo()
    assert not hasattr(static.StaticallyLaunchedCudaKernel.load_kernel, "__wrapped__")
