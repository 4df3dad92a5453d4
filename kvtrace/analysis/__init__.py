"""Operations on an opened trace, for the command line and for `kvtrace.open` alike.

`traces.py` is the Python API: `open`, `OpenedTrace` and `diff`; `results.py` has their results,
`shown.py` rows of results as text, and pages in notebooks. `judging.py` implements `kvtrace
sanitize`, `conditions.py` sizes, `writing.py` report and convert, and `sides.py` the sides of diff;
`completing.py` and `missing_passes.py` run the passes that a trace lacks.
Nothing here prints: messages are returned to the caller.
"""
