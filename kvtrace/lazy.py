"""Public names of packages and of add-ons' modules, which are imported at a name's first use."""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.machinery import ModuleSpec
    from types import ModuleType
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


# Public names of add-ons' modules: `kvtrace.NAME…` for entries of the group `modules`.
#
# The module of a public name forwards each attribute to the add-on's module, so nothing exists
# twice.


def spec_of(name: str) -> "ModuleSpec | None":
    """Return the spec of a module `kvtrace.NAME…`, or None if no add-on registers NAME."""
    from importlib.machinery import ModuleSpec

    from kvtrace import registry

    head, dot, below = name.removeprefix("kvtrace.").partition(".")
    for entry in registry.own_entries("modules"):
        if entry.name == head:
            loader: Any = _Loader(entry.place + dot + below)
            return ModuleSpec(name, loader, is_package=True)
    return None


class _Loader:
    """Loader of a module that forwards attributes to another module."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: "ModuleSpec") -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Import the add-on's module, and forward attributes to that module."""
        from functools import partial

        real = import_module(self.target)
        module.__doc__ = real.__doc__
        vars(module).update(__getattr__=partial(getattr, real), __dir__=partial(dir, real))
