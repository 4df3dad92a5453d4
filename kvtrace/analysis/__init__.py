"""What is done with a trace that is opened, by the command line and by `kvtrace.open` alike.

`traces.py` is the Python API: `open`, `OpenedTrace` and `diff`; `results.py` is what they give, and
`shown/` how a notebook shows it.
`judging.py`, `replaying.py`, `writing.py` and `sides.py` do what the commands of these subjects do,
`completing.py` and `missing_passes.py` what they need done first. Nothing here prints: what
there is to say is handed to the caller.
"""
