"""Passes that a trace lacks, run if that is quick, as `kvtrace report` shows their results."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace.analysis.progress import Shown, unshown
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import EXCERPT, replayed_parts, run_folder
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Selection, Trace

#: Most unique calls that are analyzed by default.
MOST_CALLS: Final = 2_000
#: Seconds for a pass that the user did not request; it stops once it is expected to take longer.
MOST_SECONDS: Final = 10.0
#: Seconds before a pass's duration is extrapolated.
_EXTRAPOLATE_AFTER: Final = 1.0
#: The table whose presence shows that a client has analyzed a run.
_TABLES: Final = {"tracer": "accesses", "profiler": "ops", "sanitizer": "findings"}


class _TakesLong(KvtraceError):
    """A pass that was not requested would take too long."""

    slug = "takes-long"


def run_missing_passes(
    selection: "Selection", *, asked: bool, shown: Shown = unshown
) -> Iterator[str]:
    """Run the tracer, profiler and sanitizer on runs that lack their results; yield messages.

    Args:
        selection: The runs. Runs without the IR that passes need are skipped, and so are excerpts.
        asked: The user has requested the passes, however long they take.
        shown: The progress display.

    """
    trace = selection.trace
    complete_runs = [run for run in selection.runs if run.sealed and EXCERPT not in run.settings]
    missing = {run.run_id: _missing(trace, run) for run in complete_runs}
    runs = [run for run in selection.runs if missing.get(run.run_id) and _has_ir(trace, run)]
    calls = trace.table("calls", runs, ["call_id"]).num_rows if runs else 0
    if not calls:
        return
    if calls > MOST_CALLS and not asked:
        advice = _pass_advice(selection)
        yield f"{calls:,} unique calls are too many to analyze without --replay: {advice}"
        return
    deadline = None if asked else time.monotonic() + MOST_SECONDS
    for run in runs:
        try:
            hint = "" if asked else ", skip with --no-replay"
            yield _run_passes(trace, run, missing[run.run_id], deadline, shown) + hint
        except KvtraceError as error:
            yield f"{str(error).rstrip('.')}: {_pass_advice(selection)}"
            return


def _missing(trace: "Trace", run: "Run") -> list[str]:
    clients = []
    for client, table in _TABLES.items():
        if not replayed_parts(run_folder(trace.path, table, run.run_id)):
            clients.append(client)
    return clients


def _has_ir(trace: "Trace", run: "Run") -> bool:
    """Return whether a kernel of the run was recorded with IR that is evaluated or judged."""
    stages = trace.table("kernels", (run,), ["stages"])["stages"].to_pylist()
    return any(
        stage["stage"] in ("ttir_generic", "ttgir") and stage["artifact"]
        for kernel_stages in stages
        for stage in kernel_stages or ()
    )


def _run_passes(
    trace: "Trace", run: "Run", clients: Sequence[str], deadline: float | None, shown: Shown
) -> str:
    from kvtrace.analysis.judging import environment_rules, judge_by_kernel, sanitizer
    from kvtrace.clients.recorded import replay  # not where nothing is missing

    began, rules = time.monotonic(), _rules() if "sanitizer" in clients else ()
    with shown(f"replay {run.run_id}") as progress:
        chosen = [sanitizer(rules) if name == "sanitizer" else name for name in clients]
        outcome = replay(trace, run, limited_progress(progress, began, deadline), chosen)
    judge_by_kernel(trace, run, rules, (environment_rules(),), again=False)
    for error in outcome.errors:
        raise error
    whole = outcome.calls - len(outcome.failures)
    failed = f" of {outcome.calls:,}" if outcome.failures else ""
    calls = plural(whole, "unique call") if not failed else f"{whole:,}{failed} unique calls"
    return (
        f"{run.run_id}: analyzed {calls} in {time.monotonic() - began:.1f} s ({', '.join(clients)})"
    )


def _rules() -> tuple[str, ...]:
    """Return the ids of the rules of KVTRACE_RULES."""
    from kvtrace.analysis.judging import environment_rules
    from kvtrace.verdicts.rules.choice import rule_ids

    return rule_ids([environment_rules()])


def limited_progress(
    report: Callable[[int, int], None] | None,
    began: float,
    deadline: float | None,
    doing: str = "analyzing",
    what: str = "unique calls",
) -> Callable[[int, int], None]:
    """Return a progress function that raises once a pass is expected to exceed its deadline."""

    def progress(done: int, total: int) -> None:
        if report is not None:
            report(done, total)
        now = time.monotonic()
        elapsed = now - began
        expected_end = began + elapsed * total / done
        too_long = deadline is not None and (
            now > deadline or (elapsed > _EXTRAPOLATE_AFTER and expected_end > deadline)
        )
        if too_long and done < total:
            raise _TakesLong(
                f"{doing} {total:,} {what} would take about "
                f"{elapsed * total / done:,.0f} s, so it was skipped"
            )

    return progress


def _pass_advice(selection: "Selection") -> str:
    path = selection.trace.path
    return (
        f"kvtrace replay {path} and kvtrace sanitize {path} fill in bytes, FLOPs, accesses and "
        "findings (or kvtrace report --replay)"
    )
