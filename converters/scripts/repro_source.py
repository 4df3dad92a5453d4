"""The part of a recorded source file that one kernel needs: itself and the names it refers to.

A whole file would launch again all that it launches when it is imported. So a module's statements
are taken one by one: those that bind a name that the kernel, or what was copied for it, reads.
"""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def kernel_module(text: str, name: str, line: int | None) -> str | None:
    """Source of a module that defines the kernel and little else; None if it is not in `text`.

    Decorators around `jit` (autotuners, heuristics) are left out: a recorded call has the values
    that they chose.

    Args:
        text: the file that defines the kernel.
        name: the kernel function's name.
        line: the line of its definition; the last function of that name where it is not known.

    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    kernel = _definition(module, name, line)
    if kernel is None:
        return None
    jit, lines = _jit(kernel), text.splitlines()
    kernel.decorator_list = [jit] if jit else []
    wanted = _names_read([kernel])
    taken = _needed(module.body, kernel, wanted)
    pieces = [_text(lines, statement) for statement in taken]
    if jit is None and "triton" not in {bound for each in taken for bound in _bound(each)}:
        pieces.append("import triton")
    decorator = "triton.jit" if jit is None else ast.get_source_segment(text, jit)
    body = "\n".join(lines[kernel.lineno - 1 : kernel.end_lineno])
    return "\n".join([*pieces, "", "", f"@{decorator}", textwrap.dedent(body), ""])


def _definition(module: ast.Module, name: str, line: int | None) -> ast.FunctionDef | None:
    found = [
        node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    exact = [node for node in found if node.lineno == line]
    return next(iter(exact or found[-1:]), None)


def _jit(kernel: ast.FunctionDef) -> ast.expr | None:
    """The decorator that makes it a kernel, as written; None where that is done elsewhere."""
    for decorator in kernel.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", getattr(called, "id", None)) == "jit":
            return decorator
    return None


def _needed(body: Sequence[ast.stmt], kernel: ast.stmt, wanted: set[str]) -> list[ast.stmt]:
    """The statements that bind wanted names, and those that these need, in the file's order."""
    taken = {index for index, statement in enumerate(body) if _always(statement)}
    wanted, looked_at = set(wanted), False
    while not looked_at:
        looked_at = True
        for index, statement in enumerate(body):
            if index in taken or statement is kernel or not wanted & set(_bound(statement)):
                continue
            taken.add(index)
            wanted |= _names_read([statement])
            looked_at = False
    return [body[index] for index in sorted(taken)]


def _always(statement: ast.stmt) -> bool:
    """Whether a statement binds names that cannot be seen, or changes how the file is read."""
    if not isinstance(statement, ast.ImportFrom):
        return False
    return statement.module == "__future__" or any(each.name == "*" for each in statement.names)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The module's names that a statement binds."""
    if isinstance(statement, (*_FUNCTION, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((each.asname or each.name.split(".")[0]) for each in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*_FUNCTION, ast.ClassDef)):
            yield node.name


def _names_read(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that are read and looked up in the module: a function's own ones are left out."""
    names: set[str] = set()
    for node in nodes:
        inner = _names_read(list(ast.iter_child_nodes(node)))
        if isinstance(node, (*_FUNCTION, ast.Lambda)):
            inner -= _own(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            inner = {node.id}
        names |= inner
    return names


def _own(function: ast.AST) -> set[str]:
    """A function's parameters, and what it assigns to."""
    nodes = list(ast.walk(function))
    shared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (parameters | stored) - shared


def _text(lines: Sequence[str], statement: ast.stmt) -> str:
    """A statement's lines, decorators and everything else on them included."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(lines[first - 1 : statement.end_lineno])
