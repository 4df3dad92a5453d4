"""What the device made of launches, against what their IR means.

`recording/` keeps memory of launches (KVTRACE_CHECK), or looks at what they made; `kept.py` reads
it again. `comparing.py` compares it with the IR's evaluation, within radii (`evaluate/shadows/`);
`verdicts/locating.py`, `stages.py` and `first_bad.py` say who is at fault; `checking.py` makes rows
and findings of it. `checked_runs.py` is its one way in: the command, `trace.check()` and the
report.
"""
