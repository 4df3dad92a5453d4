"""The difference of two traces, runs or commits: `compare` builds it as data, renderers print it.

Imports `kvtrace.schema`, `kvtrace.ir` and the converters beside it.
"""

from kvtrace.converters.diff.compare import compare
from kvtrace.converters.diff.junit import difference_junit
from kvtrace.converters.diff.markdown import difference_markdown
from kvtrace.converters.diff.model import Difference
from kvtrace.converters.diff.outputs import Outputs, write_outputs
from kvtrace.converters.diff.render import difference_object, difference_text, headline_text

__all__ = [
    "Difference",
    "Outputs",
    "compare",
    "difference_junit",
    "difference_markdown",
    "difference_object",
    "difference_text",
    "headline_text",
    "write_outputs",
]
