"""Converters: tables in, one file out. They import `kvtrace.schema` and nothing else of kvtrace."""
