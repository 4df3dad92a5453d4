"""Verdicts: each rule proves a distinct call free of a defect, shows a witness, or says why not.

`rules.py` lists the rules, each in a file of its own; `binding.py` puts a call's numbers into its
kernel's symbolic summary; `judge.py` asks the rules, evaluates what they leave undecided, and
`replaying.py` runs every witness before it is shown; `verdict.py` is what comes out, and its row
of `findings`. May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate`, `kvtrace.symbolic` and
`kvtrace.passes`.
"""
