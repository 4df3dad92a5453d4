"""Comments that suppress nothing, as notes: each is a defect that is gone, or a typing error."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kvtrace.converters.findings.model import UNUSED_IGNORE, Finding, StackFrame
from kvtrace.converters.findings.suppressions import Ignore, Suppressions
from kvtrace.converters.source_lines import SourceLines


class Definition(NamedTuple):
    """Where a kernel is defined, and its name."""

    file: str
    line: int
    kernel: str


def seen_lines(
    lines: SourceLines, kernels: Collection[Definition], stacks: Iterable[Sequence[StackFrame]]
) -> dict[str, list[range]]:
    """Return the lines of each file that were judged: whole kernels, and what they inlined.

    `stacks` are those of all verdicts.
    """
    seen: dict[str, list[range]] = {}
    for file, first, last in lines.definitions():
        if any(kernel.file == file and first <= kernel.line <= last for kernel in kernels):
            seen.setdefault(file, []).append(range(first, last + 1))
    for frame in {frame for stack in stacks for frame in stack}:
        if frame.file is not None and frame.line is not None:
            seen.setdefault(frame.file, []).append(range(frame.line, frame.line + 1))
    return seen


def unused_ignores(
    suppressions: Suppressions,
    lines: SourceLines,
    kernels: Collection[Definition],
    seen: Mapping[str, Sequence[range]],
    judged: Iterable[str] | None,
    known: Iterable[str] | None,
) -> list[Finding]:
    """Return a note for each comment in `seen` that suppresses nothing.

    Args:
        suppressions: the comments, after all findings have been compared with them.
        lines: the recorded source.
        kernels: the kernels that were judged.
        seen: the lines that were judged.
        judged: the rules that were judged by, if that is known; a comment for another rule may
            well be of use, unless no such rule is `known`.
        known: every rule that there is, if that is known.

    """
    names = None if known is None else frozenset(known)
    looked_at = None if judged is None else {*judged, *_strangers(suppressions, seen, names)}
    return [
        _note(ignore, rule, names, lines.text(ignore.file, ignore.line), kernels)
        for ignore, rule in suppressions.unused(seen, looked_at)
    ]


def _strangers(
    suppressions: Suppressions, seen: Iterable[str], known: frozenset[str] | None
) -> frozenset[str]:
    """Return names in comments that are not rule's: they can suppress nothing."""
    if known is None:
        return frozenset()
    named = (name for file in seen for i in suppressions.in_file(file) for name in i.rules)
    return frozenset(named) - known


def _note(
    ignore: Ignore,
    rule: str | None,
    known: frozenset[str] | None,
    source: str | None,
    kernels: Iterable[Definition],
) -> Finding:
    above = sorted(k for k in kernels if k.file == ignore.file and k.line <= ignore.line)
    if rule is not None and known is not None and rule not in known:
        text = f"there is no rule {rule!r}, so this comment suppresses nothing"
    else:
        named = "any rule" if rule is None else rule
        text = f"this comment suppresses nothing: no finding of {named} here"
    what = f"{UNUSED_IGNORE} {ignore.file} {ignore.line} {rule}"
    return Finding(
        finding_id=hashlib.sha256(what.encode()).hexdigest()[:32],
        rule=UNUSED_IGNORE,
        verdict="violation",
        severity="note",
        kernel=above[-1].kernel if above else "?",
        file=ignore.file,
        line=ignore.line,
        message=text,
        hint="remove the comment, or correct the rule that it names",
        method="source",
        source=source,
    )
