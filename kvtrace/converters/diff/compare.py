"""Two snapshots → a `Difference`: match kernels, then variants, then say what changed.

Counted as a difference: sources, code, compile options, resources, calls, launches, work (bytes,
FLOPs) and findings. Not counted, because two runs of the same program differ in them: times (unless
a threshold is given), ids, addresses, recorded tensor values, how often an autotuner tried a
variant, and which of the same variants it then chose. Versions and machines are context.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.calls import compare_calls
from kvtrace.converters.diff.code import FIRST_STAGES, STAGES, compare_code
from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.match import match_kernels, match_variants, nearest
from kvtrace.converters.diff.model import (
    CodeDifference,
    Difference,
    FindingDifference,
    KernelDifference,
    KernelTime,
    Side,
    SourceDifference,
    Totals,
    VariantDifference,
)
from kvtrace.converters.diff.snapshot import (
    KernelKey,
    Snapshot,
    Variant,
    sum_totals,
    take_snapshot,
)
from kvtrace.converters.findings import Finding, Findings, read_findings
from kvtrace.converters.specialization import Change, changes
from kvtrace.text import count, duration, plural, size

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Selection

_RESOURCES: Final = ("registers", "spills", "shared_bytes")


@dataclass(frozen=True, slots=True)
class _Pairing:
    before: Snapshot
    after: Snapshot
    time_threshold: float | None


def compare(
    before: "Selection",
    after: "Selection",
    *,
    labels: tuple[str, str] = ("before", "after"),
    time_threshold: float | None = None,
    gate: Gate | None = None,
) -> Difference:
    """Compare the runs of two selections.

    Args:
        before: The runs to start from.
        after: The runs to compare with them.
        labels: What to call the sides.
        time_threshold: Share (0.1 is 10 %) from which a change of a variant's median device time,
            or host time where there is none, counts as a difference. None: never.
        gate: Rules that are judged on all that AFTER has; it keeps what breaks them.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    pairing = _Pairing(
        take_snapshot(before, labels[0]), take_snapshot(after, labels[1]), time_threshold
    )
    a, b = pairing.before, pairing.after
    matched, removed, added = match_kernels(a.kernels, b.kernels)
    kernels = [_whole_kernel("removed", a.kernels[key]) for key in removed]
    kernels += [_whole_kernel("added", b.kernels[key]) for key in added]
    notes: list[str] = []
    for before_key, after_key in matched:
        found = _kernel(pairing, a.kernels[before_key], b.kernels[after_key], notes)
        if found is not None:
            kernels.append(found)
    changed = sum(kernel.status == "changed" for kernel in kernels)
    judged = read_findings(before.trace, before.runs), read_findings(after.trace, after.runs)
    findings = _findings(*judged, notes)
    if gate is not None:
        _judge(gate, pairing, (*matched, *((None, key) for key in added)))
        gate.compare_findings(findings, judged=all(side.analysed for side in judged))
    return Difference(
        before=_side(a, judged[0]),
        after=_side(b, judged[1]),
        kernels=tuple(kernels),
        same_kernels=len(matched) - changed,
        findings=findings,
        context=_context(a.runs, b.runs),
        notes=(*_side_notes(a, b), *notes),
        times=_times(a, b, matched),
    )


def _judge(
    gate: Gate, pairing: _Pairing, keys: Iterable[tuple[KernelKey | None, KernelKey]]
) -> None:
    """Judge each kernel of AFTER, with the one of BEFORE that it is matched with, if any."""
    a, b = pairing.before, pairing.after
    for before_key, after_key in keys:
        before = [] if before_key is None else a.kernels[before_key]
        after = b.kernels[after_key]
        name = after[0].row["name"] or ""
        pairs, _, new = match_variants(before, after)
        gate.compare_variants(name, [*pairs, *((None, variant) for variant in new)])
        totals = None if before_key is None else a.kernel_totals(before_key)
        gate.compare_kernels(name, totals, b.kernel_totals(after_key))


def _kernel(
    pairing: _Pairing, before: list[Variant], after: list[Variant], notes: list[str]
) -> KernelDifference | None:
    pairs, gone, new = match_variants(before, after)
    source = _source(pairing, before[0], after[0])
    chosen_by_tuner = not gone and not new and _tuned_alike(before, after)
    variants = [
        found
        for a, b in pairs
        if (found := _variant(pairing, a, b, launches=not chosen_by_tuner)) is not None
    ]
    variants += [_whole_variant("removed", v, nearest(v, after)) for v in gone]
    variants += [_whole_variant("added", v, nearest(v, before)) for v in new]
    facts = changes(_place(before[0]), _place(after[0]))
    if chosen_by_tuner and [_run(v) for v, _ in pairs] != [_run(v) for _, v in pairs]:
        notes.append(
            f"{before[0].key[1]}: the autotuner launched other variants of the same set "
            "(it decides by time)"
        )
    if not variants and source is None and not facts:
        return None
    row = after[0].row
    return KernelDifference(
        status="changed",
        name=row["name"] or "",
        module=row["module"],
        file=row["file"],
        line=row["line"],
        changes=facts,
        source=source,
        variants=tuple(variants),
        before=sum_totals(v.totals for v in before),
        after=sum_totals(v.totals for v in after),
    )


def _run(variant: Variant) -> int:
    return variant.totals.launches


def _tuned_alike(before: Sequence[Variant], after: Sequence[Variant]) -> bool:
    """Whether an autotuner ran on both sides and the kernel's launches are the same in sum."""
    if len(before) < 2 or not any(v.tuned for v in before) or not any(v.tuned for v in after):
        return False
    return sum(map(_run, before)) == sum(map(_run, after))


def _place(variant: Variant) -> dict[str, str]:
    facts = {"module": variant.key[0], "name": variant.key[1], "origin": variant.row["origin"]}
    return {what: value for what, value in facts.items() if value}


def _whole_kernel(status: str, variants: list[Variant]) -> KernelDifference:
    row = variants[0].row
    totals = sum_totals(v.totals for v in variants)
    added = status == "added"
    return KernelDifference(
        status="added" if added else "removed",
        name=row["name"] or "",
        module=row["module"],
        file=row["file"],
        line=row["line"],
        variants=tuple(_whole_variant(status, v, None) for v in variants),
        before=None if added else totals,
        after=totals if added else None,
    )


def _whole_variant(status: str, variant: Variant, other: Variant | None) -> VariantDifference:
    added = status == "added"
    facts: tuple[Change, ...] = ()
    if other is not None:
        sides = (other.facts, variant.facts) if added else (variant.facts, other.facts)
        facts = changes(*sides)
    return VariantDifference(
        status="added" if added else "removed",
        label=variant.label,
        changes=facts,
        before=None if added else variant.totals,
        after=variant.totals if added else None,
    )


def _variant(
    pairing: _Pairing, a: Variant, b: Variant, *, launches: bool
) -> VariantDifference | None:
    calls = compare_calls(pairing.before, a, pairing.after, b) if launches else None
    found = VariantDifference(
        status="changed",
        label=a.label,
        changes=changes(a.facts, b.facts),
        code=_code(pairing, a, b),
        resources=changes(_resources(a, b), _resources(b, a)),
        calls=calls.changes if calls else (),
        calls_unread=calls.unread if calls else 0,
        calls_added=calls.added if calls else 0,
        calls_removed=calls.removed if calls else 0,
        work=_work(a, b) if launches else (),
        times=_slower_or_faster(a.totals, b.totals, pairing.time_threshold),
        before=a.totals,
        after=b.totals,
    )
    counted = (
        found.changes, found.code, found.resources, found.calls, found.calls_added,
        found.calls_removed, found.work, found.times,
    )  # fmt: skip
    return found if any(counted) else None


def _source(pairing: _Pairing, a: Variant, b: Variant) -> SourceDifference | None:
    first, second = a.row["source_artifact"], b.row["source_artifact"]
    if first == second or first is None or second is None:
        return None
    before = _text(pairing.before, first)
    after = _text(pairing.after, second)
    if before is None or after is None:
        return None
    left, right = (dedent(text).rstrip().splitlines() for text in (before, after))
    names = (a.row["file"] or "before", b.row["file"] or "after")
    lines = [line.rstrip("\n") for line in unified_diff(left, right, *names, lineterm="")]
    if not lines:
        return None
    body = lines[2:]
    longest = max(len(left), len(right))
    whole = [line.rstrip("\n") for line in unified_diff(left, right, n=longest, lineterm="")]
    return SourceDifference(
        lines=tuple(lines),
        removed=sum(line.startswith("-") for line in body),
        added=sum(line.startswith("+") for line in body),
        whole=tuple(whole[3:]),
        first_lines=(_first_line(a, left), _first_line(b, right)),
    )


def _first_line(variant: Variant, lines: Sequence[str]) -> int | None:
    """Return the number of a source's first line in its file; a kernel's line is its `def`."""
    line: int | None = variant.row["line"]
    decorators = next((i for i, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    return None if line is None else line - decorators


def _code(pairing: _Pairing, a: Variant, b: Variant) -> CodeDifference | None:
    """Return the first stage whose text differs; the stages behind it differ because of it.

    Behind the first stages, other facts (as the number of warps) explain what differs.
    """
    changed = changes(a.facts, b.facts)
    for stage in FIRST_STAGES if changed else STAGES:
        first, second = a.stages.get(stage), b.stages.get(stage)
        if first == second or first is None or second is None:
            continue
        before, after = _text(pairing.before, first), _text(pairing.after, second)
        if before is None or after is None:
            continue
        known = _numbers(changed) if stage != "stablehlo" else {}  # a graph's facts are its sums
        found = compare_code(stage, before, after, known)
        if found is not None:
            return found
    return None


def _numbers(changed: Iterable[Change]) -> dict[str, str]:
    """Return the numbers that constants changed from and to, and those beside them.

    A block size of 64 appears in shapes, and as 63 in what divides rounding up.
    """
    found: dict[str, str] = {}
    for change in changed:
        before, after = change.before or "", change.after or ""
        if before.isdecimal() and after.isdecimal():
            found.setdefault(before, after)
            found.setdefault(str(int(before) - 1), str(int(after) - 1))
    return found


def _text(side: Snapshot, sha256: str) -> str | None:
    if sha256 in side.graphs:
        return side.graphs[sha256]
    content = side.trace.artifact(sha256)
    return None if content is None else content.decode("utf-8", "replace")


def _resources(own: Variant, other: Variant) -> dict[str, str]:
    """Resources that both sides know: a missing one (no compiler for the target) is no change."""
    return {
        name: str(own.resources[name])
        for name in _RESOURCES
        if name in own.resources and name in other.resources
    }


def _work(a: Variant, b: Variant) -> tuple[Change, ...]:
    """Return launches, and bytes and FLOPs of all launches where both sides have been replayed."""
    found = []
    before, after = a.totals, b.totals
    if before.launches != after.launches:
        found.append(Change("launches", count(before.launches), count(after.launches)))
    elif relaunched := _relaunched(a, b):
        what = f"launches of {plural(relaunched, 'call')}"
        found.append(Change(what, "as many", "others, with the same sum"))
    for what, first, second, form in (
        ("bytes", before.bytes, after.bytes, size),
        ("FLOPs", before.flops, after.flops, count),
    ):
        if first is not None and second is not None and first != second:
            found.append(_distinguished(what, first, second, form))
    return tuple(found)


def _distinguished(what: str, first: int, second: int, form: Callable[[int], str]) -> Change:
    """Return the change in short form, or in full where the short forms are the same."""
    if form(first) == form(second):
        return Change(what, count(first), count(second))
    return Change(what, form(first), form(second))


def _relaunched(a: Variant, b: Variant) -> int:
    """How many distinct calls both sides have, but launch another number of times."""
    return sum(
        call.launches != b.calls[alike].launches
        for alike, call in a.calls.items()
        if alike in b.calls and call.launches and b.calls[alike].launches
    )


def _slower_or_faster(before: Totals, after: Totals, threshold: float | None) -> tuple[Change, ...]:
    if threshold is None:
        return ()
    for what, first, second in (
        ("median device time", before.device_median_ns, after.device_median_ns),
        ("median host time", before.host_median_ns, after.host_median_ns),
    ):
        if not first or second is None:
            continue
        share = second / first - 1
        if abs(share) < threshold:
            return ()
        return (Change(what, duration(first), f"{duration(second)} ({share:+.1%})"),)
    return ()


def _times(
    a: Snapshot, b: Snapshot, matched: Iterable[tuple[KernelKey, KernelKey]]
) -> tuple[KernelTime, ...]:
    found = []
    for before_key, after_key in matched:
        before, after = a.kernel_totals(before_key), b.kernel_totals(after_key)
        if before.launches and after.launches:
            found.append(KernelTime(after_key[1], before, after))
    return tuple(sorted(found, key=lambda time: -(time.before.host_ns or 0)))


def _side(side: Snapshot, findings: Findings) -> Side:
    commits = {run.git_commit for run in side.runs}
    return Side(
        label=side.label,
        runs=tuple(run.run_id for run in side.runs),
        commit=commits.pop() if len(commits) == 1 else None,
        kernels=len(side.kernels),
        totals=side.totals,
        judged_by=tuple(findings.rules) if findings.analysed else None,
    )


def _context(before: Sequence["Run"], after: Sequence["Run"]) -> tuple[Change, ...]:
    return changes(_surroundings(before), _surroundings(after))


def _surroundings(runs: Sequence["Run"]) -> dict[str, str]:
    """Return what the runs ran on, as far as it can explain a difference."""
    if not runs:
        return {}
    first = runs[0]
    facts: dict[str, str] = {}
    for what, value in (
        ("commit", first.git_commit),
        ("uncommitted changes", first.git_dirty),
        ("command", first.command),
        ("mode", first.mode),
        ("processes", len(runs)),
    ):
        if value is not None:
            facts[what] = str(value)
    facts.update({f"version of {name}": value for name, value in first.versions.items()})
    devices = ", ".join(str(device.get("name")) for device in first.devices)
    return {**facts, "devices": devices} if devices else facts


def _side_notes(a: Snapshot, b: Snapshot) -> list[str]:
    notes = []
    for side, other in ((a, b), (b, a)):
        notes += [f"{side.label}: {note}" for note in side.trace.notes]
        for run in side.runs:
            if not run.sealed:
                notes.append(f"{side.label}: run {run.run_id} is not sealed, so it may lack rows")
            if run.dropped_rows:
                notes.append(f"{side.label}: run {run.run_id} lost {run.dropped_rows:,} rows")
        if not side.has_ops and other.has_ops:
            notes.append(
                f"{side.label} has not been replayed, so bytes and FLOPs are not compared "
                f"(kvtrace replay {side.trace.path})"
            )
    return notes


def _findings(a: Findings, b: Findings, notes: list[str]) -> tuple[FindingDifference, ...]:
    if not (a.analysed and b.analysed):
        return ()
    alone = [sorted(own.rules.keys() - other.rules.keys()) for own, other in ((a, b), (b, a))]
    for rules, side in zip(alone, ("before", "after"), strict=True):
        if rules:
            notes.append(
                f"findings of {', '.join(rules)} are not compared: only {side} was judged by them"
            )
    left_out = frozenset(rule for rules in alone for rule in rules)
    sides = [
        replace(side, listed=tuple(f for f in side.listed if f.rule not in left_out))
        for side in (a, b)
    ]
    gone, new = _without_counterpart(*sides), _without_counterpart(*reversed(sides))
    return tuple(
        [FindingDifference("new", finding) for finding in new]
        + [FindingDifference("gone", finding) for finding in gone]
    )


def _without_counterpart(own: Findings, other: Findings) -> list[Finding]:
    """Return findings of one side that the other lacks, once per place, line numbers left aside.

    The counterpart is the same defect on the same source line, or else the same defect of the same
    argument in the same kernel: a line that was edited or moved keeps its finding.
    """
    unmatched = dict(_by_place(own))
    others = dict(_by_place(other))
    for key in list(unmatched):
        if key in others:
            del unmatched[key], others[key]
    loose: dict[tuple[str | None, ...], int] = {}
    for key in others:
        loose[key[:-1]] = loose.get(key[:-1], 0) + 1
    left = []
    for key, finding in unmatched.items():
        if loose.get(key[:-1], 0):
            loose[key[:-1]] -= 1
        else:
            left.append(finding)
    return left


def _by_place(findings: Findings) -> Mapping[tuple[str | None, ...], Finding]:
    places: dict[tuple[str | None, ...], Finding] = {}
    for f in findings.listed:
        if f.suppressed:
            continue  # it is meant, on either side
        line = f.source.strip() if f.source is not None else f"{f.file}:{f.line}"
        places.setdefault((f.kernel, f.rule, f.verdict, f.access, f.arg, line), f)
    return places
