"""Passes that a trace lacks, which `kvtrace report` and `diff` run first if that takes seconds."""

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
    """Raised when a pass that the user did not request would take too long."""

    slug = "takes-long"


def run_missing_passes(
    selection: "Selection", *, asked: bool, shown: Shown = unshown
) -> Iterator[str]:
    """Run tracer, profiler and sanitizer on runs that lack their tables; yield one message a run.

    Passes that were not requested run only on up to `MOST_CALLS` unique calls, and stop once they
    are expected to take longer than `MOST_SECONDS`.

    Args:
        selection: The runs; unsealed runs, excerpts and runs without IR are skipped.
        asked: Whether the user has requested the passes, so that there is no limit.
        shown: The progress display.

    """
    trace = selection.trace
    complete_runs = [run for run in selection.runs if run.sealed and EXCERPT not in run.settings]
    missing_clients = {run.run_id: _missing_clients(trace, run) for run in complete_runs}
    runs = [
        run for run in selection.runs if missing_clients.get(run.run_id) and _has_ir(trace, run)
    ]
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
            yield _run_passes(trace, run, missing_clients[run.run_id], deadline, shown) + hint
        except KvtraceError as error:
            yield f"{str(error).rstrip('.')}: {_pass_advice(selection)}"
            return


def _missing_clients(trace: "Trace", run: "Run") -> list[str]:
    clients = []
    for client, table in _TABLES.items():
        if not replayed_parts(run_folder(trace.path, table, run.run_id)):
            clients.append(client)
    return clients


def _has_ir(trace: "Trace", run: "Run") -> bool:
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

    begin, rules = time.monotonic(), _environment_rule_ids() if "sanitizer" in clients else ()
    with shown(f"replay {run.run_id}") as progress:
        passes = [sanitizer(rules) if name == "sanitizer" else name for name in clients]
        outcome = replay(trace, run, limited_progress(progress, begin, deadline), passes)
    judge_by_kernel(trace, run, rules, (environment_rules(),), again=False)
    for error in outcome.errors:
        raise error
    succeeded = outcome.calls - len(outcome.failures)
    if outcome.failures:
        calls = f"{succeeded:,} of {outcome.calls:,} unique calls"
    else:
        calls = plural(succeeded, "unique call")
    return (
        f"{run.run_id}: analyzed {calls} in {time.monotonic() - begin:.1f} s ({', '.join(clients)})"
    )


def _environment_rule_ids() -> tuple[str, ...]:
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
    """Return a progress function that calls `report` and raises if the deadline is not met.

    `_TakesLong` is raised when the deadline has passed, or when the time since `began`,
    extrapolated after one second, ends later. `doing` and `what` are words of its message.
    """

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
