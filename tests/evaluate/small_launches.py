"""Launches of three kernels on small tensors, with data or without."""

import torch

from corpus.kernels.basic import matmul, softmax, vector_add

CASES = {
    "vector_add": (
        vector_add,
        (5,),
        lambda: {"x": torch.randn(600), "y": torch.randn(600), "out": torch.empty(600), "n": 600},
        {"BLOCK": 128},
    ),
    "softmax": (
        softmax,
        (4,),
        lambda: {
            "out": torch.empty(10, 50),
            "x": torch.randn(10, 50),
            "x_stride": 50,
            "out_stride": 50,
            "rows": 10,
            "columns": 50,
        },
        {"BLOCK": 64},
    ),
    "matmul": (
        matmul,
        (12,),
        lambda: {
            "a": torch.randn(50, 40),
            "b": torch.randn(40, 60),
            "c": torch.empty(50, 60),
            "m": 50,
            "n": 60,
            "k": 40,
            "stride_am": 40,
            "stride_ak": 1,
            "stride_bk": 60,
            "stride_bn": 1,
            "stride_cm": 60,
            "stride_cn": 1,
        },
        {"BM": 16, "BN": 16, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee"},
    ),
}
