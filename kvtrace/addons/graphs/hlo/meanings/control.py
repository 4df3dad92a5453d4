"""Semantics of loops, branches, and calls of kernels."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.meanings import body_arguments, meaning
from kvtrace.addons.graphs.hlo.op import Op


@meaning("while")
def _while(op: Op, *operands: Any) -> tuple[Any, ...]:
    from kvtrace.addons.graphs.hlo.run import evaluate

    assert op.graphs is not None
    carried_count = op.attributes["carried"]
    values = list(operands)
    while evaluate(op.graphs["condition"], body_arguments(op, "condition", values))[0]:
        values[:carried_count] = evaluate(op.graphs["body"], body_arguments(op, "body", values))
    return tuple(values[:carried_count])


@meaning("if")
def _if(op: Op, predicate: Any, *outside: Any) -> tuple[Any, ...]:
    from kvtrace.addons.graphs.hlo.run import evaluate

    assert op.graphs is not None
    role = "true" if predicate else "false"
    return evaluate(op.graphs[role], body_arguments(op, role, [predicate, *outside]))


@meaning("custom_call")
def _call(op: Op, *operands: Any) -> tuple[Any, ...]:
    assert op.calls is not None
    return tuple(np.asarray(result) for result in op.calls(*operands))
