"""Forms of a program's texts, which edits that keep all of its values leave equal.

Each step keeps what the text computes. Modules are numbered in the order in which texts import
them: a renamed file stays the same module, and two files that exchange their contents do not. Local
variables are numbered. Imports of libraries and plain functions, which only bind names, are sorted,
imports without use left out. Annotations are left out where nothing reads them. Operations on
constants are computed, and arguments of the text's own functions passed by position.
"""

import ast
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from kvtrace.converters.diff.launch_positions import LaunchPositions
from kvtrace.converters.diff.outside_values import LIBRARIES
from kvtrace.schema.cached_property import cached_property

#: An import of one name: line and column of its statement, and the name.
ImportKey = tuple[int, int, str]


@dataclass(frozen=True)
class ProgramText:
    """The recorded text of a function that launches, or of a module, without kernels.

    `calls` are the lines that lead to launches, `launches` those of them that launch. `imported`
    has the paths of the recorded modules that an import runs.
    """

    path: str
    tree: ast.Module
    calls: set[int] = field(default_factory=set)
    launches: set[int] = field(default_factory=set)
    is_module: bool = False
    imported: dict[ImportKey, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def positions(self) -> LaunchPositions:
        """Positions of statements before and after launches."""
        return LaunchPositions(self.tree, self.calls, self.launches)

    @property
    def names(self) -> set[str]:
        """Names that statements of the text bind anywhere."""
        nodes = [*ast.walk(self.tree)]
        imported = (one.asname or one.name for one in nodes if isinstance(one, ast.alias))
        stored = (
            one.id for one in nodes if isinstance(one, ast.Name) and one.ctx.__class__ is ast.Store
        )
        defined = (one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.ClassDef))
        return {*imported, *stored, *defined}

    def line(self, number: int) -> str:
        """Return the name of a line, as `model.py:12`."""
        return f"{PurePath(self.path).name}:{number}"


#: Names by which a program may read annotations.
_READING_ANNOTATIONS: Final = frozenset((
    "__annotations__", "custom_op", "get_annotations", "get_type_hints", "infer_schema", "inspect",
    "library", "register", "script", "signature", "singledispatch", "singledispatchmethod",
    "triton_op",
))  # fmt: skip
#: Names by which a program may bind names that its text does not show.
_BINDING: Final = frozenset(("__dict__", "__setattr__", "delattr", "patch", "setattr", "vars"))
#: Names by which a program may read the names of its files.
_NAMING: Final = frozenset(("__file__", "__module__", "__name__", "__package__", "__spec__"))
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv
}  # fmt: skip
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES: Final = (*_FUNCTIONS, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)
_ANNOTATING: Final = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.BinOp, ast.BitOr, ast.Load
)  # fmt: skip


def exact_forms(texts: Sequence[ProgramText]) -> list[str]:
    """Return the form of each text of a program, which every edit but of names of files changes."""
    dumps = {id(text): ast.dump(text.tree) for text in texts}
    numbers = _module_numbers(texts, lambda text: dumps[id(text)])
    imported = ([[numbers[p] for p in paths] for paths in text.imported.values()] for text in texts)
    forms = zip(texts, imported, strict=True)
    return [f"{_place(text, numbers)} {own} {dumps[id(text)]}" for text, own in forms]


def program_forms(texts: Sequence[ProgramText]) -> list[str]:
    """Return the form of each text of a program, which edits that keep all values do not change."""
    numbers = _module_numbers(texts, lambda text: ast.dump(_with_numbers(text, {})))
    trees = [_with_numbers(text, numbers) for text in texts]
    if _READING_ANNOTATIONS.isdisjoint(word for tree in trees for word in _words(tree)):
        for tree in trees:
            _WithoutAnnotations().visit(tree)
    words = Counter(word for tree in trees for word in _words(tree))
    attributes = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }
    for tree in trees:
        _Constants().visit(tree)
        _number_locals(tree, 0)
        if not _BINDING & words.keys():
            _pass_by_position(tree, attributes)
            tree.body = [*_sorted_bindings(tree.body, words)]
    is_named = any(_reads_module_names(text.tree) for text in texts)
    names = [_imported_names(text) if is_named else () for text in texts]
    forms = zip(texts, names, trees, strict=True)
    return [f"{_place(text, numbers)} {own} {ast.dump(tree)}" for text, own, tree in forms]


def _reads_module_names(tree: ast.AST) -> bool:
    """Return whether a text reads names of modules, but to ask whether it is the program."""
    asked = {
        id(node.left)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and "'__main__'" in map(ast.unparse, node.comparators)
    }
    nodes = (node for node in ast.walk(tree) if id(node) not in asked)
    return any(_NAMING & {getattr(n, "id", ""), getattr(n, "attr", "")} for n in nodes)


def _imported_names(text: ProgramText) -> tuple[str, ...]:
    """Return the names by which a text imports modules of the program."""
    return tuple(
        f"{node.level} {node.module}"
        for node in ast.walk(text.tree)
        if isinstance(node, ast.ImportFrom)
        if any(text.imported.get((node.lineno, node.col_offset, one.name)) for one in node.names)
    )


def _place(text: ProgramText, numbers: Mapping[str, int]) -> str:
    return f"{text.is_module} {numbers.get(text.path)}"


def _with_numbers(text: ProgramText, numbers: Mapping[str, int]) -> ast.Module:
    """Return a copy of a text's tree in which imported modules of the program have numbers."""
    copy: ast.Module = _Imports(text, numbers).visit(deepcopy(text.tree))
    return copy


def _module_numbers(
    texts: Sequence[ProgramText], order: Callable[[ProgramText], str]
) -> dict[str, int]:
    """Number modules in the order of imports, from the texts that lead to launches, in `order`."""
    waiting = [text for text in texts if not text.is_module]
    waiting.sort(key=order)
    modules = {text.path: text for text in texts if text.is_module}
    numbers: dict[str, int] = {}
    for text in waiting:  # which grows
        for path in (path for paths in text.imported.values() for path in paths):
            if path not in numbers:
                numbers[path] = len(numbers)
                waiting += [modules[path]] if path in modules else []
    return numbers


def _words(tree: ast.AST) -> Iterator[str]:
    """Yield names and texts, each as often as it occurs, but for imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
        for word in (getattr(node, name, None) for name in ("id", "attr", "value")):
            if isinstance(word, str):
                yield word


class _Imports(ast.NodeTransformer):
    """Gives each imported name a statement, and the program's modules their numbers."""

    def __init__(self, text: ProgramText, numbers: Mapping[str, int]) -> None:
        self._text = text
        self._numbers = numbers

    def visit_Import(self, node: ast.Import) -> Any:
        return [self._import(node, alias) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return [self._import(node, alias) for alias in node.names]

    def _import(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
        paths = self._text.imported.get((node.lineno, node.col_offset, alias.name))
        if not paths:
            parts = (node.module, [alias], node.level) if isinstance(node, ast.ImportFrom) else ()
            return ast.ImportFrom(*parts) if parts else ast.Import([alias])
        numbers = " ".join(str(self._numbers.get(path)) for path in paths)
        kind = "from" if isinstance(node, ast.ImportFrom) else "import"
        return ast.ImportFrom(f"{kind} {numbers}", [alias], 1)


class _WithoutAnnotations(ast.NodeTransformer):
    """Leaves out annotations of functions without decorators, if they do nothing but read names."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        listed = [one for one in ast.walk(node.args) if isinstance(one, ast.arg)]
        annotations = [node.returns, *(one.annotation for one in listed)]
        parts = [part for one in annotations if one is not None for part in ast.walk(one)]
        if not node.decorator_list and all(isinstance(part, _ANNOTATING) for part in parts):
            node.returns = None
            for one in listed:
                one.annotation = None
        return node


class _Constants(ast.NodeTransformer):
    """Computes operations on numbers."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        values = [getattr(side, "value", None) for side in (node.left, node.right)]
        operation = _OPERATIONS.get(type(node.op))
        if operation is None or not all(type(value) in (int, float) for value in values):
            return node
        try:
            return ast.copy_location(ast.Constant(operation(*values)), node)
        except (ArithmeticError, ValueError):
            return node


def _pass_by_position(tree: ast.Module, attributes: Collection[str]) -> None:
    """Pass arguments by position to functions of the text, whose names nothing else binds.

    `attributes` are those that the program sets.
    """
    bound = Counter(_bound_names(tree))
    functions = {
        node.name: [arg.arg for arg in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list
        if bound[node.name] == 1 and node.name not in attributes and not node.args.posonlyargs
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given: dict[str | None, ast.expr] = {word.arg: word.value for word in call.keywords}
        values = (*call.args, *given.values())
        parameters = functions.get(getattr(call.func, "id", ""), [])[len(call.args) :]
        words = [word.arg for word in call.keywords]
        is_in_order = words == parameters[: len(words)] and not any(
            isinstance(value, ast.Starred) for value in call.args
        )
        if not is_in_order and not all(map(_is_plain, values)):
            continue  # the order in which values are computed stays
        for name in parameters:
            if name not in given:
                break
            call.args.append(given.pop(name))
        call.keywords = [word for word in call.keywords if word.arg in given]


def _is_plain(value: ast.expr) -> bool:
    """Return whether a value is a name or a number, which nothing computes."""
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    return isinstance(value, ast.Name) or isinstance(number, ast.Constant)


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a text binds, in any scope and as attributes, each time anew."""
    for node in ast.walk(tree):
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            yield from (getattr(node, name) for name in ("id", "attr") if hasattr(node, name))
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif not isinstance(node, ast.keyword):
            names = (getattr(node, name, None) for name in ("name", "arg", "rest"))
            yield from (name for name in names if isinstance(name, str))


def _number_locals(tree: ast.AST, depth: int) -> None:
    """Number the variables of functions that only assignments bind; `depth` is of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _number_own_locals(node, depth)
        _number_locals(node, depth + isinstance(node, _FUNCTIONS))


def _number_own_locals(function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> None:
    body = ast.Module(function.body, [])  # defaults and decorators are of the scope around
    inner = {name for scope in _inner_scopes(body) for name in _bound_names(scope)}
    own = [node for node in ast.walk(body) if isinstance(node, ast.Name)]
    assigned = Counter(node.id for node in own if not isinstance(node.ctx, ast.Load))
    others = {*(Counter(_bound_names(body)) - assigned), *_bound_names(function.args), *inner}
    stored = dict.fromkeys(node.id for node in own if isinstance(node.ctx, ast.Store))
    local = [name for name in stored if name not in others]
    names = {name: f"local {depth} {number}" for number, name in enumerate(local)}
    for node in own:
        node.id = names.get(node.id, node.id)


def _inner_scopes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the outermost scopes inside of a function."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, _SCOPES):
            yield child
        else:
            yield from _inner_scopes(child)


def _sorted_bindings(body: Sequence[ast.stmt], words: Mapping[str, int]) -> Iterator[ast.stmt]:
    """Yield statements with neighbors sorted that only bind names, each another one."""
    run: list[tuple[str, ast.stmt]] = []
    for statement in body:
        if name := _only_bound(statement):
            run += [(name, statement)] if _is_used(statement, name, words) else []
            continue
        yield from _sorted(run)
        yield statement
        run = []
    yield from _sorted(run)


def _sorted(run: Sequence[tuple[str, ast.stmt]]) -> Iterator[ast.stmt]:
    is_distinct = len({name for name, _ in run}) == len(run)
    yield from (one for _, one in (sorted(run, key=lambda one: one[0]) if is_distinct else run))


def _only_bound(statement: ast.stmt) -> str:
    """Return the name that an import of a library or a plain function binds; "" for others."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        (alias,) = statement.names
        full = alias.name
        if isinstance(statement, ast.ImportFrom):
            full = "" if statement.level or alias.name == "*" else statement.module or ""
        top = full.partition(".")[0]
        is_library = top in LIBRARIES and top != "__future__"
        return (alias.asname or alias.name).partition(".")[0] if is_library else ""
    if not isinstance(statement, ast.FunctionDef) or statement.decorator_list:
        return ""
    defaults = (*statement.args.defaults, *statement.args.kw_defaults)
    annotations = [one.annotation for one in ast.walk(statement.args) if isinstance(one, ast.arg)]
    is_plain = all(one is None or isinstance(one, ast.Constant) for one in defaults)
    return statement.name if is_plain and not any((statement.returns, *annotations)) else ""


def _is_used(statement: ast.stmt, name: str, words: Mapping[str, int]) -> bool:
    """Return whether a text may use what an import binds."""
    own = isinstance(statement, ast.ImportFrom) and statement.names[0].name == name
    return isinstance(statement, ast.FunctionDef) or words.get(name, 0) > own
