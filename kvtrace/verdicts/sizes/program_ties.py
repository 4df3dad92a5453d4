"""Ties that the text of a program states: how it computes the numbers of a launch.

`run(n)` with `part = torch.empty(n // 32)` and `kernel[(triton.cdiv(n, 32),)](x, part, n)` states
`part.shape[0] = n // 32` and `grid_x = cdiv(n, 32)`. Names that are assigned once are followed, and
parameters to the calls of the function; all else states nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Frame: TypeAlias = tuple[ast.Module, int]
"""The text of a file that is on the stack of a launch, and the line (from 1) that runs."""
Shape: TypeAlias = "tuple[ast.expr | None, ...] | _Unmade"

_GRID: Final = ("grid_x", "grid_y", "grid_z")
_MOST_FRAMES: Final = 6
_MOST_NODES: Final = 60
_CREATORS: Final = frozenset({"empty", "zeros", "ones", "randn", "rand", "new_empty", "new_zeros"})
_CREATORS_BEFORE_SHAPE: Final = {"full": (0,), "new_full": (0,), "randint": (2, 1)}
"""Functions that are given more than extents, with the places that may have these."""
_SAME_SHAPE: Final = frozenset({
    "cuda", "cpu", "to", "contiguous", "float", "half", "bfloat16", "int", "long", "double",
    "clone", "detach", "requires_grad_", "fill_", "zero_", "normal_", "uniform_", "abs", "bool",
})  # fmt: skip


@dataclass(frozen=True)
class _Unmade:
    """A tensor that a function is given; `key` names it."""

    key: str


@dataclass
class _Scope:
    """A function, or a file's top level: its bindings by name, and how it was called.

    `bindings` has None for a name that is bound in another way than by one assignment, `given` the
    expressions of parameters in the scope `caller`.
    """

    name: str
    bindings: Mapping[str, ast.expr | None]
    outer: _Scope | None = None
    caller: _Scope | None = None
    given: Mapping[str, ast.expr] = field(default_factory=dict)


def ties_of_program(
    frames: Sequence[Frame],
    parameters: Sequence[str],
    constants: Mapping[str, int],
    numbers: Sequence[str],
) -> dict[str, str]:
    """Return the expressions of numbers that the program's text states, by the number's name.

    Args:
        frames: the stack of a launch, the innermost first.
        parameters: names of the kernel's parameters, in order, with those of constants.
        constants: values of the kernel's `tl.constexpr`.
        numbers: names of the launch's numbers, as "n", "x.shape[0]" and "grid_x".

    """
    launch = (
        _call_at(frames[0], lambda call: isinstance(call.func, ast.Subscript)) if frames else None
    )
    if launch is None or not isinstance(launch.func, ast.Subscript):
        return {}
    arguments = _arguments_of(launch, parameters)
    chain = _scopes(frames)
    ties: dict[str, str] = {}
    for depth in range(len(chain)):
        reader = _Reader(chain[: depth + 1], arguments, constants, numbers)
        stated = reader.ties(launch.func.slice, with_constants=depth == 0)
        ties = {**{n: text for n, text in stated.items() if not _is_cyclic(n, text, ties)}, **ties}
    return ties


def _is_cyclic(number: str, text: str, ties: Mapping[str, str]) -> bool:
    """Return whether a number would follow from itself."""
    pending, seen = [text], set[str]()
    while pending:
        names = _names_in(pending.pop())
        if number in names:
            return True
        pending += [ties[name] for name in names - seen if name in ties]
        seen |= names
    return False


def _names_in(text: str) -> set[str]:
    tree = ast.parse(text, mode="eval")
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr)}


# -- scopes ---------------------------------------------------------------------------------------

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _call_at(frame: Frame, is_wanted: Callable[[ast.Call], bool]) -> ast.Call | None:
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


def _arguments_of(call: ast.Call, parameters: Sequence[str]) -> dict[str, ast.expr]:
    """Return a call's expressions by parameter; those after a `*` are left out."""
    arguments: dict[str, ast.expr] = {}
    for name, node in zip(parameters, call.args, strict=False):
        if isinstance(node, ast.Starred):
            break
        arguments[name] = node
    return arguments | {word.arg: word.value for word in call.keywords if word.arg}


def _scopes(frames: Sequence[Frame]) -> list[_Scope]:
    """Return the scopes of the frames, each with the expressions that its caller gives it."""
    scopes: list[_Scope] = []
    for index, frame in enumerate(frames[:_MOST_FRAMES]):
        functions = _functions_at(*frame)
        scope: _Scope | None = None
        for function in (frame[0], *functions):
            name = f"{index}.{getattr(function, 'name', '')}"
            scope = _Scope(name, _bindings(function), outer=scope)
        assert scope is not None
        if scopes:
            inner = _functions_at(*frames[index - 1])
            if not inner or not isinstance(inner[-1], ast.FunctionDef):
                break
            callee = inner[-1]
            call = _call_at(frame, lambda call, n=callee.name: _last_name(call.func) == n)
            if call is None or _is_spread(call):
                break
            names = [argument.arg for argument in (*callee.args.posonlyargs, *callee.args.args)]
            if names[:1] == ["self"]:
                names = names[1:]
            scopes[-1].given = _defaults(callee) | _arguments_of(call, names)
            scopes[-1].caller = scope
        scopes.append(scope)
    return scopes


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
        target = node.target if isinstance(node, ast.For) else node.optional_vars
        names = ast.walk(target) if target is not None else ()
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
        if value.func.attr not in _SAME_SHAPE:
            return False
        value = value.func.value
    return isinstance(value, ast.Name) and value.id == name


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


# -- expressions ----------------------------------------------------------------------------------


class _Reader:
    """Reader of the numbers of one launch, in the innermost scopes of its stack.

    Expressions are of Python, in which names of scopes are replaced by keys such as "0.run:n".
    """

    def __init__(
        self,
        chain: Sequence[_Scope],
        arguments: Mapping[str, ast.expr],
        constants: Mapping[str, int],
        numbers: Sequence[str],
    ) -> None:
        self._scope, self._last = chain[0], chain[-1]
        self._arguments = arguments
        self._numbers = numbers
        self._constants = constants
        self._constant_names = {
            node.id: constants[name]
            for name, node in arguments.items()
            if name in constants and isinstance(node, ast.Name)
        }
        self._nodes = 0

    def ties(self, grid: ast.expr, *, with_constants: bool) -> dict[str, str]:
        """Return the expressions of the numbers that follow from others."""
        stated = {n: node for n in self._numbers if (node := self._number(n, grid)) is not None}
        roots: dict[str, str] = {}
        for number, node in sorted(stated.items(), key=lambda item: self._rank(item[0])):
            if isinstance(node, ast.Name):
                roots.setdefault(node.id, number)
        ties = {}
        for number, node in stated.items():
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            names -= {"cdiv", "min", "max"}
            is_root = isinstance(node, ast.Name) and roots[node.id] == number
            is_scalar = "." not in number and number not in _GRID
            is_constant = not names and not is_scalar and with_constants and bool(roots)
            is_product = is_scalar and "*" in ast.unparse(node)
            if is_root or is_product or not names <= roots.keys() or not (names or is_constant):
                continue
            ties[number] = ast.unparse(_Renamed(roots).visit(node))
        return ties

    def _rank(self, number: str) -> tuple[int, int]:
        kinds = ("." in number, number in _GRID)
        return kinds.index(True) + 1 if True in kinds else 0, self._numbers.index(number)

    def _number(self, number: str, grid: ast.expr) -> ast.expr | None:
        """Return the expression of a number, None if the text does not state it."""
        self._nodes = 0
        if number in _GRID:
            return self._extent_of_grid(grid, self._scope, "xyz".index(number[-1]))
        name, _, axis = number.partition(".shape[")
        argument = self._arguments.get(name)
        if argument is None or ".stride" in number:
            return None
        if not axis:
            return self._integer(argument, self._scope)
        shape = self._shape(argument, self._scope)
        return self._extent(shape, int(axis[:-1]))

    def _extent_of_grid(self, grid: ast.expr, scope: _Scope, axis: int) -> ast.expr | None:
        value, scope = self._followed(grid, scope)
        meta = None
        if isinstance(value, ast.Lambda) and value.args.args:
            meta = value.args.args[0].arg
            value = value.body
            scope = _Scope(scope.name, {meta: _Meta()}, outer=scope)
        if not isinstance(value, ast.Tuple | ast.List):
            return None
        return self._integer(value.elts[axis], scope) if axis < len(value.elts) else None

    def _followed(self, node: ast.expr, scope: _Scope) -> tuple[ast.expr, _Scope]:
        """Return the expression that a name stands for, with its scope; others as they are."""
        while isinstance(node, ast.Name):
            place = self._place(node.id, scope)
            if place is None or place[0] is None:
                break
            node, scope = place[0], place[1]
        return node, scope

    def _place(self, name: str, scope: _Scope) -> tuple[ast.expr | None, _Scope] | None:
        """Return the expression that binds a name (None for what is given), and its scope."""
        inner: _Scope | None = scope
        while inner is not None:
            if name in inner.bindings:
                value = inner.bindings[name]
                if (
                    value is None
                    and name in inner.given
                    and inner.caller
                    and inner is not self._last
                ):
                    return inner.given[name], inner.caller
                return value, inner
            inner = inner.outer
        return None

    def _integer(self, node: ast.expr, scope: _Scope) -> ast.expr | None:
        """Return an integer expression of keys, None for another."""
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            return None
        match node:
            case ast.Constant(int(value)) if not isinstance(value, bool):
                return node
            case ast.Name(name):
                return self._integer_named(name, scope)
            case ast.UnaryOp(ast.USub(), operand):
                inner = self._integer(operand, scope)
                return None if inner is None else ast.UnaryOp(ast.USub(), inner)
            case ast.BinOp(left, operator, right):
                return _operation(operator, self._integer(left, scope), self._integer(right, scope))
            case ast.Call():
                return self._integer_of_call(node, scope)
            case ast.Subscript(value, index):
                return self._item(value, index, scope)
        return None

    def _integer_named(self, name: str, scope: _Scope) -> ast.expr | None:
        place = self._place(name, scope)
        if name in self._constant_names and scope.name == self._scope.name:
            return ast.Constant(self._constant_names[name])
        if place is None:
            return None
        value, inner = place
        return ast.Name(f"{inner.name}:{name}") if value is None else self._integer(value, inner)

    def _integer_of_call(self, node: ast.Call, scope: _Scope) -> ast.expr | None:
        name = _last_name(node.func)
        quotient = node.args[0] if len(node.args) == 1 else None
        if name in ("ceil", "int", "floor") and quotient is not None:
            if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
                return self._integer(quotient, scope)
            parts = self._integer(quotient.left, scope), self._integer(quotient.right, scope)
            return _call("cdiv", *parts) if name == "ceil" else _operation(ast.FloorDiv(), *parts)
        if name in ("cdiv", "min", "max") and len(node.args) > 1:
            values = [self._integer(argument, scope) for argument in node.args]
            result = values[0]
            for value in values[1:]:
                result = _call(name, result, value)
            return result
        if name == "len" and quotient is not None:
            return self._extent(self._shape(quotient, scope), 0)
        if isinstance(node.func, ast.Attribute) and name in ("numel", "size"):
            shape = self._shape(node.func.value, scope)
            if (
                name == "size"
                and isinstance(quotient, ast.Constant)
                and type(quotient.value) is int
            ):
                return self._extent(shape, quotient.value)
            return self._count(shape) if name == "numel" else None
        return None

    def _item(self, value: ast.expr, index: ast.expr, scope: _Scope) -> ast.expr | None:
        """Return the integer of an item: of a shape, a tuple, or constants of the kernel."""
        if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
            index = ast.Constant(-index.operand.value)  # type: ignore[operator]
        if not isinstance(index, ast.Constant):
            return None
        if isinstance(value, ast.Name):
            value, scope = self._followed(value, scope)
        if isinstance(value, _Meta):
            constant = self._constants.get(str(index.value))
            return None if constant is None else ast.Constant(constant)
        if type(index.value) is not int:
            return None
        if isinstance(value, ast.Tuple | ast.List) and index.value < len(value.elts):
            return self._integer(value.elts[index.value], scope)
        is_shape = isinstance(value, ast.Attribute) and value.attr == "shape"
        return self._extent(self._shape(value.value, scope), index.value) if is_shape else None  # type: ignore[attr-defined]

    # -- tensors ---------------------------------------------------------------------------------

    def _shape(self, node: ast.expr, scope: _Scope) -> Shape | None:
        """Return the shape of a tensor, None if the text does not state it."""
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            return None
        if isinstance(node, ast.Name):
            place = self._place(node.id, scope)
            if place is None:
                return None
            value, inner = place
            return (
                _Unmade(f"{inner.name}:{node.id}") if value is None else self._shape(value, inner)
            )
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
            return self._shape(node.left, scope)
        if not isinstance(node, ast.Call):
            return None
        name = _last_name(node.func) or ""
        if isinstance(node.func, ast.Attribute) and name in _SAME_SHAPE:
            return self._shape(node.func.value, scope)
        if name.endswith("_like") and node.args:
            return self._shape(node.args[0], scope)
        if name == "arange" and len(node.args) == 1:
            return (self._integer(node.args[0], scope),)
        by_word = next((word.value for word in node.keywords if word.arg == "size"), None)
        if name in _CREATORS:
            extents = [by_word] if by_word is not None else node.args
        elif name in _CREATORS_BEFORE_SHAPE:
            places = [p for p in _CREATORS_BEFORE_SHAPE[name] if p < len(node.args)]
            extents = [by_word] if by_word is not None else [node.args[p] for p in places[:1]]
        else:
            return None
        return self._extents(extents, scope)

    def _extents(self, nodes: Sequence[ast.expr], scope: _Scope) -> Shape | None:
        """Return the shape of extents: numbers, a tuple of them, or another tensor's shape."""
        if len(nodes) == 1:
            node, inner = self._followed(nodes[0], scope)
            if isinstance(node, ast.Attribute) and node.attr == "shape":
                return self._shape(node.value, inner)
            if isinstance(node, ast.Tuple | ast.List):
                nodes, scope = node.elts, inner
        if not nodes or any(isinstance(node, ast.Starred) for node in nodes):
            return None
        return tuple(self._integer(node, scope) for node in nodes)

    def _extent(self, shape: Shape | None, axis: int) -> ast.expr | None:
        if shape is None:
            return None
        if isinstance(shape, tuple):
            return shape[axis] if -len(shape) <= axis < len(shape) else None
        rank = self._rank_of(shape)
        if axis < 0 and rank is not None:
            axis += rank
        return ast.Name(f"{shape.key}[{axis}]")

    def _rank_of(self, shape: _Unmade) -> int | None:
        """Return the number of axes of a tensor that is an argument of the launch."""
        for name, node in self._arguments.items():
            axes = sum(number.startswith(f"{name}.shape[") for number in self._numbers)
            if axes and isinstance(node, ast.Name) and self._shape(node, self._scope) == shape:
                return axes
        return None

    def _count(self, shape: Shape | None) -> ast.expr | None:
        """Return the number of a tensor's elements."""
        if shape is None:
            return None
        rank = len(shape) if isinstance(shape, tuple) else self._rank_of(shape)
        result: ast.expr | None = None if rank is None else self._extent(shape, 0)
        for axis in range(1, rank or 0):
            result = _operation(ast.Mult(), result, self._extent(shape, axis))
        return result


class _Meta(ast.expr):
    """The constants that a grid's function is given."""


class _Renamed(ast.NodeTransformer):
    """Replacement of keys by the names of numbers."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression of a number's name."""
        name = self._names.get(node.id)
        return node if name is None else ast.parse(name, mode="eval").body


def _call(name: str, left: ast.expr | None, right: ast.expr | None) -> ast.expr | None:
    """Return the expression of a call, None if an argument is none."""
    return None if left is None or right is None else ast.Call(ast.Name(name), [left, right], [])


def _operation(
    operator: ast.operator, left: ast.expr | None, right: ast.expr | None
) -> ast.expr | None:
    """Return the expression of an operation, None if it is not one of integers."""
    if left is None or right is None:
        return None
    if isinstance(operator, ast.Mod):
        multiple = ast.BinOp(right, ast.Mult(), ast.BinOp(left, ast.FloorDiv(), right))
        return ast.BinOp(left, ast.Sub(), multiple)
    if isinstance(operator, ast.LShift | ast.RShift):
        if not isinstance(right, ast.Constant) or not isinstance(right.value, int):
            return None
        by = ast.Constant(1 << min(max(right.value, 0), 62))
        return ast.BinOp(
            left, ast.Mult() if isinstance(operator, ast.LShift) else ast.FloorDiv(), by
        )
    if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv):
        return ast.BinOp(left, operator, right)
    return None
