"""HTML of findings: heading, source with a caret, witness, launch and hint."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import Printer, message_of
from kvtrace.converters.findings.model import Finding, Findings
from kvtrace.text import plural

#: Characters of a source line that are shown.
_WIDTH: Final = 110
#: The line below a source line, which has no number.
_CARET: Final = re.compile(r" +\| *\^")
#: Most findings that are shown one by one.
_SHOWN: Final = 20


def findings_html(findings: Findings) -> str:
    """Return HTML with the first findings, each with its source, and the number of verdicts."""
    printer = _printer(findings)
    caused = by_cause(findings)
    groups = caused.groups
    parts = [_finding(printer, group) for group in groups[:_SHOWN]]
    if len(groups) > _SHOWN:
        omitted_text = plural(len(groups) - _SHOWN, "more finding")
        parts.append(markup.paragraph(f"… and {omitted_text}, in the result's text and rows"))
    parts += map(markup.paragraph, caused.lint_lines())
    verdict_counts, *further_lines = printer.summary(findings)
    parts.append(markup.paragraph(verdict_counts))
    if further_lines:
        parts.append(markup.folded("by kernel", markup.code(further_lines)))
    return markup.shown(*parts)


def finding_html(findings: Findings, finding: Finding) -> str:
    """Return HTML with one finding and its source."""
    return markup.shown(_finding(_printer(findings), [finding]))


def finding_text(findings: Findings, finding: Finding) -> list[str]:
    """Return one finding as lines of text, as the command prints it."""
    return Printer(findings.lines, base=str(Path.cwd())).defect([finding])


def _printer(findings: Findings) -> Printer:
    return Printer(findings.lines, base=str(Path.cwd()), width=_WIDTH)


def _finding(printer: Printer, group: Sequence[Finding]) -> str:
    finding = group[0]
    location, label, kind = printer.heading_parts(group)
    heading = (
        f'<p><span class="{markup.words(kind)}">{markup.words(label)}</span> '
        f"<code>{markup.words(location)}</code> <small>derived</small></p>"
    )
    lines = "\n".join(
        f'<span class="caret">{markup.words(line)}</span>'
        if _CARET.fullmatch(line)
        else markup.words(line)
        for line in printer.excerpt(finding)
    )
    excerpt = f"<pre>{lines}</pre>" if lines else ""
    return (
        heading
        + markup.paragraph(message_of(finding))
        + excerpt
        + markup.facts(printer.labeled_facts(group))
    )
