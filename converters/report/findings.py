"""Findings of all runs: each violation and unknown once, however many calls have it."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.report.kernels import CallRows
from kvtrace.converters.report.model import Finding, FindingCount

__all__ = ["FindingRows", "finding_counts", "findings_of"]

_VERDICT_ORDER: Final = {"violation": 0, "unknown": 1, "proven": 2}
_SEVERITY_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


@dataclass(slots=True)
class FindingRows:
    """What is kept of the rows of `findings`: the witness of each, and how often each occurs."""

    findings: dict[str, Finding] = field(default_factory=dict)
    counts: Counter[tuple[str | None, str | None, str | None]] = field(default_factory=Counter)
    """Accesses by (rule, verdict, severity)."""
    judged: Counter[int] = field(default_factory=Counter)
    """Accesses with any verdict by kernel."""

    def add(self, table: pa.Table, run: int, calls: CallRows, stacks: dict[int, int]) -> None:
        """Add the rows of one run."""
        names = ["rule", "verdict", "severity"]
        sums = table.group_by(names).aggregate([([], "count_all")])
        for row in sums.to_pylist():
            self.counts[row["rule"], row["verdict"], row["severity"]] += row["count_all"]
        for row in table.group_by("call_id").aggregate([([], "count_all")]).to_pylist():
            call = calls.by_id.get((run, row["call_id"]))
            if call is not None:
                self.judged[calls.call_kernels[call]] += row["count_all"]
        verdict = table["verdict"].cast(pa.string())
        told = table.filter(pc.fill_null(pc.not_equal(verdict, "proven"), fill_value=True))
        for row in told.to_pylist():
            self._add_row(row, run, calls, stacks)

    def _add_row(
        self, row: dict[str, Any], run: int, calls: CallRows, stacks: dict[int, int]
    ) -> None:
        known = self.findings.get(row["finding_id"])
        if known is not None:
            self.findings[row["finding_id"]] = replace(known, calls=known.calls + 1)
            return
        call = calls.by_id.get((run, row["call_id"]))
        variant = None if call is None else calls.calls[call].variant
        self.findings[row["finding_id"]] = Finding(
            finding_id=row["finding_id"],
            rule=row["rule"],
            verdict=row["verdict"],
            severity=row["severity"],
            access=row["access"],
            kernel=None if call is None else calls.call_kernels[call],
            variant=variant,
            call=call,
            calls=1,
            stack=stacks.get(row["stack_id"]),
            program=(row["program_x"], row["program_y"], row["program_z"]),
            iteration=row["iteration"],
            lane=None if row["lane"] is None else tuple(row["lane"]),
            arg=row["arg"],
            address_offset=row["address_offset"],
            past_end_bytes=row["past_end_bytes"],
            lanes=row["lanes"],
            expression=row["expression"],
            method=row["method"],
            reason=row["reason"],
            message=row["message"],
        )

    def violations(self) -> int:
        """Return how many distinct violations there are."""
        return sum(finding.verdict == "violation" for finding in self.findings.values())

    def of_kernel(self, kernel: int, verdict: str) -> int:
        """Return how many findings of a kernel have a verdict."""
        return sum(
            1
            for finding in self.findings.values()
            if finding.kernel == kernel and finding.verdict == verdict
        )


def findings_of(rows: FindingRows | None) -> tuple[Finding, ...]:
    """Return violations first, worst first, then unknowns."""
    found = () if rows is None else rows.findings.values()
    return tuple(sorted(found, key=_order))


def _order(finding: Finding) -> tuple[int, int, int, str]:
    return (
        _VERDICT_ORDER.get(finding.verdict or "", 1),
        _SEVERITY_ORDER.get(finding.severity or "", 1),
        -1 if finding.kernel is None else finding.kernel,
        finding.finding_id,
    )


def finding_counts(rows: FindingRows | None) -> tuple[FindingCount, ...] | None:
    """Return how many accesses got which verdict under which rule."""
    if rows is None:
        return None
    counted = [FindingCount(*names, count) for names, count in rows.counts.items()]
    return tuple(sorted(counted, key=lambda c: (_VERDICT_ORDER.get(c.verdict or "", 1), -c.count)))
