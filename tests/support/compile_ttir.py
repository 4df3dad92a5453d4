"""Compiles Triton functions to TTIR without a GPU and without launching them."""

from collections.abc import Mapping
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction

from kvtrace.backends.triton.generic import generic_ttir

HOPPER = GPUTarget("cuda", 90, 32)


def compile_ttir(
    function: JITFunction[Any],
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    *,
    divisible_by_16: tuple[str, ...] = (),
    target: GPUTarget = HOPPER,
    **options: Any,
) -> str:
    """Compile to TTIR as Triton prints it.

    signature: every parameter's type, as {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}.
    """
    backend = make_backend(target)
    parsed = backend.parse_options({"debug": False, "instrumentation_mode": "", **options})
    names = list(function.arg_names)
    source = ASTSource(
        fn=function,
        signature=dict(signature),
        constexprs={(names.index(k),): v for k, v in (constexprs or {}).items()},
        attrs={(names.index(k),): [["tt.divisibility", 16]] for k in divisible_by_16},
    )
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target,
        parsed,
        backend.get_codegen_implementation(parsed),
        backend.get_module_map(),
        context,
    )
    stages: dict[str, Any] = {}
    backend.add_stages(stages, parsed, source.language)
    return str(stages["ttir"](module, {}).str())


def compile_generic(
    function: JITFunction[Any],
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    **settings: Any,
) -> str:
    """Compile to TTIR in MLIR's generic form; the arguments are those of `compile_ttir`."""
    return generic_ttir(compile_ttir(function, signature, constexprs, **settings))
