"""`kvtrace trace migrate`: files of older versions of the format, written again in the newest."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, say
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import DamagedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtrace.schema.migration import Migration


def command(
    trace: TracePath,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write to this new folder, and leave the trace unchanged",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be written, and change nothing")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Rewrite the files of a trace that an older kvtrace wrote in the newest version of the format.

    kvtrace reads older minor versions, too, but queries are quicker on files of the newest. No row
    changes. If the command is killed, nothing is lost, and the next call continues.

    Example:
        kvtrace trace migrate out/ --dry-run
        kvtrace trace migrate out/ -o new/

    """
    from kvtrace.schema.migration import migrate_trace

    done = migrate_trace(trace, output, dry_run=dry_run)
    if as_json:
        print(json.dumps(asdict(done), indent=2))
    else:
        for line in _told(done, str(trace), output, dry_run):
            say(line)
    if done.damaged:
        raise DamagedFile(done.damaged[0])


def _told(done: Migration, trace: str, output: Path | None, dry_run: bool) -> Iterator[str]:
    from kvtrace.schema.versions import FORMAT_VERSION
    from kvtrace.text import plural

    for what, reason in done.left.items():
        if reason not in done.damaged:
            yield f"left alone  {what}: {reason}"
    verb = "would write" if dry_run else "wrote"
    for version, files in done.migrated.items():
        yield f"{verb} {plural(files, 'file')} of format {version} as {FORMAT_VERSION}"
    if not done.migrated:
        yield f"nothing to migrate in {trace}"
    if output is not None:
        yield f"{output} is a copy with all files of format {FORMAT_VERSION}"
