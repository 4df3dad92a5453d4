"""`kvtrace trace compact`: merge the many small files of a trace."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, leave_pandas, say
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import DamagedFile
from kvtrace.text import json_text

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

    Runs that are still being recorded are skipped. Readers see either the old files or the new
    file at any moment; killing the command loses nothing, and repeating it changes nothing.

    Example:
        kvtrace trace compact out/ --dry-run
        kvtrace trace compact out/

    """
    from kvtrace.schema.compaction import compact

    leave_pandas()
    compaction = compact(trace, dry_run=dry_run)
    if as_json:
        print(json_text("compact", asdict(compaction)))
    else:
        for line in _lines(compaction, str(trace), dry_run):
            say(line)
    if compaction.damaged:
        raise DamagedFile(compaction.damaged[0])


def _lines(compaction: Compaction, trace: str, dry_run: bool) -> Iterator[str]:
    from kvtrace.text import size

    for what, reason in compaction.left.items():
        if reason not in compaction.damaged:
            yield f"skipped  {what}: {reason}"
    if not compaction.merged:
        yield f"nothing to merge in {trace}"
        return
    for merge in compaction.merged:
        after = "" if merge.bytes_after is None else f", {size(merge.bytes_after)}"
        repeated = f", {merge.repeated_rows} repeated rows" if merge.repeated_rows else ""
        yield (
            f"{merge.table} of run {merge.run_id}: {merge.files_before} files, "
            f"{size(merge.bytes_before)} -> {merge.files_after}{after}{repeated}"
        )
    files = sum(merge.files_before for merge in compaction.merged)
    total = size(sum(merge.bytes_before for merge in compaction.merged))
    files_after = sum(merge.files_after for merge in compaction.merged)
    if dry_run:
        yield f"would merge {files} files of {total} into {files_after}"
        return
    total_after = size(sum(merge.bytes_after or 0 for merge in compaction.merged))
    yield f"merged {files} files of {total} into {files_after} of {total_after}"
