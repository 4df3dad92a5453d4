"""The trace format: tables, versions, writer, reader, recovery, validation.

`tables.py` has all tables, defined only in `tables.txt`; `features.py` what a reader of a run has
to know.
Writing: `writer.py` (over `journal.py`, `parts.py`, `columns.py`, `layout.py`). Reading: `trace.py`
(over `reading.py`, `artifacts.py`, `runs.py`); parts of passes: `derived.py`. Care: `recovery.py`,
`validation.py`. `golden/` holds one trace for each released version.

The package imports only pyarrow, in `numpy_arrays.py` NumPy, and of kvtrace only the version. All
other packages may import the schema.

    trace = open_trace(path)                 # TraceNotFound, EmptyTrace, NewerFormat, DamagedFile
    trace.select(spec)                       # None: newest group; a run's id or prefix; "@COMMIT"
    trace.table("launches", columns=["seq"])  # of all runs, last column "run"; .pieces: bit by bit
    trace.add_derived(run_id, "sanitize", {"findings": table}, settings={})

A run may have a hundred million launches: what reads them goes by `Trace.pieces`, or has DuckDB
scan the parts (`kvtrace.figures.scans`). A row may stand for several launches or executions: what
counts or sums them takes `kept.weights`. Parts of a pass are replaced together or not at all;
results of some calls only, and those for a trace that cannot be written, are read like parts while
`beside.results_beside` is open, and are then gone. `window.TraceWindow` is a trace restricted to a
time window, and reads only the row groups in it.

What a row refers to is written before it, and every part and batch has checksums. Damaged journals
are set aside, never deleted; readers pass rows through `repair.py`, which leaves impossible values
out and notes them; writers refuse a folder that is a link. A failed write is one error,
`TraceWriteError`, and what is on disk stays readable. `pruning.py` and
`compaction.py` change whole traces, and each may be killed at any time. A run whose `settings` have
`shared_artifacts`, of a trace that an earlier version merged, is given those of other runs.

A column's definition says what private data it may hold, and what replaces the data (`holds=`);
`privacy.LEAVES` is derived from that, and `redaction.py` uses nothing else.

Rows become Arrow arrays through `arrays.py`, not `pyarrow.array`, which would import pandas into
the recorded program. `cached_property.py` is the standard one without Python 3.11's lock, which a
forked child would find held.
"""

# The folder lies at the top of the repository, from where it could be imported a second time.
if __name__ != "kvtrace.schema":
    raise ImportError("import it as kvtrace.schema")
