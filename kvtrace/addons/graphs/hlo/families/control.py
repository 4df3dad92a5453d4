"""Control flow that becomes ops; what is carried is a tensor, or tuples, lists and dicts of them.

Functions that are handed over are traced, `scan`'s twice; what they use from outside is brought in,
and cannot be written to in them.
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
    """The tensors and numbers in a structure, and the structure with their places."""
    leaves: list[Any] = []
    return leaves, _places(value, leaves)


def _places(value: Any, leaves: list[Any]) -> Any:
    if isinstance(value, dict):
        return {key: _places(item, leaves) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_places(item, leaves) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if value is None:
        return None
    leaves.append(value)
    return Leaf(len(leaves) - 1)


def _same(first: Any, second: Any) -> bool:
    """Whether two structures are made alike."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(_same(one, other) for one, other in pairs)
    return isinstance(first, Leaf) == isinstance(second, Leaf)


class _Carried:
    """What a loop carries: its tensors, and how the user's functions see them."""

    def __init__(self, initial: Any, what: str) -> None:
        leaves, self.structure = flattened(initial)
        self.tensors = [fresh(lift(leaf)) for leaf in leaves]
        self._what = what

    def seen(self, tensors: Sequence[Tensor]) -> Any:
        """The tensors as the user's structure."""
        return structured(self.structure, tensors)

    def leaves(self, value: Any) -> list[Any]:
        """The tensors of what a function gives, which is made like what is carried.

        Raises:
            BadArgument: it is made otherwise.

        """
        leaves, structure = flattened(value)
        if not _same(structure, self.structure):
            raise BadArgument.here(
                f"{self._what} gives values of another structure than it was given; "
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
    """What `true_fun(*operands)` gives if the predicate holds, else what `false_fun` gives.

    Only the one that is chosen runs.
    """
    made: list[Any] = []

    def branch(function: Callable[..., Any]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            leaves, structure = flattened(function(*operands))
            made.append(structure)
            return leaves

        return run

    chosen = _bool(pred)
    results = if_(chosen, branch(true_fun), branch(false_fun))
    if not _same(*made):
        raise BadArgument.here(
            "both branches give the same structure; return as many values, in the same tuples"
        )
    return structured(made[0], results)


@operation()
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The value after `value = body_fun(value)` for as long as `cond_fun(value)` holds."""
    carried = _Carried(init_val, "the body of a loop")
    results = while_(
        carried.tensors,
        lambda *tensors: [_bool(cond_fun(carried.seen(tensors)))],
        lambda *tensors: carried.leaves(body_fun(carried.seen(tensors))),
    )
    return carried.seen(results)


@operation()
def fori_loop(
    lower: Operand, upper: Operand, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """The value after `value = body_fun(i, value)` for i from `lower` up to `upper`."""
    carried = _Carried(init_val, "the body of a loop")
    first, last = (convert(lift(bound), INT32) for bound in (lower, upper))
    known = isinstance(lower, int | np.integer) and isinstance(upper, int | np.integer)
    results = while_(
        [first, *carried.tensors],
        lambda i, *_: [compare("LT", i, last)],
        lambda i, *tensors: [
            add(i, scalar(1, INT32)),
            *carried.leaves(body_fun(i, carried.seen(tensors))),
        ],
        max(0, int(upper) - int(lower)) if known else None,
    )
    return carried.seen(results[1:])


@operation()
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Carry a value through `carry, y = f(carry, x)` for each x along the first axes of `xs`.

    Gives the last carry, and every y along a new first axis.
    """
    carried = _Carried(init, "the function of a scan")
    leaves, structure = flattened(xs)
    inputs = [lift(leaf) for leaf in leaves]
    extents = {x.shape[0] if x.shape else None for x in inputs} | ({length} if length else set())
    if len(extents) != 1 or None in extents:
        raise ShapeMismatch.here("a scan takes tensors with first axes of one length")
    count = next(iter(extents)) or 0
    results: list[Any] = []

    def step(i: Tensor, tensors: Sequence[Tensor]) -> tuple[list[Any], list[Tensor]]:
        parts = [_row(x, i) for x in inputs]
        seen = f(carried.seen(tensors), structured(structure, parts))
        if not isinstance(seen, tuple) or len(seen) != 2:
            raise BadArgument.here("the function of a scan gives two values, carry and y")
        outputs, places = flattened(seen[1])
        results[:] = [places]
        return carried.leaves(seen[0]), [lift(output) for output in outputs]

    # Traced once for the shapes of what it gives, and once more for the loop.
    zero = scalar(0, INT32)
    tried, _ = traced_body(
        "scan", [zero, *carried.tensors], lambda i, *t: [x for part in step(i, t) for x in part]
    )
    given = tried.outputs[len(carried.tensors) :]
    buffers = [full(0, (count, *spec.shape), spec.dtype) for spec in given]
    size = len(carried.tensors)

    def body(i: Tensor, *tensors: Tensor) -> list[Any]:
        last = scalar(count - 1, INT32)
        place = subtract(last, i) if reverse else i
        carry, outputs = step(place, tensors[:size])
        filled = [
            _with_row(buffer, output, place)
            for buffer, output in zip(tensors[size:], outputs, strict=True)
        ]
        return [add(i, scalar(1, INT32)), *carry, *filled]

    end = while_(
        [zero, *carried.tensors, *buffers],
        lambda i, *_: [compare("LT", i, scalar(count, INT32))],
        body,
        count,
    )
    return carried.seen(end[1 : size + 1]), structured(results[0], end[size + 1 :])


def _row(x: Tensor, place: Tensor) -> Tensor:
    zeros = [scalar(0, INT32)] * (len(x.shape) - 1)
    taken = dynamic_slice(x, [place, *zeros], (1, *x.shape[1:]))
    return reshape(taken, x.shape[1:])


def _with_row(buffer: Tensor, row: Tensor, place: Tensor) -> Tensor:
    zeros = [scalar(0, INT32)] * len(row.shape)
    return dynamic_update_slice(buffer, reshape(row, (1, *row.shape)), [place, *zeros])
