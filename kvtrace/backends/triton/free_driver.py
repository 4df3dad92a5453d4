"""A Triton driver for machines without a GPU: compiles for a target, executes in the evaluator.

With `compile=full`, kernels are compiled to the target's machine code, so that the trace has their
stages and resources. Imported only if Triton finds no GPU, since it needs NumPy and the evaluator.
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
#: Represents the handles of a loaded module and function; with None, Triton would load the
#: binary at every launch.
_LOADED: Final = 1


class DeviceFreeDriver(DriverBase):  # type: ignore[misc]
    """Triton's driver for a device that is not there.

    Args:
        target: The target of compilation, `backend:architecture`.

    Raises:
        BadSetting: `devices.py` does not list the target.

    """

    def __init__(self, target: str) -> None:
        device = device_of(target)
        self._backend, _, self._architecture = target.partition(":")
        sm_number = int(self._architecture) if self._architecture.isdigit() else None
        self._number = sm_number or 0
        self._target = GPUTarget(
            self._backend,
            self._architecture if sm_number is None else sm_number,
            device.warp_size,
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
        """Return True, as this driver is always active."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return the C++ type by which launchers for the target pass a Triton type."""
        vendor = "amd" if self._backend == "hip" else "nvidia"
        return str(sys.modules[backends[vendor].driver.__module__].ty_to_cpp(ty))

    def get_current_target(self) -> GPUTarget:
        """Return the target of compilation."""
        return self._target

    def get_active_torch_device(self) -> Any:
        """Return the device that tensors of the program should be on."""
        import torch

        return torch.device("cuda", 0) if absent_gpu.on_host() else torch.device("cpu")

    def get_device_interface(self) -> type["HostInterface"]:
        """Return the class that Triton uses instead of the module `torch.cuda`."""
        return HostInterface

    def get_current_device(self) -> int:
        """Return the index of the only device."""
        return 0

    def set_current_device(self, device: Any) -> None:
        """Do nothing, as there is only one device."""

    def get_current_stream(self, _device: Any = None) -> int:
        """Return the handle of the only stream."""
        return 0

    def get_device_capability(self, _device: Any = None) -> tuple[int, int]:
        """Return the compute capability; (0, 0) for targets that have none."""
        return self._number // 10, self._number % 10

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return the function by which libraries measure; it returns equal times."""
        return call_once

    def get_empty_cache_for_benchmark(self) -> Any:
        """Return a tensor of one element: there is no cache to clear by writing."""
        import torch

        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache: Any) -> None:
        """Do nothing, as there is no cache."""

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> None:
        """Return None: the evaluator needs no scratch memory."""


class HostInterface:
    """The functions of `torch.cuda` that `triton.testing` calls, on the host's clock."""

    Event = Event

    @staticmethod
    def synchronize(*_device: Any) -> None:
        """Return at once, as no kernel is in flight."""

    @staticmethod
    def current_device() -> int:
        """Return the index of the only device."""
        return 0


def _ignore(*_: Any) -> None:
    """Replace functions of the driver that have nothing to do."""


def _load_binary(
    backend: str, name: str, binary: bytes, _shared_bytes: int, _device: Any
) -> tuple[int, int, int | None, int | None, int]:
    """Return (module, function, registers, spills, most threads), as Triton's drivers do.

    Nothing is loaded; registers and spills are read from the binary, None if that is unreadable.
    """
    # Imported late: no binary is made if compilation stops at TTIR.
    from kvtrace.backends.compiled_kernels.cubin import cubin_resources, hsaco_resources
    from kvtrace.backends.compiled_kernels.elf import UnreadableBinary

    read_resources = hsaco_resources if backend == "hip" else cubin_resources
    try:
        resources = read_resources(binary, name)
    except UnreadableBinary:
        return _LOADED, _LOADED, None, None, _MAX_THREADS
    return _LOADED, _LOADED, resources.registers, resources.spills, _MAX_THREADS
