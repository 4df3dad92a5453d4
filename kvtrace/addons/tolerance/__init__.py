"""How close two results must be: derived for a kernel and its inputs, in place of guessed numbers.

`launched.py` runs a kernel and keeps what it was given; `deriving.py` makes tolerances of that by
the evaluator's shadow `deviation` (`kvtrace.tolerance`); `references.py` calls a reference in
float64; `closeness.py` compares (`kvtrace.assert_close`); `testing.py` does all of it in one line
(`kvtrace.testing.against`).
"""
