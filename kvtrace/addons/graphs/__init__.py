"""NumPy functions as tensor graphs: traced, recorded, shown, and written as StableHLO.

`hlo/` traces, runs and records graphs; its public name is `kvtrace.hlo` (docs/hlo.md). `rows.py`
reads graphs from rows of `graph_ops`, `figures.py` counts bytes, FLOPs and live memory,
`stablehlo/` writes text, `views/` and `frontend/` show graphs in profiles, differences and reports.
"""
