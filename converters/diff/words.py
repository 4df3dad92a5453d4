"""Texts that all output forms of a difference share."""

from collections.abc import Sequence
from typing import Final

from kvtrace.converters.diff.figures import figure_values
from kvtrace.converters.diff.model import (
    Answer,
    CodeDifference,
    DeviceDifference,
    DeviceWork,
    Difference,
    FindingDifference,
    HeadlineRow,
    KernelDifference,
    KernelMeaning,
    Results,
    Side,
    VariantDifference,
)
from kvtrace.converters.profile.recompiles import Change
from kvtrace.text import count, duration, listed, plural, printable, shorten

SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
_ORDER: Final = ("no", "not known", "yes")
#: Most named subjects of a statement, and most characters of a name.
_NAMED: Final = 3
_LONGEST_NAME: Final = 60
#: Headings of the headline's columns in text forms.
HEADLINE_COLUMNS: Final = (
    "kernel", "what changed", "before → after", "change", "verdict", "basis"
)  # fmt: skip

#: Headings of the columns of all device time.
DEVICE_COLUMNS: Final = ("on the device (measured)", "of", "before", "after", "change")
#: Name of the last row of all device time.
DEVICE_TOTAL: Final = "all device time"


def side_line(side: Side) -> str:
    """Return a side in one line: label, commit, and numbers of runs, kernels and launches."""
    commit = f" @{side.commit[:12]}" if side.commit else ""
    trials = side.totals.tuning_launches
    without = f", without {count(trials)} of autotuners and warm-ups" if trials else ""
    return (
        f"{printable(side.label)}{printable(commit)}: {plural(len(side.runs), 'run')}, "
        f"{plural(side.kernels, 'kernel')}, {plural(side.totals.launches, 'launch')}{without}"
    )


def summary(d: Difference) -> str:
    """Return a line with the numbers of changed kernels, findings and results."""
    unjudged_note = "" if unjudged_sides(d) == "" else "; findings: not judged"
    if d.empty:
        return f"no difference in {plural(d.same_kernels, 'kernel')}{unjudged_note}"
    kernel_counts = _counts(("changed", "added", "removed"), [k.status for k in d.kernels])
    kernels = [f"kernels: {', '.join((*kernel_counts, f'{d.same_kernels} the same'))}"]
    findings = _counts(("new", "gone"), [f.status for f in d.findings])
    if d.still and findings:
        findings.append(f"{len(d.still)} still there")
    further_texts = [f"findings: {', '.join(findings)}"] if findings else []
    if d.results is not None and d.results.differing:
        further_texts.append(
            f"results: {plural(d.results.differing, _unit(d.results))} with another result"
        )
    return "; ".join(kernels + further_texts) + unjudged_note


def _counts(names: Sequence[str], statuses: Sequence[str]) -> list[str]:
    return [f"{statuses.count(name)} {name}" for name in names if name in statuses]


def results_lines(d: Difference) -> list[str]:
    """Return sentences on the results of launches, compared by digest; [] without digests."""
    results = d.results
    if results is None:
        return []
    unpaired = sum(results.unpaired)
    without_partner = f" ({unpaired:,} without a partner that is alike)" if unpaired else ""
    operators = f" and {plural(results.operators, 'operator')}" if results.operators else ""
    compared = (
        f"results of {plural(results.compared, 'launch')}{operators} were compared by digest"
        f"{without_partner}"
    )
    if results.first is None:
        text = f"{compared}: all are equal" if results.compared + results.operators else compared
        return [text, *results.unlike]
    later_count = results.differing - 1
    lines = [f"{compared}: {results.differing:,} differ", results.first.why]
    lines += [
        f"{meaning_subject(meaning)}, {meaning_basis(meaning)}: {meaning.evidence}"
        for meaning in d.meanings or ()
        if meaning.kernel == results.first.kernel and results.first.inputs is not False
    ]
    if later_count:
        lines.append(f"{plural(later_count, _unit(results))} with other results after it")
    return [*lines, *results.unlike]


def _unit(results: Results) -> str:
    return "operation" if results.operators else "launch"


def answer_text(answer: Answer) -> str:
    """Return an answer's evidence, with the action that would settle a "not known"."""
    return f"{answer.evidence} ({answer.settle})" if answer.settle else answer.evidence


def meaning_lines(d: Difference) -> list[str]:
    """Return sentences on the meanings of changed kernels, those that differ first."""
    if d.meanings is None:
        return []
    subjects_by_text: dict[str, dict[str, None]] = {}
    for meaning in sorted(d.meanings, key=lambda meaning: _ORDER.index(meaning.same)):
        subjects_by_text.setdefault(meaning.text, {})[meaning_subject(meaning)] = None
    return [f"{listed(list(names), _NAMED)}: {text}" for text, names in subjects_by_text.items()]


def meaning_subject(meaning: KernelMeaning) -> str:
    """Return the subject of a meaning's sentence: the kernel, and the output if there is one."""
    kernel = shorten(meaning.kernel, _LONGEST_NAME)
    return kernel if meaning.output is None else f"{kernel}, {meaning.output}"


def meaning_basis(meaning: KernelMeaning) -> str:
    """Return the basis of a meaning as text: recorded results or IR."""
    return "by kept results" if meaning.by_data else "by IR"


def device_row(row: DeviceWork) -> tuple[str, ...]:
    """Return name, kind, device time of both sides, and its change, as texts."""
    sides = [None if side is None else side.device_ns for side in (row.before, row.after)]
    return (row.name, row.kind, *map(duration, sides), change_text(*sides))


def device_total_row(device: DeviceDifference) -> tuple[str, ...]:
    """Return the sum of all rows as texts, in the columns of `device_row`."""
    sides = device.before_ns, device.after_ns
    return (DEVICE_TOTAL, "", *map(duration, sides), change_text(*sides))


def change_text(before: float | None, after: float | None) -> str:
    """Return the relative change of a time as text; "-" if a side has none."""
    return "-" if not before or after is None else f"{after / before - 1:+.1%}"


def unjudged_sides(d: Difference) -> str:
    """Return a sentence on the sides whose findings were not judged, or ""."""
    sides = [side for side in (d.before, d.after) if side.judged_by is None]
    if not sides:
        return ""
    labels = " and ".join(printable(side.label) for side in sides)
    advice = " (kvtrace sanitize)" if any(side.judgeable and side.kernels for side in sides) else ""
    return f"findings: not judged in {labels}, so none are compared{advice}"


def unjudged_rules(before: Side, after: Side) -> list[str]:
    """Return sentences on rules that judged only one side."""
    if before.judged_by is None or after.judged_by is None:
        return []
    rules = set(before.judged_by), set(after.judged_by)
    return [
        f"findings of {', '.join(sorted(one_sided))} are not compared: "
        f"only {side} was judged by them"
        for one_sided, side in ((rules[0] - rules[1], "before"), (rules[1] - rules[0], "after"))
        if one_sided
    ]


def bounds_text(d: Difference) -> str:
    """Return a phrase on why conditions for all sizes are not compared, or ""."""
    return f"size conditions: {d.bounds_unjudged}" if d.bounds_unjudged else ""


def share_text(row: HeadlineRow) -> str:
    """Return a row's relative change as text, such as "+5.0%" or "×12"; "" without numbers."""
    if row.share is None:
        return "from 0" if row.level in ("resources", "work") else ""
    if row.share >= 9.995:
        return f"×{row.share + 1:,.0f}"
    return f"{100 * row.share:+.2f}%" if abs(row.share) < 0.001 else f"{100 * row.share:+.1f}%"


def sure_text(row: HeadlineRow) -> str:
    """Return a row's basis (exact, derived, measured), with the interval of a measured change."""
    if row.interval is None:
        return row.certainty
    low, high = row.interval
    return f"{row.certainty} {100 * low:+.1f}…{100 * high:+.1f}%"


def row_cells(row: HeadlineRow) -> tuple[str, ...]:
    """Return the cells of a row of the headline below `HEADLINE_COLUMNS`, but for the kernel."""
    return row.what, values_text(row), share_text(row), row.direction, sure_text(row)


def values_text(row: HeadlineRow) -> str:
    """Return both values of a row as "before → after"; "" if it has none."""
    if row.before is None and row.after is None:
        return ""
    return f"{row.before or 'none'} → {row.after or 'none'}"


def finding_lines(change: FindingDifference) -> list[str]:
    """Return a finding in one to three lines: verdict and location, source line, message."""
    f = change.finding
    sign = "+" if change.status == "new" else "-"
    arg = f" of {f.arg}" if f.arg else ""
    kind = f.severity if f.verdict == "violation" else f.verdict
    lines = [
        f"{sign} {change.status}: {kind}: {f.rule}: "
        f"{f.access or 'access'}{arg} in {f.kernel} ({f.file or '?'}:{f.line or '?'})"
    ]
    if f.source is not None:
        lines.append(f"    {f.source.strip()}")
    if f.message:
        lines.append(f"    {f.message}")
    return [printable(line) for line in lines]


def kernel_heading(kernel: KernelDifference) -> str:
    """Return a line with a kernel's status, name, location and former name."""
    location = f" ({printable(kernel.file)}:{kernel.line})" if kernel.file else ""
    totals = kernel.after if kernel.status == "added" else kernel.before
    launches = ""
    if kernel.status != "changed" and totals is not None:
        variants = plural(len(kernel.variants), "variant")
        launches = f", {variants}, {plural(totals.launches, 'launch')}"
    name = printable(kernel.name or "(no name)")
    renamed = ""
    if kernel.renamed_from is not None:
        renamed = f", renamed from {printable(kernel.renamed_from)}"
        if kernel.similarity is not None:
            renamed += f" ({kernel.similarity:.0%} alike)"
    return f"{SIGNS[kernel.status]} {name}{location} {kernel.status}{renamed}{launches}"


def other_figures(kernel: KernelDifference) -> list[Change]:
    """Return the changes of a kernel's figures that its variants do not list, with their basis."""
    listed = {change.what for variant in kernel.variants for change in variant.work}
    figures = [figure for figure in kernel.figures if figure.name not in listed]
    figures += [f for variant in kernel.variants for f in variant.figures if f.name == "occupancy"]
    return [
        Change(f"{figure.name} ({figure.certainty})", *figure_values(figure)) for figure in figures
    ]


def call_counts(variant: VariantDifference, *, unread: bool = True) -> list[str]:
    """Return phrases with the numbers of unique calls that are new, gone, or changed and unread."""
    counts = (
        (variant.calls_unread if unread else 0, "changed too, not listed"),
        (variant.calls_added, "new"),
        (variant.calls_removed, "gone"),
    )
    return [f"{plural(number, 'unique call')} {word}" for number, word in counts if number]


def substitutions(code: CodeDifference) -> str:
    """Return the numbers that are replaced throughout a text, as "64 → 128, …"."""
    return ", ".join(f"{before} → {after}" for before, after in code.substitutions)
