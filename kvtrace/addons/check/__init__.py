"""Checks of device results against the meaning of their IR.

`recording/` copies memory of launches (KVTRACE_CHECK), or examines their outputs; `kept.py` reads
the copies. `comparing.py` compares them with the IR's evaluation, within radii
(`evaluate/shadows/`); `verdicts/locating.py`, `stages.py` and `first_bad.py` locate the fault;
`checking.py` builds rows and findings. `checked_runs.py` is the entry point for the command,
`trace.check()` and the report.
"""
