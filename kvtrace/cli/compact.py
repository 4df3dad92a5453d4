"""`kvtrace trace compact`: merge the many small files of a trace."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, say
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import DamagedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtrace.schema.compaction import Compaction


def command(
    trace: TracePath,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be merged, and change nothing")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Merge each table's many files into one per run, sorted; no row changes.

    Runs that are still being recorded are left alone. Readers see either the old files or the new
    one at any moment, and killing it loses nothing. Calling it again changes nothing.

    Example:
        kvtrace trace compact out/ --dry-run
        kvtrace trace compact out/

    """
    from kvtrace.schema.compaction import compact

    done = compact(trace, dry_run=dry_run)
    if as_json:
        print(json.dumps(asdict(done), indent=2))
    else:
        for line in _told(done, str(trace), dry_run):
            say(line)
    if done.damaged:
        raise DamagedFile(done.damaged[0])


def _told(done: Compaction, trace: str, dry_run: bool) -> Iterator[str]:
    from kvtrace.text import size

    for what, reason in done.left.items():
        if reason not in done.damaged:
            yield f"left alone  {what}: {reason}"
    if not done.merged:
        yield f"nothing to merge in {trace}"
        return
    for each in done.merged:
        after = "" if each.bytes_after is None else f", {size(each.bytes_after)}"
        repeated = f", {each.repeated_rows} repeated rows" if each.repeated_rows else ""
        yield (
            f"{each.table} of run {each.run_id}: {each.files_before} files, "
            f"{size(each.bytes_before)} -> {each.files_after}{after}{repeated}"
        )
    files = sum(each.files_before for each in done.merged)
    total = size(sum(each.bytes_before for each in done.merged))
    fresh = sum(each.files_after for each in done.merged)
    if dry_run:
        yield f"would merge {files} files of {total} into {fresh}"
        return
    fresh_total = size(sum(each.bytes_after or 0 for each in done.merged))
    yield f"merged {files} files of {total} into {fresh} of {fresh_total}"
