"""What launches and executions add up to: one definition of each figure, asked in SQL.

`times.py` is the way in: sums and medians of calls and of kernels, as tables. `views.py` says which
launches count, for DuckDB and for Spark; `scans.py` gives both the files of a trace.
"""
