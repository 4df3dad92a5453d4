"""Records of the difference between two selections of runs, the input of all output forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kvtrace.converters.findings import Finding
from kvtrace.converters.profile.recompiles import Change

Status = Literal["added", "removed", "changed"]
Word = Literal["yes", "no", "not known"]
Direction = Literal["worse", "better", "changed"]
#: Basis of a change: timed, derived from IR and arguments, or read exactly on both sides.
Certainty = Literal["measured", "derived", "exact"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Measured and derived sums over launches; None where unknown.

    Launches of autotuners and warm-ups are only in `tuning_launches`, since their number depends on
    timing. The time of launches in which the kernel was compiled or loaded is only in
    `compiling_ns`.
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
    sectors: int | None = None
    lanes: int | None = None
    lanes_on: int | None = None
    #: Additional figures by name, including those of add-ons (`figures.py`).
    further: Mapping[str, float] | None = None

    @property
    def lanes_share(self) -> float | None:
        """Share of the lanes of memory accesses that no mask turned off."""
        return self.lanes_on / self.lanes if self.lanes and self.lanes_on is not None else None


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """Unified difference of a kernel's own source text.

    `whole` has all lines of both sides, each after its mark (space, - or +); `first_lines` are the
    line numbers of both texts' first lines in their files.
    """

    lines: tuple[str, ...]
    removed: int
    added: int
    whole: tuple[str, ...] = ()
    first_lines: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """The first compiler stage whose text differs, apart from locations and value names.

    `substitutions` are numbers that are replaced throughout the text, such as block sizes, and
    `substituted_lines` counts the lines that differ only in them. `lines` is the unified difference
    without these lines, and `removed` and `added` count its lines. `all_lines` includes substituted
    lines, and `whole` every line of both sides.
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
class CountChange:
    """The number of occurrences of an op, or of a class of instructions, on both sides."""

    what: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class StageDifference:
    """A compiler stage that differs, with the changes of its ops or instructions.

    `counts` are ops (or classes of instructions) whose number changed; `moved` counts ops by name
    that are in another region, such as outside a loop, and `altered` those with other types or
    attributes.
    """

    stage: str
    counts: tuple[CountChange, ...] = ()
    moved: tuple[tuple[str, int], ...] = ()
    altered: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that differs between both sides.

    `unit` is count, bytes, ns or share. `worse` is the worse direction, if there is one.
    """

    name: str
    unit: str
    before: float
    after: float
    certainty: Certainty
    worse: Literal["more", "less"] | None = None

    @property
    def share(self) -> float | None:
        """The change as a share of BEFORE; None if BEFORE is zero."""
        return self.after / self.before - 1 if self.before else None

    @property
    def direction(self) -> Direction:
        """The direction of the change; "changed" if neither side is worse."""
        if self.worse is None:
            return "changed"
        return "worse" if (self.after > self.before) == (self.worse == "more") else "better"


@dataclass(frozen=True, slots=True)
class TimeComparison:
    """Medians of a kernel's times on both sides, and the significance of their ratio.

    `ratio` is AFTER's median over BEFORE's, and `interval` its bootstrap interval; both are None if
    times cannot be compared, for `reason`. `claimed`: the interval excludes 1 and the ratio is
    beyond the threshold. `alone`: each side is a single process. `sampled` are the numbers of times
    that are compared, if there are too many launches to read all; it is None if all were read.
    """

    kind: Literal["device", "host"]
    before_ns: float
    after_ns: float
    launches: tuple[int, int]
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    claimed: bool = False
    reason: str | None = None
    alone: bool = False
    sampled: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class CallChange:
    """A changed fact of calls, and the number of unique calls with this change."""

    change: Change
    calls: int


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A compiled variant that is new, gone or changed.

    For a new or gone variant, `changes` are those from the most similar variant of the kernel on
    the other side, if any. `calls` are changes of corresponding unique calls; `calls_unread` counts
    further calls that differ and were not read. `artifacts` has the hashes of both texts by stage.
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
    stages: tuple[StageDifference, ...] = ()
    figures: tuple[Figure, ...] = ()
    artifacts: tuple[tuple[str, str | None, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelDifference:
    """A kernel that is new, gone or changed.

    `renamed_from` is the kernel's name in BEFORE, if it differs; `similarity`, between 0 and 1, is
    that of source and IR of a renamed kernel. `figures` are sums over all launches.
    """

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
    renamed_from: str | None = None
    similarity: float | None = None
    figures: tuple[Figure, ...] = ()

    @property
    def has_other_code(self) -> bool:
        """The source, the set of variants, their options or a compiler stage differ."""
        return self.source is not None or any(
            variant.status != "changed" or variant.changes or variant.code or variant.stages
            for variant in self.variants
        )


@dataclass(frozen=True, slots=True)
class BoundChange:
    """A condition for all sizes that differs: a bound of a quantity, or an access's condition.

    `before` and `after` are the first bad values (None: unbounded; one may be "unknown"), or an
    access's condition as text.
    """

    kernel: str
    what: str
    before: int | str | None
    after: int | str | None
    direction: Direction
    text: str = ""

    @property
    def is_condition(self) -> bool:
        """True if the condition of an access changed, rather than a bound."""
        return isinstance(self.before, str) and isinstance(self.after, str)


@dataclass(frozen=True, slots=True)
class KernelMeaning:
    """An answer to whether an output of a changed kernel has the same values as before.

    `answer` is a word for programs, `text` the answer with its reason or witness. `same` says
    whether a user gets the same results, and `evidence` is the reason in half a line. An `output`
    of None stands for the whole kernel. `by_data`: the answer comes from recorded results, and
    holds for their inputs only.
    """

    kernel: str
    output: str | None
    answer: str
    text: str
    same: Word = "not known"
    evidence: str = ""
    by_data: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one of the questions of `merge_answers.py`.

    `evidence` is a phrase with the reason; `settle` is an action that would settle a "not known".
    """

    question: str
    word: Word
    evidence: str
    settle: str = ""


@dataclass(frozen=True, slots=True)
class DifferentResult:
    """The first launch with another result on the other side.

    Attributes:
        kernel: the kernel's name, or that of an operator, as all that follows.
        file: the file with the kernel's definition; of an operator, of its call.
        line: the line of that.
        order: the launch's number among the launches of the kernel, from 1.
        launches: the launch's `launches.seq`, before and after; of an operator, of the last before.
        outputs: the arguments whose memory differs after the launch.
        inputs: whether the launch's inputs were equal on both sides; None: not known.
        sampled: n if only every n-th line of an input was compared.
        inputs_differing: the arguments whose memory differed before the launch.
        causes: ops whose result depends on the order of programs, if the inputs were equal.
        why: all of this as text.
        title: the launch in words.
    """

    kernel: str
    file: str | None
    line: int | None
    order: int
    launches: tuple[int, int]
    outputs: tuple[str, ...]
    inputs: bool | None
    sampled: int
    inputs_differing: tuple[str, ...]
    causes: tuple[str, ...]
    why: str
    title: str


@dataclass(frozen=True, slots=True)
class Results:
    """Results of launches and operators, compared by digests (KVTRACE_CHECK=digest).

    Attributes:
        compared: number of launches paired by kernel and order, with arguments of the same shapes.
        unpaired: number of launches without such a partner on the other side, per side.
        differing: number of compared launches and operators whose outputs differ.
        first: the first with different outputs, in the order of BEFORE.
        unlike: sentences on kernels whose arguments have other shapes in all launches (such as
            another batch size), so that they may sum in another order, and on operators.
        operators: number of operators compared by the hashes that DebugMode logged.
    """

    compared: int
    unpaired: tuple[int, int]
    differing: int
    first: DifferentResult | None
    unlike: tuple[str, ...] = ()
    operators: int = 0


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """One line of the headline: `what` changed in a kernel, with its values before and after.

    `level` is the kind of change: kernel, source, options, a stage, resources, work, launches,
    time, findings, results or bounds. `share` is the change of a number as a share of BEFORE (0.1
    is 10 % more), and `interval` the share's interval, if measured.
    """

    kernel: str
    level: str
    what: str
    before: str | None
    after: str | None
    share: float | None
    direction: Direction
    certainty: Certainty
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class FindingDifference:
    """A finding that only one side has."""

    status: Literal["new", "gone"]
    finding: Finding


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel's times on both sides, which are shown but do not count as a difference."""

    name: str
    before: Totals
    after: Totals
    compared: tuple[TimeComparison, ...] = ()
    module: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Executions:
    """Executions on devices: their number, the sum of their times and the median, in ns."""

    executions: int
    device_ns: int
    median_ns: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """All executions under one name on both sides; None where a side has none.

    `kind` is the maker: Triton or another origin, a library's name, copy, fill, other or tuning.
    """

    name: str
    kind: str
    before: Executions | None
    after: Executions | None

    @property
    def most_ns(self) -> int:
        """The larger one of both sides' times."""
        return max(side.device_ns for side in (self.before, self.after) if side is not None)


@dataclass(frozen=True, slots=True)
class DeviceDifference:
    """All device time by name, most first; the rows add up to `before_ns` and `after_ns`."""

    rows: tuple[DeviceWork, ...]
    before_ns: int
    after_ns: int


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a difference: its label, runs, commit and totals.

    `judged_by` are the rules by which all runs of the side were judged; None: not judged.
    `without_ir` are names of launched kernels that no rule can judge, as they have no TTIR, and
    `without_code` of those of which neither source nor code was recorded, `without_args` of those
    with a call whose arguments were not. A side is not `judgeable` if nothing of it can be judged.
    """

    label: str
    runs: tuple[str, ...]
    commit: str | None
    kernels: int
    totals: Totals
    judged_by: tuple[str, ...] | None = None
    without_ir: tuple[str, ...] = ()
    without_code: tuple[str, ...] = ()
    without_args: tuple[str, ...] = ()
    judgeable: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two sides.

    `findings` are those of one side only, and `still` those of both, by rules that judged both
    sides. `context` (versions, machine, settings), `notes` and `times` (of every kernel that ran on
    both sides) do not count as differences. `device` is all device time, if more than launched
    kernels ran. `bounds` are changed conditions for all sizes; `bounds_unjudged` is the reason if
    they were not judged, else "". `results` need digests on both sides; `meanings` are those of
    changed kernels, None if not requested. `answers` are those to "may this be merged?".
    """

    before: Side
    after: Side
    kernels: tuple[KernelDifference, ...] = ()
    same_kernels: int = 0
    findings: tuple[FindingDifference, ...] = ()
    context: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    times: tuple[KernelTime, ...] = ()
    device: DeviceDifference | None = None
    still: tuple[Finding, ...] = ()
    bounds: tuple[BoundChange, ...] = ()
    bounds_unjudged: str = "not compared (kvtrace diff --generic)"
    headline: tuple[HeadlineRow, ...] = ()
    results: Results | None = None
    meanings: tuple[KernelMeaning, ...] | None = None
    answers: tuple[Answer, ...] = ()

    def stops_merge(self, *, strict: bool = False) -> bool:
        """Return whether the answer to *Merge?* is no, or with `strict`, anything but yes."""
        word = self.answers[-1].word
        return word == "no" or (strict and word == "not known")

    @property
    def empty(self) -> bool:
        """The sides are equal except for times, ids, addresses and context."""
        narrower = any(bound.direction == "worse" for bound in self.bounds)
        other = self.results is not None and self.results.differing > 0
        return not (self.kernels or self.findings or narrower or other)
