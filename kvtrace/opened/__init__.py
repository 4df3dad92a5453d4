"""What is done with a trace that is opened, by the command line and by `kvtrace.open` alike.

`traces.py` is the Python API: `open`, `OpenedTrace` and `diff`; `results.py` is what they give.
`judging.py`, `missing_passes.py`, `writing.py` and `sides.py` do what commands of the same
subjects do. Nothing here prints: what there is to say is handed to the caller.
"""
