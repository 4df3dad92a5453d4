"""Sanitize: a verdict for each memory access of each distinct call. Fills `findings`."""

from typing import Any

from kvtrace.passes.bounds import Bounds
from kvtrace.passes.calls import UnreadyCall
from kvtrace.passes.replay import Outcome, Progress, as_table, each_call, run_call
from kvtrace.passes.stacks import StackRows
from kvtrace.schema.trace import Run, Trace


def sanitize(trace: Trace, run: Run, progress: Progress | None = None) -> Outcome:
    """Evaluate every distinct call of `run` and write a verdict per memory op.

    A call that cannot be evaluated gets one *unknown* row that says why.
    """
    stacks = StackRows()
    findings: list[dict[str, Any]] = []
    failures: list[str] = []
    done = 0
    for call in each_call(trace, run, progress):
        done += 1
        if isinstance(call, UnreadyCall):
            failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
            findings.append(_unready(call))
            continue
        bounds = Bounds()
        failure = run_call(call, bounds)
        if failure is not None:
            failures.append(f"call {call.call_id} of {call.kernel}: {failure}")
        findings += bounds.rows(call, stacks, failure)
    tables = {
        "findings": as_table("findings", findings),
        "stacks": as_table("stacks", stacks.rows()),
    }
    trace.add_derived(run.run_id, "sanitize", tables, settings={"rules": "out-of-bounds"})
    return Outcome(run.run_id, done, tuple(failures))


def _unready(call: UnreadyCall) -> dict[str, Any]:
    return {
        "finding_id": f"unready-{call.call_id}",
        "call_id": call.call_id,
        "rule": "out-of-bounds",
        "verdict": "unknown",
        "severity": "note",
        "reason": call.reason,
        "message": f"the accesses of {call.kernel} could not be decided: {call.reason}",
    }
