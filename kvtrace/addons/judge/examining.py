"""The examiner's process: judges the trace of the candidate's process by rules, and adds figures.

At the same time another process compares results (`outputs.py`). Of the candidate's process, only
the trace and the log are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import behavior
from kvtrace.addons.judge.calling import read_call_results
from kvtrace.addons.judge.confining import EVENTS_FILE
from kvtrace.addons.judge.figures import figures_of
from kvtrace.addons.judge.launches import launch_entries, read_log
from kvtrace.addons.judge.problems import (
    ExaminerResult,
    Problem,
    beyond_given,
    collected_result,
    store_result,
)
from kvtrace.addons.judge.request import CannotJudge, Folders, Request
from kvtrace.addons.judge.shared_memory import kernels_over_limit
from kvtrace.analysis.conditions import kernel_conditions, parse_sizes
from kvtrace.analysis.judging import judge_runs
from kvtrace.clients.recorded import replay_runs
from kvtrace.converters.findings import without_proven
from kvtrace.converters.findings.conditions import KernelConditions, unjudged_at_sizes
from kvtrace.converters.profile.profile import read_profile
from kvtrace.inputs.cases import BEYOND, Case, extents_by_name, read_cases
from kvtrace.recorded_calls.recorded import Call, calls_of
from kvtrace.schema.trace import Selection, select_runs
from kvtrace.verdicts.judge import judge_launches

_MOST_FINDINGS: Final = 100
#: A result made of undefined values is wrong, though compilers use zero today.
_SEVERITY: Final = {"undefined-lanes": "error"}


def examine(
    request: Request, largest: str | None, annotations: Mapping[str, str], folders: Folders,
    folder: Path, *, tuned: bool,
) -> None:  # fmt: skip
    """Judge the trace that a candidate's process has left, and write the result into `folder`.

    `largest` has the largest sizes, if the file declares them; `annotations` are those of the
    reference's parameters; `folders` are those of the other processes. `tuned`: kernels may be
    autotuned, so that some configurations may fail.
    """
    with collected_result(folder) as result:
        for _ in _parts(request, largest, annotations, folders, folder / "trace", result, tuned):
            store_result(result, folder)


def _parts(
    request: Request, largest: str | None, annotations: Mapping[str, str], folders: Folders,
    recorded: Path, result: ExaminerResult, tuned: bool,
) -> Iterator[None]:  # fmt: skip
    """Judge by one kind of rules after the other, and yield after each."""
    log, events = read_log(folders.child / EVENTS_FILE)
    result.problems += _behavior_problems(log, events)
    entries = list(log.values())
    if not any(map(list, map(launch_entries, entries))):
        return
    selection = select_runs(recorded)
    _check_kernels(selection, entries, folders.child)
    for kernel, text in kernels_over_limit(selection, tuned=tuned):
        hint = "take smaller blocks, or fewer stages"
        result.problems.append(Problem("shared-memory", "error", text, hint, kernel=kernel))
    yield
    launches = _launches_of_cases(selection, log, folders)
    _judge_by_rules(selection, launches, result)
    yield
    _add_sizes(selection, request.at or largest, launches, annotations, result)
    yield
    _add_figures(selection, request.device, result)


def _behavior_problems(
    log: Mapping[int, Sequence[Mapping[str, Any]]], events: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Yield a problem for each kind of forbidden action, and one for replaced functions."""
    for kind, text in behavior.behavior_sentences(events):
        yield Problem(kind, "error", text, behavior.HINT)
    patched = [str(e["patched"]) for entries in log.values() for e in entries if "patched" in e]
    if patched:
        text = f"the candidate replaces functions of other modules: {', '.join(patched[:5])}"
        yield Problem("patches", "error", text, "call them as they are; no verdict depends on them")


def _check_kernels(
    selection: Selection, entries: Sequence[Sequence[Mapping[str, Any]]], child: Path
) -> None:
    """Check that the trace has all kernels of the log.

    Raises:
        CannotJudge: a kernel of the log is missing in the trace.
    """
    artifact = selection.trace.artifact
    recorded = {
        content
        for row in selection.table("kernels", ["stages"]).to_pylist()
        for stage in row["stages"] or ()
        if stage["stage"] == "ttir" and (content := artifact(stage["artifact"]))
    }
    launched = {str(launch["ttir"]) for call in entries for launch in launch_entries(call)}
    for digest in launched:
        path = child / f"ttir-{digest}"
        if not digest.isalnum() or not path.is_file() or path.read_bytes() not in recorded:
            raise CannotJudge(
                "the log of launches and the trace have different kernels: the candidate "
                "tampered with the recording"
            )


@dataclass(frozen=True, slots=True)
class _LaunchOfCase:
    """A recorded launch by number and unique call, with its case; None if that is not known."""

    seq: int
    call: int
    case: Case | None

    @property
    def is_beyond(self) -> bool:
        """The launch is of a case beyond the given inputs."""
        return self.case is not None and self.case.kind == BEYOND


def _launches_of_cases(
    selection: Selection, log: Mapping[int, Sequence[Mapping[str, Any]]], folders: Folders
) -> list[_LaunchOfCase]:
    """Return the launches with their cases.

    Launches of trace and log are matched by their order. Launches without programs, which the log
    lacks, are skipped; if the numbers still differ, the result is empty.
    """
    cases, order = read_cases(folders.inputs), read_call_results(folders.answered).order
    case_of_call = {call: cases[number] for call, number in enumerate(order)}
    case_of_launch = [
        case_of_call.get(call) for call, entries in log.items() for _ in launch_entries(entries)
    ]
    calls = selection.trace.table("calls", selection.runs).to_pylist()
    empty_calls = {e["call_id"] for e in calls if 0 in (e["grid_x"], e["grid_y"], e["grid_z"])}
    columns = ["seq", "call_id"]
    rows = selection.trace.table("launches", selection.runs, columns).sort_by("seq").to_pylist()
    launched = [(row["seq"], row["call_id"]) for row in rows if row["call_id"] not in empty_calls]
    if len(launched) != len(case_of_launch):
        return []
    return [_LaunchOfCase(*row, case) for row, case in zip(launched, case_of_launch, strict=True)]


def _findings_beyond_given(
    selection: Selection, launches: Sequence[_LaunchOfCase]
) -> Mapping[str, str]:
    """Return the label of a case by the violations that occur only beyond the given inputs."""
    columns = ["finding_id", "call_id", "op_index", "rule", "verdict"]
    findings = selection.trace.table("findings", selection.runs, columns).to_pylist()
    by_call: dict[int, list[_LaunchOfCase]] = {}
    for launch in launches:
        by_call.setdefault(launch.call, []).append(launch)
    violations = [row for row in findings if row["verdict"] == "violation"]
    mixed_calls = sorted(
        call_id
        for call_id in {row["call_id"] for row in violations}
        if len({launch.is_beyond for launch in by_call.get(call_id, ())}) > 1
    )
    violating_launches = _violating_launches(selection, mixed_calls)
    labels: dict[str, str] = {}
    given_findings: set[str] = set()
    for row in violations:
        numbers = violating_launches.get((row["call_id"], row["op_index"], row["rule"]))
        of_finding = [
            launch
            for launch in by_call.get(row["call_id"], ())
            if numbers is None or launch.seq in numbers
        ]
        if of_finding and all(launch.is_beyond for launch in of_finding):
            assert of_finding[0].case is not None
            labels.setdefault(row["finding_id"], of_finding[0].case.label)
        else:
            given_findings.add(row["finding_id"])
    return {finding: label for finding, label in labels.items() if finding not in given_findings}


def _violating_launches(
    selection: Selection, calls: Sequence[int]
) -> Mapping[tuple[int, int, str], frozenset[int] | None]:
    """Return the launches of violations by call, op and rule; None: all launches of the call."""
    return {
        (call.call_id, verdict.op.index, verdict.rule): verdict.launches
        for run in selection.runs if calls
        for call in calls_of(selection.trace, run, calls)
        if isinstance(call, Call)
        for verdict in judge_launches(call)
        if verdict.verdict == "violation"
    }  # fmt: skip


def _judge_by_rules(
    selection: Selection, launches: Sequence[_LaunchOfCase], result: ExaminerResult
) -> None:
    """Judge all memory accesses by the default rules, and add findings and counts to `result`."""
    findings = without_proven(judge_runs(selection, ("default",)))
    labels = _findings_beyond_given(selection, launches)
    result.rules = dict(findings.total)
    reported: set[tuple[str, str, str | None, int | None, int | None]] = set()
    for finding in sorted(findings.listed, key=lambda listed: listed.finding_id in labels):
        key = (finding.rule, finding.verdict, finding.file, finding.line, finding.column)
        if (
            finding.suppressed
            or finding.verdict == "proven"
            or key in reported
            or len(reported) > _MOST_FINDINGS
        ):
            continue
        reported.add(key)  # one call is enough
        is_unknown = finding.verdict == "unknown"
        problem = Problem(
            finding.rule, "note" if is_unknown else _SEVERITY.get(finding.rule, finding.severity),
            (finding.reason if is_unknown else finding.message) or finding.rule,
            finding.hint or "", finding.invocation, finding.kernel,
            finding.file, finding.line, finding.column,
        )  # fmt: skip
        if problem.severity == "error" and finding.finding_id in labels:
            problem = beyond_given(problem, labels[finding.finding_id])
        result.problems.append(problem)


def _add_sizes(
    selection: Selection, at: str | None, launches: Sequence[_LaunchOfCase],
    annotations: Mapping[str, str], result: ExaminerResult,
) -> None:  # fmt: skip
    """Add to `result` the sizes for which accesses stay in bounds, and violations at sizes `at`."""
    extents: dict[int, dict[str, int]] = {}
    for launch in launches:
        of_case = {} if launch.case is None else extents_by_name(launch.case.inputs, annotations)
        shared = extents.setdefault(launch.call, of_case)  # by all cases of the call so far
        extents[launch.call] = dict(of_case.items() & shared.items())
    kernels, _ = kernel_conditions(
        selection, parse_sizes(at), envelope=False, extents_of_calls=extents
    )
    result.problems += _unjudged_sizes(kernels)
    for kernel in kernels:
        result.generic.append(
            {
                "kernel": kernel.kernel,
                "accesses": len(kernel.accesses),
                "certified": kernel.certified,
                "conditions": sorted({a.condition for a in kernel.accesses if a.condition}),
                "unknown": sorted({a.reason for a in kernel.accesses if a.reason}),
                "no_overflow": list(kernel.widths),
                "at": kernel.at.asked if kernel.at and kernel.at.reason is None else None,
            }
        )
        for verdict in kernel.at.verdicts if kernel.at else ():
            severity = "error" if verdict.verdict == "violation" else "note"
            result.problems.append(
                Problem(
                    verdict.rule, severity, f"at {kernel.at.asked}: {verdict.message}",  # type: ignore[union-attr]
                    "compute it in 64 bits" if verdict.rule == "overflow" else "",
                    kernel.at.asked, kernel.kernel, verdict.file, verdict.line,  # type: ignore[union-attr]
                )
            )  # fmt: skip


def _unjudged_sizes(kernels: Sequence[KernelConditions]) -> Iterator[Problem]:
    """Yield a problem for each kernel of which no variant was judged at the sizes asked for."""
    for kernel, at in unjudged_at_sizes(kernels).items():
        yield Problem(
            "cannot-judge", "unjudged", f"at {at.asked}: not judged: {at.reason or at.limit}",
            "name all sizes that change together, as in the reference's annotations, by --at",
            at.asked, kernel,
        )  # fmt: skip


def _add_figures(selection: Selection, device: str | None, result: ExaminerResult) -> None:
    """Add bytes, FLOPs and roofline of the first launch of each kernel to `result`."""
    for outcome in replay_runs(selection, ("profiler",)):
        for error in outcome.errors:
            raise error
    profile = read_profile(selection.trace, selection.runs, calls=True, device=device)
    for kernel in profile.kernels:
        if kernel.calls:
            first_call = min(kernel.calls, key=lambda call: call.call_id)
            figures = figures_of(first_call, profile)
            result.figures.append(
                {"kernel": kernel.name, "grid": first_call.grid, "tensors": first_call.tensors}
                | asdict(figures)
            )
