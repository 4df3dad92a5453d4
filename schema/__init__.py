"""The trace format: tables, versions, writer, reader and recovery.

Imports numpy, pyarrow and zstandard only, and nothing else of kvtrace.
"""
