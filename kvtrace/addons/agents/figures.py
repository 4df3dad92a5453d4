"""Figures of one launch: bytes, FLOPs, and the least time that a device needs."""

from __future__ import annotations

from msgspec import Struct

from kvtrace.converters.profile.profile_model import CallProfile, Profile
from kvtrace.text import amount, size


class Figures(Struct, frozen=True):
    """Bytes and FLOPs of one launch, and the least time that a device needs for the launch.

    `bytes` are requested by active lanes, `unique_bytes` are the distinct bytes read and written;
    both are None if they depend on unknown values. `best_ns` is the roofline time on `device`, and
    `bound` the limiting resource: memory, compute or caches.
    """

    device: str | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    intensity: float | None
    best_ns: float | None
    bound: str | None

    def __str__(self) -> str:
        if self.bytes is None and self.flops is None:
            return "bytes and FLOPs are not known"
        parts = [
            "bytes not known" if self.bytes is None else size(self.bytes),
            "FLOPs not known" if self.flops is None else amount(self.flops, "FLOP"),
        ]
        if self.best_ns is not None:
            parts.append(f"at best {self.best_ns / 1e3:.3g} µs on {self.device} ({self.bound})")
        return ", ".join(parts)


def figures_of(call: CallProfile, profile: Profile) -> Figures:
    """Return the figures of one launch of a call, from totals over all launches of the call."""
    derived, roofline, runs = call.derived, call.roofline, max(call.runs, 1)

    def per_run(total: int | None) -> int | None:
        return None if total is None else total // runs

    return Figures(
        None if profile.device is None else profile.device.limits.name,
        per_run(derived.bytes),
        per_run(derived.unique_bytes),
        per_run(derived.flops),
        derived.intensity,
        None if roofline is None else roofline.best_ns / runs,
        None if roofline is None else roofline.bound,
    )
