"""Addition of another profiler's device times to a recording: `kvtrace import --into`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvtrace.cli.options import complain_of, print_lines
from kvtrace.schema.layout import DEBUG_MODE
from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


def add_times(
    recording: "Selection", files: Sequence[Path], source: str | None, *, by_order: bool,
    dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Match the executions in files with recorded launches, write their times, and print counts.

    Args:
        recording: The runs that get the times, in place of those of an earlier call.
        files: Another tool's files, or the folder of one imported trace.
        source: Name of the tool; None: it is recognized by each file's content.
        by_order: Match launches by their order even if both clocks agree.
        dry_run: Write nothing.
        as_json: Print JSON.

    """
    from kvtrace.addons.join.results import add_operators, join, lines, opened_times, write

    names = ", ".join(path.name for path in files)
    with opened_times(files, source) as times:
        if all(run.source == DEBUG_MODE for run in times.runs):
            settings = add_operators(recording, times, names, dry_run=dry_run)
            texts = [
                "{}: {calls:,} calls of DebugMode, {timed:,} of them with times".format(
                    run, **added["counts"]
                )
                for run, added in settings.items()
            ]
        else:
            joined_runs = join(recording, times, by_order=by_order)
            if not dry_run:
                write(recording, times, joined_runs, names)
            settings = {joined.run.run_id: joined.settings(names) for joined in joined_runs}
            texts = [
                text for run, added in settings.items() for text in lines(added["counts"], run)
            ]
    if as_json:
        objects = [{"run": run, "written": not dry_run, **added} for run, added in settings.items()]
        print(json_text("into", {"runs": objects}))
    else:
        print_lines(texts)
    complain_of(recording.trace)
    complain_of(times.trace)
