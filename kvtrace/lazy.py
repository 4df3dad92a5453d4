"""Public names of a package whose modules are imported when a name is first used."""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def found(namespace: "dict[str, Any]", homes: "Mapping[str, str]", name: str) -> "Any":
    """Return a public name for a package's `__getattr__`, and keep it in its namespace.

    Args:
        namespace: the package's `globals()`.
        homes: the module that defines each public name.
        name: what was asked for.

    Raises:
        AttributeError: the package has no such name.

    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    # A package of that name is an attribute as soon as it is imported, and stays it.
    return namespace.setdefault(name, value)
