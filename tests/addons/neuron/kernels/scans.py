"""A selective scan, as state space models have it: channels are partitions, time the free axis."""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal


@older.jit
def selective_scan(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    """Sum over states of `c × h`, where `h[t] = exp(delta × a) × h[t - 1] + delta × u × b`."""
    channels, length = delta.shape
    states = a.shape[1]
    result = nl.ndarray((channels, length), dtype=delta.dtype, buffer=nl.shared_hbm)
    for tile in nl.affine_range(channels // 128):
        rows = nl.ds(tile * 128, 128)
        steps = nl.load(delta[rows, 0:length])
        inputs = nisa.tensor_tensor(steps, nl.load(u[rows, 0:length]), nl.multiply)
        total = nl.zeros((nl.par_dim(128), length), dtype=nl.float32)
        for state in nl.affine_range(states):
            decay = nisa.activation(nl.exp, steps, scale=nl.load(a[rows, state]))
            entering = nl.load(b[state : state + 1, 0:length]).broadcast_to((128, length))
            leaving = nl.load(c[state : state + 1, 0:length]).broadcast_to((128, length))
            driven = nisa.tensor_tensor(inputs, entering, op=nl.multiply)
            loaded = nisa.tensor_tensor_scan(decay, driven, 0.0, np.multiply, np.add)
            total[...] += nisa.tensor_tensor(loaded, leaving, op=nl.multiply)
        nl.store(result[rows, 0:length], value=total)
    return result


@newer.jit
def scan_in_parts(decay: Any, driven: Any, part: int = 32) -> Any:
    """Scan `h[t] = decay[t] × h[t - 1] + driven[t]` in parts, each from the previous part's end."""
    rows, length = decay.shape
    result = nl2.ndarray((rows, length), dtype=decay.dtype, buffer=nl2.shared_hbm)
    carry = nl2.zeros((rows, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    for step in nl2.sequential_range(length // part):
        here = nl2.ds(step * part, part)
        factors = nl2.load(decay[:, here])
        addends = nl2.load(driven[:, here])
        tile = nl2.ndarray((rows, part), dtype=nl2.float32, buffer=nl2.sbuf)
        nisa2.tensor_tensor_scan(
            dst=tile, data0=factors, data1=addends, initial=carry, op0=nl2.multiply, op1=nl2.add
        )
        nisa2.tensor_copy(dst=carry, src=tile[:, part - 1 : part])
        nisa2.dma_copy(dst=result[:, here], src=tile)
    return result


def _selective(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    tile = np.zeros((delta.shape[0], a.shape[1]))
    result = np.empty(delta.shape)
    for t in range(delta.shape[1]):
        decay = np.exp(delta[:, t : t + 1].astype(np.float64) * a)
        tile = decay * tile + (delta[:, t] * u[:, t])[:, None] * b[None, :, t]
        result[:, t] = tile @ c[:, t]
    return result


def _scanned(decay: Any, driven: Any) -> Any:
    tile, result = np.zeros(decay.shape[0]), np.empty(decay.shape)
    for t in range(decay.shape[1]):
        tile = decay[:, t].astype(np.float64) * tile + driven[:, t]
        result[:, t] = tile
    return result


def _positive(*shape: int) -> Any:
    return lambda random: random.random(shape, np.float32) * np.float32(0.5)


CASES = (
    Case(
        selective_scan,
        arguments_of(
            _positive(256, 64),
            normal(256, 64),
            lambda random: -random.random((256, 4), np.float32),
            normal(4, 64),
            normal(4, 64),
        ),
        _selective,
        tolerance=1e-4,
    ),
    Case(
        scan_in_parts, arguments_of(_positive(100, 128), normal(100, 128)), _scanned, tolerance=1e-4
    ),
)
