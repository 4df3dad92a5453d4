"""Public functions have docstrings; those of the API describe parameters and errors, too.

The API is what packages name in `__all__`, what add-ons put into `kvtrace`, and what `kvtrace.open`
returns. Three parameters and more need Args there, with shapes, dtypes and units where a type does
not give them; whatever raises needs Raises. Elsewhere names and types may be enough.
`python -m tests.docs.test_docstrings` lists the functions that lack something.
"""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import pytest

import kvtrace
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.registry import own_entries
from tests.docs.pages import ROOT
from tests.docs.texts import missing_sections, python_files, undocumented
from tests.support.tree import package_files, tracked_names

ROOMS: Final = ("kvtrace", "schema", "converters")
#: Files of other programs, and of nobody, that docstrings name.
FOREIGN: Final = {"structured_logging.py", "CuAsm/CuNVInfo.py", "file.py", "script.py"}


def _undocumented() -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in python_files(*(ROOT / room for room in ROOMS))
        for line, name in undocumented(path.read_text(encoding="utf-8"))
    ]


def _incomplete() -> list[str]:
    found = {
        f"{each.__module__}.{each.__qualname__}": missing_sections(inspect.getsource(each))
        for each in _api()
    }
    return [f"{name}: {', '.join(missing)}" for name, missing in sorted(found.items()) if missing]


@cache
def _api() -> set[FunctionType]:
    """Return functions of the API, and methods of its classes."""
    objects: list[Any] = [OpenedTrace]
    objects += [getattr(kvtrace, entry.name) for entry in own_entries("api")]
    for path in python_files(*(ROOT / room for room in ROOMS)):
        if path.name == "__init__.py" and "\n__all__" in path.read_text(encoding="utf-8"):
            package = import_module(_module_name(path.parent))
            objects += [getattr(package, name) for name in package.__all__]
    return {each for found in objects for each in _functions(found) if _is_written(each)}


def _module_name(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "kvtrace" else ("kvtrace", *parts))


def _functions(found: Any) -> Iterator[FunctionType]:
    """Yield a function, or the methods and properties of a class: public ones and `__init__`."""
    members = {"": found}
    if inspect.isclass(found):
        members = {
            name: each
            for name, each in vars(found).items()
            if name == "__init__" or not name.startswith("_")
        }
    for name, each in members.items():
        function = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
        if not isinstance(function, FunctionType) or (name == "__init__" and not function.__doc__):
            continue
        if not name or function.__qualname__ == f"{found.__qualname__}.{name}":
            yield function  # a tensor's methods are NumPy's, written as functions elsewhere


def _is_written(function: FunctionType) -> bool:
    """Return whether it is one of kvtrace's, and neither a lambda nor made by a dataclass."""
    is_named = function.__name__ != "<lambda>" and Path(function.__code__.co_filename).is_file()
    return is_named and function.__module__.startswith("kvtrace.")


@pytest.mark.costly("parses every module of the package")
def test_public_functions_have_docstrings():
    assert _undocumented() == []


def test_functions_of_the_api_describe_parameters_and_errors():
    assert len(_api()) > 100
    assert _incomplete() == []


class Files:
    """Paths, by which of them end in a path that a docstring names."""

    def __init__(self, paths: Collection[Path]) -> None:
        self._paths = frozenset(map(str, paths))
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            self._by_name[path.rpartition("/")[2]].append(path)

    def __contains__(self, path: Path) -> bool:
        return str(path) in self._paths

    def has_below(self, folder: Path, name: str) -> bool:
        """Return whether a path in a folder, or deeper, ends in a name."""
        return any(
            path.startswith(f"{folder}/") and path.endswith(f"/{name}")
            for path in self._by_name[name.rpartition("/")[2]]
        )


def _gone(path: Path, docstring: str, files: Files) -> list[str]:
    """Return the Python files that a docstring names beside, above or below its module, but lacks.

    `ir/ops.py` may also be a path in the package or in the room.
    """
    return [
        name
        for name in re.findall(r"(?<![\w/.])(?:\w+/)*\w+\.py\b", docstring)
        if name not in FOREIGN
        and not any(folder / name in files for folder in path.parents)
        and not files.has_below(path.parent, name)
    ]


def test_module_docstrings_name_existing_files():
    modules = set(package_files(".py"))
    files = Files(modules | {ROOT / name for name in tracked_names()})
    gone = {
        str(path.relative_to(ROOT)): names
        for path in modules
        if (names := _gone(path, _module_docstring(path), files))
    }
    assert gone == {}
    module = ROOT / "kvtrace" / "ir" / "flow.py"
    text = "`ops.py`, `schema/tables.py`, `addons/ops.py` and `tables.py`."
    assert _gone(module, text, files) == ["addons/ops.py", "tables.py"]


def _module_docstring(path: Path) -> str:
    """Return the docstring of a module that names a file somewhere."""
    text = path.read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "") if ".py" in text else ""


def test_functions_without_args_or_raises_are_found():
    source = "def bare(a, b, c, d): ...\ndef _own(a): ...\nclass Public:\n  def method(self): ...\n"
    assert list(undocumented(source)) == [(1, "bare"), (4, "method")]
    many = '    def many(self, a, b, *, c):\n        """Do.{}"""\n        raise ValueError(a)\n'
    described = "\n\n        Args:\n            a: b.\n\n        Raises:\n            E: c.\n    "
    few = '@cache\ndef few(a, b):\n    """Do."""\n    raise\n'
    assert missing_sections(many.format("")) == ["Args", "Raises"]
    assert missing_sections(many.format(described)) == missing_sections(few) == []


if __name__ == "__main__":
    print("no docstring:", *_undocumented(), sep="\n  ")
    print("the API's, incomplete:", *_incomplete(), sep="\n  ")
