"""The texts in Python files: strings, docstrings and comments, each with its line."""

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Text:
    """A text of a file. `kind` is string, docstring or comment; consecutive comments are one."""

    kind: str
    line: int
    text: str


def texts(source: str) -> Iterator[Text]:
    """Yield the texts of a Python file; in an f-string, expressions are left out."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # attributes' too
    formatted = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in formatted for part in ast.walk(node) if part is not node}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and id(node) not in parts:
            values = (value.value for value in node.values if isinstance(value, ast.Constant))
            yield Text("string", node.lineno, "\0".join(map(str, values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            kind = "docstring" if id(node) in docstrings else "string"
            if id(node) not in parts:
                yield Text(kind, node.lineno, node.value)
    yield from _comments(source)


def _comments(source: str) -> Iterator[Text]:
    lines: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        text = token.string.lstrip("#: ")
        if lines and token.start[0] == last + 1:
            lines.append(text)
        else:
            if lines:
                yield Text("comment", first, "\n".join(lines))
            lines, first = [text], token.start[0]
        last = token.start[0]
    if lines:
        yield Text("comment", first, "\n".join(lines))


def undocumented(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of public functions without a docstring, of a module or a class."""
    for function in _public_functions(ast.parse(source)):
        if _is_variant(function):
            continue
        if ast.get_docstring(function) is None:
            yield function.lineno, function.name


def missing_sections(source: str, *, many: int = 3) -> list[str]:
    """Return the sections that a function's docstring lacks.

    These are Args, of a function with `many` parameters and more, and Raises, of one that raises.
    """
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    raised = (each for each in ast.walk(function) if isinstance(each, ast.Raise))
    wanted = {
        "Args": len([each for each in parameters if each.arg not in ("self", "cls")]) >= many,
        "Raises": any(each.exc is not None for each in raised),
    }
    docstring = ast.get_docstring(function) or ""
    return [
        name
        for name, is_wanted in wanted.items()
        if is_wanted and not re.search(f"^{name}:$", docstring, re.MULTILINE)
    ]


def _is_variant(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether it is an overload or a setter, which the function itself documents."""
    decorators = [ast.unparse(each) for each in function.decorator_list]
    return any(each == "overload" or each.endswith(".setter") for each in decorators)


def _public_functions(
    tree: ast.Module,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield public functions of a module and public methods of its public classes."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        if isinstance(node, ast.ClassDef) and node.name.startswith("_"):
            continue
        for each in inner:
            if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not each.name.startswith("_"):
                yield each


def python_files(*folders: Path) -> list[Path]:
    """Return the Python files of folders, in order."""
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return sorted(path for path in found if "node_modules" not in path.parts)
