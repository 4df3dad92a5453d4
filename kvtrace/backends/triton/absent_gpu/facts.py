"""Properties of a target's device, as `torch.cuda` has them, and a program's requests to it."""

from types import SimpleNamespace
from typing import Final

from kvtrace.backends.triton.devices import CACHES, DEVICES, device_of

#: The target in place of a requested one that `devices.py` does not list.
DEFAULT_TARGET: Final = "cuda:90"

#: Bytes of shared memory that a block gets by default, and that CUDA reserves per multiprocessor.
_DEFAULT_SHARED: Final = 48 * 1024
_RESERVED_SHARED: Final = 1024


def target_with_facts(target: str) -> str:
    """Return the target, or the default target if `devices.py` has no device for it."""
    return target if target in DEVICES else DEFAULT_TARGET


def capability_of(target: str) -> tuple[int, int]:
    """Return the (major, minor) of `torch.cuda.get_device_capability` for a target's device."""
    backend, _, architecture = target.partition(":")
    if backend == "hip":  # gfx942 is 9.4, as ROCm's torch has it
        return int(architecture[3]), int(architecture[4], 16)
    return divmod(int(architecture), 10)


def architecture_of(target: str) -> str:
    """Return the target's architecture as `torch.cuda.get_arch_list` names it."""
    backend, _, architecture = target.partition(":")
    return f"sm_{architecture}" if backend == "cuda" else architecture


def properties_of(target: str) -> SimpleNamespace:
    """Return an object like that of `torch.cuda.get_device_properties`, without unknown fields."""
    device = device_of(target)
    backend, _, architecture = target.partition(":")
    major, minor = capability_of(target)
    reserved = _RESERVED_SHARED if backend == "cuda" and major >= 8 else 0
    return SimpleNamespace(
        name=device.full_name,
        major=major,
        minor=minor,
        total_memory=device.memory_bytes,
        multi_processor_count=device.multiprocessors,
        warp_size=device.warp_size,
        max_threads_per_block=1024,
        max_threads_per_multi_processor=device.threads_per_multiprocessor,
        regs_per_multiprocessor=device.registers,
        shared_memory_per_block=min(_DEFAULT_SHARED, device.shared_bytes),
        shared_memory_per_block_optin=device.shared_bytes,
        shared_memory_per_multiprocessor=device.shared_bytes + reserved,
        clock_rate=device.core_khz,
        memory_clock_rate=device.memory_khz,
        memory_bus_width=device.bus_bits,
        **({"L2_cache_size": CACHES[target]} if target in CACHES else {}),
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName=architecture if backend == "hip" else "",
    )


class _DeviceRequests:
    """Names of the functions that were answered, of operators run on the CPU, and of refusals."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.operators: set[str] = set()
        self.refused: dict[str, None] = {}  # in order

    def summary(self) -> str | None:
        """Return one sentence on all requests, and clear them; None if there were none."""
        if not (self.answered or self.operators or self.refused):
            return None
        refused = ", ".join(self.refused) or "nothing"
        text = (
            f"of the absent GPU, {len(self.answered)} functions of torch were answered "
            f"and {len(self.operators)} operators ran on the CPU; refused: {refused}"
        )
        for names in (self.answered, self.operators, self.refused):
            names.clear()
        return text


device_requests: Final = _DeviceRequests()
