"""Regression checks of kernels: baselines, recorded programs, and commits.

`commands/` has `kvtrace gate` and `bisect`. In addition, `kvtrace diff --against` reads
runs of `baselines.py`, and `pytest --kvtrace` records a suite by `tests_recorded.py`.
`baselines.py` stores runs under names, `recording.py` starts and records a program, and
`comparing.py` is the only module that computes a difference. `bisecting.py` walks through commits.
The commands pass in the functions that analyze a run.
"""
