"""The parsed IR of Triton's compiled kernels that is evaluated, cached for each kernel."""

import weakref
from typing import TYPE_CHECKING, Any

from kvtrace.backends.compiled_kernels.kernel_records import (
    definition_of,
    evaluated_stage,
    function_of,
    is_gluon,
    kernel_name,
    target_of,
)
from kvtrace.backends.compiled_kernels.written_lines import with_program_locations
from kvtrace.ir.model import DEFAULTS, Options
from kvtrace.schema.without_ir import not_evaluated, several_blocks

if TYPE_CHECKING:
    from kvtrace.ir import Module


def module_of(kernel: Any) -> "Module":
    """Return the IR of a compiled kernel, parsed once for each kernel."""
    module = _modules.get(kernel)
    if module is None:
        function = function_of(kernel)
        stage = evaluated_stage(kernel)
        printed, name = kernel.asm.get(stage), kernel_name(kernel)
        blocks = several_blocks(int(kernel.metadata.num_ctas)) if is_gluon(kernel) else None
        if printed is None or blocks is not None:
            from kvtrace.recorded_calls.arguments import CannotReplay

            lacking = f"{name} has no {stage.upper()}"
            raise CannotReplay(not_evaluated(name, blocks) if blocks else lacking)
        text, target = with_program_locations(printed, function), target_of(kernel.metadata)
        options = build_options(kernel.metadata)
        module = _modules[kernel] = module_from(text, definition_of(kernel)[0], target, options)
    return module


def build_options(metadata: Any) -> Options:
    """Return the options of a compilation that change values."""
    names = ("num_warps", "triton_version", "enable_fp_fusion")
    warps, version, fuses = (getattr(metadata, name, None) for name in names)
    return Options(warps if type(warps) is int else None, version, fuses is not False)


def module_from(
    text: str, file: str | None, target: str, options: Options = DEFAULTS
) -> "Module":  # fmt: skip
    """Return the parsed TTIR, or TTGIR, of a kernel defined in `file`, compiled for `target`.

    Equal arguments get the same module while a module for them is in use, so that a kernel's
    launcher and its record share the module.
    """
    key = (text, file, target, options)
    module = _modules_by_text.get(key)
    if module is None:
        from kvtrace.backends.compiled_kernels.generic import generic_once
        from kvtrace.ir.relocation import module_defined_in

        module = module_defined_in(generic_once(text), file, target, options)
        _modules_by_text[key] = module
    return module


_modules: "weakref.WeakKeyDictionary[Any, Module]" = weakref.WeakKeyDictionary()
_modules_by_text: "weakref.WeakValueDictionary[tuple[str, str | None, str, Options], Module]"
_modules_by_text = weakref.WeakValueDictionary()
