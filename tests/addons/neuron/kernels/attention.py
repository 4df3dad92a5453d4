"""Attention, forward: scores, softmax and values fused, so that no score leaves the chip."""

from typing import Any

import ml_dtypes
import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal
from tests.addons.neuron.kernels.norms import softmax

TILE = 128


@older.jit
def attention_fused(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    """Attend from each 128 rows of queries to all keys; arguments are (sequence, head)."""
    length, head = q.shape
    tiles = length // TILE
    result = nl.ndarray((length, head), dtype=q.dtype, buffer=nl.shared_hbm)
    hp, hf = nl.mgrid[0:head, 0:TILE]
    sp, sf = nl.mgrid[0:TILE, 0:TILE]
    vp, vf = nl.mgrid[0:TILE, 0:head]
    keys = nl.ndarray((tiles, nl.par_dim(head), TILE), dtype=q.dtype)
    values = nl.ndarray((nl.par_dim(TILE), tiles, head), dtype=q.dtype)
    for j in nl.affine_range(tiles):
        keys[j, hp, hf] = nl.transpose(nl.load(k[nl.ds(j * TILE, TILE), 0:head]))
        values[vp, j, vf] = nl.load(v[j * TILE + vp, vf])
    for i in nl.affine_range(tiles):
        queries = nl.copy(nl.transpose(nl.load(q[nl.ds(i * TILE, TILE), 0:head])))
        queries = nl.multiply(queries, head**-0.5, dtype=q.dtype)
        scores = nl.ndarray((nl.par_dim(TILE), length), dtype=nl.float32)
        for j in nl.affine_range(tiles):
            product = nl.zeros((nl.par_dim(TILE), TILE), nl.float32, buffer=nl.psum)
            product[...] += nisa.nc_matmul(queries, keys[j, hp, hf])
            scores[sp, j * TILE + sf] = nisa.affine_select(
                pred=(i * TILE + sp >= j * TILE + sf) if causal else (sp >= 0),
                on_true_tile=product[sp, sf],
                on_false_value=-1e30,
            )
        lowest = nisa.tensor_reduce(np.max, scores, axis=(1,), negate=True)
        powers = nisa.activation(np.exp, scores, bias=lowest)
        inverse = 1.0 / nl.sum(powers, axis=1)
        total = nl.zeros((nl.par_dim(TILE), head), nl.float32, buffer=nl.psum)
        for j in nl.affine_range(tiles):
            turned = nl.copy(nisa.nc_transpose(powers[sp, j * TILE + sf]), dtype=q.dtype)
            total[...] += nisa.nc_matmul(turned, values[vp, j, vf])
        nl.store(result[nl.ds(i * TILE, TILE), 0:head], value=total * inverse)
    return result


@newer.jit
def attention_into(q: Any, k: Any, v: Any) -> Any:
    """Attend within one tile of 128 rows; q and k are (head, sequence), v is (sequence, head)."""
    head, length = q.shape
    queries = nl2.load(q)
    keys = nl2.load(k)
    values = nl2.load(v)
    product = nl2.ndarray((length, length), dtype=nl2.float32, buffer=nl2.psum)
    nisa2.nc_matmul(dst=product, stationary=queries, moving=keys)
    greatest = nl2.ndarray((length, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_reduce(dst=greatest, op=nl2.maximum, data=product, axis=(1,))
    scores = nl2.ndarray((length, length), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_scalar(
        dst=scores,
        data=product,
        op0=nl2.subtract,
        operand0=greatest,
        op1=nl2.multiply,
        operand1=head**-0.5,
    )
    powers = nl2.ndarray((length, length), dtype=nl2.float32, buffer=nl2.sbuf)
    total = nl2.ndarray((length, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.activation_reduce(
        dst=powers, op=nl2.exp, data=scores, reduce_op=nl2.add, reduce_res=total
    )
    turned = nl2.ndarray((length, length), dtype=nl2.float32, buffer=nl2.psum)
    nisa2.nc_transpose(dst=turned, data=powers)
    weights = nl2.ndarray((length, length), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=weights, src=turned)
    attended = nl2.ndarray((length, head), dtype=nl2.float32, buffer=nl2.psum)
    nisa2.nc_matmul(dst=attended, stationary=weights, moving=values)
    inverse = nl2.ndarray((length, 1), dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.reciprocal(dst=inverse, data=total)
    scaled = nl2.ndarray((length, head), dtype=q.dtype, buffer=nl2.sbuf)
    nisa2.tensor_scalar(dst=scaled, data=attended, op0=nl2.multiply, operand0=inverse)
    result = nl2.ndarray((length, head), dtype=q.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=result, src=scaled)
    return result


def _attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    wide = [each_one.astype(np.float64) for each_one in (q, k, v)]
    scores = wide[0] @ wide[1].T * q.shape[1] ** -0.5
    if causal:
        scores = np.where(np.tri(*scores.shape), scores, -1e30)
    return softmax(scores) @ wide[2]


def _causal(q: Any, k: Any, v: Any) -> Any:
    return _attention(q, k, v, causal=True)


def _of_columns(q: Any, k: Any, v: Any) -> Any:
    return _attention(q.T, k.T, v)


_BF16 = ml_dtypes.bfloat16

CASES = (
    Case(attention_fused, arguments_of(*[normal(384, 64)] * 3), _attention, tolerance=1e-4),
    Case(
        attention_fused,
        arguments_of(*[normal(256, 32, dtype=_BF16)] * 3),
        _causal,
        tolerance=2e-2,
        settings={"causal": True},
    ),
    Case(
        attention_into,
        arguments_of(normal(64, 128), normal(64, 128), normal(128, 64)),
        _of_columns,
        tolerance=1e-4,
    ),
)
