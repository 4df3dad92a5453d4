"""Figures of calls and kernels: sums and medians of launches and executions, each defined once.

`times.py` is the entry: sums and medians of calls and kernels, as tables. `views.py` defines in SQL
which launches count, for DuckDB and for Spark; `scans.py` makes views of a trace's files for both.
"""
