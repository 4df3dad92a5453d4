"""Kernels by their plan and by array evaluation: the same results and the same facts."""

import numpy as np
import pytest
import torch

from corpus.kernels.attention import attention, attention_with_descriptors
from corpus.kernels.basic import matmul, softmax, vector_add
from corpus.kernels.memory import copy_tile, in_place_scale, shifted_copy
from corpus.kernels.normalization import (
    layer_norm_backward_weight,
    layer_norm_forward,
    seeded_dropout,
)
from corpus.kernels.shapes import rearranged, scans
from tests.evaluate.plan.both_ways import assert_same, both_ways, reason

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("size", [1, 1024, 5000])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.int32])
def test_planned_vector_add_equals_array_evaluation(size, dtype):
    x, y = (torch.randint(-99, 99, (size,)).to(dtype) for _ in range(2))
    arguments = {"x": x, "y": y, "out": torch.empty_like(x), "n": size}
    assert_same(vector_add, (-(-size // 512),), arguments, {"BLOCK": 512})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "columns", "programs"), [(5, 33, 5), (20, 64, 3), (7, 1, 7)])
def test_planned_softmax_equals_array_evaluation(dtype, rows, columns, programs):
    x = torch.randn(rows, columns).to(dtype)
    arguments = {
        "out": torch.empty_like(x), "x": x, "x_stride": columns, "out_stride": columns,
        "rows": rows, "columns": columns,
    }  # fmt: skip
    assert_same(softmax, (programs,), arguments, {"BLOCK": 64}, rounding=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 96, 64), (64, 64, 40), (32, 32, 7)])
def test_planned_matmul_equals_array_evaluation(dtype, transposed, m, n, k):
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    if transposed:
        b = torch.randn(n, k).to(dtype).T
    out = torch.empty(m, n, dtype=dtype)
    arguments = {
        "a": a, "b": b, "c": out, "m": m, "n": n, "k": k,
        "stride_am": a.stride(0), "stride_ak": a.stride(1), "stride_bk": b.stride(0),
        "stride_bn": b.stride(1), "stride_cm": n, "stride_cn": 1,
    }  # fmt: skip
    constexprs = {
        "BM": 32, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee",
    }  # fmt: skip
    assert_same(matmul, (-(-m // 32) * -(-n // 32),), arguments, constexprs, rounding=10)


@pytest.mark.parametrize("k", [31 * 32, 17 * 32, 32 * 32 + 5])
def test_planned_matmul_over_a_prime_number_of_tiles_equals_array_evaluation(k):
    a, b = torch.randn(32, k), torch.randn(k, 16)
    arguments = {
        "a": a, "b": b, "c": torch.empty(32, 16), "m": 32, "n": 16, "k": k, "stride_am": k,
        "stride_ak": 1, "stride_bk": 16, "stride_bn": 1, "stride_cm": 16, "stride_cn": 1,
    }  # fmt: skip
    constexprs = {
        "BM": 16, "BN": 16, "BK": 32, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee",
    }  # fmt: skip
    assert_same(matmul, (2,), arguments, constexprs, rounding=100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [64, 100, 256])
def test_planned_layer_norm_equals_array_evaluation(dtype, columns):
    x = torch.randn(6, columns).to(dtype)
    arguments = {
        "x": x, "y": torch.empty_like(x), "weight": torch.randn(columns).to(dtype),
        "bias": torch.randn(columns).to(dtype), "mean_out": torch.empty(6),
        "rstd_out": torch.empty(6), "stride": columns, "columns": columns, "eps": 1e-5,
    }  # fmt: skip
    facts = assert_same(layer_norm_forward, (6,), arguments, {"BLOCK": 64}, rounding=5)
    assert facts.loops


def test_planned_weight_gradients_of_layer_norm_equal_array_evaluation():
    dw, db = torch.randn(13, 70), torch.randn(13, 70)
    arguments = {
        "dw_partial": dw, "db_partial": db, "dw_out": torch.empty(70), "db_out": torch.empty(70),
        "rows": 13, "columns": 70,
    }  # fmt: skip
    assert_same(layer_norm_backward_weight, (3,), arguments, {"BM": 8, "BN": 32}, rounding=5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [96, 80])
def test_planned_attention_equals_array_evaluation(causal, length):
    q, k, v = (torch.randn(1, 2, length, 16) for _ in range(3))
    arguments = {
        "q": q, "k": k, "v": v, "out": torch.empty_like(q), "log_sum": torch.empty(2, length),
        "scale": 0.25, "heads": 2, "length": length, "batch_stride": q.stride(0),
        "head_stride": q.stride(1), "row_stride": 16,
    }  # fmt: skip
    constexprs = {"BM": 32, "BN": 16, "D": 16, "CAUSAL": causal}
    assert_same(attention, (-(-length // 32), 2), arguments, constexprs, rounding=1000)


def test_planned_attention_with_descriptors_equals_array_evaluation():
    q, k, v = (torch.randn(1, 2, 64, 16) for _ in range(3))
    arguments = {
        "q": q, "k": k, "v": v, "out": torch.empty_like(q), "scale": 0.25, "heads": 2,
        "length": 64, "batch": 1,
    }  # fmt: skip
    constexprs = {"BM": 32, "BN": 16, "D": 16}
    assert_same(attention_with_descriptors, (2, 2), arguments, constexprs, rounding=1000)


def tile_arguments(rows):
    x = torch.randn(rows, 70)
    return {
        "x": x, "out": torch.zeros_like(x), "rows": rows, "columns": 70, "x_stride": 70,
        "out_stride": 70,
    }  # fmt: skip


def test_tiles_with_masked_edges_are_planned():
    assert_same(copy_tile, (3, 3), tile_arguments(48), {"BM": 16, "BN": 32})


def test_a_launch_with_an_access_outside_its_tensor_is_not_planned():
    arguments, constexprs = tile_arguments(50), {"BM": 16, "BN": 32}

    why = reason(copy_tile, (4, 3), arguments, constexprs)

    assert why == "a load leaves x, or its mask is not a box of lanes"
    (planned, plan_facts), (arrays, array_facts) = both_ways(
        copy_tile, (4, 3), arguments, constexprs
    )
    assert np.array_equal(planned[1].storage.data, arrays[1].storage.data)
    assert plan_facts.summary() == array_facts.summary()
    assert plan_facts.defects == array_facts.defects != []


def test_planned_updates_in_place_equal_array_evaluation():
    arguments = {"x": torch.randn(1000), "n": 1000, "factor": 3.0}
    assert_same(in_place_scale, (8,), arguments, {"BLOCK": 128})


def test_planned_random_integers_wrap_like_registers():
    x = torch.randn(300)
    arguments = {"x": x, "out": torch.empty_like(x), "n": 300, "p": 0.5, "seed": 123}
    assert_same(seeded_dropout, (3,), arguments, {"BLOCK": 128})


def test_programs_that_share_bytes_through_two_arguments_are_not_planned():
    """Each program reads, through one argument, bytes that another writes through the other."""
    base = torch.arange(600, dtype=torch.float32)
    arguments = {"x": base[:500], "out": base[100:], "shift": 0, "n": 500}

    why = reason(shifted_copy, (4,), arguments, {"BLOCK": 128})

    assert why == "programs may read elements of out that other programs write"
    (planned, plan_facts), (arrays, array_facts) = both_ways(
        shifted_copy, (4,), arguments, {"BLOCK": 128}
    )
    assert np.array_equal(planned[0].storage.data, arrays[0].storage.data)
    assert plan_facts.summary() == array_facts.summary()


@pytest.mark.parametrize("reverse", [False, True])
def test_planned_scans_equal_array_evaluation(reverse):
    x, y = torch.randn(64), torch.randn(64)
    arguments = {"x": x, "y": y} | {
        name: torch.empty(64) for name in ("sums", "products", "peaks", "slopes", "offsets")
    }
    assert_same(scans, (1,), arguments, {"N": 64, "REVERSE": reverse})


def test_planned_shape_ops_equal_array_evaluation():
    x = torch.randn(8, 16)
    why = reason(rearranged, (1,), {"x": x, "out": torch.empty(8, 16)}, {"M": 8, "N": 16})
    assert why == "planned"
    assert_same(rearranged, (1,), {"x": x, "out": torch.empty(8, 16)}, {"M": 8, "N": 16})
