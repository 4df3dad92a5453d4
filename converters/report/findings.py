"""Findings on the page: what the one reader of findings gives, with the page's own indices."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import calls_and_launches
from kvtrace.converters.findings.model import Finding, Findings
from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.merged_kernels import KernelRows
from kvtrace.converters.report.model import Cause, FindingCount, PlacedFinding
from kvtrace.converters.report.slices import Integers

__all__ = ["PageFindings", "finding_counts", "place_findings"]

_ORDER: Final = {"violation": 0, "suppressed": 1, "unknown": 2, "proven": 3}

#: Index on the page of a stack of (file, line, function).
Stacks = dict[tuple[tuple[str | None, int | None, str | None], ...], int]
#: So many calls of one finding are named.
MOST_CALLS: Final = 100
#: More than this a page cannot hold.
MOST_FINDINGS: Final = 5_000


@dataclass(frozen=True, slots=True)
class PageFindings:
    """What the page shows of findings; `judged` counts accesses with any verdict by kernel."""

    placed: tuple[PlacedFinding, ...] = ()
    causes: tuple[Cause, ...] = ()
    lints: tuple[str, ...] = ()
    counts: Counter[tuple[str | None, str, str | None]] = field(default_factory=Counter)
    """Accesses by (rule, verdict, severity)."""
    judged: Counter[int] = field(default_factory=Counter)
    any_judged: bool = True
    """Whether some run was judged: verdicts on its own launches by the run itself do not count."""

    def violations(self) -> int:
        """Return how many distinct violations there are, suppressed ones and notes left out."""
        return sum(each.found.is_defect for each in self.placed)

    def of_kernel(self, kernel: int, verdict: str) -> int:
        """Return how many findings of a kernel have a verdict and are not suppressed."""
        return sum(
            each.kernel == kernel
            and each.found.verdict == verdict
            and (verdict == "unknown" or each.found.is_defect)
            and not each.found.suppressed
            for each in self.placed
        )


def place_findings(
    findings: Findings,
    run_ids: Sequence[str],
    kernels: KernelRows,
    calls: CallRows,
    stacks: Stacks,
    table: pa.Table,
    judged_runs: Set[str],
) -> PageFindings:
    """Place findings on the page: indices of their kernels, variants, calls and stacks.

    `table` holds the rows of `findings` that they were made of, for their ops; `judged_runs` are
    the ids of the runs that a pass has judged.
    """
    runs = {run_id: index for index, run_id in enumerate(run_ids)}
    counts: Counter[tuple[str | None, str, str | None]] = Counter()
    judged: Counter[int] = Counter()
    for tally in findings.tallies:
        counts[tally.rule, tally.counts_as, tally.severity] += tally.count
        if tally.kernel_id is None or tally.run not in judged_runs:
            continue
        kernel = kernels.kernel(runs[tally.run], tally.kernel_id)
        if kernel is not None:
            judged[kernel] += tally.count
    listed = _Listed.of(table, findings, runs, calls)
    caused = by_cause(findings)
    cause = {id(found): at for at, group in enumerate(caused.groups) for found in group}
    placed = tuple(
        replace(_placed(found, runs, calls, stacks, listed), cause=cause.get(id(found)))
        for found in findings.listed
    )
    causes = tuple(Cause(*calls_and_launches(group)) for group in caused.groups)
    lints = tuple(caused.lint_lines())
    return PageFindings(placed, causes, lints, counts, judged, any_judged=bool(judged_runs))


@dataclass(frozen=True, slots=True)
class _Listed:
    """What the table says of the findings that are listed: their ops, and all of their calls."""

    ops: dict[tuple[str | None, int | None, str], tuple[int | None, int | None]]
    """Run, call and finding → the op, and the other one of a race."""
    calls: dict[str, dict[int, None]]
    """Finding → calls of the page, in their order."""
    variant: Integers
    """Of each call."""
    kernel: Integers
    """Of each call."""

    @classmethod
    def of(
        cls, table: pa.Table, findings: Findings, runs: Mapping[str, int], calls: CallRows
    ) -> "_Listed":
        listed = pa.array(sorted({found.finding_id for found in findings.listed}), pa.string())
        rows = table.filter(pc.is_in(table["finding_id"], listed)).to_pylist()
        found = cls({}, {}, calls.variant, calls.kernel)
        for row in rows:
            place = (row["run"], row["call_id"], row["finding_id"])
            found.ops[place] = (row["op_index"], row["other_op_index"])
            call = calls.index(runs[row["run"]], row["call_id"])
            if call is not None:
                found.calls.setdefault(row["finding_id"], {})[call] = None
        return found


def _placed(
    found: Finding,
    runs: Mapping[str, int],
    calls: CallRows,
    stacks: Stacks,
    listed: _Listed,
) -> PlacedFinding:
    call = None
    if found.run is not None and found.call is not None:
        call = calls.index(runs[found.run], found.call)
    own = [(frame.file, frame.line, frame.function) for frame in found.stack]
    other = [(frame.file, frame.line, frame.function) for frame in found.other_stack]
    if not own and found.file is not None:
        own = [(found.file, found.line, found.kernel)]
    columns = (listed.kernel, listed.variant)
    kernel, variant = (None if call is None else int(column[call]) for column in columns)
    alike = [
        each for each in listed.calls.get(found.finding_id, ()) if listed.kernel[each] == kernel
    ]
    return PlacedFinding(
        replace(found, stack=(), other_stack=(), operators=()),
        kernel,
        variant,
        call,
        _stack(stacks, own),
        _stack(stacks, other),
        *listed.ops.get((found.run, found.call, found.finding_id), (None, None)),
        in_calls=tuple(alike[:MOST_CALLS]),
    )


def _stack(
    stacks: Stacks, frames: Iterable[tuple[str | None, int | None, str | None]]
) -> int | None:
    found = tuple(frames)
    return stacks.setdefault(found, len(stacks)) if found else None


def finding_counts(findings: PageFindings | None) -> tuple[FindingCount, ...] | None:
    """Return how many accesses got which verdict under which rule."""
    if findings is None:
        return None
    counted = [FindingCount(*names, count) for names, count in findings.counts.items()]
    return tuple(sorted(counted, key=lambda c: (_ORDER.get(c.verdict or "", 2), -c.count)))
