"""Regression checks of kernels: baselines, and recorded programs.

`commands/` has `kvtrace gate`. In addition, `kvtrace diff --against` reads
runs of `baselines.py`, and `pytest --kvtrace` records a suite by `tests_recorded.py`.
`baselines.py` stores runs under names, and `recording.py` starts and records a program.
"""
