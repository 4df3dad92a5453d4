"""What the autostart line imports in every Python process that is started with `KVTRACE` set.

It must cost next to nothing and can never raise: it puts one finder in front of `sys.meta_path`
and does no more until a library that launches kernels is imported.
"""

import atexit
import os
import sys

from kvtrace import registry

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from kvtrace.registry import Entry

#: Every library that is waited for; those of other packages' backends are added when found.
_libraries: "set[str]" = set()

#: Package that a module of an add-on replaces where it is missing, while recording → what
#: returns the specs of its modules.
_stand_ins: "dict[str, Entry]" = {}

#: Folders of `sys.path` in which backends of other packages were looked for.
_searched: "set[str]" = set()

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
        wait_without_gpu()
    # Registered first, so that it runs last: launches of other exit functions are kept.
    atexit.register(_seal)
    watch()


def in_subinterpreter() -> bool:
    """Tell whether this is not the process's first interpreter: in others nothing is recorded.

    NumPy and pyarrow, which writing needs, do not work in them, and may end the process.
    """
    # One that is not there would be looked for in every folder.
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = __import__(name)
    except ImportError:
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


def _seal() -> None:
    api = sys.modules.get("kvtrace.capture.api")
    if api is not None:
        api.process_ends()


def watch() -> None:
    """Tell `kvtrace.capture.api` when a library that launches kernels is imported."""
    _libraries.update(entry.name for entry in registry.own_entries("libraries"))
    _stand_ins.update((entry.name, entry) for entry in registry.own_entries("stand_ins"))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _imported(name: str) -> None:
    try:
        from kvtrace.capture import api

        api.library_imported(name)
    except Exception as error:  # noqa: BLE001 - no error of kvtrace may reach the user's program
        print(f"kvtrace: cannot record {name}: {type(error).__name__}: {error}", file=sys.stderr)


class _Finder:
    """Finds nothing itself; notes the import of the libraries that backends wait for.

    It stays the first finder: another one, as pytest's that rewrites assertions, may find a library
    before it would be asked. Python holds its import lock in the meantime, for which other threads
    wait: what is imported here must be next to nothing.
    """

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if sys.meta_path[0] is not self and self in sys.meta_path:
            sys.meta_path.remove(self)  # Python continues with those behind it
            sys.meta_path.insert(0, self)
        if name.partition(".")[0] in _stand_ins:
            return _stand_in(name, path, target)
        if path is None and name not in sys.stdlib_module_names:
            _find_backends()
            if name in sys.modules:  # a backend that was just found has imported its library
                return _spec_of_imported(sys.modules[name])
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
    """Return kvtrace's module, unless the package is installed or nothing is recorded."""
    try:
        spec_of: Callable[..., ModuleSpec | None] = _stand_ins[name.partition(".")[0]].load()
        api = sys.modules.get("kvtrace.capture.api")
        recording = out is not None or (api is not None and api.current() is not None)
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        return spec_of(name, path, target, others) if recording else None
    except Exception as error:  # noqa: BLE001 - no error of kvtrace may reach the user's program
        print(
            f"kvtrace: no replacement for {name}: {type(error).__name__}: {error}", file=sys.stderr
        )
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


def wait_without_gpu() -> None:
    """Wait also for what is adapted only where tensors for a GPU are made on the CPU."""
    _libraries.update(entry.name for entry in registry.own_entries("libraries_without_gpu"))


def _find_backends() -> None:
    """Wait also for the libraries of other packages' backends, in folders that are new.

    Where a package names no libraries among its entry points, its backend is imported and asked.
    Not before all folders are known, which is when `site` has been imported.
    """
    site = sys.modules.get("site")
    if _searched.issuperset(sys.path) or getattr(site and site.__spec__, "_initializing", False):
        return
    _searched.update(sys.path)
    named = registry.installed_entries("libraries")
    _libraries.update(entry.name for entry in named)
    places = {entry.place for entry in named}
    for entry in registry.installed_entries("backends"):
        if entry.place in places:
            continue
        libraries = getattr(registry.loaded_or_none(entry), "libraries", ())
        _libraries.update(libraries)
        for library in libraries:
            if library in sys.modules:
                _imported(library)


def _spec_of_imported(module: "ModuleType") -> "ModuleSpec":
    """Return a spec with which the import of a module gives the one that is there.

    Python takes the module's own in place of what a finder returns, so for a moment it is that.
    """
    from importlib.machinery import ModuleSpec

    spec = ModuleSpec(module.__name__, _Imported(module))  # type: ignore[arg-type]
    module.__spec__ = spec
    return spec


class _Imported:
    """Loads nothing: the module is there, and stays as it is."""

    def __init__(self, module: "ModuleType") -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: "ModuleSpec") -> "ModuleType":  # noqa: ARG002
        return self.module

    def exec_module(self, module: "ModuleType") -> None:
        module.__spec__ = self.spec


try:
    boot()
except Exception as error:  # noqa: BLE001 - a Python process must start, whatever is wrong here
    print(f"kvtrace: does not record: {type(error).__name__}: {error}", file=sys.stderr)
