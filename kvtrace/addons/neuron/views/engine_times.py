"""Shortest times of ops on engines of a Neuron core, derived from published rates.

A tensor op takes its FLOPs divided by the rate of its element type. A vector or scalar op takes its
elements, or its FLOPs if more, divided by the engine's rate. A transfer takes its bytes divided by
the memory's bandwidth. GpSimd's rate is not published, so its ops have no time.
"""

from collections.abc import Mapping
from typing import Final

from kvtrace.converters.profile.device_limits import TERA, DeviceLimits

#: Target → float32 operations per second of the scalar engine ("NeuronCore-v2", "-v3" and "-v4
#: Architecture" of AWS Neuron's documentation).
_SCALAR_RATES: Final[Mapping[str, float]] = {
    "trn1": 2.9 * TERA,
    "trn2": 1.2 * TERA,
    "trn3": 1.2 * TERA,
}


def shortest_ns(
    engine: str,
    dtype: str | None,
    elements: int,
    flops: int,
    device_bytes: int,
    limits: DeviceLimits,
) -> float | None:
    """Return the shortest time of an op on an engine, in ns; None without a published rate."""
    if engine == "dma":
        return 1e9 * device_bytes / limits.bandwidth
    if engine == "tensor":
        rate = limits.dot_rate(dtype or "f32")
        return None if rate is None else 1e9 * flops / rate
    rate = {"vector": limits.vector_rate("f32"), "scalar": _scalar_rate(limits)}.get(engine)
    return None if rate is None else 1e9 * max(elements, flops) / rate


def _scalar_rate(limits: DeviceLimits) -> float | None:
    return next((_SCALAR_RATES[word] for word in limits.words if word in _SCALAR_RATES), None)
