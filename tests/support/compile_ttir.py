"""Compiles Triton functions to TTIR without a GPU and without launching them.

What `compile_generic` gave is kept on disk, for the other processes of a test session and for the
next one, under all that it depends on: see `_key`. `pytest --cache-clear` forgets it.
"""

import hashlib
import inspect
import os
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import triton
from triton._C import libtriton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from kvtrace.backends.compiled_kernels import generic

HOPPER = GPUTarget("cuda", 90, 32)


def compile_ttir(function: JITFunction[Any], *arguments: Any, **settings: Any) -> str:
    """Compile to TTIR, or to `stage`, as Triton prints it; arguments as `compile_stages`."""
    stage = settings.pop("stage", "ttir")
    return compile_stages(function, *arguments, last=stage, **settings)[stage]


def compile_stages(
    function: JITFunction[Any],
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    *,
    divisible_by_16: tuple[str, ...] = (),
    target: GPUTarget = HOPPER,
    last: str = "ttir",
    **options: Any,
) -> dict[str, str]:
    """Compile up to a stage, and return the texts of all, by their names.

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
    metadata: dict[str, Any] = dict(vars(parsed))
    texts = {}
    for name, made in stages.items():
        module = made(module, metadata)
        texts[name] = module if isinstance(module, str) else str(module.str())
        if name == last:
            break
    return texts


def compile_generic(
    function: JITFunction[Any],
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    **settings: Any,
) -> str:
    """Compile to MLIR's generic form of TTIR; the arguments are those of `compile_ttir`."""
    key = _key(function, signature, constexprs or {}, settings)
    folder = os.environ.get("KVTRACE_TEST_TTIR")
    if key is None or folder is None:
        return generic.generic_ttir(compile_ttir(function, signature, constexprs, **settings))
    path = Path(folder) / key
    try:
        return zlib.decompress(path.read_bytes()).decode()
    except FileNotFoundError:
        text = generic.generic_ttir(compile_ttir(function, signature, constexprs, **settings))
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(zlib.compress(text.encode(), 1))
    unfinished.replace(path)
    return text


def _key(
    function: JITFunction[Any],
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> str | None:
    """Digest of all that the text depends on; None if something among it has no name of its own.

    That is Triton and our printing of its IR, the function with all that it calls and the constants
    it reads (Triton's own key, lines included), its file, the types, and what the language is told
    of the device.
    """
    constants = {name: _named(value) for name, value in constexprs.items()}
    if None in constants.values():
        return None
    target = driver._active.get_current_target() if driver._active is not None else None
    parts = (
        _compiler(),
        function.cache_key,
        function.fn.__code__.co_filename,
        list(signature.items()),
        list(constants.items()),
        sorted(settings.items()),
        target,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _named(value: Any) -> str | None:
    """A text that no other value has."""
    if isinstance(value, JITFunction):
        return f"{value.fn.__code__.co_filename}:{value.cache_key}"
    if value is None or isinstance(value, bool | int | float | str | triton.language.dtype):
        return f"{type(value).__name__} {value!r}"
    return None


@cache
def _compiler() -> str:
    library = Path(libtriton.__file__).stat()
    ours = Path(generic.__file__).read_text() + inspect.getsource(compile_ttir)
    return f"{triton.__version__} {library.st_size} {library.st_mtime_ns} {ours}"
