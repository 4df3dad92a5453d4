"""Judgment of calls while a program runs: each unique call once, before its first launch.

A call is judged by its formulas, which takes micro- to milliseconds and runs nothing; a question
that only an evaluation over a large grid could decide stays unknown here, and `kvtrace sanitize`
decides it later. The findings are added to the trace as the pass `sanitizer`.

Defects of launches executed without a GPU are stored as a separate pass, `observed`, which a later
judgment does not replace.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import Printer
from kvtrace.converters.findings.model import (
    CONTEXT,
    Finding,
    Findings,
    RuleText,
    StackFrame,
    finding_objects,
)
from kvtrace.converters.findings.reading import call_facts, finding_of, generation, suppressed_by
from kvtrace.converters.findings.suppressions import Suppressions
from kvtrace.forks import Lock
from kvtrace.ir import source_stack
from kvtrace.schema.content import StackRows
from kvtrace.schema.errors import KernelDefect
from kvtrace.schema.layout import OBSERVED
from kvtrace.schema.tables import TABLES
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules.table import RULES, rule_texts
from kvtrace.verdicts.verdict import Verdict, rows_of, unjudged_row

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.recorded_calls.recorded import Call

#: The pass of the judgments' rows.
PASS_NAME: Final = "sanitizer"  # noqa: S105 - the name of a pass
#: Little solver time, and no lanes for evaluations over the grid: the program waits.
BUDGET: Final = Budget(solver_seconds=0.1, solver_seconds_a_call=0.5, lanes=0, replay_lanes=0)
#: Some lanes for calls with contents of tensors, which only an evaluation can use.
BUDGET_OF_CONTENTS: Final = structs.replace(BUDGET, lanes=1 << 20)
#: Most rows that are stored until the program ends.
_ROWS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call that has not been launched yet, with the facts that findings show.

    `args` are entries of `calls.args`; `file` and `line` are the kernel's definition. `stack` is
    the launch's stack, frames innermost first, each with file, line, column and function.
    """

    call: Call
    args: Sequence[Mapping[str, Any]]
    file: str | None = None
    line: int | None = None
    stack: Sequence[Any] = ()


class CallJudge:
    """The judge of one recording's new calls, which stores findings. Methods are thread-safe.

    Args:
        rules: Ids of the rules to judge by.
        strict: Warnings and unknown verdicts count as errors.

    """

    def __init__(self, rules: Sequence[str], strict: bool) -> None:
        self._rules = tuple(rules)
        self._texts = rule_texts(self._rules)
        self._strict = strict
        self._lock = Lock()
        self._reported: set[tuple[Any, ...]] = set()
        self.forget()

    def forget(self) -> None:
        """Clear all findings; called when another run begins, perhaps in a forked process."""
        self._stacks = StackRows()
        self._has_judged = False
        self._rows: list[dict[str, Any]] = []
        self._left_out = 0
        self._observed: dict[tuple[int, str], dict[str, Any]] = {}

    def judge(self, new: NewCall) -> tuple[Finding, ...]:
        """Judge a call, store the verdicts, and return the defects that no comment suppresses.

        The call's tensors are not read.
        """
        budget = BUDGET_OF_CONTENTS if new.call.recorded else BUDGET
        self._has_judged = True
        verdicts = judge(new.call, self._rules, budget)
        with self._lock:
            rows = self._rows_of(verdicts, new.call)
            self._keep(rows)
        return self._defects(verdicts, rows, new)

    def add_unjudged(self, call_id: int, kernel: str, reason: str) -> None:
        """Store an unknown verdict, with the reason, for a call whose judgment failed."""
        self._has_judged = True
        if self._rules:
            with self._lock:
                self._keep([unjudged_row(call_id, kernel, reason, self._rules)])

    def add_observed(self, new: NewCall, verdicts: Iterable[Verdict]) -> tuple[Finding, ...]:
        """Store the defects of an executed launch, and return them as `judge` does."""
        verdicts = [verdict for verdict in verdicts if verdict.rule in self._rules]
        with self._lock:
            rows = self._rows_of(verdicts, new.call)
            for row in rows:
                if len(self._observed) < _ROWS:
                    self._observed.setdefault((new.call.call_id, row["finding_id"]), row)
        return self._defects(verdicts, rows, new)

    def refuses(self, findings: Iterable[Finding]) -> bool:
        """Return whether one of the findings is an error, so that `sanitize=raise` raises."""
        return any(finding.fails(strict=self._strict) for finding in findings)

    def defect(self, findings: Sequence[Finding], *, color: bool = False) -> KernelDefect | None:
        """Return one error whose text has all the findings of a call; None without findings."""
        if not findings:
            return None
        printer = Printer(_lines_around(findings), color=color, base=os.getcwd())  # noqa: PTH109
        groups = by_cause(Findings(tuple(findings))).groups
        blocks = ["\n".join(printer.defect(group)) for group in groups]
        return KernelDefect("\n\n".join(blocks), finding_objects(findings))

    def has_reported(self, file: str, line: int) -> bool:
        """Return whether a defect at that source line has been reported."""
        with self._lock:
            return any(defect[3:5] == (file, line) for defect in self._reported)

    def mark_reported(self, findings: Iterable[Finding]) -> bool:
        """Mark the defects as reported; return whether one was not reported before, in any call."""
        defects = {(f.kernel, f.rule, f.verdict, f.file, f.line, f.column, f.arg) for f in findings}
        with self._lock:
            new_defects = defects - self._reported
            self._reported |= defects
        return bool(new_defects)

    def finish(self, out: str, run_id: str) -> None:
        """Add the findings to the run, except judgments if a `sanitizer` pass has run since.

        Raises:
            KvtraceError: The findings cannot be written.

        """
        from kvtrace.schema.trace import open_trace

        trace = open_trace(out)
        with self._lock:
            stacks = self._stacks.rows()
            if self._observed:
                rows = list(self._observed.values())
                rules = {row["rule"] for row in rows}
                facts: dict[str, Any] = {"rules": rule_texts(rules), "while": "running"}
                trace.add_derived(run_id, OBSERVED, _tables(rows, stacks), facts)
            if self._has_judged and PASS_NAME not in trace.passes(run_id):
                left_out = {"left_out_rows": self._left_out} if self._left_out else {}
                facts = {"rules": self._texts, "while": "running", **left_out}
                trace.add_derived(run_id, PASS_NAME, _tables(self._rows, stacks), facts)

    def _rows_of(self, verdicts: Iterable[Verdict], call: Call) -> list[dict[str, Any]]:
        return rows_of(((v, RULES[v.rule].severity) for v in verdicts), call, self._stacks)

    def _defects(
        self, verdicts: Iterable[Verdict], rows: Iterable[Mapping[str, Any]], new: NewCall
    ) -> tuple[Finding, ...]:
        findings = (self._finding(v, row, new) for v, row in zip(verdicts, rows, strict=True))
        return tuple(f for f in findings if f is not None and self._is_reportable(f))

    def _keep(self, rows: Sequence[dict[str, Any]]) -> None:
        if len(self._rows) + len(rows) > _ROWS:
            self._left_out += len(rows)
            return
        self._rows += rows

    def _is_reportable(self, finding: Finding) -> bool:
        """Return whether a finding is reported: an error or a warning, with `strict` an unknown."""
        return finding.is_defect or finding.fails(strict=self._strict)

    def _finding(self, verdict: Verdict, row: Mapping[str, Any], new: NewCall) -> Finding | None:
        if verdict.verdict == "proven":
            return None
        other_op = verdict.other_op
        stacks = {
            row["stack_id"]: _frames(source_stack(verdict.op)),
            row["other_stack_id"]: _frames(source_stack(other_op)) if other_op is not None else (),
        }
        call = new.call
        stack = _frames(new.stack)
        row_of_kernel = {"name": call.kernel, "file": new.file}
        facts = call_facts(
            call.kernel, call.grid, new.args, stack, file=new.file, line=new.line,
            **generation(row_of_kernel),
        )  # fmt: skip
        rules = {rule: RuleText(**text) for rule, text in self._texts.items()}
        finding = finding_of({**row, "run": None}, facts, stacks, rules, _line)
        return suppressed_by(Suppressions(FilesOnDisk()), finding)


def _tables(
    findings: Sequence[Mapping[str, Any]], stacks: Sequence[Mapping[str, Any]]
) -> dict[str, pa.Table]:
    import pyarrow as pa

    from kvtrace.schema.columns import batch_of_rows

    return {
        name: pa.Table.from_batches([batch_of_rows(TABLES[name], rows)], schema=TABLES[name].schema)
        for name, rows in (("findings", findings), ("stacks", stacks))
    }


def _frames(stack: Iterable[Any]) -> tuple[StackFrame, ...]:
    return tuple(StackFrame(f.file, f.line, f.column, f.function) for f in stack)


class FilesOnDisk:
    """Source lines from the files on disk, in the form in which `Suppressions` reads them."""

    def blocks(self, file: str) -> list[tuple[int, list[str]]]:
        """Return the whole file as one block of lines; none if the file cannot be read."""
        lines = [line.rstrip("\n") for line in linecache.getlines(file)]
        return [(1, lines)] if lines else []


def _line(file: str | None, line: int | None) -> str | None:
    text = linecache.getline(file, line) if file is not None and line is not None else ""
    return text.rstrip("\n") or None


def _lines_around(findings: Iterable[Finding]) -> dict[tuple[str, int], str]:
    lines = {}
    for finding in findings:
        if finding.file is None or finding.line is None:
            continue
        for line_number in range(finding.line - CONTEXT, finding.line + CONTEXT + 1):
            text = _line(finding.file, line_number)
            if text is not None:
                lines[finding.file, line_number] = text
    return lines
