"""Shared memory of kernels, compared with the target's limit."""

import pytest
import triton
import triton.language as tl

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request
from kvtrace.addons.judge.shared_memory import shared_bytes
from tests.addons.judge.labeled import FOLDER
from tests.support.compile_ttir import compile_ttir

SOURCE = """
import torch
import triton
import triton.language as tl


@DECORATOR
@triton.jit
def product(a, b, out, M, N, K, B: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :], tl.arange(0, BK)
    left = tl.load(a + i * K + k[None, :], mask=(i < M) & (k[None, :] < K), other=0.0)
    right = tl.load(b + k[:, None] * N + j, mask=(k[:, None] < K) & (j < N), other=0.0)
    tl.store(out + i * N + j, tl.dot(left, right, input_precision="ieee"), mask=(i < M) & (j < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    if max(M, K, N) > 256:
        raise ValueError("256 at most")
    out = torch.empty((M, N), device=a.device)
    product[(1,)](a.contiguous(), b.contiguous(), out, M, N, K, B=256 OTHER)
    return out
"""
PLAIN = SOURCE.replace("@DECORATOR", "").replace("OTHER", ", BK=256")
TUNED = SOURCE.replace("OTHER", "").replace(
    "@DECORATOR",
    "@triton.autotune([triton.Config({'BK': n}) for n in (256, 32)], key=['M', 'N', 'K'])",
)


@triton.jit
def one_block(x, y, out, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    product = tl.dot(tl.load(x + i * B + j), tl.load(y + i * B + j), input_precision="ieee")
    tl.store(out + i * B + j, product)


@pytest.mark.parametrize(
    ("target", "factors"), [("cuda:80", 2), ("cuda:90", 2), ("cuda:120", 2), ("hip:gfx942", 1)]
)
def test_operands_of_a_dot_count_as_shared_memory(target, factors):
    pointers = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "B": "constexpr"}
    ttir = compile_ttir(one_block, pointers, {"B": 256})
    warp = 64 if target.startswith("hip") else 32
    job = {"ttir": ttir, "target": target, "warp_size": warp, "options": {"num_warps": 4}}
    assert shared_bytes(job) == factors * 256 * 256 * 4


def test_shared_memory_of_invalid_ttir_is_unknown():
    assert shared_bytes({"ttir": "?", "target": "cuda:90", "warp_size": 32, "options": {}}) is None


@pytest.mark.process
@pytest.mark.parametrize(("source", "is_wrong"), [(PLAIN, True), (TUNED, False)])
def test_kernel_beyond_its_shared_memory_is_wrong_unless_tuned(tmp_path, source, is_wrong):
    path = tmp_path / "product.py"
    path.write_text(source)
    reference = Place(FOLDER / "references.py", "matmul")
    shapes = ("a=f32[200, 250], b=f32[250, 100]",)
    judgment = judge_file(Request(Place(path, "matmul"), reference, shapes, views=False)).object
    messages = [
        listed["message"] for listed in judgment["findings"] if listed["rule"] == "shared-memory"
    ]
    assert bool(messages) == is_wrong, judgment["findings"]
    for listed in messages:
        assert "232,448 on cuda:90 (H100)" in listed
