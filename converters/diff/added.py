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
    """A stage of a kernel's source before the compiler's stages; an add-on writes the text.

    Kernels whose texts of such a stage differ are different kernels, even if all else is equal.
    Numbers of other facts are not searched for in these texts.

    Attributes:
        label: The stage's name in outputs.
        texts: Returns the stage's texts, as MLIR, by run id and kernel id.
    """

    label: str
    texts: "Callable[[Selection], Mapping[tuple[str, int], str]]"


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of launches: name, unit (count, bytes, ns or share), worse direction, certainty.

    Figures are combined over launches by their sum, or by the largest. A figure with `part` and
    `of` is a ratio: the sum of `part` over the largest sum of those in `of`.
    """

    name: str
    unit: str
    worse: Literal["more", "less"] | None
    combined: Literal["sum", "most"] = "sum"
    part: str | None = None
    of: tuple[str, ...] = ()
    certainty: Certainty = "derived"

    def value(self, totals: "Totals") -> float | None:
        """Return the figure from sums over launches, or None if unknown."""
        values = totals.further or {}
        if self.part is None:
            return values.get(self.name)
        whole = max((values.get(name, 0.0) for name in self.of), default=0.0)
        part = values.get(self.part)
        return part / whole if part and whole else None


@dataclass(frozen=True, slots=True)
class FigureSource:
    """Kinds of figures of calls, and their reader: values of one launch by run id and call id."""

    read: "Callable[[Trace, Sequence[Run]], Mapping[tuple[str, int], Values]]"
    kinds: tuple[FigureKind, ...]


#: Compares kernels, given by name in AFTER and name in BEFORE, for at most some seconds.
MeaningSource = Callable[
    ["Selection", "Selection", Mapping[str, str], float], Sequence[KernelMeaning]
]

#: The same by recorded results, for some outputs of each kernel by name in BEFORE (None: all).
KeptResultSource = Callable[
    ["Selection", "Selection", Mapping[str, str], Mapping[str, AbstractSet[str] | None], float],
    Sequence[KernelMeaning],
]

#: Compares results of launches, given pairs of kernels, and the kernels of AFTER with other code.
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
        stages: Texts of kernels, by the names of their stages.
        figures: Figures of calls.
        meanings: Compares by IR whether changed kernels still compute the same.
        kept: Compares the outputs that `meanings` leave open by recorded results of launches.
        results: Finds the first launch with another result; None if no results were recorded.
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
