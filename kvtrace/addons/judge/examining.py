"""What runs in the examiner's process: rules, on the trace that the candidate's process has left.

At the same time another process compares results (`comparing.py`); nothing that the candidate's
Python said counts besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import behavior
from kvtrace.addons.judge.calling import read_answered
from kvtrace.addons.judge.confining import EVENTS_FILE
from kvtrace.addons.judge.inputs import BEYOND, read_cases
from kvtrace.addons.judge.kernel_check import Figures, figures_of
from kvtrace.addons.judge.launches import launch_entries, read_log
from kvtrace.addons.judge.problems import ExaminerResult, Problem, beyond_given, collected_result
from kvtrace.addons.judge.request import CannotJudge, Folders, Request
from kvtrace.addons.judge.shared_memory import kernels_over_limit
from kvtrace.analysis.conditions import kernel_conditions, sizes_of
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.analysis.traces import open as open_trace

_MOST: Final = 100
#: What a result is made of that has no defined value is wrong, though compilers use zero today.
_SEVERITY: Final = {"undefined-lanes": "error"}


def examine(
    request: Request, largest: str | None, folders: Folders, folder: Path, *, tuned: bool
) -> None:
    """Judge the trace that a candidate's process has left; the result is in `folder`, as it is.

    Args:
        request: What is judged.
        largest: Sizes that the file says it is for.
        folders: What the processes left.
        folder: Where the trace is, and the result is left.
        tuned: Whether kernels may be autotuned.

    """
    with collected_result(folder) as found:
        _examine(request, largest, folders, folder / "trace", found, tuned=tuned)


def _examine(
    request: Request, largest: str | None, folders: Folders, recorded: Path, found: ExaminerResult, *,
    tuned: bool,
) -> None:  # fmt: skip
    log, events = read_log(folders.child / EVENTS_FILE)
    found.problems += _behaviour(log, events)
    entries = list(log.values())
    if not any(map(list, map(launch_entries, entries))):
        return
    trace = open_trace(recorded)
    _check_kernels(trace, entries, folders.child)
    for kernel, text in kernels_over_limit(trace, tuned=tuned):
        hint = "take smaller blocks, or fewer stages"
        found.problems.append(Problem("shared-memory", "error", text, hint, kernel=kernel))
    _rules(trace, log, folders, found)
    _all_sizes(trace, request.at or largest, found)
    _figures(trace, request.device, found)


def _behaviour(
    log: Mapping[int, Sequence[Mapping[str, Any]]], events: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Tell what the candidate did besides computing, as far as it was seen."""
    for kind, text in behavior.behavior_sentences(events):
        yield Problem(kind, "error", text, behavior.HINT)
    patched = [str(e["patched"]) for entries in log.values() for e in entries if "patched" in e]
    if patched:
        text = f"the candidate replaces functions of others: {', '.join(patched[:5])}"
        yield Problem("patches", "error", text, "call them as they are; no verdict depends on them")


def _check_kernels(
    trace: OpenedTrace, entries: Sequence[Sequence[Mapping[str, Any]]], child: Path
) -> None:
    """Check that log and trace tell of the same kernels.

    Raises:
        CannotJudge: they do not.

    """
    artifact = trace.selection.trace.artifact
    recorded = {
        content
        for row in trace.kernels
        for stage in row["stages"] or ()
        if stage["stage"] == "ttir" and (content := artifact(stage["artifact"]))
    }
    launched = {str(e["ttir"]) for each in entries for e in launch_entries(each)}
    for digest in launched:
        path = child / f"ttir-{digest}"
        if not digest.isalnum() or not path.is_file() or path.read_bytes() not in recorded:
            raise CannotJudge(
                "the log of launches and the trace tell of different kernels: the candidate "
                "changed what records it"
            )


def _findings_beyond_given(
    trace: OpenedTrace, log: Mapping[int, Sequence[Mapping[str, Any]]], folders: Folders
) -> Mapping[str, str]:
    """Map findings that only launches of cases beyond the given inputs show to such a case's label.

    The launches of trace and log are matched by their order, without those of no program, which
    the log lacks; nothing is mapped where their numbers differ.

    Returns:
        Labels of cases by the ids of findings.

    """
    cases, order = read_cases(folders.inputs), read_answered(folders.answered).order
    case_of_call = {call: cases[number] for call, number in enumerate(order)}
    case_of_launch = [
        case_of_call.get(call) for call, entries in log.items() for _ in launch_entries(entries)
    ]
    selection = trace.selection
    calls = selection.trace.table("calls", selection.runs).to_pylist()
    empty = {e["call_id"] for e in calls if 0 in (e["grid_x"], e["grid_y"], e["grid_z"])}
    launches = selection.trace.table("launches", selection.runs).sort_by("seq")
    launched = [each for each in launches["call_id"].to_pylist() if each not in empty]
    if len(launched) != len(case_of_launch):
        return {}
    pairs = list(zip(launched, case_of_launch, strict=True))
    asked = {call_id for call_id, case in pairs if case is None or case.kind != BEYOND}
    beyond = {call_id: case.label for call_id, case in pairs if case and call_id not in asked}
    findings = selection.trace.table("findings", selection.runs)
    rows = findings.select(["finding_id", "call_id"]).to_pylist()
    of_asked = {row["finding_id"] for row in rows if row["call_id"] not in beyond}
    return {
        row["finding_id"]: beyond[row["call_id"]]
        for row in rows
        if row["finding_id"] not in of_asked
    }


def _rules(
    trace: OpenedTrace, log: Mapping[int, Sequence[Mapping[str, Any]]], folders: Folders,
    found: ExaminerResult,
) -> None:  # fmt: skip
    """Judge all accesses by the default rules."""
    told = trace.sanitize("default").data
    beyond = _findings_beyond_given(trace, log, folders)
    found.rules = dict(told.total)
    seen: set[tuple[str, str, str | None, int | None, int | None]] = set()
    for each in sorted(told.listed, key=lambda finding: finding.finding_id in beyond):
        key = (each.rule, each.verdict, each.file, each.line, each.column)
        if each.suppressed or each.verdict == "proven" or key in seen or len(seen) > _MOST:
            continue
        seen.add(key)  # one call shows it
        unknown = each.verdict == "unknown"
        problem = Problem(
            each.rule, "note" if unknown else _SEVERITY.get(each.rule, each.severity),
            (each.reason if unknown else each.message) or each.rule,
            each.hint or "", each.invocation, each.kernel, each.file, each.line, each.column,
        )  # fmt: skip
        if problem.severity == "error" and each.finding_id in beyond:
            problem = beyond_given(problem, beyond[each.finding_id])
        found.problems.append(problem)


def _all_sizes(trace: OpenedTrace, at: str | None, found: ExaminerResult) -> None:
    """Say for which sizes accesses stay inside, and judge at the sizes that are asked for."""
    kernels, _ = kernel_conditions(trace.selection, sizes_of(at), envelope=False)
    for kernel in kernels:
        found.generic.append(
            {
                "kernel": kernel.kernel,
                "accesses": len(kernel.accesses),
                "certified": kernel.certified,
                "conditions": sorted({a.condition for a in kernel.accesses if a.condition}),
                "unknown": sorted({a.reason for a in kernel.accesses if a.reason}),
                "at": None if kernel.at is None else kernel.at.asked,
            }
        )
        for verdict in kernel.at.verdicts if kernel.at else ():
            severity = "error" if verdict.verdict == "violation" else "note"
            found.problems.append(
                Problem(
                    verdict.rule, severity, f"at {kernel.at.asked}: {verdict.message}",  # type: ignore[union-attr]
                    "compute it in 64 bits" if verdict.rule == "overflow" else "",
                    kernel.at.asked, kernel.kernel, verdict.file, verdict.line,  # type: ignore[union-attr]
                )
            )  # fmt: skip


def _figures(trace: OpenedTrace, device: str | None, found: ExaminerResult) -> None:
    """Add what the first launch of each kernel moves and computes."""
    trace.replay("profiler")
    profile = trace.profile(calls=True, device=device).data
    for kernel in profile.kernels:
        if kernel.calls:
            first = min(kernel.calls, key=lambda call: call.call_id)
            figures: Figures = figures_of(first, profile)
            found.figures.append(
                {"kernel": kernel.name, "grid": first.grid, "tensors": first.tensors}
                | asdict(figures)
            )
