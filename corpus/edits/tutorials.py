"""Kernels of Triton's tutorials 02 to 08; needs a copy of `python/tutorials` of its repository."""

from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, blocks, broken, mathematics


def _softmax(tutorial: Any, hard: bool) -> Results:
    x = (torch.randn(13, 320) * (100 if hard else 1))[
        :, :301
    ]  # a stride that is not a row's length
    y = torch.zeros(13 * 320)[: 13 * 301].view(13, 301)
    tutorial.softmax_kernel[(5,)](
        y, x, x.stride(0), y.stride(0), 13, 301, BLOCK_SIZE=512, num_stages=2
    )
    return (y,), (x.softmax(-1),)


def _matmul(tutorial: Any, hard: bool) -> Results:
    m, n, k = 70, 50, 45
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    if hard:  # the second block takes away what the first one adds
        a[:, :16] *= 100
        a[:, 16:32], b[16:32] = -a[:, :16], b[:16]
    c = torch.zeros(m + 1, n, dtype=torch.float16)[:m]
    strides = (*a.stride(), *b.stride(), *c.stride())
    tutorial.matmul_kernel[(blocks(m, 32) * blocks(n, 32),)](
        a, b, c, m, n, k, *strides, BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=16,
        GROUP_SIZE_M=2, ACTIVATION="leaky_relu",
    )  # fmt: skip
    return (c,), (torch.nn.functional.leaky_relu(a.float() @ b.float()).half(),)


def _layer_norm(tutorial: Any, hard: bool) -> Results:
    m, n, groups = 11, 300, 4
    x = torch.randn(m, n) + (100 if hard else 0.5)
    w, b, dy = torch.randn(n), torch.randn(n), torch.randn(m, n)
    y, dx = torch.zeros(m, n), torch.zeros(m, n)
    mean, rstd = torch.zeros(m), torch.zeros(m)
    tutorial._layer_norm_fwd_fused[(m,)](x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK_SIZE=128)
    dw, db = torch.zeros(groups, n), torch.zeros(groups, n)
    locks = torch.zeros(2 * groups, dtype=torch.int32)
    tutorial._layer_norm_bwd_dx_fused[(m,)](
        dx, dy, dw, db, x, w, mean, rstd, locks, n, n, GROUP_SIZE_M=groups, BLOCK_SIZE_N=512
    )
    last_dw, last_db = torch.zeros(n), torch.zeros(n)
    tutorial._layer_norm_bwd_dwdb[(blocks(n, 128),)](
        dw, db, last_dw, last_db, groups, n, BLOCK_SIZE_M=8, BLOCK_SIZE_N=128
    )
    leaves = [each.clone().requires_grad_() for each in (x, w, b)]
    expected = torch.nn.functional.layer_norm(leaves[0], (n,), leaves[1], leaves[2], 1e-5)
    return (
        (y, dx, last_dw, last_db),
        (expected.detach(), *torch.autograd.grad(expected, leaves, dy)),
    )


def _attention(tutorial: Any, hard: bool) -> Results:
    z, h, n, d = 1, 2, 64, 32
    q, k, v = ((torch.randn(z, h, n, d) * (4 if hard else 1)).half() for _ in range(3))
    out, log_sums = torch.zeros_like(q), torch.zeros(z, h, n)
    strides = [stride for tensor in (q, k, v, out) for stride in tensor.stride()]
    scale = 0.25
    tutorial._attn_fwd[(blocks(n, 32), z * h)](
        q,
        k,
        v,
        scale,
        log_sums,
        out,
        *strides,
        z,
        h,
        n,
        HEAD_DIM=d,
        BLOCK_M=32,
        BLOCK_N=16,
        STAGE=3,
    )
    scores = (q.float() @ k.float().mT * scale).masked_fill(
        torch.ones(n, n).triu(1).bool(), -torch.inf
    )
    logs = scores.logsumexp(-1) * 1.4426950408889634
    return (out, log_sums), ((scores.softmax(-1) @ v.float()).half(), logs)


def _dropout(tutorial: Any, _hard: bool) -> Results:
    x = torch.randn(300)
    out = torch.zeros(300)
    tutorial._seeded_dropout[(blocks(300, 128),)](x, out, 300, 0.3, 123, BLOCK_SIZE=128)
    return (out,), None


def _grouped(tutorial: Any, _hard: bool) -> Results:
    left_factors = [torch.randn(64, 32).half(), torch.randn(32, 64).half()]
    right = [torch.randn(32, 96).half(), torch.randn(64, 64).half()]
    outs = [torch.zeros(64, 96).half(), torch.zeros(32, 64).half()]
    sizes, leading = [], []
    for a, b, c in zip(left_factors, right, outs, strict=True):
        sizes += [a.shape[0], b.shape[1], a.shape[1]]
        leading += [a.stride(0), b.stride(0), c.stride(0)]
    places = [
        torch.tensor([each.data_ptr() for each in group]) for group in (left_factors, right, outs)
    ]
    tutorial.grouped_matmul_kernel[(3,)](
        *places, torch.tensor(sizes, dtype=torch.int32), torch.tensor(leading, dtype=torch.int32),
        2, NUM_SM=3, BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=16,
    )  # fmt: skip
    expected = [(a.float() @ b.float()).half() for a, b in zip(left_factors, right, strict=True)]
    return tuple(outs), tuple(expected)


_AT: Final = "tutorials/"

SOURCES: Final = (
    Source("fused softmax", f"{_AT}02-fused-softmax.py", _softmax),
    Source("product", f"{_AT}03-matrix-multiplication.py", _matmul),
    Source("dropout", f"{_AT}04-low-memory-dropout.py", _dropout),
    Source("tutorial's layer norm", f"{_AT}05-layer-norm.py", _layer_norm),
    Source("fused attention", f"{_AT}06-fused-attention.py", _attention),
    Source("grouped product", f"{_AT}08-grouped-gemm.py", _grouped),
)

CASES: Final = (
    bits("fused softmax", "each program writes what others write, too",
         r"row_step = tl.num_programs\(0\)", "row_step = 1"),
    bits("fused softmax", "offset added first", r"input_ptrs = row_start_ptr \+ col_offsets",
         "input_ptrs = input_ptr + (col_offsets + row_idx * input_row_stride)"),
    bits("product", "rows clamped, not wrapped",
         r"\(pid_m \* BLOCK_SIZE_M \+ tl.arange\(0, BLOCK_SIZE_M\)\) % M",
         "tl.minimum(pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M), M - 1)"),
    bits("product", "branches change places", r"tl.where\(x >= 0, x, 0.01 \* x\)",
         "tl.where(x < 0, 0.01 * x, x)"),
    bits("dropout", "comparison turned around", r"random > p", "p < random"),
    bits("tutorial's layer norm", "columns first", r"rows\[:, None\] \* N \+ cols\[None, :\]",
         "cols[None, :] + N * rows[:, None]"),
    bits("tutorial's layer norm", "a mask without need", r"xhat = tl.where\(mask, xhat, 0.\)\n",
         "xhat = xhat\n"),
    bits("fused attention", "mask turned around",
         r"offs_m\[:, None\] >= \(start_n \+ offs_n\[None, :\]\)",
         "(start_n + offs_n[None, :]) <= offs_m[:, None]"),
    bits("fused attention", "a sum that begins with zero",
         r"l_i = tl.zeros\(\[BLOCK_M\], dtype=tl.float32\) \+ 1.0",
         "l_i = tl.zeros([BLOCK_M], dtype=tl.float32)"),
    bits("grouped product", "tiles by columns",
         r"tile_idx_in_gemm // num_n_tiles\n( +)tile_n_idx = tile_idx_in_gemm % num_n_tiles",
         r"tile_idx_in_gemm % num_m_tiles\n\1tile_n_idx = tile_idx_in_gemm // num_m_tiles"),
    mathematics("fused softmax", "logarithm of the sum", r"numerator / denominator",
                "tl.exp(row_minus_max - tl.log(denominator))"),
    mathematics("product", "a maximum", r"tl.where\(x >= 0, x, 0.01 \* x\)",
                "tl.maximum(x, 0.01 * x)"),
    mathematics("product", "product added after it", r"accumulator = tl.dot\(a, b, accumulator\)",
                "accumulator += tl.dot(a, b)"),
    mathematics("tutorial's layer norm", "rsqrt", r"1 / tl.sqrt\(var \+ eps\)",
                "tl.rsqrt(var + eps)"),
    mathematics("tutorial's layer norm", "multiplied out",
                r"\(wdy - \(xhat \* c1 \+ c2\)\) \* rstd",
                "wdy * rstd - xhat * (c1 * rstd) - c2 * rstd"),
    mathematics("fused attention", "times the reciprocal", r"acc = acc / l_i\[:, None\]",
                "acc = acc * (1.0 / l_i)[:, None]"),
    mathematics("fused attention", "rescaled while it is added",
                r"acc = tl.dot\(p, v, acc\)", "acc = acc + tl.dot(p, v)"),
    mathematics("dropout", "times the reciprocal", r"x / \(1 - p\)", "x * (1 / (1 - p))"),
    broken("fused softmax", "rows left out", r"row_step = tl.num_programs\(0\)",
           "row_step = tl.num_programs(0) + 1"),
    broken("fused softmax", "the other tensor's stride", r"row_idx \* output_row_stride",
           "row_idx * input_row_stride"),
    broken("product", "a swapped stride", r"BLOCK_SIZE_K \* stride_bk",
           "BLOCK_SIZE_K * stride_bn"),
    broken("product", "partial sums in 16 bits", r"accumulator = tl.dot\(a, b, accumulator\)",
           "accumulator = tl.dot(a, b, accumulator).to(tl.float16).to(tl.float32)"),
    broken("product", "a column too many", r"offs_cn\[None, :\] < N", "offs_cn[None, :] <= N"),
    broken("tutorial's layer norm", "naive variance",
           r"x - mean, 0.\)\n( +)_var \+= x \* x\n( +)var = tl.sum\(_var, axis=0\) / N",
           r"x, 0.)\n\1_var += x * x\n\2var = tl.sum(_var, axis=0) / N - mean * mean"),
    broken("tutorial's layer norm", "the last block's squares only", r"_var \+= x \* x",
           "_var = x * x"),
    broken("fused attention", "the diagonal is left out",
           r"offs_m\[:, None\] >= \(start_n", "offs_m[:, None] > (start_n"),
    broken("fused attention", "the sum is not rescaled", r"l_i = l_i \* alpha \+ l_ij",
           "l_i = l_i + l_ij"),
    broken("fused attention", "another logarithm kept for backward",
           r"m_i \+= tl.math.log2\(l_i\)", "m_i += tl.math.log(l_i)"),
    broken("dropout", "the same elements in each block", r"tl.rand\(seed, offsets\)",
           "tl.rand(seed, tl.arange(0, BLOCK_SIZE))"),
    broken("grouped product", "the other matrix's stride", r"BLOCK_SIZE_K \* ldb",
           "BLOCK_SIZE_K * lda"),
)  # fmt: skip
