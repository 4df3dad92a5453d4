"""How fast a device could run calls at best, from their bytes and FLOPs alone: derived bounds.

Time at best is the longest of three: distinct bytes over memory bandwidth (with cold caches, each
is moved at least once), dots over the matrix units' peak, all other FLOPs over the vector units'.
The units can overlap, so they do not add up. The bytes that programs ask for, over the bandwidth,
are what it would take if caches served nothing again; that is what a device without caches takes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kvtrace.converters.profile.device_limits import DeviceLimits

Bound = Literal["memory", "caches", "compute"]


@dataclass(frozen=True, slots=True)
class Work:
    """What one launch of a call does. None: not known.

    `unique_bytes`: distinct bytes read plus distinct bytes written, by buffer; a lower bound where
    some access is not known. `bytes`: what programs ask for, None where that is not known whole.
    FLOPs are by element type.
    """

    unique_bytes: int | None
    bytes: int | None
    dots: Mapping[str, int] = field(hash=False)
    others: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Position:
    """Where work is under the roof of a device; times in nanoseconds, over all launches.

    `bound` is `memory` where even distinct bytes take longer than the arithmetic, `compute` where
    the arithmetic takes longer than all bytes asked for, `caches` in between: memory-bound or not
    by what caches serve again. `best_ns` is the attainable time, `achieved` the share of it in the
    measured time (1: as fast as can be), None without a device timeline.
    """

    memory_ns: float
    uncached_ns: float | None
    compute_ns: float
    best_ns: float
    bound: Bound
    achieved: float | None = None


def position(work: Work, limits: DeviceLimits, launches: int = 1) -> Position | None:
    """Place a call's launches; None where the bytes are not known or the device lacks a rate."""
    compute = _compute_seconds(work, limits)
    if work.unique_bytes is None or compute is None:
        return None
    memory = work.unique_bytes / limits.bandwidth
    uncached = None if work.bytes is None else work.bytes / limits.bandwidth
    if not limits.has_caches:
        memory = uncached = memory if uncached is None else uncached
    scale = 1e9 * launches
    return _placed(
        memory * scale, None if uncached is None else uncached * scale, compute * scale,
        max(memory, compute) * scale,
    )  # fmt: skip


def joined(positions: Iterable[Position | None]) -> Position | None:
    """Add up the launches of several calls; None if one of them has no position."""
    found = list(positions)
    known = [p for p in found if p is not None]
    if not known or len(known) < len(found):
        return None
    uncached = [p.uncached_ns for p in known if p.uncached_ns is not None]
    return _placed(
        sum(p.memory_ns for p in known),
        sum(uncached) if len(uncached) == len(known) else None,
        sum(p.compute_ns for p in known),
        sum(p.best_ns for p in known),
    )


def _placed(memory: float, uncached: float | None, compute: float, best: float) -> Position:
    bound: Bound = "memory"
    if compute > memory:
        bound = "caches" if uncached is None or uncached > compute else "compute"
    return Position(memory, uncached, compute, best, bound)


def _compute_seconds(work: Work, limits: DeviceLimits) -> float | None:
    dots = others = 0.0
    for dtype, flops in work.dots.items():
        rate = limits.dot_rate(dtype)
        if rate is None:
            return None
        dots += flops / rate
    for dtype, flops in work.others.items():
        rate = limits.vector_rate(dtype)
        if rate is None:
            return None
        others += flops / rate
    return max(dots, others)
