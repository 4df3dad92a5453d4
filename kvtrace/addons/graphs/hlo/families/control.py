"""Control flow as ops; carried values are tensors, or tuples, lists and dicts of tensors.

Functions in the arguments are traced; tensors that they use from outside are captured, and cannot
be written to in these functions.

A body is traced in a separate builder. Its parameters are the carried values, then the tensors that
it uses from outside; the op's attribute `<role>_operands` has the operand of each parameter.
"""

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.builder import Builder, current
from kvtrace.addons.graphs.hlo.builders import operation
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, is_weak
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    compare,
    convert,
    fresh,
    lift,
    scalar,
)
from kvtrace.addons.graphs.hlo.structures import Leaf, flattened, structured
from kvtrace.addons.graphs.hlo.wrapper import Tensor

Function = Callable[..., Sequence[Any]]


def traced_body(
    name: str, carried: Sequence[Tensor], function: Function
) -> tuple[Graph, list[Tensor]]:
    """Return the graph of a function of `carried`, and the outer tensors that it uses."""
    outer_builder = current()
    builder = Builder(name, outer_builder.target, outer_builder.root, parent=outer_builder)
    with builder.active():
        parameters = [
            builder.parameter(f"carried{position}", tensor.shape, tensor.dtype)
            for position, tensor in enumerate(carried)
        ]
        results = [lift(result) for result in function(*parameters)]
        graph = builder.finish([(f"result{i}", value, None) for i, value in enumerate(results)])
    return graph, [outer_tensor for outer_tensor, _ in builder.captured]


def while_(
    carried: Sequence[Tensor],
    condition: Function,
    body: Function,
    trip_count: int | None = None,
) -> tuple[Tensor, ...]:
    """Append a loop: while `condition(*carried)` holds, `carried` is `body(*carried)`.

    Return the carried values after the last iteration. `trip_count` is the number of iterations, if
    known; figures use it.

    Raises:
        BadArgument: The condition does not return one bool.
        ShapeMismatch: The body changes the shape or type of a value.

    """
    condition_graph, condition_captures = traced_body("condition", carried, condition)
    body_graph, body_captures = traced_body("body", carried, body)
    if [(spec.dtype, spec.shape) for spec in condition_graph.outputs] != [(BOOL, ())]:
        raise BadArgument.here("the condition of a loop must return one bool without axes")
    _check_carried(carried, body_graph)
    carried_count = len(carried)
    attributes: dict[str, Any] = {
        "condition_operands": tuple(range(carried_count + len(condition_captures))),
        "body_operands": (
            *range(carried_count),
            *range(
                carried_count + len(condition_captures),
                carried_count + len(condition_captures) + len(body_captures),
            ),
        ),
        "carried": carried_count,
    }
    if trip_count is not None:
        attributes["trip_count"] = trip_count
    return current().emit_several(
        "while",
        [*carried, *condition_captures, *body_captures],
        [(tensor.shape, tensor.dtype) for tensor in carried],
        attributes,
        {"condition": condition_graph, "body": body_graph},
    )


def if_(predicate: Tensor, true: Function, false: Function) -> tuple[Tensor, ...]:
    """Append a branch; return the results of one of two functions without arguments.

    Raises:
        BadArgument: The predicate is not a single bool.
        ShapeMismatch: The functions' results differ in shape or type.

    """
    if predicate.dtype != BOOL or predicate.shape:
        raise BadArgument.here("a branch is chosen by one bool without axes; use np.any or np.all")
    true_graph, true_captures = traced_body("true", [], true)
    false_graph, false_captures = traced_body("false", [], false)
    result_specs = [(spec.shape, spec.dtype) for spec in true_graph.outputs]
    if [(spec.shape, spec.dtype) for spec in false_graph.outputs] != result_specs:
        raise ShapeMismatch.here(
            "the two branches return different shapes or types; convert them with astype"
        )
    true_end = 1 + len(true_captures)
    attributes = {
        "true_operands": tuple(range(1, true_end)),
        "false_operands": tuple(range(true_end, true_end + len(false_captures))),
    }
    operands = [predicate, *true_captures, *false_captures]
    graphs = {"true": true_graph, "false": false_graph}
    return current().emit_several("if", operands, result_specs, attributes, graphs)


def _check_carried(carried: Sequence[Tensor], body: Graph) -> None:
    initial = [(tensor.shape, tensor.dtype) for tensor in carried]
    for position, (expected, spec) in enumerate(zip(initial, body.outputs, strict=False)):
        if expected != (spec.shape, spec.dtype):
            raise ShapeMismatch.here(
                f"the body of a loop returns {spec.dtype.name}{list(spec.shape)} as value "
                f"{position}, but receives {expected[1].name}{list(expected[0])}; "
                "return the same shape and type"
            )
    if len(initial) != len(body.outputs):
        raise BadArgument.here(
            f"the body of a loop returns {len(body.outputs)} values, but receives {len(initial)}; "
            "return as many"
        )


def _flattened(value: Any) -> tuple[list[Any], Any]:
    """Return the leaves (all but tuples, lists, dicts and None), and the structure of `Leaf`s."""
    leaves: list[tuple[str | None, Any]] = []
    structure = flattened(
        value, lambda item: not isinstance(item, tuple | list | dict | NoneType), leaves
    )
    return [leaf for _, leaf in leaves], structure


def _is_alike(left: Any, right: Any) -> bool:
    """Return whether two structures consist of the same tuples, lists and dicts, with leaves."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(_is_alike(left[key], right[key]) for key in left)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_is_alike(a, b) for a, b in pairs)
    return isinstance(left, Leaf) == isinstance(right, Leaf)


class _CarriedValues:
    """The tensors that a loop carries, and the structure in which the user's functions get them."""

    def __init__(self, initial: Any, label: str) -> None:
        leaves, self.structure = _flattened(initial)
        self.tensors = [fresh(lift(leaf)) for leaf in leaves]
        self._label = label

    def restored(self, tensors: Sequence[Tensor]) -> Any:
        """Return the tensors in the user's structure."""
        return structured(self.structure, tensors)

    def leaves(self, value: Any) -> list[Any]:
        """Return a result's leaves in the carried structure; scalars become tensors.

        Raises:
            BadArgument: The result has another structure.

        """
        leaves, structure = _flattened(value)
        if not _is_alike(structure, self.structure):
            raise BadArgument.here(
                f"{self._label} returns another structure than it received; "
                "return as many values, in the same tuples, lists and dicts"
            )
        return [
            scalar(leaf, tensor.dtype) if is_weak(leaf) else leaf
            for leaf, tensor in zip(leaves, self.tensors, strict=True)
        ]


def _as_bool(value: Operand) -> Tensor:
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
            leaves, structure = _flattened(function(*operands))
            structures.append(structure)
            return leaves

        return run

    predicate = _as_bool(pred)
    results = if_(predicate, branch(true_fun), branch(false_fun))
    if not _is_alike(*structures):
        raise BadArgument.here(
            "the branches return different structures; return as many values, in the same tuples"
        )
    return structured(structures[0], results)


@operation()
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Return the value after `value = body_fun(value)` for as long as `cond_fun(value)` holds."""
    carried = _CarriedValues(init_val, "the body of a loop")
    final_values = while_(
        carried.tensors,
        lambda *tensors: [_as_bool(cond_fun(carried.restored(tensors)))],
        lambda *tensors: carried.leaves(body_fun(carried.restored(tensors))),
    )
    return carried.restored(final_values)


@operation()
def fori_loop(
    lower: Operand, upper: Operand, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    """Return the value after `value = body_fun(i, value)` for i from `lower` up to `upper`."""
    carried = _CarriedValues(init_val, "the body of a loop")
    start, stop = (convert(lift(bound), INT32) for bound in (lower, upper))
    has_known_bounds = isinstance(lower, int | np.integer) and isinstance(upper, int | np.integer)
    final_values = while_(
        [start, *carried.tensors],
        lambda i, *_: [compare("LT", i, stop)],
        lambda i, *tensors: [
            add(i, scalar(1, INT32)),
            *carried.leaves(body_fun(i, carried.restored(tensors))),
        ],
        max(0, int(upper) - int(lower)) if has_known_bounds else None,
    )
    return carried.restored(final_values[1:])
