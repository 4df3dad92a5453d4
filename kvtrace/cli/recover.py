"""`kvtrace trace recover`: seal what killed processes left."""

import json
from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.options import JsonOption, TracePath, say
from kvtrace.cli.parsing import Option


def command(
    trace: TracePath,
    force: Annotated[
        bool, Option("--force", help="Seal runs of other hosts too; they must be dead")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Seal the journals of killed processes: they become Parquet files like those of other runs.

    Runs that are still being recorded are left alone. A file that is damaged is kept as it is, in
    .journal/damaged; all else of it is saved. Calling it again changes nothing.

    Example:
        kvtrace trace recover out/

    """
    from kvtrace.schema.recovery import recover

    done = recover(trace, force=force)
    if as_json:
        print(json.dumps(asdict(done), indent=2))
        return 0
    for run_id in done.sealed:
        say(f"sealed      {run_id}")
    for run_id, reason in done.left.items():
        say(f"left alone  {run_id}: {reason}")
    for note in done.notes:
        say(f"note        {note}")
    if not done.sealed and not done.left:
        say(f"nothing to recover in {trace}")
    return 0
