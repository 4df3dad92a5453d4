"""Code of plans: from instructions to the source of one straight-line NumPy function.

writer.py has the lines, names and cells, and code of memory accesses; blocks.py writes a list of
instructions and frees cells, with loops.py for loops. May import what kvtrace.evaluate.plan may;
only plan/ imports it.
"""
