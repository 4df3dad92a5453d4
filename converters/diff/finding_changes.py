"""Findings that only one side has, and those that both have."""

from collections.abc import Mapping
from dataclasses import replace

from kvtrace.converters.diff.model import FindingDifference
from kvtrace.converters.findings import Finding, Findings


def finding_differences(
    a: Findings, b: Findings, notes: list[str], renamed: Mapping[str, str]
) -> tuple[tuple[FindingDifference, ...], tuple[Finding, ...]]:
    """Return findings of one side only, and those of both; none if a side was not judged.

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
    left_out = frozenset(rule for rules in rules_of_one_side for rule in rules)
    sides = [
        replace(side, listed=tuple(f for f in side.listed if f.rule not in left_out))
        for side in (a, b)
    ]
    before = tuple(replace(f, kernel=renamed.get(f.kernel, f.kernel)) for f in sides[0].listed)
    sides[0] = replace(sides[0], listed=before)
    gone, new = _without_counterpart(*sides), _without_counterpart(*reversed(sides))
    only = [FindingDifference("new", finding) for finding in new]
    only += [FindingDifference("gone", finding) for finding in gone]
    alone_after = {id(finding) for finding in new}
    still = [found for found in _by_location(sides[1]).values() if id(found) not in alone_after]
    return tuple(only), tuple(still)


def _without_counterpart(findings: Findings, other: Findings) -> list[Finding]:
    """Return findings of one side that the other lacks, once per location.

    The counterpart is the same defect on the same source text, whatever the line number, or else
    the same defect of the same argument in the same kernel: an edited line keeps its finding.
    """
    unmatched = dict(_by_location(findings))
    others = dict(_by_location(other))
    for key in list(unmatched):
        if key in others:
            del unmatched[key], others[key]
    loose: dict[tuple[str | None, ...], int] = {}
    for key in others:
        loose[key[:-1]] = loose.get(key[:-1], 0) + 1
    remaining = []
    for key, finding in unmatched.items():
        if loose.get(key[:-1], 0):
            loose[key[:-1]] -= 1
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
