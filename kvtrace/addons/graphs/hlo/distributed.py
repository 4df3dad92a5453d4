"""Collectives: ops that combine the tensors of replicas.

Each replica runs the same graph. `replica_groups` lists the groups of replicas that exchange data;
every replica is in one group, and all groups have one size. By NumPy a graph runs as replica 0, as
if the others had the same inputs.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axis_of
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.dtypes import BOOL
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.outside import usable_outside
from kvtrace.addons.graphs.hlo.primitives import Operand, lift
from kvtrace.addons.graphs.hlo.wrapper import Tensor

Groups = Sequence[Sequence[int]]

_REDUCERS: Final[dict[Any, str]] = {
    np.add: "add",
    np.multiply: "multiply",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.logical_and: "and",
    np.logical_or: "or",
}


@usable_outside
def all_reduce(data: Operand, replica_groups: Groups, reduce_op: Any = np.add) -> Tensor:
    """Return the tensors of all replicas of a group, reduced element by element by a ufunc."""
    x = lift(data)
    attributes = {"replica_groups": _groups(replica_groups), "reducer": _reducer(x, reduce_op)}
    return current().emit("all_reduce", (x,), x.shape, x.dtype, attributes)


@usable_outside
def all_gather(data: Operand, all_gather_dim: int, replica_groups: Groups) -> Tensor:
    """Return the tensors of a group's replicas, in its order, concatenated along an axis."""
    x, groups = lift(data), _groups(replica_groups)
    axis = axis_of(all_gather_dim, len(x.shape))
    shape = _with_extent(x, axis, x.shape[axis] * len(groups[0]))
    attributes = {"all_gather_dim": axis, "replica_groups": groups}
    return current().emit("all_gather", (x,), shape, x.dtype, attributes)


@usable_outside
def reduce_scatter(
    data: Operand, reduce_scatter_dim: int, replica_groups: Groups, reduce_op: Any = np.add
) -> Tensor:
    """Return this replica's equal share, along an axis, of the result of `all_reduce`."""
    x, groups = lift(data), _groups(replica_groups)
    axis = axis_of(reduce_scatter_dim, len(x.shape))
    shape = _with_extent(x, axis, _split_extent(x, axis, len(groups[0])))
    attributes = {
        "scatter_dimension": axis,
        "replica_groups": groups,
        "reducer": _reducer(x, reduce_op),
    }
    return current().emit("reduce_scatter", (x,), shape, x.dtype, attributes)


@usable_outside
def all_to_all(
    data: Operand, split_dimension: int, concat_dimension: int, replica_groups: Groups
) -> Tensor:
    """Return the parts, along `split_dimension`, that the group's replicas send here, joined."""
    x, groups = lift(data), _groups(replica_groups)
    split = axis_of(split_dimension, len(x.shape))
    concat = axis_of(concat_dimension, len(x.shape))
    group_size = len(groups[0])
    extents = list(x.shape)
    extents[split] = _split_extent(x, split, group_size)
    extents[concat] *= group_size
    attributes = {
        "split_dimension": split,
        "concat_dimension": concat,
        "split_count": group_size,
        "replica_groups": groups,
    }
    return current().emit("all_to_all", (x,), tuple(extents), x.dtype, attributes)


def _groups(groups: Groups) -> tuple[tuple[int, ...], ...]:
    """Return the groups as tuples, if they name each replica once and have one size.

    Raises:
        BadArgument: A replica is missing or named twice, or groups have different sizes.

    """
    checked = tuple(tuple(int(replica) for replica in group) for group in groups)
    replicas = [replica for group in checked for replica in group]
    if not replicas or sorted(replicas) != list(range(len(replicas))):
        raise BadArgument.here(
            f"replica groups {list(map(list, checked))} do not name each replica from 0 on once"
        )
    if len({len(group) for group in checked}) != 1:
        raise BadArgument.here(f"replica groups {list(map(list, checked))} have different sizes")
    return checked


def _reducer(x: Tensor, reduce_op: Any) -> str:
    name = _REDUCERS.get(reduce_op)
    if name is None:
        choices = ", ".join(f"np.{ufunc.__name__}" for ufunc in _REDUCERS)
        raise BadArgument.here(f"replicas cannot be reduced by {reduce_op!r}; use one of {choices}")
    if name in ("and", "or") and x.dtype != BOOL:
        raise BadArgument.here("logical collectives need bools; compare with zero first")
    return name


def _split_extent(x: Tensor, axis: int, count: int) -> int:
    if x.shape[axis] % count:
        raise ShapeMismatch.here(
            f"axis {axis} of shape {list(x.shape)} cannot be split evenly among {count} replicas"
        )
    return x.shape[axis] // count


def _with_extent(x: Tensor, axis: int, extent: int) -> tuple[int, ...]:
    return (*x.shape[:axis], extent, *x.shape[axis + 1 :])
