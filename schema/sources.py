"""Which part of a Python file a function uses: what a trace keeps, and what a script repeats."""

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Final

_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def used_part(text: str, lines: Collection[int]) -> str:
    """Return a file in which every line is blank that the functions around some lines do not use.

    Kept are these functions with their decorators, the statements of the module that bind names
    which they read, what those need in turn, and the first lines of what a function is defined in.
    Lines keep their numbers. Of a file that is not Python only the lines themselves are kept.

    Args:
        text: the file's content.
        lines: numbers of lines, counted from 1.

    """
    every = text.splitlines(keepends=True)
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        kept = set(lines)
    else:
        kept = _kept(module, lines)
    blank = [line if number in kept else "\n" for number, line in enumerate(every, 1)]
    return "".join(blank).rstrip("\n") + "\n" * bool(kept)


def _kept(module: ast.Module, lines: Collection[int]) -> set[int]:
    kept: set[int] = set()
    roots: dict[ast.stmt, None] = {}
    compound = [node for node in ast.walk(module) if isinstance(node, ast.stmt) and _body(node)]
    for line in lines:
        around = [node for node in compound if _has(node, line)]  # outermost first
        functions = [node for node in around if isinstance(node, _FUNCTION)]
        inner = functions[-1] if functions else next(
            (statement for statement in module.body if _has(statement, line)), None
        )  # fmt: skip
        if inner is None:
            continue
        roots[inner] = None
        for outer in around:
            if inner in _within(outer):
                kept.update(range(outer.lineno, first_line(_body(outer)[0])))
    for statement in (*roots, *needed(module.body, names_read(list(roots)))):
        kept.update(range(first_line(statement), (statement.end_lineno or 0) + 1))
    return kept


def _body(statement: ast.stmt) -> Sequence[ast.stmt]:
    """Return the statements in a compound one: a function, a class, a branch."""
    body: Sequence[ast.stmt] = getattr(statement, "body", ())
    return body


def _within(statement: ast.stmt) -> Iterator[ast.AST]:
    return (node for node in ast.walk(statement) if node is not statement)


def _has(statement: ast.stmt, line: int) -> bool:
    return first_line(statement) <= line <= (statement.end_lineno or 0)


def first_line(statement: ast.stmt) -> int:
    """Return the number of a statement's first line, its decorators included."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(each.lineno for each in decorators)])


def needed(
    body: Sequence[ast.stmt], wanted: set[str], but: ast.stmt | None = None
) -> list[ast.stmt]:
    """Return the statements that bind wanted names, and those that these need, in their order.

    Args:
        body: a module's statements.
        wanted: names that are looked up in the module.
        but: a statement that is left out.

    """
    taken = {index for index, statement in enumerate(body) if _always(statement)}
    wanted, looked_at = set(wanted), False
    while not looked_at:
        looked_at = True
        for index, statement in enumerate(body):
            if index in taken or statement is but or not wanted & set(bound(statement)):
                continue
            taken.add(index)
            wanted |= names_read([statement])
            looked_at = False
    return [body[index] for index in sorted(taken)]


def _always(statement: ast.stmt) -> bool:
    """Whether a statement binds names that cannot be seen, or changes how the file is read."""
    if not isinstance(statement, ast.ImportFrom):
        return False
    return statement.module == "__future__" or any(each.name == "*" for each in statement.names)


def bound(statement: ast.stmt) -> Iterator[str]:
    """Return the module's names that a statement binds."""
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


def names_read(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that are looked up in the module: a function's own ones are left out."""
    names: set[str] = set()
    for node in nodes:
        inner = names_read(list(ast.iter_child_nodes(node)))
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
