"""Times of compilations by kernel and stage, over the runs of some traces, slowest first."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.figures.identity import key_of
from kvtrace.figures.kernels import compiled_here
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Compilations of a kernel, and what they took in ns, by stage; `rest_ns` is of no stage."""

    kernel: str
    compilations: int
    compile_ns: int
    stages: dict[str, int]
    rest_ns: int


def stage_times(selections: Iterable["Selection"]) -> tuple[StageTimes, ...]:
    """Return the times of kernels that were compiled, not loaded from a cache."""
    sums: dict[object, tuple[str, Counter[str]]] = {}
    for selection in selections:
        for row in plain_rows(selection.table("kernels")):
            if compiled_here(row["cache_hit"], row["compile_ns"]):
                _, counter = sums.setdefault(key_of(row), (row["name"] or "", Counter()))
                counter.update({"": 1, "compile": row["compile_ns"] or 0})
                counter.update({s["stage"]: s["duration_ns"] or 0 for s in row["stages"] or ()})
    times = []
    for name, counter in sums.values():
        number, total = counter.pop(""), counter.pop("compile")
        stages = {stage: ns for stage, ns in counter.items() if ns}
        times.append(StageTimes(name, number, total, stages, total - sum(stages.values())))
    return tuple(sorted(times, key=lambda kernel: -kernel.compile_ns))
