"""Figures that no code names: further ones of launches, and those that add-ons add.

The first are rows of `kvtrace/figures/kernels.py`. A source (`added.py`) reads values of one launch
of each call, by name, which are combined over launches. Over the variants of a kernel they are
combined as their kinds say. All are in `Totals.further`.
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
    """Return the kinds of all sources, in their order, and those of further figures."""
    of_sources = (kind for source in figure_sources() for kind in source.kinds)
    return (*of_sources, *map(_kind, FURTHER))


def _kind(figure: KernelFigure) -> FigureKind:
    """Return the kind of a further figure, which is a sum, or a mean: of sums by counts."""
    unit, certainty = figure.unit, figure.certainty
    if figure.per is None:
        return FigureKind(figure.name, unit, None, certainty=certainty)
    mean = (figure.name, (figure.per,))
    return FigureKind(figure.name, unit, None, "sum", *mean, certainty=certainty)


def fill_further(variants: Sequence["Variant"], trace: "Trace", runs: Sequence["Run"]) -> None:
    """Fill in the figures of the variants all of whose calls a source has read."""
    for source in figure_sources():
        known = source.read(trace, runs)
        for variant in variants if known else ():
            calls = list(variant.calls.values())
            found = [(known.get((call.run, call.call_id)), call.launches) for call in calls]
            seen = [(values, launches) for values, launches in found if values is not None]
            if seen and len(seen) == len(found):
                further = {**(variant.totals.further or {}), **_over_launches(source, seen)}
                variant.totals = replace(variant.totals, further=further)


def _over_launches(source: FigureSource, seen: Sequence[tuple[Values, int]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for kind in source.kinds:
        values = [(each[kind.name], launches) for each, launches in seen if kind.name in each]
        if values and kind.combined == "sum":
            total[kind.name] = sum(value * launches for value, launches in values)
        elif values:
            total[kind.name] = max(value for value, _ in values)
    return total


def further_together(parts: Iterable[Values | None]) -> dict[str, float] | None:
    """Combine the figures of variants: sums are unknown where one of them has no figures."""
    listed = list(parts)
    known = [part for part in listed if part]
    total = further_sums(known)
    for kind in (kind for source in figure_sources() for kind in source.kinds):
        values = [part[kind.name] for part in known if kind.name in part]
        if values and kind.combined == "most":
            total[kind.name] = max(values)
        elif values and len(known) == len(listed):
            total[kind.name] = sum(values)
    return total or None
