"""The page of what kvtrace offers to Python; mkdocstrings fills it in from the docstrings."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import FunctionType, NoneType
from typing import Any, Final, get_args, get_type_hints

import kvtrace
import kvtrace.clients
from kvtrace import registry
from kvtrace.analysis.results import Rows, CommandResult
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.capture import api
from kvtrace.schema.errors import KvtraceError, MissingPackage

PLACE: Final = "reference/python.md"

#: What functions of `kvtrace` take and return, by the names that they are known by.
_OBJECTS: Final[tuple[type, ...]] = (
    OpenedTrace,
    Rows,
    CommandResult,
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
    added = {entry.name: entry.load() for entry in registry.own_entries("api")}
    methods = [(entry.name, entry.load()) for entry in registry.own_entries("trace_methods")]
    return "\n".join(
        [
            _HEAD,
            "## kvtrace\n",
            *(_entry(f"kvtrace.{name}", _public(name)) for name in kvtrace.__all__),
            *(_entry(f"kvtrace.{name}", value) for name, value in added.items()),
            "## Objects\n",
            "What `kvtrace.open` and the other functions return; settings are those of\n"
            "[the variables](../settings.md).\n",
            *(_entry(each.__name__, each) for each in objects()),
            *(_entry(f"OpenedTrace.{name}", each) for name, each in methods),
            "## kvtrace.clients\n",
            *(_client_entry(name) for name in sorted(kvtrace.clients.__all__)),
        ]
    )


def objects() -> list[type]:
    """Return the classes on the page, those that functions of add-ons return included."""
    added = (entry.load() for entry in registry.own_entries("api"))
    return [*_OBJECTS, *(each for function in added for each in _returned(function))]


def _public(name: str) -> Any:
    """Return an object of `kvtrace`; `capture` is a package there, which can be called."""
    return getattr(api if name == "capture" else kvtrace, name)


def _returned(function: Any) -> Iterator[type]:
    """Return the class of what an add-on's function returns, and those of its module within."""
    found = get_type_hints(function)["return"]
    if found is NoneType:
        return
    yield found
    if is_dataclass(found):
        home, hints = function.__module__, get_type_hints(found).values()
        within = (each for hint in hints for each in (hint, *get_args(hint)))
        yield from (each for each in within if getattr(each, "__module__", "") == home)


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
