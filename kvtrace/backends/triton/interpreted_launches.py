"""Launches under `TRITON_INTERPRET=1`: recorded like compiled ones, with origin "interpreter".

Every launch of an interpreted function calls `GridExecutor.__call__`. There is no compiled kernel;
the record has the TTIR to which the function would have been compiled for the target, so that
interpreted runs can be replayed and compared, too.

With `TRITON_INTERPRET=1` every `@triton.jit` function, those of Triton's own library included, is
an `InterpretedFunction`, which the compiler rejects. So each gets a twin, a `JITFunction` of the
same Python function. While the compiler runs, twins replace the interpreted functions in the
globals that a function reads, and in the modules among these globals.

This module imports Triton.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime import driver
from triton.runtime.interpreter import GridExecutor, InterpretedFunction
from triton.runtime.jit import JITFunction, create_function_from_signature

from kvtrace.backends.compiled_kernels.generic import generic_ttir
from kvtrace.backends.compiled_kernels.kernel_records import parameters_of, values_of
from kvtrace.backends.compiled_kernels.versions import definition, version_of
from kvtrace.capture.arguments import addresses_of, argument_records, unseen
from kvtrace.capture.hot import NO_DEVICE, StoringGrid
from kvtrace.capture.records import KernelRecord, Stage
from kvtrace.settings import Source

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


class Variant:
    """One specialization of an interpreted function, which is recorded as a compiled kernel."""

    def __init__(self, source: Any, options: Any, ttir: str | None) -> None:
        self.src = source
        self.options = options
        self.ttir = ttir


class _InterpretedKernel:
    """The target, the specializer and the recorded variants of one interpreted function."""

    def __init__(self, function: Any, language: Language) -> None:
        self.target = driver.active.get_current_target()
        self.specializer = Specializer(twin_of(function), self.target, language)
        self.variants: dict[str, Variant] = {}


class InterpreterHooks:
    """The hook of one session in Triton's interpreter, which records launches."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._original: Callable[..., Any] = GridExecutor.__call__
        self._language = Language()
        self._functions: weakref.WeakKeyDictionary[Any, _InterpretedKernel]
        self._functions = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Wrap the interpreter's launching function."""
        hooks, original = self, self._original

        def __call__(  # noqa: N807 - replaces the method
            self: Any, /, *args: Any, **kwargs: Any
        ) -> Any:
            return hooks._launch(original, self, args, kwargs)

        __call__.__wrapped__ = original  # type: ignore[attr-defined]
        self._ours = __call__
        GridExecutor.__call__ = __call__

    def uninstall(self) -> None:
        """Remove the hook, unless another hook lies on top."""
        if GridExecutor.__call__ is self._ours:
            GridExecutor.__call__ = self._original

    def _launch(
        self, original: Callable[..., Any], executor: Any, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        if not self._session.records_launches or kwargs.get("warmup"):
            return original(executor, *args, **kwargs)
        variant = self._guarded_variant(executor, args, kwargs)
        executor_grid = executor.grid
        recording_grid = StoringGrid(executor_grid) if callable(executor_grid) else None
        if recording_grid is not None:
            executor.grid = recording_grid
        enter = time.time_ns()
        try:
            result = original(executor, *args, **kwargs)
        finally:
            executor.grid = executor_grid
        leave = time.time_ns()
        if variant is not None:
            grid = executor_grid if recording_grid is None else recording_grid.value
            self._record(variant, grid, args, kwargs, enter, leave)
        return result

    @unseen
    def _guarded_variant(self, executor: Any, args: tuple[Any, ...], kwargs: Any) -> Variant | None:
        """Return `_variant`, or None after an error; called before the interpreter runs.

        The interpreter changes `triton.language`, which the compiler needs.
        """
        try:
            return self._variant(executor, args, kwargs)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
            return None

    def _variant(self, executor: Any, args: tuple[Any, ...], kwargs: Any) -> Variant | None:
        function = _original_function(executor.fn)
        if function is None or not self._session.settings.records_kernel(function.__name__):
            return None
        interpreted = self._functions.get(function)
        if interpreted is None:
            interpreted = self._functions[function] = _InterpretedKernel(function, self._language)
        own = {n: value for n, value in kwargs.items() if n not in ("grid", "warmup")}  # Triton 3.5
        source, options = interpreted.specializer.source(args, own)
        key = repr((source.signature, source.constants, source.attrs, options))
        variant = interpreted.variants.get(key)
        if variant is None:
            ttir = self._ttir(interpreted, source, options)
            variant = interpreted.variants[key] = Variant(source, options, ttir)
        return variant

    def _ttir(self, interpreted: _InterpretedKernel, source: Any, options: Any) -> str | None:
        try:
            return interpreted.specializer.ttir(source, options)
        except Exception as error:  # noqa: BLE001 - the interpreter may run what cannot be compiled
            cause = error
            while cause.__cause__ is not None:
                cause = cause.__cause__  # type: ignore[assignment]
            reason = " ".join(str(cause).split()) or type(cause).__name__
            self._session.message(
                "info",
                "interpreter-ir",
                f"kernel {source.name} is recorded without IR, as it cannot be compiled for "
                f"{interpreted.target.backend}:{interpreted.target.arch}: {reason}",
            )
            return None

    def _record(
        self, variant: Variant, grid: Any, args: Any, kwargs: Any, enter: int, leave: int
    ) -> None:
        try:
            names = {parameter.name for parameter in variant.src.fn.params}
            passed = {name: value for name, value in kwargs.items() if name in names}
            recorder = self._session.recorder
            recorder.record(self, variant, variant, grid, args, passed, enter, leave)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)

    # -- the adapter of the hot path ---------------------------------------------------------

    def new_kernel(self, _owner: Any, kernel: Variant) -> tuple[int, int, int]:
        """Record a variant; return its kernel id and no device."""
        keep = self._session.settings.source
        target = self._functions[kernel.src.fn.fn].target
        kernel_id = self._session.add_kernel(lambda: _kernel_record(kernel, target, keep))
        return (kernel_id, NO_DEVICE, -1)

    def new_call(
        self,
        _owner: Any,
        kernel: Variant,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Record a unique call and return its id."""
        values = values_of(kernel, args, kwargs)
        records = argument_records(parameters_of(kernel), values)
        if self._session.recorder.keeps_addresses:
            self._session.recorder.place(addresses_of(records, values))
        return self._session.add_call(kernel_id, grid, records)


def _original_function(rewritten: Any) -> Any:
    """Return the Python function that the interpreter rewrote; None if unknown."""
    for original, copy in InterpretedFunction.rewritten_fn.items():
        if copy is rewritten:
            return original
    return None


def _kernel_record(kernel: Variant, target: Any, keep: Source) -> KernelRecord:
    function = kernel.src.fn
    file, line = definition(function)
    stages: tuple[Stage, ...] = ()
    if kernel.ttir is not None:
        generic = Stage("ttir_generic", generic_ttir(kernel.ttir).encode())
        stages = (Stage("ttir", kernel.ttir.encode()), generic)
    return KernelRecord(
        name=function.__name__,
        origin="interpreter",
        module=str(function.fn.__module__),
        file=file,
        line=line,
        source=str(function.src) if keep != "off" else None,
        signature=parameters_of(SimpleNamespace(src=kernel.src)),
        target=f"{target.backend}:{target.arch}",
        warp_size=int(target.warp_size),
        num_warps=kernel.options.num_warps,
        num_ctas=kernel.options.num_ctas,
        num_stages=getattr(kernel.options, "num_stages", None),
        options={"triton_version": triton.__version__},
        stages=stages,
        compiler=("triton", triton.__version__),
    )


# -- TTIR of interpreted functions -----------------------------------------------------------------


_LIBRARY: Final = "triton.language"
#: Options that the compiler needs and that `JITFunction.run` would set.
_RUN_OPTIONS: Final = {"debug": False, "instrumentation_mode": ""}

_twins: weakref.WeakKeyDictionary[Any, Twin] = weakref.WeakKeyDictionary()


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

    def __init__(self, twin: Twin, target: GPUTarget, language: Language) -> None:
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
