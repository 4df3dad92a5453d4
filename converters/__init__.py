"""Converters from a trace's tables to files, terminal text and JSON.

Entry points of the group `kvtrace.converters` register those that write files. Code here imports
`kvtrace.schema` and `kvtrace.figures`, never the evaluator.
"""

# The folder is at the top of the repository, where it could be imported under a second name.
if __name__ != "kvtrace.converters":
    raise ImportError("import it as kvtrace.converters")
