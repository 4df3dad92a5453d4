"""`kvtrace trace recover`: sealing of the journals that killed processes left."""

from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.options import JsonOption, TracePath, leave_pandas, say
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text


def command(
    trace: TracePath,
    force: Annotated[
        bool, Option("--force", help="Seal runs of other hosts too; they must be dead")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Seal the journals of killed processes: they become Parquet files like those of other runs.

    Runs that are still being recorded are skipped. A damaged file is moved to .journal/damaged, and
    its readable rows are saved. Repeating the command changes nothing.

    Example:
        kvtrace trace recover out/

    """
    from kvtrace.schema.recovery import recover

    leave_pandas()
    recovery = recover(trace, force=force)
    if as_json:
        print(json_text("recover", asdict(recovery)))
        return 0
    for run_id in recovery.sealed:
        say(f"sealed      {run_id}")
    for run_id, reason in recovery.left.items():
        say(f"skipped     {run_id}: {reason}")
    for note in recovery.notes:
        say(f"note        {note}")
    if not recovery.sealed and not recovery.left:
        say(f"nothing to recover in {trace}")
    return 0
