"""Tolerances derived from a kernel's IR and its inputs, in place of guessed numbers.

`launched.py` runs a kernel and copies its inputs; `deriving.py` derives tolerances with the
evaluator's shadow `deviation` (`kvtrace.tolerance`); `references.py` calls a reference in float64;
`closeness.py` compares (`kvtrace.assert_close`); `testing.py` does all of this in one call
(`kvtrace.testing.against`).
"""
