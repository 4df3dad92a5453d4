"""What the autostart line imports in every Python process that is started with `KVTRACE` set.

It must cost next to nothing and can never raise: it puts one finder in front of `sys.meta_path`
and does no more until a library that launches kernels is imported.
"""

import atexit
import os
import sys

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: Library whose import a built-in backend waits for → where the backend is.
BUILT_IN = {
    "triton": "kvtrace.backends.triton:BACKEND",
    "torch._inductor.runtime.triton_heuristics": "kvtrace.backends.inductor:BACKEND",
    "torch._inductor.codegen.triton": "kvtrace.backends.inductor:GENERATING",
    "kvtrace.nki": "kvtrace.nki.recording:BACKEND",
    "kvtrace.hlo.traced": "kvtrace.hlo.recording:BACKEND",
    "torch": "kvtrace.backends.triton.absent_gpu:TORCH",
    "pynvml": "kvtrace.backends.triton.absent_gpu:NVML",
    "vllm.third_party.pynvml": "kvtrace.backends.triton.absent_gpu:NVML_OF_VLLM",
}

#: Those of them that are waited for only where tensors for a GPU are made on the CPU.
ON_HOST = frozenset({"torch", "pynvml", "vllm.third_party.pynvml"})

#: Package that one of ours stands in for where it is missing, while a recording goes on → what
#: returns the specs of its modules.
STAND_INS = {
    "neuronxcc": "kvtrace.nki.stand_ins:spec_of",
    "nki": "kvtrace.nki.stand_ins:spec_of",
}

#: Every library that is waited for; more are added when backends are found by entry points.
_libraries = set(BUILT_IN) - ON_HOST

_OFF = frozenset({"0", "off", "no", "false"})

#: Absolute path that `KVTRACE` names; None when the variable did not start kvtrace.
out: str | None = None


def boot() -> None:
    """Read `KVTRACE`, and wait for the libraries that launch kernels."""
    global out
    value = os.environ.get("KVTRACE", "")
    if out is not None or not value or value.lower() in _OFF or in_subinterpreter():
        return
    # The directory at process start counts, for this process and for those it starts elsewhere.
    out = os.environ["KVTRACE"] = os.path.abspath(value)  # noqa: PTH100
    if "KVTRACE_GROUP" not in os.environ:
        os.environ["KVTRACE_GROUP"] = f"{os.getpid():x}-{os.urandom(6).hex()}"
    if os.environ.get("KVTRACE_DEVICE") == "cpu":
        add_libraries(ON_HOST)
    # Registered first, so that it runs last: launches of other exit functions are kept.
    atexit.register(_seal)
    watch()


def in_subinterpreter() -> bool:
    """Tell whether this is not the process's first interpreter: in others nothing is recorded.

    NumPy and pyarrow, which writing needs, do not work in them, and may end the process.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # Python 3.13 and later; before
        try:
            interpreters = __import__(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() != interpreters.get_main())
    return False


def _seal() -> None:
    api = sys.modules.get("kvtrace.capture.api")
    if api is not None:
        api.process_ends()


def watch() -> None:
    """Tell `kvtrace.capture.api` when a library that launches kernels is imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _imported(name: str) -> None:
    try:
        from kvtrace.capture import api

        api.library_imported(name)
    except Exception as error:  # noqa: BLE001 - nothing of ours may reach the user's program
        print(f"kvtrace: cannot record {name}: {type(error).__name__}: {error}", file=sys.stderr)


class _Finder:
    """Finds nothing itself; notes the import of the libraries that backends wait for."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name.partition(".")[0] in STAND_INS:
            return _stand_in(name, path, target)
        if name not in _libraries:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, _Finder) or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is None:
                continue
            if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
            return spec
        return None


def _stand_in(
    name: str, path: "Sequence[str] | None", target: "ModuleType | None"
) -> "ModuleSpec | None":
    """Return a module of ours, unless the package is there or nothing is recorded."""
    try:
        from importlib import import_module

        module, _, attribute = STAND_INS[name.partition(".")[0]].partition(":")
        spec_of: Callable[..., ModuleSpec | None] = getattr(import_module(module), attribute)
        api = sys.modules.get("kvtrace.capture.api")
        recording = out is not None or (api is not None and api.current() is not None)
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        return spec_of(name, path, target, others) if recording else None
    except Exception as error:  # noqa: BLE001 - nothing of ours may reach the user's program
        print(f"kvtrace: no stand-in for {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


class _Loader:
    """Executes the module with its own loader, then says that it is there."""

    def __init__(self, loader: "Loader") -> None:
        self.loader = loader

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        return self.loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        # Back in place before the module runs, so that nobody sees a loader that is not its own.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        execute: Callable[[ModuleType], None] = self.loader.exec_module
        execute(module)
        _imported(module.__name__)

    def __getattr__(self, name: str) -> object:
        return getattr(self.loader, name)


def add_libraries(names: "Iterable[str]") -> None:
    """Wait for more libraries; those that are imported already are for the caller to handle."""
    _libraries.update(names)


try:
    boot()
except Exception as error:  # noqa: BLE001 - a Python process must start, whatever is wrong here
    print(f"kvtrace: does not record: {type(error).__name__}: {error}", file=sys.stderr)
