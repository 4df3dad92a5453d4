"""Converters: tables in, one file out; entry points of the group `kvtrace.converters` name them.

They read tables of `kvtrace.schema` and figures of `kvtrace.figures`, and never the evaluator.
"""

# The folder lies at the top of the repository, from where it could be imported a second time.
if __name__ != "kvtrace.converters":
    raise ImportError("import it as kvtrace.converters")
