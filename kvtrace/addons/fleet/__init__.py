"""Kernels over many runs: their times by job and commit, what became slower where, findings.

`reading.py` builds plain data (`model.py`), which `fleet_text.py` and `page.py` show: `kvtrace
fleet`. For runs that are many, `spark/` asks tables and evaluates calls on Spark (`--engine
spark`), and `stores.py` opens traces in object stores (`s3://bucket/out`). docs/fleet.md says how
to use them.
"""
