"""A report of a trace, and the passes that it has run."""

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace


def report(trace, *options):
    assert main(["report", str(trace), "-o", str(trace.parent / "report.html"), *options]) == 0


def passes(trace):
    opened = open_trace(trace)
    return set(opened.passes(opened.run_ids[0]))
