"""The part of a recorded source file that one kernel needs: itself and the names it refers to.

A whole file would launch again all that it launches when it is imported. So a module's statements
are taken one by one: those that bind a name that the kernel, or what was taken for it, reads.
"""

import ast
import textwrap
from collections.abc import Sequence

from kvtrace.schema.sources import bound, first_line, names_read, needed


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
    wanted = names_read([kernel])
    taken = needed(module.body, wanted, but=kernel)
    pieces = [_text(lines, statement) for statement in taken]
    if jit is None and "triton" not in {bound for each in taken for bound in bound(each)}:
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


def _text(lines: Sequence[str], statement: ast.stmt) -> str:
    """A statement's lines, decorators and what else stands on them included."""
    return "\n".join(lines[first_line(statement) - 1 : statement.end_lineno])
