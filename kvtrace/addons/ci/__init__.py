"""What tells whether kernels became worse: baselines, recorded programs, commits and compilers.

`commands/` is the way in: `kvtrace baseline`, `gate` and `bisect`; besides, `kvtrace diff
--against` asks `baselines.py` for runs, and `pytest --kvtrace` has `tests_recorded.py` record a
suite. `baselines.py` keeps runs under names, `recording.py` records a program that it starts,
`comparing.py` is the one place that calls the difference. `worktrees.py` and `bisecting.py` walk
through commits, `triton_installs.py` and `triton_versions.py` through versions of the compiler. The
commands pass in how passes analyze a run.
"""
