"""Page of a `Difference`: the report of AFTER with the data of the view "compare".

The block "compare" is JSON: changed texts as rows of lines side by side, and figures as pairs.
Texts of both sides have blocks of their own, which the page reads on demand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import Any, Final

from kvtrace.converters.diff.code import code_stages, compare_code
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
from kvtrace.converters.profile.recompiles import Change
from kvtrace.converters.report import ReportPage
from kvtrace.figures.kernels import FURTHER, KERNEL_FIGURES
from kvtrace.schema.trace import Selection

#: Most characters of all texts on a page; gzip reduces them to a tenth.
_MOST_CHARACTERS: Final = 30_000_000
#: Most lines of a text to align with another, and of all aligned texts, since it takes seconds.
_MOST_LINES: Final = 4_000
_MOST_ALIGNED: Final = 100_000


class PageTexts:
    """Builder of a page's text blocks, in `blocks` by name: each text once, up to a size limit."""

    def __init__(self, sides: tuple[Selection, Selection]) -> None:
        self._sides = sides
        self._names: dict[tuple[int, str], str | None] = {}
        self._room = _MOST_CHARACTERS
        self._lines = _MOST_ALIGNED
        self.blocks: dict[str, Any] = {}

    def texts(self, variant: VariantDifference) -> list[dict[str, Any]]:
        """Return a row per stage of a variant: its name, and the names of both texts' blocks.

        The blocks are added. A name is None if the text is missing or does not fit.
        """
        entries = [
            {"stage": stage, "before": self._block(0, before), "after": self._block(1, after)}
            for stage, before, after in variant.artifacts
        ]
        return [entry for entry in entries if entry["before"] or entry["after"]]

    def aligned(self, variant: VariantDifference) -> list[tuple[str, CodeDifference]]:
        """Return the differences of the stages after `variant.code`, by stage.

        Stages with too many lines to align are left out.
        """
        differences = []
        for stage, before, after in variant.artifacts:
            is_shown = variant.code and variant.code.stage == stage
            if before == after or stage not in code_stages() or is_shown:
                continue
            old, new = self._text(0, before), self._text(1, after)
            if old is None or new is None:
                continue
            line_counts = old.count("\n"), new.count("\n")
            if max(line_counts) > _MOST_LINES or sum(line_counts) > self._lines:
                continue
            self._lines -= sum(line_counts)
            code = compare_code(stage, old, new)
            if code is not None:
                differences.append((stage, code))
        return differences

    def add(self, value: Any) -> str:
        """Add a block with a JSON value, and return the block's name."""
        name = f"compare-text/{len(self.blocks)}"
        self.blocks[name] = value
        return name

    def _block(self, side: int, sha256: str | None) -> str | None:
        if sha256 is None:
            return None
        key = (side, sha256)
        if key not in self._names:
            text = self._text(side, sha256)
            if text is None or len(text) > self._room:
                self._names[key] = None
            else:
                self._room -= len(text)
                self._names[key] = self.add({"text": text})
        return self._names[key]

    def _text(self, side: int, sha256: str | None) -> str | None:
        content = self._sides[side].trace.artifact(sha256)
        return None if content is None else content.decode("utf-8", "replace")


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


def comparison_page(
    difference: Difference, sides: tuple[Selection, Selection], gate: Gate
) -> ReportPage:
    """Return the report of AFTER with the difference as one page of at most 20 MiB.

    The page has all texts of changed kernels, to show any two side by side.

    Raises:
        BadSetting: the page cannot be made that small.
    """
    import shlex

    from kvtrace.converters.report import report_data, report_page
    from kvtrace.converters.report.pack import json_block

    after = sides[1]
    folder = shlex.quote(f"{after.trace.path}/")
    title = f"{difference.before.label} → {difference.after.label}"
    report = report_data(after.trace, after.runs, title, folder)
    texts = PageTexts(sides)
    comparison = comparison_object(difference, gate=gate, texts=texts)
    kernel_indexes = {(k.name, k.module, k.file): index for index, k in enumerate(report.kernels)}
    for kernel in comparison["kernels"]:
        identity = kernel["name"] or "(no name)", kernel["module"], kernel["file"]
        kernel["kernel"] = kernel_indexes.get(identity)
    blocks = {"compare": json_block(comparison)}
    blocks |= {name: json_block(value) for name, value in texts.blocks.items()}
    return report_page(report, after, blocks=blocks, start="compare")


def comparison_object(
    difference: Difference, *, gate: Gate | None = None, texts: PageTexts | None = None
) -> dict[str, Any]:
    """Return the JSON of the block "compare".

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
        "before": _fields(difference.before, _SIDE),
        "after": _fields(difference.after, _SIDE),
        "headline": [_headline_row(row) for row in difference.headline],
        "gate": gate_object(gate or Gate([])),
        "metrics": _metrics(difference.before.totals, difference.after.totals),
        "same_kernels": difference.same_kernels,
        "kernels": [_kernel(kernel, has_whole_texts, texts) for kernel in difference.kernels],
        "findings": [_finding(change) for change in difference.findings],
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


def _headline_row(row: HeadlineRow) -> dict[str, Any]:
    """Return a headline row as a dict with its texts."""
    texts = {"values": values_text(row), "by": share_text(row), "sure": sure_text(row)}
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


#: Fields that the page has as they are.
_SIDE: Final = ("label", "runs", "commit", "kernels")
_KERNEL: Final = ("status", "name", "module", "file", "line")


def _fields(of: Side | KernelDifference | CodeDifference, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


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


def _kernel(kernel: KernelDifference, whole: bool, texts: PageTexts | None) -> dict[str, Any]:
    return {
        **_fields(kernel, _KERNEL),
        "kernel": None,
        "renamed_from": kernel.renamed_from,
        "similarity": kernel.similarity,
        "changes": _changes(kernel.changes),
        "metrics": _metrics(kernel.before, kernel.after),
        "source": _source(kernel.source, whole) if kernel.source else None,
        "variants": [_variant(variant, whole, texts) for variant in kernel.variants],
    }


def _variant(variant: VariantDifference, whole: bool, texts: PageTexts | None) -> dict[str, Any]:
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
        "code": _code(variant.code, whole) if variant.code else None,
        "stages": [
            {"stage": stage.stage, "words": stage_words(stage, most=None)}
            for stage in variant.stages
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
    lines = source.whole if whole else source.lines[2:]  # without the names of both files
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


def _finding(change: FindingDifference) -> dict[str, Any]:
    finding = replace(change.finding, stack=(), other_stack=())
    return {"status": change.status, "finding": asdict(finding)}
