"""A `Difference` as text for terminals, as Markdown for a review comment, and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import Any, Final

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.model import (
    CallChange,
    CodeDifference,
    Difference,
    FindingDifference,
    KernelDifference,
    Side,
    SourceDifference,
    Totals,
    VariantDifference,
)
from kvtrace.converters.specialization import Change
from kvtrace.text import columns, duration, plural, printable, shorten, wrapped

#: Lines of one source or code difference that are printed unless all are asked for.
_SHOWN_LINES: Final = 40
#: Calls' changes that are printed for one variant unless all are asked for.
_SHOWN_CALLS: Final = 8
#: Lines that differ in numbers alone are printed up to this many, and only counted above.
_SHOWN_SUBSTITUTED: Final = 3
_SHOWN_TIMES: Final = 12
_SIGN: Final = {"added": "+", "removed": "-", "changed": "~"}
_WORD: Final = {
    "source": "source",
    "stablehlo": "StableHLO",
    "ttir": "TTIR",
    "ttgir": "TTGIR",
    "llir": "LLVM IR",
    "ptx": "PTX",
}


def difference_object(difference: Difference) -> dict[str, Any]:
    """Return the JSON form: the fields of `Difference`, and `empty`; whole texts are left out."""
    form = asdict(difference)
    for kernel in form["kernels"]:
        for found in (kernel["source"], *(variant["code"] for variant in kernel["variants"])):
            for name in ("whole", "first_lines"):
                (found or {}).pop(name, None)
    return {"empty": difference.empty, **form}


def difference_text(
    difference: Difference, *, full: bool = False, times: bool = True, width: int = 80
) -> list[str]:
    """Return lines for a terminal; `full` leaves out nothing, `times` adds the table of times."""
    d = difference
    lines = [f"before  {_side(d.before)}", f"after   {_side(d.after)}", "", _headline(d)]
    for kernel in d.kernels:
        lines += ["", *_kernel_text(kernel, full, width)]
    if d.findings:
        lines += ["", "findings"]
        lines += [f"  {line}" for found in d.findings for line in _finding_text(found)]
    if unjudged := unjudged_sides(d):
        lines += ["", *wrapped(unjudged, width)]
    if d.context:
        lines += ["", "context (no difference by itself)"]
        lines += [f"  {_change(change, width - 2)}" for change in d.context]
    if d.notes:
        lines += ["", "notes", *(line for note in d.notes for line in wrapped(note, width, 2))]
    if times and d.times:
        lines += ["", *_times_text(d, full, width)]
    return lines


def difference_markdown(difference: Difference) -> list[str]:
    """Return lines of Markdown; long differences fold away."""
    d = difference
    lines = [
        "### kvtrace diff",
        "",
        f"`{_code(_side(d.before))}` → `{_code(_side(d.after))}`",
        "",
        f"**{_headline(d)}**",
    ]
    for kernel in d.kernels:
        lines += ["", *_kernel_markdown(kernel)]
    if d.findings:
        lines += ["", "#### Findings", ""]
        lines += [f"- {_code_span(' '.join(_finding_text(found)))}" for found in d.findings]
    if unjudged := unjudged_sides(d):
        lines += ["", _escaped(unjudged)]
    if d.context:
        lines += ["", f"<sub>Context: {_escaped('; '.join(map(str, d.context)))}</sub>"]
    if d.notes:
        lines += ["", *(f"> {_escaped(note)}" for note in d.notes)]
    return lines


def gate_object(gate: Gate) -> dict[str, Any]:
    """Return the JSON form of the rules and of what breaks them."""
    return {
        "rules": [rule.text for rule in gate.rules],
        "failures": [asdict(failure) for failure in gate.failures],
        "not_judged": gate.missing(),
    }


def gate_text(gate: Gate) -> list[str]:
    """Return lines for a terminal: each rule that is broken, and by what."""
    if not gate.rules:
        return []
    lines = [
        f"  {printable(failure.rule)}: {shorten(printable(failure.what), 60)}  "
        f"{printable(failure.text)}"
        for failure in gate.failures
    ]
    heading = f"broken rules: {len(lines)}" if lines else "no rule is broken"
    return ["", f"{heading} (--fail-on)", *lines]


def gate_markdown(gate: Gate) -> list[str]:
    """Return lines of Markdown."""
    if not gate.rules:
        return []
    rows = [
        f"- {_code_span(failure.rule)}: {_code_span(failure.what)} {_escaped(failure.text)}"
        for failure in gate.failures
    ]
    return ["", "#### Gate", "", *(rows or ["No rule is broken."])]


def unjudged_sides(d: Difference) -> str:
    """Say which sides were not judged, so that their findings are not known; "" if both were."""
    sides = [side for side in (d.before, d.after) if side.judged_by is None]
    if not sides:
        return ""
    which = " and ".join(printable(side.label) for side in sides)
    return f"findings: not judged in {which}, so none are compared (kvtrace sanitize)"


def _side(side: Side) -> str:
    commit = f" @{side.commit[:12]}" if side.commit else ""
    return (
        f"{printable(side.label)}{printable(commit)}: {plural(len(side.runs), 'run')}, "
        f"{plural(side.kernels, 'kernel')}, {plural(side.totals.launches, 'launch')}"
    )


def _headline(d: Difference) -> str:
    judged = "" if unjudged_sides(d) == "" else "; findings: not judged"
    if d.empty:
        return f"no difference in {plural(d.same_kernels, 'kernel')}{judged}"
    parts = [
        f"{sum(k.status == status for k in d.kernels)} {status}"
        for status in ("changed", "added", "removed")
        if any(k.status == status for k in d.kernels)
    ]
    kernels = [f"kernels: {', '.join((*parts, f'{d.same_kernels} the same'))}"]
    findings = [
        f"{sum(f.status == status for f in d.findings)} {status}"
        for status in ("new", "gone")
        if any(f.status == status for f in d.findings)
    ]
    return "; ".join(kernels + ([f"findings: {', '.join(findings)}"] if findings else [])) + judged


def _kernel_text(kernel: KernelDifference, full: bool, width: int) -> list[str]:
    lines = [_kernel_heading(kernel)]
    lines += [f"    {_change(change, width - 4)}" for change in kernel.changes]
    for variant in kernel.variants:
        lines += _variant_text(kernel, variant, full, width)
    if kernel.source is not None:
        lines += ["    source", *_patch(kernel.source.lines, full, width)]
    return lines


def _kernel_heading(kernel: KernelDifference) -> str:
    place = f" ({printable(kernel.file)}:{kernel.line})" if kernel.file else ""
    totals = kernel.after if kernel.status == "added" else kernel.before
    launched = ""
    if kernel.status != "changed" and totals is not None:
        variants = plural(len(kernel.variants), "variant")
        launched = f", {variants}, {plural(totals.launches, 'launch')}"
    name = shorten(printable(kernel.name or "(no name)"), 60)
    return f"{_SIGN[kernel.status]} {name}{place} {kernel.status}{launched}"


def _variant_text(
    kernel: KernelDifference, variant: VariantDifference, full: bool, width: int
) -> list[str]:
    if kernel.status != "changed":
        return (
            [f"    variant {shorten(printable(variant.label), width - 12)}"]
            if variant.label
            else []
        )
    lines = []
    named = variant.status != "changed" or len(kernel.variants) > 1
    if named:
        label = shorten(printable(variant.label or "(no constants)"), width - 24)
        lines.append(f"  {_SIGN[variant.status]} variant {label} {variant.status}")
    if variant.status != "changed":
        facts = [f"      {_change(change, width - 6)}" for change in variant.changes]
        return lines + (["      nearest to one with:", *facts] if facts else [])
    for change in (*variant.changes, *variant.resources, *variant.work, *variant.times):
        lines.append(f"    {_change(change, width - 4)}")  # noqa: PERF401 - reads better
    lines += _calls_text(variant, full, width)
    if variant.code is not None:
        lines += _code_text(variant.code, full, width)
    return lines


def _calls_text(variant: VariantDifference, full: bool, width: int) -> list[str]:
    shown = variant.calls if full else variant.calls[:_SHOWN_CALLS]
    lines = [f"    {_call_change(change, width - 4)}" for change in shown]
    if len(shown) < len(variant.calls):
        lines.append(f"    … {len(variant.calls) - len(shown)} more (--full shows them)")
    return lines + [f"    {count}" for count in _call_counts(variant)]


def _call_counts(variant: VariantDifference) -> list[str]:
    """Say how many distinct calls are not among those whose changes are listed."""
    counts = (
        (variant.calls_unread, "changed too, and not listed"),
        (variant.calls_added, "new"),
        (variant.calls_removed, "gone"),
    )
    return [f"{plural(number, 'distinct call')} {word}" for number, word in counts if number]


def _call_change(found: CallChange, width: int) -> str:
    alike = f"  in {plural(found.calls, 'call')}" if found.calls > 1 else ""
    return _change(found.change, width - len(alike)) + alike


def _code_text(code: CodeDifference, full: bool, width: int) -> list[str]:
    stage = _WORD.get(code.stage, code.stage)
    if full or code.substituted_lines <= _SHOWN_SUBSTITUTED:
        counts = f"-{code.removed} +{code.added} lines " if not code.substitutions else ""
        heading = f"    {stage} {counts}(places and value names left aside)"
        return [heading, *_patch(code.all_lines, full, width)]
    same = f"{_substitutions(code)} in {plural(code.substituted_lines, 'line')}"
    if not code.lines:
        return [f"    {stage} the same but for {same} (--full shows them)"]
    heading = f"    {stage} -{code.removed} +{code.added} lines, besides {same}"
    return [heading, *_patch(code.lines, full, width)]


def _substitutions(code: CodeDifference) -> str:
    return ", ".join(f"{before} → {after}" for before, after in code.substitutions)


def _patch(lines: Sequence[str], full: bool, width: int) -> list[str]:
    shown = lines if full else lines[:_SHOWN_LINES]
    cut = [f"      {printable(line.expandtabs(4))}" for line in shown]
    if not full:
        cut = [line if len(line) <= width else line[: width - 1] + "…" for line in cut]
    if len(shown) < len(lines):
        cut.append(f"      … {len(lines) - len(shown)} more lines (--full shows them)")
    return cut


def _change(change: Change, width: int) -> str:
    name = f"{printable(change.what):<20}  "
    room = max(20, (width - len(name) - 3) // 2)
    before, after = _told_apart(change.before, change.after, room)
    return f"{name}{before} → {after}{_by_how_much(change)}"


def _by_how_much(change: Change) -> str:
    """Say by how much a number changed, with its direction; nothing of what is none."""
    numbers = [(text or "").replace(",", "") for text in (change.before, change.after)]
    if not all(map(str.isdecimal, numbers)) or not int(numbers[0]):
        return ""
    return f" ({int(numbers[1]) / int(numbers[0]) - 1:+.1%})"


def _told_apart(before: str | None, after: str | None, room: int) -> list[str]:
    """Both values shortened so that where they differ stays in sight."""
    texts = ["(none)" if value is None else printable(value) for value in (before, after)]
    short = [shorten(text, room) for text in texts]
    if short[0] != short[1] or texts[0] == texts[1]:
        return short
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, same - room // 4)
    return [shorten("…" + text[start:], room) for text in texts]


def _finding_text(found: FindingDifference) -> list[str]:
    f = found.finding
    sign = "+" if found.status == "new" else "-"
    arg = f" of {f.arg}" if f.arg else ""
    kind = f.severity if f.verdict == "violation" else f.verdict
    lines = [
        f"{sign} {found.status}: {kind}: {f.rule}: "
        f"{f.access or 'access'}{arg} in {f.kernel} ({f.file or '?'}:{f.line or '?'})"
    ]
    if f.source is not None:
        lines.append(f"    {f.source.strip()}")
    if f.message:
        lines.append(f"    {f.message}")
    return [printable(line) for line in lines]


def _times_text(d: Difference, full: bool, width: int) -> list[str]:
    shown = d.times if full else d.times[:_SHOWN_TIMES]
    device = any(t.before.device_ns is not None and t.after.device_ns is not None for t in shown)
    kind = "device" if device else "host"
    rows = [_time_row(t.name, t.before, t.after, device) for t in shown]
    title = f"measured {kind} time of launches (no difference by itself)"
    header = ("kernel", "total before", "after", "median before", "after", "change")
    lines = [title, *(f"  {line}" for line in columns(header, rows, width - 2))]
    left = len(d.times) - len(shown)
    return [*lines, f"  … {left} more kernels (--full shows them)"] if left else lines


def _time_row(name: str, before: Totals, after: Totals, device: bool) -> tuple[str, ...]:
    totals = [side.device_ns if device else side.host_ns for side in (before, after)]
    medians = [side.device_median_ns if device else side.host_median_ns for side in (before, after)]
    first, second = medians
    change = "-" if not first or second is None else f"{second / first - 1:+.1%}"
    return (name, *map(duration, totals), *map(duration, medians), change)


def _kernel_markdown(kernel: KernelDifference) -> list[str]:
    lines = [f"#### {_code_span(_kernel_heading(kernel))}", ""]
    lines += _change_rows(kernel.changes)
    for variant in kernel.variants:
        lines += _variant_markdown(variant)
    if kernel.source is not None:
        lines += _folded(_source_title(kernel.source), kernel.source.lines)
    return lines


def _source_title(source: SourceDifference) -> str:
    return f"source: -{source.removed} +{source.added} lines"


def _variant_markdown(variant: VariantDifference) -> list[str]:
    if variant.status != "changed":
        return [f"- {_code_span(variant.label or '(no constants)')} {variant.status}"]
    calls = [c.change for c in variant.calls]
    lines = _change_rows(
        (*variant.changes, *variant.resources, *variant.work, *variant.times, *calls)
    )
    lines += [f"- {count}" for count in _call_counts(variant)]
    if variant.code is None:
        return lines
    code = variant.code
    title = f"{_WORD.get(code.stage, code.stage)}: -{code.removed} +{code.added} lines"
    if code.substitutions:
        title += f", besides {_substitutions(code)} in {plural(code.substituted_lines, 'line')}"
    return lines + _folded(title, code.lines or code.all_lines)


def _change_rows(all_changes: Iterable[Change]) -> list[str]:
    return [
        f"- {_escaped(change.what)}: {_sided(change.before)} → {_sided(change.after)}"
        for change in all_changes
    ]


def _sided(value: str | None) -> str:
    return "(none)" if value is None else _code_span(value)


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    fence = "`" * max(3, 1 + max((_longest_ticks(line) for line in lines), default=0))
    body = [printable(line.expandtabs(4)) for line in lines]
    opening = ["", f"<details><summary>{_escaped(title)}</summary>", "", f"{fence}diff"]
    return [*opening, *body, fence, "", "</details>", ""]


def _longest_ticks(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _code(text: str) -> str:
    return printable(text).replace("`", "'")


def _code_span(text: str) -> str:
    return f"`{_code(text)}`"


def _escaped(text: str) -> str:
    """Text that Markdown and HTML show as it is."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\`*_[]|#" else c for c in plain)
