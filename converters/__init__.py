"""Converters: each reads the tables of a trace and writes one file.

Entry points of the group `kvtrace.converters` name them. They import `kvtrace.schema` and
`kvtrace.figures`, never the evaluator.
"""

# The folder lies at the top of the repository, from where it could be imported a second time.
if __name__ != "kvtrace.converters":
    raise ImportError("import it as kvtrace.converters")
