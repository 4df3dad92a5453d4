"""Text of a `Difference` for terminals, and its JSON form."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import Any, Final

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.headline import headline_table, stage_name, stage_words
from kvtrace.converters.diff.model import (
    Answer,
    BoundChange,
    CallChange,
    CodeDifference,
    DeviceDifference,
    Difference,
    KernelDifference,
    Totals,
    VariantDifference,
)
from kvtrace.converters.diff.words import (
    DEVICE_COLUMNS,
    SIGNS,
    answer_text,
    bounds_text,
    call_counts,
    change_text,
    device_row,
    device_total_row,
    finding_lines,
    kernel_heading,
    meaning_lines,
    other_figures,
    results_lines,
    side_line,
    substitutions,
    summary,
    unjudged_sides,
)
from kvtrace.converters.profile.recompiles import Change
from kvtrace.figures.identity import names_apart
from kvtrace.text import broken, columns, duration, plural, printable, shorten, wrapped

#: Printed lines of one source or code difference, without `full`.
_SHOWN_LINES: Final = 40
#: Printed changes of calls per variant, without `full`.
_SHOWN_CALLS: Final = 8
#: Lines that differ in numbers alone are printed up to this number, and only counted above.
_SHOWN_SUBSTITUTED: Final = 3
#: Statements on results of kernels that fit on a screen.
_SHOWN_MEANINGS: Final = 4
_SHOWN_TIMES: Final = 12


def difference_object(difference: Difference) -> dict[str, Any]:
    """Return a difference as JSON-ready dicts: its fields, without whole texts."""
    result = asdict(difference)
    for kernel in result["kernels"]:
        for text in (kernel["source"], *(variant["code"] for variant in kernel["variants"])):
            for name in ("whole", "first_lines"):
                (text or {}).pop(name, None)
    for comparison in (comparison for time in result["times"] for comparison in time["compared"]):
        if comparison["sampled"] is None:
            del comparison["sampled"]
    return {"empty": difference.empty, "unjudged": unjudged_sides(difference), **result}


def difference_text(difference: Difference, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal: the headline and all details.

    Args:
        difference: The difference that `compare` returned.
        full: Print every line of every difference.
        width: Width of the terminal, in characters.
    """
    d = difference
    lines = headline_text(d, width=width, full=True)
    for kernel in d.kernels:
        lines += ["", *broken(kernel_heading(kernel), width), *kernel_text(kernel, full, width)]
    if d.findings:
        lines += ["", "findings"]
        lines += [f"  {line}" for finding in d.findings for line in finding_lines(finding)]
    if d.bounds:
        lines += ["", "conditions for all sizes"]
        lines += [line for bound in d.bounds for line in _bound_text(bound, width)]
    if d.context:
        lines += ["", "context (no difference by itself)"]
        lines += [f"  {_change_text(change, width - 2)}" for change in d.context]
    if d.times:
        lines += ["", *_times_text(d, full, width)]
    return lines


def headline_text(difference: Difference, *, width: int = 80, full: bool = False) -> list[str]:
    """Return lines that fit on a screen: answers, sides, and the changes, the worst first.

    Args:
        difference: The difference that `compare` returned.
        width: Width of the terminal, in characters.
        full: Print all rows, not only those that fit.
    """
    d = difference
    lines = [*answers_text(d.answers, width), "", f"before  {side_line(d.before)}"]
    lines += [f"after   {side_line(d.after)}", "", summary(d)]
    if table := headline_table(d.headline, width, full=full):
        lines += ["", *table]
    if d.device is not None:
        lines += ["", *device_text(d.device, full, width)]
    if sentences := results_lines(d):
        lines += [
            "",
            "results",
            *(line for sentence in sentences for line in wrapped(sentence, width, 2)),
        ]
    if sentences := meaning_lines(d):
        shown_sentences = sentences if full else sentences[:_SHOWN_MEANINGS]
        lines += [
            "",
            "meaning",
            *(line for sentence in shown_sentences for line in wrapped(sentence, width, 2)),
        ]
        if hidden := len(sentences) - len(shown_sentences):
            lines.append(f"  … {hidden} more (-v)")
    for unjudged in filter(None, (unjudged_sides(d), bounds_text(d))):
        lines += ["", *wrapped(unjudged, width)]
    if facts := [str(change) for change in d.context if _may_explain(change)]:
        more = f"; {len(facts) - 4} more (-v)" if len(facts) > 4 else ""
        lines += ["", *wrapped(f"context: {'; '.join(facts[:4])}{more}", width)]
    if d.notes:
        lines += ["", "notes", *(line for note in d.notes for line in wrapped(note, width, 2))]
    return lines


def answers_text(answers: Sequence[Answer], width: int) -> list[str]:
    """Return lines for a terminal: each question, its answer, and the evidence."""
    return [
        line
        for answer in answers
        for line in textwrap.wrap(
            printable(answer_text(answer)), width,
            initial_indent=f"{f'{answer.question}?':<14} {answer.word:<11}",
            subsequent_indent=" " * 26, break_long_words=False, break_on_hyphens=False,
        )
    ]  # fmt: skip


def _may_explain(change: Change) -> bool:
    """Return whether a context fact may explain a difference: a version, an option, a device."""
    return change.what.startswith(("version of", "option", "devices"))


def _bound_text(bound: BoundChange, width: int) -> list[str]:
    before, after = ("none" if side is None else side for side in (bound.before, bound.after))
    text = f"{bound.kernel}: {bound.what}: {before} → {after} ({bound.direction})"
    return wrapped(f"{text}: {bound.text}" if bound.text else text, width, 2)


def gate_object(gate: Gate) -> dict[str, Any]:
    """Return the JSON form of a gate: its rules, their violations, and rules not judged."""
    return {
        "rules": [rule.text for rule in gate.rules],
        "failures": [asdict(failure) for failure in gate.failures],
        "not_judged": gate.missing(),
    }


def gate_text(gate: Gate) -> list[str]:
    """Return lines for a terminal: the gate's verdict, then the violations; [] without rules."""
    if not gate.rules:
        return []
    lines = [
        f"  {printable(failure.rule)}: {printable(failure.what)}  {printable(failure.text)}"
        for failure in gate.failures
    ]
    passed, verdict = gate.verdict
    if passed:
        return ["", "PASS: none of the --fail-on rules is violated"]
    return ["", f"FAIL: {verdict} (--fail-on)", *lines]


def kernel_text(kernel: KernelDifference, full: bool, width: int) -> list[str]:
    """Return a kernel's changes; without `full`, the first lines of differences."""
    changes = (*kernel.changes, *other_figures(kernel))
    lines = [f"    {_change_text(change, width - 4)}" for change in changes]
    for variant in kernel.variants:
        lines += _variant_text(kernel, variant, full, width)
    if kernel.source is not None:
        lines += ["    source", *_patch_text(kernel.source.lines, full, width)]
    return lines


def _variant_text(
    kernel: KernelDifference, variant: VariantDifference, full: bool, width: int
) -> list[str]:
    if kernel.status != "changed":
        return wrapped(f"variant {variant.label}", width, 4) if variant.label else []
    lines = []
    has_heading = variant.status != "changed" or len(kernel.variants) > 1
    if has_heading:
        label = variant.label or "(no constants)"
        lines += wrapped(f"{SIGNS[variant.status]} variant {label} {variant.status}", width, 2)
    if variant.status != "changed":
        facts = [f"      {_change_text(change, width - 6)}" for change in variant.changes]
        return lines + (["      changes from the most similar variant:", *facts] if facts else [])
    for change in (*variant.changes, *variant.resources, *variant.work, *variant.times):
        lines.append(f"    {_change_text(change, width - 4)}")
    lines += _calls_text(variant, full, width)
    for stage in variant.stages:
        if op_changes := stage_words(stage, most=None if full else 8):
            name = stage_name(stage.stage)
            lines += wrapped(f"{name:<20}  {op_changes}", width, 4)
    if variant.code is not None:
        lines += _code_text(variant.code, full, width)
    return lines


def _calls_text(variant: VariantDifference, full: bool, width: int) -> list[str]:
    shown_calls = variant.calls if full else variant.calls[:_SHOWN_CALLS]
    lines = [f"    {_call_change(change, width - 4)}" for change in shown_calls]
    if len(shown_calls) < len(variant.calls):
        hidden = len(variant.calls) - len(shown_calls)
        lines.append(f"    … {hidden} more (kvtrace diff --full shows them)")
    return lines + [f"    {count}" for count in call_counts(variant)]


def _call_change(call: CallChange, width: int) -> str:
    count_text = f"  in {plural(call.calls, 'call')}" if call.calls > 1 else ""
    return _change_text(call.change, width - len(count_text)) + count_text


def _code_text(code: CodeDifference, full: bool, width: int) -> list[str]:
    stage = stage_name(code.stage)
    if full or code.substituted_lines <= _SHOWN_SUBSTITUTED:
        counts = f"-{code.removed} +{code.added} lines " if not code.substitutions else ""
        heading = f"    {stage} {counts}(without locations and value names)"
        return [heading, *_patch_text(code.all_lines, full, width)]
    substitutions_text = f"{substitutions(code)} in {plural(code.substituted_lines, 'line')}"
    if not code.lines:
        text = f"    {stage} the same except for {substitutions_text}"
        return [f"{text} (kvtrace diff --full shows them)"]
    heading = f"    {stage} -{code.removed} +{code.added} lines, besides {substitutions_text}"
    return [heading, *_patch_text(code.lines, full, width)]


def _patch_text(lines: Sequence[str], full: bool, width: int) -> list[str]:
    shown_lines = lines if full else lines[:_SHOWN_LINES]
    printed_lines = [f"      {printable(line.expandtabs(4))}" for line in shown_lines]
    if not full:
        printed_lines = [
            line if len(line) <= width else line[: width - 1] + "…" for line in printed_lines
        ]
    if len(shown_lines) < len(lines):
        printed_lines.append(
            f"      … {len(lines) - len(shown_lines)} more lines (kvtrace diff --full shows them)"
        )
    return printed_lines


def _change_text(change: Change, width: int) -> str:
    name = f"{printable(change.what):<20}  "
    room = max(20, (width - len(name) - 3) // 2)
    before, after = _distinct_texts(change.before, change.after, room)
    return f"{name}{before} → {after}{_relative_change(change)}"


def _relative_change(change: Change) -> str:
    numbers = [(text or "").replace(",", "") for text in (change.before, change.after)]
    if not all(map(str.isdecimal, numbers)) or not int(numbers[0]):
        return ""
    return f" ({int(numbers[1]) / int(numbers[0]) - 1:+.1%})"


def _distinct_texts(before: str | None, after: str | None, room: int) -> list[str]:
    """Return both values as texts, shortened so that their first difference is visible.

    If that is impossible in `room` characters, they are returned whole.
    """
    texts = ["(none)" if value is None else printable(value) for value in (before, after)]
    short_texts = [shorten(text, room) for text in texts]
    if short_texts[0] != short_texts[1] or texts[0] == texts[1]:
        return short_texts
    common_length = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    )
    start = max(0, common_length - room // 4)
    short_texts = [shorten("…" + text[start:], room) for text in texts]
    return short_texts if short_texts[0] != short_texts[1] else texts


def _times_text(d: Difference, full: bool, width: int) -> list[str]:
    shown_times = d.times if full else d.times[:_SHOWN_TIMES]
    has_device_times = any(
        t.before.device_ns is not None and t.after.device_ns is not None for t in shown_times
    )
    kind = "device" if has_device_times else "host"
    times_and_names = zip(shown_times, names_apart(d.times), strict=False)
    rows = [_time_row(name, t.before, t.after, has_device_times) for t, name in times_and_names]
    title = f"measured {kind} time of launches (no difference by itself)"
    header = ("kernel", "total before", "after", "median before", "after", "change")
    reasons = {
        comparison.reason
        for t in shown_times
        for comparison in t.compared
        if comparison.kind == kind and comparison.reason
    }
    reason_lines = [
        line for reason in sorted(reasons) for line in wrapped(f"no claim: {reason}", width, 2)
    ]
    lines = [title, *reason_lines, *columns(header, rows, width, 2, optional=(1, 2))]
    hidden = len(d.times) - len(shown_times)
    hidden_text = f"  … {hidden} more kernels (kvtrace diff --full shows them)"
    return [*lines, hidden_text] if hidden else lines


def device_text(device: DeviceDifference, full: bool, width: int) -> list[str]:
    """Return the table of all device time, with its total; without `full`, its first rows."""
    shown = device.rows if full else device.rows[:_SHOWN_TIMES]
    rows = [device_row(row) for row in shown]
    hidden = len(device.rows) - len(shown)
    if hidden:
        rows.append((f"… {hidden} more (-v)", "", "", "", ""))
    return columns(DEVICE_COLUMNS, [*rows, device_total_row(device)], width)


def _time_row(name: str, before: Totals, after: Totals, device: bool) -> tuple[str, ...]:
    totals = [side.device_ns if device else side.host_ns for side in (before, after)]
    medians = [side.device_median_ns if device else side.host_median_ns for side in (before, after)]
    return (name, *map(duration, totals), *map(duration, medians), change_text(*medians))
