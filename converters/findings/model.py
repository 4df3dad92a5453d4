"""Findings as plain data: what the reader makes and every output prints."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

VERDICTS: Final = ("violation", "unknown", "proven")
SEVERITIES: Final = ("error", "warning", "note")
#: Violations of these severities are defects: they are shown as such, and the first makes a command
#: fail by itself.
DEFECTS: Final = ("error", "warning")
#: Source lines that are shown before and after a place.
CONTEXT: Final = 1
#: The rule of comments that suppress nothing; it is not a rule of the sanitizer's.
UNUSED_IGNORE: Final = "unused-ignore"


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of a source stack; lines and columns count from 1."""

    file: str | None
    line: int | None
    column: int | None
    function: str | None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the program that a kernel was generated from, and the line it is in."""

    op: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on one access of one unique call, or a defect.

    `file`, `line` and `column` are those of the innermost frame of `stack`, and those of the
    kernel's definition where there is no stack. `program`, `iteration`, `lane`, `address_offset`
    and `past_end_bytes` are the witness's; `other_program` and `other_stack` the second side of a
    race. `calls` and `launches` count the unique calls, over all runs, that have this same
    finding, and their launches. `invocation` is the call as it would be written, `launched_at`
    where its first launch was. `suppressed`: a comment in the source says that it is intended, for
    `suppress_reason`. `generated`: Inductor wrote the kernel, from `operators`. `cause` is the same
    for findings that one change would end (causes.py).
    """

    finding_id: str
    rule: str
    verdict: str
    severity: str
    kernel: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    access: str | None = None
    arg: str | None = None
    tensor: str | None = None
    program: tuple[int, int, int] | None = None
    iteration: int | None = None
    lane: tuple[int, ...] | None = None
    address_offset: int | None = None
    past_end_bytes: int | None = None
    lanes: int | None = None
    expression: str | None = None
    method: str | None = None
    reason: str | None = None
    message: str | None = None
    other_program: tuple[int, int, int] | None = None
    nearest: str | None = None
    assumption: str | None = None
    hint: str | None = None
    suppressed: bool = False
    suppress_reason: str | None = None
    run: str | None = None
    call: int | None = None
    grid: tuple[int, int, int] | None = None
    calls: int = 1
    launches: int = 0
    invocation: str | None = None
    launched_at: StackFrame | None = None
    source: str | None = None
    stack: tuple[StackFrame, ...] = ()
    other_stack: tuple[StackFrame, ...] = ()
    generated: bool = False
    operators: tuple[Operator, ...] = ()
    cause: str = ""

    @property
    def is_defect(self) -> bool:
        """Whether it is an error or a warning that no comment suppresses."""
        return self.verdict == "violation" and self.severity in DEFECTS and not self.suppressed

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it makes a command fail; `strict`: warnings and what is unknown do, too."""
        return not self.suppressed and is_failing(self.verdict, self.severity, strict=strict)


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule is about, as the pass that judged by it has said."""

    severity: str = "error"
    summary: str = ""
    hint: str = ""
    #: Where the documentation has it; empty for a separate page among the rules.
    page: str = ""
    #: In what code a violation is nothing that anybody can act on; empty: in none.
    lint: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows of `findings` say the same of one kernel variant."""

    run: str
    kernel_id: int | None
    kernel: str
    rule: str | None
    verdict: str
    severity: str | None
    suppressed: bool
    count: int

    @property
    def counts_as(self) -> str:
        """The verdict, or "suppressed"."""
        return "suppressed" if self.suppressed else self.verdict


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings in order of severity and place, and the count of verdicts.

    `proven` ones are in `listed` only when they were asked for. `analysed` says whether the pass
    `sanitizer` has analyzed every run; without it there may be findings of the recording itself.
    `reasons` counts why verdicts are unknown. `rules` are those that the runs were judged by, as
    far as the pass has said it. `lines` are the recorded source lines around what is listed, by
    file and line. `named` are rules that were asked for by their own name.
    """

    listed: tuple[Finding, ...] = ()
    tallies: tuple[Tally, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    analysed: bool = False
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    lines: Mapping[tuple[str, int], str] = field(default_factory=dict)
    named: frozenset[str] = frozenset()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Verdicts for each kernel's name, suppressed ones apart."""
        counts: dict[str, dict[str, int]] = {}
        for tally in self.tallies:
            sums = counts.setdefault(tally.kernel, dict.fromkeys((*VERDICTS, "suppressed"), 0))
            sums[tally.counts_as] = sums.get(tally.counts_as, 0) + tally.count
        return dict(sorted(counts.items()))

    @property
    def total(self) -> Counter[str]:
        """Verdicts over all kernels, suppressed ones apart."""
        total: Counter[str] = Counter()
        for tally in self.tallies:
            total[tally.counts_as] += tally.count
        return total

    @property
    def violations(self) -> int:
        """How many rows are violations that are not suppressed, over all calls."""
        return self.total["violation"]

    def failures(self, *, strict: bool = False) -> int:
        """How many rows make a command fail: errors; `strict`: warnings and unknown ones, too."""
        return sum(
            tally.count
            for tally in self.tallies
            if not tally.suppressed and is_failing(tally.verdict, tally.severity, strict=strict)
        )


def is_failing(verdict: str, severity: str | None, *, strict: bool) -> bool:
    """Whether a verdict makes a command fail, where no comment suppresses it."""
    if verdict == "violation":
        return severity == "error" or (strict and severity in DEFECTS)
    return strict and verdict == "unknown"


def finding_objects(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return the JSON form: a list of objects, one for each finding.

    Every object has all fields of `Finding`; what does not apply is null.
    """
    return [asdict(found) for found in findings]


def without_proven(findings: Findings) -> Findings:
    """Leave what is proven out of the list; it stays counted."""
    return replace(
        findings, listed=tuple(found for found in findings.listed if found.verdict != "proven")
    )


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort: what fails first, what is suppressed last, then by severity and place."""
    return tuple(sorted(findings, key=_order))


def grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Put findings together that tell the same of the same place, in several unique calls."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for f in findings:
        reason = f.reason if f.file is None else None
        place = (f.kernel, f.file, f.line, f.column, f.stack[1:])
        key = (*place, f.rule, f.verdict, f.access, f.arg, f.suppressed, reason)
        groups.setdefault(key, []).append(f)
    return list(groups.values())


def _order(found: Finding) -> tuple[bool, bool, bool, int, int, str, int, str, str]:
    return (
        found.suppressed,
        found.verdict == "proven",
        found.verdict == "violation" and found.severity == "note",
        _rank(VERDICTS, found.verdict),
        _rank(SEVERITIES, found.severity),
        found.file or "",
        found.line or 0,
        found.kernel,
        found.finding_id,
    )


def _rank(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
