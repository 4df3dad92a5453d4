"""Traces of other tools, read into the format: `kvtrace import`.

One file a tool, found by the entry points of the group `kvtrace.importers`, each with an object
that keeps to `registry.Importer`. `importing.py` writes what it reads as a whole trace or not at
all; `rows.py` is how an importer hands over rows, `executions.py` how those of devices, with
`kernel_rows.py` for their kernels and calls; `json_stream.py` and `json_values.py` read JSON that
does not fit in memory, and `host_stacks.py` finds what a host thread was doing at a moment. What a
tool does not say is null, and a row of `messages` says that it is missing.
"""
