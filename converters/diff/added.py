"""Additions of add-ons and other packages to a difference: the group `kvtrace.diff`."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from kvtrace import registry
from kvtrace.converters.diff.model import Certainty, KernelMeaning, Results

if TYPE_CHECKING:
    from collections.abc import Container

    from kvtrace.converters.diff.model import Totals
    from kvtrace.converters.diff.snapshot import Snapshot
    from kvtrace.figures.identity import KernelKey
    from kvtrace.schema.trace import Run, Selection, Trace

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EarlierStage:
    """A stage before the compiler's stages, whose text an add-on writes.

    Variants with different texts of such a stage are different variants, even if all else is equal.
    Changed constants are not ignored in these texts.

    Attributes:
        label: The stage's name in outputs.
        texts: A function that returns the stage's texts, as MLIR, by run id and kernel id.
    """

    label: str
    texts: "Callable[[Selection], Mapping[tuple[str, int], str]]"


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of launches: name, unit (count, bytes, ns or share), worse direction, certainty.

    Over launches, its values are added, or the largest counts (`combined`). A figure with `part`
    and `of` is a ratio of other figures: `part` over the largest of those in `of`.
    """

    name: str
    unit: str
    worse: Literal["more", "less"] | None
    combined: Literal["sum", "most"] = "sum"
    part: str | None = None
    of: tuple[str, ...] = ()
    certainty: Certainty = "derived"

    def value(self, totals: "Totals") -> float | None:
        """Return the figure from `totals.further`, or None if unknown."""
        values = totals.further or {}
        if self.part is None:
            return values.get(self.name)
        whole = max((values.get(name, 0.0) for name in self.of), default=0.0)
        part = values.get(self.part)
        return part / whole if part and whole else None


@dataclass(frozen=True, slots=True)
class FigureSource:
    """Additional figures of calls: their kinds, and a function that reads them.

    `read` returns the figures of one launch by name, for each run id and call id.
    """

    read: "Callable[[Trace, Sequence[Run]], Mapping[tuple[str, int], Values]]"
    kinds: tuple[FigureKind, ...]


#: Compares results by IR. Arguments: BEFORE, AFTER, names in AFTER → BEFORE, limit in seconds.
MeaningSource = Callable[
    ["Selection", "Selection", Mapping[str, str], float], Sequence[KernelMeaning]
]

#: Compares recorded results; a further argument has the outputs to compare by kernel (None: all).
KeptResultSource = Callable[
    ["Selection", "Selection", Mapping[str, str], Mapping[str, AbstractSet[str] | None], float],
    Sequence[KernelMeaning],
]

#: Compares launches. Arguments: BEFORE, AFTER, matched kernels, kernels of AFTER with other code.
ResultSource = Callable[
    [
        "Snapshot",
        "Snapshot",
        "Sequence[tuple[KernelKey, KernelKey]]",
        "Container[KernelKey]",
    ],
    Results | None,
]


@dataclass(frozen=True, slots=True)
class DiffAddition:
    """All additions of one add-on. `kvtrace diff` imports the module, which should import little.

    Attributes:
        stages: Stages before the compiler's, by name.
        figures: Source of figures of calls.
        meanings: Function that compares by IR whether changed kernels compute the same results.
        kept: Function that compares outputs that `meanings` leaves open, by recorded results.
        results: Function that finds the first launch with another result; it returns None if no
            results were recorded.
    """

    stages: Mapping[str, EarlierStage] = field(default_factory=dict)
    figures: FigureSource | None = None
    meanings: MeaningSource | None = None
    kept: KeptResultSource | None = None
    results: ResultSource | None = None


@cache
def additions() -> tuple[DiffAddition, ...]:
    """Return the additions of all add-ons."""
    return tuple(addition for _, addition in registry.loaded("diff"))


@cache
def earlier_stages() -> Mapping[str, EarlierStage]:
    """Return add-ons' stages before the compiler's stages, by name."""
    return {name: stage for addition in additions() for name, stage in addition.stages.items()}


@cache
def figure_sources() -> tuple[FigureSource, ...]:
    """Return the sources of figures from add-ons."""
    return tuple(addition.figures for addition in additions() if addition.figures is not None)
