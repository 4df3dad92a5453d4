"""Additional figures of launches: rows of `kvtrace/figures/kernels.py`, and add-ons' figures.

An add-on's source (`added.py`) reads figures of one launch of each call. Over launches, and over a
kernel's variants, they are added, or the largest counts (`FigureKind.combined`). All are in
`Totals.further`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.converters.diff.added import FigureKind, FigureSource, Values, figure_sources
from kvtrace.figures.kernels import FURTHER, KernelFigure, further_sums

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant import Variant
    from kvtrace.schema.trace import Run, Trace


def figure_kinds() -> tuple[FigureKind, ...]:
    """Return the kinds of add-ons' figures, then those of kvtrace's further figures."""
    of_sources = (kind for source in figure_sources() for kind in source.kinds)
    return (*of_sources, *map(_kind, FURTHER))


def _kind(figure: KernelFigure) -> FigureKind:
    """Return a further figure of kvtrace as a `FigureKind`: a sum, or a ratio of sums (a mean)."""
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
            calls = list(variant.calls.values())
            call_values = [
                (values_by_call.get((call.run, call.call_id)), call.launches) for call in calls
            ]
            known_values = [
                (values, launches) for values, launches in call_values if values is not None
            ]
            if known_values and len(known_values) == len(call_values):
                further = {
                    **(variant.totals.further or {}),
                    **_combined_over_launches(source, known_values),
                }
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
