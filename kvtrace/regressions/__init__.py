"""What tells whether kernels became worse: baselines, recorded programs, commits and compilers.

`baselines.py` keeps runs under names, `recording.py` records a program that it starts,
`comparing.py` is the one place that calls the difference. `worktrees.py` and `bisecting.py` walk
through commits, `triton_installs.py` and `triton_versions.py` through versions of the compiler.
`tests_recorded.py` is what `kvtrace.pytest_plugin` does in a suite that asks for it. May import all
rooms but the command line, which hands in how a run is looked at by passes.
"""
