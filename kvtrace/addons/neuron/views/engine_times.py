"""How long engines of a Neuron core take at the least, from published rates: derived, no times.

An op of the tensor engine takes its FLOPs at the rate of its element type; one of the vector or
scalar engine an operation for each element, or its FLOPs where these are more; a transfer its bytes
at the memory's bandwidth. GpSimd's rate is not published: its ops have no time.
"""

from collections.abc import Mapping
from typing import Final

from kvtrace.converters.profile.device_limits import TERA, DeviceLimits

#: float32 operations per second of the scalar engine, by the word of the device ("NeuronCore-v2",
#: "-v3" and "-v4 Architecture" of AWS Neuron's documentation).
_SCALAR: Final[Mapping[str, float]] = {"trn1": 2.9 * TERA, "trn2": 1.2 * TERA, "trn3": 1.2 * TERA}


def least_ns(
    engine: str,
    dtype: str | None,
    elements: int,
    flops: int,
    device_bytes: int,
    limits: DeviceLimits,
) -> float | None:
    """Return the least nanoseconds of an engine for some work; None where no rate is published."""
    if engine == "dma":
        return 1e9 * device_bytes / limits.bandwidth
    if engine == "tensor":
        rate = limits.dot_rate(dtype or "f32")
        return None if rate is None else 1e9 * flops / rate
    rate = {"vector": limits.vector_rate("f32"), "scalar": _scalar(limits)}.get(engine)
    return None if rate is None else 1e9 * max(elements, flops) / rate


def _scalar(limits: DeviceLimits) -> float | None:
    return next((_SCALAR[word] for word in limits.words if word in _SCALAR), None)
