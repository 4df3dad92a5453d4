"""Importers of other tools' traces: `kvtrace import`.

Each tool has a file with an object of the interface `registry.Importer`, which an entry point of
the group `kvtrace.importers` names. `importing.py` writes the runs of files as a complete trace or
not at all. Importers add rows by `rows.py`, and executions of devices, their kernels and calls by
`executions.py`. `json_stream.py` and `json_values.py` read JSON that does not fit in memory,
`tables.py` SQLite and Parquet; `host_stacks.py` finds the stack of a host thread at a moment, and
`folders.py` a tool's files in a folder. Values that a tool does not record are null, and rows of
`messages` list them, and what was not imported.
"""
