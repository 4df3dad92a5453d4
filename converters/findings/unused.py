"""Notes on comments that suppress nothing, since the defect is fixed or the rule is misspelled."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kvtrace.converters.findings.model import UNUSED_IGNORE, Finding, StackFrame
from kvtrace.converters.findings.suppressions import Ignore, Suppressions
from kvtrace.converters.source_lines import SourceLines


class Definition(NamedTuple):
    """File, line and name of a kernel's definition."""

    file: str
    line: int
    kernel: str


def judged_lines_by_file(
    lines: SourceLines, kernels: Collection[Definition], stacks: Iterable[Sequence[StackFrame]]
) -> dict[str, list[range]]:
    """Return ranges of judged lines by file: whole kernels, and lines of inlined functions.

    `stacks` are the source stacks of all verdicts.
    """
    judged: dict[str, list[range]] = {}
    for file, first, last in lines.definitions():
        if any(kernel.file == file and first <= kernel.line <= last for kernel in kernels):
            judged.setdefault(file, []).append(range(first, last + 1))
    for frame in {frame for stack in stacks for frame in stack}:
        if frame.file is not None and frame.line is not None:
            judged.setdefault(frame.file, []).append(range(frame.line, frame.line + 1))
    return judged


def unused_ignores(
    suppressions: Suppressions,
    lines: SourceLines,
    kernels: Collection[Definition],
    judged_lines: Mapping[str, Sequence[range]],
    judged: Iterable[str] | None,
    known: Iterable[str] | None,
) -> list[Finding]:
    """Return a note for each comment in judged lines that suppresses nothing.

    Args:
        suppressions: the comments, after they were applied to all findings.
        lines: the recorded source.
        kernels: definitions of the kernels that were judged.
        judged_lines: the lines of each file that were judged.
        judged: the rules that judged the lines; None if not known. A comment for another rule is
            reported only if no rule has that name.
        known: ids of all rules; None if not known.

    """
    names = None if known is None else frozenset(known)
    unknown = _unknown_rules(suppressions, judged_lines, names)
    reported = None if judged is None else {*judged, *unknown}
    return [
        _note(ignore, rule, names, lines.text(ignore.file, ignore.line), kernels)
        for ignore, rule in suppressions.unused(judged_lines, reported)
    ]


def _unknown_rules(
    suppressions: Suppressions, files: Iterable[str], known: frozenset[str] | None
) -> frozenset[str]:
    """Return the names in the files' comments that are no rule's id; none if `known` is None."""
    if known is None:
        return frozenset()
    named = (name for file in files for i in suppressions.in_file(file) for name in i.rules)
    return frozenset(named) - known


def _note(
    ignore: Ignore,
    rule: str | None,
    known: frozenset[str] | None,
    source: str | None,
    kernels: Iterable[Definition],
) -> Finding:
    kernels_above = sorted(k for k in kernels if k.file == ignore.file and k.line <= ignore.line)
    if rule is not None and known is not None and rule not in known:
        text = f"there is no rule {rule!r}, so this comment suppresses nothing"
    else:
        rule_text = "any rule" if rule is None else rule
        text = f"this comment suppresses nothing: no finding of {rule_text} here"
    identity = f"{UNUSED_IGNORE} {ignore.file} {ignore.line} {rule}"
    return Finding(
        finding_id=hashlib.sha256(identity.encode()).hexdigest()[:32],
        rule=UNUSED_IGNORE,
        verdict="violation",
        severity="note",
        kernel=kernels_above[-1].kernel if kernels_above else "?",
        file=ignore.file,
        line=ignore.line,
        message=text,
        hint="remove the comment, or correct the rule that it names",
        method="source",
        source=source,
    )
