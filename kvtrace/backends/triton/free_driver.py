"""A Triton driver for machines without a GPU: compiles for a target, executes in the evaluator.

Kernels are compiled down to the target's machine code, so that their stages and resources are in
the trace. Imported only where Triton finds no GPU: it needs NumPy and the evaluator.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from kvtrace.backends.triton import absent_gpu
from kvtrace.backends.triton.absent_gpu.streams import Event
from kvtrace.backends.triton.autotune_free import call_once
from kvtrace.backends.triton.devices import device_of
from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

#: Most threads of a block, on every device in `devices.py`.
_MAX_THREADS: Final = 1024
#: Represents the handles of a loaded module and its function; with None, Triton would load the
#: binary again at every launch.
_LOADED: Final = 1


class DeviceFreeDriver(DriverBase):  # type: ignore[misc]
    """Triton's view of a device that is not there.

    Args:
        target: what to compile for, `backend:architecture`.

    Raises:
        BadSetting: there are no facts about the target.

    """

    def __init__(self, target: str) -> None:
        device = device_of(target)
        self._backend, _, self._architecture = target.partition(":")
        number = int(self._architecture) if self._architecture.isdigit() else None
        self._number = number or 0
        self._target = GPUTarget(
            self._backend, self._architecture if number is None else number, device.warp_size
        )
        self.launcher_cls = EvaluatingLauncher
        self.utils = SimpleNamespace(
            get_device_properties=lambda _index=0: device.properties(self._architecture),
            load_binary=partial(_load_binary, self._backend),
            unload_module=_ignore,
            set_printf_fifo_size=_ignore,
        )

    @classmethod
    def is_active(cls) -> bool:
        """Whether it can be used: always."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Name the C++ type that the target's launchers pass a Triton type as."""
        vendor = "amd" if self._backend == "hip" else "nvidia"
        return str(sys.modules[backends[vendor].driver.__module__].ty_to_cpp(ty))

    def get_current_target(self) -> GPUTarget:
        """Return what to compile for."""
        return self._target

    def get_active_torch_device(self) -> Any:
        """Return the device that tensors are to be on."""
        import torch

        return torch.device("cuda", 0) if absent_gpu.on_host() else torch.device("cpu")

    def get_device_interface(self) -> type["HostInterface"]:
        """Return what represents `torch.cuda`."""
        return HostInterface

    def get_current_device(self) -> int:
        """Return the index of the only device."""
        return 0

    def set_current_device(self, device: Any) -> None:
        """There is only one device."""

    def get_current_stream(self, _device: Any = None) -> int:
        """Return the handle of the only stream."""
        return 0

    def get_device_capability(self, _device: Any = None) -> tuple[int, int]:
        """Return the compute capability; (0, 0) for targets that have none."""
        return self._number // 10, self._number % 10

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return what libraries measure with: of the evaluator, no time means anything."""
        return call_once

    def get_empty_cache_for_benchmark(self) -> Any:
        """Return the least that there is: no cache needs to be cleared."""
        import torch

        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache: Any) -> None:
        """There is no cache to clear."""

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> None:
        """Return no scratch memory: nothing runs that would write to it."""


class HostInterface:
    """What `triton.testing` asks of `torch.cuda`, on the host's clock."""

    Event = Event

    @staticmethod
    def synchronize(*_device: Any) -> None:
        """Return at once: nothing is ever in progress."""

    @staticmethod
    def current_device() -> int:
        """Return the index of the only device."""
        return 0


def _ignore(*_: Any) -> None:
    """Do what there is nothing to do for."""


def _load_binary(
    backend: str, name: str, binary: bytes, _shared_bytes: int, _device: Any
) -> tuple[int, int, int | None, int | None, int]:
    """Return module, function, registers, spills, most threads, as Triton's drivers do.

    Registers and spills are None where the binary does not tell.
    """
    # Imported late: no binary is made where compiling stops at TTIR.
    from kvtrace.backends.compiled_kernels.cubin import cubin_resources
    from kvtrace.backends.compiled_kernels.elf import UnreadableBinary
    from kvtrace.backends.compiled_kernels.hsaco import hsaco_resources

    read = hsaco_resources if backend == "hip" else cubin_resources
    try:
        resources = read(binary, name)
    except UnreadableBinary:
        return _LOADED, _LOADED, None, None, _MAX_THREADS
    return _LOADED, _LOADED, resources.registers, resources.spills, _MAX_THREADS
