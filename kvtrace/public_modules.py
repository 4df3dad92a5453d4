"""Public names of add-ons' modules: `kvtrace.NAME`, and what is below it, of the group `modules`.

A name is a separate module that asks the add-on's for everything, so nothing is there twice.
"""

from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from kvtrace import registry


def spec_of(name: str) -> ModuleSpec | None:
    """Return the spec of a module `kvtrace.NAME…`; None where no add-on registers that name."""
    head, dot, below = name.removeprefix("kvtrace.").partition(".")
    for entry in registry.own_entries("modules"):
        if entry.name == head:
            return ModuleSpec(name, _Loader(entry.place + dot + below), is_package=True)
    return None


class _Loader(Loader):
    """Fills a module with what another one answers."""

    def __init__(self, place: str) -> None:
        self.place = place

    def create_module(self, spec: ModuleSpec) -> None:
        """Have the usual one made."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the add-on's module, and ask it for each name."""
        real = import_module(self.place)
        module.__doc__ = real.__doc__
        vars(module).update(__getattr__=partial(getattr, real), __dir__=partial(dir, real))
