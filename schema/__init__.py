"""The trace format: tables, versions, writer, reader, recovery, validation.

`tables.py` has all tables, defined only in `core_tables.py`, `captured_tables.py`,
`memory_tables.py`, `checked_tables.py` and `derived_tables.py`; `features.py` what a reader of a
run has to know. Writing: `writer.py` (over `journal.py`, `parts.py`, `columns.py`, `layout.py`).
Reading: `trace.py` (over `reading.py`, `artifacts.py`, `runs.py`); parts of passes: `derived.py`.
Care: `recovery.py`, `validation.py`. `document.py` makes docs/format.md and schema.json; `golden/`
holds one trace for each released version. `plain_reader.py` is a reader for other programs, in one
file that needs only pyarrow.

The package imports only pyarrow, in `numpy_arrays.py` NumPy, and of kvtrace only the version. All
other packages may import the schema.
"""

# The folder lies at the top of the repository, from where it could be imported a second time.
if __name__ != "kvtrace.schema":
    raise ImportError("import it as kvtrace.schema")
