"""Control flow as ops; carried values are tensors, or tuples, lists and dicts of tensors.

Functions in the arguments are traced, `scan`'s twice; tensors that they use from outside are
captured, and cannot be written to in these functions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.bodies import if_, traced_body, while_
from kvtrace.addons.graphs.hlo.builders import operation
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, is_weak
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    compare,
    convert,
    dynamic_slice,
    dynamic_update_slice,
    fresh,
    full,
    lift,
    reshape,
    scalar,
    subtract,
)
from kvtrace.addons.graphs.hlo.run import Leaf, structured
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def flattened(value: Any) -> tuple[list[Any], Any]:
    """Return the tensors and numbers in a structure, and the structure with their numbers."""
    leaves: list[Any] = []
    return leaves, _numbered(value, leaves)


def _numbered(value: Any, leaves: list[Any]) -> Any:
    if isinstance(value, dict):
        return {key: _numbered(item, leaves) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_numbered(item, leaves) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if value is None:
        return None
    leaves.append(value)
    return Leaf(len(leaves) - 1)


def _is_alike(first: Any, second: Any) -> bool:
    """Return whether two structures have the same shape of tuples, lists and dicts."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(
            _is_alike(first[key], second[key]) for key in first
        )
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(_is_alike(a, b) for a, b in pairs)
    return isinstance(first, Leaf) == isinstance(second, Leaf)


class _CarriedValues:
    """The tensors that a loop carries, and the structure in which the user's functions get them."""

    def __init__(self, initial: Any, what: str) -> None:
        leaves, self.structure = flattened(initial)
        self.tensors = [fresh(lift(leaf)) for leaf in leaves]
        self._what = what

    def restored(self, tensors: Sequence[Tensor]) -> Any:
        """Return the tensors in the user's structure."""
        return structured(self.structure, tensors)

    def leaves(self, value: Any) -> list[Any]:
        """Return the tensors of a function's result, whose structure must be the carried one.

        Raises:
            BadArgument: The result has another structure.

        """
        leaves, structure = flattened(value)
        if not _is_alike(structure, self.structure):
            raise BadArgument.here(
                f"{self._what} returns another structure than it received; "
                "return as many, in the same tuples, lists and dicts"
            )
        return [
            scalar(leaf, tensor.dtype) if is_weak(leaf) else leaf
            for leaf, tensor in zip(leaves, self.tensors, strict=True)
        ]


def _bool(value: Operand) -> Tensor:
    tensor = lift(value)
    return tensor if tensor.dtype == BOOL else convert(tensor, BOOL)


@operation()
def cond(
    pred: Operand,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:
    """Return `true_fun(*operands)` if the predicate holds, else `false_fun(*operands)`.

    Only the chosen function runs.
    """
    structures: list[Any] = []

    def branch(function: Callable[..., Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            leaves, structure = flattened(function(*operands))
            structures.append(structure)
            return leaves

        return run

    predicate = _bool(pred)
    results = if_(predicate, branch(true_fun), branch(false_fun))
    if not _is_alike(*structures):
        raise BadArgument.here(
            "both branches give the same structure; return as many values, in the same tuples"
        )
    return structured(structures[0], results)


@operation()
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Return the value after `value = body_fun(value)` for as long as `cond_fun(value)` holds."""
    carried = _CarriedValues(init_val, "the body of a loop")
    results = while_(
        carried.tensors,
        lambda *tensors: [_bool(cond_fun(carried.restored(tensors)))],
        lambda *tensors: carried.leaves(body_fun(carried.restored(tensors))),
    )
    return carried.restored(results)


@operation()
def fori_loop(
    lower: Operand, upper: Operand, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """Return the value after `value = body_fun(i, value)` for i from `lower` up to `upper`."""
    carried = _CarriedValues(init_val, "the body of a loop")
    first, last = (convert(lift(bound), INT32) for bound in (lower, upper))
    is_known = isinstance(lower, int | np.integer) and isinstance(upper, int | np.integer)
    results = while_(
        [first, *carried.tensors],
        lambda i, *_: [compare("LT", i, last)],
        lambda i, *tensors: [
            add(i, scalar(1, INT32)),
            *carried.leaves(body_fun(i, carried.restored(tensors))),
        ],
        max(0, int(upper) - int(lower)) if is_known else None,
    )
    return carried.restored(results[1:])


@operation()
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Carry a value through `carry, y = f(carry, x)` for each x along the first axes of `xs`.

    Return the last carry, and every y along a new first axis.
    """
    carried = _CarriedValues(init, "the function of a scan")
    leaves, structure = flattened(xs)
    inputs = [lift(leaf) for leaf in leaves]
    extents = {x.shape[0] if x.shape else None for x in inputs} | ({length} if length else set())
    if len(extents) != 1 or None in extents:
        raise ShapeMismatch.here("a scan takes tensors with first axes of one length")
    count = next(iter(extents)) or 0
    results: list[Any] = []

    def step(i: Tensor, tensors: Sequence[Tensor]) -> tuple[list[Any], list[Tensor]]:
        parts = [_row(x, i) for x in inputs]
        pair = f(carried.restored(tensors), structured(structure, parts))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise BadArgument.here("the function of a scan must return two values, carry and y")
        outputs, output_structure = flattened(pair[1])
        results[:] = [output_structure]
        return carried.leaves(pair[0]), [lift(output) for output in outputs]

    # Traced once for the shapes of its results, and once more for the loop.
    zero = scalar(0, INT32)
    trial, _ = traced_body(
        "scan", [zero, *carried.tensors], lambda i, *t: [x for part in step(i, t) for x in part]
    )
    output_specs = trial.outputs[len(carried.tensors) :]
    buffers = [full(0, (count, *spec.shape), spec.dtype) for spec in output_specs]
    size = len(carried.tensors)

    def body(i: Tensor, *tensors: Tensor) -> list[Any]:
        last = scalar(count - 1, INT32)
        row = subtract(last, i) if reverse else i
        carry, outputs = step(row, tensors[:size])
        filled = [
            _with_row(buffer, output, row)
            for buffer, output in zip(tensors[size:], outputs, strict=True)
        ]
        return [add(i, scalar(1, INT32)), *carry, *filled]

    end = while_(
        [zero, *carried.tensors, *buffers],
        lambda i, *_: [compare("LT", i, scalar(count, INT32))],
        body,
        count,
    )
    return carried.restored(end[1 : size + 1]), structured(results[0], end[size + 1 :])


def _row(x: Tensor, position: Tensor) -> Tensor:
    zeros = [scalar(0, INT32)] * (len(x.shape) - 1)
    row = dynamic_slice(x, [position, *zeros], (1, *x.shape[1:]))
    return reshape(row, x.shape[1:])


def _with_row(buffer: Tensor, row: Tensor, position: Tensor) -> Tensor:
    zeros = [scalar(0, INT32)] * len(row.shape)
    return dynamic_update_slice(buffer, reshape(row, (1, *row.shape)), [position, *zeros])
