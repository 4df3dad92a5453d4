"""Verdicts: each rule proves a unique call free of a defect, shows a witness, or says why not.

`judge.py` is the way in: it asks rules (`rules/`, `conflicts/`) and evaluates what they leave open;
`all_launches.py` does so for each contents that a call's tensors had. `binding.py` puts
a call's numbers into its kernel's symbolic summary; `verdict.py` is what comes out, and its row of
`findings`. Rules share `replaying.py` (runs witnesses and grids), `concrete.py` (decides by that),
`contents/` (loaded integers), `feeding.py` and `widths.py` (arithmetic that may wrap around).
`sizes/` says for which sizes a kernel is proven, `pipeline/` judges the order in its TTGIR.
May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate`, `kvtrace.symbolic`,
`kvtrace.recorded_calls` and `kvtrace.metrics`.
"""
