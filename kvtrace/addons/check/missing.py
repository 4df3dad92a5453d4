"""Checks of recorded launches that are still missing, run before a trace is shown or compared."""

import time
from collections.abc import Iterator

from kvtrace.progress import progress
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import CHECK, EXCERPT, pass_parts, run_folder
from kvtrace.schema.trace import Selection
from kvtrace.text import plural


def run_missing_checks(selection: Selection, *, seconds: float | None) -> Iterator[str]:
    """Check the recorded launches of runs that were not checked yet, and yield notes for the user.

    If they take longer than `seconds` (None: no limit), or a check fails, a note names the command
    that does the checks.
    """
    trace = selection.trace
    deadline = None if seconds is None else time.process_time() + seconds
    for run in selection.runs:
        folder = run_folder(trace.path, "checks", run.run_id)
        if not run.sealed or EXCERPT in run.settings or pass_parts(folder, CHECK):
            continue
        count = trace.table("checked_launches", (run,), ["seq"]).num_rows
        if not count:
            continue
        # Imported only where something is missing: they compare results with those of other runs.
        from kvtrace.addons.check.checked_runs import recorded_ttgir
        from kvtrace.addons.check.checking import check_run
        from kvtrace.clients.timed_progress import TimedProgress

        began = time.process_time()
        try:
            with progress(f"check {run.run_id}") as report:
                limited = TimedProgress(report, deadline, f"checking {plural(count, 'launch')}")
                check_run(trace, run, limited, recorded_ttgir(trace, run))
        except KvtraceError as error:
            yield f"{str(error).rstrip('.')}: run kvtrace check {trace.path} to check all launches"
            return
        yield (
            f"{run.run_id}: {plural(count, 'kept launch')} checked against the IR in "
            f"{time.process_time() - began:.1f} s"
        )
