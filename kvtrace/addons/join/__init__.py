"""`kvtrace join`: device times of another tool, added to a recording's launches.

A recording has arguments and IR, a trace of another profiler has times. `sides.py` reads both,
`looks.py` compares kernels by name and grid, `joining.py` matches executions with launches by time,
then by `orders.py` and `replays.py`, and `writing.py` builds the tables of the
pass `join`. `kineto.py` writes torch.profiler's format, with shapes.
"""
