"""Loads kernel files out of a package whose other modules cannot be imported here.

`vllm` and `sglang` import compiled extensions, servers and models wherever one looks. `installed`
puts a finder in front of Python's own: below the package, files that define Triton kernels (and
modules that are named) are loaded as they are, everything else is a `StandIn`, which takes whatever
is done with it. A kernel's meaning is then in its own file alone; what a host function needs of
elsewhere is given by value, per package, in `packages.py`. Releases move kernels: a function that a
module does not define is taken from the kernel file that does.
"""

import importlib
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any


class StandIn:
    """Stands for anything: calling it, its attributes and items are stand-ins too; it is false.

    Called with one function or class alone it returns that, as a decorator does.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and not named and callable(given[0]):
            return given[0]
        return StandIn(f"{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_fields", "_ignore_"):
            raise AttributeError(name)
        return StandIn(f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> "StandIn":
        return StandIn(f"{self._name}[{key!r}]")

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __instancecheck__(self, _instance: Any) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return other

    def __ror__(self, other: Any) -> Any:
        return other

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<stand-in for {self._name}>"


class _StandInLoader:
    """Makes modules that hold given values, and stand-ins for all else.

    Args:
        values: what the module holds, by name.
        path: its folder, if it is a package.
        moved: the module that defines a name which this one does not; None: no kernel file does.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        path: Path | None,
        moved: Callable[[str], str | None] = lambda _name: None,
    ) -> None:
        self._values = values
        self._path = path
        self._moved = moved

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__path__ = [str(self._path)] if self._path is not None else []
        return module

    def exec_module(self, module: ModuleType) -> None:
        name, path, moved = module.__name__, self._path, self._moved

        def attribute(asked: str) -> Any:
            if asked.startswith("__"):
                raise AttributeError(asked)
            if path is not None and _holds(path, asked):
                return importlib.import_module(f"{name}.{asked}")
            place = moved(asked)
            if place is not None:
                found = importlib.import_module(place)
                return getattr(found, asked, found)
            return StandIn(f"{name}.{asked}")

        vars(module).update(self._values)
        vars(module)["__getattr__"] = attribute


def _holds(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


class Finder:
    """Finds the modules of one package.

    Args:
        name: the package's name.
        folder: where its files are.
        real: modules that are loaded as they are, besides those that define kernels.
        values: what modules that are not loaded have to hold, by module and name.
        foreign: packages from elsewhere, not installed, that are stood in for altogether.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        real: Sequence[str] = (),
        values: Mapping[str, Mapping[str, Any]] | None = None,
        foreign: Sequence[str] = (),
    ) -> None:
        self._name, self._folder = name, folder
        self._real, self._values = frozenset(real), values or {}
        self._foreign = frozenset(f for f in foreign if importlib.util.find_spec(f) is None)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module, or say nothing of it where it is none of this package's."""
        del path, target
        top, *rest = name.split(".")
        if top in self._foreign:
            return _package(name, _StandInLoader({}, None))
        if top != self._name:
            return None
        place = self._folder.joinpath(*rest)
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not self._is_real(name, file):
            loader = _StandInLoader(
                self._values.get(name, {}),
                place if place.is_dir() else None,
                lambda asked: None if _defines(file, asked) else self._moved.get(asked),
            )
            return _package(name, loader)
        inner = [str(place)] if place.is_dir() else None
        return importlib.util.spec_from_file_location(name, file, submodule_search_locations=inner)

    def _is_real(self, name: str, file: Path) -> bool:
        if name in self._values or not file.is_file():
            return False
        return name in self._real or defines_kernels(file)

    @cached_property
    def _moved(self) -> dict[str, str]:
        """Modules by the functions that their files define, and by their own last names."""
        functions: dict[str, str] = {}
        modules: dict[str, str] = {}
        files = sorted(self._folder.rglob("*.py"), key=lambda file: (len(file.parts), file))
        for file in filter(defines_kernels, files):
            module = ".".join((self._name, *file.relative_to(self._folder).with_suffix("").parts))
            modules.setdefault(file.stem, module)
            for name in re.findall(r"^def (\w+)", file.read_text(), re.MULTILINE):
                functions.setdefault(name, module)
        return modules | functions


def _package(name: str, loader: Any) -> importlib.machinery.ModuleSpec:
    return importlib.machinery.ModuleSpec(name, loader, is_package=True)


def _defines(file: Path, name: str) -> bool:
    """Return whether a module that is stood in for has a function or class of that name."""
    wanted = rf"^(def|class) {name}\b"
    return file.is_file() and re.search(wanted, file.read_text(), re.MULTILINE) is not None


def defines_kernels(file: Path) -> bool:
    """Return whether a file has a Triton kernel of its own."""
    return b"@triton.jit" in file.read_bytes()


def install(finder: Finder) -> None:
    """Ask the finder before all others."""
    sys.meta_path.insert(0, finder)
