"""Calls whose bytes, sectors and lanes are counted in more than one way."""

import torch

from corpus.kernels import basic, language, memory
from corpus.kernels.attention import attention
from tests.kernels.launching import compile_for


def matmul_call(m, n, k):
    a, b, c = torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)
    grid = (-(-m // 32) * -(-n // 32),)
    arguments = {
        "a": a, "b": b, "c": c, "m": m, "n": n, "k": k, "stride_am": k, "stride_ak": 1,
        "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1,
    }  # fmt: skip
    constexprs = {
        "BM": 32, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee"
    }  # fmt: skip
    return basic.matmul, grid, arguments, constexprs


def attention_call():
    q = torch.ones(1, 2, 70, 16)
    arguments = {
        "q": q, "k": q.clone(), "v": q.clone(), "out": torch.empty_like(q),
        "log_sum": torch.empty(2, 70), "scale": 0.25, "heads": 2, "length": 70,
        "batch_stride": q.stride(0), "head_stride": q.stride(1), "row_stride": q.stride(2),
    }  # fmt: skip
    return attention, (3, 2), arguments, {"BM": 32, "BN": 16, "D": 16, "CAUSAL": True}


def tile_call():
    x, out = torch.ones(90, 37)[3:], torch.empty(120, 40)
    arguments = {"x": x, "out": out, "rows": 50, "columns": 37, "x_stride": 37, "out_stride": 40}
    return memory.copy_tile, (4, 3), arguments, {"BM": 16, "BN": 16}


def softmax_call():
    x, out = torch.ones(11, 45, dtype=torch.bfloat16), torch.empty(11, 45, dtype=torch.bfloat16)
    arguments = {"out": out, "x": x, "x_stride": 45, "out_stride": 45, "rows": 11, "columns": 45}
    return basic.softmax, (3,), arguments, {"BLOCK": 64}


def random_integers(high, size):
    return torch.randint(0, high, (size,), generator=torch.Generator().manual_seed(1))


def calls():
    yield matmul_call(64, 64, 32)
    yield matmul_call(70, 50, 41)
    yield attention_call()
    yield tile_call()
    yield softmax_call()
    x = torch.ones(1000)
    block = {"BLOCK": 64}
    yield memory.gather_rows, (9,), {
        "index": random_integers(20, 9), "x": x, "out": torch.empty(9 * 50), "columns": 50
    }, block  # fmt: skip
    yield memory.histogram_by_atomics, (4,), {
        "x": random_integers(40, 256).int(), "counts": torch.zeros(40, dtype=torch.int32), "n": 250
    }, block  # fmt: skip
    yield memory.running_total, (5,), {"x": x, "total": torch.zeros(6), "n": 300}, block
    yield language.ragged_sums, (6,), {
        "lengths": random_integers(200, 6).int(), "x": torch.ones(6, 200),
        "out": torch.empty(6), "stride": 200,
    }, block  # fmt: skip
    yield language.early_return, (6,), {
        "flags": torch.tensor([0, 1, -1, 2, 0, -1], dtype=torch.int32), "x": x[:384],
        "out": torch.empty(384), "n": 380,
    }, block  # fmt: skip


CALLS = list(calls())
MODULE = compile_for(
    basic.vector_add, {"x": torch.ones(1), "y": torch.ones(1), "out": torch.ones(1), "n": 1},
    {"BLOCK": 16},
)  # fmt: skip
LOAD = next(op for op in MODULE.ops if op.name == "tt.load")
