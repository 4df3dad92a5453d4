"""What a candidate's file has replaced in modules of others, or changed for the whole process.

Functions of torch, Triton, NumPy and kvtrace are compared with what they were before the file was
imported. In all other modules, as the clock's, whatever the file itself defines has no place.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch

_REPLACEABLE: Final = (types.FunctionType, types.BuiltinFunctionType, type)
_PATCHABLE: Final = ("torch", "torch.testing", "numpy", "triton", "triton.runtime.jit")
#: Names of operators that are torch's own, whoever implements them.
_OPERATORS: Final = ("aten/", "prims/")


class ReplacementFinder:
    """Finds what is replaced from its construction on."""

    def __init__(self) -> None:
        self._functions = _functions()
        self._modules = frozenset(sys.modules)
        self._modes = _modes()
        self._default = torch.get_default_dtype()
        self._operators = _operators()

    def found(self, folder: Path) -> Iterator[str]:
        """Give the names of what was replaced, by files of a folder in other modules."""
        for name, value in _functions().items():
            if self._functions.get(name, value) is not value and not _their_own(name, value):
                yield name
        yield from _planted(folder, self._modules)
        yield from sorted(_operators() - self._operators)
        if _modes() > self._modes:
            yield "torch's functions, by a mode that is never left"
        if torch.get_default_dtype() != self._default:
            yield "torch's default type"


def _functions() -> dict[str, Any]:
    """Return functions that a candidate may want to replace, by name."""
    found = {f"builtins.{name}": value for name, value in vars(builtins).items() if callable(value)}
    names = [n for n in [*sys.modules] if n in _PATCHABLE or n.split(".")[0] == "kvtrace"]
    for name in names:
        module = sys.modules[name]
        for key, value in [*vars(module).items()]:
            if isinstance(value, _REPLACEABLE):
                found[f"{name}.{key}"] = value
            if isinstance(value, type) and value.__module__ == name:
                for method, function in [*vars(value).items()]:
                    if isinstance(function, _REPLACEABLE):
                        found[f"{name}.{key}.{method}"] = function
    return found


def _their_own(name: str, value: Any) -> bool:
    """Whether a library replaced its own function by another of that name, or we hooked it."""
    room = str(getattr(value, "__module__", "")).partition(".")[0]
    same = getattr(value, "__name__", None) == name.rpartition(".")[2]
    return room == "kvtrace" or (same and room == name.partition(".")[0])


def _planted(folder: Path, known: frozenset[str]) -> Iterator[str]:
    """Give what modules outside of a folder hold that a file of the folder has defined.

    Installed packages below it, as of an environment, and modules that were known are outside.
    """
    modules = {n: m for n, m in [*sys.modules.items()] if isinstance(m, types.ModuleType)}
    inside = {
        name
        for name, module in modules.items()
        if name not in known
        and (file := str(vars(module).get("__file__") or "")).startswith(f"{folder}/")
        and "-packages/" not in file
    }
    for name, module in modules.items():
        if name in inside or name == "__main__" or not inside:
            continue
        for key, value in [*vars(module).items()]:
            if _defined_in(value, inside):
                yield f"{name}.{key}"
            if type(value) is type and value.__module__ == name:
                for method, function in [*vars(value).items()]:
                    if _defined_in(function, inside):
                        yield f"{name}.{key}.{method}"


def _defined_in(value: Any, modules: set[str]) -> bool:
    """Whether a function, a class or an object of a class is of some modules."""
    if type(value) in (types.FunctionType, type):
        return value.__module__ in modules
    return type(value).__module__ in modules


def _operators() -> set[str]:
    """Return torch's own operators that Python implements."""
    listed: Sequence[str] = [*getattr(torch.library, "_impls", ())]
    return {each.replace("/", "::", 1) for each in listed if each.startswith(_OPERATORS)}


def _modes() -> int:
    """Return how many modes listen to torch's functions and operators."""
    stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    return len(stack) + int(torch.overrides._len_torch_function_stack())
