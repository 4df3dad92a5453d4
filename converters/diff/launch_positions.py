"""Positions of statements in a program: those that a launch surely follows.

Equal digests of launches show that what a change computes is the same only where it goes into
launches: not what runs after the last one, nor what is read there.
"""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kvtrace.schema.cached_property import cached_property

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class LaunchPositions:
    """Positions in one text; `calls` are lines that lead to launches, `launches` those of these."""

    tree: ast.Module
    calls: Collection[int]
    launches: Collection[int]

    def may_follow(self, changed: ast.stmt) -> bool:
        """Return whether the effect of a statement may be used after the last launch."""
        if id(changed) not in self._before:
            return True
        names = {*_changed_names(changed)}
        return any(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
            for statement in ast.walk(self.tree)
            if isinstance(statement, ast.stmt) and id(statement) not in self._before
            for part in own_parts(statement)
            for node in ast.walk(part)
        )

    @cached_property
    def _before(self) -> set[int]:
        before: set[int] = set()
        self._scan(self.tree.body, is_followed=False, before=before)
        return before

    def _scan(self, body: Sequence[ast.stmt], *, is_followed: bool, before: set[int]) -> bool:
        """Add statements that a launch surely follows; return whether one follows the begin.

        A loop that was seen to launch counts as if it always did.
        """
        for statement in reversed(body):
            is_launch = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if is_followed or (is_launch and _has_line(statement, self.launches)):
                before.add(id(statement))
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._scan(statement.body, is_followed=False, before=before)
                continue
            begins = [
                self._scan(part, is_followed=is_followed, before=before)
                for part in _bodies(statement)
            ]
            if begins and not isinstance(statement, ast.If | ast.Match):
                is_followed = begins[0]
                continue
            is_followed &= not any(isinstance(node, _LEAVING) for node in ast.walk(statement))
            is_followed |= not begins and _has_line(statement, self.calls)
        return is_followed


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are no statements: of one with a body, its first line."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child


def _bodies(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if part := getattr(statement, name, ()):
            yield part
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body


def _has_line(statement: ast.stmt, lines: Collection[int]) -> bool:
    return any(statement.lineno <= line <= (statement.end_lineno or 0) for line in lines)


def _changed_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or whose objects it may change."""
    if isinstance(statement, _DEFINING):
        yield statement.name
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
    for node in (node for part in own_parts(statement) for node in ast.walk(part)):
        changed: ast.AST = node
        if isinstance(statement, ast.Expr) and isinstance(node, ast.Call):
            changed = node.func
        elif not isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        while isinstance(changed, ast.Attribute | ast.Subscript | ast.Call):
            changed = changed.func if isinstance(changed, ast.Call) else changed.value
        if isinstance(changed, ast.Name):
            yield changed.id
