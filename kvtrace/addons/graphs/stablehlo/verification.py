"""Verification of modules by MLIR, through the bindings in jaxlib."""

from importlib import import_module
from typing import Any

from kvtrace.schema.errors import BadSetting, KvtraceError


class InvalidModule(KvtraceError):
    """A module that MLIR's verifier rejects: the trace is damaged, or kvtrace has a defect."""

    slug = "invalid-module"


def verify(text: str, name: str) -> None:
    """Parse a module's text with MLIR and verify it; `name` is the graph's name for errors.

    Raises:
        BadSetting: jaxlib is not installed, or has other bindings.
        InvalidModule: The module is not valid; the text has the verifier's message.

    """
    try:
        ir: Any = import_module("jaxlib.mlir.ir")
        dialect: Any = import_module("jaxlib.mlir.dialects.stablehlo")
        extension: Any = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    except ImportError as error:
        raise BadSetting(
            f"--check needs jaxlib's bindings of MLIR ({error}); install jaxlib, or leave it out."
        ) from None
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        dialect.register_dialect(context)
        try:
            ir.Module.parse(text).operation.verify()
        except ir.MLIRError as error:
            message = " ".join(str(error).split())
            raise InvalidModule(
                f"the module of {name} is not valid StableHLO: the trace is damaged, or kvtrace "
                f"has a defect; report this with MLIR's message: {message}"
            ) from None
