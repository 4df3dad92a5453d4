"""Causes of findings: findings that one change would fix are grouped and reported once.

The cause of a violation is its rule and its location in the program's source. In a kernel that
Inductor generated, the location is the address expression (without sizes) and the lines of the
program behind the kernel. All copies that Inductor makes of a user's kernel share a cause. Unknown
verdicts share a cause if their reasons are equal but for numbers.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.converters.findings.model import FOLLOWED, Finding, Findings, Operator, RuleText
from kvtrace.converters.profile.call_paths import fused_operators

#: Lint rules of old traces, whose passes did not record which rules are lints. A lint changes no
#: result and is expected in generated code: Inductor writes one kernel for several cases, and masks
#: off the cases that do not apply to a call.
_LINTS_BEFORE: Final = frozenset({"mask-always-false", "mask-always-true"})

#: Inductor's names of arguments, sizes and values, numbered in each kernel.
_NUMBERED: Final = re.compile(r"\b(in_out_ptr|in_ptr|out_ptr|tmp|ks|[xyzr])\d+\b")
_NUMBER: Final = re.compile(r"\b\d[\d,]*\b")
#: Suffix that Inductor adds to the name of a kernel of the program that it copies.
_COPY: Final = re.compile(r"_\d+$")
#: Names of the kernels that Inductor writes itself, and of the files that it puts kernels into.
_GENERATED: Final = re.compile(r"triton_[a-z]{3}_\w+")
_CACHE: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")


def is_of_inductor(kernel: Mapping[str, Any]) -> bool:
    """Return whether Inductor launches a kernel, by origin or file of its row in `kernels`."""
    origin = kernel.get("origin")
    return origin == "inductor" or (
        origin is None and _CACHE.search(kernel.get("file") or "") is not None
    )


def is_generated(kernel: Mapping[str, Any]) -> bool:
    """Return whether Inductor wrote a kernel's code, rather than copying a user's kernel."""
    return is_of_inductor(kernel) and _GENERATED.fullmatch(kernel.get("name") or "") is not None


def operators_of(kernel: Mapping[str, Any]) -> tuple[Operator, ...]:
    """Return the operators that a kernel was generated from, by its row in `kernels`.

    If operators were not recorded, these are the nodes of the graph, or the operators in the
    kernel's name.
    """
    origins = kernel.get("origins") or ()
    recorded = dict.fromkeys(
        Operator(origin["op"], origin["module"], origin["file"], origin["line"], origin["code"])
        for origin in origins
        if origin["op"]
    )
    nodes = dict.fromkeys(_COPY.sub("", origin["node"]) for origin in origins if origin["node"])
    named_operators = () if recorded else nodes or fused_operators(kernel.get("name") or "")
    return (*recorded, *map(Operator, named_operators))


def source_operators(finding: Finding) -> dict[tuple[str, int] | None, list[Operator]]:
    """Return the operators behind a generated kernel, by file and line of the program.

    Operators without a recorded line (Inductor took the code from its cache) come last, under the
    line that launched the kernel (None if unknown). {} for other kernels.
    """
    launch_frame = finding.launched_at
    launch_line = (
        None
        if launch_frame is None or launch_frame.file is None
        else (launch_frame.file, launch_frame.line or 0)
    )
    operators_by_line: dict[tuple[str, int] | None, list[Operator]] = {}
    for operator in sorted(finding.operators, key=lambda operator: operator.file is None):
        line = launch_line if operator.file is None else (operator.file, operator.line or 0)
        operators_by_line.setdefault(line, []).append(operator)
    return operators_by_line or ({launch_line: []} if finding.generated else {})


def cause_of(finding: Finding, definition: int | None = None) -> str:
    """Return the id of a finding's cause, which is the same in every run.

    `definition` is the line of the kernel's definition in Inductor's copy, for copied kernels.
    """
    is_unknown = finding.verdict == "unknown"
    key = _unknown_key(finding) if is_unknown else _violation_key(finding, definition)
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _unknown_key(finding: Finding) -> tuple[Any, ...]:
    """Return a key of the verdict's reason and assumption, which are the same for all locations."""
    texts = [_without_numbers(text) or "" for text in (finding.reason, finding.assumption)]
    if finding.generated:
        texts = [_NUMBERED.sub(r"\1", text) for text in texts]
    return (finding.verdict, *texts)


def _violation_key(finding: Finding, definition: int | None) -> tuple[Any, ...]:
    kind = finding.rule, finding.verdict, finding.access
    if finding.generated:
        sources = sorted(
            (line or ("", 0), sorted({operator.op for operator in operators}))
            for line, operators in source_operators(finding).items()
        )
        return (*kind, _without_numbers(finding.expression) or finding.arg, sources)
    if finding.file is None:
        return (*kind, finding.arg, finding.kernel, finding.reason)
    if definition is not None:
        frames = [((f.line or 0) - definition, f.column, f.function) for f in finding.stack]
        names = [(*frame[:2], _COPY.sub("", frame[2] or "")) for frame in frames]
        return (*kind, finding.arg, _COPY.sub("", finding.kernel), names)
    place = finding.file, finding.line, finding.column, finding.stack[1:]
    if finding.method == FOLLOWED:  # each line that made memory nobody wrote is a cause of its own
        return (*kind, finding.arg, *place, finding.other_stack[:1])
    return (*kind, finding.arg, *place)


def _without_numbers(text: str | None) -> str | None:
    return None if text is None else _NUMBER.sub("#", text)


@dataclass(frozen=True, slots=True)
class GroupedFindings:
    """Findings in groups with one cause each, and lints separately.

    `lints` are violations of lint rules in generated code, without rules that the user named.
    """

    groups: tuple[tuple[Finding, ...], ...]
    lints: tuple[Finding, ...]

    def lint_lines(self) -> Iterator[str]:
        """Yield a line with the number of lints by rule; nothing without lints."""
        counts: dict[str, int] = {}
        for finding in self.lints:
            counts[finding.rule] = counts.get(finding.rule, 0) + finding.calls
        if counts:
            sums = ", ".join(f"{count:,} {rule}" for rule, count in counts.items())
            pronoun = "it" if sum(counts.values()) == 1 else "them"
            yield f"{sums} in generated code (Inductor); --rule {','.join(counts)} lists {pronoun}"


def by_cause(findings: Findings) -> GroupedFindings:
    """Return the listed findings grouped by cause, in the order of their first findings."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    lints = []
    for finding in findings.listed:
        if is_lint(finding, findings.rules) and finding.rule not in findings.named:
            lints.append(finding)
        else:
            cause = finding.cause or finding.finding_id
            groups.setdefault((cause, finding.suppressed), []).append(finding)
    return GroupedFindings(tuple(map(tuple, groups.values())), tuple(lints))


def is_lint(finding: Finding, rules: Mapping[str, RuleText]) -> bool:
    """Return whether a finding is a violation of a lint rule in code that Inductor generated."""
    is_violation = finding.verdict == "violation" and finding.generated
    return is_violation and is_lint_rule(finding.rule, rules)


def is_lint_rule(rule: str, rules: Mapping[str, RuleText]) -> bool:
    """Return whether a rule is a lint, by the passes' descriptions (`rules`)."""
    return rule in _LINTS_BEFORE or (rule in rules and rules[rule].lint != "")
