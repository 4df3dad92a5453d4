"""Positions of statements in a program: those that a launch surely follows.

Equal digests of launches show that what a change computes is the same only where it goes into
launches: not what runs after the last one, nor what is read there. Names are followed from
statement to statement, without their functions.

A value from outside, as of an environment variable, is in equal programs most often the same, and
another one shows in the launches that it goes into: it is not followed into what is handed to
launches, nor through a call that launches. What is read elsewhere is.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.schema.cached_property import cached_property

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SHOWING: Final = frozenset((
    "critical", "debug", "error", "exception", "info", "log", "print", "warning",
))  # fmt: skip
"""Functions and methods that change none of their arguments."""


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
        return self._are_used_after(self._reached(changed, self.launches, frozenset()))

    def value_may_follow(self, line: int) -> bool:
        """Return whether a value from outside that a line reads may be used after the last launch.

        An import is such a line for what the module reads.
        """
        reading = self._statements_of_line.get(line)
        return reading is None or any(
            id(one) not in self._before
            or self._are_used_after(self._reached(one, self.calls, self._handed))
            for one in reading
        )

    def acts_on(self, line: int) -> bool:
        """Return whether a value that a line reads may be given to a call whose result is not used.

        Such a call may change what other texts use.
        """
        reading = self._statements_of_line.get(line, ())
        names = set().union(*(self._reached(one, (), frozenset()) for one in reading))
        return not reading or any(
            isinstance(one, ast.Expr) and (one in reading or not names.isdisjoint(reads))
            for one, reads, _ in self._uses
        )

    def _reached(
        self, changed: ast.stmt, stops: Collection[int], handed: Collection[str]
    ) -> set[str]:
        """Return names of what a statement's effect may reach but by lines that are `stops`.

        Names in `handed` are not followed.
        """
        names, size = self._own_changes(changed).difference(handed), -1
        while size < len(names):
            size = len(names)
            for statement, reads, changes in self._uses:
                is_reached = statement is changed or not names.isdisjoint(reads)
                if is_reached and not _has_line(statement, stops):
                    names |= changes.difference(handed)
        return names

    def _are_used_after(self, names: Collection[str]) -> bool:
        """Return whether a statement that no launch surely follows reads one of the names."""
        uses = (reads for one, reads, _ in self._uses if id(one) not in self._before)
        return any(not reads.isdisjoint(names) for reads in uses)

    @cached_property
    def _statements_of_line(self) -> dict[int, list[ast.stmt]]:
        """The statements of which a part, but its body, is on a line."""
        statements: dict[int, list[ast.stmt]] = {}
        for statement, _, _ in self._uses:
            for line in _lines(statement):
                statements.setdefault(line, []).append(statement)
        return statements

    @cached_property
    def _handed(self) -> set[str]:
        """Names in the arguments of the lines that lead to launches."""
        made = (one for one, _, _ in self._uses if _has_line(one, self.calls))
        nodes = (node for one in made if not [*_bodies(one)] for node in ast.walk(one))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        given = [v for call in calls for v in (*call.args, *(k.value for k in call.keywords))]
        return {n.id for value in given for n in ast.walk(value) if isinstance(n, ast.Name)}

    @cached_property
    def _uses(self) -> list[tuple[ast.stmt, set[str], set[str]]]:
        """Statements, with the names that each reads, and those that it decides on."""
        uses = []
        for one in (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)):
            nodes = [node for part in own_parts(one) for node in ast.walk(part)]
            names = [node for node in nodes if isinstance(node, ast.Name)]
            inner = [one] if isinstance(one, _DEFINING) else ast.walk(one)
            statements = (node for node in inner if isinstance(node, ast.stmt))
            changes = {name for node in statements for name in self._own_changes(node)}
            reads = {name.id for name in names if isinstance(name.ctx, ast.Load)}
            reads |= {*_changed_names(one)} if isinstance(one, ast.AugAssign) else set()
            uses.append((one, reads, changes.difference(dir(builtins))))
        return uses

    def _own_changes(self, statement: ast.stmt) -> set[str]:
        """Return the names that a statement changes, with classes around it and by its calls."""
        names = {*_changed_names(statement), *self._classes.get(id(statement), ())}
        names |= self._with_bases(statement) if isinstance(statement, ast.ClassDef) else set()
        calls = (node for part in own_parts(statement) for node in ast.walk(part))
        called = {getattr(node.func, "id", "") for node in calls if isinstance(node, ast.Call)}
        for decorator in getattr(statement, "decorator_list", ()):
            called |= {*_objects(decorator)}
        return names.union(*(self._effects.get(name, ()) for name in called))

    @cached_property
    def _classes(self) -> dict[int, set[str]]:
        """The classes in whose bodies a statement is, and their bases; not of one in a function."""
        classes: dict[int, set[str]] = {}
        for node in ast.walk(self.tree):  # from outside to inside
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            around = {*classes.get(id(node), ())}
            around |= self._with_bases(node) if isinstance(node, ast.ClassDef) else set()
            for body in _bodies(node) if around else ():
                classes |= {id(statement): around for statement in body}
        return classes

    def _with_bases(self, made: ast.ClassDef) -> set[str]:
        """Return a class with its bases of this text, which may list it."""
        return {made.name, *({n for base in made.bases for n in _objects(base)} & self._defined)}

    @cached_property
    def _defined(self) -> set[str]:
        """The names of the text's classes."""
        return {node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)}

    @cached_property
    def _effects(self) -> dict[str, set[str]]:
        """Names that each function of the text changes, but its own and those of libraries."""
        nodes = [*ast.walk(self.tree)]
        imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        imported = {name for node in imports for name in _changed_names(node)}
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        effects: dict[str, set[str]] = {function.name: set() for function in functions}
        called: dict[str, set[str]] = {function.name: set() for function in functions}
        for function in functions:
            inner = [node for one in function.body for node in ast.walk(one)]
            kept = (node for node in inner if isinstance(node, ast.Global | ast.Nonlocal))
            own = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            own -= {name for node in kept for name in node.names}
            own |= {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            changed = {n for one in inner if isinstance(one, ast.stmt) for n in _changed_names(one)}
            effects[function.name] |= changed - own - imported
            names = {getattr(n.func, "id", "") for n in inner if isinstance(n, ast.Call)}
            called[function.name] |= names & effects.keys()
        size = -1
        while size < (size := sum(map(len, effects.values()))):
            for name, others in called.items():
                effects[name] = effects[name].union(*(effects[other] for other in others))
        return effects

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


def _lines(statement: ast.stmt) -> set[int]:
    """Return the lines of a statement's own parts."""
    nodes = (node for part in own_parts(statement) for node in ast.walk(part))
    return {getattr(node, "lineno", 0) for node in nodes}


def _bodies(statement: ast.AST) -> Iterator[Sequence[ast.stmt]]:
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
        is_call = isinstance(statement, ast.Expr) and isinstance(node, ast.Call)
        if is_call or isinstance(getattr(node, "ctx", None), ast.Store):
            yield from _objects(node)


def _objects(node: ast.AST) -> Iterator[str]:
    """Yield the names that an expression begins with; of a call, also those that it is given.

    Other parts of its arguments make new objects, as operators do.
    """
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = (*node.args, *(word.value for word in node.keywords))
            for value in given if name not in SHOWING else ():
                yield from _objects(value)
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id
