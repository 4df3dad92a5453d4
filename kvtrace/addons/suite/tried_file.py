"""Files of configurations to try, and grids as expressions of arguments and constants.

A suite has a copy of this file beside its tune.py: it needs the standard library alone.
"""

import ast
import json
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final


class CannotTry(Exception):
    """Says why a configuration, or a call, cannot be tried."""


_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[dict[str, Callable[..., int]]] = {
    "cdiv": lambda number, divisor: -(-number // divisor),
    "min": min,
    "max": max,
}


def computed(extent: Any, values: Mapping[str, Any]) -> int:
    """Return a number, or the value of an expression of names, such as "cdiv(n, BLOCK)".

    Raises:
        CannotTry: it has unknown names, or is no such expression.
    """
    if isinstance(extent, int):
        return extent
    try:
        return _evaluated(ast.parse(str(extent), mode="eval").body, values)
    except (KeyError, TypeError, SyntaxError, ZeroDivisionError) as error:
        raise CannotTry(f"the grid {extent!r} cannot be computed ({error!r})") from error


def _evaluated(node: ast.expr, values: Mapping[str, Any]) -> int:
    """Return the value of a syntax node. Raises KeyError, TypeError: it is not known."""
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return int(values[name])
        case ast.BinOp(left, operation, right):
            return _OPERATORS[type(operation)](_evaluated(left, values), _evaluated(right, values))
        case ast.Call(func=ast.Name(name), args=given, keywords=[]):
            return _FUNCTIONS[name](*(_evaluated(one, values) for one in given))
    raise TypeError(ast.unparse(node))


def read_configurations(path: Path) -> dict[str, Any]:
    """Return the content of a file of configurations.

    Raises:
        CannotTry: it cannot be read, or is none.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotTry(f"{path} cannot be read: {error}") from error
    kinds = {"configurations": list, "space": dict, "grid": list}
    if not isinstance(content, dict) or not all(
        isinstance(known, dict)
        and all(isinstance(known.get(name, kind()), kind) for name, kind in kinds.items())
        for known in content.values()
    ):
        raise CannotTry(
            f"{path} is no file of configurations: by kernel it has `configurations` (a list) or "
            "`space` (an object), and `grid` (a list)"
        )
    return content
