"""`kvtrace trace prune`: deletion of a trace's old runs, or of its derived tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, leave_pandas, say
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtrace.schema.pruning import Pruning


def command(
    trace: TracePath,
    keep_last: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Keep this many of the newest groups of runs; by itself, delete all others",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        Option(metavar="TIME", help="Delete runs that began longer ago, such as 30d or 12h"),
    ] = None,
    max_bytes: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Delete the oldest runs until at most this size is left, such as 50GB",
        ),
    ] = None,
    derived: Annotated[
        bool,
        Option("--derived", help="Delete the derived tables of these runs instead of the runs"),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be deleted, and change nothing")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete the oldest runs of a trace, without asking; the newest group of runs always stays.

    The ranks of one job are one group, deleted together. Runs that are still being recorded stay.
    If the command is killed, the trace stays readable, and the next call continues. Replay,
    sanitize and the others compute again what --derived deletes.

    Example:
        kvtrace trace prune out/ --keep-last 20 --older-than 30d --dry-run
        kvtrace trace prune out/ --max-bytes 50GB

    """
    from kvtrace.amounts import amount_of
    from kvtrace.schema.pruning import prune

    leave_pandas()
    pruning = prune(
        trace,
        keep_last=keep_last,
        older_than_seconds=None if older_than is None else amount_of(older_than, "seconds"),
        max_bytes=None if max_bytes is None else int(amount_of(max_bytes, "bytes")),
        derived=derived,
        dry_run=dry_run,
    )
    if as_json:
        print(json_text("prune", asdict(pruning)))
        return
    for line in _lines(pruning, str(trace), dry_run):
        say(line)


def _lines(pruning: Pruning, trace: str, dry_run: bool) -> Iterator[str]:
    from kvtrace.text import moment, plural, size

    for run_id, reason in pruning.left.items():
        yield f"skipped     {run_id}: {reason}"
    verb = "would delete" if dry_run else "deleted    "
    for run in pruning.dropped:
        began = "" if run.started is None else f", {moment(run.started)} UTC"
        passes = f" of {', '.join(run.passes)}" if run.passes else ""
        yield f"{verb} {run.run_id}{began}: {size(run.size_bytes)}{passes}"
    if not pruning.dropped:
        yield f"nothing to delete in {trace}"
    stays = "would stay" if dry_run else "stay" if pruning.runs_left != 1 else "stays"
    yield f"{plural(pruning.runs_left, 'run')} of {size(pruning.bytes_left)} {stays}"
