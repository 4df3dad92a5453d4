"""Figures of variants and kernels that differ between both sides, and further ones of launches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.converters.diff.added import FigureKind, FigureSource, Values, figure_sources
from kvtrace.converters.diff.model import Figure, Totals
from kvtrace.converters.profile.device_limits import occupancy
from kvtrace.figures.kernels import FURTHER, KERNEL_FIGURES, KernelFigure, further_sums
from kvtrace.text import count, quantity

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant import Variant
    from kvtrace.schema.trace import Run, Trace


#: Figures of a variant: the compiler reports the `exact` ones; occupancy is derived from them and
#: the device's documented limits.
_VARIANT_FIGURES: Final = (
    FigureKind("registers", "count", "more", certainty="exact"),
    FigureKind("spills", "count", "more", certainty="exact"),
    FigureKind("shared_bytes", "bytes", "more", certainty="exact"),
    FigureKind("occupancy", "share", "less"),
)

#: Figures over all launches of a kernel; further ones follow, then `_LAST_KERNEL_FIGURES`.
_KERNEL_FIGURES: Final[tuple[tuple[FigureKind, Callable[[Totals], float | None]], ...]] = (
    (FigureKind("bytes", "bytes", "more"), lambda totals: totals.bytes),
    (FigureKind("sectors", "count", "more"), lambda totals: totals.sectors),
    (FigureKind("FLOPs", "count", "more"), lambda totals: totals.flops),
    (FigureKind("lanes on", "share", None), lambda totals: totals.lanes_share),
)
_LAUNCHES: Final = KERNEL_FIGURES["launches"]
_LAST_KERNEL_FIGURES: Final[tuple[tuple[FigureKind, Callable[[Totals], float | None]], ...]] = (
    (
        FigureKind(_LAUNCHES.name, _LAUNCHES.unit, None, certainty=_LAUNCHES.certainty),
        lambda totals: totals.launches,
    ),
    (
        FigureKind("compile time", "ns", None, certainty="measured"),
        lambda totals: totals.compile_ns or None,
    ),
)


def variant_occupancy(variant: "Variant") -> float | None:
    """Return the share (0 to 1) of a multiprocessor's warps that run at once; None if unknown."""
    row, resources = variant.row, variant.resources
    occupied = occupancy(
        row["target"], row["num_warps"], resources.get("registers"), resources.get("shared_bytes")
    )
    return None if occupied is None else occupied.share


def variant_figures(before: "Variant", after: "Variant") -> tuple[Figure, ...]:
    """Return the figures of a variant that are known on both sides and differ."""
    values_before, values_after = (
        {"occupancy": variant_occupancy(v), **v.resources} for v in (before, after)
    )
    return tuple(
        _differing_figures(
            (kind, values_before.get(kind.name), values_after.get(kind.name))
            for kind in _VARIANT_FIGURES
        )
    )


def kernel_figures(before: Totals, after: Totals) -> tuple[Figure, ...]:
    """Return the sums over a kernel's launches that are known on both sides and differ."""
    further = tuple((kind, kind.value) for kind in figure_kinds())
    kinds = (*_KERNEL_FIGURES, *further, *_LAST_KERNEL_FIGURES)
    return tuple(_differing_figures((kind, read(before), read(after)) for kind, read in kinds))


def figure_values(before: float, after: float, unit: str) -> tuple[str, str]:
    """Return both values with their unit; in full if their short forms are the same."""
    texts = quantity(before, unit), quantity(after, unit)
    if texts[0] != texts[1]:
        return texts
    if unit == "share":
        return f"{100 * before:.4f} %", f"{100 * after:.4f} %"
    return count(before), count(after)


def work_per_launch(
    before: Sequence["Variant"] | None, after: Sequence["Variant"], name: Literal["bytes", "flops"]
) -> tuple[float | None, float | None]:
    """Return the mean bytes or FLOPs (`name`) per launch of both sides, over comparable launches.

    Launches are comparable if their shapes and scalars occur on both sides. Those of BEFORE are
    weighted by their number in AFTER, so that the figure does not depend on numbers of launches.
    Without BEFORE, all launches of AFTER count. None if no comparable launches are known.
    """
    works_after = _totals_by_work(after, name)
    works_before = works_after if before is None else _totals_by_work(before, name)
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
    variants: Sequence["Variant"], name: Literal["bytes", "flops"]
) -> dict[int, tuple[int, int]]:
    """Return (launches, total of `name`) by the hash of shapes and scalars, where all are known."""
    sums: dict[int, tuple[int, int]] = {}
    unknown_works = set()
    for variant in variants:
        for work, work_sums in variant.works.items():
            total = work_sums.bytes if name == "bytes" else work_sums.flops
            if total is None:
                unknown_works.add(work)
                continue
            previous = sums.get(work, (0, 0))
            sums[work] = previous[0] + work_sums.launches, previous[1] + total
    return {work: previous for work, previous in sums.items() if work not in unknown_works}


def _differing_figures(
    pairs: Iterable[tuple[FigureKind, float | None, float | None]],
) -> Iterable[Figure]:
    for kind, before, after in pairs:
        if before is not None and after is not None and before != after:
            yield Figure(kind.name, kind.unit, before, after, kind.certainty, kind.worse)


# Additional figures of launches: rows of `kvtrace/figures/kernels.py`, and add-ons' figures.
#
# An add-on's source (`added.py`) reads figures of one launch of each call. Over launches, and over
# a kernel's variants, they are added, or the largest counts (`FigureKind.combined`). All are in
# `Totals.further`.


def figure_kinds() -> tuple[FigureKind, ...]:
    """Return the kinds of add-ons' figures, then those of kvtrace's further figures."""
    of_sources = (kind for source in figure_sources() for kind in source.kinds)
    return (*of_sources, *map(_kind, FURTHER))


def _kind(figure: KernelFigure) -> FigureKind:
    """Return the kind under which a kernel's figure is compared: a sum, or a ratio of two sums."""
    unit, certainty = figure.unit, figure.certainty
    if figure.per is None:
        return FigureKind(figure.name, unit, None, certainty=certainty)
    mean = (figure.name, (figure.per,))
    return FigureKind(figure.name, unit, None, "sum", *mean, certainty=certainty)


def fill_further(variants: Sequence["Variant"], trace: "Trace", runs: Sequence["Run"]) -> None:
    """Add add-ons' figures to `totals.further` of each variant whose calls all have values."""
    for source in figure_sources():
        values_by_call = source.read(trace, runs)
        for variant in variants if values_by_call else ():
            launches = {(c.run, c.call_id): c.launches for c in variant.calls.values()}
            if launches and launches.keys() <= values_by_call.keys():
                values = [(values_by_call[call], number) for call, number in launches.items()]
                combined = _combined_over_launches(source, values)
                further = {**(variant.totals.further or {}), **combined}
                variant.totals = replace(variant.totals, further=further)


def _combined_over_launches(
    source: FigureSource, call_values: Sequence[tuple[Values, int]]
) -> dict[str, float]:
    total: dict[str, float] = {}
    for kind in source.kinds:
        values = [
            (figures[kind.name], launches)
            for figures, launches in call_values
            if kind.name in figures
        ]
        if values and kind.combined == "sum":
            total[kind.name] = sum(value * launches for value, launches in values)
        elif values:
            total[kind.name] = max(value for value, _ in values)
    return total


def combined_further(variant_figures: Iterable[Values | None]) -> dict[str, float] | None:
    """Return the figures of several variants, combined by kind; None if there are none.

    A sum is left out if a variant has no figures.
    """
    all_figures = list(variant_figures)
    known_figures = [part for part in all_figures if part]
    total = further_sums(known_figures)
    for kind in (kind for source in figure_sources() for kind in source.kinds):
        values = [part[kind.name] for part in known_figures if kind.name in part]
        if values and kind.combined == "most":
            total[kind.name] = max(values)
        elif values and len(known_figures) == len(all_figures):
            total[kind.name] = sum(values)
    return total or None
