"""Figures of variants and kernels that differ between both sides."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from kvtrace.converters.diff.further import figure_kinds
from kvtrace.converters.diff.model import Certainty, Figure, Totals
from kvtrace.converters.profile.device_limits import occupancy
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.text import count, quantity

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant import Variant


class _Kind(NamedTuple):
    name: str
    unit: str
    certainty: Certainty
    worse: Literal["more", "less"] | None


#: Figures of a variant: the compiler reports the `exact` ones; occupancy is derived from them and
#: the device's documented limits.
_VARIANT_FIGURES: Final = (
    (_Kind("registers", "count", "exact", "more"), lambda v: v.resources.get("registers")),
    (_Kind("spills", "count", "exact", "more"), lambda v: v.resources.get("spills")),
    (_Kind("shared_bytes", "bytes", "exact", "more"), lambda v: v.resources.get("shared_bytes")),
    (_Kind("occupancy", "share", "derived", "less"), lambda v: variant_occupancy(v)),
)  # type: Final[tuple[tuple[_Kind, Callable[[Variant], float | None]], ...]]

#: Figures over all launches of a kernel; those of `further.py` follow, then `_LAST_KERNEL_FIGURES`.
_KERNEL_FIGURES: Final[tuple[tuple[_Kind, Callable[[Totals], float | None]], ...]] = (
    (_Kind("bytes", "bytes", "derived", "more"), lambda totals: totals.bytes),
    (_Kind("sectors", "count", "derived", "more"), lambda totals: totals.sectors),
    (_Kind("FLOPs", "count", "derived", "more"), lambda totals: totals.flops),
    (_Kind("lanes on", "share", "derived", None), lambda totals: totals.lanes_share),
)
_LAUNCHES: Final = KERNEL_FIGURES["launches"]
_LAST_KERNEL_FIGURES: Final[tuple[tuple[_Kind, Callable[[Totals], float | None]], ...]] = (
    (
        _Kind(_LAUNCHES.name, _LAUNCHES.unit, _LAUNCHES.certainty, None),
        lambda totals: totals.launches,
    ),
    (_Kind("compile time", "ns", "measured", None), lambda totals: totals.compile_ns or None),
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
    return tuple(
        _differing_figures((kind, read(before), read(after)) for kind, read in _VARIANT_FIGURES)
    )


def kernel_figures(before: Totals, after: Totals) -> tuple[Figure, ...]:
    """Return the sums over a kernel's launches that are known on both sides and differ."""
    further = tuple(
        (_Kind(kind.name, kind.unit, kind.certainty, kind.worse), kind.value)
        for kind in figure_kinds()
    )
    kinds = (*_KERNEL_FIGURES, *further, *_LAST_KERNEL_FIGURES)
    return tuple(_differing_figures((kind, read(before), read(after)) for kind, read in kinds))


def figure_values(figure: Figure) -> tuple[str, str]:
    """Return both values with their unit; in full if their short forms are the same."""
    before, after = (quantity(value, figure.unit) for value in (figure.before, figure.after))
    if before == after and figure.unit == "share":
        return f"{100 * figure.before:.4f} %", f"{100 * figure.after:.4f} %"
    return (before, after) if before != after else (count(figure.before), count(figure.after))


def work_per_launch(
    before: Sequence["Variant"] | None, after: Sequence["Variant"], name: Literal["bytes", "flops"]
) -> tuple[float | None, float | None]:
    """Return the mean bytes or FLOPs (`name`) per launch of both sides, over comparable launches.

    Launches are comparable if their shapes and scalars occur on both sides. Those of BEFORE are
    weighted by their number in AFTER, so that the figure does not depend on numbers of launches.
    Without BEFORE, all launches of AFTER count. None if no comparable launches are known.
    """
    works_after = _totals_by_work(after, name)
    if before is None:
        launches = sum(number for number, _ in works_after.values())
        return None, sum(
            total for _, total in works_after.values()
        ) / launches if launches else None
    works_before = _totals_by_work(before, name)
    common_works = works_before.keys() & works_after.keys()
    launches = sum(works_after[work][0] for work in common_works)
    if not launches:
        return None, None
    total_before = sum(
        works_before[work][1] * works_after[work][0] / works_before[work][0]
        for work in common_works
    )
    return total_before / launches, sum(works_after[work][1] for work in common_works) / launches


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
    pairs: Iterable[tuple[_Kind, float | None, float | None]],
) -> Iterable[Figure]:
    for kind, before, after in pairs:
        if before is not None and after is not None and before != after:
            yield Figure(kind.name, kind.unit, before, after, kind.certainty, kind.worse)
