"""Small changes to a Python file, each of which some test should notice.

A mutant is one operator, constant or condition put in another's place, at its bytes in the file, so
that all other lines stay where they are. What only types or messages hold is left alone:
annotations, decorators, `raise` and `assert`, and strings.
"""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.tree import PACKAGE

#: What takes the place of an operator.
SWAPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "+": "-", "-": "+", "*": "+", "//": "*", "/": "*", "%": "//", "<<": ">>", ">>": "<<",
    "&": "|", "|": "&", "and": "or", "or": "and",
}  # fmt: skip
_OPERATOR = re.compile(
    rb"[\s()]*(is\s+not|not\s+in|is|in|and|or|<<|>>|<=|>=|==|!=|//|[-<>+*/%&|])[\s()]*"
)
#: Conditions whose operator has a mutant.
_CHANGED_ITSELF = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_LEFT_ALONE = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)


@dataclass(frozen=True, slots=True)
class Mutant:
    """Other bytes in the place of some of a file's."""

    line: int
    begin: int
    old: bytes
    new: bytes

    def of(self, source: bytes) -> bytes:
        """Return the file with this change."""
        return source[: self.begin] + self.new + source[self.begin + len(self.old) :]

    def __str__(self) -> str:
        return f"{self.old.decode()} → {self.new.decode()}"


def listed_mutants(table: Path) -> list[tuple[str, Mutant]]:
    """Return the mutants of a table of paths below kvtrace/, texts, and others in their place.

    Raises:
        ValueError: A text is not in its file exactly once.
    """
    mutants = []
    for row in table.read_text(encoding="utf-8").splitlines():
        path, old, new = (part.encode().decode("unicode_escape") for part in row.split("\t"))
        source = (PACKAGE / path).read_bytes()
        if source.count(old.encode()) != 1:
            raise ValueError(f"{path} has {old!r} {source.count(old.encode())} times, not once")
        begin = source.index(old.encode())
        line = source.count(b"\n", 0, begin) + 1
        mutants.append((f"kvtrace/{path}", Mutant(line, begin, old.encode(), new.encode())))
    return mutants


def mutants_of(source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        return begin, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.expr, right: ast.expr) -> Iterator[Mutant]:
        begin, end = span(left)[1], span(right)[0]
        found = _OPERATOR.fullmatch(source[begin:end])
        if found is not None:
            new = SWAPPED[" ".join(found[1].decode().split())].encode()
            yield Mutant(left.end_lineno or 0, begin + found.start(1), found[1], new)

    def instead(node: ast.expr, new: str) -> Mutant:
        begin, end = span(node)
        return Mutant(node.lineno, begin, source[begin:end], new.encode())

    found: list[Mutant] = []
    for node in _computing(ast.parse(source)):
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, right in itertools.pairwise(operands):
                    found += between(left, right)
            case ast.BinOp() if not _is_text(node.left) and not _is_text(node.right):
                found += between(node.left, node.right)
            case ast.BoolOp():
                for left, right in itertools.pairwise(node.values):
                    found += between(left, right)
            case ast.UnaryOp(op=ast.Not()):
                found.append(instead(node, f"bool({ast.unparse(node.operand)})"))
            case ast.Constant(value=bool()):
                found.append(instead(node, str(not node.value)))
            case ast.Constant(value=int()):
                found.append(instead(node, str(node.value + 1)))
            case ast.If() | ast.IfExp() if not isinstance(node.test, _CHANGED_ITSELF):
                found.append(instead(node.test, f"(not ({ast.unparse(node.test)}))"))
    return sorted(set(found), key=lambda each: (each.begin, each.new))


def _computing(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that are run, without those of types and messages."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            children = value if isinstance(value, list) else [value]
            waiting += [
                child
                for child in children
                if isinstance(child, ast.AST) and not isinstance(child, _LEFT_ALONE)
            ]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
