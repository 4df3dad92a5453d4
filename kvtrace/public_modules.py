"""Public names of add-ons' modules: `kvtrace.NAME…` for entries of the group `modules`.

The module of a public name forwards each attribute to the add-on's module, so nothing exists twice.
"""

from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from kvtrace import registry


def spec_of(name: str) -> ModuleSpec | None:
    """Return the spec of a module `kvtrace.NAME…`, or None if no add-on registers NAME."""
    head, dot, below = name.removeprefix("kvtrace.").partition(".")
    for entry in registry.own_entries("modules"):
        if entry.name == head:
            return ModuleSpec(name, _Loader(entry.place + dot + below), is_package=True)
    return None


class _Loader(Loader):
    """Loader of a module that forwards attributes to another module."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the add-on's module, and forward attributes to that module."""
        real = import_module(self.target)
        module.__doc__ = real.__doc__
        vars(module).update(__getattr__=partial(getattr, real), __dir__=partial(dir, real))
