"""Additional figures of launches: rows of `kvtrace/figures/kernels.py`, and add-ons' figures.

A source (`added.py`) reads values of one launch of each call, by name, which are combined over
launches. Over a kernel's variants they are combined as their kinds say. All are in
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
    """Return the kinds of all sources' figures, in order, then those of further figures."""
    of_sources = (kind for source in figure_sources() for kind in source.kinds)
    return (*of_sources, *map(_kind, FURTHER))


def _kind(figure: KernelFigure) -> FigureKind:
    """Return the kind of a further figure: a sum, or a mean as a ratio of sums."""
    unit, certainty = figure.unit, figure.certainty
    if figure.per is None:
        return FigureKind(figure.name, unit, None, certainty=certainty)
    mean = (figure.name, (figure.per,))
    return FigureKind(figure.name, unit, None, "sum", *mean, certainty=certainty)


def fill_further(variants: Sequence["Variant"], trace: "Trace", runs: Sequence["Run"]) -> None:
    """Add a source's figures to the variants for which the source has values of all calls."""
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
                further = {**(variant.totals.further or {}), **_over_launches(source, known_values)}
                variant.totals = replace(variant.totals, further=further)


def _over_launches(
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


def further_together(parts: Iterable[Values | None]) -> dict[str, float] | None:
    """Return the combined figures of variants; a sum is unknown if a variant has no figures."""
    all_parts = list(parts)
    known = [part for part in all_parts if part]
    total = further_sums(known)
    for kind in (kind for source in figure_sources() for kind in source.kinds):
        values = [part[kind.name] for part in known if kind.name in part]
        if values and kind.combined == "most":
            total[kind.name] = max(values)
        elif values and len(known) == len(all_parts):
            total[kind.name] = sum(values)
    return total or None
