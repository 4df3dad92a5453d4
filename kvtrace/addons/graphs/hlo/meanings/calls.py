"""Calls of what is not a graph: kernels."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.meanings import meaning
from kvtrace.addons.graphs.hlo.op import Op


@meaning("custom_call")
def _call(op: Op, *operands: Any) -> tuple[Any, ...]:
    assert op.calls is not None
    return tuple(np.asarray(result) for result in op.calls(*operands))
