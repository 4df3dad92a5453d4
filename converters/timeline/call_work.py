"""Derived figures and findings of each call, as facts for slices of a timeline.

The figures come from the profiler and the findings from `kvtrace sanitize`; none is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.device_limits import (
    Bound,
    ChosenDevice,
    Work,
    chosen_device,
    position,
    recorded_names,
)
from kvtrace.converters.timeline.captions import Facts
from kvtrace.schema.trace import Run, Trace

#: Most findings of a call that are listed.
_MOST_FINDINGS: Final = 8


@dataclass(frozen=True, slots=True)
class CallWork:
    """Derived work of one launch of a call: bytes, FLOPs, and the least time on the roofline.

    `bytes` counts every access and `unique_bytes` each byte once. `unknown` counts accesses that
    depend on data that was not recorded; `bytes` does not include them. `best_ns` is the least time
    by the device's limits, and `bound` the limit that determines it; None without known limits.
    `dot_flops` are those of `flops` that products of matrices have.
    """

    bytes: int
    unique_bytes: int | None
    flops: int
    unknown: int
    best_ns: float | None
    bound: Bound | None
    dot_flops: int = 0

    def facts(self) -> Facts:
        """Return the figures as facts of a slice."""
        facts: list[tuple[str, int | str | Facts]] = [("bytes", self.bytes)]
        if self.unknown:
            facts.append(("accesses not counted in bytes", self.unknown))
        if self.unique_bytes is not None:
            facts.append(("distinct bytes", self.unique_bytes))
        facts.append(("FLOPs", self.flops))
        if self.bound is not None and self.best_ns is not None:
            facts += [("bound", self.bound), ("time at best ns", round(self.best_ns))]
        return tuple(facts)


@dataclass(frozen=True, slots=True)
class DerivedCalls:
    """Work and findings of a run's calls, by call id, and the device whose limits are used."""

    work: Mapping[int, CallWork]
    findings: Mapping[int, Facts]
    device: ChosenDevice | None

    def facts(self, call_id: int | None) -> Facts:
        """Return the facts of a call: its figures under the key `derived`, then its findings."""
        work = None if call_id is None else self.work.get(call_id)
        if work is None:
            return self.found(call_id)
        limits: Facts = ()
        if self.device is not None and work.bound is not None:
            limits = (("limits of", f"{self.device.limits.name} ({self.device.how})"),)
        return (("derived", (*work.facts(), *limits)), *self.found(call_id))

    def found(self, call_id: int | None) -> Facts:
        """Return the errors, warnings and notes of a call under `findings`; () without any."""
        listed = None if call_id is None else self.findings.get(call_id)
        return (("findings", listed),) if listed else ()


def derived_calls(trace: Trace, run: Run) -> DerivedCalls:
    """Return the derived figures and findings of a run's calls; raises as `Trace.table`."""
    targets = pc.unique(trace.table("kernels", [run], ["target"])["target"].drop_null())
    device = chosen_device(None, recorded_names([run]), list(map(str, targets.to_pylist())))
    return DerivedCalls(_work_by_call(trace, run, device), _findings_by_call(trace, run), device)


def _work_by_call(trace: Trace, run: Run, device: ChosenDevice | None) -> dict[int, CallWork]:
    if not any(piece.num_rows for piece in trace.pieces("ops", [run], ["call_id"])):
        return {}  # without opening the database
    from kvtrace.converters.profile.profile_tables import work_of_calls

    return {
        row["call_id"]: _call_work(row, work, device) for row, work in work_of_calls(trace, [run])
    }


def _call_work(row: Mapping[str, Any], work: Work, device: ChosenDevice | None) -> CallWork:
    roofline = None if device is None else position(work, device.limits)
    return CallWork(
        bytes=row["bytes"] or 0,
        unique_bytes=work.unique_bytes,
        flops=int(row["flops"]),
        unknown=int(row["unknown"]),
        best_ns=None if roofline is None else roofline.best_ns,
        bound=None if roofline is None else roofline.bound,
        dot_flops=sum(work.dots.values()),
    )


def _findings_by_call(trace: Trace, run: Run) -> dict[int, Facts]:
    """Return by call id the severity, id and rule of its findings, errors first.

    Each has its address in the report.
    """
    # Its package reads findings by DuckDB, which a converter loads only for a trace that has some.
    from kvtrace.converters.findings.model import COUNTED, counted_as

    columns = ["call_id", "finding_id", "rule", "verdict", "severity"]
    rows = trace.table("findings", [run], columns)
    rows = rows.filter(pc.equal(rows["verdict"].cast(pa.string()), "violation"))
    by_call: dict[int, dict[tuple[int, str, str, str], None]] = {}
    for row in rows.to_pylist():
        severity = counted_as(row["verdict"], row["severity"], suppressed=False)
        finding = (COUNTED.index(severity), severity, row["rule"] or "?", row["finding_id"])
        by_call.setdefault(row["call_id"], {})[finding] = None
    return {call: _finding_facts(sorted(findings)) for call, findings in by_call.items()}


def _finding_facts(findings: Sequence[tuple[int, str, str, str]]) -> Facts:
    facts: list[tuple[str, int | str | Facts]] = [
        (identity, f"{severity}: {rule} (#/findings/{identity} of the report)")
        for _, severity, rule, identity in findings[:_MOST_FINDINGS]
    ]
    if len(findings) > _MOST_FINDINGS:
        facts.append(("more", len(findings) - _MOST_FINDINGS))
    return tuple(facts)
