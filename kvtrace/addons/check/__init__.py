"""Checks of device results against the meaning of their IR.

`recording/` copies memory of launches (KVTRACE_CHECK), or examines their outputs; `kept.py` reads
the copies. `comparing.py` compares them with the IR's evaluation, within radii
(`evaluate/shadows/`); `verdicts/locating.py` and `first_bad.py` locate the fault; `checking.py`
finds the compiler's stage at fault, and builds rows and findings. `checked_runs.py` is the entry
point for the command, `trace.check()` and the report.

No result of a device that executes the IR correctly lies outside of the radii. Ops without a rule
get an infinite radius, and a launch in which an uncertain value decides a branch, a loop or an
address is `Undecided`: a missing rule costs an answer, never a false positive.
"""
