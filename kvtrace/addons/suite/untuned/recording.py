"""Notes, while a program runs, of whether libraries found files of configurations for kernels."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.suite.untuned.library_files import (
    CODE,
    SGLANG_EXPERTS,
    SGLANG_PRODUCTS,
    VLLM_EXPERTS,
    VLLM_PRODUCTS,
    LibraryFiles,
    noted,
)
from kvtrace.backends.replacements import Replacements

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: What callers may use of a function in `functools.lru_cache`.
_OF_CACHES: Final = ("cache_clear", "cache_info", "cache_parameters")


class LibraryFilesBackend:
    """Wraps the function by which a library reads its files of configurations."""

    name: Final = "configuration-files"

    def __init__(self, files: LibraryFiles) -> None:
        self.libraries: Final = files.modules
        self._function = files.function
        self._replaced = Replacements()

    def install(self, session: "Session") -> None:
        """Wrap the function in the module that is imported."""
        for name in self.libraries:
            function = getattr(sys.modules.get(name), self._function, None)
            if callable(function):
                wrapped = _noting(function, name, session)
                self._replaced.put(sys.modules[name], self._function, wrapped)

    def uninstall(self) -> None:
        """Restore the function."""
        self._replaced.undo()


def _noting(function: Callable[..., Any], module: str, session: "Session") -> Callable[..., Any]:
    """Return a function that also notes, once for each of its arguments, what it returned.

    While `torch.compile` traces it, nothing is noted, so that torch only sees the function.
    """
    from torch.compiler import is_compiling  # these libraries have imported it

    noted_arguments: set[tuple[Any, ...]] = set()

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if is_compiling():
            return result
        try:
            key = (*args, *kwargs.values())
            if session.recording and key not in noted_arguments:
                noted_arguments.add(key)
                text = noted(module, function.__name__, key, result)
                session.message("info", CODE, text)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
        return result

    for name in _OF_CACHES:
        if hasattr(function, name):
            setattr(call, name, getattr(function, name))
    return call


VLLM_EXPERTS_BACKEND: Final = LibraryFilesBackend(VLLM_EXPERTS)
VLLM_PRODUCTS_BACKEND: Final = LibraryFilesBackend(VLLM_PRODUCTS)
SGLANG_EXPERTS_BACKEND: Final = LibraryFilesBackend(SGLANG_EXPERTS)
SGLANG_PRODUCTS_BACKEND: Final = LibraryFilesBackend(SGLANG_PRODUCTS)
