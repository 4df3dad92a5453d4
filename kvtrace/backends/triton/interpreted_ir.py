"""TTIR of functions that Triton interprets: what they would have been compiled to.

With `TRITON_INTERPRET=1` every `@triton.jit` function, those of Triton's own library included, is
an `InterpretedFunction`, which the compiler does not know. So each gets a twin that is a
`JITFunction` of the same Python function, and while the compiler runs the twins are where it looks
functions up: in the globals that a function sees, and in the modules that it names.

Imports Triton: to be imported once Triton is.
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
#: Options that `JITFunction.run` sets and the compiler asks for.
_RUN_OPTIONS: Final = {"debug": False, "instrumentation_mode": ""}

_twins: "weakref.WeakKeyDictionary[Any, Twin]" = weakref.WeakKeyDictionary()


class Twin(JITFunction):  # type: ignore[misc]
    """A compiler's view of a function that is interpreted; its callees are twins too."""

    def get_capture_scope(self) -> dict[str, Any]:
        """Map the names that the function sees outside itself."""
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
    known = {"version", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline"}
    known |= {"repr", "launch_metadata"}
    settings = {k: v for k, v in value.kwargs.items() if k in known}
    return twin_of(value.fn, **settings)


class Specializer:
    """Tells what a function would be compiled for, given a launch's arguments."""

    def __init__(self, twin: Twin, target: GPUTarget, language: "Language") -> None:
        self._twin = twin
        self._language = language
        self._backend = make_backend(target)
        self._bind = create_function_from_signature(twin.signature, twin.params, self._backend)

    def source(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[ASTSource, Any]:
        """Return the compiler's input for a launch, and the compile options.

        Raises:
            Exception: whatever Triton raises for arguments that it cannot specialize on.
        """
        named = {**_RUN_OPTIONS, **kwargs}
        bound, specialization, options = self._bind(*args, **named)
        options, signature, constexprs, attributes = self._twin._pack_args(
            self._backend, named, bound, specialization, options
        )
        return ASTSource(self._twin, signature, constexprs, attributes), options

    def ttir(self, source: ASTSource, options: Any) -> str:
        """Compile to TTIR, as Triton prints it.

        Raises:
            Exception: whatever the compiler raises for what it cannot compile.
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
    """Triton's language as it was before anything was interpreted.

    The interpreter puts its own functions into `triton.language`, and does not always take them
    out again. To be made early.
    """

    def __init__(self) -> None:
        owners: list[Any] = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith(_LIBRARY) and isinstance(module, ModuleType)
        ]
        core = sys.modules[f"{_LIBRARY}.core"]
        owners += [value for value in vars(core).values() if isinstance(value, type)]
        self._as_made = [(owner, dict(vars(owner))) for owner in owners]

    @contextmanager
    def compilable(self, twin: Twin) -> Iterator[None]:
        """Put twins, and what the interpreter replaced, where the compiler looks things up."""
        undo: list[tuple[Any, str, Any]] = []
        for owner, made in self._as_made:
            for name, value in made.items():
                _replace(owner, name, _compilable(value), undo)
            for name in vars(owner).keys() - made.keys():
                _replace(owner, name, _MISSING, undo)
        for name, value in vars(tl).items():
            if isinstance(value, Twin) and name in vars(tl.tensor):
                _replace(tl.tensor, name, value, undo)  # its method of the same name
        _replace(tl.pointer_type, "to_ir", _pointer_to_ir, undo)
        named = {value for value in twin.fn.__globals__.values() if isinstance(value, ModuleType)}
        for module in named:
            for name, value in list(vars(module).items()):
                _replace(module, name, _compilable(value), undo)
        try:
            yield
        finally:
            for owner, name, value in reversed(undo):
                _put(owner, name, value)


_plain_to_ir: Final = tl.pointer_type.to_ir


def _pointer_to_ir(pointer: Any, builder: Any) -> Any:
    """Refuse what libtriton does not refuse but dies of (SIGABRT), since Triton 3.9."""
    if isinstance(pointer.element_ty, tl.pointer_type) and version_of(triton) >= (3, 9):
        raise TypeError("Triton 3.9 and newer have no pointers to pointers")
    return _plain_to_ir(pointer, builder)


_MISSING: Final = object()
#: What every class defines itself, and no one replaces.
_OWN: Final = frozenset({"__dict__", "__weakref__", "__doc__", "__module__"})


def _replace(owner: Any, name: str, value: Any, undo: list[tuple[Any, str, Any]]) -> None:
    now = vars(owner).get(name, _MISSING)
    if now is value or name in _OWN:
        return
    undo.append((owner, name, now))
    _put(owner, name, value)


def _put(owner: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
