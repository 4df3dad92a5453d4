"""Every table and column of the trace format, by its name.

Each is defined once: the core profile in `core_tables.py`, other tables that a recording or an
importer writes in `captured_tables.py`, tables of checked launches in `checked_tables.py`, tables
of passes in `derived_tables.py`, sums, steps and idle times in `sum_tables.py`.
A column's definition also names the private things that the column may hold (`private.py`).

`docs/format.md`, `schema.json`, the writer, the reader and the validator are all made from
`TABLES`. Changes are new nullable columns and tables, whose `since` is the minor version behind
that of the newest trace in `golden/`; a test fails otherwise.

Conventions: points in time are `timestamp[ns, UTC]`; durations are int64 nanoseconds and end in
`_ns`; sizes are int64 bytes and end in `_bytes` (or are called `bytes`). Ids are unique inside a
run, except `stack_id` and `sha256`, which are hashes of the content and so equal across runs.
"""

from dataclasses import replace
from typing import Final

from kvtrace.schema.captured_tables import CAPTURED
from kvtrace.schema.checked_tables import CHECKED
from kvtrace.schema.core_tables import CORE
from kvtrace.schema.derived_tables import DERIVED
from kvtrace.schema.sum_tables import IDLE, SUMS, TILES
from kvtrace.schema.table_types import Table

TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (*CORE, *CAPTURED, *CHECKED, *DERIVED, *SUMS, *IDLE, *TILES)
}

#: The tables of the core profile, without the columns that are extensions.
CORE_TABLES: Final[dict[str, Table]] = {
    table.name: replace(
        table, columns=tuple(c for c in table.columns if table.profile_of(c) == "core")
    )
    for table in TABLES.values()
    if table.profile == "core"
}
