"""Regression checks of kernels: baselines, and recorded programs.

`commands/` has `kvtrace gate`. In addition, `kvtrace diff --against` reads
runs of `baselines.py`, and `pytest --kvtrace` records a suite by `tests_recorded.py`.
`baselines.py` stores runs under names, `recording.py` starts and records a program, and
`comparing.py` is the only module that computes a difference.
"""
