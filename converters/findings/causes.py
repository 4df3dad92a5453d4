"""Findings by cause: those that one change would fix, reported once.

A violation's cause is its rule and where it comes from: the place in the program's source, or, in a
kernel that Inductor generated, the address up to sizes and the lines of the program behind it. A
copy that Inductor makes of a kernel of the program has one cause with every other copy. What is
unknown for the same reason, up to numbers, has one cause wherever it is.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.converters.findings.model import Finding, Findings, Operator, RuleText
from kvtrace.converters.profile.call_paths import fused_operators

#: Lints of traces that were judged before passes said which rules are lints. Generated code has
#: reasons for what they find: Inductor writes one kernel for several cases, and masks off those
#: that a call is not.
_LINTS_BEFORE: Final = frozenset({"mask-always-false", "mask-always-true"})

#: Inductor's own names, of which each kernel counts its arguments, sizes and values.
_NUMBERED: Final = re.compile(r"\b(in_out_ptr|in_ptr|out_ptr|tmp|ks|[xyzr])\d+\b")
_NUMBER: Final = re.compile(r"\b\d[\d,]*\b")
#: What Inductor puts behind the name of a kernel of the program that it copies.
_COPY: Final = re.compile(r"_\d+$")
#: Names of the kernels that Inductor writes itself, and of the files that it puts kernels into.
_GENERATED: Final = re.compile(r"triton_[a-z]{3}_\w+")
_CACHE: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")


def is_of_inductor(kernel: Mapping[str, Any]) -> bool:
    """Whether Inductor launches a kernel, by its row of `kernels`, or by its file's name alone."""
    origin = kernel.get("origin")
    return origin == "inductor" or (
        origin is None and _CACHE.search(kernel.get("file") or "") is not None
    )


def is_generated(kernel: Mapping[str, Any]) -> bool:
    """Whether Inductor wrote a kernel, and did not copy the program's text."""
    return is_of_inductor(kernel) and _GENERATED.fullmatch(kernel.get("name") or "") is not None


def operators_of(kernel: Mapping[str, Any]) -> tuple[Operator, ...]:
    """Return the operators that a kernel was generated from, by its row of `kernels`.

    Where they were not recorded, nodes of the graph, or what Inductor says in the kernel's name.
    """
    origins = kernel.get("origins") or ()
    found = dict.fromkeys(
        Operator(each["op"], each["module"], each["file"], each["line"], each["code"])
        for each in origins
        if each["op"]
    )
    nodes = dict.fromkeys(_COPY.sub("", each["node"]) for each in origins if each["node"])
    named = () if found else nodes or fused_operators(kernel.get("name") or "")
    return (*found, *map(Operator, named))


def lines_behind(found: Finding) -> dict[tuple[str, int] | None, list[Operator]]:
    """Return the operators that generated code comes from, by the program's line.

    Of those whose lines were not recorded, as where Inductor took the code from its cache, the line
    is the program's that launched the kernel; they come last.
    """
    at = found.launched_at
    launched = None if at is None or at.file is None else (at.file, at.line or 0)
    lines: dict[tuple[str, int] | None, list[Operator]] = {}
    for each in sorted(found.operators, key=lambda operator: operator.file is None):
        placed = launched if each.file is None else (each.file, each.line or 0)
        lines.setdefault(placed, []).append(each)
    return lines or ({launched: []} if found.generated else {})


def cause_of(found: Finding, definition: int | None = None) -> str:
    """Return an id that findings of the same cause have in common, in every run.

    `definition`: of a kernel that Inductor copied, the line of its definition in the copy.
    """
    key = _unknown(found) if found.verdict == "unknown" else _known(found, definition)
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _unknown(found: Finding) -> tuple[Any, ...]:
    """Return a key of the reason alone: what decides it decides it for every rule."""
    texts = [_sizeless(text) or "" for text in (found.reason, found.assumption)]
    if found.generated:
        texts = [_NUMBERED.sub(r"\1", text) for text in texts]
    return (found.verdict, *texts)


def _known(found: Finding, definition: int | None) -> tuple[Any, ...]:
    what = found.rule, found.verdict, found.access
    if found.generated:
        behind = sorted(
            (line or ("", 0), sorted({each.op for each in operators}))
            for line, operators in lines_behind(found).items()
        )
        return (*what, _sizeless(found.expression) or found.arg, behind)
    if found.file is None:
        return (*what, found.arg, found.kernel, found.reason)
    if definition is not None:
        frames = [((f.line or 0) - definition, f.column, f.function) for f in found.stack]
        names = [(*frame[:2], _COPY.sub("", frame[2] or "")) for frame in frames]
        return (*what, found.arg, _COPY.sub("", found.kernel), names)
    return (*what, found.arg, found.file, found.line, found.column, found.stack[1:])


def _sizeless(text: str | None) -> str | None:
    return None if text is None else _NUMBER.sub("#", text)


@dataclass(frozen=True, slots=True)
class ByCause:
    """Findings as they are reported: groups of one cause each, in order, and the rest.

    `lints` are those of generated code that nobody asked for by name.
    """

    groups: tuple[tuple[Finding, ...], ...]
    lints: tuple[Finding, ...]

    def lint_lines(self) -> Iterator[str]:
        """Return the line that the lints get."""
        counts: dict[str, int] = {}
        for found in self.lints:
            counts[found.rule] = counts.get(found.rule, 0) + found.calls
        if counts:
            what = ", ".join(f"{count:,} {rule}" for rule, count in counts.items())
            them = "it" if sum(counts.values()) == 1 else "them"
            yield f"{what} in generated code (Inductor); --rule {','.join(counts)} lists {them}"


def by_cause(findings: Findings) -> ByCause:
    """Group what is listed by its cause."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    lints = []
    for found in findings.listed:
        if is_lint(found, findings.rules) and found.rule not in findings.named:
            lints.append(found)
        else:
            groups.setdefault((found.cause or found.finding_id, found.suppressed), []).append(found)
    return ByCause(tuple(map(tuple, groups.values())), tuple(lints))


def is_lint(found: Finding, rules: Mapping[str, RuleText]) -> bool:
    """Return whether a finding is a lint's violation, in code that Inductor generated."""
    return found.verdict == "violation" and found.generated and is_lint_rule(found.rule, rules)


def is_lint_rule(rule: str, rules: Mapping[str, RuleText]) -> bool:
    """Return whether a rule is a lint, by what passes have said of rules."""
    return rule in _LINTS_BEFORE or (rule in rules and rules[rule].lint != "")
