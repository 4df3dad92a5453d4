"""From the instructions of a plan to the source of one straight-line NumPy function.

writer.py holds what is written and which names and cells there are; one file per kind of
instruction writes it; blocks.py goes through a list and says which cells are free again.
May import what kvtrace.evaluate.plan may; only plan/ imports it.
"""
