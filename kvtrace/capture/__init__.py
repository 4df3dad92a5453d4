"""Recording of a running program: session, launch hot path, arguments, stacks, run context, marks.

`api.py` is what `kvtrace.start/stop/capture/mark` are; `session.py` is one recording;
`journal.py` is its background thread; `hot.py` and `_hot.c` are the launch hot path, twice;
backends call the session. Nothing here imports NumPy or pyarrow before the first launch.
May import `kvtrace.schema` and `kvtrace.settings` only.
"""
