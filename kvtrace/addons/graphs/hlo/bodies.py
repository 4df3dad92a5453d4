"""Ops that contain graphs: loops and branches.

A body is traced in a separate builder. Its parameters are the carried values, then the tensors that
it uses from outside; the op's attribute `<role>_operands` has the operand of each parameter.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.addons.graphs.hlo.builder import Builder, current
from kvtrace.addons.graphs.hlo.dtypes import BOOL
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.primitives import lift
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
