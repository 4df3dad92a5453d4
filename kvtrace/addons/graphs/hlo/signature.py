"""Arguments and results of a traced function, as named leaves.

Array arguments become tensors; dicts, lists and tuples are searched for arrays; all other values
are constants of the trace, and part of the signature.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.annotations import TensorAnnotation
from kvtrace.addons.graphs.hlo.dtypes import Dtype, native
from kvtrace.addons.graphs.hlo.errors import SignatureMismatch
from kvtrace.addons.graphs.hlo.masked import MaskedElements
from kvtrace.addons.graphs.hlo.run import Leaf
from kvtrace.addons.graphs.hlo.wrapper import Tensor


@dataclass(slots=True)
class Arguments:
    """Arguments of a call: the arrays with their names, and the key of this signature.

    `kept_alive` has the objects that are in the key by their id.
    """

    names: list[str] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    key: list[Any] = field(default_factory=list)
    kept_alive: list[Any] = field(default_factory=list)

    def leaves(self) -> Iterator[tuple[str, tuple[int, ...], Dtype]]:
        """Yield name, shape and element type of each array."""
        for name, array in zip(self.names, self.arrays, strict=True):
            yield name, tuple(array.shape), native(np.dtype(array.dtype))


def is_array(argument: Any) -> bool:
    """Return whether an argument becomes a tensor: it has a shape and a type, and is no scalar."""
    if isinstance(argument, np.generic):
        return False
    return isinstance(argument, np.ndarray | TensorAnnotation) or (
        hasattr(argument, "shape") and hasattr(argument, "dtype") and not isinstance(argument, type)
    )


def collect(value: Any, name: str, arguments: Arguments) -> None:
    """Append an argument's arrays (also in containers), their names and its key to `arguments`."""
    signature_key = arguments.key
    if is_array(value):
        if isinstance(value, TensorAnnotation):
            _check_spec(value, name)
        elif not isinstance(value, np.ndarray):
            value = np.asarray(value)
        arguments.names.append(name)
        arguments.arrays.append(value)
        signature_key.append((tuple(value.shape), native(value.dtype)))
    elif isinstance(value, dict):
        signature_key.append(("dict", tuple(value)))
        for entry_name, item in value.items():
            collect(item, f"{name}.{entry_name}", arguments)
    elif isinstance(value, tuple | list):
        signature_key.append((type(value), len(value)))
        entry_names = getattr(value, "_fields", range(len(value)))
        for entry_name, item in zip(entry_names, value, strict=True):
            collect(item, f"{name}.{entry_name}", arguments)
    else:
        signature_key.append(_constant_key(value, arguments.kept_alive))


def _constant_key(value: Any, kept_alive: list[Any]) -> Any:
    if isinstance(value, float):  # `repr` differs for signed zeros, and is equal for NaN
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        kept_alive.append(value)
        return (type(value), id(value))
    return (type(value), value)


def _check_spec(spec: TensorAnnotation, name: str) -> None:
    whole = spec.shape is not None and all(isinstance(n, int) and n >= 0 for n in spec.shape)
    if spec.dtype is None or not whole:
        raise SignatureMismatch.here(
            f"the argument {name} is given as an annotation without an element type or with "
            "extents that are not numbers from 0 on; write them all, as tensor[float32, (8, 4)]"
        )


def with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """Return an argument with each of its arrays replaced by the next tensor."""
    if is_array(value):
        return next(tensors)
    if isinstance(value, dict):
        return {entry_name: with_tensors(item, tensors) for entry_name, item in value.items()}
    if isinstance(value, tuple | list):
        items = [with_tensors(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def returned_leaves(value: Any, name: str | None, leaves: list[tuple[str | None, Any]]) -> Any:
    """Append the tensors and arrays in a result to `leaves`, with names; return the structure.

    In the structure, a `Leaf` with the number in `leaves` replaces each tensor and array.

    Raises:
        DataDependent: Elements selected by a mask are returned, whose shape depends on values.

    """
    if isinstance(value, MaskedElements):
        value.refuse_return()
    if isinstance(value, Tensor | np.ndarray):
        leaves.append((name, value))
        return Leaf(len(leaves) - 1)
    if isinstance(value, dict):
        return {
            key: returned_leaves(item, str(key) if name is None else f"{name}.{key}", leaves)
            for key, item in value.items()
        }
    if isinstance(value, tuple | list):
        entry_names = getattr(value, "_fields", range(len(value)))
        items = [
            returned_leaves(item, None if name is None else f"{name}.{entry}", leaves)
            for entry, item in zip(entry_names, value, strict=True)
        ]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def returned_names(function: Callable[..., Any]) -> Sequence[str | None] | str | None:
    """Return the names of the variables that a function returns: one, or one per tuple element.

    A name is None where `return` statements differ, or where the value is no variable. Without
    source code, or without a `return` of a value, None is returned.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    body = tree.body[0] if tree.body else None
    if not isinstance(body, ast.FunctionDef):
        return None
    names_of_returns = [
        _names(node.value) for node in _returns(body.body) if node.value is not None
    ]
    if not names_of_returns or any(
        type(names) is not type(names_of_returns[0]) for names in names_of_returns
    ):
        return None
    if not isinstance(names_of_returns[0], list):
        return (
            names_of_returns[0]
            if all(name == names_of_returns[0] for name in names_of_returns)
            else None
        )
    if any(len(names or ()) != len(names_of_returns[0]) for names in names_of_returns):
        return None
    columns = zip(*(names for names in names_of_returns if isinstance(names, list)), strict=True)
    return [column[0] if len(set(column)) == 1 else None for column in columns]


def _returns(statements: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    for statement in statements:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    yield from _returns(value)


def _names(value: ast.expr) -> list[str | None] | str | None:
    if isinstance(value, ast.Tuple | ast.List):
        return [_name(item) for item in value.elts]
    return _name(value)


def _name(value: ast.expr) -> str | None:
    if isinstance(value, ast.Name):
        return value.id
    return value.attr if isinstance(value, ast.Attribute) else None
