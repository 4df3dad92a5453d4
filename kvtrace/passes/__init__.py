"""Passes: tables in, tables out, by evaluating the distinct calls of a run.

May import `kvtrace.schema`, `kvtrace.ir` and `kvtrace.evaluate`; never capture, backends or
converters.
"""
