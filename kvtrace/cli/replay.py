"""`kvtrace replay`: evaluate each distinct call and fill the tables `ops` and `loops`."""

import sys

from kvtrace.cli.options import RunOption, TracePath, select


def command(trace: TracePath, run: RunOption = None) -> None:
    """Evaluate each distinct call over its whole grid, without a GPU.

    Fills the derived tables ops and loops: executions, lanes, bytes and FLOPs of every IR op.
    Running it again replaces what it wrote.

    Example:
        kvtrace replay out/

    """
    from kvtrace.cli.progress import calls_progress
    from kvtrace.passes.replay import replay

    selection = select(trace, run)
    for one in selection.runs:
        with calls_progress(f"replay {one.run_id}") as progress:
            outcome = replay(selection.trace, one, progress)
        whole = outcome.calls - len(outcome.failures)
        print(f"{one.run_id}: {whole} of {outcome.calls} distinct calls replayed to their end")
        for failure in outcome.failures:
            print(f"kvtrace: {failure}", file=sys.stderr)
