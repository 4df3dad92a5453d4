"""Kernels that stop at TTIR where there is no GPU: what executes them needs no later stage.

Triton's `compile` makes every stage and writes them into its cache one by one, and its
`CompiledKernel` reads all of them back, so it cannot be stopped half-way. What is here takes the
first stage only, by Triton's own functions, and keeps its text apart from Triton's cache, under the
same hash. An `UnfinishedKernel` is a `CompiledKernel` in all that is asked of it: whoever wants a
later stage, the resources or the binary has Triton compile the kernel then, whole, as it always
does. Triton's cache never sees anything else.
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

from kvtrace.backends.compiled_kernels.mlir_contexts import context_with
from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.compiler_key import cache_folder, read_own, write_whole
from kvtrace.backends.triton.device_free_state import preparing
from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher
from kvtrace.forks import Lock

#: What Triton knows of a kernel only when all stages are made.
_OF_LATER_STAGES: Final = frozenset(
    ("kernel", "metadata_group", "n_regs", "n_spills", "n_max_threads")
)
_OF_LOADING: Final = frozenset(("n_regs", "n_spills", "n_max_threads"))
#: Most threads of a block; where a kernel has more, Triton is to say so itself.
_MAX_THREADS: Final = 1024


@dataclass(frozen=True, slots=True, weakref_slot=True)
class KnownKernel:
    """What is known of a kernel without making a later stage; as `kernel_record` reads one."""

    src: Any
    hash: str
    name: str
    metadata: Any
    asm: dict[str, Any]
    options: Mapping[str, Any]


class _Asm(dict[str, Any]):
    """The stages by name: TTIR at once, all others when one of them is asked for."""

    def __init__(self, ttir: str, finish: Callable[[], Any]) -> None:
        super().__init__(ttir=ttir)
        self._finish: Callable[[], Any] | None = finish

    def _complete(self) -> None:
        finish, self._finish = self._finish, None
        if finish is None:
            return
        try:
            whole = dict(finish().asm)  # in its order
            self.clear()
            self.update(whole)
        except BaseException:
            self._finish = finish
            raise

    def __missing__(self, key: str) -> Any:
        self._complete()
        if super().__contains__(key):
            return super().__getitem__(key)
        if key != "sass":
            raise KeyError(f"Unknown key: '{key}'")  # as Triton's own
        from triton.tools.disasm import get_sass

        self[key] = get_sass(self["cubin"])
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a stage, or `default` where the whole kernel has none of that name."""
        return self[key] if key in self else default  # noqa: SIM401 - it is what `get` does

    def __contains__(self, key: object) -> bool:
        """Whether the whole kernel has that stage."""
        if not super().__contains__(key):
            self._complete()
        return super().__contains__(key)


def _of_the_whole(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    def method(self: _Asm, *given: Any) -> Any:
        self._complete()
        return plain(self, *given)

    return method


for _name in ("keys", "values", "items", "copy", "__iter__", "__len__", "__repr__", "__eq__",
              "__or__", "__ror__", "__reversed__", "pop", "popitem"):  # fmt: skip
    setattr(_Asm, _name, _of_the_whole(_name))


class UnfinishedKernel(CompiledKernel):  # type: ignore[misc]
    """A kernel of which TTIR is made, and the rest when it is asked for.

    Args:
        src: Triton's description of what is compiled.
        known: what is known by now.
        whole: has Triton compile it.

    """

    def __init__(self, src: Any, known: KnownKernel, whole: Callable[[], Any]) -> None:
        self.src = src
        self.hash = known.hash
        self.name = known.name
        self.known = known
        self.metadata = _unfinished_metadata(known.metadata, self)
        self.asm = _Asm(known.asm["ttir"], self.finish)
        self.packed_metadata = None  # for launchers of machine code, which there is none of
        self.module: Any = None
        self.function: Any = None
        self._run: Any = None
        self._whole: Any = None
        self._compile = whole
        self._lock = Lock()

    def __del__(self) -> None:
        """Unload nothing: what is loaded is the whole kernel, which Triton made."""

    def finish(self) -> Any:
        """Return the whole kernel, compiled by Triton the first time."""
        with self._lock:
            if self._whole is None:
                whole = self._compile()
                self.metadata = whole.metadata
                self.packed_metadata = whole.packed_metadata
                self._whole = whole
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
        metadata = self.known.metadata
        threads = metadata.num_warps * metadata.target.warp_size
        if threads > _MAX_THREADS:  # as Triton refuses it, whoever asks
            whole = self.finish()
            try:
                whole._init_handles()
            finally:
                self._run = whole._run
            self.module, self.function = whole.module, whole.function
            return
        self._run = EvaluatingLauncher(self.src, metadata, ttir=self.known.asm["ttir"])
        self._run.compiled = weakref.ref(self)
        self.module = self.function = 1


@lru_cache(maxsize=64)
def _fields_class(fields: tuple[str, ...]) -> Any:
    """Return a class of named tuples; making one takes as long as finding a kernel's key."""
    return namedtuple("KernelMetadata", fields)


@lru_cache(maxsize=64)
def _unfinished_class(fields: tuple[str, ...]) -> Any:
    """Return a class of metadata that has its kernel finished when a field is not known."""

    class KernelMetadata(_fields_class(fields)):  # type: ignore[misc]
        kernel_of: "weakref.ref[UnfinishedKernel]"

        def __getattr__(self, name: str) -> Any:
            held = None if name.startswith("_") or name == "kernel_of" else self.kernel_of()
            if held is None:
                raise AttributeError(name)
            return getattr(held.finish().metadata, name)

        def _asdict(self) -> Any:
            held = self.kernel_of()
            return super()._asdict() if held is None else held.finish().metadata._asdict()

    return KernelMetadata


def _unfinished_metadata(known: Any, kernel: "UnfinishedKernel") -> Any:
    fields = tuple(name for name in known._fields if name != "shared")
    metadata = _unfinished_class(fields)(*(getattr(known, name) for name in fields))
    metadata.kernel_of = weakref.ref(kernel)
    return metadata


class StoppingCompiler:
    """Replaces Triton's `compile` where a jitted function is launched.

    Args:
        stopped: receives each kernel whose compilation was stopped.
        noted: is given its hash and how long it took, in ns: all in all, TTIR from Python, passes.
        problem: receives kvtrace's failures; the kernel is then compiled as Triton does.

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
        """Have jitted functions compile by us; ahead-of-time compilation stays what it is."""
        from triton.runtime.jit import JITFunction

        replaced = Replacements()
        original = getattr(JITFunction, "_do_compile", None)
        if original is None:
            missing = "this Triton compiles kernels in another way; they are compiled whole"
            self._problem(NotImplementedError(missing))
            return replaced
        compiler = self

        def _do_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
            plain = getattr(self, "compile", None)
            warmup = kwargs.get("warmup", args[6] if len(args) > 6 else True)
            ahead = warmup and not preparing.active
            if plain is None or ahead or isinstance(plain, _Stopping):
                return original(self, *args, **kwargs)
            self.compile = _Stopping(compiler, plain)
            try:
                return original(self, *args, **kwargs)
            finally:
                self.compile = plain

        _do_compile.__wrapped__ = original  # type: ignore[attr-defined]
        replaced.put(JITFunction, "_do_compile", _do_compile)
        return replaced

    def compile(self, plain: Callable[..., Any], src: Any, **given: Any) -> Any:
        """Compile to TTIR; whole where that is at hand, cannot be done, or was asked for."""
        made: UnfinishedKernel | None = None
        failure: Exception | None = None
        if not _whole_is_asked(src):
            try:
                made = self._stopped(plain, src, **given)
            except CompilationError as error:  # in the program's text, where Triton finds it, too
                filter_traceback(error)
                raise
            except Exception as error:  # noqa: BLE001 - the program's own, if Triton has it too
                failure = error
        if made is None:
            whole = plain(src, **given)
            if failure is not None:
                self._problem(failure)
            return whole
        self._receive(made)
        return made

    def _stopped(
        self, plain: Callable[..., Any], src: Any, target: Any, options: Any, **more: Any
    ) -> UnfinishedKernel | None:
        """Make the kernel's TTIR; None where Triton's cache has the whole kernel."""
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
        ttir, made, lowered = _ttir(identity, src, target, backend, parsed)
        # As Triton reads it back from its cache: tuples are lists.
        plainly = json.loads(json.dumps({**parsed.__dict__, **variables}, default=vars))
        more_facts = {"hash": identity, "target": target, "name": src.name, "shared": None}
        metadata = {**plainly, "triton_version": triton.__version__, **more_facts}
        if "cluster_dims" in metadata:  # Triton 3.5 makes this list a tuple again
            metadata["cluster_dims"] = tuple(metadata["cluster_dims"])
        known = _fields_class(tuple(sorted(metadata)))(**metadata)
        self._noted(identity, time.perf_counter_ns() - begin, made, lowered)
        return UnfinishedKernel(
            src,
            KnownKernel(src, identity, src.name, known, {"ttir": ttir}, plainly),
            lambda: plain(src, target=target, options=options, **more),
        )


class _Stopping:
    """What a jitted function has for `compile` while it compiles."""

    def __init__(self, compiler: StoppingCompiler, plain: Callable[..., Any]) -> None:
        self._compiler = compiler
        self._plain = plain

    def __call__(self, src: Any, **given: Any) -> Any:
        return self._compiler.compile(self._plain, src, **given)


def _whole_is_asked(src: Any) -> bool:
    """Whether the kernel has no TTIR, or the user looks at, or replaces, what compiling makes."""
    is_gluon = getattr(src.fn, "is_gluon", bool)()
    compilation = knobs.compilation
    return bool(
        is_gluon or compilation.override or compilation.dump_ir or compilation.use_ir_loc
        or compilation.store_binary_only
        or getattr(knobs.runtime, "add_stages_inspection_hook", None) is not None
    )  # fmt: skip


def _is_cached(identity: str, name: str) -> bool:
    """Whether Triton's cache has the whole kernel; makes no folder in it."""
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
) -> tuple[str, int, int]:
    """Make TTIR, or read what an earlier process made; and say how long its two steps took."""
    path = cache_folder() / "ttir" / identity
    known = None if knobs.compilation.always_compile else read_own(path)
    if known is not None:
        return known, 0, 0
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
        made = time.perf_counter_ns()
        text = str(stages["ttir"](module, {}))
        lowered = time.perf_counter_ns()
    write_whole(path, text)
    return text, made - begin, lowered - made
