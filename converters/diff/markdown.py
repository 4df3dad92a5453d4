"""Markdown of a `Difference` for a review comment: the verdict first, details folded."""

from collections.abc import Iterable, Sequence
from typing import Final

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.headline import stage_name, stage_words
from kvtrace.converters.diff.model import (
    DeviceDifference,
    Difference,
    HeadlineRow,
    KernelDifference,
    SourceDifference,
    VariantDifference,
)
from kvtrace.converters.diff.words import (
    DEVICE_COLUMNS,
    HEADLINE_COLUMNS,
    answer_text,
    bounds_text,
    call_counts,
    device_row,
    device_total_row,
    finding_lines,
    kernel_heading,
    meaning_lines,
    other_figures,
    results_lines,
    share_text,
    side_line,
    substitutions,
    summary,
    sure_text,
    unjudged_sides,
    values_text,
)
from kvtrace.converters.profile.recompiles import Change
from kvtrace.text import plural, printable

_MARKS: Final = {"yes": "✅", "no": "❌", "not known": "❔"}
#: Rows of the headline in a comment; GitHub's limit is 65,536 characters in all.
_SHOWN: Final = 20
_MOST_CHARACTERS: Final = 60_000


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
    if sentences := results_lines(d):
        lines += ["", "#### Results", "", *(f"- {_escaped(line)}" for line in sentences)]
    if sentences := meaning_lines(d):
        lines += ["", "#### Meaning", "", *(f"- {_escaped(line)}" for line in sentences)]
    for unjudged in filter(None, (unjudged_sides(d), bounds_text(d))):
        lines += ["", _escaped(unjudged)]
    if d.device is not None:
        lines += _device_markdown(d.device)
    character_count = sum(map(len, lines))
    for index, kernel in enumerate(d.kernels):
        details = _kernel_markdown(kernel)
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
        cells = (row.what, values_text(row), share_text(row), row.direction, sure_text(row))
        texts = [_escaped(cell) for cell in cells]
        name = _code_span(row.kernel).replace("|", "\\|")
        lines.append(f"| {name} | {' | '.join(texts)} |")
    if len(rows) > _SHOWN:
        lines += ["", f"… {plural(len(rows) - _SHOWN, 'more line')}"]
    return lines


def _device_markdown(device: DeviceDifference) -> list[str]:
    """Return the first rows of all device time, folded, with the total of all rows."""
    rows = [device_row(row) for row in device.rows[:_SHOWN]]
    title, *columns = DEVICE_COLUMNS
    lines = [f"| {' | '.join((title, *columns))} |", "|---|---|--:|--:|--:|"]
    for name, *cells in (*rows, device_total_row(device)):
        texts = [_code_span(name).replace("|", "\\|"), *map(_escaped, cells)]
        lines.append(f"| {' | '.join(texts)} |")
    if len(device.rows) > _SHOWN:
        lines += ["", f"… {plural(len(device.rows) - _SHOWN, 'more row')} in the total"]
    return ["", "<details><summary>All device time</summary>", "", *lines, "", "</details>"]


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


def _kernel_markdown(kernel: KernelDifference) -> list[str]:
    lines = [f"<details><summary><code>{_html(kernel_heading(kernel))}</code></summary>", ""]
    lines += _change_rows((*kernel.changes, *other_figures(kernel)))
    for variant in kernel.variants:
        lines += _variant_markdown(variant)
    if kernel.source is not None:
        lines += _folded_patch(_source_title(kernel.source), kernel.source.lines)
    return [*lines, "", "</details>"]


def _source_title(source: SourceDifference) -> str:
    return f"source: -{source.removed} +{source.added} lines"


def _variant_markdown(variant: VariantDifference) -> list[str]:
    if variant.status != "changed":
        return [f"- {_code_span(variant.label or '(no constants)')} {variant.status}"]
    calls = [c.change for c in variant.calls]
    lines = _change_rows(
        (*variant.changes, *variant.resources, *variant.work, *variant.times, *calls)
    )
    lines += [f"- {count}" for count in call_counts(variant)]
    lines += [
        f"- {stage_name(stage.stage)}: {_escaped(words)}"
        for stage in variant.stages
        if (words := stage_words(stage))
    ]
    if variant.code is None:
        return lines
    code = variant.code
    title = f"{stage_name(code.stage)}: -{code.removed} +{code.added} lines"
    if code.substitutions:
        title += f", besides {substitutions(code)} in {plural(code.substituted_lines, 'line')}"
    return lines + _folded_patch(title, code.lines or code.all_lines)


def _change_rows(all_changes: Iterable[Change]) -> list[str]:
    return [
        f"- {_escaped(change.what)}: {_value_span(change.before)} → {_value_span(change.after)}"
        for change in all_changes
    ]


def _value_span(value: str | None) -> str:
    return "(none)" if value is None else _code_span(value)


def _folded_patch(title: str, lines: Sequence[str]) -> list[str]:
    fence = "`" * max(3, 1 + max((_longest_backtick_run(line) for line in lines), default=0))
    body = [printable(line.expandtabs(4)) for line in lines]
    opening = ["", f"<details><summary>{_html(title)}</summary>", "", f"{fence}diff"]
    return [*opening, *body, fence, "", "</details>", ""]


def _longest_backtick_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _code(text: str) -> str:
    return printable(text).replace("`", "'")


def _code_span(text: str) -> str:
    return f"`{_code(text)}`"


def _html(text: str) -> str:
    """Return text escaped for HTML only, for a <summary>, in which Markdown has no effect."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]|#" else c for c in _html(text))
