"""The IR of Triton's compiled kernels, read once for each."""

import weakref
from typing import TYPE_CHECKING, Any

from kvtrace.backends.compiled_kernels.kernel_records import (
    function_of,
    is_gluon,
    kernel_name,
    target_of,
)
from kvtrace.backends.compiled_kernels.versions import definition
from kvtrace.backends.compiled_kernels.written_lines import as_written

if TYPE_CHECKING:
    from kvtrace.ir import Module


def module_of(kernel: Any) -> "Module":
    """Read the IR of a compiled kernel; made once for a kernel."""
    found = _modules.get(kernel)
    if found is None:
        function = function_of(kernel)
        file = None if function is None else definition(function)[0]
        ttir = kernel.asm.get("ttir")
        if ttir is None:
            from kvtrace.recorded_calls.recorded import CannotReplay, not_evaluated

            name = kernel_name(kernel)
            raise CannotReplay(not_evaluated(name) if is_gluon(kernel) else f"{name} has no TTIR")
        text, target = as_written(ttir, function), target_of(kernel.metadata)
        found = _modules[kernel] = module_from(text, file, target)
    return found


def module_from(ttir: str, file: str | None, target: str) -> "Module":
    """Read TTIR of a kernel defined in `file`, compiled for `target`.

    Those with the same share it while one lives; so do the launcher of a kernel and what is
    recorded of it.
    """
    found = _by_text.get((ttir, file, target))
    if found is None:
        from kvtrace.backends.compiled_kernels.generic import generic_once
        from kvtrace.ir.relocation import module_defined_in

        found = module_defined_in(generic_once(ttir), file, target)
        _by_text[ttir, file, target] = found
    return found


_modules: "weakref.WeakKeyDictionary[Any, Module]" = weakref.WeakKeyDictionary()
_by_text: "weakref.WeakValueDictionary[tuple[str, str | None, str], Module]"
_by_text = weakref.WeakValueDictionary()
