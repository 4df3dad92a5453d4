"""The memory that a tensor lies in: the host's, or a device's.

Tensors of a simulated device (`backends/triton/absent_gpu`) report that device, and lie in the
host's memory.
"""

from typing import Any

from kvtrace.capture.arguments import tensor_of
from kvtrace.capture.hot import DEVICE_KINDS

#: Kinds of devices whose tensors lie in the host's memory, as torch names them, besides the CPU.
_kinds: set[str] = set()


def lie_in_host_memory(kind: str, *, so: bool) -> None:
    """Set whether tensors that report a kind of device lie in the host's memory."""
    (_kinds.add if so else _kinds.discard)(kind)


def lies_in_host_memory(kind: str) -> bool:
    """Return whether tensors that report a kind of device lie in the host's memory."""
    return kind in _kinds


def memory_kind(value: Any) -> str | None:
    """Return the kind of device whose memory holds a tensor; None if the tensor has no device."""
    device = getattr(tensor_of(value), "device", None)
    if device is None:
        return None
    kind = str(getattr(device, "type", device)).partition(":")[0]
    return "cpu" if lies_in_host_memory(kind) else kind


def has_accelerator(torch: Any) -> bool:
    """Return whether torch finds a device, by queries that do not initialize CUDA."""
    xpu, mps = getattr(torch, "xpu", None), getattr(torch.backends, "mps", None)
    return bool(
        torch.cuda.device_count() > 0
        or (xpu is not None and xpu.device_count() > 0)
        or (mps is not None and mps.is_available())
    )


def host_kind() -> int:
    """Return DLPack's number of the device kind that is simulated in host memory, or 0."""
    return next((DEVICE_KINDS[kind] for kind in _kinds), 0)
