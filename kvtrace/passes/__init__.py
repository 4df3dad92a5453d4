"""Passes: tables in, tables out. Each evaluates the distinct calls of a run and adds derived tables.

May import `kvtrace.schema`, `kvtrace.ir` and `kvtrace.evaluate`; never capture, backends or
converters.
"""
