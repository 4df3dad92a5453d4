"""SGLang's attention over pools of tokens, its caches of keys and values, and LoRA."""

from types import SimpleNamespace

import torch

from tests.public.case import Outcome, case
from tests.public.cases.sglang_serving import (
    BATCH,
    EXTEND,
    PAGE,
    PREFIX,
    SLOTS,
    TOTAL,
    starts,
    whole,
)

HEADS, KV_HEADS, SIZE = 4, 2, 64


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = True, window: int = -1
) -> torch.Tensor:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1).float(), v.repeat_interleave(groups, 1).float()
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * q.shape[-1] ** -0.5
    row = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    column = torch.arange(k.shape[0])
    if causal:
        scores = scores.masked_fill(column > row, float("-inf"))
    if window >= 0:
        scores = scores.masked_fill(column < row - window, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).to(q.dtype)


def buffers() -> tuple[torch.Tensor, torch.Tensor]:
    k, v = torch.randn(2, SLOTS, KV_HEADS, SIZE).bfloat16()
    return k, v


def decoded(heads: int) -> Outcome:
    from sglang.srt.layers.attention.triton_ops.decode_attention import decode_attention_fwd

    keys, values = buffers()
    q = torch.randn(BATCH, heads, SIZE).bfloat16()
    slots = torch.randint(0, SLOTS, (sum(TOTAL),))
    out = torch.zeros_like(q)
    logits, lse = torch.zeros(BATCH, heads, 8, SIZE), torch.zeros(BATCH, heads, 8)
    decode_attention_fwd(q, keys, values, out, starts(TOTAL), slots, logits, lse,
                         torch.tensor([4, 1, 2, 8]).int(), 8, SIZE**-0.5)  # fmt: skip
    wanted = [attention(q[row : row + 1], keys[part], values[part])
              for row, part in enumerate(slots.split(TOTAL))]  # fmt: skip
    return Outcome((out,), (torch.cat(wanted),), 1e-2)


@case("sglang")
def decode_attention() -> Outcome:
    return decoded(KV_HEADS)


@case("sglang")
def decode_attention_grouped() -> Outcome:
    return decoded(8)


def extended(window: int = -1, *, unified: bool = False) -> Outcome:
    from sglang.srt.layers.attention.triton_ops import extend_attention as module

    keys, values = buffers()
    q = torch.randn(sum(EXTEND), HEADS, SIZE).bfloat16()
    slots = torch.randperm(SLOTS)[: sum(TOTAL)]
    out, wanted, olds, news = torch.zeros_like(q), [], [], []
    for row, part in enumerate(slots.split(TOTAL)):
        mine = q.split(EXTEND)[row]
        wanted.append(attention(mine, keys[part], values[part], window=window))
        olds.append(part[: PREFIX[row]])
        news.append(part[PREFIX[row] :])
    new = torch.cat(news)
    if unified:
        module.extend_attention_fwd_unified(
            q, out, keys, values, starts(EXTEND), starts(TOTAL), slots, whole(PREFIX).int(),
            max(EXTEND), sliding_window_size=window,
        )  # fmt: skip
    else:
        module.extend_attention_fwd(
            q, keys[new], values[new], out, keys, values, starts(EXTEND), starts(PREFIX),
            torch.cat(olds), None, True, None, max(EXTEND), sliding_window_size=window,
        )  # fmt: skip
    return Outcome((out,), (torch.cat(wanted),), 1e-2)


@case("sglang")
def extend_attention() -> Outcome:
    return extended()


@case("sglang")
def extend_attention_window() -> Outcome:
    return extended(24)


@case("sglang")
def extend_attention_unified() -> Outcome:
    return extended(unified=True)


@case("sglang")
def unified_kv_indices() -> Outcome:
    from sglang.srt.layers.attention.triton_ops.extend_attention import build_unified_kv_indices

    old, new = torch.randint(0, SLOTS, (sum(PREFIX),)), torch.randint(0, SLOTS, (sum(EXTEND),))
    got = build_unified_kv_indices(starts(PREFIX), old, starts(EXTEND)[:-1], whole(EXTEND).int(),
                                   new, BATCH)  # fmt: skip
    parts = [part for both in zip(old.split(PREFIX), new.split(EXTEND), strict=True)
             for part in both]  # fmt: skip
    return Outcome((got[0], got[1]), (starts(TOTAL), torch.cat(parts)))


@case("sglang")
def prefill_attention() -> Outcome:
    from sglang.srt.layers.attention.triton_ops.prefill_attention import context_attention_fwd

    q = torch.randn(sum(EXTEND), HEADS, SIZE).bfloat16()
    k, v = torch.randn(2, sum(EXTEND), KV_HEADS, SIZE).bfloat16()
    out = torch.zeros_like(q)
    context_attention_fwd(q, k, v, out, starts(EXTEND)[:-1], whole(EXTEND).int(), max(EXTEND))
    parts = zip(*(x.split(EXTEND) for x in (q, k, v)), strict=True)
    return Outcome((out,), (torch.cat([attention(*part) for part in parts]),), 1e-2)


@case("sglang")
def merge_state() -> Outcome:
    from sglang.srt.layers.attention.triton_ops.merge_state import merge_state_triton

    first, second = torch.randn(2, 20, HEADS, SIZE)
    one, two = torch.randn(2, 20, HEADS)
    share = torch.stack((one, two)).softmax(0)[..., None]
    wanted = (share[0] * first + share[1] * second, torch.logaddexp(one, two))
    return Outcome(merge_state_triton(first, one, second, two), wanted)


@case("sglang")
def num_kv_splits() -> Outcome:
    from sglang.srt.layers.attention.triton_backend import get_num_kv_splits_triton as kernel

    out = torch.zeros(BATCH, dtype=torch.int32)
    kernel[(1,)](out, whole(TOTAL), BATCH, 1, 8, 2, 8, 132, MAX_NUM_SEQ=4)
    return Outcome((out,))


@case("sglang")
def fp8_kv_buffer() -> Outcome:
    from sglang.srt.layers.attention.triton_ops.trtllm_fp8_kv_kernel import fused_fp8_set_kv_buffer

    k, v = torch.randn(2, 20, KV_HEADS, SIZE).bfloat16()
    caches = [torch.zeros(SLOTS, KV_HEADS, SIZE).to(torch.float8_e4m3fn) for _ in range(2)]
    places = torch.randperm(SLOTS)[:20]
    fused_fp8_set_kv_buffer(k, v, *caches, places, 0.5, 0.25, PAGE)
    wanted = []
    for new, scale in ((k, 0.5), (v, 0.25)):
        cache = torch.zeros(SLOTS, KV_HEADS, SIZE)
        cache[places] = (new.float() / scale).to(torch.float8_e4m3fn).float()
        wanted.append(cache)
    return Outcome(tuple(cache.float() for cache in caches), tuple(wanted), 2e-2)


@case("sglang")
def page_table_of_draft() -> Outcome:
    from sglang.srt.layers.attention.flashattention_backend import (
        prepare_swa_spec_page_table_triton as function,
    )

    one, two = torch.randint(0, 99, (2, BATCH * 3, 64)).int()
    out = torch.zeros(BATCH * 3, 128).int()
    a, b = torch.tensor([10, 33, 64, 1]).int(), torch.randint(1, 4, (BATCH * 3,)).int()
    function(out, one[:BATCH], two, a, b, 3)
    return Outcome((out,))


@case("sglang")
def token_bitmask() -> Outcome:
    from sglang.srt.constrained.triton_ops.bitmask_ops import apply_token_bitmask_inplace_triton

    logits, mask = torch.randn(5, 5000), torch.randint(-(1 << 31), 1 << 31, (5, 157)).int()
    bits = ((mask[..., None] >> torch.arange(32)) & 1).reshape(5, -1)[:, :5000]
    wanted = logits.clone()
    for row in (0, 3):
        wanted[row] = wanted[row].masked_fill(bits[row] == 0, float("-inf"))
    apply_token_bitmask_inplace_triton(logits, mask, torch.tensor([0, 3]).int())
    return Outcome((logits,), (wanted,))


def lora(ranks: list[int]) -> SimpleNamespace:
    return SimpleNamespace(
        use_cuda_graph=False, bs=BATCH, num_segments=BATCH, seg_indptr=starts(EXTEND),
        weight_indices=torch.tensor([1, 0, 2, 1]).int(), lora_ranks=torch.tensor(ranks).int(),
        scalings=torch.tensor([0.5, 2.0, 1.0]), max_len=max(EXTEND),
        seg_lens=torch.tensor(EXTEND).int(), permutation=None,
    )  # fmt: skip


RANKS = [16, 16, 16]


@case("sglang")
def sgemm_lora_a() -> Outcome:
    from sglang.srt.lora.triton_ops.sgemm_lora_a import sgemm_lora_a_fwd as function

    x, weights, info = torch.randn(sum(EXTEND), 300), torch.randn(3, 32, 300), lora(RANKS)
    x, weights = x.bfloat16(), weights.bfloat16()
    parts = [part.float() @ weights[i].float().T for part, i in
             zip(x.split(EXTEND), info.weight_indices.tolist(), strict=True)]  # fmt: skip
    return Outcome((function(x, weights, info, 2),), (torch.cat(parts).bfloat16(),), 1e-2)


@case("sglang")
def sgemm_lora_b() -> Outcome:
    from sglang.srt.lora.triton_ops.sgemm_lora_b import sgemm_lora_b_fwd as function

    x, weights, info = torch.randn(sum(EXTEND), 16), torch.randn(3, 512, 16), lora(RANKS)
    x, weights = x.bfloat16(), weights.bfloat16()
    parts = [part.float() @ weights[i].float().T * info.scalings[i] for part, i in
             zip(x.split(EXTEND), info.weight_indices.tolist(), strict=True)]  # fmt: skip
    return Outcome((function(x, weights, info),), (torch.cat(parts).bfloat16(),), 1e-2)


@case("sglang")
def sgemm_lora_b_part_of_a_block() -> Outcome:
    """A width that is no multiple of 256, which the kernel has no mask for: judged only."""
    from sglang.srt.lora.triton_ops.sgemm_lora_b import sgemm_lora_b_fwd as function

    function(torch.randn(sum(EXTEND), 16), torch.randn(3, 300, 16), lora(RANKS))
    return Outcome((), ())


@case("sglang")
def gate_up_lora_b() -> Outcome:
    from sglang.srt.lora.triton_ops.gate_up_lora_b import gate_up_lora_b_fwd as function

    x, weights, info = torch.randn(sum(EXTEND), 32), torch.randn(3, 200, 16), lora(RANKS)
    parts = []
    for part, i in zip(x.split(EXTEND), info.weight_indices.tolist(), strict=True):
        halves = zip(part.chunk(2, 1), weights[i].chunk(2, 0), strict=True)
        parts.append(torch.cat([a @ b.T for a, b in halves], 1) * info.scalings[i])
    return Outcome((function(x, weights, info, 100),), (torch.cat(parts),), 1e-2)


@case("sglang")
def qkv_lora_b() -> Outcome:
    from sglang.srt.lora.triton_ops.qkv_lora_b import qkv_lora_b_fwd as function

    x, weights, info = torch.randn(sum(EXTEND), 48), torch.randn(3, 256, 16), lora(RANKS)
    offsets = torch.tensor([0, 128, 192, 256]).int()
    parts = []
    for part, i in zip(x.split(EXTEND), info.weight_indices.tolist(), strict=True):
        pieces = zip(part.chunk(3, 1), weights[i].split((128, 64, 64)), strict=True)
        parts.append(torch.cat([a @ b.T for a, b in pieces], 1) * info.scalings[i])
    return Outcome((function(x, weights, info, offsets, 128),), (torch.cat(parts),), 1e-2)
