"""`kvtrace join`: the name of `kvtrace import --into` up to 0.3."""

from pathlib import Path
from typing import Annotated

from kvtrace.addons.join.commands.into import add_times
from kvtrace.cli.options import JsonOption, RunOption, TracePath, select
from kvtrace.cli.parsing import Option


def command(
    trace: TracePath,
    times: Annotated[list[Path], Option("--times", metavar="TIMES", help="The files")],
    run: RunOption = None,
    by_order: Annotated[bool, Option("--by-order", help="Match launches by their order")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Write nothing")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add device times of another profiler to a recording, as kvtrace import FILES --into TRACE.

    Example:
        kvtrace join out/ --times rank0.pt.trace.json
    """
    add_times(
        select(trace, run), times, None, by_order=by_order, dry_run=dry_run, as_json=as_json
    )  # fmt: skip
