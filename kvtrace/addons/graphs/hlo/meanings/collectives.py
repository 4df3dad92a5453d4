"""Semantics of collectives, given the operands of every replica."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import FLOAT32, is_float
from kvtrace.addons.graphs.hlo.meanings import collective
from kvtrace.addons.graphs.hlo.meanings.structural import REDUCERS
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


def _by_replica(op: Op, count: int, results: dict[int, Any]) -> list[Any]:
    """Return the results as a list by replica; replicas without a result get zeros."""
    return [results.get(replica, np.zeros(op.shape, op.dtype)) for replica in range(count)]


def _reduced(op: Op, arrays: list[Array]) -> Array:
    function = REDUCERS[op.attributes["reducer"]]
    dtype = arrays[0].dtype
    if is_float(dtype) and dtype.itemsize < FLOAT32.itemsize:
        arrays = [array.astype(FLOAT32) for array in arrays]
    result = arrays[0]
    for array in arrays[1:]:
        result = function(result, array)
    return np.asarray(result).astype(dtype)


@collective("all_reduce")
def _all_reduce(op: Op, operands: list[list[Array]]) -> list[Any]:
    results: dict[int, Any] = {}
    for group in op.attributes["replica_groups"]:
        total = _reduced(op, [operands[replica][0] for replica in group])
        results |= dict.fromkeys(group, total)
    return _by_replica(op, len(operands), results)


@collective("all_gather")
def _all_gather(op: Op, operands: list[list[Array]]) -> list[Any]:
    results: dict[int, Any] = {}
    for group in op.attributes["replica_groups"]:
        parts = [operands[replica][0] for replica in group]
        results |= dict.fromkeys(group, np.concatenate(parts, op.attributes["all_gather_dim"]))
    return _by_replica(op, len(operands), results)


@collective("reduce_scatter")
def _reduce_scatter(op: Op, operands: list[list[Array]]) -> list[Any]:
    results: dict[int, Any] = {}
    for group in op.attributes["replica_groups"]:
        total = _reduced(op, [operands[replica][0] for replica in group])
        parts = np.split(total, len(group), op.attributes["scatter_dimension"])
        results |= dict(zip(group, parts, strict=True))
    return _by_replica(op, len(operands), results)


@collective("all_to_all")
def _all_to_all(op: Op, operands: list[list[Array]]) -> list[Any]:
    split, concat = op.attributes["split_dimension"], op.attributes["concat_dimension"]
    results: dict[int, Any] = {}
    for group in op.attributes["replica_groups"]:
        parts = [np.split(operands[replica][0], len(group), split) for replica in group]
        for position, replica in enumerate(group):
            results[replica] = np.concatenate([pieces[position] for pieces in parts], concat)
    return _by_replica(op, len(operands), results)


@collective("collective_permute")
def _collective_permute(op: Op, operands: list[list[Array]]) -> list[Any]:
    pairs = op.attributes["source_target_pairs"]
    results = {target: operands[source][0] for source, target in pairs}
    return _by_replica(op, len(operands), results)


@collective("replica_id")
def _replica_id(op: Op, operands: list[list[Array]]) -> list[Any]:
    return [np.asarray(replica, op.dtype) for replica in range(len(operands))]
