"""`kvtrace join`: device times of another tool, added to a recording's launches.

A recording has arguments and IR, a trace of another profiler has times. `sides.py` reads both,
`looks.py` compares kernels by name and grid, `moments.py`, `orders.py` and `replays.py` match
executions with launches, `joining.py` calls them in turn, and `writing.py` builds the tables of the
pass `join`. `kineto.py` writes torch.profiler's format, with shapes.
"""
