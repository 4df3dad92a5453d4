"""Figures that no code names: further ones of launches, and the group `kvtrace.diff_figures`.

The first are rows of `kvtrace/figures/kernels.py`. A source of the group reads values of one launch
of each call, by name, which are combined over launches. Over the variants of a kernel they are
combined as their kinds say. All are in `Totals.further`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from kvtrace import registry
from kvtrace.converters.diff.model import Certainty
from kvtrace.figures.kernels import FURTHER, KernelFigure, further_sums

if TYPE_CHECKING:
    from kvtrace.converters.diff.model import Totals
    from kvtrace.converters.diff.variant import Variant
    from kvtrace.schema.trace import Run, Trace

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure: its name, unit (count, bytes, ns or share), which way is worse, how sure it is.

    Over launches it is their sum, or the most of any. One that is `part` of others, which `of`
    names, is read off these sums: its share of the largest of them.
    """

    name: str
    unit: str
    worse: Literal["more", "less"] | None
    combined: Literal["sum", "most"] = "sum"
    part: str | None = None
    of: tuple[str, ...] = ()
    certainty: Certainty = "derived"

    def value(self, totals: "Totals") -> float | None:
        """Return the figure of a sum over launches; None where it is not known."""
        values = totals.further or {}
        if self.part is None:
            return values.get(self.name)
        whole = max((values.get(name, 0.0) for name in self.of), default=0.0)
        own = values.get(self.part)
        return own / whole if own and whole else None


@dataclass(frozen=True, slots=True)
class FigureSource:
    """Figures of calls, and what reads them: values of one launch by run id and call id."""

    read: "Callable[[Trace, Sequence[Run]], Mapping[tuple[str, int], Values]]"
    kinds: tuple[FigureKind, ...]


@cache
def figure_sources() -> tuple[FigureSource, ...]:
    """Return every source."""
    return tuple(source for _, source in registry.loaded("diff_figures"))


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
