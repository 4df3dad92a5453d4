"""Means and variances by instructions of the vector engine, and norms of the language."""

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
    """Return count, mean, and variance times count of the even elements, then of the odd ones."""
    tile = issue.read(data, mask)
    flat = tile.computed().reshape(tile.values.shape[0], -1)
    issue.limit(
        flat.shape[1], targets.BN_STATS_FREE, TILE_LIMIT, "the free size of a tile for bn_stats"
    )
    parts = []
    for part in (flat[:, 0::2], flat[:, 1::2]):
        count = part.shape[1]
        mean = part.mean(axis=1) if count else np.zeros(flat.shape[0], np.float32)
        spread = part.var(axis=1) * count if count else np.zeros(flat.shape[0], np.float32)
        parts += [np.full(flat.shape[0], count, np.float32), mean, spread]
    issue.flops = 4 * flat.size
    return issue.result(np.stack(parts, axis=1), dtype, tile, states=_worst(tile.states, 6))


@operation("nisa.bn_aggr", engine="vector", kind="reduce")
def bn_aggr(issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return mean and variance a partition, of triples as `bn_stats` gives them."""
    tile = issue.read(data, mask)
    flat = tile.computed().reshape(tile.values.shape[0], -1)
    if flat.shape[1] % 3:
        raise NkiError(f"bn_aggr takes triples, not {flat.shape[1]} elements a partition")
    counts, means, spreads = (flat[:, place::3] for place in range(3))
    total = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total
    between = (counts * (means - mean) ** 2).sum(axis=1, keepdims=True)
    variance = (spreads.sum(axis=1, keepdims=True) + between) / total
    issue.flops = 6 * counts.size
    values = np.concatenate([mean, variance], axis=1)
    return issue.result(values, dtype, tile, states=_worst(tile.states, 2))


def _worst(states: Any, count: int) -> Any:
    """Return the least state of each partition, for so many results of it."""
    if states is None:
        return None
    least = states.reshape(states.shape[0], -1).min(axis=1, keepdims=True)
    return np.repeat(least, count, axis=1)


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
    spread = None if states is None else np.broadcast_to(states, powers.shape)
    return issue.result(powers / total, dtype, tile, states=spread, mask=mask)


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
    weights = issue.read(w, _of_operand(mask, tile.values.shape, w))
    axes = free_axes(axis, tile.values.ndim)
    values = tile.computed()
    squares = values * values
    if mask is not None:
        squares = np.where(_lanes(mask, squares.shape), squares, 0)
    scale = 1 / np.sqrt(squares.sum(axis=axes, keepdims=True) / np.float32(n) + np.float32(epsilon))
    issue.flops = 4 * values.size
    return issue.result(values * scale * weights.computed(), dtype, tile, weights, mask=mask)


def _of_operand(mask: Any, shape: tuple[int, ...], operand: Any) -> Any:
    return lanes_within(mask, shape, operand.shape) if isinstance(operand, Tensor) else None


def _lanes(mask: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(lanes_of(mask), shape)


@operation("nl.dropout", engine="vector", kind="elementwise")
def dropout(issue: Issue, x: Any, rate: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Set elements to zero at random, each with a probability; the same ones in every run."""
    return _with_zeros(issue, x, rate, dtype, mask)


def _with_zeros(issue: Issue, data: Any, chances: Any, dtype: Any, mask: Any) -> Result:
    tile = issue.read(data, mask)
    chance = issue.read(chances, _of_operand(mask, tile.values.shape, chances))
    kept = issue.run.random.random(tile.values.shape) >= chance.computed()
    return issue.result(np.where(kept, tile.computed(), 0), dtype, tile, chance, mask=mask)


@operation("nisa.dropout", engine="vector", kind="elementwise")
def dropout_by_chance(
    issue: Issue, data: Any, prob: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Set elements to zero at random, each with a probability, which may be one a partition."""
    return _with_zeros(issue, data, prob, dtype, mask)
