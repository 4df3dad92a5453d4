"""Kernels that somebody, or some program, has just written: run without a GPU, and judged.

`checking.py` is `kvtrace.check_kernel`: one launch in this process. All else is `kvtrace judge`: a
file that nobody trusts is run in a process with limits (`child.py`, `confining.py`), which leaves a
trace and a log of its launches; another process (`examining.py`) evaluates these launches itself,
on values that were drawn after the file had ended (`answers.py`), and compares what they write with
the reference's results, which are made only then. `judging.py` has all of it done:
processes that need torch are forked by one that imports it (`beside.py`, `running.py`) at the same
time as what the examiner needs is imported.
"""
