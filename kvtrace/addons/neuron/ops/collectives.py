"""Collectives of ranks: a launch runs as rank 0, as if all ranks had the same tensors.

Collectives of NumPy graphs make the same assumption.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE
from kvtrace.addons.neuron.operations import Issue, Operation, Result, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token, token_of

RANK = 0

_REDUCTIONS = ("add", "maximum", "minimum")


def group_of(replica_group: Any) -> list[int]:
    """Return the ranks of the group that contains rank 0.

    Raises:
        NkiError: no group contains rank 0.
    """
    groups = getattr(replica_group, "groups", replica_group)
    for group in groups:
        if RANK in group:
            return [int(rank) for rank in group]
    raise NkiError(f"a launch runs as rank {RANK}, and no group of {groups} contains that rank")


def _read(issue: Issue, src: Any) -> Any:
    destination = issue.destination
    assert destination is not None
    if isinstance(src, Tensor) and src.on_chip != destination.on_chip:
        issue.report(
            MEMORY_SPACE, f"{issue.operation.name} has one operand in device memory and one in SBUF"
        )
    return issue.read(src, device=True)


@operation("ncc.all_reduce", engine="dma", kind="reduce")
def all_reduce(issue: Issue, src: Any, group: list[int], op: Any) -> Result:
    """Return a tensor reduced by `op` over the ranks of a group."""
    source = _read(issue, src)
    return issue.result(_reduced(issue, source.computed(), group, op), src.dtype, source)


def _reduction_of(op: Any) -> Token:
    token = token_of(op, 2)
    if token.name not in _REDUCTIONS:
        raise NkiError(f"collectives reduce by {', '.join(_REDUCTIONS)}, not by {token!r}")
    return token


def _reduced(issue: Issue, values: NDArray[Any], group: list[int], op: Any) -> NDArray[Any]:
    token = _reduction_of(op)
    total = values
    for _ in group[1:]:
        total = token.apply(total, values)
        issue.flops += values.size
    return total


@operation("ncc.all_gather", engine="dma", kind="other")
def all_gather(issue: Issue, src: Any, group: list[int], dim: int) -> Result:
    """Return the tensor, which all ranks are assumed to hold, once per rank along a dimension."""
    source = _read(issue, src)
    return issue.result(np.concatenate([source.values] * len(group), axis=dim), src.dtype)


@operation("ncc.reduce_scatter", engine="dma", kind="reduce")
def reduce_scatter(issue: Issue, src: Any, group: list[int], dim: int, op: Any) -> Result:
    """Return this rank's part, along a dimension, of a tensor reduced over a group's ranks."""
    source = _read(issue, src)
    total = _reduced(issue, source.computed(), group, op)
    return issue.result(_equal_parts(total, group, dim)[group.index(RANK)], src.dtype)


def _equal_parts(values: NDArray[Any], group: list[int], dim: int) -> list[NDArray[Any]]:
    if values.shape[dim] % len(group):
        raise NkiError(
            f"dimension {dim} of {values.shape} cannot be split into {len(group)} equal parts"
        )
    return np.split(values, len(group), axis=dim)


@operation("ncc.all_to_all", engine="dma", kind="other")
def all_to_all(issue: Issue, src: Any, group: list[int], dim: int) -> Result:
    """Return the parts that all ranks of a group send to this rank, concatenated."""
    source = _read(issue, src)
    received_part = _equal_parts(source.values, group, dim)[group.index(RANK)]
    return issue.result(np.concatenate([received_part] * len(group), axis=dim), src.dtype)


@operation("ncc.collective_permute", engine="dma", kind="other")
def receive(issue: Issue, src: Any) -> Result:
    """Return the tensor that another rank sends, which is equal to this rank's."""
    source = _read(issue, src)
    return issue.result(source.values, src.dtype, source)


@operation("ncc.collective_permute_implicit_reduce", engine="dma", kind="reduce")
def receive_reduced(issue: Issue, src0: Any, src1: Any, op: Any) -> Result:
    """Return the reduction of the two tensors that the previous rank sends."""
    left, right = _read(issue, src0), _read(issue, src1)
    token = _reduction_of(op)
    issue.flops = left.values.size
    total = token.apply(left.computed(), right.computed())
    return issue.result(total, src0.dtype, left, right)


def _with_variable_counts(name: str, same: bool, doc: str) -> Operation:
    """Return a collective of element counts in a tensor; `same`: all ranks get equal elements.

    Rows of `metadata`, per rank: number of elements sent, and their offset (with `same`, in the
    first column); number received (written here unless `has_receive_counts`), and their offset (if
    `has_receive_offsets`; else equally spaced).
    """

    def receive(
        issue: Issue,
        src: Any,
        metadata: Tensor,
        group: list[int],
        has_receive_counts: bool,
        has_receive_offsets: bool,
    ) -> Result:
        source = _read(issue, src)
        destination = issue.destination
        assert destination is not None
        rows = issue.read(metadata, device=True).values.reshape(-1, len(group)).astype(np.int64)
        if rows.shape[0] < (4 if has_receive_offsets else 3):
            raise NkiError(f"metadata of {issue.operation.name} has {rows.shape[0]} rows, too few")
        column = 0 if same else group.index(RANK)
        count, source_offset = int(rows[0, column]), int(rows[1, column])
        chunk = source.values.reshape(-1)[source_offset : source_offset + count]
        values = np.array(destination.array().reshape(-1))
        for rank in range(len(group)):
            offset = int(rows[3, rank]) if has_receive_offsets else values.size // len(group) * rank
            if chunk.size != count or offset + count > values.size:
                raise NkiError(
                    f"{issue.operation.name} copies {count} elements from offset {source_offset} "
                    f"to offset {offset}, which exceeds the source or the destination"
                )
            values[offset : offset + count] = chunk
        if not has_receive_counts:
            counts = metadata.reshape(-1, len(group)) if metadata.ndim > 2 else metadata
            issue.add_result(
                counts[2:3], issue.result(np.full((1, len(group)), count), metadata.dtype)
            )
        return issue.result(values.reshape(destination.shape), src.dtype, states=None)

    receive.__doc__ = doc
    return operation(f"ncc.{name}", engine="dma", kind="other")(receive)


all_to_all_v = _with_variable_counts(
    "all_to_all_v",
    same=False,
    doc="Return the destination with the elements that a group's ranks send to this rank.",
)
all_gather_v = _with_variable_counts(
    "all_gather_v",
    same=True,
    doc="Return the destination with the elements that each rank of a group sends to all ranks.",
)
