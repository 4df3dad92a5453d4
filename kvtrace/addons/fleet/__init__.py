"""Kernels' times and findings over many runs, by job and commit, and slowdowns.

`reading.py` builds plain data (`model.py`), which `fleet_text.py` and `page.py` show: `kvtrace
fleet`. For very many runs, `spark/` queries tables and evaluates calls on Spark (`--engine spark`),
and `stores.py` opens traces in object stores (`s3://bucket/out`). docs/fleet.md is the guide.
"""
