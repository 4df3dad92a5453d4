"""Code of plans: from instructions to the source of one straight-line NumPy function.

writer.py has the lines, names and cells; blocks.py writes a list of instructions and frees cells,
with memory.py and loops.py for these instructions. May import what kvtrace.evaluate.plan may; only
plan/ imports it.
"""
