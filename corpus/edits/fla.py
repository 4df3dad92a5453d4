"""Kernels of flash-linear-attention; needs the packages `fla-core` and `einops`."""

from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, broken, mathematics


def _l2_norm(ops: Any, hard: bool) -> Results:
    t, d = 70, 60
    x, dy = torch.randn(t, d) * (1e-4 if hard else 1), torch.randn(t, d)
    y, dx, rstd = torch.zeros(t, d), torch.zeros(t, d), torch.zeros(t)
    how = {"T": t, "D": d, "BD": 64, "NB": 1, "BT": 64}
    ops.l2norm_fwd_kernel[(2,)](x, y, rstd, 1e-6, **how)
    ops.l2norm_bwd_kernel[(2,)](y, rstd, dy, dx, 1e-6, **how)
    leaf = x.clone().requires_grad_()
    expected = leaf / (leaf.square().sum(-1, keepdim=True) + 1e-6).sqrt()
    return (y, dx), (expected.detach(), *torch.autograd.grad(expected, leaf, dy))


def _softmax(ops: Any, hard: bool) -> Results:
    x, dp = torch.randn(9, 100) - (3e4 if hard else 0), torch.randn(9, 100)
    p, ds = torch.zeros(9, 100), torch.zeros(9, 100)
    ops.softmax_fwd_kernel[(9,)](x, p, D=100, B=128)
    ops.softmax_bwd_kernel[(9,)](p, dp, ds, D=100, B=128)
    leaf = x.clone().requires_grad_()
    expected = leaf.softmax(-1)
    return (p, ds), (expected.detach(), *torch.autograd.grad(expected, leaf, dp))


def _log_sum_exp(ops: Any, _hard: bool) -> Results:
    x = torch.randn(9, 100)
    z = torch.zeros(9)
    ops.logsumexp_fwd_kernel[(9, 1)](x, z, 0.5, D=100, B=128, HAS_SCALE=True)
    return (z,), ((x * 0.5).logsumexp(-1),)


def _cross_entropy(ops: Any, hard: bool) -> Results:
    n, v = 8, 100
    x = torch.randn(n, v) + (120 if hard else 0)
    target = torch.tensor([3, 99, -100, 0, 41, 41, -100, 7])
    loss, z_loss, lse = torch.zeros(n), torch.zeros(n), torch.zeros(n)
    how = {
        "label_smoothing": 0.1, "logit_scale": 1.0, "lse_square_scale": 0.0,
        "logit_softcapping": None, "ignore_index": -100, "V": v, "V_TOTAL": v, "V_START": 0,
        "BV": 128,
    }  # fmt: skip
    ops.cross_entropy_fwd_kernel[(n, 1)](
        x, target, loss, z_loss, lse, x.stride(0), N=n, SPLIT=False, **how
    )
    upstream, dx = torch.rand(n), torch.zeros(n, v)
    ops.cross_entropy_bwd_kernel[(n, 1)](
        x, target, lse, upstream, dx, x.stride(0), 1, dx.stride(0), **how
    )
    leaf = x.clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(
        leaf, target, label_smoothing=0.1, reduction="none"
    )
    return (loss, dx), (expected.detach(), *torch.autograd.grad(expected, leaf, upstream))


def _rotary(ops: Any, _hard: bool) -> Results:
    b, t, h, d, r = 2, 10, 2, 64, 24
    x, angles = torch.randn(b, t, h, d), torch.randn(20, r)
    y = x.clone()
    ops.rotary_embedding_kernel[(1, b, h)](
        x, angles.cos(), angles.sin(), y, None, None, 3, T=t, B=b, H=h, D=d, R=r, TR=20, BT=16,
        BD=64, IS_SEQLEN_OFFSETS_TENSOR=False, IS_VARLEN=False, INTERLEAVED=False,
        CONJUGATE=False,
    )  # fmt: skip
    cos, sin = (table[3 : 3 + t, None, :] for table in (angles.cos(), angles.sin()))
    first_half, second_half, unrotated = x[..., :r], x[..., r : 2 * r], x[..., 2 * r :]
    return (y,), (
        torch.cat(
            [first_half * cos - second_half * sin, first_half * sin + second_half * cos, unrotated],
            -1,
        ),
    )


def _pooling(ops: Any, _hard: bool) -> Results:
    b, t, h, d = 2, 37, 3, 20
    x, out = torch.randn(b, t, h, d), torch.zeros(b, 3, h, d)
    ops.mean_pooling_fwd_kernel[(3, b * h)](
        x, out, None, None, T=t, H=h, D=d, BT=16, BD=32, IS_VARLEN=False
    )
    return (out,), (torch.stack([chunk.mean(1) for chunk in x.split(16, 1)], 1),)


SOURCES: Final = (
    Source("l2 norm", "fla/modules/norm/l2norm.py", _l2_norm),
    Source("FLA's softmax", "fla/ops/utils/softmax.py", _softmax),
    Source("log sum exp", "fla/ops/utils/logsumexp.py", _log_sum_exp),
    Source("cross entropy", "fla/modules/fused_cross_entropy/ops.py", _cross_entropy),
    Source("rotary", "fla/modules/rotary/ops.py", _rotary),
    Source("mean pooling", "fla/ops/utils/pooling.py", _pooling),
)

CASES: Final = (
    bits("l2 norm", "columns' mask first", r"m_t\[:, None\] & \(o_d\[None, :\] < D\)",
         "(o_d[None, :] < D) & m_t[:, None]"),
    bits("FLA's softmax", "factors change places", r"b_p \* b_dp - b_p \* b_pp",
         "b_dp * b_p - b_pp * b_p"),
    bits("cross entropy", "without the factor 1", r"b_dlogits \*= b_dloss \* logit_scale",
         "b_dlogits *= b_dloss"),
    bits("mean pooling", "remainder by a difference", r"i_bh // H, i_bh % H",
         "i_bh // H, i_bh - i_bh // H * H"),
    mathematics("l2 norm", "rsqrt", r"1 / tl.sqrt\(tl.sum\(b_x \* b_x, 1\) \+ eps\)",
                "tl.rsqrt(tl.sum(b_x * b_x, 1) + eps)"),
    mathematics("l2 norm", "factored",
                r"b_dy \* b_rstd\[:, None\] - (.*) \* b_y \* b_rstd\[:, None\]",
                r"(b_dy - \1 * b_y) * b_rstd[:, None]"),
    mathematics("FLA's softmax", "factored", r"b_p \* b_dp - b_p \* b_pp",
                "b_p * (b_dp - b_pp)"),
    mathematics("log sum exp", "to the base 2", r"log\(tl.sum\(exp\(b_x - b_m\), 0\)\)",
                "tl.log2(tl.sum(tl.exp2((b_x - b_m) * 1.4426950408889634), 0))"
                " * 0.6931471805599453"),
    mathematics("cross entropy", "smoothing factored",
                r"\(1 - label_smoothing\) \* b_loss - label_smoothing \* b_sum / V_TOTAL",
                "b_loss - label_smoothing * (b_loss + b_sum / V_TOTAL)"),
    mathematics("rotary", "the difference negated", r"b_x0 \* b_cos - b_x1 \* b_sin",
                "-(b_x1 * b_sin - b_x0 * b_cos)"),
    broken("l2 norm", "eps as a maximum", r"tl.sqrt\(tl.sum\(b_x \* b_x, 1\) \+ eps\)",
           "tl.sqrt(tl.maximum(tl.sum(b_x * b_x, 1), eps))"),
    broken("l2 norm", "the other axis", r"tl.sum\(b_dy \* b_y, 1\)", "tl.sum(b_dy * b_y, 0)"),
    broken("FLA's softmax", "a mask's other is finite", r"other=-float\('inf'\)",
           "other=-1e4"),
    broken("cross entropy", "ignored rows have gradients",
           r"i_n \* s_dloss, mask=b_target != ignore_index, other=0\)", "i_n * s_dloss)"),
    broken("cross entropy", "exponentials divided", r"b_probs = exp\(b_logits - b_lse\)",
           "b_probs = exp(b_logits) / exp(b_lse)"),
    broken("rotary", "an angle too many", r"\(o_r < R\)", "(o_r <= R)"),
    broken("mean pooling", "the last block's mean", r"min\(BT, T - i_t \* BT\)\n( +)tl.store\(p_o",
           r"BT\n\1tl.store(p_o"),
)  # fmt: skip
