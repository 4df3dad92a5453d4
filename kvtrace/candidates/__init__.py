"""Kernels that somebody, or some program, has just written: run without a GPU, and judged.

`checking.py` is `kvtrace.check_kernel`: one launch in this process. All else is `kvtrace judge`: a
file that nobody trusts is run in a confined process (`child.py`, `confining.py`, `walls/`), which
leaves a trace and a log of its launches; another process (`examining.py`) evaluates these launches
itself on inputs of our own, and compares what they write with the reference. `judging.py` has it
all done: processes that need torch are forked by one that imports it (`beside.py`, `running.py`) at
the same time as what the examiner needs is imported.
"""
