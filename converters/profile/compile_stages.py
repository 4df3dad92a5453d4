"""Times of compilations by kernel and stage, over the runs of some traces, slowest first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kvtrace.figures.identity import key_of
from kvtrace.figures.kernels import compiled_here
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Compilations of a kernel, and what they took in ns, by stage; `rest_ns` is of no stage."""

    kernel: str
    compilations: int
    compile_ns: int
    stages: dict[str, int]
    rest_ns: int


def stage_times(selections: Iterable[Selection]) -> tuple[StageTimes, ...]:
    """Return the times of kernels that were compiled, not loaded from a cache."""
    rows: dict[object, list[Mapping[str, Any]]] = {}
    for selection in selections:
        for row in plain_rows(selection.table("kernels")):
            if compiled_here(row["cache_hit"], row["compile_ns"]):
                rows.setdefault(key_of(row), []).append(row)
    times = []
    for variants in rows.values():
        total, stages = sum(row["compile_ns"] or 0 for row in variants), Counter[str]()
        for stage in (stage for row in variants for stage in row["stages"] or ()):
            stages[stage["stage"]] += stage["duration_ns"] or 0
        timed = dict(+stages)
        rest = total - sum(timed.values())
        times.append(StageTimes(variants[0]["name"] or "", len(variants), total, timed, rest))
    return tuple(sorted(times, key=lambda kernel: -kernel.compile_ns))
