"""`kvtrace trace prune`: drop old runs of a trace, or what passes derived of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, say
from kvtrace.cli.parsing import Option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtrace.schema.pruning import Pruning


def command(
    trace: TracePath,
    keep_last: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Keep this many of the newest groups of runs; alone, delete all others",
            show_default=False,
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="Delete runs that began longer ago, such as 30d or 12h",
            show_default=False,
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Delete the oldest until at most this is left, such as 50GB",
            show_default=False,
        ),
    ] = None,
    derived: Annotated[
        bool, Option("--derived", help="Delete their derived tables, and no run")
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
    from kvtrace.schema.pruning import prune
    from kvtrace.settings import amount_of

    done = prune(
        trace,
        keep_last=keep_last,
        older_than_seconds=None if older_than is None else amount_of(older_than, "seconds"),
        max_bytes=None if max_bytes is None else int(amount_of(max_bytes, "bytes")),
        derived=derived,
        dry_run=dry_run,
    )
    if as_json:
        print(json.dumps(asdict(done), indent=2))
        return
    for line in _told(done, str(trace), dry_run):
        say(line)


def _told(done: Pruning, trace: str, dry_run: bool) -> Iterator[str]:
    from datetime import UTC, datetime

    from kvtrace.text import plural, size

    for run_id, reason in done.left.items():
        yield f"left alone  {run_id}: {reason}"
    verb = "would drop " if dry_run else "dropped    "
    for each in done.dropped:
        began = ""
        if each.started is not None:
            began = f", {datetime.fromtimestamp(each.started // 10**9, UTC):%Y-%m-%d %H:%M} UTC"
        passes = f" of {', '.join(each.passes)}" if each.passes else ""
        yield f"{verb} {each.run_id}{began}: {size(each.size_bytes)}{passes}"
    if not done.dropped:
        yield f"nothing to drop in {trace}"
    stays = "would stay" if dry_run else "stay" if done.runs_left != 1 else "stays"
    yield f"{plural(done.runs_left, 'run')} of {size(done.bytes_left)} {stays}"
