"""Cache of results derived from a module, which lives as long as the module."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from kvtrace.ir.model import Module

_T = TypeVar("_T")
_MISSING: Any = object()


def once_per_module(function: Callable[[Module], _T]) -> Callable[[Module], _T]:
    """Decorate a function of a module so that its result is cached in the module.

    Two threads may compute it at the same time; one of the results is kept.
    """

    @wraps(function)
    def cached(module: Module) -> _T:
        result: _T = module.memo.get(cached, _MISSING)
        if result is _MISSING:
            result = module.memo.setdefault(cached, function(module))
        return result

    return cached
