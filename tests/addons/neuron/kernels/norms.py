"""Normalization of rows: layer norm, RMS norm, and fused softmax, each with a masked last tile."""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal


@older.jit
def layer_norm(source: Any, gain: Any, shift: Any, epsilon: float = 1e-5) -> Any:
    """Return rows minus their mean, divided by their deviation, by the language's reductions."""
    rows, columns = source.shape
    normed = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:128, 0:columns]
    gains = nl.load(gain.reshape((1, columns))).broadcast_to((128, columns))
    shifts = nl.load(shift.reshape((1, columns))).broadcast_to((128, columns))
    for tile in nl.affine_range((rows + 127) // 128):
        inside = tile * 128 + p < rows
        loaded = nl.load(source[tile * 128 + p, f], mask=inside)
        centered = nl.subtract(loaded, nl.mean(loaded, axis=1), mask=inside)
        variance = nl.mean(nl.square(centered), axis=1)
        scaled = nl.multiply(centered, nl.rsqrt(variance + epsilon), mask=inside)
        result = scaled * gains + shifts
        nl.store(normed[tile * 128 + p, f], value=result, mask=inside)
    return normed


@older.jit
def rms_norm(source: Any, gain: Any, epsilon: float = 1e-6) -> Any:
    """Return rows divided by the root of their mean square."""
    rows, columns = source.shape
    normed = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    row, column = nl.arange(128)[:, None], nl.arange(columns)[None, :]
    gains = nl.load(gain.reshape((1, columns))[nl.arange(1)[:, None], column])
    for tile in nl.affine_range((rows + 127) // 128):
        inside = tile * 128 + row < rows
        loaded = nl.load(source[tile * 128 + row, column], mask=inside)
        total = nl.sum(nl.square(loaded), axis=[1])
        scaled = loaded * nl.rsqrt(total / columns + epsilon)
        weights = gains.broadcast_to((128, columns))
        result = nl.multiply(scaled, weights, mask=inside)
        nl.store(normed[tile * 128 + row, column], value=result, mask=inside)
    return normed


@older.jit
def softmax_fused(source: Any) -> Any:
    """Take the largest, the powers and their sum of a tile that is loaded once."""
    rows, columns = source.shape
    result = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:128, 0:columns]
    for tile in nl.affine_range((rows + 127) // 128):
        inside = tile * 128 + p < rows
        loaded = nl.load(source[tile * 128 + p, f], mask=inside)
        lowest = nisa.tensor_reduce(np.max, loaded, axis=(1,), negate=True)
        total = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32)
        powers = nisa.activation_reduce(
            np.exp, loaded, bias=lowest, reduce_op=np.add, reduce_res=total
        )
        share = nisa.tensor_scalar(powers, np.multiply, nl.reciprocal(total))
        nl.store(result[tile * 128 + p, f], value=share, mask=inside)
    return result


@newer.jit(platform_target="trn3")
def softmax_into(source: Any) -> Any:
    """Softmax of at most 128 rows, with destinations."""
    rows, columns = source.shape
    tile = nl2.ndarray((rows, columns), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=tile, src=source)
    greatest = nl2.ndarray((rows, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_reduce(dst=greatest, op=nl2.maximum, data=tile, axis=(1,))
    powers = nl2.ndarray((rows, columns), dtype=nl2.float32, buffer=nl2.sbuf)
    total = nl2.ndarray((rows, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_scalar(dst=tile, data=tile, op0=nl2.subtract, operand0=greatest)
    nisa2.activation_reduce(dst=powers, op=nl2.exp, data=tile, reduce_op=nl2.add, reduce_res=total)
    inverse = nl2.ndarray((rows, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.reciprocal(dst=inverse, data=total)
    nisa2.tensor_scalar(dst=powers, data=powers, op0=nl2.multiply, operand0=inverse)
    result = nl2.ndarray((rows, columns), dtype=source.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=result, src=powers)
    return result


def _layer_norm(source: Any, gain: Any, shift: Any) -> Any:
    wide = source.astype(np.float64)
    centered = wide - wide.mean(axis=1, keepdims=True)
    return centered / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * gain + shift


def _rms_norm(source: Any, gain: Any) -> Any:
    wide = source.astype(np.float64)
    return wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6) * gain


def softmax(source: Any) -> Any:
    """Softmax of rows in float64."""
    powers = np.exp(source.astype(np.float64) - source.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


CASES = (
    Case(layer_norm, arguments_of(normal(200, 96), normal(96), normal(96)), _layer_norm),
    Case(rms_norm, arguments_of(normal(300, 64), normal(64)), _rms_norm),
    Case(softmax_fused, arguments_of(normal(150, 80)), softmax),
    Case(softmax_into, arguments_of(normal(100, 160)), softmax),
)
