"""Ties that the text of a program states: how it computes the numbers of a launch.

`run(n)` with `part = torch.empty(n // 32)` and `kernel[(triton.cdiv(n, 32),)](x, part, n)` states
`part.shape[0] = n // 32` and `grid_x = cdiv(n, 32)`. Names that are assigned once are followed, and
parameters to the calls of the function; all else states nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from kvtrace.schema.cached_property import cached_property
from kvtrace.verdicts.sizes.program_scopes import (
    SAME_SHAPE,
    Frame,
    Scope,
    arguments_of,
    last_name,
    launch_at,
    literal,
    scopes_of,
)

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


Shape: TypeAlias = "tuple[ast.expr | None, ...] | _Unmade"

_GRID: Final = ("grid_x", "grid_y", "grid_z")
_MOST_NODES: Final = 60
_CREATORS: Final = frozenset({"empty", "zeros", "ones", "randn", "rand", "new_empty", "new_zeros"})
_CREATORS_BEFORE_SHAPE: Final = {"full": (0,), "new_full": (0,), "randint": (2, 1)}
"""Functions that are given more than extents, with the places that may have these."""


class _Unmade(Struct, frozen=True):
    """A tensor that a function is given; `key` names it."""

    key: str


def ties_of_program(
    frames: Sequence[Frame],
    parameters: Sequence[str],
    constants: Mapping[str, int],
    numbers: Sequence[str],
) -> dict[str, str]:
    """Return the expressions of numbers that the program's text states, by the number's name.

    A number that is a variable of its own there is its own expression.

    Args:
        frames: the stack of a launch, the innermost first.
        parameters: names of the kernel's parameters, in order, with those of constants.
        constants: values of the kernel's `tl.constexpr`.
        numbers: names of the launch's numbers, as "n", "x.shape[0]" and "grid_x".

    """
    launch = launch_at(frames)
    if launch is None or not isinstance(launch.func, ast.Subscript):
        return {}
    arguments = arguments_of(launch, parameters)
    chain = scopes_of(frames)
    ties: dict[str, str] = {}
    roots: Iterable[str] = ()
    for depth in range(len(chain)):
        reader = _Reader(chain[: depth + 1], arguments, constants, numbers)
        stated, roots = reader.ties(launch.func.slice, with_constants=depth == 0)
        ties = {**{n: text for n, text in stated.items() if not _is_cyclic(n, text, ties)}, **ties}
    return {root: root for root in roots} | ties


def _is_cyclic(number: str, text: str, ties: Mapping[str, str]) -> bool:
    """Return whether a tie makes a number depend on itself, directly or by other ties."""
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


# -- expressions ----------------------------------------------------------------------------------


class _Reader:
    """Expressions of one launch's numbers, as the innermost scopes of its stack state them.

    In these expressions of Python, names of scopes are replaced by keys such as "0.run:n".
    """

    def __init__(
        self,
        chain: Sequence[Scope],
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

    def ties(self, grid: ast.expr, *, with_constants: bool) -> tuple[dict[str, str], Iterable[str]]:
        """Return the expressions of the numbers that follow from others, and these others."""
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
            if is_root or not names <= roots.keys() or not (names or is_constant):
                continue
            ties[number] = ast.unparse(_Renamed(roots).visit(node))
        return ties, roots.values()

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

    def _extent_of_grid(self, grid: ast.expr, scope: Scope, axis: int) -> ast.expr | None:
        value, scope = self._followed(grid, scope)
        if isinstance(value, ast.Lambda) and value.args.args:
            scope = Scope(scope.name, {value.args.args[0].arg: _Meta()}, outer=scope)
            value = value.body
        if not isinstance(value, ast.Tuple | ast.List):
            return None
        return self._integer(value.elts[axis], scope) if axis < len(value.elts) else None

    def _followed(self, node: ast.expr, scope: Scope) -> tuple[ast.expr, Scope]:
        """Return the expression that a name stands for, with its scope; others as they are."""
        while isinstance(node, ast.Name):
            place = self._place(node.id, scope)
            if place is None or place[0] is None:
                break
            node, scope = place[0], place[1]
        return node, scope

    def _place(self, name: str, scope: Scope) -> tuple[ast.expr | None, Scope] | None:
        """Return the expression that binds a name (None for what is given), and its scope."""
        inner: Scope | None = scope
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

    def _integer(self, node: ast.expr, scope: Scope) -> ast.expr | None:
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

    def _integer_named(self, name: str, scope: Scope) -> ast.expr | None:
        place = self._place(name, scope)
        if name in self._constant_names and scope.name == self._scope.name:
            return ast.Constant(self._constant_names[name])
        if place is None:
            return None
        value, inner = place
        return ast.Name(f"{inner.name}:{name}") if value is None else self._integer(value, inner)

    def _integer_of_call(self, node: ast.Call, scope: Scope) -> ast.expr | None:
        name = last_name(node.func)
        quotient = node.args[0] if len(node.args) == 1 else None
        if name in ("ceil", "int", "floor") and quotient is not None:
            rounded = _without_half(quotient) if name == "int" else None
            quotient = rounded or quotient
            if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
                return self._integer(quotient, scope)
            parts = self._integer(quotient.left, scope), self._integer(quotient.right, scope)
            if rounded is not None:  # int(n / d + 0.5) is (2 * n + d) // (2 * d)
                twice = [_operation(ast.Mult(), ast.Constant(2), part) for part in parts]
                parts = _operation(ast.Add(), twice[0], parts[1]), twice[1]
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
            axis = None if quotient is None else literal(quotient)
            if name == "size" and isinstance(axis, int):
                return self._extent(shape, axis)
            return self._count(shape) if name == "numel" else None
        return None

    def _item(self, value: ast.expr, index: ast.expr, scope: Scope) -> ast.expr | None:
        """Return the integer of an item: of a shape, a tuple, or constants of the kernel."""
        place = literal(index)
        if isinstance(value, ast.Name):
            value, scope = self._followed(value, scope)
        if isinstance(value, _Meta):
            constant = self._constants.get(str(place))
            return None if constant is None else ast.Constant(constant)
        if not isinstance(place, int):
            return None
        if isinstance(value, ast.Tuple | ast.List) and place < len(value.elts):
            return self._integer(value.elts[place], scope)
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            return self._extent(self._shape(value.value, scope), place)
        return None

    # -- tensors ---------------------------------------------------------------------------------

    def _shape(self, node: ast.expr, scope: Scope) -> Shape | None:
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
        name = last_name(node.func) or ""
        if isinstance(node.func, ast.Attribute) and name in SAME_SHAPE:
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

    def _extents(self, nodes: Sequence[ast.expr], scope: Scope) -> Shape | None:
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


def _without_half(node: ast.expr) -> ast.expr | None:
    """Return what a half is added to, as it is to round to the nearest integer; else None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and literal(node.right) == 0.5:
        return node.left
    return None


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
    if isinstance(operator, ast.Pow) and isinstance(left, ast.Constant):
        power = literal(right)
        is_small = isinstance(power, int) and 0 <= power < 63 and left.value == 2
        return ast.Constant(1 << power) if is_small and isinstance(power, int) else None
    if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv):
        return ast.BinOp(left, operator, right)
    return None


class ProgramText:
    """Reader of the recorded functions that are on the stacks of one run's launches."""

    def __init__(self, trace: Trace, run: Run) -> None:
        self._trace = trace
        self._run = run
        self._trees: dict[str, ast.Module | None] = {}
        self._ties: dict[object, dict[str, str]] = {}
        self._outputs: dict[object, frozenset[str]] = {}

    @cached_property
    def _stacks(self) -> dict[int, dict[str, Any]]:
        columns = ["stack_id", "frames", "files"]
        table = self._trace.table("stacks", (self._run,), columns=columns)
        return {row["stack_id"]: row for row in table.to_pylist()}

    def ties(
        self, stack: int | None, arguments: Sequence[Mapping[str, Any]], numbers: Sequence[str]
    ) -> dict[str, str]:
        """Return the formulas that the text at a launch's stack gives for its numbers; cached.

        Args:
            stack: id of the launch's stack, None if it was not recorded.
            arguments: the launch's row of arguments, with constants.
            numbers: names of the launch's numbers.

        """
        from kvtrace.verdicts.sizes.program_ties import ties_of_program

        constants = {
            str(one["name"]): int(str(one["scalar"]))
            for one in arguments
            if one["kind"] == "constexpr" and str(one["scalar"]).isdecimal()
        }
        key = stack, tuple(constants.items()), tuple(numbers)
        if key not in self._ties:
            names = [str(one["name"]) for one in arguments]
            self._ties[key] = ties_of_program(self._frames(stack), names, constants, numbers)
        return self._ties[key]

    def sole_outputs(
        self, stack: int | None, arguments: Sequence[Mapping[str, Any]]
    ) -> frozenset[str]:
        """Return the arguments that only this launch writes, by the launching function; cached.

        Args:
            stack: id of the launch's stack, None if it was not recorded.
            arguments: the launch's row of arguments, with constants.

        """
        from kvtrace.verdicts.sizes.program_scopes import sole_outputs

        names = tuple(str(one["name"]) for one in arguments)
        if (stack, names) not in self._outputs:
            self._outputs[stack, names] = sole_outputs(self._frames(stack), names)
        return self._outputs[stack, names]

    def _frames(self, stack: int | None) -> list[tuple[ast.Module, int]]:
        """Return the frames of a stack, the innermost first, up to one whose text is not known."""
        row = self._stacks.get(stack or 0, {})
        frames: list[tuple[ast.Module, int]] = []
        for frame, file in zip(row.get("frames", ()), row.get("files") or (), strict=False):
            tree = None if file["artifact"] is None else self._tree(file["artifact"])
            if tree is None or frame["line"] is None:
                break
            frames.append((tree, frame["line"]))
        return frames

    def _tree(self, artifact: str) -> ast.Module | None:
        """Return the syntax tree of a recorded text, None if it has none; cached."""
        if artifact not in self._trees:
            text = (self._trace.artifact(artifact) or b"").decode("utf-8", "replace")
            try:
                self._trees[artifact] = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[artifact] = None
        return self._trees[artifact]
