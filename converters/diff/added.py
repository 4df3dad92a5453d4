"""What add-ons and other packages add to a difference: the group `kvtrace.diff`."""

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
    """A stage of a kernel's source from before its compiler, of which an add-on writes the text.

    Kernels that differ in one are different kernels, whatever else is the same of them. Numbers of
    other facts are not looked for in them.

    Attributes:
        label: What the stage is called.
        texts: Writes its texts, as MLIR, by run id and kernel id.

    """

    label: str
    texts: "Callable[[Selection], Mapping[tuple[str, int], str]]"


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


#: Compares kernels, by their names in AFTER with those in BEFORE, for so many seconds.
MeaningSource = Callable[
    ["Selection", "Selection", Mapping[str, str], float], Sequence[KernelMeaning]
]

#: The same, of outputs of each kernel, by their names in BEFORE (None: all), by recorded results.
KeptResultSource = Callable[
    ["Selection", "Selection", Mapping[str, str], Mapping[str, AbstractSet[str] | None], float],
    Sequence[KernelMeaning],
]

#: Compares what launches made: of kernels of both sides, and those of AFTER with other code.
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
    """All that one add-on adds; each `kvtrace diff` imports its module, which imports little else.

    Attributes:
        stages: Texts of kernels, by the names of their stages.
        figures: Figures of calls.
        meanings: Compares by IR whether changed kernels still compute the same.
        kept: Compares that of outputs that `meanings` leave open, by what launches left in memory.
        results: Finds the first launch with another result; None where nothing recorded tells.

    """

    stages: Mapping[str, EarlierStage] = field(default_factory=dict)
    figures: FigureSource | None = None
    meanings: MeaningSource | None = None
    kept: KeptResultSource | None = None
    results: ResultSource | None = None


@cache
def additions() -> tuple[DiffAddition, ...]:
    """Return the additions of all add-ons."""
    return tuple(added for _, added in registry.loaded("diff"))


@cache
def earlier_stages() -> Mapping[str, EarlierStage]:
    """Return the stages that add-ons write, from before the compiler's, by their names."""
    return {name: stage for added in additions() for name, stage in added.stages.items()}


@cache
def figure_sources() -> tuple[FigureSource, ...]:
    """Return the sources of figures that add-ons add."""
    return tuple(added.figures for added in additions() if added.figures is not None)
