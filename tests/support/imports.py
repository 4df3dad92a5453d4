"""What each module of the package imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.tree import PACKAGE, ROOT, package_files

#: What `app.html` is built from, and the scripts that build it: in no wheel.
FRONT_END = PACKAGE / "converters" / "report" / "frontend"
HEAVY_IN_CAPTURE = {"z3", "duckdb", "jinja2", "rich", "typer", "perfetto"}


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
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if running:
        tree = WithoutTypes().visit(tree)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{start}.{alias.name}" for alias in node.names]
    return tuple(found)


class WithoutTypes(ast.NodeTransformer):
    """Leaves out what stands below `if TYPE_CHECKING:`."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


@cache
def strings_of(path: Path) -> tuple[str, ...]:
    """All strings in a file."""
    return tuple(
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


#: Every module of the package: its import name and file.
MODULES = list(modules())
