"""What each module of the package imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.tree import PACKAGE, ROOT, package_files

#: What `app.html` is built from, and the scripts that build it: in no wheel.
FRONT_END = PACKAGE / "converters" / "report" / "frontend"
HEAVY_IN_CAPTURE = {"z3", "duckdb", "jinja2", "perfetto"}


def modules() -> Iterator[tuple[str, Path]]:
    """Import name and file of every Python module that is installed."""
    for path in package_files(".py"):
        if not path.is_relative_to(FRONT_END):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), path


@cache
def imports_of(name: str, path: Path, *, running: bool = False) -> tuple[str, ...]:
    """Absolute names of all imports in a file, those inside functions too; `running`: no types'."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: list[str] = []
    for node, of_types in _read(path)[0]:
        if running and of_types:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{start}.{alias.name}" for alias in node.names]
    return tuple(found)


def strings_of(path: Path) -> tuple[str, ...]:
    """All strings in a file."""
    return _read(path)[1]


@cache
def _read(path: Path) -> tuple[list[tuple[ast.Import | ast.ImportFrom, bool]], tuple[str, ...]]:
    """Return a file's imports, each with whether type checkers alone make it, and its strings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    of_types = {
        id(below)
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING"
        for statement in node.body
        for below in ast.walk(statement)
    }
    imports = [
        (node, id(node) in of_types)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    strings = (node.value for node in nodes if isinstance(node, ast.Constant))
    return imports, tuple(text for text in strings if isinstance(text, str))


#: Every module of the package: its import name and file.
MODULES = list(modules())
