"""Figures of variants and kernels on both sides, with worse direction and certainty."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from kvtrace.converters.diff.further import figure_kinds
from kvtrace.converters.diff.model import Certainty, Figure, Totals
from kvtrace.converters.profile.occupancy import occupancy
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.text import count, quantity

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Variant


class _Kind(NamedTuple):
    name: str
    unit: str
    certainty: Certainty
    worse: Literal["more", "less"] | None


#: Figures of a variant: `exact` ones are the compiler's; occupancy is derived from them and the
#: device's documented limits.
_OF_VARIANTS: Final = (
    (_Kind("registers", "count", "exact", "more"), lambda v: v.resources.get("registers")),
    (_Kind("spills", "count", "exact", "more"), lambda v: v.resources.get("spills")),
    (_Kind("shared_bytes", "bytes", "exact", "more"), lambda v: v.resources.get("shared_bytes")),
    (_Kind("occupancy", "share", "derived", "less"), lambda v: variant_occupancy(v)),
)  # type: Final[tuple[tuple[_Kind, Callable[[Variant], float | None]], ...]]

#: Figures over all launches of a kernel; those of `further.py` come before the last ones. The time
#: of one compilation says nothing about the next one.
_OF_KERNELS: Final[tuple[tuple[_Kind, Callable[[Totals], float | None]], ...]] = (
    (_Kind("bytes", "bytes", "derived", "more"), lambda totals: totals.bytes),
    (_Kind("sectors", "count", "derived", "more"), lambda totals: totals.sectors),
    (_Kind("FLOPs", "count", "derived", "more"), lambda totals: totals.flops),
    (_Kind("lanes on", "share", "derived", None), lambda totals: totals.lanes_share),
)
_LAUNCHES: Final = KERNEL_FIGURES["launches"]
_LAST_OF_KERNELS: Final[tuple[tuple[_Kind, Callable[[Totals], float | None]], ...]] = (
    (
        _Kind(_LAUNCHES.name, _LAUNCHES.unit, _LAUNCHES.certainty, None),
        lambda totals: totals.launches,
    ),
    (_Kind("compile time", "ns", "measured", None), lambda totals: totals.compile_ns or None),
)


def variant_occupancy(variant: "Variant") -> float | None:
    """Return the share of a multiprocessor's warps that fit at once, or None if unknown."""
    row, resources = variant.row, variant.resources
    occupied = occupancy(
        row["target"], row["num_warps"], resources.get("registers"), resources.get("shared_bytes")
    )
    return None if occupied is None else occupied.share


def variant_figures(before: "Variant", after: "Variant") -> tuple[Figure, ...]:
    """Return the figures of a variant that are known on both sides and differ."""
    return tuple(_differing((kind, read(before), read(after)) for kind, read in _OF_VARIANTS))


def kernel_figures(before: Totals, after: Totals) -> tuple[Figure, ...]:
    """Return the sums over a kernel's launches that are known on both sides and differ."""
    further = tuple(
        (_Kind(kind.name, kind.unit, kind.certainty, kind.worse), kind.value)
        for kind in figure_kinds()
    )
    kinds = (*_OF_KERNELS, *further, *_LAST_OF_KERNELS)
    return tuple(_differing((kind, read(before), read(after)) for kind, read in kinds))


def figure_values(figure: Figure) -> tuple[str, str]:
    """Return both values with their unit; in full if their short forms are the same."""
    before, after = (quantity(value, figure.unit) for value in (figure.before, figure.after))
    if before == after and figure.unit == "share":
        return f"{100 * figure.before:.4f} %", f"{100 * figure.after:.4f} %"
    return (before, after) if before != after else (count(figure.before), count(figure.after))


def work_per_launch(
    before: Sequence["Variant"] | None, after: Sequence["Variant"], name: Literal["bytes", "flops"]
) -> tuple[float | None, float | None]:
    """Return bytes or FLOPs of a mean launch on both sides, over comparable launches.

    Launches count whose shapes and scalars occur on both sides, weighted by their number in AFTER:
    neither another number of launches nor other arguments change the figure. Without BEFORE, all
    launches of AFTER count. None if no launches are comparable or known.
    """
    second = _works(after, name)
    if before is None:
        launches = sum(number for number, _ in second.values())
        return None, sum(total for _, total in second.values()) / launches if launches else None
    first = _works(before, name)
    shared = first.keys() & second.keys()
    launches = sum(second[work][0] for work in shared)
    if not launches:
        return None, None
    old = sum(first[work][1] * second[work][0] / first[work][0] for work in shared)
    return old / launches, sum(second[work][1] for work in shared) / launches


def _works(
    variants: Sequence["Variant"], name: Literal["bytes", "flops"]
) -> dict[int, tuple[int, int]]:
    """Return (launches, total) by shapes and scalars, where every total is known."""
    sums: dict[int, tuple[int, int]] = {}
    unknown = set()
    for variant in variants:
        for work, moved in variant.works.items():
            total = moved.bytes if name == "bytes" else moved.flops
            if total is None:
                unknown.add(work)
                continue
            previous = sums.get(work, (0, 0))
            sums[work] = previous[0] + moved.launches, previous[1] + total
    return {work: previous for work, previous in sums.items() if work not in unknown}


def _differing(pairs: Iterable[tuple[_Kind, float | None, float | None]]) -> Iterable[Figure]:
    for kind, before, after in pairs:
        if before is not None and after is not None and before != after:
            yield Figure(kind.name, kind.unit, before, after, kind.certainty, kind.worse)
