"""Names and folders of a program that it reads: `__file__`, `sys.argv[0]`, the working directory.

Two recordings often differ in these. Where files are written and modules are found, what a message
says and how a parser is called changes no result. Values are followed by names, through the
program's functions and attributes; any other use counts.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from kvtrace.converters.diff.launch_positions import SHOWING
from kvtrace.converters.diff.program_forms import ProgramText
from kvtrace.schema.content import TORCH_FILES

if TYPE_CHECKING:
    from kvtrace.schema.runs import Run

Kind = Literal["file", "command", "directory"]
Places = dict[Kind, set[str]]
"""Paths of a side's files, programs in its commands, and working directories."""
_FILES: Final = ("__file__", "__path__")
_DIRECTORIES: Final = ("getcwd", "getcwdb", "cwd", "abspath", "realpath")
_DIRECTORY_METHODS: Final = ("absolute", "resolve")
#: Functions that make a path or text of a path.
_MAKING: Final = frozenset((
    "Path", "PurePath", "abspath", "basename", "dirname", "format", "fspath", "join", "joinpath",
    "normpath", "realpath", "relpath", "relative_to", "split", "splitext", "str",
))  # fmt: skip
#: Functions whose path or name changes no value, or that are a value from outside themselves.
_PLACING: Final = SHOWING | frozenset((
    "ArgumentParser", "FileHandler", "addsitedir", "basicConfig", "chdir", "fromfile", "genfromtxt",
    "getLogger", "load", "loadtxt", "makedirs", "memmap", "mkdir", "open", "remove", "rmtree",
    "save", "savefig", "savetxt", "savez", "unlink",
))  # fmt: skip
#: Functions that get what they write before the place.
_WRITING: Final = ("dump", "torch.save")
_NAMES: Final = ("basename", "name", "stem")
_FOLDERS: Final = ("dirname", "parent", "parents")


class PlaceUse(NamedTuple):
    """A read of a place whose value may matter; `is_name` if of its last part alone."""

    text: ProgramText
    line: int
    name: str
    kind: Kind
    is_name: bool


def differing_places(uses: Iterable[PlaceUse], own: Places, other: Places) -> Iterator[PlaceUse]:
    """Yield the uses of places that are not the same in another recording."""
    for use in uses:
        values, others = {*own[use.kind]}, {*other[use.kind]}
        if use.kind == "file" and use.name == "__file__":
            values = {use.text.path}
        if use.is_name:
            values, others = ({PurePath(one).name for one in side} for side in (values, others))
        if not values <= others:
            yield use


def places(runs: Sequence["Run"], texts: Sequence[ProgramText]) -> Places:
    """Return the places of a side."""
    files = {text.path for text in texts if TORCH_FILES not in text.path}
    words = [(run.command or "").split()[1:2] for run in runs]
    named = {word for one in words for word in one if not word.startswith("-")}
    directories = {run.directory for run in runs if run.directory}
    return {"file": files, "command": named or files, "directory": directories}


def place_uses(texts: Sequence[ProgramText]) -> Iterator[PlaceUse]:
    """Yield where texts read their names or folders, but for uses that change no value."""
    own = [text for text in texts if TORCH_FILES not in text.path]
    nodes = [(text, node) for text in own for node in ast.walk(text.tree)]
    parents = {id(child): node for _, node in nodes for child in ast.iter_child_nodes(node)}
    flow = _Flow([node for _, node in nodes], parents)
    for text, node in nodes:
        kind = _kind(node, parents)
        if kind is not None and flow.may_matter(node):
            name = ast.unparse(node).partition("(")[0]
            yield PlaceUse(text, getattr(node, "lineno", 0), name, kind, flow.is_name(node))


def _kind(node: ast.AST, parents: Mapping[int, ast.AST]) -> Kind | None:
    """Return what an expression reads: a file's name, the program in the command, a folder."""
    parent = parents.get(id(node))
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_read = name in _DIRECTORIES or (name in _DIRECTORY_METHODS and not node.args)
        return "directory" if is_read and "__file__" not in ast.unparse(node) else None
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return None
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    if name in _FILES or (name == "path" and ast.unparse(node) == "sys.path"):
        return "file"
    if name not in ("argv", "orig_argv") or (
        isinstance(parent, ast.Call)
        and node in parent.args
        and getattr(parent.func, "id", "") == "len"
    ):
        return None
    index = parent.slice if isinstance(parent, ast.Subscript) else None
    first = index.lower if isinstance(index, ast.Slice) else index
    is_option = isinstance(first, ast.Constant) and first.value != 0
    return None if is_option else "command"


class _Flow:
    """The flow of values through the names of all texts of a program."""

    def __init__(self, nodes: Sequence[ast.AST], parents: Mapping[int, ast.AST]) -> None:
        self._parents = parents
        self._uses: dict[str, list[ast.AST]] = {}
        self._parameters: dict[str, list[str]] = {}
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                name = node.attr if isinstance(node, ast.Attribute) else node.id
                self._uses.setdefault(name, []).append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                owner = parents.get(id(node))
                is_method = isinstance(owner, ast.ClassDef)
                name = node.name
                if isinstance(owner, ast.ClassDef) and name == "__init__":
                    name = owner.name
                self._parameters[name] = [arg.arg for arg in listed][is_method:]
            elif isinstance(node, ast.ClassDef):
                self._parameters.setdefault(node.name, [])

    def may_matter(self, read: ast.AST) -> bool:
        """Return whether a value that is read may change another one than a place or message."""
        waiting, seen = [read], {id(read)}
        while waiting:
            reached = self._next(waiting.pop())
            if reached is None:
                return True
            waiting += [node for node in reached if id(node) not in seen]
            seen |= {id(node) for node in reached}
        return False

    def is_name(self, read: ast.AST) -> bool:
        """Return whether the last part of a path alone is taken of it, where it is read."""
        parent = self._parents.get(id(read))
        while isinstance(parent, ast.Attribute | ast.Call | ast.Subscript):
            called = getattr(parent, "func", None)
            name = getattr(called, "attr", getattr(called, "id", getattr(parent, "attr", "")))
            if name in _NAMES or name in _FOLDERS:
                return name in _NAMES
            parent = self._parents.get(id(parent))
        return False

    def _next(self, node: ast.AST) -> Sequence[ast.AST] | None:
        """Return the expressions that get a value; None if it may matter."""
        parent = self._parents.get(id(node))
        if isinstance(parent, ast.keyword):
            call = self._parents.get(id(parent))
            return self._given(call, None, parent.arg) if isinstance(call, ast.Call) else None
        if isinstance(parent, ast.Call) and node is not parent.func:
            return self._given(parent, parent.args.index(node) if node in parent.args else None, "")
        if isinstance(parent, ast.Return):
            while not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                parent = self._parents[id(parent)]
            return self._uses.get(parent.name, [])
        if isinstance(parent, ast.arguments):
            named = (one.arg for one in (*parent.posonlyargs, *parent.args, *parent.kwonlyargs))
            return [use for name in named for use in self._uses.get(name, [])]
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return self._bound(targets)
        if isinstance(parent, ast.Compare):
            return (
                [] if "sys.path" in map(ast.unparse, (parent.left, *parent.comparators)) else None
            )
        if isinstance(parent, ast.Subscript) and node is not parent.value:
            return None
        is_made = isinstance(parent, ast.Attribute | ast.Subscript | ast.Call | ast.JoinedStr)
        is_made |= isinstance(parent, ast.FormattedValue | ast.NamedExpr)
        is_made |= isinstance(parent, ast.BinOp) and isinstance(
            parent.op, ast.Add | ast.Div | ast.Mod
        )
        if is_made and parent is not None:
            bound = self._bound([parent.target]) if isinstance(parent, ast.NamedExpr) else []
            return None if bound is None else [parent, *bound]
        return [] if isinstance(parent, ast.Expr) else None

    def _bound(self, targets: Sequence[ast.expr]) -> Sequence[ast.AST] | None:
        """Return the reads of names and attributes that are set."""
        inner = [part for one in targets for part in getattr(one, "elts", [one])]
        if not all(isinstance(one, ast.Name | ast.Attribute) for one in inner):
            return None
        names = (getattr(one, "attr", getattr(one, "id", "")) for one in inner)
        return [use for name in names for use in self._uses.get(name, [])]

    def _given(
        self, call: ast.Call, position: int | None, keyword: str | None
    ) -> Sequence[ast.AST] | None:
        """Return the expressions that get an argument of a call; None if it may matter."""
        full = ast.unparse(call.func)
        name = full.rpartition(".")[2]
        is_path = full.startswith("sys.path.")
        if full in _WRITING or name in _WRITING:
            return None if position == 0 else []
        if is_path or name in _PLACING:
            return []
        if name == "add_argument":
            options = (getattr(one, "value", "") for one in call.args)
            named = [str(one).lstrip("-").replace("-", "_") for one in options]
            return [use for one in named for use in self._uses.get(one, [])]
        if name in _MAKING:
            return [call]
        if name not in self._parameters:
            return None
        parameters = self._parameters[name]
        if position is not None and position >= len(parameters):
            return None
        parameter = keyword or (None if position is None else parameters[position])
        return None if parameter is None else self._uses.get(parameter, [])
