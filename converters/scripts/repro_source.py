"""Python texts of a call: its kernel with the statements it depends on, and values as expressions.

Importing the whole file would run the program. So only statements are copied that define a name
which the kernel, or another copied statement, reads.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kvtrace.schema.errors import BadSetting

_TRITON_TYPE: Final = re.compile(r"u?int\d+|fp(16|32|64)|bf16|fp8e\w+")
_FUNCTION_NODES: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def kernel_module(text: str, name: str, line: int | None) -> str | None:
    """Return the text of a module with the kernel and its dependencies; None if it is not found.

    Decorators around `jit` (autotuners, heuristics) are left out: a recorded call has the values
    that they chose.

    Args:
        text: the text of the file that defines the kernel.
        name: the name of the kernel's function.
        line: the line of the definition; None: the last function of that name.

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
    texts = [_statement_text(lines, statement) for statement in statements]
    if jit is None and "triton" not in {name for s in statements for name in _names_set(s)}:
        texts.append("import triton")
    decorator = "triton.jit" if jit is None else ast.get_source_segment(text, jit)
    body = "\n".join(lines[kernel.lineno - 1 : kernel.end_lineno])
    return "\n".join([*texts, "", "", f"@{decorator}", textwrap.dedent(body), ""])


def _definition(module: ast.Module, name: str, line: int | None) -> ast.FunctionDef | None:
    functions = [
        node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    at_line = [node for node in functions if node.lineno == line]
    return next(iter(at_line or functions[-1:]), None)


def _jit_decorator(kernel: ast.FunctionDef) -> ast.expr | None:
    for decorator in kernel.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", getattr(called, "id", None)) == "jit":
            return decorator
    return None


def _dependencies(body: Sequence[ast.stmt], kernel: ast.stmt, names: set[str]) -> list[ast.stmt]:
    """Return the statements of `body` that define `names`, or names that these read, in order."""
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
    if not isinstance(statement, ast.ImportFrom):
        return False
    return statement.module == "__future__" or any(alias.name == "*" for alias in statement.names)


def _names_set(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines, assigns or imports in the module."""
    if isinstance(statement, (*_FUNCTION_NODES, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*_FUNCTION_NODES, ast.ClassDef)):
            yield node.name


def _names_read(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that syntax nodes read from the module, without functions' local names."""
    names: set[str] = set()
    for node in nodes:
        names_in_node = _names_read(list(ast.iter_child_nodes(node)))
        if isinstance(node, (*_FUNCTION_NODES, ast.Lambda)):
            names_in_node -= _local_names(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names_in_node = {node.id}
        names |= names_in_node
    return names


def _local_names(function: ast.AST) -> set[str]:
    nodes = list(ast.walk(function))
    global_names = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    assigned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (parameters | assigned) - global_names


def _statement_text(lines: Sequence[str], statement: ast.stmt) -> str:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    first_line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[first_line - 1 : statement.end_lineno])


def expression(text: str, dtype: str, what: str) -> str:
    """Return a recorded value as a Python expression; BadSetting if it cannot be written as one."""
    if text in ("nan", "inf", "-inf"):
        return f'float("{text}")'
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    if _TRITON_TYPE.fullmatch(text):
        return f'triton.language.dtype("{text}")'
    if re.fullmatch(r"torch\.[a-z0-9_]+", text):
        return text
    raise BadSetting(f"{what} was {text} ({dtype}), which has no Python expression")


def literal_value(text: str) -> Any:
    """Return a recorded value as a Python object; None if its text is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
