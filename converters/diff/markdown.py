"""Markdown of a `Difference` for a review comment: the verdict first, details folded.

Details are those of the terminal, in one block a kernel.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Final

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.model import Difference, HeadlineRow
from kvtrace.converters.diff.render import device_text, kernel_text
from kvtrace.converters.diff.words import (
    HEADLINE_COLUMNS,
    answer_text,
    bounds_text,
    finding_lines,
    kernel_heading,
    meaning_lines,
    results_lines,
    row_cells,
    side_line,
    summary,
    unjudged_sides,
)
from kvtrace.text import plural, printable

_MARKS: Final = {"yes": "✅", "no": "❌", "not known": "❔"}
#: Rows of the headline in a comment; GitHub's limit is 65,536 characters in all.
_SHOWN: Final = 20
_MOST_CHARACTERS: Final = 60_000
#: Width of the details' text.
_WIDTH: Final = 120
#: What the terminal's text indents lines of a unified difference by.
_INDENT: Final = re.compile(r"^ {6}(?=[-+@ ])")


def difference_markdown(difference: Difference, gate: Gate | None = None) -> list[str]:
    """Return lines of Markdown: merge answers, verdict of the rules, headline, folded details.

    Kernels beyond the size limit of comments are only counted.
    """
    d = difference
    lines = [
        *_answers_markdown(d),
        *_verdict_markdown(d, gate or Gate([])),
        "",
        f"`{_code(side_line(d.before))}` → `{_code(side_line(d.after))}`",
        *_headline_markdown(d.headline),
    ]
    for title, sentences in (("Results", results_lines(d)), ("Meaning", meaning_lines(d))):
        if sentences:
            lines += ["", f"#### {title}", "", *(f"- {_escaped(line)}" for line in sentences)]
    for unjudged in filter(None, (unjudged_sides(d), bounds_text(d))):
        lines += ["", _escaped(unjudged)]
    if d.device is not None:
        lines += ["", *_folded("All device time", device_text(d.device, False, _WIDTH))]
    character_count = sum(map(len, lines))
    for index, kernel in enumerate(d.kernels):
        details = _folded(kernel_heading(kernel), kernel_text(kernel, True, _WIDTH))
        character_count += sum(len(line) + 1 for line in details)
        if character_count > _MOST_CHARACTERS:
            hidden = plural(len(d.kernels) - index, "more kernel")
            lines += ["", f"{hidden} differ (kvtrace diff --html shows them)"]
            break
        lines += ["", *details]
    if d.findings:
        lines += ["", "#### Findings", ""]
        lines += [f"- {_code_span(' '.join(finding_lines(finding)))}" for finding in d.findings]
    if d.context:
        lines += ["", f"<sub>Context: {_escaped('; '.join(map(str, d.context)))}</sub>"]
    if d.notes:
        lines += ["", *(f"> {_escaped(note)}" for note in d.notes)]
    return lines


def _answers_markdown(difference: Difference) -> list[str]:
    """Return a heading with the merge answer, and a table of the other answers; [] without any."""
    if not difference.answers:
        return []
    *others, merge = difference.answers
    heading = f"### {_MARKS[merge.word]} Merge? {merge.word}: {_escaped(answer_text(merge))}"
    rows = [
        f"| {answer.question.capitalize()}? | {answer.word} | {_escaped(answer_text(answer))} |"
        for answer in others
    ]
    return [heading, "", "| | | |", "|---|---|---|", *rows, ""]


def _headline_markdown(rows: Sequence[HeadlineRow]) -> list[str]:
    if not rows:
        return []
    lines = ["", f"| {' | '.join(HEADLINE_COLUMNS)} |", "|---|---|---|--:|---|---|"]
    for row in rows[:_SHOWN]:
        texts = [_escaped(cell) for cell in row_cells(row)]
        name = _code_span(row.kernel).replace("|", "\\|")
        lines.append(f"| {name} | {' | '.join(texts)} |")
    if len(rows) > _SHOWN:
        lines += ["", f"… {plural(len(rows) - _SHOWN, 'more line')}"]
    return lines


def _verdict_markdown(difference: Difference, gate: Gate) -> list[str]:
    """Return the rules' verdict, their violations, and the summary; without rules, the summary."""
    if not gate.rules and not gate.problem:
        return [f"**{_escaped(summary(difference))}**"]
    passed, verdict = gate.verdict
    heading = f"Rules: {_escaped(verdict)}."
    lines = [
        f"- {_code_span(failure.rule)}: {_code_span(failure.what)} {_escaped(failure.text)}"
        for failure in gate.failures
    ]
    lines += [
        f"- {_code_span(rule)}: not judged, since no kernel has the figure"
        for rule in gate.missing()
    ]
    worse = sum(row.direction == "worse" for row in difference.headline)
    if passed and worse:
        lines.append(
            f"- {plural(worse, 'change')} for the worse, which the rules allow (see below)"
        )
    rules = ", ".join(_code_span(rule.text) for rule in gate.rules)
    skipped = ", ".join(map(_code_span, gate.skipped()))
    skipped_note = f"; not judged, since a side lacks the figure: {skipped}" if skipped else ""
    lines = [heading, "", *lines, *([""] if lines else [])]
    if gate.rules:
        lines += [f"<sub>kvtrace; rules: {rules}{skipped_note}</sub>", ""]
    return [*lines, f"**{summary(difference)}**"]


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines folded below a title, as a block in which lines of differences have colors."""
    runs = re.findall("`+", "\n".join(lines))
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return [
        f"<details><summary><code>{_html(title)}</code></summary>", "", f"{fence}diff",
        *(_INDENT.sub("", line) for line in lines), fence, "", "</details>",
    ]  # fmt: skip


def _code(text: str) -> str:
    return printable(text).replace("`", "'")


def _code_span(text: str) -> str:
    return f"`{_code(text)}`"


def _html(text: str) -> str:
    """Return text escaped for HTML only, for a <summary>, in which Markdown has no effect."""
    return escape(printable(text), quote=False)


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]|#" else c for c in _html(text))
