"""Findings on the page, with the report's indexes of kernels, variants, calls and stacks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import calls_and_launches
from kvtrace.converters.findings.model import DEFECTS, UNUSED_IGNORE, Finding, Findings
from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.merged_kernels import KernelRows
from kvtrace.converters.report.model import Cause, FindingCount, PlacedFinding

_ORDER: Final = {"violation": 0, "suppressed": 1, "unknown": 2, "proven": 3}

#: Frames of a stack (file, line, function) → index into `Report.stacks`.
StackIndexes = dict[tuple[tuple[str | None, int | None, str | None], ...], int]
#: Most calls that a finding lists.
MOST_CALLS: Final = 100
#: Most findings on a page.
MOST_FINDINGS: Final = 5_000


@dataclass(frozen=True, slots=True)
class PageFindings:
    """Findings of the page and counts of verdicts; `judged` counts accesses by kernel index."""

    placed: tuple[PlacedFinding, ...] = ()
    causes: tuple[Cause, ...] = ()
    lints: tuple[str, ...] = ()
    counts: Counter[tuple[str | None, str, str | None]] = field(default_factory=Counter)
    """Accesses by (rule, verdict, severity)."""
    judged: Counter[int] = field(default_factory=Counter)
    any_judged: bool = True
    """`kvtrace sanitize` judged a run; verdicts during the run itself do not count."""
    counted: Counter[tuple[int | None, str]] = field(default_factory=Counter)
    """The same by kernel index and name in `COUNTED`."""
    unjudged_calls: Counter[int] = field(default_factory=Counter)
    """Calls that were not judged as the time was used up, by kernel index."""

    def violations(self) -> int:
        """Return the number of errors and warnings."""
        return sum(count for (_, name), count in self.counted.items() if name in DEFECTS)

    def of_kernel(self, kernel: int, names: Iterable[str]) -> int:
        """Return how many accesses of a kernel (an index) count as one of `names`."""
        return sum(self.counted[kernel, name] for name in names)


def place_findings(
    findings: Findings,
    run_ids: Sequence[str],
    kernels: KernelRows,
    calls: CallRows,
    stacks: StackIndexes,
    table: pa.Table,
    judged_runs: Set[str],
) -> PageFindings:
    """Return the findings with the report's indexes of kernels, variants, calls and stacks.

    New stacks are added to `stacks`. `table` is the table `findings`, which has the findings' ops;
    `judged_runs` are the ids of runs that a pass has judged.
    """
    runs = {run_id: index for index, run_id in enumerate(run_ids)}
    counts: Counter[tuple[str | None, str, str | None]] = Counter()
    judged: Counter[int] = Counter()
    counted: Counter[tuple[int | None, str]] = Counter()
    for tally in findings.tallies:
        verdict = "suppressed" if tally.suppressed else tally.verdict
        counts[tally.rule, verdict, tally.severity] += tally.count
        kernel = (
            None if tally.kernel_id is None else kernels.index_of(runs[tally.run], tally.kernel_id)
        )
        counted[kernel, tally.counts_as] += tally.count
        if kernel is not None and tally.run in judged_runs:
            judged[kernel] += tally.count
    for finding in findings.listed:
        if finding.rule == UNUSED_IGNORE:  # it is about no access
            counts[finding.rule, finding.verdict, finding.severity] += 1
    finding_rows = _FindingRows.of(table, findings, runs, calls)
    causes_of_findings = by_cause(findings)
    cause_by_finding = {
        id(finding): cause_index
        for cause_index, group in enumerate(causes_of_findings.groups)
        for finding in group
    }
    placed = tuple(
        replace(
            _placed_finding(finding, runs, calls, stacks, finding_rows),
            cause=cause_by_finding.get(id(finding)),
        )
        for finding in findings.listed
    )
    causes = tuple(Cause(*calls_and_launches(group)) for group in causes_of_findings.groups)
    lints = tuple(causes_of_findings.lint_lines())
    return PageFindings(placed, causes, lints, counts, judged, bool(judged_runs), counted)


@dataclass(frozen=True, slots=True)
class _FindingRows:
    """Facts of the listed findings from rows of `findings`: their ops, and all of their calls."""

    ops: dict[tuple[str | None, int | None, str], tuple[int | None, int | None]]
    """Ids of run, call and finding → index of the op, and of the other op of a race."""
    calls: dict[str, dict[int, None]]
    """Id of the finding → indexes of its calls, in order of rows (keys of a dict)."""

    @classmethod
    def of(
        cls, table: pa.Table, findings: Findings, runs: Mapping[str, int], calls: CallRows
    ) -> "_FindingRows":
        ids = pa.array(sorted({finding.finding_id for finding in findings.listed}), pa.string())
        finding_rows = cls({}, {})
        for row in table.filter(pc.is_in(table["finding_id"], ids)).to_pylist():
            key = (row["run"], row["call_id"], row["finding_id"])
            finding_rows.ops[key] = (row["op_index"], row["other_op_index"])
            call = calls.index(runs[row["run"]], row["call_id"])
            if call is not None:
                finding_rows.calls.setdefault(row["finding_id"], {})[call] = None
        return finding_rows


def _placed_finding(
    finding: Finding,
    runs: Mapping[str, int],
    calls: CallRows,
    stacks: StackIndexes,
    rows: _FindingRows,
) -> PlacedFinding:
    call = None
    if finding.run is not None and finding.call is not None:
        call = calls.index(runs[finding.run], finding.call)
    frames = [(frame.file, frame.line, frame.function) for frame in finding.stack]
    other_frames = [(frame.file, frame.line, frame.function) for frame in finding.other_stack]
    if not frames and finding.file is not None:
        frames = [(finding.file, finding.line, finding.kernel)]
    index_columns = (calls.kernel, calls.variant)
    kernel, variant = (None if call is None else int(column[call]) for column in index_columns)
    all_calls = list(rows.calls.get(finding.finding_id, ()))
    calls_of_finding = [index for index in all_calls if calls.kernel[index] == kernel]
    other_kernels = set(calls.kernel[all_calls].tolist()) - {kernel}
    return PlacedFinding(
        replace(finding, stack=(), other_stack=(), operators=()),
        kernel,
        variant,
        call,
        _stack_index(stacks, frames),
        _stack_index(stacks, other_frames),
        *rows.ops.get((finding.run, finding.call, finding.finding_id), (None, None)),
        in_calls=tuple(calls_of_finding[:MOST_CALLS]),
        other_kernels=tuple(sorted(other_kernels)),
    )


def _stack_index(
    stacks: StackIndexes, frames: Iterable[tuple[str | None, int | None, str | None]]
) -> int | None:
    key = tuple(frames)
    return stacks.setdefault(key, len(stacks)) if key else None


def finding_counts(findings: PageFindings | None) -> tuple[FindingCount, ...] | None:
    """Return the number of accesses by rule, verdict and severity; violations come first.

    None if there are no findings to show.
    """
    if findings is None:
        return None
    counted = [FindingCount(*names, count) for names, count in findings.counts.items()]
    return tuple(sorted(counted, key=lambda c: (_ORDER.get(c.verdict or "", 2), -c.count)))
