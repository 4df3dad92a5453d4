"""Launches of kernels whose TTGIR goes through Triton's pipelines, and edits of that."""

import re

import numpy as np
from triton.backends.compiler import GPUTarget

from corpus.kernels import attention, normalization
from corpus.kernels import oracle_kernels as kernels
from tests.backends.compiled_kernels import check_kernels
from tests.kernels.case import random_of
from tests.kernels.launched import Launched

F16, F32 = np.float16, np.float32
TARGETS = {"sm80": GPUTarget("cuda", 80, 32), "sm90": GPUTarget("cuda", 90, 32)}
M, N, K = 100, 136, 160


def numbers(name, *shape, dtype=F32):
    return random_of(name, *shape).uniform(-1, 1, shape).astype(dtype)


def softmax(**options):
    x = numbers("softmax", 6, 100)
    inputs = {"x": x, "out": np.zeros_like(x), "columns": 100}
    return Launched(kernels.row_softmax, inputs, ("out",), {"N": 128}, (6,), options=options)


def product(dtype, **options):
    inputs = {
        "a": numbers("a", M, K, dtype=dtype), "b": numbers("b", K, N, dtype=dtype),
        "out": np.zeros((M, N), F32), "m": M, "n": N, "k": K,
    }  # fmt: skip
    sizes = {"BM": 64, "BN": 64, "BK": 32}
    aligned = {"divisible_by_16": ("a", "b", "out", "n", "k")}
    return Launched(
        kernels.tiled_product, inputs, ("out",), sizes, (2, 3), options=aligned | options
    )


def described(**options):
    inputs = {
        "a": numbers("a", 128, K, dtype=F16), "b": numbers("b", K, 64, dtype=F16),
        "out": np.zeros((128, 64), F32), "m": 128, "n": 64, "k": K,
    }  # fmt: skip
    sizes = {"BM": 64, "BN": 64, "BK": 32}
    aligned = {"divisible_by_16": ("a", "b", "out", "m", "n", "k")}
    return Launched(
        kernels.described_product, inputs, ("out",), sizes, (2, 1), options=aligned | options
    )


def layer_norm(**options):
    x = numbers("rows", 4, 100)
    inputs = {
        "x": x, "y": np.zeros_like(x), "weight": numbers("w", 100), "bias": numbers("b", 100),
        "mean": np.zeros(4, F32), "rstd": np.zeros(4, F32), "stride": 100, "columns": 100,
        "eps": 1e-5,
    }  # fmt: skip
    names = [each for each in normalization.layer_norm_forward.arg_names if each != "BLOCK"]
    given = dict(zip(names, _in_order(inputs), strict=True))
    outputs = (names[1], names[4], names[5])
    return Launched(
        normalization.layer_norm_forward, given, outputs, {"BLOCK": 128}, (4,), options=options
    )


def _in_order(inputs):
    order = ("x", "y", "weight", "bias", "mean", "rstd", "stride", "columns", "eps")
    return [inputs[name] for name in order]


def causal_attention(**options):
    """Return a launch whose programs have loops of different lengths."""
    length, depth = 150, 32
    shape = (1, 2, length, depth)
    q, k, v = (numbers(name, *shape, dtype=F16) for name in "qkv")
    inputs = {
        "q": q, "k": k, "v": v, "out": np.zeros_like(q), "log_sum": np.zeros((2, length), F32),
        "scale": 0.2, "heads": 2, "length": length, "batch_stride": 2 * length * depth,
        "head_stride": length * depth, "row_stride": depth,
    }  # fmt: skip
    sizes = {"BM": 64, "BN": 32, "D": depth, "CAUSAL": True}
    strides = ("batch_stride", "head_stride", "row_stride")
    aligned = {"divisible_by_16": ("q", "k", "v", "out", *strides)}
    return Launched(
        attention.attention, inputs, ("out", "log_sum"), sizes, (3, 2), options=aligned | options
    )


def described_attention(**options):
    length, depth = 128, 32
    shape = (1, 2, length, depth)
    q, k, v = (numbers(name, *shape, dtype=F16) for name in "qkv")
    inputs = {
        "q": q, "k": k, "v": v, "out": np.zeros_like(q), "scale": 0.2, "heads": 2,
        "length": length, "batch": 1,
    }  # fmt: skip
    aligned = {"divisible_by_16": ("q", "k", "v", "out", "length")}
    return Launched(
        attention.attention_with_descriptors, inputs, ("out",), {"BM": 64, "BN": 32, "D": depth},
        (2, 2), options=aligned | options,
    )  # fmt: skip


def atomics(**options):
    inputs = {"x": numbers("x", 1000), "out": np.zeros(1, F32), "n": 1000}
    return Launched(check_kernels.total, inputs, ("out",), {"BLOCK": 256}, (4,), options=options)


def sums(**options):
    inputs = {"x": numbers("sums", 4, 64), "out": np.zeros(4, F32)}
    return Launched(kernels.row_sums, inputs, ("out",), {"N": 64}, (4,), options=options)


KERNELS = {
    "softmax": softmax,
    "product of f16": lambda **options: product(F16, **options),
    "product of f32": lambda **options: product(F32, **options),
    "layer norm": layer_norm,
    "causal attention": causal_attention,
    "attention by descriptors": described_attention,
    "atomics": atomics,
    "sums": sums,
}

HOPPER = {"target": TARGETS["sm90"], "num_stages": 3}
AMPERE = {"target": TARGETS["sm80"], "num_stages": 3}
NAME = r"%[\w#]+"


def edited(text, pattern, other):
    """Return the text with the first match of a pattern replaced.

    ZERO and ONE stand for the constants 0 and 1 of the text.
    """
    for word, number in (("ZERO", 0), ("ONE", 1)):
        (name,) = re.findall(
            rf'({NAME}) = "arith.constant"\(\) <{{value = {number} : i32}}>', text
        ) or [""]
        other = other.replace(word, name)
    result, count = re.subn(pattern, other, text, count=1)
    assert count == 1
    assert result != text
    return result
