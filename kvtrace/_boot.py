"""Start of recording, imported by the autostart line in every process with `KVTRACE` set.

The import costs next to nothing and never raises: this module puts one finder in front of
`sys.meta_path`, which does nothing until a library that launches kernels is imported.
"""

import atexit
import os
import sys
import time

from kvtrace import registry, surroundings
from kvtrace.surroundings import print_error

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from kvtrace.registry import Entry

#: Libraries whose import starts a backend; other packages' are added once found.
_libraries: "set[str]" = set()

#: Packages that add-ons replace while recording if they are missing, with the entry of a function
#: that returns the specs of their modules.
_stand_ins: "dict[str, Entry]" = {}

#: Folders of `sys.path` in which backends of other packages were looked for.
_searched: "set[str]" = set()

#: When this process began to import kvtrace, in ns since 1970.
began_ns = time.time_ns()

_OFF = frozenset({"0", "off", "no", "false"})

#: Absolute path from `KVTRACE`; None if the variable did not start kvtrace.
out: str | None = None


def boot() -> None:
    """Store the directory in `KVTRACE`, if set, and watch imports of libraries (`watch`)."""
    global out
    value = os.environ.get("KVTRACE", "")
    if out is not None or not value or value.lower() in _OFF or surroundings.in_subinterpreter():
        return
    # The directory at process start counts, for this process and for those it starts elsewhere.
    out = os.environ["KVTRACE"] = os.path.abspath(value)  # noqa: PTH100
    surroundings.keep_standard_error()
    if os.environ.keys() & {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}:
        from kvtrace.capture import groups

        groups.pass_group_on(os.environ)  # ranks that no Python started share no variable yet
    elif "KVTRACE_GROUP" not in os.environ:
        os.environ["KVTRACE_GROUP"] = f"{os.getpid():x}-{os.urandom(6).hex()}"
    for entry in registry.own_entries("at_start"):
        if os.environ.get(entry.name, "").lower() not in ("", *_OFF):
            _call(entry, out)
    if os.environ.get("KVTRACE_DEVICE") == "cpu":
        wait_without_gpu()
    # Registered first, so that it runs last: launches of other exit functions are kept.
    atexit.register(_seal)
    watch()


def _call(entry: "Entry", folder: str) -> None:
    try:
        entry.load()(folder)
    except Exception as error:  # noqa: BLE001 - no error of kvtrace may reach the user's program
        print_error(f"{entry.name}: {type(error).__name__}: {error}")


def _seal() -> None:
    folder, error = out, getattr(sys, "last_value", None)
    api = sys.modules.get("kvtrace.capture.api")
    if api is not None:
        api.process_ends()
    elif folder is None or isinstance(error, KeyboardInterrupt):
        return  # an import may change Ctrl-C's exit status: findings/interrupted_status.sh
    elif "torch" in sys.modules or _is_own_command():
        from kvtrace.capture.closing_line import print_closing_line

        print_closing_line(None, folder, began_ns, error)


def _is_own_command() -> bool:
    """Return whether this process is the program that the user wants recorded.

    A program without a library that has kernels is often a tool whose output other programs read,
    and then has no closing line. It is the user's if it was typed at a terminal, where a shell
    makes a process group of each command, or if it is a script and its parent has no `KVTRACE`.
    """
    try:
        if sys.stderr.isatty() and os.getpgrp() == os.getpid():
            return True
        with open(f"/proc/{os.getppid()}/environ", "rb") as file:  # noqa: PTH123 - imports pathlib
            is_first = not any(line.startswith(b"KVTRACE=") for line in file.read().split(b"\0"))
    except (AttributeError, ValueError, OSError):  # closed, or not of this system
        return False
    # `__file__` is gone by now; a module that -m runs has a spec.
    is_script = getattr(sys.modules.get("__main__"), "__spec__", None) is None
    return is_first and is_script and bool(sys.argv) and sys.argv[0].endswith(".py")


def watch() -> None:
    """Add the finder that calls `capture/api.py` when a library with a backend is imported."""
    _libraries.update(entry.name for entry in registry.own_entries("libraries"))
    _stand_ins.update((entry.name, entry) for entry in registry.own_entries("stand_ins"))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def stop_watching() -> None:
    """Remove the finder of `watch`."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


def _imported(name: str) -> None:
    try:
        from kvtrace.capture.collector import Uncounted

        with Uncounted():
            from kvtrace.capture import api

            api.library_imported(name)
    except Exception as error:  # noqa: BLE001 - no error of kvtrace may reach the user's program
        print_error(f"cannot record {name}: {type(error).__name__}: {error}")


class _Finder:
    """Import finder that wraps the loaders of libraries that backends wait for.

    It stays the first finder: another finder, as pytest's that rewrites assertions, could find a
    library first. Python holds the import lock during `find_spec`, for which other threads wait, so
    `find_spec` imports next to nothing.
    """

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if sys.meta_path[0] is not self and self in sys.meta_path:
            sys.meta_path.remove(self)  # Python continues with the finders behind
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
    """Return the spec of an add-on's replacement for a missing package, or None.

    None if the package is installed, or if nothing is being recorded.
    """
    try:
        spec_of: Callable[..., ModuleSpec | None] = _stand_ins[name.partition(".")[0]].load()
        api = sys.modules.get("kvtrace.capture.api")
        recording = out is not None or (api is not None and api.current() is not None)
        other_finders = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        return spec_of(name, path, target, other_finders) if recording else None
    except Exception as error:  # noqa: BLE001 - no error of kvtrace may reach the user's program
        print_error(f"no replacement for {name}: {type(error).__name__}: {error}")
        return None


class _Loader:
    """Loader that executes a module by the original loader, then installs its backends."""

    def __init__(self, loader: "Loader") -> None:
        self.loader = loader

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        return self.loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        # Restored before the module runs, so that no code sees kvtrace's loader.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        execute: Callable[[ModuleType], None] = self.loader.exec_module
        execute(module)
        _imported(module.__name__)

    def __getattr__(self, name: str) -> object:
        return getattr(self.loader, name)


def wait_without_gpu() -> None:
    """Also watch the libraries that have a backend only with `KVTRACE_DEVICE=cpu`."""
    _libraries.update(entry.name for entry in registry.own_entries("libraries_without_gpu"))


def _find_backends() -> None:
    """Also watch the libraries of other packages' backends, in new folders of `sys.path`.

    If a package's entry points name no libraries, the backend is imported, and its `libraries` are
    read. Nothing is done before `site` has been imported, which adds folders.
    """
    site = sys.modules.get("site")
    if _searched.issuperset(sys.path) or getattr(site and site.__spec__, "_initializing", False):
        return
    _searched.update(sys.path)
    library_entries = registry.installed_entries("libraries")
    _libraries.update(entry.name for entry in library_entries)
    with_library = {entry.place for entry in library_entries}
    for entry in registry.installed_entries("backends"):
        if entry.place in with_library:
            continue
        libraries = getattr(registry.loaded_or_none(entry), "libraries", ())
        _libraries.update(libraries)
        for library in libraries:
            if library in sys.modules:
                _imported(library)


def _spec_of_imported(module: "ModuleType") -> "ModuleSpec":
    """Return a spec whose import gives back `module`, which was imported while its finder ran.

    Python uses a module's `__spec__` instead of the finder's result, so it is set to this spec
    until the module is loaded.
    """
    from importlib.machinery import ModuleSpec

    spec = ModuleSpec(module.__name__, _Imported(module))  # type: ignore[arg-type]
    module.__spec__ = spec
    return spec


class _Imported:
    """Loader of a module that is already imported, and is returned unchanged."""

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
    print_error(f"does not record: {type(error).__name__}: {error}")
