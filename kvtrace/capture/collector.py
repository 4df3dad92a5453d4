"""Recording without an effect on when Python's garbage collector runs (`_hot_collector.h`)."""

import gc
import sys
from typing import Any, Final

#: Versions whose collector has no full collections, but small steps.
_IN_STEPS: Final = (3, 14, 0) <= sys.version_info[:3] < (3, 14, 5)


class Uncounted:
    """A context that suspends full collections, and restores the collector's counts on exit.

    The program's next full collection thus comes no earlier than without the recording. Contexts
    may be nested, and entered in several threads at once. If the context imported modules, or
    `leaves_objects` that stay alive, it ends with a collection of young objects, which would be
    counted later.
    """

    __slots__ = ("_modules", "_native", "leaves_objects")

    def __init__(self, leaves_objects: bool = False) -> None:
        self.leaves_objects = leaves_objects

    def __enter__(self) -> "Uncounted":
        self._native = _native()
        self._modules = len(sys.modules)
        if self._native is not None:
            self._native.begin_uncounted()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._native is None:
            return
        try:
            if (self.leaves_objects or len(sys.modules) > self._modules) and gc.isenabled():
                gc.collect(1)
        finally:
            self._native.end_uncounted()


def frozen_objects(of_type: type) -> list[Any]:
    """Return objects of a type that `gc.freeze` hides; [] if the collector is not known."""
    native = _native()
    return [] if native is None else list(native.frozen_objects(of_type))


#: The C module, or None without the counts; empty until they were looked for.
_modules: list[Any] = []


def _native() -> Any:
    """Return the C module once it knows the collector's counts, else None."""
    if not _modules and gc.isenabled():
        from kvtrace.capture.hot_choice import compiled_part

        native = None if _IN_STEPS else compiled_part()
        _modules.append(native if native is not None and native.find_collector(gc) else None)
    return _modules[0] if _modules else None
