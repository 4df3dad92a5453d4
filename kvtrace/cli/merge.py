"""`kvtrace trace merge`: the runs of several traces as one trace."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import JsonOption, say
from kvtrace.cli.parsing import Argument, Option


def command(
    traces: Annotated[list[Path], Argument(metavar="TRACE…", help="Trace directories")],
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help="Write the trace to this new folder"),
    ],
    as_json: JsonOption = False,
) -> None:
    """Write the runs of several traces to a new trace; the old traces stay as they are.

    Files are hard-linked on the same disk, else copied, and keep their version of the format.
    Artifacts that several runs share are stored once. A run that two traces contain is stored once
    if it is the same in both; if it differs, the merge is refused.

    Example:
        kvtrace trace merge host1/ host2/ -o all/

    """
    from kvtrace.schema.uniting import unite
    from kvtrace.text import plural, size

    union = unite(traces, output)
    if as_json:
        print(json.dumps(asdict(union), indent=2))
        return
    say(f"{output}: {plural(len(union.runs), 'run')} of {plural(len(traces), 'trace')}")
    for run_id in union.repeated_runs:
        say(f"stored once  {run_id}: several traces contain it")
    if union.repeated_artifacts:
        artifacts = plural(union.repeated_artifacts, "artifact")
        say(f"{artifacts} of several runs stored once, which saves {size(union.saved_bytes)}")
