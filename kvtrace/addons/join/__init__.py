"""`kvtrace join`: a recording's launches with device times that another tool took.

A recording has arguments and IR, a trace of another profiler has times. `sides.py` reads both,
`looks.py` says which executions look like which launches, `moments.py`, `orders.py` and
`replays.py` find the launch of each, `joining.py` asks them in turn, and `writing.py` makes the
tables of the pass `join` of it. `kineto.py` gives torch.profiler's files back, with shapes.
"""
