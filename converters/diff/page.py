"""Page of a `Difference`: the report of AFTER with the data of the view "compare".

The block "compare" is JSON: changed texts as rows of lines side by side, and figures as pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.headline import stage_words
from kvtrace.converters.diff.model import (
    CodeDifference,
    DeviceDifference,
    Difference,
    FindingDifference,
    HeadlineRow,
    KernelDifference,
    Side,
    SourceDifference,
    Totals,
    VariantDifference,
)
from kvtrace.converters.diff.page_texts import PageTexts
from kvtrace.converters.diff.render import gate_object
from kvtrace.converters.diff.words import (
    DEVICE_TOTAL,
    answer_text,
    bounds_text,
    share_text,
    summary,
    sure_text,
    unjudged_sides,
    values_text,
)
from kvtrace.converters.profile.specialization import Change
from kvtrace.figures.kernels import FURTHER, KERNEL_FIGURES

if TYPE_CHECKING:
    from kvtrace.converters.report import WrittenPage
    from kvtrace.schema.trace import Selection

__all__ = ["comparison_object", "write_comparison"]

_LAUNCH_FIGURES: Final = ("launches", "host_ns", "host_median_ns", "device_ns", "device_median_ns")
#: The figures of `Totals`: name, unit, and whether they were measured.
_METRICS: Final = (
    *((name, KERNEL_FIGURES[name].unit, True) for name in _LAUNCH_FIGURES),
    ("compile_ns", "ns", True),
    ("bytes", "bytes", False),
    ("flops", "count", False),
    ("sectors", "count", False),
)
#: Most rows of code on a page; if there are more, only changed lines with their context.
_MOST_ROWS: Final = 20_000

Row = tuple[str, int | None, str | None, int | None, str | None]
"""Kind (same, changed, removed, added or gap), then number and text of the line, per side."""


def write_comparison(
    difference: Difference,
    after: "Selection",
    path: Path,
    *,
    before: "Selection | None" = None,
    gate: Gate | None = None,
    max_mb: float = 20.0,
    source: bool = True,
) -> "WrittenPage":
    """Write the report of AFTER with the difference as one page of at most `max_mb` MiB.

    With `before`, the page has all texts of changed kernels, to show any two side by side. Without
    `source`, it has no code of the program.

    Raises:
        BadSetting: the budget is too small, or the file cannot be written.
    """
    import shlex

    from kvtrace.converters.report import report_data, write_report
    from kvtrace.converters.report.pack import json_block

    folder = shlex.quote(f"{after.trace.path}/")
    title = f"{difference.before.label} → {difference.after.label}"
    report = report_data(after.trace, after.runs, title, folder)
    texts = PageTexts((before, after)) if source and before is not None else None
    comparison = comparison_object(difference, gate=gate, source=source, texts=texts)
    kernel_indexes = {(k.name, k.module, k.file): index for index, k in enumerate(report.kernels)}
    for kernel in comparison["kernels"]:
        identity = kernel["name"] or "(no name)", kernel["module"], kernel["file"]
        kernel["kernel"] = kernel_indexes.get(identity)
    blocks = {"compare": json_block(comparison)}
    blocks |= {name: json_block(value) for name, value in (texts.blocks if texts else {}).items()}
    return write_report(report, after, path, max_mb, source=source, blocks=blocks)


def comparison_object(
    difference: Difference,
    *,
    gate: Gate | None = None,
    source: bool = True,
    texts: PageTexts | None = None,
) -> dict[str, Any]:
    """Return the JSON of the block "compare"; without `source`, it has no code of the program.

    Blocks of texts that the page reads on demand are added to `texts`.
    """
    rows = sum(
        len(text_difference.whole)
        for kernel in difference.kernels
        for text_difference in (kernel.source, *(variant.code for variant in kernel.variants))
        if text_difference is not None
    )
    has_whole_texts = rows <= _MOST_ROWS
    return {
        "empty": difference.empty,
        "answers": [
            {"question": answer.question, "word": answer.word, "text": answer_text(answer)}
            for answer in difference.answers
        ],
        "summary": summary(difference),
        "before": _side_dict(difference.before),
        "after": _side_dict(difference.after),
        "headline": [_headline_row(row, source) for row in difference.headline],
        "gate": gate_object(gate or Gate([])),
        "metrics": _metrics(difference.before.totals, difference.after.totals),
        "same_kernels": difference.same_kernels,
        "kernels": [
            _kernel(kernel, source, has_whole_texts, texts) for kernel in difference.kernels
        ],
        "findings": [_finding(text_difference, source) for text_difference in difference.findings],
        "unjudged": unjudged_sides(difference),
        "bounds": [asdict(bound) for bound in difference.bounds],
        "bounds_unjudged": bounds_text(difference),
        "times": [
            {"name": time.name, "metrics": _metrics(time.before, time.after)}
            for time in difference.times
        ],
        "device": [] if difference.device is None else _device_rows(difference.device),
        "context": _changes(difference.context),
        "notes": list(difference.notes),
    }


def _headline_row(row: HeadlineRow, source: bool) -> dict[str, Any]:
    """Return a headline row as a dict with its texts; without `source`, no ops are named."""
    texts = {"values": values_text(row), "by": share_text(row), "sure": sure_text(row)}
    if not source and row.level in ("source", "options", "ttir", "glir"):
        texts["what"] = row.level
    return asdict(row) | texts


def _device_rows(device: DeviceDifference) -> list[dict[str, Any]]:
    """Return all device time by name as dicts; the total of all rows comes first."""
    total: list[int | None] = [device.before_ns, device.after_ns]
    rows = [(DEVICE_TOTAL, "", total)]
    for row in device.rows:
        sides = [None if side is None else side.device_ns for side in (row.before, row.after)]
        rows.append((row.name, row.kind, sides))
    return [
        {"name": name, "kind": kind, "metric": _metric("device_ns", "ns", pair, measured=True)}
        for name, kind, pair in rows
    ]


def _side_dict(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "runs": list(side.runs),
        "commit": side.commit,
        "kernels": side.kernels,
    }


def _metrics(before: Totals | None, after: Totals | None) -> list[dict[str, Any]]:
    """Return a dict per figure of `Totals` that at least one side has."""
    metrics = []
    for name, unit, measured in _METRICS:
        pair = [None if side is None else getattr(side, name) for side in (before, after)]
        if pair != [None, None]:
            metrics.append(_metric(name, unit, pair, measured=measured))
    for figure in FURTHER:
        pair = [
            None if side is None else figure.shown(side.further or {}) for side in (before, after)
        ]
        if pair != [None, None]:
            metrics.append(_metric(figure.name, figure.unit, pair, measured=True))
    return metrics


def _metric(name: str, unit: str, pair: Sequence[Any], *, measured: bool) -> dict[str, Any]:
    before, after = pair
    return {
        "name": name, "unit": unit, "measured": measured, "before": before, "after": after,
    }  # fmt: skip


def _kernel(
    kernel: KernelDifference, source: bool, whole: bool, texts: PageTexts | None
) -> dict[str, Any]:
    return {
        "status": kernel.status,
        "name": kernel.name,
        "module": kernel.module,
        "file": kernel.file,
        "line": kernel.line,
        "kernel": None,
        "renamed_from": kernel.renamed_from,
        "similarity": kernel.similarity,
        "changes": _changes(kernel.changes),
        "metrics": _metrics(kernel.before, kernel.after),
        "source": _source(kernel.source, whole) if source and kernel.source else None,
        "variants": [_variant(variant, source, whole, texts) for variant in kernel.variants],
    }


def _variant(
    variant: VariantDifference, source: bool, whole: bool, texts: PageTexts | None
) -> dict[str, Any]:
    return {
        "status": variant.status,
        "label": variant.label,
        "changes": _changes(variant.changes),
        "resources": [
            _metric(
                change.what,
                "bytes" if change.what.endswith("bytes") else "count",
                [_int_or_none(change.before), _int_or_none(change.after)],
                measured=True,
            )
            for change in variant.resources
        ],
        "work": _changes(variant.work),
        "times": _changes(variant.times),
        "metrics": _metrics(variant.before, variant.after),
        "calls": [{**asdict(call.change), "calls": call.calls} for call in variant.calls],
        "calls_unread": variant.calls_unread,
        "calls_added": variant.calls_added,
        "calls_removed": variant.calls_removed,
        "code": _code(variant.code, whole) if source and variant.code else None,
        "stages": [
            {"stage": stage.stage, "words": stage_words(stage, most=None)}
            for stage in (variant.stages if source else ())
        ],
        "texts": texts.texts(variant) if texts else [],
        "aligned": _aligned(variant, texts) if texts else [],
    }


def _aligned(variant: VariantDifference, texts: PageTexts) -> list[dict[str, Any]]:
    """Return a dict per later stage that differs; the block with its rows is added to `texts`."""
    return [
        {
            "stage": stage,
            "removed": code.removed,
            "added": code.added,
            "block": texts.add(_code(code, whole=True)),
        }
        for stage, code in texts.aligned(variant)
    ]


def _int_or_none(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _source(source: SourceDifference, whole: bool) -> dict[str, Any]:
    lines = source.whole if whole else source.lines[2:]
    first = source.first_lines if whole else (None, None)
    return {
        "removed": source.removed,
        "added": source.added,
        "rows": _text_rows(lines, first),
    }


def _code(code: CodeDifference, whole: bool) -> dict[str, Any]:
    return {
        "stage": code.stage,
        "removed": code.removed,
        "added": code.added,
        "substitutions": [list(pair) for pair in code.substitutions],
        "substituted_lines": code.substituted_lines,
        # Locations and comments were removed, so the text's own line numbers are not known.
        "rows": _text_rows(code.whole if whole else code.all_lines, (None, None)),
    }


def _text_rows(lines: Iterable[str], first: tuple[int | None, int | None]) -> list[Row]:
    """Return lines of a unified difference as rows, removed lines beside the added ones after them.

    `first` has the number of each side's first line; None: its lines have no numbers.
    """
    rows: list[Row] = []
    next_numbers = list(first)
    removed: list[str] = []
    added: list[str] = []
    for line in (*lines, "@@"):
        mark, text = line[:1], line[1:]
        if mark == "-":
            removed.append(text)
        elif mark == "+":
            added.append(text)
        else:
            pairs = zip_longest(removed, added)
            rows += [_text_row(next_numbers, before, after) for before, after in pairs]
            removed, added = [], []
            rows.append(
                ("gap", None, None, None, None)
                if mark == "@"
                else _text_row(next_numbers, text, text)
            )
    return rows[:-1]


def _text_row(next_numbers: list[int | None], before: str | None, after: str | None) -> Row:
    """Return the row of one line per side (None: no line), and advance `next_numbers` in place."""
    numbers = [
        None if text is None else next_numbers[side] for side, text in enumerate((before, after))
    ]
    for side, number in enumerate(numbers):
        next_numbers[side] = next_numbers[side] if number is None else number + 1
    kind = "same" if before == after else "changed"
    if before is None or after is None:
        kind = "added" if before is None else "removed"
    return (kind, numbers[0], before, numbers[1], after)


def _changes(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [asdict(change) for change in changes]


def _finding(change: FindingDifference, source: bool) -> dict[str, Any]:
    finding = change.finding
    if not source:
        finding = replace(finding, source=None, expression=None)
    return {"status": change.status, "finding": asdict(replace(finding, stack=(), other_stack=()))}
