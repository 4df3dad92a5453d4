"""Page about kvtrace's Python API, of directives that mkdocstrings replaces by docstrings."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import FunctionType, NoneType
from typing import Any, Final, get_args, get_type_hints

import kvtrace
import kvtrace.clients
from kvtrace import registry
from kvtrace.analysis.results import CommandResult, Rows
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.capture import api
from kvtrace.schema.errors import KvtraceError, MissingPackage

PLACE: Final = "reference/python.md"

#: Classes that functions of `kvtrace` take and return.
_CLASSES: Final[tuple[type, ...]] = (
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
    """Return the page's Markdown: a heading per section, and a directive per public object."""
    addon_objects = {entry.name: entry.load() for entry in registry.own_entries("api")}
    methods = [(entry.name, entry.load()) for entry in registry.own_entries("trace_methods")]
    return "\n".join(
        [
            _HEAD,
            "## kvtrace\n",
            *(_directive(f"kvtrace.{name}", _public_object(name)) for name in kvtrace.__all__),
            *(_directive(f"kvtrace.{name}", value) for name, value in addon_objects.items()),
            "## Objects\n",
            "What `kvtrace.open` and the other functions return; settings are those of\n"
            "[the variables](../settings.md).\n",
            *(_directive(cls.__name__, cls) for cls in documented_classes()),
            *(_directive(f"OpenedTrace.{name}", method) for name, method in methods),
            "## kvtrace.clients\n",
            *(_client_directive(name) for name in sorted(kvtrace.clients.__all__)),
        ]
    )


def documented_classes() -> list[type]:
    """Return the classes on the page: `_CLASSES`, and classes that functions of add-ons return."""
    addon_functions = (entry.load() for entry in registry.own_entries("api"))
    return [
        *_CLASSES,
        *(
            returned_class
            for function in addon_functions
            for returned_class in _returned_classes(function)
        ),
    ]


def _public_object(name: str) -> Any:
    """Return a public object of `kvtrace`; for `capture`, a callable package, the function."""
    return getattr(api if name == "capture" else kvtrace, name)


def _returned_classes(function: Any) -> Iterator[type]:
    """Yield a function's returned class, and classes of the same module in the class's fields."""
    returned = get_type_hints(function)["return"]
    if returned is NoneType:
        return
    yield returned
    if is_dataclass(returned):
        module_name, hints = function.__module__, get_type_hints(returned).values()
        field_types = (field_type for hint in hints for field_type in (hint, *get_args(hint)))
        yield from (
            field_type
            for field_type in field_types
            if getattr(field_type, "__module__", "") == module_name
        )


def _client_directive(name: str) -> str:
    return _directive(f"kvtrace.clients.{name}", getattr(kvtrace.clients, name))


def _directive(name: str, value: Any) -> str:
    """Return mkdocstrings' directive for a class or function; for other values a short text."""
    if not isinstance(value, (type, FunctionType)):
        return f"### `{name}`\n\n{_DATA[name]}\n"
    path = f"{value.__module__}.{value.__qualname__}"
    return f"::: {path}\n    options:\n      heading: {name}\n      toc_label: {name}\n"


#: Public names that are neither functions nor classes.
_DATA: Final = {
    "kvtrace.__version__": "The version, as text.",
    "kvtrace.clients.TABLES": "The tables of [the format](../format.md) by name.",
}
