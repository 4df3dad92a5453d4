"""The difference of two traces, runs or commits: `compare` builds it as data, renderers print it.

Imports `kvtrace.schema` and the converters beside it.
"""

from kvtrace.converters.diff.compare import compare
from kvtrace.converters.diff.model import Difference
from kvtrace.converters.diff.render import difference_markdown, difference_object, difference_text

__all__ = [
    "Difference",
    "compare",
    "difference_markdown",
    "difference_object",
    "difference_text",
]
