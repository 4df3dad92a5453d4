"""What a call moves and computes: bytes, sectors, lanes and FLOPs of each op, and where.

May import `kvtrace.schema`, `kvtrace.ir`, `kvtrace.evaluate` and `kvtrace.recorded_calls`.
"""
