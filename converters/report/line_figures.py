"""Figures of ops for lines of code: sums and shares over all runs, shown as heat."""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtrace.converters.profile.device_limits import DeviceLimits

__all__ = ["LineFigures", "OpFigures", "line_figures"]


@dataclass(frozen=True, slots=True)
class OpFigures:
    """An op of a variant, summed over the runs of its calls; None where unknown.

    `lanes` are requested lanes where masks are known, `sector_bytes` requested bytes where sectors
    are known.
    """

    op_index: int
    op: str
    kind: str
    dtype: str | None
    stack_id: int | None
    executions: int | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    masked_off: int | None
    sectors: int | None
    lanes: int | None
    sector_bytes: int | None

    def best_ns(self, limits: DeviceLimits | None) -> float:
        """Return the shortest time for the op's distinct bytes or FLOPs on a device."""
        if limits is None:
            return 0.0
        memory = (self.unique_bytes or 0) / limits.bandwidth
        dtype = self.dtype or "f32"
        rate = limits.dot_rate(dtype) if self.kind == "dot" else limits.vector_rate(dtype)
        compute = (self.flops or 0) / rate if rate else 0.0
        return max(memory, compute) * 1e9


@dataclass(frozen=True, slots=True)
class LineFigures:
    """Figures of some ops, summed.

    `time_share`: share of the roofline time (not measured) summed over all ops; None if the
    device's limits are not known. `masked_share`: share of lanes masked off. `sector_efficiency`
    and the sums are as in docs/profile.md.
    """

    time_share: float | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    masked_share: float | None
    sector_efficiency: float | None
    ops: tuple[int, ...]


def line_figures(
    ops: Iterable[OpFigures], limits: DeviceLimits | None, whole_ns: float
) -> LineFigures:
    """Return the sums over some ops; `whole_ns` is the best time of all ops of their variant."""
    listed = list(ops)
    lanes = _total(op.lanes for op in listed)
    masked = _total(op.masked_off for op in listed)
    sectors = _total(op.sectors for op in listed)
    sector_bytes = _total(op.sector_bytes for op in listed)
    best = sum(op.best_ns(limits) for op in listed)
    return LineFigures(
        time_share=best / whole_ns if whole_ns else None,
        bytes=_total(op.bytes for op in listed),
        unique_bytes=_total(op.unique_bytes for op in listed),
        flops=_total(op.flops for op in listed),
        masked_share=None if not lanes or masked is None else masked / lanes,
        sector_efficiency=(
            None if not sectors or sector_bytes is None else sector_bytes / (32 * sectors)
        ),
        ops=tuple(op.op_index for op in listed),
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
