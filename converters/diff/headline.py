"""Headline of a difference: one line per change, grouped by kernel, the worst kernel first.

Within a kernel, causes come first: deliberate changes, then the number of launches. Consequences
follow: worse, then changed, then better; among equals in the order of `_GRAVITY`, then by size.
Kernels are ordered by their worst line.
"""

from collections.abc import Iterable, Iterator
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
from kvtrace.text import count, duration, plural

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
#: Graver kinds come first, whatever the size of the change.
_GRAVITY: Final = (
    "findings", "results", "bounds", "time", "spills", "occupancy", "bytes", "sectors", "FLOPs",
    "registers", "shared_bytes",
)  # fmt: skip
#: Deliberate changes, which explain the others.
_CAUSES: Final = ("kernel", "source", "options", "ttir", "glir", "launches")
#: Most facts of a kernel that its line names; the others are counted.
_NAMED: Final = 3
#: Figures that are sums over launches, and the tolerance for "the same per launch".
_SUMS: Final = frozenset({"bytes", "sectors", "FLOPs"})
_SAME: Final = 0.0005


def stage_name(stage: str) -> str:
    """Return a stage's name in outputs."""
    earlier = earlier_stages().get(stage)
    return _STAGE_NAMES.get(stage, stage) if earlier is None else earlier.label


def headline(difference: Difference) -> tuple[HeadlineRow, ...]:
    """Return all lines: the worst kernel first, and in each kernel causes before consequences."""
    rows = [
        *_findings(difference.findings),
        *_results(difference.results),
        *_bounds(bound for bound in difference.bounds if not isinstance(bound.after, str)),
        *(row for time in difference.times for row in _times(time)),
        *(row for kernel in difference.kernels for row in _kernel(kernel)),
    ]
    worst: dict[str, tuple[int, int, float]] = {}
    for row in rows:
        worst[row.kernel] = min(worst.get(row.kernel, _order(row)), _order(row))
    return tuple(sorted(rows, key=lambda row: (worst[row.kernel], row.kernel, *_in_kernel(row))))


def _in_kernel(row: HeadlineRow) -> tuple[int, tuple[int, int, float]]:
    """Return the sort key of a line among the lines of its kernel."""
    if row.level == "work" and row.what == "launches":
        return 1, _order(row)
    return 0 if row.level in _CAUSES else 2, _order(row)


def _order(row: HeadlineRow) -> tuple[int, int, float]:
    kind = row.what if row.level in ("resources", "work") else row.level
    gravity = _GRAVITY.index(kind) if kind in _GRAVITY else len(_GRAVITY)
    return (_DIRECTIONS.index(row.direction), gravity, -_magnitude(row.share))


def _magnitude(share: float | None) -> float:
    """Return the size of a change, where halving equals doubling; infinity without a number."""
    return inf if share is None or share <= -1 else abs(log(1 + share))


def _findings(changes: Iterable[FindingDifference]) -> Iterator[HeadlineRow]:
    """Yield a line for each kernel, rule and status."""
    groups: dict[tuple[str, str, str], list[FindingDifference]] = {}
    for change in changes:
        groups.setdefault((change.finding.kernel, change.finding.rule, change.status), []).append(
            change
        )
    for (kernel, rule, status), members in groups.items():
        finding = members[0].finding
        more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
        where = f", line {finding.line}" if finding.line else ""
        kind = finding.severity if finding.verdict == "violation" else finding.verdict
        what = f"{kind}: {rule}{f' of {finding.arg}' if finding.arg else ''}{where}{more}"
        new = status == "new"
        yield HeadlineRow(
            kernel, "findings", what, None if new else "found", "found" if new else None, None,
            "worse" if new else "better", "exact",
        )  # fmt: skip


def _results(results: Results | None) -> Iterator[HeadlineRow]:
    """Yield a line for the first launch with another result."""
    if results is None or results.first is None:
        return
    first = results.first
    inputs = {True: "equal inputs", False: "other inputs", None: "inputs not known"}[first.inputs]
    more = f" (and {results.differing - 1:,} more)" if results.differing > 1 else ""
    what = f"result of launch {first.order}: {', '.join(first.outputs)}, {inputs}{more}"
    yield HeadlineRow(first.kernel, "results", what, None, None, None, "changed", "exact")


def _bounds(bounds: Iterable[BoundChange]) -> Iterator[HeadlineRow]:
    for bound in bounds:
        numbers = bound.before, bound.after
        share = None
        if isinstance(numbers[0], int) and isinstance(numbers[1], int) and numbers[0]:
            share = numbers[1] / numbers[0] - 1
        before, after = (count(n) if isinstance(n, int) else n or "no limit" for n in numbers)
        yield HeadlineRow(
            bound.kernel, "bounds", bound.what, before, after, share, bound.direction, "exact"
        )


def _times(time: KernelTime) -> Iterator[HeadlineRow]:
    for comparison in time.compared:
        if not comparison.claimed or comparison.ratio is None or comparison.interval is None:
            continue
        low, high = comparison.interval
        yield HeadlineRow(
            time.name, "time", f"{comparison.kind} time, median", duration(comparison.before_ns),
            duration(comparison.after_ns), comparison.ratio - 1,
            "worse" if comparison.ratio > 1 else "better", "measured", (low - 1, high - 1),
        )  # fmt: skip


def _kernel(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    if kernel.status != "changed":
        totals = kernel.after if kernel.status == "added" else kernel.before
        launches = plural(totals.launches, "launch") if totals else "not launched"
        sides = (None, launches) if kernel.status == "added" else (launches, None)
        word = "new kernel" if kernel.status == "added" else "kernel removed"
        yield HeadlineRow(kernel.name, "kernel", word, sides[0], sides[1], None, "changed", "exact")
        return
    yield from _causes(kernel)
    yield from _figure_rows(kernel)


def _causes(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    """Yield one line for all deliberate changes: name, source, options, calls, code."""
    if kernel.renamed_from is not None:
        alike = "" if kernel.similarity is None else f", {kernel.similarity:.0%} alike"
        yield HeadlineRow(
            kernel.name, "kernel", f"renamed{alike}", kernel.renamed_from, kernel.name, None,
            "changed", "exact",
        )  # fmt: skip
    facts = [change for variant in kernel.variants for change in variant.changes]
    texts: dict[str, None] = {}
    level = ""
    if kernel.source is not None:
        texts[f"source -{kernel.source.removed} +{kernel.source.added} lines"] = None
        level = "source"
    texts |= {
        str(change): None
        for change in (*kernel.changes, *facts)
        if kernel.renamed_from is None or change.what != "name"
    }
    level = level or ("options" if texts else "")
    for status in ("added", "removed"):
        number = sum(variant.status == status for variant in kernel.variants)
        if number:
            texts[f"{plural(number, 'variant')} {status}"] = None
    calls = {str(call.change): None for variant in kernel.variants for call in variant.calls}
    calls |= {text: None for variant in kernel.variants for text in _call_counts(variant)}
    stages = {text: None for variant in kernel.variants for text in _stages(variant)}
    words = [*texts, *stages, *calls]
    if words:
        level = level or ("ttir" if stages else "launches")
        hidden = len(words) - _NAMED
        what = "; ".join(words[:_NAMED]) + (f"; {hidden} more" if hidden > 0 else "")
        yield HeadlineRow(kernel.name, level, what, None, None, None, "changed", "exact")


def _call_counts(variant: VariantDifference) -> Iterator[str]:
    if variant.calls_added:
        yield f"{plural(variant.calls_added, 'unique call')} new"
    if variant.calls_removed:
        yield f"{plural(variant.calls_removed, 'unique call')} gone"


def _stages(variant: VariantDifference) -> Iterator[str]:
    """Yield the changes in the first stage that differs, which explains later stages."""
    code = variant.code
    if code is None:
        return
    if code.substitutions and not code.lines:
        numbers = ", ".join(f"{before} → {after}" for before, after in code.substitutions)
        yield f"{stage_name(code.stage)} the same except for {numbers}"
        return
    for stage in variant.stages:
        if words := stage_words(stage):  # where LLVM IR has none, PTX does
            yield f"{stage_name(stage.stage)} {words}"
            return
    yield f"{stage_name(code.stage)} -{code.removed} +{code.added} lines"


def stage_words(stage: StageDifference, most: int | None = _NAMED) -> str:
    """Return a short text on a stage's changes: ops added, removed, moved, altered."""
    words = [f"{c.after - c.before:+,d} {c.what}" for c in stage.counts]
    words += [f"{number:,} {op} moved" for op, number in stage.moved]
    words += [f"{number:,} {op} altered" for op, number in stage.altered]
    hidden = 0 if most is None else len(words) - most
    return ", ".join(words[:most]) + (f", {hidden} more" if hidden > 0 else "")


def _figure_rows(kernel: KernelDifference) -> Iterator[HeadlineRow]:
    """Yield a line for each figure; of several variants, that of the worst one."""
    by_name: dict[str, list[Figure]] = {}
    for variant in kernel.variants:
        for figure in variant.figures:
            by_name.setdefault(figure.name, []).append(figure)
    for figures in by_name.values():
        worst = min(figures, key=_figure_order)
        more = f" (of {len(figures)} variants)" if len(figures) > 1 else ""
        yield _row(kernel.name, "resources", worst, more)
    for figure in kernel.figures:
        if figure.certainty != "measured":  # one compilation's time is not a change by itself
            yield _row(kernel.name, "work", figure, _per_launch(kernel, figure))


def _per_launch(kernel: KernelDifference, figure: Figure) -> str:
    """Return a text on the change per launch, if a sum's number of launches changed."""
    sides = kernel.before, kernel.after
    launches = [side.launches if side is not None else 0 for side in sides]
    if figure.name not in _SUMS or launches[0] == launches[1] or not all(launches):
        return ""
    before, after = figure.before / launches[0], figure.after / launches[1]
    if not before or abs(after / before - 1) < _SAME:
        return " (per launch the same)"
    return f" (per launch {after / before - 1:+.1%})"


def _figure_order(figure: Figure) -> tuple[int, float]:
    return _DIRECTIONS.index(figure.direction), -_magnitude(figure.share)


def _row(kernel: str, level: str, figure: Figure, more: str) -> HeadlineRow:
    before, after = figure_values(figure)
    return HeadlineRow(
        kernel, level, figure.name, before, f"{after}{more}", figure.share, figure.direction,
        figure.certainty,
    )  # fmt: skip
