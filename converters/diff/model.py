"""The difference of two selections of runs, as plain data that every renderer prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kvtrace.converters.findings import Finding
from kvtrace.converters.profile.specialization import Change

Status = Literal["added", "removed", "changed"]
Word = Literal["yes", "no", "not known"]
Direction = Literal["worse", "better", "changed"]
#: How sure a change is: timed, worked out from IR and arguments, or read off what both sides are.
Certainty = Literal["measured", "derived", "exact"]


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
    sectors: int | None = None
    lanes: int | None = None
    lanes_on: int | None = None
    #: Figures that no code names, those of add-ons among them (`further.py`), by name.
    further: Mapping[str, float] | None = None

    @property
    def lanes_share(self) -> float | None:
        """Share of the lanes of memory accesses that no mask turned off."""
        return self.lanes_on / self.lanes if self.lanes and self.lanes_on is not None else None


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

    `substitutions` are numbers that replace each other all through, as block sizes do, and
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
class CountChange:
    """How often something is there: an op, or a class of instructions."""

    what: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class StageDifference:
    """A compiler stage that differs, by what is in it.

    `counts` are ops (or classes of instructions) of which there are more or fewer; `moved` are ops
    that are elsewhere, as outside of a loop, and `altered` those with other types or attributes,
    each with how many. `artifacts` are the hashes of both texts.
    """

    stage: str
    counts: tuple[CountChange, ...] = ()
    moved: tuple[tuple[str, int], ...] = ()
    altered: tuple[tuple[str, int], ...] = ()
    artifacts: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number on both sides, which differs.

    `unit` is count, bytes, ns or share. `worse` says which way is worse, where one is.
    """

    name: str
    unit: str
    before: float
    after: float
    certainty: Certainty
    worse: Literal["more", "less"] | None = None

    @property
    def share(self) -> float | None:
        """By what share of BEFORE it changed; None where that is zero."""
        return self.after / self.before - 1 if self.before else None

    @property
    def direction(self) -> Direction:
        """Whether it became worse or better, where one can say."""
        if self.worse is None:
            return "changed"
        return "worse" if (self.after > self.before) == (self.worse == "more") else "better"


@dataclass(frozen=True, slots=True)
class TimeComparison:
    """Medians of a kernel's times on both sides, and what they allow to say.

    `ratio` is AFTER's median by BEFORE's, and `interval` that of its bootstrap; None where they
    cannot be compared, for `reason`. `claimed`: the interval excludes 1 and the ratio is beyond the
    threshold. `alone`: both sides are one process.
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


@dataclass(frozen=True, slots=True)
class CallChange:
    """A fact of calls that differs, and in how many unique calls it does so alike."""

    change: Change
    calls: int


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A compiled variant that is new, gone or changed.

    Of a new or gone one, `changes` says how it differs from the variant nearest to it on the other
    side, if the kernel has one there. `calls` are the changes of unique calls that correspond;
    `calls_unread` more of those differ and were not read one by one.
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

    `renamed_from` is its name in BEFORE where that is another one; `similarity`, between 0 and 1,
    is that of source and IR by which it was found. `figures` are sums over all its launches.
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
        """Whether its source, its variants, their options or any stage of them differ."""
        return self.source is not None or any(
            variant.status != "changed" or variant.changes or variant.code or variant.stages
            for variant in self.variants
        )


@dataclass(frozen=True, slots=True)
class BoundChange:
    """A condition for all sizes that differs: where a quantity ends, or when an access is inside.

    `before` and `after` are the first bad values, None where there is none; or, of an access, its
    condition as text.
    """

    kernel: str
    what: str
    before: int | str | None
    after: int | str | None
    direction: Direction
    text: str = ""


@dataclass(frozen=True, slots=True)
class LaunchChange:
    """How often a kernel is launched under a mark of the user, where that differs."""

    mark: str
    kernel: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class KernelMeaning:
    """What is known of an output of a changed kernel: whether it means the same as before.

    `answer` is a word for programs, `text` the answer with its reason or witness. `same` says
    whether a user gets the same results, and `evidence` why, in half a line. No `output` is the
    whole kernel. `by_data`: it was concluded from recorded results, and holds for their inputs.
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

    `evidence` is half a line; `settle` says what would answer what is not known.
    """

    question: str
    word: Word
    evidence: str
    settle: str = ""


@dataclass(frozen=True, slots=True)
class DifferentResult:
    """The first launch of which two sides have other results.

    Attributes:
        kernel: its name.
        file: where it is defined.
        line: the line there.
        order: which launch of the kernel it is; from 1.
        launches: its numbers in `launches.seq`, before and after.
        outputs: the arguments whose memory differs after it.
        inputs: whether what it read was equal on both sides; None: not known of all.
        sampled: one line in so many of an input was compared; 1: all of them.
        inputs_differing: the arguments whose memory differed before it.
        causes: what in the kernel depends on the order of programs, where its inputs were equal.
        why: all of it as text.
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


@dataclass(frozen=True, slots=True)
class Results:
    """What launches made, compared by digests (KVTRACE_CHECK=digest).

    Attributes:
        compared: launches of both sides that were paired, by kernel and order, and are alike.
        unpaired: launches with digests that the other side has no partner for, or an unlike one.
        differing: launches whose outputs differ.
        first: the first one of these, as BEFORE launched them.
        unlike: kernels that had arguments of other shapes in all launches, as another batch size
            gives them, and may sum in another order for that; each as text.
    """

    compared: int
    unpaired: tuple[int, int]
    differing: int
    first: DifferentResult | None
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadlineRow:
    """One line of the headline.

    `level` is where it was seen: kernel, source, options, a stage, resources, work, launches, time,
    findings, results or bounds. `share` is by how much of BEFORE it changed (0.1 is 10 % more),
    where it is a number, and `interval` that share's, where it was measured.
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
    """A kernel's times on both sides, which are shown but are not a difference by themselves."""

    name: str
    before: Totals
    after: Totals
    compared: tuple[TimeComparison, ...] = ()
    module: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """What one side is: where it was read and what it holds.

    `judged_by` are the rules that all its runs were judged by; None: it was not judged.
    """

    label: str
    runs: tuple[str, ...]
    commit: str | None
    kernels: int
    totals: Totals
    judged_by: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two sides.

    `findings` are compared where both sides were judged, of the rules that both were judged by.
    `still` are those that both have. `context` (versions, machine, settings) and `notes` inform and
    are not a difference; `times` are the measured times of every kernel that both sides launched.
    `bounds` are conditions for all sizes; they were judged if `bounds_unjudged` is empty, which
    else says why not. `results` are there where both sides have digests; `meanings` are those of
    changed kernels, None where they were not asked for. `answers` say whether it may be merged.
    """

    before: Side
    after: Side
    kernels: tuple[KernelDifference, ...] = ()
    same_kernels: int = 0
    findings: tuple[FindingDifference, ...] = ()
    context: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    times: tuple[KernelTime, ...] = ()
    still: tuple[Finding, ...] = ()
    bounds: tuple[BoundChange, ...] = ()
    bounds_unjudged: str = "not compared (add --generic)"
    launches: tuple[LaunchChange, ...] = ()
    headline: tuple[HeadlineRow, ...] = ()
    results: Results | None = None
    meanings: tuple[KernelMeaning, ...] | None = None
    answers: tuple[Answer, ...] = ()

    def stops_merge(self, *, strict: bool = False) -> bool:
        """Return whether *Merge?* is no; with `strict`, whether it is anything but yes."""
        word = self.answers[-1].word
        return word == "no" or (strict and word == "not known")

    @property
    def empty(self) -> bool:
        """Whether the sides are the same except for times, ids, addresses and context."""
        narrower = any(bound.direction == "worse" for bound in self.bounds)
        other = self.results is not None and self.results.differing > 0
        return not (self.kernels or self.findings or narrower or other)
