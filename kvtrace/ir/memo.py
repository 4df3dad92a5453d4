"""What is worked out of a module is remembered with it, and goes with it: the one way to do so."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from kvtrace.ir.model import Module

_T = TypeVar("_T")
_MISSING: Any = object()


def once_per_module(function: Callable[[Module], _T]) -> Callable[[Module], _T]:
    """Have a function of a module called once for each module, as long as that lives.

    Two threads that ask at once may both work it out; one of the results is kept.
    """

    @wraps(function)
    def remembered(module: Module) -> _T:
        found: _T = module.memo.get(remembered, _MISSING)
        if found is _MISSING:
            found = module.memo.setdefault(remembered, function(module))
        return found

    return remembered
