"""Code of plans: from instructions to the source of one straight-line NumPy function.

writer.py has the lines, names and cells; one file per kind of instruction writes lines; blocks.py
writes a list of instructions and frees cells.
May import what kvtrace.evaluate.plan may; only plan/ imports it.
"""
