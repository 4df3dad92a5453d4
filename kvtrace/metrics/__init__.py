"""Metrics of a call: bytes, sectors, lanes and FLOPs of each op, and the addresses accessed.

May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate` and `kvtrace.recorded_calls`.
"""
