"""The page of what kvtrace offers to Python; mkdocstrings fills it in from the docstrings."""

from types import FunctionType
from typing import Any, Final

import kvtrace
import kvtrace.clients
from kvtrace.candidates.checking import CheckedKernel, Figures
from kvtrace.capture import api
from kvtrace.opened.results import MissingPackage, Rows, Told
from kvtrace.opened.traces import OpenedTrace
from kvtrace.registry import loaded
from kvtrace.schema.errors import KvtraceError

PLACE: Final = "reference/python.md"

#: What functions of `kvtrace` take and return, by the names that they are known by.
_OBJECTS: Final[tuple[type, ...]] = (
    OpenedTrace,
    Rows,
    Told,
    CheckedKernel,
    Figures,
    KvtraceError,
    MissingPackage,
)

_HEAD: Final = """\
# Python

Made from the docstrings. [Traces from Python](../api.md) and [Clients](../clients.md) show how all
of this is used, with examples that run.
"""


def python_page() -> str:
    """Return the page's Markdown."""
    return "\n".join(
        [
            _HEAD,
            "## kvtrace\n",
            *(_entry(f"kvtrace.{name}", _public(name)) for name in kvtrace.__all__),
            "## Objects\n",
            "What `kvtrace.open` and the other functions return; settings are those of\n"
            "[the variables](../settings.md).\n",
            *(_entry(each.__name__, each) for each in _OBJECTS),
            *(_entry(f"OpenedTrace.{name}", each) for name, each in loaded("trace_methods")),
            "## kvtrace.clients\n",
            *(_client_entry(name) for name in sorted(kvtrace.clients.__all__)),
        ]
    )


def _public(name: str) -> Any:
    """Return an object of `kvtrace`; `capture` is a package there, which can be called."""
    return getattr(api if name == "capture" else kvtrace, name)


def _client_entry(name: str) -> str:
    return _entry(f"kvtrace.clients.{name}", getattr(kvtrace.clients, name))


def _entry(name: str, value: Any) -> str:
    """Return the directive for one object; of plain data, what it is."""
    if not isinstance(value, (type, FunctionType)):
        return f"### `{name}`\n\n{_DATA[name]}\n"
    home = f"{value.__module__}.{value.__qualname__}"
    return f"::: {home}\n    options:\n      heading: {name}\n      toc_label: {name}\n"


#: Public names that are neither functions nor classes.
_DATA: Final = {
    "kvtrace.__version__": "The version, as text.",
    "kvtrace.clients.TABLES": "The tables of [the format](../format.md) by name.",
}
