"""Kernels of TritonBench-G; needs the folder `data/TritonBench_G_v1` of its repository."""

from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, broken, mathematics


def _rope(bench: Any, _hard: bool) -> Results:
    b, t, h, d = 2, 5, 6, 16
    q, angles = torch.randn(b * t + 1, h * d)[: b * t], torch.randn(t, d // 2)
    unrotated = q.clone().view(b, t, h, d)
    cos, sin = angles.cos(), angles.sin()
    bench._rope_embedding[(b * t, 2)](
        q, q.stride(0), cos, cos.stride(0), sin, sin.stride(0), t, d, h, False, BLOCK_SIZE=8
    )
    first_half, second_half = unrotated.chunk(2, -1)
    cos, sin = cos[None, :, None], sin[None, :, None]
    return (q,), (
        torch.cat(
            [first_half * cos - second_half * sin, second_half * cos + first_half * sin], -1
        ).view(q.shape),
    )


def _scores(bench: Any, _hard: bool) -> Results:
    heads, groups, d, longest = 4, 2, 16, 40
    lengths = torch.tensor([40, 23])
    begins = torch.tensor([0, 40])
    q, k = torch.randn(2, heads, d), torch.randn(80, heads // groups, d)
    places = torch.randperm(80).view(2, 40)
    out = torch.zeros(heads, 63)
    bench._fwd_kernel_token_att1[(2, heads, 2)](
        q, k, 0.3, places, begins, lengths, longest, out, *places.stride(), *q.stride(),
        *k.stride(), *out.stride(), groups, BLOCK_DMODEL=d, BLOCK_N=32,
    )  # fmt: skip
    expected = torch.cat([
        torch.einsum("hd,nhd->hn", q[one], k[places[one, longest - size :]].repeat_interleave(
            groups, 1)) * 0.3
        for one, size in enumerate(lengths.tolist())
    ], 1)  # fmt: skip
    return (out,), (expected,)


def _packed_softmax(bench: Any, _hard: bool) -> Results:
    x = torch.randn(3, 63)
    begins, lengths = torch.tensor([0, 40]), torch.tensor([40, 23])
    out = torch.zeros(3, 63)
    bench._fwd_kernel_token_softmax[(2, 3)](
        x, begins, lengths, out, *x.stride(), *out.stride(), BLOCK_SIZE=64
    )
    return (out,), (torch.cat([section.softmax(-1) for section in x.split([40, 23], 1)], 1),)


def _quantized(bench: Any, _hard: bool) -> Results:
    k = torch.randn(5, 2, 3, 8)
    where = torch.tensor([6, 0, 3, 2, 5])
    out = torch.zeros(8, 2, 3, 8, dtype=torch.int8)
    scales = torch.zeros(8, 2, 3)
    bench._fwd_kernel_destindex_copy_quantize_kv[(5, 2)](
        k, where, out, scales, *k.stride(), *out.stride(), *scales.stride(), 3,
        BLOCK_GROUP_NUM=4, BLOCK_GROUP_DIM=8,
    )  # fmt: skip
    scale = k.abs().amax(-1) / 127.0
    wanted, wanted_scales = torch.zeros_like(out), torch.zeros_like(scales)
    wanted[where] = (k / scale[..., None]).to(torch.int8)
    wanted_scales[where] = scale
    return (out, scales), (wanted, wanted_scales)


def _divergence(bench: Any, hard: bool) -> Results:
    y, truth = torch.randn(6, 100).log_softmax(-1), torch.randn(6, 100).softmax(-1)
    truth = truth * 1e-9 if hard else truth
    out = torch.zeros(6, 100)
    bench._kldiv_kernel_forward[(6,)](
        y, 100, truth, 100, out, 100, 100, BLOCK_SIZE=64, log_target=False, reduction=0
    )
    return (out,), (truth * (truth.log() - y),)


def _l2_backward(bench: Any, _hard: bool) -> Results:
    x, dy, dx = torch.randn(6, 100), torch.randn(6, 100), torch.zeros(6, 100)
    bench._l2_norm_bwd_kernel[(6,)](x, dy, dx, 100, 100, 1e-5, BLOCK_N=128)
    leaf = x.clone().requires_grad_()
    expected = leaf / (leaf.square().sum(-1, keepdim=True) + 1e-5).sqrt()
    return (dx,), torch.autograd.grad(expected, leaf, dy)


def _rms_norm(bench: Any, hard: bool) -> Results:
    x, w = (torch.randn(6, 300) * (200 if hard else 1)).half(), torch.randn(300).half()
    y = torch.zeros_like(x)
    bench._rms_norm_fwd_fused[(6,)](x, y, w, 300, 300, 1e-5, BLOCK_SIZE=128)
    expected = torch.nn.functional.rms_norm(x.float(), (300,), w.float(), 1e-5)
    return (y,), (expected.half(),)


_AT: Final = "TritonBench_G_v1/"

SOURCES: Final = (
    Source("rope in place", f"{_AT}rope_embedding.py", _rope),
    Source("grouped scores", f"{_AT}token_attn_llama2.py", _scores),
    Source("packed softmax", f"{_AT}token_softmax_llama.py", _packed_softmax),
    Source("quantized cache", f"{_AT}quantize_kv_copy.py", _quantized),
    Source("divergence", f"{_AT}kldiv_triton.py", _divergence),
    Source("l2 backward", f"{_AT}l2_norm_bwd.py", _l2_backward),
    Source("rms norm in halves", f"{_AT}rmsnorm_fused_llama.py", _rms_norm),
)

CASES: Final = (
    bits("rope in place", "minimum's operands change places",
         r"min\(\(head_start \+ ROPE_GROUP_SIZE\), n_heads\)",
         "tl.minimum(n_heads, head_start + ROPE_GROUP_SIZE)"),
    bits("grouped scores", "an offset that is zero", r"Q \+ off_q \+ start_mark", "Q + off_q"),
    bits("packed softmax", "a conversion without need", r"\)\.to\(tl\.float32\)", ")"),
    mathematics("grouped scores", "the query scaled first",
                r"tl.sum\(q\[None, :\] \* k, 1\)\n( +)att_value \*= sm_scale",
                "tl.sum((q * sm_scale)[None, :] * k, 1)"),
    mathematics("divergence", "multiplied out", r"y_true \* \(tl.log\(y_true\) - y\)",
                "y_true * tl.log(y_true) - y_true * y"),
    mathematics("l2 backward", "a power of the root", r"\(1 / \(var\+eps\)\) \* rstd \* x",
                "(rstd * rstd * rstd) * x"),
    mathematics("rms norm in halves", "weight first",
                r"x_hat = x \* rstd\n( +)y = x_hat \* w", r"x_hat = rstd * w\n\1y = x_hat * x"),
    broken("rope in place", "heads past the last one",
           r"min\(\(head_start \+ ROPE_GROUP_SIZE\), n_heads\)", "head_start + ROPE_GROUP_SIZE"),
    broken("grouped scores", "order of heads", r"cur_head // kv_group_num",
           "cur_head % kv_group_num"),
    broken("packed softmax", "one element of the next row",
           r"softmax_output, mask=col_offsets < cur_batch_seq_len",
           "softmax_output, mask=col_offsets <= cur_batch_seq_len"),
    broken("quantized cache", "a scale that overflows", r"/ 127.0", "/ 128.0"),
    broken("divergence", "eps in the logarithm", r"tl.log\(y_true\)", "tl.log(y_true + 1e-8)"),
    broken("rms norm in halves", "squares in 16 bits",
           r"other=0\.\)\.to\(tl\.float32\)(\n +_var)", r"other=0.)\1"),
)  # fmt: skip
