"""Operations on an opened trace, for the command line and for `kvtrace.open` alike.

`traces.py` is the Python API: `open`, `OpenedTrace` and `diff`; `results.py` has their results, and
`shown/` the HTML of results in notebooks. `judging.py`, `replaying.py`, `writing.py` and `sides.py`
implement the commands of these subjects, `completing.py` and `missing_passes.py` the passes that
they need first. Nothing here prints: messages are returned to the caller.
"""
