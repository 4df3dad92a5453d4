"""Kernels compiled to TTIR alone where there is no GPU: the evaluator needs no later stage.

Triton's `compile` makes every stage and writes the stages into its cache one by one, and its
`CompiledKernel` reads all of them back, so compilation cannot be stopped half-way. This module
makes only the first stage, by Triton's own functions, and stores its text outside of Triton's
cache, under the same hash. An `UnfinishedKernel` has the interface of a `CompiledKernel`; if a
later stage, the resources or the binary are read, Triton compiles the whole kernel. Unfinished
kernels are never in Triton's cache.
"""

import hashlib
import json
import time
import weakref
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import CompiledKernel, filter_traceback, make_backend
from triton.compiler.errors import CompilationError
from triton.runtime import cache as triton_cache

from kvtrace.backends.compiled_kernels.generic import context_with
from kvtrace.backends.compiled_kernels.kernel_records import SOURCE
from kvtrace.backends.compiled_kernels.removed_loads import has_removed_loads
from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.compiler_key import cache_folder, read_own, write_whole
from kvtrace.backends.triton.device_free_state import preparing
from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher
from kvtrace.forks import Lock

#: Attributes that a kernel has only after all stages.
_OF_LATER_STAGES: Final = frozenset(
    ("kernel", "metadata_group", "n_regs", "n_spills", "n_max_threads")
)
_OF_LOADING: Final = frozenset(("n_regs", "n_spills", "n_max_threads"))
#: What separates, in a cached file, TTIR from the IR before its passes.
_BETWEEN: Final = "\0"
#: Most threads of a block; for a kernel with more, Triton raises its own error.
_MAX_THREADS: Final = 1024


@dataclass(frozen=True, slots=True, weakref_slot=True)
class KernelAtTtir:
    """The fields of a kernel that are known after TTIR, as `kernel_record` reads them."""

    src: Any
    hash: str
    name: str
    metadata: Any
    asm: dict[str, Any]
    options: Mapping[str, Any]


class _LazyStages(dict[str, Any]):
    """Stages by name: TTIR; all others are compiled and added when one of them is read."""

    def __init__(self, ttir: str, finish: Callable[[], Any]) -> None:
        super().__init__(ttir=ttir)
        self._finish: Callable[[], Any] | None = finish

    def _complete(self) -> None:
        finish, self._finish = self._finish, None
        if finish is None:
            return
        try:
            all_stages = dict(finish().asm)  # with the stages in order
            self.clear()
            self.update(all_stages)
        except BaseException:
            self._finish = finish
            raise

    def __missing__(self, key: str) -> Any:
        self._complete()
        if super().__contains__(key):
            return super().__getitem__(key)
        if key != "sass":
            raise KeyError(f"Unknown key: '{key}'")  # Triton's own error
        from triton.tools.disasm import get_sass

        self[key] = get_sass(self["cubin"])
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a stage, or `default` if the fully compiled kernel has no stage of that name."""
        return self[key] if key in self else default  # noqa: SIM401 - this is `get`

    def __contains__(self, key: object) -> bool:
        """Return whether the fully compiled kernel has that stage."""
        if not super().__contains__(key):
            self._complete()
        return super().__contains__(key)


def _completing(name: str) -> Callable[..., Any]:
    dict_method = getattr(dict, name)

    def method(self: _LazyStages, *arguments: Any) -> Any:
        self._complete()
        return dict_method(self, *arguments)

    return method


for _name in ("keys", "values", "items", "copy", "__iter__", "__len__", "__repr__", "__eq__",
              "__or__", "__ror__", "__reversed__", "pop", "popitem"):  # fmt: skip
    setattr(_LazyStages, _name, _completing(_name))


class UnfinishedKernel(CompiledKernel):  # type: ignore[misc]
    """A kernel compiled to TTIR; the later stages are compiled when one is requested.

    Args:
        src: Triton's description of what is compiled.
        ttir_kernel: The facts that need no later stage.
        whole: A function that compiles all stages by Triton and returns the kernel.

    """

    def __init__(self, src: Any, ttir_kernel: KernelAtTtir, whole: Callable[[], Any]) -> None:
        self.src = src
        self.hash = ttir_kernel.hash
        self.name = ttir_kernel.name
        self.ttir_kernel = ttir_kernel
        self.metadata = _unfinished_metadata(ttir_kernel.metadata, self)
        self.asm = _LazyStages(ttir_kernel.asm["ttir"], self.finish)
        self.packed_metadata = None  # only launchers of machine code need it
        self.module: Any = None
        self.function: Any = None
        self._run: Any = None
        self._whole: Any = None
        self._compile = whole
        self._lock = Lock()

    def __del__(self) -> None:
        """Unload nothing, unlike `CompiledKernel`: only the fully compiled kernel is loaded."""

    def finish(self) -> Any:
        """Return the fully compiled kernel, which Triton compiles at the first call."""
        with self._lock:
            if self._whole is None:
                finished = self._compile()
                self.metadata = finished.metadata
                self.packed_metadata = finished.packed_metadata
                self._whole = finished
        return self._whole

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_LATER_STAGES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        whole = self.finish()
        if name in _OF_LOADING:
            whole._init_handles()
        return getattr(whole, name)

    def _init_handles(self) -> None:
        if self.module is not None:
            return
        metadata = self.ttir_kernel.metadata
        threads = metadata.num_warps * metadata.target.warp_size
        if threads > _MAX_THREADS:  # Triton itself raises the error
            finished = self.finish()
            try:
                finished._init_handles()
            finally:
                self._run = finished._run
            self.module, self.function = finished.module, finished.function
            return
        self._run = EvaluatingLauncher(self.src, metadata, ttir=self.ttir_kernel.asm["ttir"])
        self._run.compiled = weakref.ref(self)
        self.module = self.function = 1


@lru_cache(maxsize=64)
def _fields_class(fields: tuple[str, ...]) -> Any:
    """Return a class of named tuples, cached: making one takes as long as computing a key."""
    return namedtuple("KernelMetadata", fields)


@lru_cache(maxsize=64)
def _unfinished_class(fields: tuple[str, ...]) -> Any:
    """Return a metadata class that compiles the whole kernel when an unknown field is read."""

    class KernelMetadata(_fields_class(fields)):  # type: ignore[misc]
        kernel_of: "weakref.ref[UnfinishedKernel]"

        def __getattr__(self, name: str) -> Any:
            kernel = None if name.startswith("_") or name == "kernel_of" else self.kernel_of()
            if kernel is None:
                raise AttributeError(name)
            return getattr(kernel.finish().metadata, name)

        def _asdict(self) -> Any:
            kernel = self.kernel_of()
            return super()._asdict() if kernel is None else kernel.finish().metadata._asdict()

    return KernelMetadata


def _unfinished_metadata(ttir_metadata: Any, kernel: "UnfinishedKernel") -> Any:
    fields = tuple(name for name in ttir_metadata._fields if name != "shared")
    metadata = _unfinished_class(fields)(*(getattr(ttir_metadata, name) for name in fields))
    metadata.kernel_of = weakref.ref(kernel)
    return metadata


class StoppingCompiler:
    """The replacement of Triton's `compile` for jitted functions, which stops at TTIR.

    Args:
        stopped: Called with each kernel whose compilation was stopped.
        noted: Called with the kernel's hash and durations in ns: total, TTIR from Python, passes.
        problem: Called with kvtrace's failures, after which the kernel is compiled fully.

    """

    def __init__(
        self,
        stopped: Callable[[UnfinishedKernel], None],
        noted: Callable[[str, int, int, int], None],
        problem: Callable[[Exception], None],
    ) -> None:
        self._receive = stopped
        self._noted = noted
        self._problem = problem

    def install(self) -> Replacements:
        """Make jitted functions, but no ahead-of-time compilation, use this compiler.

        Return the replacements, which can be undone.
        """
        from triton.runtime.jit import JITFunction

        replaced = Replacements()
        original = getattr(JITFunction, "_do_compile", None)
        if original is None:
            missing = "this Triton has no JITFunction._do_compile; kernels are compiled whole"
            self._problem(NotImplementedError(missing))
            return replaced
        compiler = self

        def _do_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
            jit_compile = getattr(self, "compile", None)
            warmup = kwargs.get("warmup", args[6] if len(args) > 6 else True)
            ahead = warmup and not preparing.active
            if jit_compile is None or ahead or isinstance(jit_compile, _StoppingCompile):
                return original(self, *args, **kwargs)
            self.compile = _StoppingCompile(compiler, jit_compile)
            try:
                return original(self, *args, **kwargs)
            finally:
                self.compile = jit_compile

        _do_compile.__wrapped__ = original  # type: ignore[attr-defined]
        replaced.put(JITFunction, "_do_compile", _do_compile)
        return replaced

    def compile(self, plain: Callable[..., Any], src: Any, **options: Any) -> Any:
        """Return the kernel, compiled to TTIR if possible, else fully.

        `plain` is Triton's `compile`. Kernels are compiled fully if Triton's cache has them, if
        they have no TTIR, or if the user inspects stages.
        """
        unfinished: UnfinishedKernel | None = None
        failure: Exception | None = None
        if not _needs_whole_kernel(src):
            try:
                unfinished = self._stopped(plain, src, **options)
            except CompilationError as error:  # an error in the program, which Triton finds too
                filter_traceback(error)
                raise
            except Exception as error:  # noqa: BLE001 - the program's, if Triton raises it too
                failure = error
        if unfinished is None:
            compiled = plain(src, **options)
            if failure is not None:
                self._problem(failure)
            return compiled
        self._receive(unfinished)
        return unfinished

    def _stopped(
        self, plain: Callable[..., Any], src: Any, target: Any, options: Any, **more: Any
    ) -> UnfinishedKernel | None:
        """Return the kernel compiled to TTIR; None if Triton's cache has all its stages."""
        begin = time.perf_counter_ns()
        backend = make_backend(target)
        parsed = backend.parse_options({**options, **src.parse_options()})
        variables = more.get("_env_vars")
        if variables is None:
            from triton._C.libtriton import get_cache_invalidating_env_vars

            variables = get_cache_invalidating_env_vars()
        key = triton_cache.get_cache_key(src, backend, parsed, env_vars=variables)
        identity = hashlib.sha256(key.encode()).hexdigest()
        if _is_cached(identity, src.name[:150]):
            return None
        texts, made_ns, lowered_ns = _ttir(identity, src, target, backend, parsed)
        # As Triton reads metadata from its cache: tuples are lists.
        plain_options = json.loads(json.dumps({**parsed.__dict__, **variables}, default=vars))
        more_facts = {"hash": identity, "target": target, "name": src.name, "shared": None}
        metadata = {**plain_options, "triton_version": triton.__version__, **more_facts}
        if "cluster_dims" in metadata:  # Triton 3.5 makes this list a tuple again
            metadata["cluster_dims"] = tuple(metadata["cluster_dims"])
        fields = _fields_class(tuple(sorted(metadata)))(**metadata)
        self._noted(identity, time.perf_counter_ns() - begin, made_ns, lowered_ns)
        return UnfinishedKernel(
            src,
            KernelAtTtir(src, identity, src.name, fields, texts, plain_options),
            lambda: plain(src, target=target, options=options, **more),
        )


class _StoppingCompile:
    """A callable in place of a jitted function's `compile` while the function compiles."""

    def __init__(self, compiler: StoppingCompiler, plain: Callable[..., Any]) -> None:
        self._compiler = compiler
        self._plain = plain

    def __call__(self, src: Any, **options: Any) -> Any:
        return self._compiler.compile(self._plain, src, **options)


def _needs_whole_kernel(src: Any) -> bool:
    """Return whether the kernel has no TTIR, or the user inspects or replaces later stages."""
    is_gluon = getattr(src.fn, "is_gluon", bool)()
    compilation = knobs.compilation
    return bool(
        is_gluon or compilation.override or compilation.dump_ir or compilation.use_ir_loc
        or compilation.store_binary_only
        or getattr(knobs.runtime, "add_stages_inspection_hook", None) is not None
    )  # fmt: skip


def _is_cached(identity: str, name: str) -> bool:
    """Return whether Triton's cache has all stages of a kernel; creates no folder there."""
    if knobs.compilation.always_compile:
        return False
    if knobs.cache.manager_class is None:
        folder = Path(knobs.cache.dir) / triton_cache._base32(identity)
        if not folder.is_dir():
            return False
    group = triton_cache.get_cache_manager(identity).get_group(f"{name}.json") or {}
    return f"{name}.json" in group


def _ttir(
    identity: str, src: Any, target: GPUTarget, backend: Any, options: Any
) -> tuple[dict[str, str], int, int]:
    """Return the texts, and the ns of the two steps: from Python, and passes; 0 if it was cached.

    The texts are TTIR, and the IR before the passes if these removed loads.
    """
    path = cache_folder() / "ttir" / identity
    cached = None if knobs.compilation.always_compile else read_own(path)
    if cached is not None and _BETWEEN in cached:  # another version of kvtrace wrote TTIR alone
        return _named(*cached.split(_BETWEEN, 1)), 0, 0
    from triton._C.libtriton import ir

    def load(context: Any) -> None:
        ir.load_dialects(context)
        backend.load_dialects(context)

    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, src.language)
    dialects = (type(backend), getattr(backend, "instrumentation", None))
    with context_with(dialects, load) as context:
        begin = time.perf_counter_ns()
        module = src.make_ir(
            target, options, backend.get_codegen_implementation(options),
            backend.get_module_map(), context,
        )  # fmt: skip
        made_ns = time.perf_counter_ns()
        source = str(module)
        text = str(stages["ttir"](module, {}))
        lowered_ns = time.perf_counter_ns()
    kept = source if has_removed_loads(source, text) else ""
    write_whole(path, f"{text}{_BETWEEN}{kept}")
    return _named(text, kept), made_ns - begin, lowered_ns - made_ns


def _named(ttir: str, source: str) -> dict[str, str]:
    return {"ttir": ttir, **({SOURCE: source} if source else {})}
