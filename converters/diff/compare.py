"""Comparison of two snapshots: kernels are matched, then variants, then changes are collected.

These count as differences: sources, code, compile options, resources, calls, launches, work (bytes,
FLOPs), findings, and results of launches with recorded digests. These do not, since two runs of the
same program differ in them: times (unless a threshold is given), ids, addresses, recorded tensor
values, the number of an autotuner's trials, and its choice among the same variants. Versions and
machines are context.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from kvtrace import registry
from kvtrace.converters.chosen_kernels import findings_of_kernels
from kvtrace.converters.diff.added import MEANING_SECONDS, meanings_of_changed
from kvtrace.converters.diff.callers import reasons_of_other_callers
from kvtrace.converters.diff.executions import (
    device_difference,
    judge_libraries,
    library_times,
    unmatched_collectives,
)
from kvtrace.converters.diff.figures import differing, kernel_figures
from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.headline import headline
from kvtrace.converters.diff.inputs import differing_inputs
from kvtrace.converters.diff.launch_order import order_note
from kvtrace.converters.diff.match import match_variants, matched_kernels, nearest
from kvtrace.converters.diff.merge_answers import merge_answers
from kvtrace.converters.diff.model import (
    Difference,
    FindingDifference,
    KernelDifference,
    KernelTime,
    Status,
    TimeComparison,
    VariantDifference,
)
from kvtrace.converters.diff.size_limits import Conditions, bound_changes
from kvtrace.converters.diff.snapshot import (
    Snapshot,
    context,
    described_side,
    remove_version_options,
    side_notes,
    sum_totals,
    take_snapshot,
)
from kvtrace.converters.diff.times import (
    NO_DEVICE,
    THRESHOLD,
    Kind,
    common_host_ratio,
    compare_times,
    why_not_comparable,
    with_claims_beyond,
)
from kvtrace.converters.diff.variant import Variant, fact_changes
from kvtrace.converters.diff.variant_changes import (
    Pairing,
    source_difference,
    variant_difference,
)
from kvtrace.converters.diff.words import unjudged_rules
from kvtrace.converters.findings import Finding, Findings, read_findings
from kvtrace.converters.parallel import in_order
from kvtrace.converters.profile.recompiles import Change, changes
from kvtrace.converters.profile.waits import waits_while_serving
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.trace import Selection
from kvtrace.text import plural


def compare(
    before: Selection,
    after: Selection,
    *,
    labels: tuple[str, str] = ("before", "after"),
    time_threshold: float | None = None,
    gate: Gate | None = None,
    conditions: tuple[Conditions, Conditions] | None = None,
    meaning: float | None = None,
    chosen: frozenset[str] | None = None,
) -> Difference:
    """Return the difference between the runs of two selections.

    Args:
        before: The runs to start from.
        after: The runs to compare with them.
        labels: Names of the sides in outputs.
        time_threshold: Least change (0.1 is 10 %) of a variant's median device time, or host time
            if there is none, that is reported and counts as a difference. None: changes of at least
            5 % are reported, and do not count as a difference.
        gate: Rules that AFTER is judged by; violations are added to it.
        conditions: Conditions for all sizes of both sides, as `kvtrace sizes` derives them.
        meaning: Seconds for comparing the results of changed kernels; 0: no comparison; None:
            `MEANING_SECONDS`.
        chosen: The names of the kernels to compare; None: all.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    seconds = MEANING_SECONDS if meaning is None else meaning
    gate = gate or Gate([])
    sides = zip((before, after), labels, strict=True)
    a, b = (take_snapshot(side, label).of_kernels(chosen) for side, label in sides)
    option_changes = remove_version_options(a, b)
    pairing = Pairing(a, b, count_times=time_threshold is not None)
    times = _TimesComparer(a, b, THRESHOLD if time_threshold is None else time_threshold)
    matched, removed, added, similarities = matched_kernels(a, b)
    new_names = {old.name: new.name for old, new in matched if new in similarities}
    old_names = {new.name: old.name for old, new in matched if new in similarities}
    kernels: list[KernelDifference] = []
    notes: list[str] = []
    other_code: set[KernelKey] = set()
    for keys in (*((key, None) for key in removed), *((None, key) for key in added), *matched):
        kernel_difference = _kernel_difference(pairing, *keys, times, notes)
        if kernel_difference is not None:
            if keys[1] is not None and kernel_difference.has_other_code:
                other_code.add(keys[1])
            kernels.append(replace(kernel_difference, similarity=similarities.get(keys[1])))
    changed = [kernel.name for kernel in kernels if kernel.status == "changed"]
    findings_of_before, findings_of_after = (
        findings_of_kernels(read_findings(side.trace, side.runs), side, chosen)
        for side in (before, after)
    )
    findings_of_sides = findings_of_before, findings_of_after
    described = described_side(a, findings_of_sides[0]), described_side(b, findings_of_sides[1])
    notes += unjudged_rules(*described)
    findings, still = finding_differences(*findings_of_sides, new_names)
    judged = all(side.analyzed and not side.judges_nothing for side in findings_of_sides)
    gate.compare_findings(findings, judged=judged)
    if gate.rules:
        _judge_kernels(gate, pairing, (*matched, *((None, key) for key in added)))
    gate.compare_waits(partial(waits_while_serving, after))
    bounds, unjudged_reason = bound_changes(conditions, new_names)
    kernel_times = (*times.of_kernels(matched), *times.of_libraries())
    if unmatched_collectives(a.executions, b.executions):
        notes.append(
            "times of collectives are not compared: how long they waited for ranks is not known"
        )
    judge_libraries(gate, a.executions, b.executions)
    gate.compare_bounds(bounds, judged=not unjudged_reason)
    for time in kernel_times:
        gate.compare_times(time.name, time.compared)
    order_sentence = order_note(a, b, matched)
    notes += [order_sentence] if order_sentence else []
    sources = (compared for _, compared in registry.loaded("diff_results"))
    compared_results = (compared(a, b, matched, other_code) for compared in sources)
    results = next((r for r in compared_results if r is not None), None)
    difference = Difference(
        before=described[0],
        after=described[1],
        kernels=tuple(kernels),
        same_kernels=len(matched) - len(changed),
        findings=findings,
        context=(*context(a.runs, b.runs), *option_changes),
        notes=(*side_notes(a, b), *notes, *times.notes, *pairing.disassembly.missing),
        times=kernel_times,
        device=device_difference(a, b, matched),
        still=still,
        bounds=bounds,
        bounds_unjudged=unjudged_reason,
        results=results,
        meanings=meanings_of_changed(
            before, after, {name: old_names.get(name, name) for name in changed}, seconds
        ) if seconds else None,
    )  # fmt: skip
    answers = merge_answers(
        difference,
        gate,
        tuple(differing_inputs(matched, a, b)),
        order_sentence,
        partial(reasons_of_other_callers, a, b),
    )
    return replace(difference, headline=headline(difference), answers=answers)


_KINDS: Final[tuple[Kind, ...]] = ("device", "host")


class _TimesComparer:
    """Comparer of kernels' and variants' times; `notes` has reasons why times are not compared."""

    def __init__(self, before: Snapshot, after: Snapshot, threshold: float) -> None:
        self._sides = before, after
        self._threshold = threshold
        self._why = {kind: why_not_comparable(kind, before.runs, after.runs) for kind in _KINDS}
        self.notes: list[str] = []

    def compared(
        self, before: Sequence[Variant], after: Sequence[Variant]
    ) -> tuple[TimeComparison, ...]:
        """Return comparisons of the launches of some variants: device times, then host times."""
        sides = list(zip(self._sides, (before, after), strict=True))
        comparisons = []
        for kind, why_not in self._why.items():
            a, b = (side.samples(kind, [v.position for v in variants]) for side, variants in sides)
            comparisons.append(
                compare_times(kind, a, b, threshold=self._threshold, why_not=why_not)
            )
        return tuple(comparison for comparison in comparisons if comparison is not None)

    def of_libraries(self) -> tuple[KernelTime, ...]:
        """Return the times of what ran on both sides without a recorded launch."""
        return library_times(*self._sides, self._threshold, self._why["device"])

    def of_kernels(self, matched: Sequence[tuple[KernelKey, KernelKey]]) -> tuple[KernelTime, ...]:
        """Return the times of every kernel launched on both sides, most host time first.

        `notes` is extended.
        """
        a, b = self._sides
        totals = [(a.kernel_totals(first), b.kernel_totals(second)) for first, second in matched]
        launched_kernels = [
            (keys, sums) for keys, sums in zip(matched, totals, strict=True)
            if sums[0].launches and sums[1].launches
        ]  # fmt: skip
        compared = in_order(
            partial(self.compared, a.kernels[first], b.kernels[second])
            for (first, second), _ in launched_kernels
        )
        kernel_times = [
            KernelTime(key.name, *sums, times, key.module or None, b.kernels[key][0].row["file"])
            for ((_, key), sums), times in zip(launched_kernels, compared, strict=True)
        ]
        shared_ratio = common_host_ratio(kernel_times)
        if shared_ratio is not None:
            adjusted_times = with_claims_beyond(kernel_times, shared_ratio)
            if adjusted_times != kernel_times:
                self.notes.append(
                    f"launches of every kernel take {shared_ratio:.2f} times as long on the host: "
                    "two processes of one program can differ that much, so no kernel changed"
                )
            kernel_times = adjusted_times
        for kind, why in self._why.items():
            has_times = any(
                comparison.kind == kind for time in kernel_times for comparison in time.compared
            )
            if has_times and why not in (None, NO_DEVICE):  # no note on machines without a GPU
                self.notes.append(f"{kind} times are not compared: {why}")
        self.notes += _sample_notes(kernel_times)
        return tuple(sorted(kernel_times, key=lambda time: -(time.before.host_ns or 0)))


def _sample_notes(times: Iterable[KernelTime]) -> Iterator[str]:
    """Yield a sentence for each kind of times that is compared on a sample of the launches."""
    for kind in _KINDS:
        sampled = [
            (comparison.sampled, comparison.launches)
            for time in times
            for comparison in time.compared
            if comparison.kind == kind and comparison.sampled is not None
        ]
        if sampled:
            sums = [
                [sum(side) for side in zip(*pairs, strict=True)]
                for pairs in zip(*sampled, strict=True)
            ]
            (chosen_before, chosen_after), (before, after) = sums
            yield (
                f"{kind} times of {plural(len(sampled), 'kernel')} are compared on a sample: "
                f"{chosen_before:,} of {before:,} launches before, {chosen_after:,} of "
                f"{after:,} after"
            )


def _judge_kernels(
    gate: Gate, pairing: Pairing, keys: Iterable[tuple[KernelKey | None, KernelKey]]
) -> None:
    """Judge each kernel of AFTER by the gate's rules, against the matching kernel of BEFORE.

    `keys` has the kernel's key in BEFORE (None: a new kernel) and in AFTER.
    """
    a, b = pairing.before, pairing.after
    for before_key, after_key in keys:
        before = [] if before_key is None else a.kernels[before_key]
        after = b.kernels[after_key]
        name = after[0].row["name"] or ""
        pairs, _, new = match_variants(before, after)
        gate.compare_variants(name, [*pairs, *((None, variant) for variant in new)])
        totals = None if before_key is None else a.kernel_totals(before_key)
        gate.compare_kernels(name, totals, b.kernel_totals(after_key))
        gate.compare_work(name, None if before_key is None else before, after)


def _kernel_difference(
    pairing: Pairing,
    before_key: KernelKey | None,
    after_key: KernelKey | None,
    times: _TimesComparer,
    notes: list[str],
) -> KernelDifference | None:
    """Return what differs between a kernel's versions; None if nothing does.

    The key of a side without the kernel is None. `notes` is extended.
    """
    before = [] if before_key is None else pairing.before.kernels[before_key]
    after = [] if after_key is None else pairing.after.kernels[after_key]
    first, last = (before or after)[0], (after or before)[0]
    pairing = replace(pairing, names=(first.key.name, last.key.name))
    pairs, removed_variants, added_variants = match_variants(before, after)
    chosen_by_tuner = (
        not removed_variants and not added_variants and _is_tuned_with_equal_launches(before, after)
    )
    variants = []
    for a, b in pairs:
        compared = times.compared([a], [b]) if pairing.count_times else ()
        changed_variant = variant_difference(
            pairing, a, b, launches=not chosen_by_tuner, times=compared
        )
        if changed_variant is not None:
            variants.append(changed_variant)
    variants += [_one_sided_variant("removed", v, nearest(v, after)) for v in removed_variants]
    variants += [_one_sided_variant("added", v, nearest(v, before)) for v in added_variants]
    if chosen_by_tuner and any(v.totals.launches != w.totals.launches for v, w in pairs):
        notes.append(
            f"{first.key.name}: the autotuner launched other variants of the same set "
            "(it decides by time)"
        )
    status: Status = "changed" if before and after else "added" if after else "removed"
    difference = KernelDifference(
        status=status,
        name=last.row["name"] or "",
        module=last.row["module"],
        file=last.row["file"],
        line=last.row["line"],
        changes=changes(_key_facts(first), _key_facts(last)),
        source=source_difference(pairing, first, last) if status == "changed" else None,
        variants=tuple(variants),
        before=sum_totals(v.totals for v in before) if before else None,
        after=sum_totals(v.totals for v in after) if after else None,
        renamed_from=first.key.name if first.key.name != last.key.name else None,
    )
    if not difference.variants and difference.source is None and not difference.changes:
        return None
    if chosen_by_tuner or before_key is None or after_key is None:
        return difference
    totals = pairing.before.kernel_totals(before_key), pairing.after.kernel_totals(after_key)
    return replace(difference, figures=differing(kernel_figures(), *totals))


def _is_tuned_with_equal_launches(before: Sequence[Variant], after: Sequence[Variant]) -> bool:
    """Return whether an autotuner ran on both sides and the kernel has as many launches on both."""
    if len(before) < 2 or not any(v.tuned for v in before) or not any(v.tuned for v in after):
        return False
    launches = [sum(variant.totals.launches for variant in side) for side in (before, after)]
    return launches[0] == launches[1]


def _key_facts(variant: Variant) -> dict[str, str]:
    facts = {
        "module": variant.key.module,
        "name": variant.key.name,
        "origin": variant.row["origin"],
    }
    return {what: value for what, value in facts.items() if value}


def _one_sided_variant(
    status: Literal["added", "removed"], variant: Variant, most_similar: Variant | None
) -> VariantDifference:
    is_added = status == "added"
    facts: tuple[Change, ...] = ()
    if most_similar is not None:
        before, after = (most_similar, variant) if is_added else (variant, most_similar)
        facts = fact_changes(before, after)
    return VariantDifference(
        status=status,
        label=variant.label,
        changes=facts,
        before=None if is_added else variant.totals,
        after=variant.totals if is_added else None,
    )


# -- findings that only one side has, and those that both have -------------------------------------


def finding_differences(
    a: Findings, b: Findings, renamed: Mapping[str, str]
) -> tuple[tuple[FindingDifference, ...], tuple[Finding, ...]]:
    """Return the findings of one side only, and those of both sides; none if a side was not judged.

    Rules that judged only one side are left out (`unjudged_rules` has a sentence on each).
    `renamed` maps names in BEFORE to names in AFTER of renamed kernels.
    """
    if not (a.analyzed and b.analyzed):
        return (), ()
    uncompared_rules = a.rules.keys() ^ b.rules.keys()
    sides = [
        replace(side, listed=tuple(f for f in side.listed if f.rule not in uncompared_rules))
        for side in (a, b)
    ]
    before = tuple(replace(f, kernel=renamed.get(f.kernel, f.kernel)) for f in sides[0].listed)
    sides[0] = replace(sides[0], listed=before)
    gone, new = _without_counterpart(*sides), _without_counterpart(*reversed(sides))
    differences = [FindingDifference("new", finding) for finding in new]
    differences += [FindingDifference("gone", finding) for finding in gone]
    ids_of_new = {id(finding) for finding in new}
    on_both_sides = [
        found for found in _by_location(sides[1]).values() if id(found) not in ids_of_new
    ]
    return tuple(differences), tuple(on_both_sides)


def _without_counterpart(findings: Findings, other: Findings) -> list[Finding]:
    """Return the findings that the other side lacks, one per location.

    A counterpart is the same defect on a line with the same source text, or else (the line was
    edited) the same defect of the same argument in the same kernel.
    """
    unmatched = dict(_by_location(findings))
    others = dict(_by_location(other))
    for key in list(unmatched):
        if key in others:
            del unmatched[key], others[key]
    unmatched_others: dict[tuple[str | None, ...], int] = {}
    for key in others:
        unmatched_others[key[:-1]] = unmatched_others.get(key[:-1], 0) + 1
    remaining = []
    for key, finding in unmatched.items():
        if unmatched_others.get(key[:-1], 0):
            unmatched_others[key[:-1]] -= 1
        else:
            remaining.append(finding)
    return remaining


def _by_location(findings: Findings) -> Mapping[tuple[str | None, ...], Finding]:
    locations: dict[tuple[str | None, ...], Finding] = {}
    for f in findings.listed:
        if f.suppressed:
            continue  # intended, on either side
        line = f.source.strip() if f.source is not None else f"{f.file}:{f.line}"
        locations.setdefault((f.kernel, f.rule, f.verdict, f.access, f.arg, line), f)
    return locations
