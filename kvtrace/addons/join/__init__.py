"""`kvtrace import --into`: device times of another tool, added to a recording's launches.

A recording has arguments and IR, a trace of another profiler has times. `sides.py` reads both, with
the looks by which kernels are compared, `joining.py` matches executions with launches by time, by
order (`orders.py`) or by replay, and `results.py` builds the tables of the pass `join`. `kineto.py`
writes torch.profiler's format, with shapes.
"""
