"""Kernels that somebody, or some program, has just written: run without a GPU, and judged.

`kernel_check.py` is `kvtrace.check_kernel`: one launch in this process. All else is `kvtrace judge`
(`commands/`, which has `kvtrace mcp`, too), whose way in is `judge_file.py`: a file that nobody
trusts is run in a confined process (`child.py`, `confining.py`, `walls/`), which leaves a trace and
a log of its launches. Other processes evaluate these launches themselves, on values that were drawn
after the file had ended (`answers.py`), compare what they write with the reference's results, which
are made only then (`outputs.py`), and judge the trace by rules (`examining.py`). `judge_file.py`
has it all done: processes that need torch are forked by one that imports it (`beside.py`,
`running.py`) at the same time as what the examiner needs is imported.
"""
