"""The trace format: tables, versions, writer, reader, recovery, validation.

`tables.py` has all tables, defined in `captured_tables.py`, `checked_tables.py` and
`derived_tables.py` alone. Writing: `writer.py` (over `journal.py`, `parts.py`, `columns.py`,
`layout.py`). Reading: `trace.py` (over `reading.py`, `artifacts.py`, `runs.py`); what passes add:
`derived.py`. Care: `recovery.py`, `validation.py`. `document.py` makes docs/format.md and
schema.json; `golden/` holds one trace for each released version. `plain_reader.py` is for others: a
reader in one file, with pyarrow alone.

Imports pyarrow only, in `numpy_arrays.py` NumPy, and of kvtrace only its version. Everything else
may import it.
"""

# The folder lies at the top of the repository, from where it could be imported a second time.
if __name__ != "kvtrace.schema":
    raise ImportError("import it as kvtrace.schema")
