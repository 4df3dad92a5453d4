"""Means, variances, norms, softmax and dropout."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron import targets
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import TILE_LIMIT
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.reductions import free_axes, reduced
from kvtrace.addons.neuron.selections import lanes_within
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of


@operation("nisa.bn_stats", engine="vector", kind="reduce")
def bn_stats(issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return count, mean and count × variance of the even elements, then of the odd elements."""
    tile = issue.read(data, mask)
    rows = tile.computed().reshape(tile.values.shape[0], -1)
    issue.limit(
        rows.shape[1], targets.BN_STATS_FREE, TILE_LIMIT, "the free size of a tile for bn_stats"
    )
    triples = []
    for part in (rows[:, 0::2], rows[:, 1::2]):
        count = part.shape[1]
        mean = part.mean(axis=1) if count else np.zeros(rows.shape[0], np.float32)
        scaled_variance = part.var(axis=1) * count if count else np.zeros(rows.shape[0], np.float32)
        triples += [np.full(rows.shape[0], count, np.float32), mean, scaled_variance]
    issue.flops = 4 * rows.size
    return issue.result(
        np.stack(triples, axis=1), dtype, tile, states=_lowest_states(tile.states, 6)
    )


@operation("nisa.bn_aggr", engine="vector", kind="reduce")
def bn_aggr(issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return mean and variance per partition, from triples that `bn_stats` returns."""
    tile = issue.read(data, mask)
    rows = tile.computed().reshape(tile.values.shape[0], -1)
    if rows.shape[1] % 3:
        raise NkiError(f"bn_aggr needs triples, not {rows.shape[1]} elements per partition")
    counts, means, scaled_variances = (rows[:, offset::3] for offset in range(3))
    total_count = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total_count
    variance_of_means = (counts * (means - mean) ** 2).sum(axis=1, keepdims=True)
    variance = (scaled_variances.sum(axis=1, keepdims=True) + variance_of_means) / total_count
    issue.flops = 6 * counts.size
    values = np.concatenate([mean, variance], axis=1)
    return issue.result(values, dtype, tile, states=_lowest_states(tile.states, 2))


def _lowest_states(states: Any, count: int) -> Any:
    """Return the lowest state of each partition, repeated `count` times; None stays None."""
    if states is None:
        return None
    lowest = states.reshape(states.shape[0], -1).min(axis=1, keepdims=True)
    return np.repeat(lowest, count, axis=1)


@operation("nl.softmax", engine="scalar", kind="reduce")
def softmax(
    issue: Issue,
    x: Any,
    axis: Any,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `exp(x - max) / sum` over free dimensions."""
    del compute_dtype
    tile = issue.read(x, mask)
    axes = free_axes(axis, tile.values.ndim)
    greatest, states = reduced(token_of("maximum"), tile, axes, mask, keepdims=True)
    powers = np.exp(tile.computed() - greatest)
    weights = powers if mask is None else np.where(_lanes(mask, powers.shape), powers, 0)
    total = weights.sum(axis=axes, keepdims=True)
    issue.flops = 4 * powers.size
    result_states = None if states is None else np.broadcast_to(states, powers.shape)
    return issue.result(powers / total, dtype, tile, states=result_states, mask=mask)


@operation("nl.rms_norm", engine="vector", kind="reduce")
def rms_norm(
    issue: Issue,
    x: Any,
    w: Any,
    axis: Any,
    n: Any,
    epsilon: float = 1e-6,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `x × w / sqrt(sum(x²) / n + epsilon)` over free dimensions."""
    del compute_dtype
    tile = issue.read(x, mask)
    weights = issue.read(w, _operand_mask(mask, tile.values.shape, w))
    axes = free_axes(axis, tile.values.ndim)
    values = tile.computed()
    squares = values * values
    if mask is not None:
        squares = np.where(_lanes(mask, squares.shape), squares, 0)
    scale = 1 / np.sqrt(squares.sum(axis=axes, keepdims=True) / np.float32(n) + np.float32(epsilon))
    issue.flops = 4 * values.size
    return issue.result(values * scale * weights.computed(), dtype, tile, weights, mask=mask)


def _operand_mask(mask: Any, shape: tuple[int, ...], operand: Any) -> Any:
    return lanes_within(mask, shape, operand.shape) if isinstance(operand, Tensor) else None


def _lanes(mask: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(lanes_of(mask), shape)


@operation("nl.dropout", engine="vector", kind="elementwise")
def dropout(issue: Issue, x: Any, rate: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return a tile with elements set to zero with probability `rate`, equally in every run."""
    return _dropped_out(issue, x, rate, dtype, mask)


def _dropped_out(issue: Issue, data: Any, probabilities: Any, dtype: Any, mask: Any) -> Result:
    tile = issue.read(data, mask)
    probability = issue.read(probabilities, _operand_mask(mask, tile.values.shape, probabilities))
    is_kept = issue.run.random.random(tile.values.shape) >= probability.computed()
    return issue.result(np.where(is_kept, tile.computed(), 0), dtype, tile, probability, mask=mask)


@operation("nisa.dropout", engine="vector", kind="elementwise")
def dropout_by_chance(
    issue: Issue, data: Any, prob: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return a tile with elements set to zero with probability `prob`, a number or column."""
    return _dropped_out(issue, data, prob, dtype, mask)
