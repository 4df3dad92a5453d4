"""Suites: the calls that make up a recorded run, as benchmarks and tests of kernels.

`model.py` says what a suite's folder has; `making.py` makes one from a trace. A suite can be run on
a GPU with torch and Triton alone: each call is a Python file of data, and
`converters/scripts/launching.py`, which `kvtrace repro` also writes into its scripts, launches it.
"""
