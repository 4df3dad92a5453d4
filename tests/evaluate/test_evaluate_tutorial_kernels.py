"""Dropout, layer norm and attention against torch."""

import numpy as np
import pytest
import torch

from corpus.kernels.attention import attention, attention_with_descriptors
from corpus.kernels.normalization import (
    dropout,
    layer_norm_backward_input,
    layer_norm_backward_weight,
    layer_norm_forward,
    random_numbers,
    seeded_dropout,
)
from tests.kernels.launching import launch

TOLERANCES = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def philox_4x32(counter: int, seed: int) -> list[int]:
    """Ten rounds of Philox 4x32 (Salmon et al., SC'11), with counter (c, 0, 0, 0)."""
    a, b, c, d = counter, 0, 0, 0
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (
            (y >> 32) ^ b ^ low,
            y & 0xFFFFFFFF,
            (x >> 32) ^ d ^ high,
            x & 0xFFFFFFFF,
        )
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return [a, b, c, d]


@pytest.mark.parametrize("size", [10, 777])
def test_dropout_keeps_the_elements_of_the_mask(size):
    x, keep = torch.randn(size), (torch.rand(size) > 0.3).int()
    out = torch.empty(size)

    launch(
        dropout,
        (-(-size // 128),),
        {"x": x, "keep": keep, "out": out, "n": size, "p": 0.3},
        {"BLOCK": 128},
    )

    torch.testing.assert_close(out, torch.where(keep.bool(), x / 0.7, 0))


def test_random_integers_equal_philox():
    n, seed = 300, 1234567
    rand, randn, randint = torch.empty(n), torch.empty(n), torch.empty(n, dtype=torch.int32)

    launch(
        random_numbers,
        (3,),
        {"out_rand": rand, "out_randn": randn, "out_randint": randint, "n": n, "seed": seed},
        {"BLOCK": 128},
    )

    expected = np.array([philox_4x32(i, seed)[0] for i in range(n)], np.uint32).view(np.int32)
    assert np.array_equal(randint.numpy(), expected)
    assert 0 <= float(rand.min()) < 0.05
    assert 0.95 < float(rand.max()) < 1
    assert abs(float(randn.mean())) < 0.2
    assert abs(float(randn.std()) - 1) < 0.15


def test_seeded_dropout_is_equal_only_for_equal_seeds():
    x = torch.randn(1000) + 10
    outs = []
    for seed in (5, 5, 6):
        out = torch.empty(1000)
        launch(
            seeded_dropout,
            (8,),
            {"x": x, "out": out, "n": 1000, "p": 0.5, "seed": seed},
            {"BLOCK": 128},
        )
        outs.append(out)

    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])
    remaining = outs[0] != 0
    assert 0.4 < float(remaining.float().mean()) < 0.6
    torch.testing.assert_close(outs[0][remaining], x[remaining] * 2)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize(("rows", "columns"), [(37, 100), (16, 513)])
def test_layer_norm_forward_and_backward_equal_torch(dtype, rows, columns):
    x = torch.randn(rows, columns).to(dtype)
    weight, bias = torch.rand(columns).to(dtype), torch.rand(columns).to(dtype)
    upstream = torch.randn(rows, columns).to(dtype)
    y, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
    groups, block = 4, 1 << (columns - 1).bit_length()
    dx = torch.empty_like(x)
    locks = torch.zeros(2 * groups, dtype=torch.int32)
    dw_partial, db_partial = torch.zeros(2, groups, columns, dtype=dtype)
    dw, db = torch.empty_like(weight), torch.empty_like(bias)

    launch(
        layer_norm_forward,
        (rows,),
        {
            "x": x,
            "y": y,
            "weight": weight,
            "bias": bias,
            "mean_out": mean,
            "rstd_out": rstd,
            "stride": columns,
            "columns": columns,
            "eps": 1e-5,
        },
        {"BLOCK": 128},
    )
    launch(
        layer_norm_backward_input,
        (rows,),
        {
            "dx": dx,
            "dy": upstream,
            "dw_partial": dw_partial,
            "db_partial": db_partial,
            "x": x,
            "weight": weight,
            "mean_in": mean,
            "rstd_in": rstd,
            "lock": locks,
            "stride": columns,
            "columns": columns,
        },
        {"GROUP": groups, "BLOCK": block},
    )
    launch(
        layer_norm_backward_weight,
        (-(-columns // 128),),
        {
            "dw_partial": dw_partial,
            "db_partial": db_partial,
            "dw_out": dw,
            "db_out": db,
            "rows": groups,
            "columns": columns,
        },
        {"BM": 32, "BN": 128},
    )

    leaves = [t.float().requires_grad_() for t in (x, weight, bias)]
    expected = torch.nn.functional.layer_norm(leaves[0], (columns,), leaves[1], leaves[2], 1e-5)
    expected.backward(upstream.float())
    tolerance = {"atol": TOLERANCES[dtype] * 2, "rtol": TOLERANCES[dtype] * 2}
    torch.testing.assert_close(y.float(), expected.detach(), **tolerance)
    torch.testing.assert_close(dx.float(), leaves[0].grad, **tolerance)
    sums = {"atol": TOLERANCES[dtype] * rows / 4, "rtol": TOLERANCES[dtype] * 4}
    torch.testing.assert_close(dw.float(), leaves[1].grad, **sums)
    torch.testing.assert_close(db.float(), leaves[2].grad, **sums)
    assert locks.tolist() == [0] * groups + [1] * groups


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [128, 100])
def test_attention_equals_torch(dtype, causal, length):
    batch, heads, depth = 2, 3, 32
    q, k, v = torch.randn(3, batch, heads, length, depth).to(dtype)
    out, log_sum = torch.empty_like(q), torch.empty(batch * heads, length)

    launch(
        attention,
        (-(-length // 32), batch * heads),
        {
            "q": q,
            "k": k,
            "v": v,
            "out": out,
            "log_sum": log_sum,
            "scale": depth**-0.5,
            "heads": heads,
            "length": length,
            "batch_stride": q.stride(0),
            "head_stride": q.stride(1),
            "row_stride": q.stride(2),
        },
        {"BM": 32, "BN": 16, "D": depth, "CAUSAL": causal},
    )

    expected = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=causal
    )
    tolerance = max(TOLERANCES[dtype], 5e-3)  # tf32 products
    torch.testing.assert_close(out.float(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_attention_with_descriptors_equals_torch(dtype):
    batch, heads, length, depth = 1, 2, 128, 32
    q, k, v = torch.randn(3, batch, heads, length, depth).to(dtype)
    out = torch.empty_like(q)

    launch(
        attention_with_descriptors,
        (length // 32, batch * heads),
        {
            "q": q,
            "k": k,
            "v": v,
            "out": out,
            "scale": depth**-0.5,
            "heads": heads,
            "length": length,
            "batch": batch,
        },
        {"BM": 32, "BN": 16, "D": depth},
    )

    expected = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=True
    )
    torch.testing.assert_close(out.float(), expected, atol=6e-3, rtol=6e-3)
