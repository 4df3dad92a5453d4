"""Extraction of one kernel from a recorded source file, with the statements it depends on.

Importing the whole file would run the rest of the program. So only statements are copied that bind
a name which the kernel, or a copied statement, reads.
"""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def kernel_module(text: str, name: str, line: int | None) -> str | None:
    """Return the text of a module with the kernel and its dependencies; None if it is not found.

    Decorators around `jit` (autotuners, heuristics) are left out: a recorded call has the values
    that they chose.

    Args:
        text: the text of the file that defines the kernel.
        name: the name of the kernel's function.
        line: the line of the definition; None takes the last function of that name.

    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    kernel = _definition(module, name, line)
    if kernel is None:
        return None
    jit, lines = _jit_decorator(kernel), text.splitlines()
    kernel.decorator_list = [jit] if jit else []
    statements = _dependencies(module.body, kernel, _names_read([kernel]))
    pieces = [_text(lines, statement) for statement in statements]
    if jit is None and "triton" not in {name for s in statements for name in _names_set(s)}:
        pieces.append("import triton")
    decorator = "triton.jit" if jit is None else ast.get_source_segment(text, jit)
    body = "\n".join(lines[kernel.lineno - 1 : kernel.end_lineno])
    return "\n".join([*pieces, "", "", f"@{decorator}", textwrap.dedent(body), ""])


def _definition(module: ast.Module, name: str, line: int | None) -> ast.FunctionDef | None:
    functions = [
        node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    exact = [node for node in functions if node.lineno == line]
    return next(iter(exact or functions[-1:]), None)


def _jit_decorator(kernel: ast.FunctionDef) -> ast.expr | None:
    """Return the decorator `jit` of a function, or None if it has none."""
    for decorator in kernel.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", getattr(called, "id", None)) == "jit":
            return decorator
    return None


def _dependencies(body: Sequence[ast.stmt], kernel: ast.stmt, names: set[str]) -> list[ast.stmt]:
    """Return the statements that bind the names, directly or indirectly, in the file's order."""
    copied = {index for index, statement in enumerate(body) if _is_always_copied(statement)}
    needed, is_complete = set(names), False
    while not is_complete:
        is_complete = True
        for index, statement in enumerate(body):
            if index in copied or statement is kernel or not needed & set(_names_set(statement)):
                continue
            copied.add(index)
            needed |= _names_read([statement])
            is_complete = False
    return [body[index] for index in sorted(copied)]


def _is_always_copied(statement: ast.stmt) -> bool:
    """Return whether a statement is an import from `__future__` or of `*`."""
    if not isinstance(statement, ast.ImportFrom):
        return False
    return statement.module == "__future__" or any(alias.name == "*" for alias in statement.names)


def _names_set(statement: ast.stmt) -> Iterator[str]:
    """Yield the module's names that a statement defines, assigns or imports."""
    if isinstance(statement, (*_FUNCTION, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*_FUNCTION, ast.ClassDef)):
            yield node.name


def _names_read(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that nodes read from the module, without local names of functions."""
    names: set[str] = set()
    for node in nodes:
        inner = _names_read(list(ast.iter_child_nodes(node)))
        if isinstance(node, (*_FUNCTION, ast.Lambda)):
            inner -= _local_names(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            inner = {node.id}
        names |= inner
    return names


def _local_names(function: ast.AST) -> set[str]:
    """Return a function's parameters and the local names that it assigns."""
    nodes = list(ast.walk(function))
    global_names = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    assigned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (parameters | assigned) - global_names


def _text(lines: Sequence[str], statement: ast.stmt) -> str:
    """Return the whole lines of a statement, decorators included."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[first - 1 : statement.end_lineno])
