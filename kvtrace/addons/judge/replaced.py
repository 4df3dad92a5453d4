"""Functions of other modules, and process-wide settings, that a candidate's file has replaced.

Functions of torch, Triton, NumPy and kvtrace are compared with those from before the file was
imported. In all other modules, such as `time`, any definition of the file is reported.
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
#: Name prefixes of torch's built-in operators, whoever implements them.
_OPERATORS: Final = ("aten/", "prims/")


class ReplacementFinder:
    """Comparison of functions, modules and settings with those at the time of its creation."""

    def __init__(self) -> None:
        self._functions_by_name = _functions_by_name()
        self._modules = frozenset(sys.modules)
        self._count_active_modes = _count_active_modes()
        self._default = torch.get_default_dtype()
        self._python_operators = _python_operators()

    def replaced_names(self, folder: Path) -> Iterator[str]:
        """Yield the names of functions and settings that files of `folder` have replaced."""
        for name, value in _functions_by_name().items():
            if self._functions_by_name.get(name, value) is not value and not _is_replaced_by_owner(
                name, value
            ):
                yield name
        yield from _definitions_elsewhere(folder, self._modules)
        yield from sorted(_python_operators() - self._python_operators)
        if _count_active_modes() > self._count_active_modes:
            yield "torch's functions, by a mode that stays active"
        if torch.get_default_dtype() != self._default:
            yield "torch's default type"


def _functions_by_name() -> dict[str, Any]:
    """Return the functions of built-ins, torch, NumPy, Triton and kvtrace, by full name."""
    functions = {
        f"builtins.{name}": value for name, value in vars(builtins).items() if callable(value)
    }
    module_names = [n for n in [*sys.modules] if n in _PATCHABLE or n.split(".")[0] == "kvtrace"]
    for name in module_names:
        module = sys.modules[name]
        for key, value in [*vars(module).items()]:
            if isinstance(value, _REPLACEABLE):
                functions[f"{name}.{key}"] = value
            if isinstance(value, type) and value.__module__ == name:
                for method, function in [*vars(value).items()]:
                    if isinstance(function, _REPLACEABLE):
                        functions[f"{name}.{key}.{method}"] = function
    return functions


def _is_replaced_by_owner(name: str, value: Any) -> bool:
    """Return whether the new function `value` is the library's own, or one of kvtrace's hooks."""
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    has_same_name = getattr(value, "__name__", None) == name.rpartition(".")[2]
    return package == "kvtrace" or (has_same_name and package == name.partition(".")[0])


def _definitions_elsewhere(folder: Path, earlier_modules: frozenset[str]) -> Iterator[str]:
    """Yield full names in other modules whose values are defined by files of a folder.

    Packages installed below the folder, as in an environment, and `earlier_modules` count as
    other modules.
    """
    modules = {n: m for n, m in [*sys.modules.items()] if isinstance(m, types.ModuleType)}
    folder_modules = {
        name
        for name, module in modules.items()
        if name not in earlier_modules
        and (file := str(vars(module).get("__file__") or "")).startswith(f"{folder}/")
        and "-packages/" not in file
    }
    for name, module in modules.items():
        if name in folder_modules or name == "__main__" or not folder_modules:
            continue
        for key, value in [*vars(module).items()]:
            if _defined_in(value, folder_modules):
                yield f"{name}.{key}"
            if type(value) is type and value.__module__ == name:
                for method, function in [*vars(value).items()]:
                    if _defined_in(function, folder_modules):
                        yield f"{name}.{key}.{method}"


def _defined_in(value: Any, modules: set[str]) -> bool:
    """Return whether a function, a class or an object's class is defined in one of the modules."""
    if type(value) in (types.FunctionType, type):
        return value.__module__ in modules
    return type(value).__module__ in modules


def _python_operators() -> set[str]:
    """Return torch's built-in operators that have an implementation in Python."""
    listed: Sequence[str] = [*getattr(torch.library, "_impls", ())]
    return {name.replace("/", "::", 1) for name in listed if name.startswith(_OPERATORS)}


def _count_active_modes() -> int:
    """Return the number of active modes that intercept torch's functions and operators."""
    stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    return len(stack) + int(torch.overrides._len_torch_function_stack())
