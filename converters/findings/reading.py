"""The only reader of the table `findings`: rows of all runs as plain data.

Suppressions by comments in the source, and comments that suppress nothing, are decided here, so
that all outputs agree.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

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
from kvtrace.converters.findings.unused import Definition, lines_judged, unused_ignores
from kvtrace.converters.source_lines import SourceLines
from kvtrace.figures.lines import is_plumbing
from kvtrace.figures.times import host_times
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.layout import pass_parts, run_folder

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: The pass that fills the table, and the key of its settings that describes the rules.
_WRITER: Final = "sanitizer"
_RULES_KEY: Final = "rules"
_TEXTS: Final = ("severity", "summary", "hint")

_OF_KERNELS: Final = ["kernel_id", "name", "file", "line", "origin", "origins"]

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts of a unique call that its findings show: kernel, grid, arguments, launches."""

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


def read_findings(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    proven: bool = False,
    rules: Iterable[str] | None = None,
    known_rules: Iterable[str] | None = None,
) -> Findings:
    """Read the findings of the runs; the same finding in several runs or calls becomes one.

    Args:
        trace: the opened trace.
        runs: the runs to read.
        proven: whether to list proven accesses, rather than only count them.
        rules: ids of the rules to read; None for all.
        known_rules: ids of all rules; a comment that names another rule is reported.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    table = trace.table("findings", runs)
    passes = [trace.passes(run.run_id) for run in runs]
    analyzed = all(
        pass_parts(run_folder(trace.path, "findings", run.run_id), _WRITER) for run in runs
    )
    texts = _rule_texts(settings for by_pass in passes for settings in by_pass.values())
    if rules is not None:
        selected = rules = frozenset(rules)
        texts = {rule: text for rule, text in texts.items() if rule in selected}
        names = pa.array(sorted(selected))
        table = table.filter(pc.is_in(without_dictionary(table["rule"]), names))
    if not table.num_rows and not analyzed:
        return Findings(analyzed=analyzed, rules=texts)
    lines = SourceLines(trace, runs)
    suppressions = Suppressions(lines)
    is_open = pc.not_equal(table["verdict"].cast(pa.string()), "proven")
    is_open = pc.fill_null(is_open, fill_value=True)
    rows = table if proven else table.filter(is_open)
    stacks = _stacks(trace, runs)
    calls = _calls(trace, runs, rows, stacks)
    tallies: Counter[Tally] = Counter()
    reasons: Counter[str] = Counter()
    merged: dict[tuple[str, str], Finding] = {}
    for row in rows.to_pylist():
        call = calls.get((row["run"], row["call_id"]), CallFacts())
        finding = suppressed_by(suppressions, finding_of(row, call, stacks, texts, lines.text))
        tallies[_tally(finding, call, row)] += 1
        if finding.verdict == "unknown" and not finding.suppressed:
            reasons[finding.reason or "no reason was given"] += 1
        key = (finding.finding_id, finding.kernel)
        first = merged.get(key)
        merged[key] = finding if first is None else _joined(first, finding)
    if not proven:
        for tally, count in _proven(table.filter(pc.invert(is_open)), calls):
            tallies[tally] += count
    notes: list[Finding] = []
    if analyzed:
        kernels = {Definition(c.file or "", c.line or 0, c.kernel) for c in calls.values()}
        ids = pc.unique(table["stack_id"]).to_pylist()
        judged_lines = lines_judged(lines, kernels, (stacks.get(i, ()) for i in ids))
        judged = texts or rules
        notes = unused_ignores(suppressions, lines, kernels, judged_lines, judged, known_rules)
    listed = in_order([*merged.values(), *notes])
    return Findings(
        listed=listed,
        tallies=tuple(replace(tally, count=count) for tally, count in tallies.items()),
        reasons=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        analyzed=analyzed,
        rules=texts,
        lines=dict(_excerpts(listed, lines)),
    )


def observed_rules(
    trace: "Trace", runs: Sequence["Run"], judged: Container[str]
) -> tuple[str, ...]:
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
    """Return the finding of one row of the table; `source` returns the text of a file's line."""
    stack = stacks.get(row["stack_id"], ())
    place = stack[0] if stack else StackFrame(call.file, call.line, None, None)
    file, line = place.file or call.file, place.line or call.line
    finding = Finding(
        finding_id=row["finding_id"],
        rule=row["rule"] or "unnamed",
        verdict=row["verdict"] or "unknown",
        severity=_severity(row, call, rules),
        kernel=call.kernel,
        file=file,
        line=line,
        column=place.column,
        access=row["access"],
        arg=row["arg"],
        tensor=call.tensors.get(row["arg"]),
        program=_program(row, "program"),
        iteration=row["iteration"],
        lane=None if row["lane"] is None else tuple(row["lane"]),
        address_offset=row["address_offset"],
        past_end_bytes=row["past_end_bytes"],
        lanes=row["lanes"],
        expression=row["expression"],
        method=row["method"],
        reason=row["reason"],
        message=row["message"],
        other_program=_program(row, "other_program"),
        nearest=row["nearest"],
        assumption=row["assumption"],
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
    """Return the severity of a row; lints of generated code are notes: nobody can act on them."""
    if call.generated and is_lint_rule(row["rule"], rules):
        return "note"
    return row["severity"] or "note"


def suppressed_by(suppressions: Suppressions, finding: Finding) -> Finding:
    """Return the finding, marked as suppressed if a comment applies and it is not proven."""
    if finding.verdict == "proven":
        return finding
    frames = finding.stack or (_own_frame(finding),)
    ignore = suppressions.of(frames, finding.rule)
    if ignore is None:
        return finding
    return replace(finding, suppressed=True, suppress_reason=ignore.reason)


def _joined(first: Finding, again: Finding) -> Finding:
    calls, launches = first.calls + again.calls, first.launches + again.launches
    return replace(first, calls=calls, launches=launches)


def _own_frame(finding: Finding) -> StackFrame:
    return StackFrame(finding.file, finding.line, finding.column, None)


def _program(row: Mapping[str, Any], prefix: str) -> tuple[int, int, int] | None:
    x, y, z = (row[f"{prefix}_{axis}"] for axis in "xyz")
    return None if x is None else (x, y or 0, z or 0)


def _rule_texts(passes: Iterable[Mapping[str, Any] | None]) -> dict[str, RuleText]:
    """Return the rules of passes by id, from the passes' settings; older passes have names only."""
    rules: dict[str, RuleText] = {}
    for settings in passes:
        described = (settings or {}).get(_RULES_KEY, {})
        if isinstance(described, str):
            described = {name.strip(): {} for name in described.split(",") if name.strip()}
        for name, texts in described.items():
            fields = {
                key: str(texts[key])
                for key in ("severity", "summary", "hint", "page", "lint")
                if key in texts
            }
            rules.setdefault(name, RuleText(**fields))
    return rules


def _calls(
    trace: "Trace",
    runs: Sequence["Run"],
    findings: pa.Table,
    stacks: Mapping[int, tuple[StackFrame, ...]],
) -> dict[tuple[str, int], CallFacts]:
    """Return the facts of every call, with arguments only for calls that have a finding."""
    kernels = {
        (row["run"], row["kernel_id"]): row
        for row in trace.table("kernels", runs, _OF_KERNELS).to_pylist()
    }
    launches = _launches(trace, runs)
    columns = ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "stack_id"]
    table = trace.table("calls", runs, [*columns, "args"])
    needed = pc.unique(findings["call_id"])
    args = {
        (row["run"], row["call_id"]): tuple(row["args"] or ())
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
    """Return the fields of `CallFacts` on generated code, by the kernel's row of `kernels`."""
    generated = is_generated(kernel)
    return {
        "generated": generated,
        "operators": operators_of(kernel) if generated else (),
        "copied": is_of_inductor(kernel) and not generated,
    }


def call_facts(
    kernel: str,
    grid: tuple[int, int, int],
    args: Sequence[Mapping[str, Any]],
    stack: Sequence[StackFrame],
    **facts: Any,
) -> CallFacts:
    """Return the facts of a call, from its rows of `calls.args` and its first launch's stack."""
    return CallFacts(
        kernel=kernel,
        grid=grid,
        invocation=invocation(kernel, grid, args),
        tensors={arg["name"]: tensor(arg) for arg in args},
        launched_at=_program_frame(stack),
        **facts,
    )


def _program_frame(stack: Sequence[StackFrame]) -> StackFrame | None:
    """Return the innermost frame of the program, or of torch or Triton if there is none."""
    frames = (frame for frame in stack if not is_plumbing(frame.file))
    return next(frames, stack[0] if stack else None)


def _launches(trace: "Trace", runs: Sequence["Run"]) -> Counter[tuple[str, int]]:
    calls = host_times(trace, runs, with_medians=False).calls
    names = ("run", "call_id", "launches", "tuning_launches")
    columns = (calls[name].to_pylist() for name in names)
    return Counter(
        {
            (run, call): launches + tuning
            for run, call, launches, tuning in zip(*columns, strict=True)
        }
    )


def _stacks(trace: "Trace", runs: Sequence["Run"]) -> dict[int, tuple[StackFrame, ...]]:
    return {
        row["stack_id"]: tuple(
            StackFrame(f["file"], f["line"], f["column"], f["function"])
            for f in row["frames"] or ()
        )
        for row in trace.table("stacks", runs, ["stack_id", "frames"]).to_pylist()
    }


def _tally(finding: Finding, call: CallFacts, row: Mapping[str, Any]) -> Tally:
    return Tally(
        row["run"], call.kernel_id, call.kernel, row["rule"], finding.verdict, finding.severity,
        suppressed=finding.suppressed, count=0,
    )  # fmt: skip


def _proven(
    table: pa.Table, calls: Mapping[tuple[str, int], CallFacts]
) -> Iterator[tuple[Tally, int]]:
    """Yield tallies of the proven rows with their counts, without a Python object for each row."""
    names = ["run", "call_id", "rule", "severity"]
    plain = pa.table({name: without_dictionary(table[name]) for name in names})
    for row in plain.group_by(names).aggregate([([], "count_all")]).to_pylist():
        call = calls.get((row["run"], row["call_id"]), CallFacts())
        tally = Tally(
            row["run"], call.kernel_id, call.kernel, row["rule"], "proven", row["severity"],
            suppressed=False, count=0,
        )  # fmt: skip
        yield tally, row["count_all"]


def _excerpts(listed: Iterable[Finding], lines: SourceLines) -> Iterator[tuple[Place, str]]:
    """Yield the recorded source lines around every frame of the findings, with file and line."""
    places = {
        (frame.file, frame.line)
        for finding in listed
        if finding.verdict != "proven"
        for frame in (
            *finding.stack,
            *finding.other_stack,
            StackFrame(finding.file, finding.line, None, None),
        )
    }
    for file, line in places:
        if file is None or line is None:
            continue
        for number in range(line - CONTEXT, line + CONTEXT + 1):
            text = lines.text(file, number)
            if text is not None:
                yield (file, number), text
