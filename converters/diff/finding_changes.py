"""Findings that only one side has, and those that both have."""

from collections.abc import Mapping
from dataclasses import replace

from kvtrace.converters.diff.model import FindingDifference
from kvtrace.converters.findings import Finding, Findings


def finding_differences(
    a: Findings, b: Findings, notes: list[str], renamed: Mapping[str, str]
) -> tuple[tuple[FindingDifference, ...], tuple[Finding, ...]]:
    """Return the findings of one side only, and those of both sides; none if a side was not judged.

    Rules that judged only one side are left out, and a sentence on each is added to `notes`.
    `renamed` maps names in BEFORE to names in AFTER of renamed kernels.
    """
    if not (a.analyzed and b.analyzed):
        return (), ()
    rules_of_one_side = [
        sorted(side_rules.rules.keys() - other.rules.keys())
        for side_rules, other in ((a, b), (b, a))
    ]
    for rules, side in zip(rules_of_one_side, ("before", "after"), strict=True):
        if rules:
            notes.append(
                f"findings of {', '.join(rules)} are not compared: only {side} was judged by them"
            )
    uncompared_rules = frozenset(rule for rules in rules_of_one_side for rule in rules)
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
