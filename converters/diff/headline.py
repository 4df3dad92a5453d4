"""Headline of a difference: one line per change, grouped by kernel, the worst kernel first.

Within a kernel, causes come first: deliberate changes, then the number of launches. Consequences
follow: worse, then changed, then better; then in the order of `_GRAVITY`, then by size. Kernels are
ordered by their worst line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf, log
from typing import Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.figures import figure_values
from kvtrace.converters.diff.model import (
    BoundChange,
    Difference,
    Figure,
    FindingDifference,
    HeadlineRow,
    KernelDifference,
    KernelTime,
    Results,
    StageDifference,
    VariantDifference,
)
from kvtrace.converters.diff.words import (
    HEADLINE_COLUMNS,
    call_counts,
    row_cells,
    substitutions,
)
from kvtrace.text import columns, count, duration, plural

#: Rows that fit on a screen, with the text around the table.
SHOWN: Final = 16
_CHANGE, _BASIS = (HEADLINE_COLUMNS.index(name) for name in ("change", "basis"))
_TEXTS: Final = tuple(i for i in range(len(HEADLINE_COLUMNS)) if i != _CHANGE)
_STAGE_NAMES: Final = {
    "source": "source",
    "ttir": "TTIR",
    "glir": "GLIR",
    "ttgir": "TTGIR",
    "llir": "LLVM IR",
    "ptx": "PTX",
    "amdgcn": "AMDGCN",
    "sass": "SASS",
}
_DIRECTIONS: Final = ("worse", "changed", "better")
#: Kinds of changes, the gravest first, regardless of the size of the change.
_GRAVITY: Final = (
    "findings", "results", "bounds", "time", "spills", "occupancy", "bytes", "sectors", "FLOPs",
    "registers", "shared_bytes",
)  # fmt: skip
#: Levels of deliberate changes, which explain the others.
_CAUSES: Final = ("kernel", "source", "options", "ttir", "glir", "launches")
#: Most facts that a kernel's line lists; further ones are counted.
_NAMED: Final = 3
#: Figures that are sums over launches, and the largest change that counts as "per launch the same".
_SUMS: Final = frozenset({"bytes", "sectors", "FLOPs"})
_SAME_PER_LAUNCH: Final = 0.0005


def stage_name(stage: str) -> str:
    """Return the name of a stage as outputs show it ("TTIR" for "ttir")."""
    earlier = earlier_stages().get(stage)
    return _STAGE_NAMES.get(stage, stage) if earlier is None else earlier.label


def headline(difference: Difference) -> tuple[HeadlineRow, ...]:
    """Return the lines of the headline: the worst kernel first, causes before consequences."""
    rows = [
        *_finding_rows(difference.findings),
        *_result_rows(difference.results),
        *_bound_rows(bound for bound in difference.bounds if not bound.is_condition),
        *(row for time in difference.times for row in _time_rows(time)),
        *(row for kernel in difference.kernels for row in _kernel_rows(kernel)),
    ]
    worst_by_kernel: dict[str, tuple[int, int, float]] = {}
    for row in rows:
        worst_by_kernel[row.kernel] = min(worst_by_kernel.get(row.kernel, _order(row)), _order(row))
    return tuple(
        sorted(
            rows, key=lambda row: (worst_by_kernel[row.kernel], row.kernel, *_order_in_kernel(row))
        )
    )


def _order_in_kernel(row: HeadlineRow) -> tuple[int, tuple[int, int, float]]:
    """Return the sort key of a line among those of its kernel: causes, launches, consequences."""
    if row.level == "work" and row.what == "launches":
        return 1, _order(row)
    return 0 if row.level in _CAUSES else 2, _order(row)


def _order(row: HeadlineRow) -> tuple[int, int, float]:
    kind = row.what if row.level in ("resources", "work") else row.level
    gravity = _GRAVITY.index(kind) if kind in _GRAVITY else len(_GRAVITY)
    return (_DIRECTIONS.index(row.direction), gravity, -_magnitude(row.share))


def _magnitude(share: float | None) -> float:
    """Return the size of a relative change (halving equals doubling); infinity for None or -1."""
    return inf if share is None or share <= -1 else abs(log(1 + share))


def _finding_rows(changes: Iterable[FindingDifference]) -> Iterator[HeadlineRow]:
    """Yield a line for each kernel, rule and status of findings."""
    changes_by_rule: dict[tuple[str, str, str], list[FindingDifference]] = {}
    for change in changes:
        changes_by_rule.setdefault(
            (change.finding.kernel, change.finding.rule, change.status), []
        ).append(change)
    for (kernel, rule, status), members in changes_by_rule.items():
        finding = members[0].finding
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        line_text = f", line {finding.line}" if finding.line else ""
        kind = finding.severity if finding.verdict == "violation" else finding.verdict
        what = f"{kind}: {rule}{f' of {finding.arg}' if finding.arg else ''}{line_text}{more}"
        is_new = status == "new"
        yield HeadlineRow(
            kernel, "findings", what, None if is_new else "found", "found" if is_new else None,
            None, "worse" if is_new else "better", "exact",
        )  # fmt: skip


def _result_rows(results: Results | None) -> Iterator[HeadlineRow]:
    """Yield a line for the first launch with another result, if there is one."""
    if results is None or results.first is None:
        return
    differing = results.first
    inputs = {True: "equal inputs", False: "other inputs", None: "inputs not known"}[
        differing.inputs
    ]
    more = f" (and {results.differing - 1:,} more)" if results.differing > 1 else ""
    call = differing.title.partition(" of ")[0]
    what = f"result of {call}: {', '.join(differing.outputs)}, {inputs}{more}"
    yield HeadlineRow(differing.kernel, "results", what, None, None, None, "changed", "exact")


def _bound_rows(bounds: Iterable[BoundChange]) -> Iterator[HeadlineRow]:
    for bound in bounds:
        values = bound.before, bound.after
        share = None
        if isinstance(values[0], int) and isinstance(values[1], int) and values[0]:
            share = values[1] / values[0] - 1
        before, after = (count(n) if isinstance(n, int) else n or "no limit" for n in values)
        yield HeadlineRow(
            bound.kernel, "bounds", bound.what, before, after, share, bound.direction, "exact"
        )


def _time_rows(time: KernelTime) -> Iterator[HeadlineRow]:
    for comparison in time.compared:
        if not comparison.claimed or comparison.ratio is None or comparison.interval is None:
            continue
        low, high = comparison.interval
        yield HeadlineRow(
            time.name, "time", f"{comparison.kind} time, median", duration(comparison.before_ns),
            duration(comparison.after_ns), comparison.ratio - 1,
            "worse" if comparison.ratio > 1 else "better", "measured", (low - 1, high - 1),
        )  # fmt: skip


def _kernel_rows(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    if kernel.status != "changed":
        totals = kernel.after if kernel.status == "added" else kernel.before
        launches = plural(totals.launches, "launch") if totals else "not launched"
        sides = (None, launches) if kernel.status == "added" else (launches, None)
        word = "new kernel" if kernel.status == "added" else "kernel removed"
        yield HeadlineRow(kernel.name, "kernel", word, sides[0], sides[1], None, "changed", "exact")
        return
    yield from _cause_rows(kernel)
    yield from _figure_rows(kernel)


def _cause_rows(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    """Yield a line for a renamed kernel, and one for its first `_NAMED` kinds of changes."""
    if kernel.renamed_from is not None:
        alike_text = "" if kernel.similarity is None else f", {kernel.similarity:.0%} alike"
        yield HeadlineRow(
            kernel.name, "kernel", f"renamed{alike_text}", kernel.renamed_from, kernel.name, None,
            "changed", "exact",
        )  # fmt: skip
    facts = [change for variant in kernel.variants for change in variant.changes]
    change_texts: dict[str, None] = {}
    level = ""
    if kernel.source is not None:
        change_texts[f"source -{kernel.source.removed} +{kernel.source.added} lines"] = None
        level = "source"
    change_texts |= {
        str(change): None
        for change in (*kernel.changes, *facts)
        if kernel.renamed_from is None or change.what != "name"
    }
    level = level or ("options" if change_texts else "")
    for status in ("added", "removed"):
        number = sum(variant.status == status for variant in kernel.variants)
        if number:
            change_texts[f"{plural(number, 'variant')} {status}"] = None
    calls = {str(call.change): None for variant in kernel.variants for call in variant.calls}
    calls |= {text: None for v in kernel.variants for text in call_counts(v, unread=False)}
    stages = {text: None for variant in kernel.variants for text in _stage_texts(variant)}
    phrases = [*change_texts, *stages, *calls]
    if phrases:
        level = level or ("ttir" if stages else "launches")
        hidden = len(phrases) - _NAMED
        what = "; ".join(phrases[:_NAMED]) + (f"; {hidden} more" if hidden > 0 else "")
        yield HeadlineRow(kernel.name, level, what, None, None, None, "changed", "exact")


def _stage_texts(variant: VariantDifference) -> Iterator[str]:
    """Yield a text on the changes in the first stage that differs, which explains later stages."""
    code = variant.code
    if code is None:
        return
    if code.substitutions and not code.lines:
        yield f"{stage_name(code.stage)} the same except for {substitutions(code)}"
        return
    for stage in variant.stages:
        if words := stage_words(stage):  # the first stage with counted changes
            yield f"{stage_name(stage.stage)} {words}"
            return
    yield f"{stage_name(code.stage)} -{code.removed} +{code.added} lines"


def stage_words(stage: StageDifference, most: int | None = _NAMED) -> str:
    """Return a text on a stage's changes: ops added, removed, moved, altered; at most `most`."""
    words = [f"{c.after - c.before:+,d} {c.what}" for c in stage.counts]
    words += [f"{number:,} {op} moved" for op, number in stage.moved]
    words += [f"{number:,} {op} altered" for op, number in stage.altered]
    hidden = 0 if most is None else len(words) - most
    return ", ".join(words[:most]) + (f", {hidden} more" if hidden > 0 else "")


def _figure_rows(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    """Yield a line for each changed figure; of several variants, for the worst one."""
    by_name: dict[str, list[Figure]] = {}
    for variant in kernel.variants:
        for figure in variant.figures:
            by_name.setdefault(figure.name, []).append(figure)
    for figures in by_name.values():
        worst = min(figures, key=_figure_order)
        more = f" (of {len(figures)} variants)" if len(figures) > 1 else ""
        yield _figure_row(kernel.name, "resources", worst, more)
    for figure in kernel.figures:
        if figure.certainty != "measured":  # a measured compile time varies from run to run
            yield _figure_row(kernel.name, "work", figure, _per_launch(kernel, figure))


def _per_launch(kernel: KernelDifference, figure: Figure) -> str:
    """Return a text on the change per launch of a sum whose number of launches changed, else ""."""
    sides = kernel.before, kernel.after
    launches = [side.launches if side is not None else 0 for side in sides]
    if figure.name not in _SUMS or launches[0] == launches[1] or not all(launches):
        return ""
    before, after = figure.before / launches[0], figure.after / launches[1]
    if not before or abs(after / before - 1) < _SAME_PER_LAUNCH:
        return " (per launch the same)"
    return f" (per launch {after / before - 1:+.1%})"


def _figure_order(figure: Figure) -> tuple[int, float]:
    return _DIRECTIONS.index(figure.direction), -_magnitude(figure.share)


def _figure_row(kernel: str, level: str, figure: Figure, more: str) -> HeadlineRow:
    before, after = figure_values(figure)
    return HeadlineRow(
        kernel, level, figure.name, before, f"{after}{more}", figure.share, figure.direction,
        figure.certainty,
    )  # fmt: skip


def headline_table(rows: Sequence[HeadlineRow], width: int, *, full: bool = False) -> list[str]:
    """Return the lines of the table of `rows`, which are sorted; [] without rows.

    Unless `full`, only the first rows are shown, and the hidden ones are counted by direction.
    """
    if not rows:
        return []
    shown_rows = rows if full else rows[:SHOWN]
    cells = [(row.kernel or "(no name)", *row_cells(row)) for row in shown_rows]
    lines = columns(HEADLINE_COLUMNS, cells, width, texts=_TEXTS, optional=(_BASIS,))
    hidden_by_direction = Counter(row.direction for row in rows[len(shown_rows) :])
    if hidden_by_direction:
        kinds = ", ".join(
            f"{hidden_by_direction[direction]} {direction}"
            for direction in ("worse", "changed", "better")
        )
        lines.append(f"… {plural(hidden_by_direction.total(), 'more line')}: {kinds} (-v)")
    return lines
