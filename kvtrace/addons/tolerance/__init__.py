"""Tolerances derived from a kernel's IR and its inputs, in place of guessed numbers.

`launched.py` runs a kernel and copies its inputs; `deriving.py` derives tolerances with the
evaluator's shadow `deviation` (`kvtrace.tolerance`); `references.py` calls a reference in float64,
and measures by `condition.py` how far inputs move its results; `testing.py` compares
(`kvtrace.assert_close`), and does all of this in one call (`kvtrace.testing.against`).

`exact = value + off`; a bound of infinity says that nothing is known. Scales of independent
roundings add by squares where their births (`Span`) are apart, otherwise linearly.
"""
