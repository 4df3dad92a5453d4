"""Findings for people and for programs: text as from a good compiler, JSON objects, SARIF.

`read_findings` makes plain data from the tables; the rest prints it. Proven accesses are counted,
and listed only when asked for.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.source_lines import SourceLines
from kvtrace.converters.text import plural, printable, wrapped

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

VERDICTS: Final = ("violation", "unknown", "proven")
SEVERITIES: Final = ("error", "warning", "note")

_HINTS: Final = {
    ("out-of-bounds", "load"): "pass mask= to the load (and other=), so that lanes past the end "
    "are off",
    ("out-of-bounds", "store"): "pass mask= to the store, so that lanes past the end are off",
    ("out-of-bounds", "atomic"): "pass mask= to the atomic, so that lanes past the end are off",
    ("out-of-view", "load"): "it reads its neighbour in the same storage: check the strides and "
    "the extent that are passed for this view",
    ("out-of-view", "store"): "it overwrites its neighbour in the same storage: check the strides "
    "and the extent that are passed for this view",
}
_DATA_HINT: Final = "record integer tensors with KVTRACE_TENSORS=int, so that indices are known"


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of a finding's source stack; lines and columns count from 1."""

    file: str | None
    line: int | None
    column: int | None
    function: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on one access of one distinct call, or a defect.

    `file` and `line` are those of the innermost frame of `stack`. `program`, `iteration`, `lane`,
    `address_offset` and `past_end_bytes` are the witness's. `launches` counts the launches of the
    call (of every call and run that has the same finding).
    """

    finding_id: str
    rule: str
    verdict: str
    severity: str
    kernel: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    access: str | None = None
    arg: str | None = None
    tensor: str | None = None
    program: tuple[int, int, int] | None = None
    iteration: int | None = None
    lane: tuple[int, ...] | None = None
    address_offset: int | None = None
    past_end_bytes: int | None = None
    lanes: int | None = None
    expression: str | None = None
    method: str | None = None
    reason: str | None = None
    message: str | None = None
    run: str | None = None
    call: int | None = None
    grid: tuple[int, int, int] | None = None
    launches: int = 0
    source: str | None = None
    stack: tuple[StackFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings in order of severity and place, and the count of verdicts for each kernel.

    `proven` ones are in `listed` only when they were asked for. `analysed` says whether the pass
    `sanitize` has looked at every run; without it there may be findings of the recording itself.
    """

    listed: tuple[Finding, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    analysed: bool = False

    @property
    def violations(self) -> int:
        """How many findings are violations, over all calls."""
        return sum(by_verdict.get("violation", 0) for by_verdict in self.counts.values())


def read_findings(trace: "Trace", runs: Sequence["Run"], *, proven: bool = False) -> Findings:
    """Read the findings of the runs; the same finding in several runs or calls becomes one.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    table = trace.table("findings", runs)
    analysed = all("sanitizer" in trace.passes(run.run_id) for run in runs)
    if not table.num_rows:
        return Findings(analysed=analysed)
    kernels = _kernel_rows(trace, runs)
    counts = _counts(table, kernels)
    wanted = table
    if not proven:
        wanted = table.filter(pc.not_equal(table["verdict"].cast(pa.string()), "proven"))
    calls = _call_rows(trace, runs, wanted)
    stacks = _stacks(trace, runs, wanted)
    launches = _launches(trace, runs)
    lines = SourceLines(trace, runs)
    merged: dict[tuple[str, str], Finding] = {}
    for row in wanted.to_pylist():
        found = _finding(row, kernels, calls, stacks, launches, lines)
        key = (found.finding_id, found.kernel)
        if key in merged:
            found = replace(merged[key], launches=merged[key].launches + found.launches)
        merged[key] = found
    return Findings(tuple(sorted(merged.values(), key=_order)), counts, analysed)


def finding_objects(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return the JSON form: a list of objects, one for each finding.

    Every object has all fields of `Finding`; what does not apply is null.
    """
    return [_object(found) for found in findings]


def findings_text(findings: Findings) -> list[str]:
    """Return lines for a terminal: each defect with its source line, then counts per kernel.

    The same defect in several distinct calls (other shapes, other grids) is told once.
    """
    lines: list[str] = []
    for group in _defects(findings.listed):
        lines += [*_defect_text(group), ""]
    return lines + _summary(findings)


def sarif(findings: Iterable[Finding], version: str) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log (OASIS standard), as code review tools read it.

    One result for each defect; proven accesses have kind `pass`, unknown ones `review`.
    """
    groups = _defects(tuple(findings))
    rules = sorted({group[0].rule for group in groups})
    driver = {
        "name": "kvtrace",
        "version": version,
        "rules": [{"id": rule} for rule in rules],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_sarif_result(g) for g in groups]}],
    }


def _finding(
    row: dict[str, Any],
    kernels: dict[tuple[str, int], dict[str, Any]],
    calls: dict[tuple[str, int], dict[str, Any]],
    stacks: dict[int, tuple[StackFrame, ...]],
    launches: Counter[tuple[str, int]],
    lines: SourceLines,
) -> Finding:
    place = (row["run"], row["call_id"])
    kernel, call = kernels.get(place, {}), calls.get(place, {})
    stack = stacks.get(row["stack_id"], ())
    file, line = (stack[0].file, stack[0].line) if stack else (None, None)
    program = (row["program_x"], row["program_y"], row["program_z"])
    return Finding(
        finding_id=row["finding_id"],
        rule=row["rule"] or "unnamed",
        verdict=row["verdict"] or "unknown",
        severity=row["severity"] or "note",
        kernel=kernel.get("name") or "?",
        file=file or kernel.get("file"),
        line=line or kernel.get("line"),
        column=stack[0].column if stack else None,
        access=row["access"],
        arg=row["arg"],
        tensor=_tensor(call, row["arg"]),
        program=None if program[0] is None else program,
        iteration=row["iteration"],
        lane=None if row["lane"] is None else tuple(row["lane"]),
        address_offset=row["address_offset"],
        past_end_bytes=row["past_end_bytes"],
        lanes=row["lanes"],
        expression=row["expression"],
        method=row["method"],
        reason=row["reason"],
        message=row["message"],
        run=row["run"],
        call=row["call_id"],
        grid=call.get("grid"),
        launches=launches[place],
        source=lines.text(file, line),
        stack=stack,
    )


def _kernel_rows(trace: "Trace", runs: Sequence["Run"]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return name and place of the kernel of every call of the runs."""
    kernels = {
        (row["run"], row["kernel_id"]): row
        for row in trace.table("kernels", runs, ["kernel_id", "name", "file", "line"]).to_pylist()
    }
    calls = trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist()
    return {
        (row["run"], row["call_id"]): kernels.get((row["run"], row["kernel_id"]), {})
        for row in calls
    }


def _call_rows(
    trace: "Trace", runs: Sequence["Run"], findings: pa.Table
) -> dict[tuple[str, int], dict[str, Any]]:
    """Return grid and arguments of the calls that these findings are of."""
    columns = ["call_id", "grid_x", "grid_y", "grid_z", "args"]
    table = trace.table("calls", runs, columns)
    needed = table.filter(pc.is_in(table["call_id"], pc.unique(findings["call_id"])))
    return {
        (row["run"], row["call_id"]): {
            "grid": (row["grid_x"], row["grid_y"], row["grid_z"]),
            "args": {arg["name"]: arg for arg in row["args"] or ()},
        }
        for row in needed.to_pylist()
    }


def _counts(
    table: pa.Table, kernels: dict[tuple[str, int], dict[str, Any]]
) -> dict[str, dict[str, int]]:
    columns = table.select(["run", "call_id", "verdict"])
    plain = pa.table({name: _plain(columns[name]) for name in columns.column_names})
    grouped = plain.group_by(["run", "call_id", "verdict"]).aggregate([([], "count_all")])
    counts: dict[str, dict[str, int]] = {}
    for row in grouped.to_pylist():
        kernel = kernels.get((row["run"], row["call_id"]), {}).get("name") or "?"
        by_verdict = counts.setdefault(kernel, dict.fromkeys(VERDICTS, 0))
        verdict = row["verdict"] or "unknown"
        by_verdict[verdict] = by_verdict.get(verdict, 0) + row["count_all"]
    return dict(sorted(counts.items()))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column without dictionary encoding, which differs between chunks."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _stacks(
    trace: "Trace", runs: Sequence["Run"], findings: pa.Table
) -> dict[int, tuple[StackFrame, ...]]:
    table = trace.table("stacks", runs, ["stack_id", "frames"])
    needed = table.filter(pc.is_in(table["stack_id"], pc.unique(findings["stack_id"])))
    return {
        row["stack_id"]: tuple(
            StackFrame(f["file"], f["line"], f["column"], f["function"])
            for f in row["frames"] or ()
        )
        for row in needed.to_pylist()
    }


def _launches(trace: "Trace", runs: Sequence["Run"]) -> Counter[tuple[str, int]]:
    table = trace.table("launches", runs, ["call_id"])
    plain = pa.table({"run": _plain(table["run"]), "call_id": table["call_id"]})
    grouped = plain.group_by(["run", "call_id"]).aggregate([([], "count_all")]).to_pylist()
    return Counter({(row["run"], row["call_id"]): row["count_all"] for row in grouped})


def _tensor(call: dict[str, Any], arg: str | None) -> str | None:
    """Say what the argument is, as `fp32[1000, 2]`."""
    found = call.get("args", {}).get(arg)
    if not found or found["kind"] != "tensor":
        return None
    return f"{found['dtype']}{list(found['shape'] or ())}"


def _order(found: Finding) -> tuple[int, int, str, int, str, str]:
    return (
        _rank(VERDICTS, found.verdict),
        _rank(SEVERITIES, found.severity),
        found.file or "",
        found.line or 0,
        found.kernel,
        found.finding_id,
    )


def _rank(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _defects(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Put findings together that tell the same of the same place, in several distinct calls."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for f in findings:
        reason = f.reason if f.file is None else None
        key = (f.kernel, f.rule, f.verdict, f.access, f.arg, f.file, f.line, f.column, reason)
        groups.setdefault(key, []).append(f)
    return list(groups.values())


def _defect_text(group: list[Finding]) -> list[str]:
    found = group[0]
    place = f"{found.file or '?'}:{found.line or '?'}"
    label = found.severity if found.verdict == "violation" else found.verdict
    what = f"{found.access or 'access'} of {found.arg}" if found.arg else found.access or "access"
    lines = [printable(f"{place}: {label}: {found.rule}: {what} in {found.kernel}")]
    if found.source is not None:
        lines.append(f"  {found.line:>5} | {printable(found.source.rstrip())}")
    if found.message:
        lines += wrapped(found.message, indent=2)
    lines += _witness_text(found)
    for label, text in (("address", found.expression), ("because", _new_reason(found))):
        if text:
            lines += wrapped(f"{label}: {text}", indent=2)
    for frame in found.stack[1:]:
        place = f"{frame.file}:{frame.line} {frame.function or ''}"
        lines.append(f"  called from {printable(place.rstrip())}")
    lines.append(f"  {_reach(group)}")
    hint = _hint(found)
    return lines + (wrapped(f"hint: {hint}", indent=2) if hint else [])


def _witness_text(found: Finding) -> list[str]:
    if found.program is None:
        return []
    parts = [f"program {found.program}"]
    if found.grid is not None:
        parts[0] += f" of grid {found.grid}"
    if found.lane:
        parts.append(f"lane {list(found.lane)}")
    if found.iteration is not None:
        parts.append(f"iteration {found.iteration}")
    lines = [f"  witness: {', '.join(parts)}"]
    if found.address_offset is not None:
        tensor = f" of {found.arg}" if found.arg else ""
        kind = f" ({found.tensor})" if found.tensor else ""
        text = f"byte offset {found.address_offset:,}{tensor}{kind}"
        if found.lanes is not None and f"{found.lanes} lanes" not in (found.message or ""):
            text += f"; {plural(found.lanes, 'lane')} over the grid"
        lines.append(f"  {printable(text)}")
    return lines


def _new_reason(found: Finding) -> str | None:
    """Return the reason, unless the message has told it."""
    told = found.reason is not None and found.reason in (found.message or "")
    return None if told else found.reason


def _reach(group: list[Finding]) -> str:
    launches = sum(found.launches for found in group)
    return f"in {plural(len(group), 'distinct call')}, {plural(launches, 'launch')}"


def _hint(found: Finding) -> str | None:
    if found.verdict == "violation":
        return _HINTS.get((found.rule, found.access or ""))
    if found.verdict == "unknown" and "data" in (found.reason or ""):
        return _DATA_HINT
    return None


def _summary(findings: Findings) -> list[str]:
    total = Counter[str]()
    for by_verdict in findings.counts.values():
        total.update(by_verdict)
    lines = [
        f"  {printable(kernel)}: " + _verdict_counts(by_verdict)
        for kernel, by_verdict in findings.counts.items()
    ]
    if not findings.analysed and not findings.counts:
        return ["not analysed yet: kvtrace sanitize fills the findings"]
    heading = f"verdicts on the accesses of distinct calls: {_verdict_counts(total)}"
    return [heading, *lines]


def _verdict_counts(by_verdict: dict[str, int]) -> str:
    return ", ".join(f"{by_verdict.get(verdict, 0):,} {verdict}" for verdict in VERDICTS)


def _object(found: Finding) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found)


def _sarif_result(group: list[Finding]) -> dict[str, Any]:
    found = group[0]
    kind = {"violation": "fail", "proven": "pass"}.get(found.verdict, "review")
    text = found.message or found.reason or f"{found.rule} in {found.kernel}"
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "kind": kind,
        "level": found.severity if kind == "fail" and found.severity in SEVERITIES else "none",
        "message": {"text": f"{found.kernel}: {text}"},
        "partialFingerprints": {"finding/v1": found.finding_id},
        "properties": _object(found),
    }
    if found.file is not None:
        region = {"startLine": found.line} if found.line else {}
        if region and found.column:
            region["startColumn"] = found.column
        location = {"artifactLocation": {"uri": _uri(found.file)}, "region": region}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(path: str) -> str:
    from urllib.parse import quote

    return ("file://" if path.startswith("/") else "") + quote(path)
