"""Verdicts: each rule proves a unique call free of a defect, shows a witness, or gives a reason.

`judge.py` is the entry: it runs rules (`rules/`, `conflicts/`) and evaluates calls for undecided
verdicts, for each of a call's recorded contents. `binding.py` puts a call's numbers into its
kernel's symbolic summary; `verdict.py` has verdicts and their rows of `findings`. Rules share
`replaying.py` (runs of witnesses and grids), `concrete.py` (base of observers that decide),
`contents/` (loaded integers), `widths.py` (arithmetic that may wrap around). `sizes/` finds the
sizes for which a kernel is proven, `pipeline/` judges the order of asynchronous operations in its
TTGIR. May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate`, `kvtrace.symbolic` and
`kvtrace.recorded_calls`.

A rule of `rules/table.py` is a function from a bound call to verdicts, and has a page in docs/rules
whose kernels a test judges. A claim is decided for all programs, lanes and trips at once; only for
claims about recorded contents `contents/by_contents.py` enumerates those that decide which integers
are loaded. What stays undecided is evaluated, and each violation is replayed before it is reported.
"""
