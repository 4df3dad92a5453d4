"""Instructions of the newer interface that evaluate an access pattern."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of

#: Maximum number of dimensions of a pattern (reference of `nki.isa.iota`).
_DIMENSIONS = 4


def _pattern_values(
    destination: Tensor, pattern: Any, offset: int, multiplier: int
) -> NDArray[Any]:
    """Return `offset + partition × multiplier + Σ index × step` for each element of a tile.

    `pattern` is `[[step, count], …]`; the last index varies fastest.

    Raises:
        NkiError: the product of the counts is not the tile's number of elements per partition.
    """
    steps_and_counts = [(int(step), int(count)) for step, count in pattern]
    free_size = destination.size // destination.shape[0]
    pattern_size = int(np.prod([count for _, count in steps_and_counts], dtype=np.int64))
    if len(steps_and_counts) > _DIMENSIONS or pattern_size != free_size:
        raise NkiError(
            f"the pattern {pattern} has {len(steps_and_counts)} dimensions and {pattern_size} "
            f"elements; it needs up to {_DIMENSIONS}, and a partition's {free_size} elements"
        )
    sums = np.zeros(1, np.int64)
    for step, count in steps_and_counts:
        sums = (sums[:, None] + np.arange(count) * step).reshape(-1)
    partitions = np.arange(destination.shape[0])[:, None] * int(multiplier)
    return (int(offset) + partitions + sums).astype(np.int32).reshape(destination.shape)


@operation("nisa.iota", engine="gpsimd", kind="other")
def iota(issue: Issue, pattern: Any, offset: int = 0, channel_multiplier: int = 0) -> Result:
    """Return the values of a pattern, from `offset`, plus `channel_multiplier` per partition."""
    destination = issue.destination
    assert destination is not None
    values = _pattern_values(destination, pattern, offset, channel_multiplier)
    return issue.result(values, destination.dtype)


@operation("nisa.affine_select", engine="gpsimd", kind="elementwise")
def affine_select(
    issue: Issue,
    pattern: Any,
    offset: int = 0,
    channel_multiplier: int = 0,
    on_true_tile: Any = None,
    on_false_value: float = 0.0,
    cmp_op: Any = "equal",
) -> Result:
    """Return a tile's elements where `cmp_op(pattern value, 0)` is true, else a number."""
    destination = issue.destination
    assert destination is not None
    pattern_values = _pattern_values(destination, pattern, offset, channel_multiplier)
    token = token_of(cmp_op, 2)
    if token.kind != "comparison":
        raise NkiError(f"cmp_op of nisa.affine_select must be a comparison, not nl.{token.name}")
    tile = issue.read(on_true_tile)
    if tile.values.size != pattern_values.size:
        raise NkiError(
            f"affine_select needs on_true_tile and dst of one size, not {tile.values.shape}"
        )
    is_selected = np.asarray(token.apply(pattern_values, 0)).reshape(tile.values.shape)
    values = np.where(is_selected, tile.computed(), np.float32(on_false_value))
    states = None if tile.states is None else np.where(is_selected, tile.states, tile.states.max())
    return issue.result(values, None, tile, states=states)
