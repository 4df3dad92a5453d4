"""A driver for a GPU that is not there: Triton compiles kernels for it, and their launches idle.

Unlike kvtrace's own driver, which evaluates launches, it calls nothing of kvtrace's.
"""

from types import SimpleNamespace
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase


class Launcher:
    """Takes a launch, and does nothing."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.made = 0

    def __call__(self, *given: Any) -> None:
        self.made += 1


class IdleDriver(DriverBase):  # type: ignore[misc]
    """Answers what Triton asks of a driver, as an H100 would."""

    def __init__(self) -> None:
        self.launcher_cls = Launcher
        self.utils = SimpleNamespace(
            get_device_properties=lambda _device: {
                "max_shared_mem": 232_448, "max_num_regs": 65_536, "multiprocessor_count": 132,
                "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1,
            },
            load_binary=lambda *_: (1, 1, 32, 0, 1024),
        )  # fmt: skip

    @classmethod
    def is_active(cls) -> bool:
        """This driver can be used."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Name a C++ type."""
        return ty

    def get_current_target(self) -> GPUTarget:
        """Return what to compile for."""
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> Any:
        """Return the device that tensors are said to be on."""
        return torch.device("cuda", 0)

    def get_current_device(self) -> int:
        """Return the only device's index."""
        return 0

    def set_current_device(self, device: Any) -> None:
        """Stay on the only device."""

    def get_current_stream(self, _device: Any = None) -> int:
        """Return the only stream's handle."""
        return 0

    def get_benchmarker(self) -> Any:
        """Return what runs a trial once."""

        def bench(launch: Any, **_: Any) -> list[float]:
            launch()
            return [1.0, 1.0, 1.0]

        return bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """Return what has to be cleared: nothing."""
        return torch.empty(0)

    def clear_cache(self, cache: Any) -> None:
        """Clear nothing."""
