"""Findings as dataclasses, which `reading.py` creates and all outputs use."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from kvtrace.schema.layout import OBSERVED
from kvtrace.text import plural

VERDICTS: Final = ("violation", "unknown", "proven")
SEVERITIES: Final = ("error", "warning", "note")
#: Severities of defects. An error makes a command fail, a warning only with `strict`.
DEFECTS: Final = ("error", "warning")
#: What verdicts count as, in the order of all outputs: a violation as its severity.
COUNTED: Final = (*SEVERITIES, "unknown", "suppressed", "proven")
#: Number of source lines that are shown before and after a finding's line.
CONTEXT: Final = 1
#: The rule of notes on comments that suppress nothing; the sanitizer does not have it.
UNUSED_IGNORE: Final = "unused-ignore"


#: The method of findings whose second location made the memory that they are about.
FOLLOWED: Final = "followed"
#: The end of a verdict on some contents of a call's tensors, with the launches that had them.
OF_CONTENTS: Final = re.compile(
    r" \[for the contents of launch[^\]]*?([\d,]+) of ([\d,]+) launches\]"
)


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of a source stack; lines and columns count from 1."""

    file: str | None
    line: int | None
    column: int | None
    function: str | None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the program that a kernel was generated from, with its module and line."""

    op: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict of one rule on one access of a unique call.

    `file`, `line` and `column` are those of the innermost frame of `stack`, or of the kernel's
    definition without a stack. `program`, `iteration`, `lane`, `address_offset` (bytes from the
    data pointer) and `past_end_bytes` (negative: before the start) describe the witness,
    `other_program` and `other_stack` the second access of a race; `lanes` counts those that violate
    the rule. `calls` and `launches` count, over all runs, the unique calls with an equal finding
    and their launches. `invocation` is the call as source text, `launched_at` the frame of its
    first launch. A finding is `suppressed` if a comment in the source says that it is intended,
    with `suppress_reason`. `generated` means that Inductor wrote the kernel, from `operators`.
    Findings that one change would fix have the same `cause` (causes.py).
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
    def counts_as(self) -> str:
        """The name in `COUNTED` that the finding is counted and labeled by."""
        return counted_as(self.verdict, self.severity, suppressed=self.suppressed)

    @property
    def is_of_some_launches(self) -> bool:
        """Other launches of the call may lack the finding: it is of some recorded contents."""
        of_contents = OF_CONTENTS.search(self.message or "")
        if of_contents is not None:
            return of_contents[1] != of_contents[2]
        return self.method in (OBSERVED, FOLLOWED)

    @property
    def is_defect(self) -> bool:
        """The finding is an error or a warning that no comment suppresses."""
        return self.counts_as in DEFECTS

    @property
    def is_of_unjudged_call(self) -> bool:
        """No access of the call could be judged: an unknown that is about no access."""
        details = (self.access, self.arg, self.method, self.expression)
        return (
            self.verdict == "unknown"
            and not self.suppressed
            and not self.stack
            and all(detail is None for detail in details)
        )

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether the finding makes a command fail; `strict`: warnings and unknowns, too."""
        return not self.suppressed and is_failing(self.verdict, self.severity, strict=strict)


@dataclass(frozen=True, slots=True)
class RuleText:
    """Severity, summary and hint of a rule, as recorded by the pass that judged by the rule."""

    severity: str = "error"
    summary: str = ""
    hint: str = ""
    #: Page of the documentation that describes the rule; empty if docs/rules has a page for it.
    page: str = ""
    #: The code in which a violation is expected, and only noted; empty if the rule is no lint.
    lint: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of rows of `findings` of one kernel variant with equal rule and verdict."""

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
        """The name in `COUNTED` that the rows are counted by."""
        return counted_as(self.verdict, self.severity, suppressed=self.suppressed)


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings ordered by severity and location, and counts of all verdicts.

    `listed` has proven accesses only if requested. `analyzed`: the pass `sanitizer` has judged all
    calls of every run but those `left_out`; if not, findings may be of some calls alone, or of the
    recording. `reasons` counts unknown verdicts by reason. `rules` has the passes' rules by id.
    `lines` has recorded source lines around the locations of `listed`, by file and line. `named`
    are rules that the user requested by name. `left_out` has a sentence on each run of which
    nothing can be judged; its kernels are *unknown*. `not_evaluated` has a sentence on each call
    whose evaluation failed, and on each load that the compiler removed.
    `calls` counts the unique calls of the runs, `others` executions of other kernels by library.
    `unrecorded` has the named rules without a verdict for which something has to be recorded, each
    with a sentence on it.
    """

    listed: tuple[Finding, ...] = ()
    tallies: tuple[Tally, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    analyzed: bool = False
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    lines: Mapping[tuple[str, int], str] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    not_evaluated: tuple[str, ...] = ()
    calls: int = 0
    unrecorded: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Counts of verdicts by kernel name, and by the names in `COUNTED`."""
        counts: dict[str, dict[str, int]] = {}
        for tally in self.tallies:
            sums = counts.setdefault(tally.kernel, dict.fromkeys(COUNTED, 0))
            sums[tally.counts_as] += tally.count
        return dict(sorted(counts.items()))

    @property
    def total(self) -> Counter[str]:
        """Counts of verdicts over all kernels, by the names in `COUNTED`."""
        total = Counter(dict.fromkeys(COUNTED, 0))
        for tally in self.tallies:
            total[tally.counts_as] += tally.count
        return total

    @property
    def judges_nothing(self) -> bool:
        """There are calls, and none of them could be judged."""
        of_calls = [f for f in self.listed if not f.suppressed and f.method != "source"]
        return (
            bool(of_calls)
            and not self.total["proven"]
            and all(f.is_of_unjudged_call for f in of_calls)
        )

    @property
    def nothing_judged(self) -> str | None:
        """The reason in a sentence if no call of the runs was judged; else None."""
        if not self.calls and self.others:
            return f"nothing was judged: no launch of Triton's, but {others_text(self.others)}"
        if not self.calls:
            return "nothing was judged: no kernel was launched while this trace was recorded"
        if self.judges_nothing and self.left_out and len(self.reasons) == 1:
            return self.left_out[0]
        if self.judges_nothing:
            reason = next(iter(self.reasons), "no reason was recorded")
            return f"nothing was judged of {plural(self.calls, 'unique call')}: {reason}"
        if self.tallies:
            return None
        # There is no verdict: calls failed, or had nothing for the rules, or too little recorded.
        if len(self.not_evaluated) >= self.calls:
            return f"nothing was judged: {self.not_evaluated[0]}"
        names = " and ".join(sorted(self.named)) or "the chosen rules"
        text = f"nothing was judged: {plural(self.calls, 'unique call')} had nothing for {names}"
        if self.unrecorded:
            return f"{text}; {'; '.join(dict.fromkeys(self.unrecorded.values()))}"
        return text if self.rules else f"{text}, or what is needed was not recorded"

    @property
    def rules_without_data(self) -> tuple[str, ...]:
        """Sentences on rules that judged nothing, where others did, because of missing data."""
        if self.nothing_judged:
            return ()
        return tuple(
            f"nothing was judged by {rule}: {needs}" for rule, needs in self.unrecorded.items()
        )

    def failures(self, *, strict: bool = False) -> int:
        """Return the number of errors; with `strict`, of all that is not proven to be safe, too."""
        return (len(self.unrecorded) if strict else 0) + sum(
            tally.count
            for tally in self.tallies
            if not tally.suppressed and is_failing(tally.verdict, tally.severity, strict=strict)
        )


def others_text(executions: Mapping[str, int]) -> str:
    """Return the number of executions of kernels that no recorded launch made, by library."""
    by_library = ", ".join(f"{name} {number:,}" for name, number in executions.items())
    count = plural(sum(executions.values()), "execution")
    return f"{count} of other kernels ({by_library})"


def is_failing(verdict: str, severity: str | None, *, strict: bool) -> bool:
    """Return whether a verdict that is not suppressed makes a command fail."""
    if verdict == "violation":
        return severity == "error" or (strict and severity in DEFECTS)
    return strict and verdict == "unknown"


def counted_as(verdict: str, severity: str | None, *, suppressed: bool) -> str:
    """Return the name in `COUNTED` that a verdict is counted by.

    Verdicts and severities that only newer versions know count as unknown and as notes; a violation
    without a severity, as another tool's, is an error.
    """
    if suppressed:
        return "suppressed"
    if verdict == "violation":
        if severity is None:
            return "error"
        return severity if severity in SEVERITIES else "note"
    return "proven" if verdict == "proven" else "unknown"


def findings_object(findings: Findings) -> dict[str, Any]:
    """Return counts, verdicts, and what was not judged, as a JSON-ready dict."""
    unjudged: list[dict[str, Any]] = [
        {"kernel": finding.kernel, "calls": finding.calls, "reason": finding.reason}
        for finding in findings.listed
        if finding.is_of_unjudged_call
    ]
    sentences = dict.fromkeys(
        (*findings.left_out, *findings.not_evaluated, *findings.rules_without_data)
    )
    if findings.nothing_judged:
        sentences[findings.nothing_judged] = None
    sentences |= {f"not judged: {others_text({k: n})}": None for k, n in findings.others.items()}
    unjudged += [{"kernel": None, "calls": None, "reason": sentence} for sentence in sentences]
    return {
        "counts": dict(findings.total),
        "verdicts": finding_objects(findings.listed),
        "unjudged": unjudged,
    }


def finding_objects(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return findings as JSON-ready dicts with all fields of `Finding`, None if not set."""
    return [asdict(finding) for finding in findings]


def without_proven(findings: Findings) -> Findings:
    """Return the findings without proven ones in `listed`; the counts do not change."""
    return replace(findings, listed=tuple(f for f in findings.listed if f.verdict != "proven"))


def of_chosen(findings: Findings, calls: Mapping[str, int]) -> Findings:
    """Return the findings of chosen kernels, with their counts; `calls` has their unique calls.

    Executions of other kernels are left out; what is about whole runs stays.
    """
    reasons: Counter[str] = Counter()
    listed = tuple(f for f in findings.listed if f.kernel in calls)
    for f in listed:
        if f.verdict == "unknown" and not f.suppressed:
            reasons[f.reason or "no reason was given"] += f.calls
    return replace(
        findings, listed=listed, calls=sum(calls.values()), others={},
        tallies=tuple(tally for tally in findings.tallies if tally.kernel in calls),
        reasons=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        not_evaluated=tuple(t for t in findings.not_evaluated if any(name in t for name in calls)),
    )  # fmt: skip


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings sorted by verdict, severity and location; suppressed ones come last."""
    return tuple(sorted(findings, key=_order))


def grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return groups of findings with equal location, rule, verdict and access, in order."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for f in findings:
        reason = f.reason if f.file is None else None
        place = (f.kernel, f.file, f.line, f.column, f.stack[1:])
        made_at = f.other_stack[:1] if f.method == FOLLOWED else ()
        key = (*place, f.rule, f.verdict, f.access, f.arg, f.suppressed, reason, made_at)
        groups.setdefault(key, []).append(f)
    return list(groups.values())


def _order(finding: Finding) -> tuple[bool, bool, bool, int, int, str, int, str, str]:
    return (
        finding.suppressed,
        finding.verdict == "proven",
        finding.verdict == "violation" and finding.severity == "note",
        _rank(VERDICTS, finding.verdict),
        _rank(SEVERITIES, finding.severity),
        finding.file or "",
        finding.line or 0,
        finding.kernel,
        finding.finding_id,
    )


def _rank(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)
