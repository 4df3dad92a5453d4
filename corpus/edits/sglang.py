"""Kernels of SGLang; needs the folder `sglang/kernels` of its package or repository."""

from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, blocks, broken, mathematics


def _merged(ops: Any, hard: bool) -> Results:
    t, h, d = 6, 2, 20
    values_a, values_b = torch.randn(t, h, d), torch.randn(t, h, d)
    sums_a, sums_b = torch.randn(t, h), torch.randn(t, h)
    if hard:
        sums_a[2:4] = torch.inf  # how this kernel writes that nothing was there
    out, lse = torch.zeros(t, h, d), torch.zeros(t, h)
    ops.merge_state_kernel[(t, h)](out, lse, values_a, sums_a, values_b, sums_b, d, 32, True)
    pair = torch.stack([sums_a, sums_b]).masked_fill(
        torch.stack([sums_a, sums_b]).isposinf(), -torch.inf
    )
    share = pair.softmax(0)[..., None]
    return (out, lse), (values_a * share[0] + values_b * share[1], pair.logsumexp(0))


def _rotated(ops: Any, _hard: bool) -> Results:
    b, s, h, d = 2, 3, 2, 16
    q, k = torch.randn(b, s, h, d).half(), torch.randn(b, s, h, d).half()
    angles = torch.randn(s, d)
    outs = torch.zeros_like(q), torch.zeros_like(k)
    size = q.numel()
    ops._rope_rotate_half_fp32_kernel[(blocks(size, 64), 2)](
        q, k, angles.cos(), angles.sin(), *outs, size, s, h, d, BLOCK=64
    )
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    expected = []
    for heads in (q.float(), k.float()):
        first_half, second_half = heads.chunk(2, -1)
        expected.append((heads * cos + torch.cat([-second_half, first_half], -1) * sin).half())
    return outs, tuple(expected)


def _greedy(ops: Any, hard: bool) -> Results:
    x = torch.randn(5, 200)
    if hard:
        x[:3] = -x[:3].abs() - 1  # all negative
        x[3:] *= 1e4  # many are the cap
    out = torch.zeros(5, 2)
    ops._softcap_row_argmax_kernel[(5,)](x, out, 200, 200, 1000, 30.0, BLOCK_SIZE=64)
    largest, position = (torch.tanh(x / 30.0) * 30.0).max(-1)
    if hard:  # the first of equal ones
        position = torch.tensor([int((row == row.max()).nonzero()[0]) for row in (x / 30.0).tanh()])
    return (out,), (torch.stack([largest, position + 1000.0], -1),)


def _sections(ops: Any, _hard: bool) -> Results:
    s, d, ends = 10, 60, (15, 10)
    x, out = torch.randn(3, s, d), torch.zeros(s, d)
    ops.apply_interleaved_rope_kernel[(1, 1)](
        x, out, s, d, *x.stride()[:2], d, *ends, BLOCK_S=16, BLOCK_SIZE=64
    )
    expected = x[0].clone()
    for which, section_end in enumerate(ends, 1):
        expected[:, which : section_end * 3 : 3] = x[which][:, which : section_end * 3 : 3]
    return (out,), (expected,)


_AT: Final = "sglang/kernels/ops/"

SOURCES: Final = (
    Source("merged states", f"{_AT}attention/merge_state.py", _merged),
    Source("rotated halves", f"{_AT}diffusion/rope/rope_rotate_half_fp32.py", _rotated),
    Source("greedy token", f"{_AT}sampling/softcap_row_argmax.py", _greedy),
    Source("sections of angles", f"{_AT}attention/mrope.py", _sections),
)

CASES: Final = (
    bits("rotated halves", "the sine negated", r"r = tl.where\(col < D // 2, -r, r\)",
         "s = tl.where(col < D // 2, -s, s)"),
    bits("sections of angles", "choices change places",
         r"( +val = tl.where\(cond_a, val_a, val\)\n)( +val = tl.where\(cond_b, val_b, val\)\n)",
         r"\2\1"),
    mathematics("merged states", "one division",
                r"p_scale = tl.exp\(p_lse\) / out_se\n    s_scale = tl.exp\(s_lse\) / out_se\n"
                r"    out = p_out \* p_scale \+ s_out \* s_scale",
                "out = (p_out * tl.exp(p_lse) + s_out * tl.exp(s_lse)) / out_se"),
    broken("merged states", "infinity is not nothing",
           r'p_lse = float\("-inf"\) if p_lse == float\("inf"\) else p_lse\n', "p_lse = p_lse\n"),
    broken("rotated halves", "the other tensor in one branch", r"tl.load\(K \+ rotated",
           "tl.load(Q + rotated"),
    broken("greedy token", "the last of equal ones", r"block_val > best_val",
           "block_val >= best_val"),
    broken("greedy token", "padding counts", r'x = tl.where\(mask, x, -float\("inf"\)\)',
           "x = x"),
    broken("sections of angles", "the other section's end", r"section_1_end \* 3",
           "section_2_end * 3"),
)  # fmt: skip
