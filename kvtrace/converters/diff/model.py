"""The difference of two selections of runs, as plain data that every renderer prints."""

from dataclasses import dataclass
from typing import Literal

from kvtrace.converters.findings import Finding
from kvtrace.converters.specialization import Change

Status = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Measured and derived sums over launches; None where a side does not know.

    Launches of autotuners and warm-ups are counted apart: how many there are depends on timing. So
    are those in which the kernel was compiled or loaded: their time is `compiling_ns`, and the
    host's other times are of all others.
    """

    launches: int = 0
    tuning_launches: int = 0
    host_ns: int | None = None
    host_median_ns: float | None = None
    compiling_launches: int = 0
    compiling_ns: int | None = None
    device_ns: int | None = None
    device_median_ns: float | None = None
    compile_ns: int | None = None
    bytes: int | None = None
    flops: int | None = None


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """Unified difference of a kernel's own source text.

    `whole` has all lines, those that both sides have too, each after its mark (space, - or +);
    `first_lines` are the numbers of both texts' first lines in their files.
    """

    lines: tuple[str, ...]
    removed: int
    added: int
    whole: tuple[str, ...] = ()
    first_lines: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """The first compiler stage whose text differs, locations and value names left aside.

    `substitutions` are numbers that stand for each other all through, as block sizes do, and
    `substituted_lines` counts the lines that differ in nothing else. `lines` is the unified
    difference without those lines, which `removed` and `added` count; `all_lines` has them too, and
    `whole` also every line that both sides have.
    """

    stage: str
    lines: tuple[str, ...]
    all_lines: tuple[str, ...]
    removed: int
    added: int
    substitutions: tuple[tuple[str, str], ...]
    substituted_lines: int
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallChange:
    """A fact of calls that differs, and in how many distinct calls it does so alike."""

    change: Change
    calls: int


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A compiled variant that is new, gone or changed.

    Of a new or gone one, `changes` says how it differs from the variant nearest to it on the other
    side, if the kernel has one there. `calls` are the changes of distinct calls that correspond;
    `calls_unread` more of those differ and were not looked at one by one.
    """

    status: Status
    label: str
    changes: tuple[Change, ...] = ()
    code: CodeDifference | None = None
    resources: tuple[Change, ...] = ()
    calls: tuple[CallChange, ...] = ()
    calls_unread: int = 0
    calls_added: int = 0
    calls_removed: int = 0
    work: tuple[Change, ...] = ()
    times: tuple[Change, ...] = ()
    before: Totals | None = None
    after: Totals | None = None


@dataclass(frozen=True, slots=True)
class KernelDifference:
    """A kernel that is new, gone or changed."""

    status: Status
    name: str
    module: str | None
    file: str | None
    line: int | None
    changes: tuple[Change, ...] = ()
    source: SourceDifference | None = None
    variants: tuple[VariantDifference, ...] = ()
    before: Totals | None = None
    after: Totals | None = None


@dataclass(frozen=True, slots=True)
class FindingDifference:
    """A finding that only one side has."""

    status: Literal["new", "gone"]
    finding: Finding


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel's times on both sides, which are shown but are no difference by themselves."""

    name: str
    before: Totals
    after: Totals


@dataclass(frozen=True, slots=True)
class Side:
    """What one side is: where it was read and what it holds."""

    label: str
    runs: tuple[str, ...]
    commit: str | None
    kernels: int
    totals: Totals


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two sides.

    `context` (versions, machine, settings) and `notes` inform and are no difference; `times` are
    the measured times of every kernel that both sides launched.
    """

    before: Side
    after: Side
    kernels: tuple[KernelDifference, ...] = ()
    same_kernels: int = 0
    findings: tuple[FindingDifference, ...] = ()
    context: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    times: tuple[KernelTime, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the sides are the same but for times, ids, addresses and context."""
        return not self.kernels and not self.findings
