"""Roofline of calls: the shortest time a device could need for their bytes and FLOPs (derived).

The roofline time (also called best time) is the longest of three: distinct bytes over memory
bandwidth (with cold caches, each byte is moved at least once), dots over the matrix units' peak,
all other FLOPs over the vector units' peak. The units can overlap, so the three are not added.
A device without caches takes the time of all requested bytes over the bandwidth.

Example: a launch that reads 4 MB once at 2 TB/s takes at least 2 µs for memory; its 1 GFLOP of dots
at 312 TFLOP/s takes 3.2 µs, so the roofline time is 3.2 µs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvtrace.converters.profile.device_limits import DeviceLimits

Bound = Literal["memory", "caches", "compute"]


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and FLOPs of one launch of a call; None where unknown.

    `unique_bytes`: distinct bytes read plus distinct bytes written, by buffer; a lower bound where
    some access is not known. `bytes`: all bytes that programs request, None if an access is not
    known. `dots` has the FLOPs of dots by element type, `others` those of all other ops.
    """

    unique_bytes: int | None
    bytes: int | None
    dots: Mapping[str, int] = field(hash=False)
    others: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Position:
    """Position of launches on a device's roofline; times in nanoseconds, over all launches.

    `bound` is `memory` if even the distinct bytes take longer than the arithmetic, `compute` if the
    arithmetic takes longer than all requested bytes, and `caches` in between, where cache hits
    decide. `best_ns` is the attainable time; `achieved` is `best_ns` over the measured time, at
    most 1, or None without a device timeline.
    """

    memory_ns: float
    uncached_ns: float | None
    compute_ns: float
    best_ns: float
    bound: Bound
    achieved: float | None = None


def position(work: Work, limits: DeviceLimits, launches: int = 1) -> Position | None:
    """Return the roofline position of `launches` launches that each do `work`.

    None if the distinct bytes are unknown, or the device's rate for an element type.
    """
    compute_s = _compute_seconds(work, limits)
    if work.unique_bytes is None or compute_s is None:
        return None
    memory_s = work.unique_bytes / limits.bandwidth
    uncached_s = None if work.bytes is None else work.bytes / limits.bandwidth
    if not limits.has_caches:
        memory_s = uncached_s = memory_s if uncached_s is None else uncached_s
    to_ns = 1e9 * launches
    return _position_of(
        memory_s * to_ns, None if uncached_s is None else uncached_s * to_ns, compute_s * to_ns,
        max(memory_s, compute_s) * to_ns,
    )  # fmt: skip


def joined(positions: Iterable[Position | None]) -> Position | None:
    """Return one position for the launches of several calls, whose times are added.

    None if one of the calls has no position, or if there are no calls.
    """
    all_positions = list(positions)
    known_positions = [p for p in all_positions if p is not None]
    if not known_positions or len(known_positions) < len(all_positions):
        return None
    uncached_ns = [p.uncached_ns for p in known_positions if p.uncached_ns is not None]
    return _position_of(
        sum(p.memory_ns for p in known_positions),
        sum(uncached_ns) if len(uncached_ns) == len(known_positions) else None,
        sum(p.compute_ns for p in known_positions),
        sum(p.best_ns for p in known_positions),
    )


def _position_of(memory: float, uncached: float | None, compute: float, best: float) -> Position:
    bound: Bound = "memory"
    if compute > memory:
        bound = "caches" if uncached is None or uncached > compute else "compute"
    return Position(memory, uncached, compute, best, bound)


def _compute_seconds(work: Work, limits: DeviceLimits) -> float | None:
    dot_seconds = other_seconds = 0.0
    for dtype, flops in work.dots.items():
        rate = limits.dot_rate(dtype)
        if rate is None:
            return None
        dot_seconds += flops / rate
    for dtype, flops in work.others.items():
        rate = limits.vector_rate(dtype)
        if rate is None:
            return None
        other_seconds += flops / rate
    return max(dot_seconds, other_seconds)
