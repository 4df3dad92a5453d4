"""Figures of variants and kernels that are compared: for the headline, and for rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from kvtrace.converters.diff.model import Certainty, Figure, Totals
from kvtrace.converters.profile.device_limits import occupancy_of
from kvtrace.figures.kernels import FURTHER, KernelFigure
from kvtrace.text import count, quantity

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant import Variant

Compared = TypeVar("Compared", "Variant", Totals)


@dataclass(frozen=True, slots=True)
class FigureKind(Generic[Compared]):
    """A figure: its name, unit (count, bytes, ns or share), value, worse direction, certainty.

    `read` returns the value of a variant, or of the totals of a kernel; None if unknown.
    """

    name: str
    unit: str
    read: Callable[[Compared], float | None]
    worse: Literal["more", "less"] | None = None
    certainty: Certainty = "derived"


def _recorded(name: str, unit: str) -> FigureKind["Variant"]:
    """Return the kind of a figure that the compiler reports."""
    return FigureKind(name, unit, lambda variant: variant.row[name], "more", "exact")


def _occupancy(variant: "Variant") -> float | None:
    """Return the share (0 to 1) of a multiprocessor's warps that run at once; None if unknown."""
    occupied = occupancy_of(variant.row)
    return None if occupied is None else occupied.share


#: Figures of a variant; occupancy is derived from the others and the device's documented limits.
VARIANT_FIGURES: Final[tuple[FigureKind["Variant"], ...]] = (
    _recorded("registers", "count"),
    _recorded("spills", "count"),
    _recorded("shared_bytes", "bytes"),
    FigureKind("occupancy", "share", _occupancy, "less"),
)
BYTES: Final[FigureKind[Totals]] = FigureKind("bytes", "bytes", lambda totals: totals.bytes, "more")
FLOPS: Final[FigureKind[Totals]] = FigureKind("FLOPs", "count", lambda totals: totals.flops, "more")
LAUNCHES: Final[FigureKind[Totals]] = FigureKind(
    "launches", "count", lambda totals: totals.launches, None, "exact"
)


def _further(figure: KernelFigure) -> FigureKind[Totals]:
    def read(totals: Totals) -> float | None:
        return figure.shown(totals.further or {})

    return FigureKind(figure.name, figure.unit, read, None, figure.certainty)


def kernel_figures() -> tuple[FigureKind[Totals], ...]:
    """Return the figures over all launches of a kernel."""
    return (
        BYTES,
        FigureKind("sectors", "count", lambda totals: totals.sectors, "more"),
        FLOPS,
        FigureKind("lanes on", "share", lambda totals: totals.lanes_share),
        *map(_further, FURTHER),
        LAUNCHES,
        FigureKind("compile time", "ns", lambda totals: totals.compile_ns, None, "measured"),
    )


def differing(
    kinds: Sequence[FigureKind[Compared]], before: Compared, after: Compared
) -> tuple[Figure, ...]:
    """Return the figures that are known on both sides and differ."""
    values = ((kind, kind.read(before), kind.read(after)) for kind in kinds)
    return tuple(
        Figure(kind.name, kind.unit, first, second, kind.certainty, kind.worse)
        for kind, first, second in values
        if first is not None and second is not None and first != second
    )


def figure_values(figure: Figure) -> tuple[str, str]:
    """Return both values with their unit; in full if their short forms are the same."""
    before, after = figure.before, figure.after
    texts = quantity(before, figure.unit), quantity(after, figure.unit)
    if texts[0] != texts[1]:
        return texts
    if figure.unit == "share":
        return f"{100 * before:.4f} %", f"{100 * after:.4f} %"
    return count(before), count(after)


def work_per_launch(
    before: Sequence["Variant"] | None, after: Sequence["Variant"], figure: FigureKind[Totals]
) -> tuple[float | None, float | None]:
    """Return the mean bytes or FLOPs (`figure`) per launch of both sides, of comparable launches.

    Launches are comparable if their shapes and scalars occur on both sides. Those of BEFORE are
    weighted by their number in AFTER, so that the figure does not depend on numbers of launches.
    Without BEFORE, all launches of AFTER count. None if no comparable launches are known.
    """
    works_after = _totals_by_work(after, figure)
    works_before = works_after if before is None else _totals_by_work(before, figure)
    common_works = works_before.keys() & works_after.keys()
    launches = sum(works_after[work][0] for work in common_works)
    if not launches:
        return None, None
    after_per_launch = sum(works_after[work][1] for work in common_works) / launches
    if before is None:
        return None, after_per_launch
    total_before = sum(
        works_before[work][1] * works_after[work][0] / works_before[work][0]
        for work in common_works
    )
    return total_before / launches, after_per_launch


def _totals_by_work(
    variants: Sequence["Variant"], figure: FigureKind[Totals]
) -> dict[int, tuple[int, float]]:
    """Return (launches, total) by the hash of shapes and scalars, where all totals are known."""
    sums: dict[int, tuple[int, float]] = {}
    unknown_works = set()
    for variant in variants:
        for work, totals in variant.works.items():
            total = figure.read(totals)
            if total is None:
                unknown_works.add(work)
                continue
            launches, sum_so_far = sums.get(work, (0, 0))
            sums[work] = launches + totals.launches, sum_so_far + total
    return {work: known for work, known in sums.items() if work not in unknown_works}
