"""NumPy functions as tensor graphs: traced, recorded, shown, and written as StableHLO.

`hlo/` traces, runs and records graphs; its public name is `kvtrace.hlo` (docs/hlo.md). `rows.py`
reads graphs from rows of `graph_ops`, `figures.py` counts bytes, FLOPs and live memory,
`stablehlo/` writes text, `views/` and `frontend/` show graphs in profiles, differences and reports.

A graph is its list of ops, the rows of `graph_ops`; there is no other IR. A builder expands a NumPy
function into StableHLO's ops (`primitives.py`), and an opcode has one meaning by NumPy
(`meanings/`). A wrapper refers to another op after an in-place assignment; views know how to read
from and write into their base, or refuse. A graph's id is that of its kernel, a call of a traced
function is a launch.
"""
