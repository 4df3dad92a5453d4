"""The only reader of the table `findings`: rows of all runs become `Findings`.

Comments in the source that suppress findings are applied here, and comments that suppress nothing
are reported, so that all outputs agree.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain, dropwhile
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.findings.causes import (
    cause_of,
    is_generated,
    is_lint_rule,
    is_of_inductor,
    operators_of,
)
from kvtrace.converters.findings.hints import hint_for
from kvtrace.converters.findings.invocation import invocation, tensor
from kvtrace.converters.findings.model import (
    CONTEXT,
    Finding,
    Findings,
    Operator,
    RuleText,
    StackFrame,
    Tally,
    in_order,
)
from kvtrace.converters.findings.suppressions import Suppressions
from kvtrace.converters.findings.unused import Definition, judged_lines_by_file, unused_ignores
from kvtrace.converters.source_lines import SourceLines
from kvtrace.figures.lines import is_plumbing
from kvtrace.figures.times import launches_by_phase
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.layout import PARTIAL, pass_parts, run_folder
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import (
    KernelWithoutIr,
    evaluated_without_rules,
    kernels_without_ir,
    runs_without_ir,
)

#: The pass that fills the table, and the key of its settings with the descriptions of rules.
_WRITER: Final = "sanitizer"
_RULES_KEY: Final = "rules"
#: The rule that stands for all where nothing can be judged.
_ACCESSES: Final = "out-of-bounds"

_KERNEL_COLUMNS: Final = ["kernel_id", "name", "file", "line", "origin", "origins"]

FileAndLine = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts of a unique call for its findings: kernel, grid, arguments, launches.

    `tensors` has type and shape of tensor arguments by name. `generated`: Inductor wrote the
    kernel; `copied`: Inductor copied a user's kernel.
    """

    kernel: str = "?"
    kernel_id: int | None = None
    file: str | None = None
    line: int | None = None
    grid: tuple[int, int, int] | None = None
    invocation: str | None = None
    tensors: Mapping[str, str | None] = field(default_factory=dict)
    launched_at: StackFrame | None = None
    launches: int = 0
    generated: bool = False
    operators: tuple[Operator, ...] = ()
    copied: bool = False


#: Columns of `findings` that findings have as they are recorded.
_SAME: Final = (
    "access", "arg", "iteration", "address_offset", "past_end_bytes", "lanes", "expression",
    "method", "reason", "message", "nearest", "assumption",
)  # fmt: skip
#: What rows without a call are about: operators, which are no kernels.
_OPERATORS: Final = CallFacts(kernel="PyTorch")


def read_findings(
    trace: Trace,
    runs: Sequence[Run],
    *,
    proven: bool = False,
    rules: Iterable[str] | None = None,
    known_rules: Iterable[str] | None = None,
    unjudged: bool = True,
) -> Findings:
    """Return the findings of the runs; equal findings of several runs or calls become one.

    Args:
        trace: the opened trace.
        runs: the runs to read.
        proven: list proven accesses, rather than only count them.
        rules: ids of the rules to read; None for all.
        known_rules: ids of all rules; a comment that names another rule is reported. None: such
            comments are not reported.
        unjudged: list an unknown for each kernel that no pass can judge: those of runs of which
            nothing can be, and those that were evaluated while the program ran, without rules.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    left_out = runs_without_ir(trace, runs) if unjudged else {}
    unjudged_kernels = _unjudged_kernels(trace, runs, left_out) if unjudged else {}
    table = trace.table("findings", runs)
    passes = [trace.passes(run.run_id) for run in runs]
    judgeable = [run for run in runs if run.run_id not in left_out]
    analyzed = bool(judgeable or not runs) and not any(
        PARTIAL in by_pass.get(_WRITER, {}) for by_pass in passes
    )
    analyzed = analyzed and all(
        pass_parts(run_folder(trace.path, "findings", run.run_id), _WRITER) for run in judgeable
    )
    rule_texts = _rule_texts(settings for by_pass in passes for settings in by_pass.values())
    if rules is not None:
        selected = rules = frozenset(rules)
        rule_texts = {rule: text for rule, text in rule_texts.items() if rule in selected}
        names = pa.array(sorted(selected))
        table = table.filter(pc.is_in(without_dictionary(table["rule"]), names))
    if not table.num_rows and not analyzed and not unjudged_kernels:
        count = trace.table("calls", runs, ["call_id"]).num_rows
        return Findings(analyzed=analyzed, rules=rule_texts, calls=count)
    lines = SourceLines(trace, runs)
    suppressions = Suppressions(lines)
    is_not_proven = pc.not_equal(table["verdict"].cast(pa.string()), "proven")
    is_not_proven = pc.fill_null(is_not_proven, fill_value=True)
    rows = table if proven else table.filter(is_not_proven)
    stacks = _frames_by_stack(trace, runs)
    calls = _facts_by_call(trace, runs, rows, stacks)
    tallies: Counter[Tally] = Counter()
    reasons: Counter[str] = Counter()
    finding_by_key: dict[tuple[str, str], Finding] = {}

    def of_rows() -> Iterator[tuple[Finding, CallFacts, str | None]]:
        for row in rows.to_pylist():
            call = _facts_of(row, calls)
            finding = finding_of(row, call, stacks, rule_texts, lines.text)
            yield suppressed_by(suppressions, finding), call, row["rule"]

    selected_rules = None if rules is None else sorted(rules)
    unknowns = _unknowns(unjudged_kernels, calls, selected_rules)
    for finding, call, rule in chain(of_rows(), unknowns):
        tallies[_tally(finding, call, rule)] += finding.calls
        if finding.verdict == "unknown" and not finding.suppressed:
            reasons[finding.reason or "no reason was given"] += finding.calls
        key = (finding.finding_id, finding.kernel)
        earlier = finding_by_key.get(key)
        finding_by_key[key] = finding if earlier is None else _with_calls_of(earlier, finding)
    if not proven:
        for tally, count in _proven_tallies(table.filter(pc.invert(is_not_proven)), calls):
            tallies[tally] += count
    notes: list[Finding] = []
    if analyzed:
        kernels = {Definition(c.file or "", c.line or 0, c.kernel) for c in calls.values()}
        ids = pc.unique(table["stack_id"]).to_pylist()
        judged_lines = judged_lines_by_file(lines, kernels, (stacks.get(i, ()) for i in ids))
        judged = rule_texts or rules
        notes = unused_ignores(suppressions, lines, kernels, judged_lines, judged, known_rules)
    listed = in_order([*finding_by_key.values(), *notes])
    return Findings(
        listed=listed,
        tallies=tuple(replace(tally, count=count) for tally, count in tallies.items()),
        reasons=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        analyzed=analyzed,
        rules=rule_texts,
        lines=dict(_source_excerpts(listed, lines)),
        left_out=tuple(left_out.values()),
        calls=len(calls),
    )


def _unjudged_kernels(
    trace: Trace, runs: Iterable[Run], left_out: Container[str]
) -> dict[str, tuple[KernelWithoutIr, ...]]:
    """Return the kernels on which no pass writes rows, however often it analyzes, by run id."""
    kernels = {
        run.run_id: (
            *(kernels_without_ir(trace, run).values() if run.run_id in left_out else ()),
            *evaluated_without_rules(trace, run),
        )
        for run in runs
    }
    return {run_id: of_run for run_id, of_run in kernels.items() if of_run}


def _unknowns(
    kernels: Mapping[str, Sequence[KernelWithoutIr]],
    calls: Mapping[tuple[str, int], CallFacts],
    rules: Sequence[str] | None,
) -> Iterator[tuple[Finding, CallFacts, str]]:
    """Yield an *unknown* for each called kernel of those that cannot be judged, by run id.

    Each has the facts of a call, and the rule.
    """
    if rules == []:
        return
    rule = _ACCESSES if rules is None or _ACCESSES in rules else rules[0]
    for run_id, kernels_of_run in kernels.items():
        for kernel in kernels_of_run:
            facts = [calls.get((run_id, call), CallFacts()) for call in kernel.calls]
            if not facts:
                continue
            finding = Finding(
                finding_id=f"without-ir-{sha256(facts[0].kernel.encode()).hexdigest()[:8]}",
                rule=rule,
                verdict="unknown",
                severity="note",
                kernel=facts[0].kernel,
                file=facts[0].file,
                line=facts[0].line,
                reason=kernel.reason,
                message=f"{facts[0].kernel} cannot be judged: {kernel.reason}",
                run=run_id,
                call=kernel.calls[0],
                grid=facts[0].grid,
                calls=len(facts),
                launches=sum(call.launches for call in facts),
            )
            yield replace(finding, cause=cause_of(finding)), facts[0], rule


def observed_rules(trace: Trace, runs: Sequence[Run], judged: Container[str]) -> tuple[str, ...]:
    """Return the ids of the rules that judged calls while the program ran.

    Args:
        trace: The trace.
        runs: The runs.
        judged: Ids of rules that judged the runs later, which are left out.

    """
    passes = [settings for run in runs for settings in trace.passes(run.run_id).values()]
    return tuple(rule for rule in _rule_texts(passes) if rule not in judged)


def finding_of(
    row: Mapping[str, Any],
    call: CallFacts,
    stacks: Mapping[int, tuple[StackFrame, ...]],
    rules: Mapping[str, RuleText],
    source: Callable[[str | None, int | None], str | None],
) -> Finding:
    """Return a row of the table as a finding, without suppression.

    `stacks` has frames by stack id; `source` is a function that returns the text of a file's line.
    """
    stack = _of_program(stacks.get(row["stack_id"], ()))
    frame = stack[0] if stack else StackFrame(call.file, call.line, None, None)
    file, line = frame.file or call.file, frame.line or call.line
    finding = Finding(
        finding_id=row["finding_id"],
        rule=row["rule"] or "unnamed",
        verdict=row["verdict"] or "unknown",
        severity=_severity(row, call, rules),
        kernel=call.kernel,
        file=file,
        line=line,
        column=frame.column,
        **{name: row[name] for name in _SAME},
        tensor=call.tensors.get(row["arg"]),
        program=_program(row, "program"),
        lane=None if row["lane"] is None else tuple(row["lane"]),
        other_program=_program(row, "other_program"),
        run=row["run"],
        call=row["call_id"],
        grid=call.grid,
        launches=call.launches,
        hint=hint_for(row, rules, call.tensors, generated=call.generated),
        invocation=call.invocation,
        launched_at=call.launched_at,
        source=source(file, line),
        stack=stack,
        other_stack=stacks.get(row["other_stack_id"], ()),
        generated=call.generated,
        operators=call.operators,
    )
    return replace(finding, cause=cause_of(finding, call.line if call.copied else None))


def _severity(row: Mapping[str, Any], call: CallFacts, rules: Mapping[str, RuleText]) -> str:
    """Return a row's severity; lints in generated code are notes, since users cannot fix them."""
    if call.generated and is_lint_rule(row["rule"], rules):
        return "note"
    return row["severity"] or "note"


def suppressed_by(suppressions: Suppressions, finding: Finding) -> Finding:
    """Return the finding, marked as suppressed if a comment applies to it and it is not proven."""
    if finding.verdict == "proven":
        return finding
    frames = finding.stack or (StackFrame(finding.file, finding.line, finding.column, None),)
    ignore = suppressions.of(frames, finding.rule)
    if ignore is None:
        return finding
    return replace(finding, suppressed=True, suppress_reason=ignore.reason)


def _with_calls_of(first: Finding, other: Finding) -> Finding:
    """Return one finding for both; a call that was launched stands for one that was not.

    What judges while the program runs may record a call of its own, beside the one that launches.
    """
    calls, launches = first.calls + other.calls, first.launches + other.launches
    shown = first if first.launches or not other.launches else other
    return replace(shown, calls=calls, launches=launches)


def _program(row: Mapping[str, Any], prefix: str) -> tuple[int, int, int] | None:
    x, y, z = (row[f"{prefix}_{axis}"] for axis in "xyz")
    return None if x is None else (x, y or 0, z or 0)


def _rule_texts(passes: Iterable[Mapping[str, Any] | None]) -> dict[str, RuleText]:
    """Return the rules in the settings of passes, by id; old passes recorded names only."""
    rules: dict[str, RuleText] = {}
    for settings in passes:
        descriptions = (settings or {}).get(_RULES_KEY, {})
        if isinstance(descriptions, str):
            descriptions = {name.strip(): {} for name in descriptions.split(",") if name.strip()}
        for name, texts in descriptions.items():
            fields = {
                key: str(texts[key])
                for key in ("severity", "summary", "hint", "page", "lint")
                if key in texts
            }
            rules.setdefault(name, RuleText(**fields))
    return rules


def _facts_of(row: Mapping[str, Any], calls: Mapping[tuple[str, int], CallFacts]) -> CallFacts:
    """Return the facts of a row's call; what was not recorded of a call is unknown."""
    unrecorded = _OPERATORS if row["call_id"] is None else CallFacts()
    return calls.get((row["run"], row["call_id"]), unrecorded)


def _facts_by_call(
    trace: Trace,
    runs: Sequence[Run],
    findings: pa.Table,
    stacks: Mapping[int, tuple[StackFrame, ...]],
) -> dict[tuple[str, int], CallFacts]:
    """Return the facts of every call by run and call id; arguments only for calls in `findings`."""
    kernels = {
        (row["run"], row["kernel_id"]): row
        for row in trace.table("kernels", runs, _KERNEL_COLUMNS).to_pylist()
    }
    launches = _launches_by_call(trace, runs)
    columns = ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "stack_id"]
    table = trace.table("calls", runs, [*columns, "args"])
    needed = pc.unique(findings["call_id"])
    args = {
        (row["run"], row["call_id"]): row["args"]
        for row in table.filter(pc.is_in(table["call_id"], needed)).to_pylist()
    }
    facts = {}
    for row in table.drop_columns(["args"]).to_pylist():
        kernel = kernels.get((row["run"], row["kernel_id"]), {})
        call = (row["run"], row["call_id"])
        facts[call] = call_facts(
            kernel.get("name") or "?",
            (row["grid_x"], row["grid_y"], row["grid_z"]),
            args.get(call, ()),
            stacks.get(row["stack_id"], ()),
            kernel_id=row["kernel_id"],
            file=kernel.get("file"),
            line=kernel.get("line"),
            launches=launches[call],
            **generation(kernel),
        )
    return facts


def generation(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `CallFacts` on generated code, from the kernel's row of `kernels`."""
    generated = is_generated(kernel)
    return {
        "generated": generated,
        "operators": operators_of(kernel) if generated else (),
        "copied": is_of_inductor(kernel) and not generated,
    }


def call_facts(
    kernel: str,
    grid: tuple[int, int, int],
    args: Sequence[Mapping[str, Any]] | None,
    stack: Sequence[StackFrame],
    **facts: Any,
) -> CallFacts:
    """Return the facts of a call from its arguments (`calls.args`) and its first launch's stack.

    Without a grid or arguments, none having been recorded, the call has no text.

    `facts` are further fields of `CallFacts`.
    """
    return CallFacts(
        kernel=kernel,
        grid=grid,
        invocation=None if args is None or None in grid else invocation(kernel, grid, args),
        tensors={arg["name"]: tensor(arg) for arg in args or ()},
        launched_at=next(iter(_of_program(stack)), None),
        **facts,
    )


def _of_program(stack: Sequence[StackFrame]) -> tuple[StackFrame, ...]:
    """Return a stack from the program's innermost frame on; all of it if no frame is of it."""
    return tuple(dropwhile(lambda frame: is_plumbing(frame.file), stack)) or tuple(stack)


def _launches_by_call(trace: Trace, runs: Sequence[Run]) -> Counter[tuple[str, int]]:
    numbers: Counter[tuple[str, int]] = Counter()
    columns = launches_by_phase(trace, runs).select(["run", "call_id", "launches"]).columns
    for run, call, launches in zip(*(column.to_pylist() for column in columns), strict=True):
        numbers[run, call] += launches
    return numbers


def _frames_by_stack(trace: Trace, runs: Sequence[Run]) -> dict[int, tuple[StackFrame, ...]]:
    return {
        row["stack_id"]: tuple(
            StackFrame(f["file"], f["line"], f["column"], f["function"])
            for f in row["frames"] or ()
        )
        for row in trace.table("stacks", runs, ["stack_id", "frames"]).to_pylist()
    }


def _tally(finding: Finding, call: CallFacts, rule: str | None) -> Tally:
    return Tally(
        finding.run or "", call.kernel_id, call.kernel, rule, finding.verdict, finding.severity,
        suppressed=finding.suppressed, count=0,
    )  # fmt: skip


def _proven_tallies(
    table: pa.Table, calls: Mapping[tuple[str, int], CallFacts]
) -> Iterator[tuple[Tally, int]]:
    """Yield each tally of the proven rows (with count 0) and its count.

    Rows are counted in Arrow, which is much faster than in Python.
    """
    names = ["run", "call_id", "rule", "severity"]
    plain = pa.table({name: without_dictionary(table[name]) for name in names})
    for row in plain.group_by(names).aggregate([([], "count_all")]).to_pylist():
        call = _facts_of(row, calls)
        tally = Tally(
            row["run"], call.kernel_id, call.kernel, row["rule"], "proven", row["severity"],
            suppressed=False, count=0,
        )  # fmt: skip
        yield tally, row["count_all"]


def _source_excerpts(
    listed: Iterable[Finding], lines: SourceLines
) -> Iterator[tuple[FileAndLine, str]]:
    """Yield file, line and text of the recorded source lines around each frame of the findings."""
    locations = dict.fromkeys(
        (frame.file, frame.line)
        for finding in listed
        if finding.verdict != "proven"
        for frame in (
            *finding.stack,
            *finding.other_stack,
            StackFrame(finding.file, finding.line, None, None),
        )
    )
    for file, line in locations:
        if file is None or line is None:
            continue
        for line_number in range(line - CONTEXT, line + CONTEXT + 1):
            text = lines.text(file, line_number)
            if text is not None:
                yield (file, line_number), text
