"""Which memory a tensor lies in: the host's, or that of a device.

A missing device can be simulated: its tensors report that they are on it, and lie in the
host's memory (`backends/triton/absent_gpu`).
"""

from typing import Any

from kvtrace.capture.hot import DEVICE_KINDS

#: Kinds of devices whose tensors lie in the host's memory, as torch names them, besides the CPU.
_kinds: set[str] = set()


def lie_in_host_memory(kind: str, *, so: bool) -> None:
    """Say whether tensors that say they are on a kind of device lie in the host's memory."""
    (_kinds.add if so else _kinds.discard)(kind)


def lies_in_host_memory(kind: str) -> bool:
    """Whether tensors that say they are on a kind of device lie in the host's memory."""
    return kind in _kinds


def memory_kind(value: Any) -> str | None:
    """Name the kind of device whose memory a tensor lies in; None if it does not say."""
    device = getattr(getattr(value, "base", value), "device", None)
    if device is None:
        return None
    kind = str(getattr(device, "type", device)).partition(":")[0]
    return "cpu" if lies_in_host_memory(kind) else kind


def host_kind() -> int:
    """Return DLPack's number for the kind of device that lies in the host's memory, or 0."""
    return next((DEVICE_KINDS[kind] for kind in _kinds), 0)
