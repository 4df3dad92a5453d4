"""Semantics of collectives: replica 0 of a group whose other replicas have the same tensor."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import wide_dtype
from kvtrace.addons.graphs.hlo.meanings import meaning
from kvtrace.addons.graphs.hlo.meanings.structural import REDUCERS
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


def _group(op: Op) -> tuple[int, ...]:
    return next(group for group in op.attributes["replica_groups"] if 0 in group)


def _own_part(op: Op, array: Array, axis: int) -> Array:
    group = _group(op)
    return np.split(array, len(group), axis)[group.index(0)]


@meaning("all_reduce")
def _all_reduce(op: Op, x: Array) -> Array:
    wide = x.astype(wide_dtype(x.dtype))
    total = wide
    for _ in _group(op)[1:]:
        total = REDUCERS[op.attributes["reducer"]](total, wide)
    return np.asarray(total).astype(x.dtype)


@meaning("all_gather")
def _all_gather(op: Op, x: Array) -> Array:
    return np.concatenate([x] * len(_group(op)), op.attributes["all_gather_dim"])


@meaning("reduce_scatter")
def _reduce_scatter(op: Op, x: Array) -> Array:
    return _own_part(op, _all_reduce(op, x), op.attributes["scatter_dimension"])


@meaning("all_to_all")
def _all_to_all(op: Op, x: Array) -> Array:
    received = _own_part(op, x, op.attributes["split_dimension"])
    return np.concatenate([received] * len(_group(op)), op.attributes["concat_dimension"])
