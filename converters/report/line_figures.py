"""Figures of ops for lines of code: sums over all runs, and shares that the page colors by."""

from collections.abc import Iterable
from dataclasses import dataclass

from kvtrace.converters.profile.device_limits import DeviceLimits

__all__ = ["LineFigures", "OpFigures", "line_figures"]


@dataclass(frozen=True, slots=True)
class OpFigures:
    """An op of a variant with its figures, summed over the runs of its calls; None where unknown.

    `lanes` counts all lanes of launches with known masks, `sector_bytes` the requested bytes of
    launches with known sectors.
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
        """Return the shortest time, in ns, for the op's distinct bytes and its FLOPs on a device.

        0 if the device's limits are not known.
        """
        if limits is None:
            return 0.0
        memory_s = (self.unique_bytes or 0) / limits.bandwidth
        dtype = self.dtype or "f32"
        rate = limits.dot_rate(dtype) if self.kind == "dot" else limits.vector_rate(dtype)
        compute_s = (self.flops or 0) / rate if rate else 0.0
        return max(memory_s, compute_s) * 1e9


@dataclass(frozen=True, slots=True)
class LineFigures:
    """Sums of figures over the ops of a line; `ops` lists their indexes.

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
    """Return the sums over `ops`; `whole_ns` is the roofline time of all ops of their variant."""
    listed = list(ops)
    lanes = _sum_of_known(op.lanes for op in listed)
    masked_lanes = _sum_of_known(op.masked_off for op in listed)
    sectors = _sum_of_known(op.sectors for op in listed)
    sector_bytes = _sum_of_known(op.sector_bytes for op in listed)
    best_ns = sum(op.best_ns(limits) for op in listed)
    return LineFigures(
        time_share=best_ns / whole_ns if whole_ns else None,
        bytes=_sum_of_known(op.bytes for op in listed),
        unique_bytes=_sum_of_known(op.unique_bytes for op in listed),
        flops=_sum_of_known(op.flops for op in listed),
        masked_share=None if not lanes or masked_lanes is None else masked_lanes / lanes,
        sector_efficiency=(
            None if not sectors or sector_bytes is None else sector_bytes / (32 * sectors)
        ),
        ops=tuple(op.op_index for op in listed),
    )


def _sum_of_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
