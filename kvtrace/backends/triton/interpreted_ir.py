"""TTIR of functions that Triton interprets, compiled beside the interpretation.

With `TRITON_INTERPRET=1` every `@triton.jit` function, those of Triton's own library included, is
an `InterpretedFunction`, which the compiler rejects. So each gets a twin, a `JITFunction` of the
same Python function. While the compiler runs, twins replace the interpreted functions in the
globals that a function reads, and in the modules among these globals.

This module imports Triton.
"""

import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, create_function_from_signature

from kvtrace.backends.compiled_kernels.versions import version_of

_LIBRARY: Final = "triton.language"
#: Options that the compiler needs and that `JITFunction.run` would set.
_RUN_OPTIONS: Final = {"debug": False, "instrumentation_mode": ""}

_twins: "weakref.WeakKeyDictionary[Any, Twin]" = weakref.WeakKeyDictionary()


class Twin(JITFunction):  # type: ignore[misc]
    """A compilable function with the code of an interpreted one; it calls other twins."""

    def get_capture_scope(self) -> dict[str, Any]:
        """Return the names outside of the function that its body uses, with twins as values."""
        scope = super().get_capture_scope()
        return {name: _compilable(value) for name, value in scope.items()}


def twin_of(function: Any, **settings: Any) -> Twin:
    """Return the twin of a Python function; `settings` are those of `triton.jit`."""
    twin = _twins.get(function)
    if twin is None:
        twin = _twins[function] = Twin(function, **settings)
    return twin


def _compilable(value: Any) -> Any:
    if not isinstance(value, InterpretedFunction):
        return value
    names = {"version", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline"}
    names |= {"repr", "launch_metadata"}
    settings = {k: v for k, v in value.kwargs.items() if k in names}
    return twin_of(value.fn, **settings)


class Specializer:
    """The specialization of one function for a launch's arguments, and its compilation to TTIR."""

    def __init__(self, twin: Twin, target: GPUTarget, language: "Language") -> None:
        self._twin = twin
        self._language = language
        self._backend = make_backend(target)
        self._bind = create_function_from_signature(twin.signature, twin.params, self._backend)

    def source(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[ASTSource, Any]:
        """Return the compiler's input for a launch, and the compile options.

        Raises:
            Exception: any error of Triton's about arguments that cannot be specialized.
        """
        options_and_arguments = {**_RUN_OPTIONS, **kwargs}
        bound, specialization, options = self._bind(*args, **options_and_arguments)
        options, signature, constexprs, attributes = self._twin._pack_args(
            self._backend, options_and_arguments, bound, specialization, options
        )
        return ASTSource(self._twin, signature, constexprs, attributes), options

    def ttir(self, source: ASTSource, options: Any) -> str:
        """Compile the input to TTIR, and return the text that Triton prints.

        Raises:
            Exception: any error of the compiler's.
        """
        backend = self._backend
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        with self._language.compilable(source.fn):
            module = source.make_ir(
                backend.target,
                options,
                backend.get_codegen_implementation(options),
                backend.get_module_map(),
                context,
            )
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, source.language)
        return str(stages["ttir"](module, {}).str())


class Language:
    """A copy of the module `triton.language`, made before the first function is interpreted.

    The interpreter puts its own functions into `triton.language`, and does not always remove them.
    """

    def __init__(self) -> None:
        owners: list[Any] = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith(_LIBRARY) and isinstance(module, ModuleType)
        ]
        core = sys.modules[f"{_LIBRARY}.core"]
        owners += [value for value in vars(core).values() if isinstance(value, type)]
        self._originals = [(owner, dict(vars(owner))) for owner in owners]

    @contextmanager
    def compilable(self, twin: Twin) -> Iterator[None]:
        """In the context, restore `triton.language`, and replace interpreted functions by twins.

        They are replaced in `triton.language` and in the modules that the twin's globals name.
        """
        undo: list[tuple[Any, str, Any]] = []
        for owner, original in self._originals:
            for name, value in original.items():
                _replace(owner, name, _compilable(value), undo)
            for name in vars(owner).keys() - original.keys():
                _replace(owner, name, _MISSING, undo)
        for name, value in vars(tl).items():
            if isinstance(value, Twin) and name in vars(tl.tensor):
                _replace(tl.tensor, name, value, undo)  # the method of the same name
        _replace(tl.pointer_type, "to_ir", _pointer_to_ir, undo)
        modules = {value for value in twin.fn.__globals__.values() if isinstance(value, ModuleType)}
        for module in modules:
            for name, value in list(vars(module).items()):
                _replace(module, name, _compilable(value), undo)
        try:
            yield
        finally:
            for owner, name, value in reversed(undo):
                _put(owner, name, value)


_plain_to_ir: Final = tl.pointer_type.to_ir


def _pointer_to_ir(pointer: Any, builder: Any) -> Any:
    """Return a pointer type's IR; raise for a pointer to a pointer, on which libtriton aborts."""
    if isinstance(pointer.element_ty, tl.pointer_type) and version_of(triton) >= (3, 9):
        raise TypeError("Triton 3.9 and newer have no pointers to pointers")
    return _plain_to_ir(pointer, builder)


_MISSING: Final = object()
#: Attributes that every class has and nobody replaces.
_NEVER_REPLACED: Final = frozenset({"__dict__", "__weakref__", "__doc__", "__module__"})


def _replace(owner: Any, name: str, value: Any, undo: list[tuple[Any, str, Any]]) -> None:
    original = vars(owner).get(name, _MISSING)
    if original is value or name in _NEVER_REPLACED:
        return
    undo.append((owner, name, original))
    _put(owner, name, value)


def _put(owner: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
