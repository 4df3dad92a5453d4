"""Parquet files in a table's folder that are not read, as they have another name than a part's."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from kvtrace.schema.layout import entry_names, run_folder, run_ids, run_parts

_SUFFIX: Final = ".parquet"
#: What the name of a file has to be.
PART_NAMES: Final = "TABLE/run=RUN/part-NNNNN.parquet"


def unread_files(
    out: Path, tables: Collection[str], runs: Collection[str] | None = None
) -> Iterator[Path]:
    """Yield files of tables that readers leave out: in folders of runs (None: all), and beside."""
    for table in tables:
        folder = out / table
        for name in _visible(folder):
            if name.endswith(_SUFFIX):
                yield folder / name
            elif not name.startswith("run="):
                yield from (folder / name / file for file in _parquet_files(folder / name))
        for run_id in run_ids(folder) if runs is None else runs:
            run = run_folder(out, table, run_id)
            parts = run_parts(run)
            read = {path.name for path in (*parts.captured.values(), *parts.of_passes)}
            yield from (run / name for name in _parquet_files(run) if name not in read)


def unknown_tables(out: Path, tables: Collection[str]) -> Iterator[str]:
    """Yield the names of folders with runs that belong to none of the tables."""
    yield from (name for name in _visible(out) if name not in tables and run_ids(out / name))


def unread_note(
    out: Path, tables: Collection[str], runs: Collection[str] | None = None
) -> str | None:
    """Return the sentence on files of a trace that are not read; None without any."""
    files = [*unread_files(out, tables, runs)]
    if not files:
        return None
    count = "1 file is" if len(files) == 1 else f"{len(files):,} files are"
    return (
        f"{count} not read, as {files[0].relative_to(out)}: a table's files are named {PART_NAMES}"
    )


def _parquet_files(folder: Path) -> list[str]:
    return [name for name in _visible(folder) if name.endswith(_SUFFIX)]


def _visible(folder: Path) -> list[str]:
    return sorted(name for name in entry_names(folder) if not name.startswith("."))
