"""Verdicts: each rule proves a distinct call free of a defect, shows a witness, or says why not.

`rules.py` lists the rules, each in a file or folder of its own; `binding.py` puts a call's numbers
into its kernel's symbolic summary; `judge.py` asks the rules and evaluates what they leave
undecided; `verdict.py` is what comes out, and its row of `findings`. Rules share: `replaying.py`
(runs witnesses and grids), `concrete.py` and `evaluated.py` (decide by that), `contents.py` and
`assumptions.py` (loaded integers), `feeding.py`, `arithmetic.py` and `widths.py` (arithmetic that
may wrap around). `generic.py` and its parts are the conditions for all shapes: calls inside of them
need no judging; `growth.py`, `envelope*.py`, `at_size.py` and `contracts.py` say where sizes end.
May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate`, `kvtrace.symbolic`, `kvtrace.calls`
and `kvtrace.metrics`.
"""
