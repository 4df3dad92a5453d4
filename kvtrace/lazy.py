"""Public names of packages, whose modules are imported at a name's first use."""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def public_name(namespace: "dict[str, Any]", homes: "Mapping[str, str]", name: str) -> "Any":
    """Return the value of a public name for a package's `__getattr__`, and store it there.

    Args:
        namespace: the package's `globals()`.
        homes: the module that defines each public name.
        name: the requested name.

    Raises:
        AttributeError: the package has no such name.

    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    # If the import has set a package of that name as attribute, the package stays.
    return namespace.setdefault(name, value)
