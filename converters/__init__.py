"""Converters from a trace's tables to files, terminal text and JSON.

Entry points of the group `kvtrace.converters` register those that write files. Code here imports
`kvtrace.schema` and `kvtrace.figures`, never the evaluator.

A converter is an object with `summary`, `default_output` and `convert(selection, output,
settings)`. It builds plain data first, which tests look at, and then writes the data by
`output.py`, the one atomic writer of files.
"""

# The folder is at the top of the repository, where it could be imported under a second name.
if __name__ != "kvtrace.converters":
    raise ImportError("import it as kvtrace.converters")
