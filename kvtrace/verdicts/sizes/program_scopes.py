"""Scopes of a program's text at the stack of a launch: what binds each name, and who called.

A name that is assigned once stands for its expression, a parameter for what the call of its
function gives.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

Frame: TypeAlias = tuple[ast.Module, int]
"""The text of a file that is on the stack of a launch, and the line (from 1) that runs."""
_MOST_FRAMES: Final = 6
SAME_SHAPE: Final = frozenset({
    "cuda", "cpu", "to", "contiguous", "float", "half", "bfloat16", "int", "long", "double",
    "clone", "detach", "requires_grad_", "fill_", "zero_", "normal_", "uniform_", "abs", "bool",
})  # fmt: skip
"""Methods whose result has the shape of the tensor."""


_EMPTY: Final = frozenset({"empty", "empty_like", "new_empty"})
_FACTS: Final = frozenset({
    "shape", "stride", "size", "numel", "dim", "ndim", "dtype", "device", "element_size",
})  # fmt: skip
"""Attributes of a tensor that write nothing to it."""


class Scope(Struct):
    """A function, or a file's top level: its bindings by name, and how it was called.

    `bindings` has None for a name that is bound in another way than by one assignment, `given` the
    expressions of parameters in the scope `caller`.
    """

    name: str
    bindings: Mapping[str, ast.expr | None]
    outer: Scope | None = None
    caller: Scope | None = None
    given: Mapping[str, ast.expr] = {}


def launch_at(frames: Sequence[Frame]) -> ast.Call | None:
    """Return the only call of the form `kernel[grid](…)` in the innermost line of a stack."""
    if not frames:
        return None
    return call_at(frames[0], lambda call: isinstance(call.func, ast.Subscript))


def sole_outputs(frames: Sequence[Frame], parameters: Sequence[str]) -> frozenset[str]:
    """Return the parameters whose tensors the launching function makes empty for this launch alone.

    Nothing else in the function can write them, so that what the launch leaves unwritten stays so:
    they are passed to nothing else, stored to nowhere, and only returned.
    """
    launch = launch_at(frames)
    if launch is None:
        return frozenset()
    function = ([frames[0][0], *_functions_at(*frames[0])])[-1]
    made = {
        name
        for name, value in _bindings(function).items()
        if isinstance(value, ast.Call) and last_name(value.func) in _EMPTY
    }
    harmless: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in _FACTS:
            harmless.add(node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            harmless |= {node.value, *getattr(node.value, "elts", ())}
    uses = Counter(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in harmless
    )
    return frozenset(
        parameter
        for parameter, node in arguments_of(launch, parameters).items()
        if isinstance(node, ast.Name) and node.id in made and uses[node.id] == 1
    )


def call_at(frame: Frame, is_wanted: Callable[[ast.Call], bool]) -> ast.Call | None:
    """Return the only wanted call of a line, None if there is none or more than one."""
    tree, line = frame
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)
        and is_wanted(node)
    ]  # fmt: skip
    first = [call for call in calls if call.lineno == line] or calls
    return first[0] if len(first) == 1 else None


def arguments_of(call: ast.Call, parameters: Sequence[str]) -> dict[str, ast.expr]:
    """Return a call's expressions by parameter; those after a `*` are left out."""
    arguments: dict[str, ast.expr] = {}
    for name, node in zip(parameters, call.args, strict=False):
        if isinstance(node, ast.Starred):
            break
        arguments[name] = node
    return arguments | {word.arg: word.value for word in call.keywords if word.arg}


def scopes_of(frames: Sequence[Frame]) -> list[Scope]:
    """Return the scopes of the frames, each with the expressions that its caller gives it."""
    scopes: list[Scope] = []
    callee: ast.AST | None = None
    for index, frame in enumerate(frames[:_MOST_FRAMES]):
        functions = _functions_at(*frame)
        scope: Scope | None = None
        for function in (frame[0], *functions):
            name = f"{index}.{getattr(function, 'name', '')}"
            scope = Scope(name, _bindings(function), outer=scope)
        assert scope is not None
        if scopes:
            if not isinstance(callee, ast.FunctionDef):
                break
            call = call_at(frame, partial(_is_call_of, callee.name))
            if call is None or _is_spread(call):
                break
            names = [argument.arg for argument in (*callee.args.posonlyargs, *callee.args.args)]
            if names[:1] == ["self"]:
                names = names[1:]
            scopes[-1].given = _defaults(callee) | arguments_of(call, names)
            scopes[-1].caller = scope
        scopes.append(scope)
        callee = functions[-1] if functions else None
    return scopes


def _is_call_of(name: str, call: ast.Call) -> bool:
    return last_name(call.func) == name


def _is_spread(call: ast.Call) -> bool:
    """Return whether a call has arguments that its text does not list."""
    is_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return is_starred or any(word.arg is None for word in call.keywords)


def _defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    last = names[len(names) - len(function.args.defaults) :]
    return dict(zip(last, function.args.defaults, strict=True))


def _functions_at(tree: ast.Module, line: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions around a line, the outermost first."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return sorted(around, key=lambda node: node.lineno)


def _bindings(scope: ast.AST) -> dict[str, ast.expr | None]:
    """Return the expression of each name that a scope binds once; None for others."""
    bound: dict[str, list[ast.expr | None]] = {}
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = scope.args
        names = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        bound = {argument.arg: [None] for argument in names}
    for node in _own_nodes(scope):
        for name, value in _bound_by(node):
            if not (value is not None and _is_same_tensor(name, value)):
                bound.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else _UNKNOWN for name, values in bound.items()}


_UNKNOWN: Final = ast.Constant(None)
"""The expression of a name that has several values."""


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without those of its functions and classes."""
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending = [*ast.iter_child_nodes(node), *pending]


def _bound_by(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a node binds, with their expressions."""
    if isinstance(node, ast.FunctionDef) and len(node.body) == 1:
        returned = node.body[0]
        if isinstance(returned, ast.Return) and returned.value is not None:
            yield node.name, ast.Lambda(node.args, returned.value)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _parts(target, node.value)
    elif isinstance(node, ast.NamedExpr):
        yield node.target.id, node.value
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, _UNKNOWN
    elif isinstance(node, ast.For | ast.withitem):
        bound = node.target if isinstance(node, ast.For) else node.optional_vars
        names = ast.walk(bound) if bound is not None else ()
        yield from ((name.id, None) for name in names if isinstance(name, ast.Name))


def _parts(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                yield from _parts(part, value.elts[index])
            else:
                yield from _parts(part, ast.Subscript(value, ast.Constant(index)))


def _is_same_tensor(name: str, value: ast.expr) -> bool:
    """Return whether an expression is a name's tensor with the same shape."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in SAME_SHAPE:
            return False
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name


def literal(node: ast.expr) -> object:
    """Return the number or text that an expression is, None for another."""
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return None


def last_name(node: ast.expr) -> str | None:
    """Return the name of a function, without those of its module or object."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
