"""Files of the folder `KEPT_TIMES`: rows that follow from other files, kept to be read again.

Such a file may be removed at any time, and nothing is kept in a trace that cannot be written to, or
that git tracks.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from kvtrace.schema.committed import is_committed
from kvtrace.schema.errors import DamagedFile, TraceWriteError
from kvtrace.schema.layout import KEPT_TIMES, discard, refuse_links
from kvtrace.schema.opened_parts import open_part
from kvtrace.schema.parts import read_part, write_part
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.versions import derived_facts
from kvtrace.version import __version__

#: Most files that are kept.
_MOST_FILES: Final = 192
#: The name of the table in a file.
_NAME: Final = "kept"


def kept_path(out: Path, name: str) -> Path:
    """Return the path of a kept file of a trace."""
    return out / KEPT_TIMES / f"{name}.parquet"


def kept_table(
    path: Path, note: Callable[[str], None], columns: Sequence[str] | None = None
) -> pa.Table | None:
    """Return columns (None: all) of a file; None without a file that can be read and has them."""
    try:
        with open_part(path, columns) as file:
            table = _definition(file.schema_arrow)
        if columns is not None and not set(columns).issubset(table.names):
            return None
        return read_part(path, table, columns or table.names)
    except (FileNotFoundError, NotADirectoryError):  # or another process has just removed it
        return None
    except DamagedFile:
        note(f"{path} is damaged, and is written again")
        return None


def _definition(schema: pa.Schema) -> Table:
    """Return the definition of the table of a file with a schema."""
    columns = (Column(field.name, field.type, field.name) for field in schema)
    return Table(_NAME, "a row that is kept of many runs", "derived", tuple(columns))


def keep_table(path: Path, note: Callable[[str], None], rows: pa.Table) -> None:
    """Write rows to a file, and remove the oldest files beyond `_MOST_FILES`."""
    folder = path.parent
    writable = os.access(folder if folder.exists() else folder.parent, os.W_OK)
    if not writable or is_committed(folder.parent):
        return
    try:
        refuse_links(folder.parent, ())
        facts = derived_facts(_NAME, "", _NAME, {}, __version__)
        write_part(path, _definition(rows.schema), facts, rows.to_batches())
    except (OSError, TraceWriteError) as error:
        note(f"a result cannot be kept ({error})")
        return
    files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    for old in files[:-_MOST_FILES]:
        discard(old)
