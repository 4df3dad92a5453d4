"""Ops that contain graphs: loops and branches.

A body is traced in a separate builder. Its parameters are the values that are carried, then what
it uses from outside; the op's attribute `<role>_operands` says which operand each parameter is.
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
    """Trace a function of carried values into a graph, and give what it uses from outside."""
    around = current()
    builder = Builder(name, around.target, around.root, parent=around)
    with builder.active():
        parameters = [
            builder.parameter(f"carried{number}", tensor.shape, tensor.dtype)
            for number, tensor in enumerate(carried)
        ]
        results = [lift(result) for result in function(*parameters)]
        graph = builder.finish([(f"result{i}", value, None) for i, value in enumerate(results)])
    return graph, [outside for outside, _ in builder.captured]


def while_(
    carried: Sequence[Tensor],
    condition: Function,
    body: Function,
    trip_count: int | None = None,
) -> tuple[Tensor, ...]:
    """Carry values through `body` as long as `condition` of them holds.

    `trip_count` says how often that is, where it is known; figures use it.

    Raises:
        BadArgument: the condition gives something else than one bool.
        ShapeMismatch: the body changes the shape or type of a value.

    """
    test, test_outside = traced_body("condition", carried, condition)
    step, step_outside = traced_body("body", carried, body)
    if [(spec.dtype, spec.shape) for spec in test.outputs] != [(BOOL, ())]:
        raise BadArgument.here("the condition of a loop gives one bool without axes")
    _same_results(carried, step)
    count = len(carried)
    attributes: dict[str, Any] = {
        "condition_operands": tuple(range(count + len(test_outside))),
        "body_operands": (
            *range(count),
            *range(count + len(test_outside), count + len(test_outside) + len(step_outside)),
        ),
        "carried": count,
    }
    if trip_count is not None:
        attributes["trip_count"] = trip_count
    return current().emit_several(
        "while",
        [*carried, *test_outside, *step_outside],
        [(tensor.shape, tensor.dtype) for tensor in carried],
        attributes,
        {"condition": test, "body": step},
    )


def if_(predicate: Tensor, true: Function, false: Function) -> tuple[Tensor, ...]:
    """Return the results of one of two functions without arguments.

    Raises:
        BadArgument: the predicate is not a single bool.
        ShapeMismatch: they give results of different shapes or types.

    """
    if predicate.dtype != BOOL or predicate.shape:
        raise BadArgument.here("a branch is chosen by one bool without axes; use np.any or np.all")
    first, first_outside = traced_body("true", [], true)
    second, second_outside = traced_body("false", [], false)
    results = [(spec.shape, spec.dtype) for spec in first.outputs]
    if [(spec.shape, spec.dtype) for spec in second.outputs] != results:
        raise ShapeMismatch.here(
            "both branches give results of the same shapes and types; convert them with astype"
        )
    middle = 1 + len(first_outside)
    attributes = {
        "true_operands": tuple(range(1, middle)),
        "false_operands": tuple(range(middle, middle + len(second_outside))),
    }
    operands = [predicate, *first_outside, *second_outside]
    graphs = {"true": first, "false": second}
    return current().emit_several("if", operands, results, attributes, graphs)


def _same_results(carried: Sequence[Tensor], body: Graph) -> None:
    given = [(tensor.shape, tensor.dtype) for tensor in carried]
    for number, (wanted, spec) in enumerate(zip(given, body.outputs, strict=False)):
        if wanted != (spec.shape, spec.dtype):
            raise ShapeMismatch.here(
                f"the body of a loop gives {spec.dtype.name}{list(spec.shape)} as value {number}, "
                f"and what it was given is {wanted[1].name}{list(wanted[0])}; "
                "give the same shape and type"
            )
    if len(given) != len(body.outputs):
        raise BadArgument.here(
            f"the body of a loop gives {len(body.outputs)} values, and carries {len(given)}"
        )
