"""`kvtrace compact`: merge the many small files of a trace."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from kvtrace.cli.options import JsonOption, TracePath


def command(
    trace: TracePath,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be merged, and change nothing")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Merge each table's many files into one per run, sorted; the rows stay what they are.

    Runs that are still being recorded are left alone. Readers see either the old files or the new
    one at any moment, and killing it loses nothing. Calling it again changes nothing.

    Example:
        kvtrace compact out/ --dry-run
        kvtrace compact out/

    """
    from kvtrace.converters.text import size
    from kvtrace.schema.compaction import compact

    done = compact(trace, dry_run=dry_run)
    if as_json:
        print(json.dumps(asdict(done), indent=2))
        return 0
    for reason in done.left:
        print(f"left alone  {reason}: {done.left[reason]}")
    if not done.merged:
        print(f"nothing to merge in {trace}")
        return 0
    for each in done.merged:
        after = "" if each.bytes_after is None else f", {size(each.bytes_after)}"
        repeated = f", {each.repeated_rows} repeated rows" if each.repeated_rows else ""
        print(
            f"{each.table} of run {each.run_id}: {each.files_before} files, "
            f"{size(each.bytes_before)} -> {each.files_after}{after}{repeated}"
        )
    files = sum(each.files_before for each in done.merged)
    total = size(sum(each.bytes_before for each in done.merged))
    new_files = sum(each.files_after for each in done.merged)
    if dry_run:
        print(f"would merge {files} files of {total} into {new_files}")
        return 0
    new_total = size(sum(each.bytes_after or 0 for each in done.merged))
    print(f"merged {files} files of {total} into {new_files} of {new_total}")
    return 0
