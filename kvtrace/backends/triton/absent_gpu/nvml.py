"""Results of `pynvml`, and of vLLM's copy of it, while torch reports a simulated GPU."""

from types import ModuleType, SimpleNamespace
from typing import Any

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.facts import capability_of, properties_of


def install_nvml(module: ModuleType, target: str) -> Replacements:
    """Replace, and return, queries by which libraries detect a platform; others still fail."""
    properties, capability = properties_of(target), capability_of(target)
    total = properties.total_memory
    count = 1 if target.startswith("cuda:") else 0
    handle = SimpleNamespace(index=0)

    def nothing(*_: Any) -> None:
        """Do nothing."""

    answers = {
        "nvmlInit": nothing,
        "nvmlShutdown": nothing,
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda _index: handle,
        "nvmlDeviceGetName": lambda _handle: properties.name,
        "nvmlDeviceGetUUID": lambda _handle: "GPU-00000000-0000-0000-0000-000000000000",
        "nvmlDeviceGetCudaComputeCapability": lambda _handle: capability,
        "nvmlDeviceGetMemoryInfo": lambda _handle, *_: SimpleNamespace(
            total=total, free=total, used=0
        ),
    }
    replaced = Replacements()
    for name, replacement in answers.items():
        if hasattr(module, name):
            replaced.put(module, name, replacement)
    return replaced
