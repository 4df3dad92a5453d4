"""HTML of what was found: findings with source and witness, differences, and the report's page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.diff.model import Difference, HeadlineRow
from kvtrace.converters.diff.render import headline_text
from kvtrace.converters.diff.words import side_line, summary
from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import Printer, message_of
from kvtrace.converters.findings.model import Finding, Findings
from kvtrace.text import distinct, plural, shorten, size

_MESSAGE_WIDTH: Final = 60
_CERTAINTY: Final[dict[str, str]] = {
    "measured": "measured", "derived": "derived", "exact": "reading both sides",
}  # fmt: skip
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


@dataclass(frozen=True)
class ShownPage:
    """A page of the report, which a notebook shows if the object is the last value of a cell.

    The page's code can reach neither the notebook nor the network: its frame has a separate origin,
    and its policy forbids requests.

    Attributes:
        title: The page's title.
        html: The whole page.
        height: The frame's height, in CSS pixels.
        notes: Messages on passes that were run, and on parts that were left out.

    """

    title: str
    html: str
    height: int
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of the page, which is added to a notebook that is saved."""
        return len(self.html.encode())

    def __repr__(self) -> str:
        text = f"{self.title}: a page of {size(self.size_bytes)}, shown in notebooks"
        return text + (f" ({plural(len(self.notes), 'note')})" if self.notes else "")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height:d}px;border:1px solid '
            'color-mix(in srgb,currentColor 25%,transparent)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


_COLUMNS: Final[tuple[Column[HeadlineRow], ...]] = (
    Column("where", lambda row: row.level),
    Column("what", lambda row: row.what, kind="sentence"),
    Column("before", lambda row: row.before and shorten(row.before, _MESSAGE_WIDTH), kind="number"),
    Column("after", lambda row: row.after and shorten(row.after, _MESSAGE_WIDTH), kind="number"),
    Column(
        "change", lambda row: _share(row), "of before", kind="number",
        tone=lambda row: row.direction if row.direction != "changed" else "",
    ),
    Column("known by", lambda row: _CERTAINTY[row.certainty]),
)  # fmt: skip


def difference_html(difference: Difference) -> str:
    """Return HTML with both sides, a table of the changes, and the command's whole text."""
    command_output = markup.code(headline_text(difference, width=120, full=True))
    sides = markup.facts(
        [("before", side_line(difference.before)), ("after", side_line(difference.after))]
    )
    caption = markup.words(summary(difference))
    names = distinct((row.kernel for row in difference.headline), _MESSAGE_WIDTH)
    kernel: Column[HeadlineRow] = Column("kernel", lambda row: names[row.kernel], kind="code")
    table = (
        markup.table([kernel, *_COLUMNS], difference.headline, caption)
        if difference.headline
        else (markup.paragraph(summary(difference)))
    )
    return markup.shown(sides, table, markup.folded("as kvtrace diff prints it", command_output))


def _share(row: HeadlineRow) -> str:
    if row.share is None:
        return "" if row.direction == "changed" else row.direction
    return f"{100 * row.share:+.2g} %"
