"""SGLang's scheduler and attention: pools of tokens, allocators, speculation, KV caches."""

from types import SimpleNamespace

import torch

from tests.public.case import Outcome, case

CONTEXT, POOL, BATCH = 256, 10, 4
ROWS = torch.tensor([3, 0, 7, 5])
PREFIX = [10, 0, 33, 64]
EXTEND = [7, 20, 1, 40]
TOTAL = [p + e for p, e in zip(PREFIX, EXTEND, strict=True)]
HEADS, KV_HEADS, SIZE, SLOTS = 4, 2, 64, 640


def whole(values: list[int]) -> torch.Tensor:
    return torch.tensor(values)


def starts(values: list[int]) -> torch.Tensor:
    return torch.tensor([0, *values]).cumsum(0).int()


def pool(dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.randint(0, SLOTS, (POOL, CONTEXT)).to(dtype)


@case("sglang")
def write_req_to_token_pool() -> Outcome:
    from sglang.srt.mem_cache.common import write_req_to_token_pool_triton as kernel

    table, new = pool(), torch.arange(sum(EXTEND)) + 1000
    prefixes = [torch.arange(n) + 5000 for n in PREFIX]
    wanted, begin = table.clone(), 0
    for row, prefix, count in zip(ROWS.tolist(), prefixes, EXTEND, strict=True):
        wanted[row, : len(prefix)] = prefix
        wanted[row, len(prefix) : len(prefix) + count] = new[begin : begin + count]
        begin += count
    addresses = torch.tensor([one.data_ptr() for one in prefixes], dtype=torch.uint64)
    kernel[(BATCH,)](table, ROWS, addresses, whole(PREFIX), whole(TOTAL), whole(EXTEND), new,
                     CONTEXT)  # fmt: skip
    return Outcome((table,), (wanted,))


@case("sglang")
def get_last_loc() -> Outcome:
    from sglang.srt.mem_cache.common import get_last_loc_torch, get_last_loc_triton

    given = (pool(torch.int64), ROWS, whole(PREFIX))
    return Outcome((get_last_loc_triton(*given),), (get_last_loc_torch(*given),))


PAGE = 16


def last_places() -> tuple[torch.Tensor, torch.Tensor]:
    """Where each request's last token is, and the free pages."""
    last = torch.tensor([PAGE * 50 + 9, -1, PAGE * 51 + 0, PAGE * 52 + 15])
    return last, torch.randperm(40) + 1


@case("sglang")
def alloc_extend() -> Outcome:
    from sglang.srt.mem_cache.allocator import alloc_extend_kernel as kernel

    last, free = last_places()
    out = torch.empty(sum(EXTEND), dtype=torch.int64)
    kernel[(BATCH,)](whole(PREFIX), whole(TOTAL), last, free, out, BATCH, PAGE, 128)
    wanted, taken = [], 0
    for prefix, end, place in zip(PREFIX, TOTAL, last.tolist(), strict=True):
        page = place // PAGE
        for position in range(prefix, end):
            if position % PAGE == 0:
                page = int(free[taken])
                taken += 1
            wanted.append(page * PAGE + position % PAGE)
    return Outcome((out,), (whole(wanted),))


@case("sglang")
def alloc_decode() -> Outcome:
    from sglang.srt.mem_cache.allocator import alloc_decode_kernel as kernel

    last, free = last_places()
    out = torch.empty(BATCH, dtype=torch.int64)
    ends = torch.tensor([11, 1, 34, 65])
    kernel[(BATCH,)](ends, last, free, out, BATCH, PAGE)
    wanted = [PAGE * 50 + 10, int(free[0]) * PAGE, PAGE * 51 + 1, int(free[1]) * PAGE]
    return Outcome((out,), (whole(wanted),))


@case("sglang")
def compute_position() -> Outcome:
    from sglang.srt.model_executor.forward_batch_info import compute_position_triton as function

    places = [torch.arange(p, t) for p, t in zip(PREFIX, TOTAL, strict=True)]
    got = function(whole(PREFIX), whole(EXTEND), sum(EXTEND))
    return Outcome(got, (torch.cat(places), starts(EXTEND)[:-1]))


def latent() -> tuple[torch.Tensor, ...]:
    return torch.randn(SLOTS, 576), torch.randperm(SLOTS)[:20], torch.randn(20, 512), \
        torch.randn(20, 64)  # fmt: skip


@case("sglang")
def set_mla_kv_buffer() -> Outcome:
    from sglang.srt.mem_cache.utils import set_mla_kv_buffer_triton as function

    cache, places, nope, rope = latent()
    wanted = cache.clone()
    wanted[places] = torch.cat((nope, rope), 1)
    function(cache, places, nope, rope)
    return Outcome((cache,), (wanted,))


@case("sglang")
def get_mla_kv_buffer() -> Outcome:
    from sglang.srt.mem_cache.utils import get_mla_kv_buffer_triton as function

    cache, places, nope, rope = latent()
    function(cache, places, nope, rope)
    return Outcome((nope, rope), tuple(cache[places].split((512, 64), 1)))


@case("sglang")
def copy_kv_caches() -> Outcome:
    from sglang.srt.mem_cache.memory_pool import copy_all_layer_kv_cache_tiled as kernel

    layers = [torch.randn(64, 256) for _ in range(3)]
    addresses = torch.tensor([one.data_ptr() for one in layers], dtype=torch.uint64)
    strides = torch.tensor([one.stride(0) * 4 for one in layers])
    target, source = torch.randperm(64).split((20, 44))
    wanted = [one.clone() for one in layers]
    for one in wanted:
        one[target] = one[source[:20]]
    kernel[(3, 8)](addresses, strides, target, source[:20], 20, 32, BYTES_PER_TILE=128)
    return Outcome(tuple(layers), tuple(wanted))


def listed(table: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    return torch.cat([table[row, :n] for row, n in zip(ROWS.tolist(), lengths, strict=True)])


@case("sglang")
def flashinfer_kv_indices() -> Outcome:
    from sglang.srt.layers.attention.utils import create_flashinfer_kv_indices_triton as kernel

    table, out = pool(), torch.empty(sum(TOTAL), dtype=torch.int32)
    kernel[(BATCH,)](table, ROWS, whole(TOTAL), starts(TOTAL), None, out, CONTEXT)
    return Outcome((out,), (listed(table, TOTAL),))


@case("sglang")
def flashmla_kv_indices() -> Outcome:
    from sglang.srt.layers.attention.utils import create_flashmla_kv_indices_triton as kernel

    table, out = pool(), torch.full((BATCH, 4), -1, dtype=torch.int32)
    kernel[(BATCH,)](table, ROWS, whole(TOTAL), None, out, CONTEXT, 4, 64)
    wanted = torch.full((BATCH, 4), -1, dtype=torch.int32)
    for row, (request, n) in enumerate(zip(ROWS.tolist(), TOTAL, strict=True)):
        pages = table[request, :n:64] // 64
        wanted[row, : len(pages)] = pages
    return Outcome((out,), (wanted,))


@case("sglang")
def concat_and_cast_mha_k() -> Outcome:
    from sglang.srt.layers.attention.utils import concat_and_cast_mha_k_triton as function

    k = torch.empty(20, 8, 192).bfloat16()
    nope, rope = torch.randn(20, 8, 128), torch.randn(20, 1, 64)
    function(k, nope, rope)
    return Outcome((k,), (torch.cat((nope, rope.expand(20, 8, 64)), -1).bfloat16(),))


@case("sglang")
def extend_after_decode() -> Outcome:
    from sglang.srt.speculative.spec_utils import create_extend_after_decode_spec_info as kernel

    accepted, ends = [2, 1, 3, 1], whole(TOTAL)
    ids = torch.randint(0, 9999, (7,))
    positions, new = torch.zeros(7, dtype=torch.int64), torch.zeros(BATCH, dtype=torch.int64)
    kernel[(BATCH,)](ids, ends, whole(accepted), positions, new, BATCH)
    places = [torch.arange(t - n, t) for t, n in zip(TOTAL, accepted, strict=True)]
    return Outcome((positions, new), (torch.cat(places), ids[whole(accepted).cumsum(0) - 1]))


@case("sglang")
def assign_req_to_token_pool() -> Outcome:
    from sglang.srt.speculative.spec_utils import assign_req_to_token_pool_func as function

    table, new = pool(), torch.arange(sum(EXTEND)).int()
    wanted = table.clone()
    for row, begin, end, part in zip(ROWS.tolist(), PREFIX, TOTAL, new.split(EXTEND), strict=True):
        wanted[row, begin:end] = part
    function(ROWS, table, whole(PREFIX), whole(TOTAL), new, BATCH)
    return Outcome((table,), (wanted,))


@case("sglang")
def assign_extend_cache_locs() -> Outcome:
    from sglang.srt.speculative.eagle_info_v2 import assign_extend_cache_locs as kernel

    table, out = pool(), torch.empty(sum(EXTEND), dtype=torch.int64)
    kernel[(BATCH,)](ROWS, table, whole(PREFIX), whole(TOTAL), out, CONTEXT, BATCH)
    parts = [table[row, b:e] for row, b, e in zip(ROWS.tolist(), PREFIX, TOTAL, strict=True)]
    return Outcome((out,), (torch.cat(parts).long(),))


@case("sglang")
def assign_draft_cache_locs() -> Outcome:
    from sglang.srt.speculative.eagle_info_v2 import assign_draft_cache_locs_page_size_1 as kernel

    table, out = pool(torch.int64), torch.empty(BATCH * 12, dtype=torch.int64)
    kernel[(BATCH,)](ROWS, table, whole(TOTAL), out, CONTEXT, 4, 3)
    parts = [table[row, t : t + 12] for row, t in zip(ROWS.tolist(), TOTAL, strict=True)]
    return Outcome((out,), (torch.cat(parts),))


@case("sglang")
def assign_draft_cache_locs_pages() -> Outcome:
    from sglang.srt.speculative.spec_utils import assign_draft_cache_locs as kernel

    table, steps, topk = pool(torch.int64), 3, 2
    last = whole(TOTAL) % PAGE
    pages = (last + steps + PAGE - 1) // PAGE
    extend = pages * topk * PAGE - last
    out = torch.arange(int(extend.sum()))
    moved = int(last.sum()) * (topk - 1)
    source, target = torch.zeros(2, moved, dtype=torch.int64)
    kernel[(BATCH,)](ROWS, table, whole(TOTAL), extend, pages, out, source, target, last.cumsum(0),
                     moved, CONTEXT, topk, steps, PAGE, BATCH, 32)  # fmt: skip
    return Outcome((table, out, source, target))


@case("sglang")
def draft_decode_kv_indices() -> Outcome:
    from sglang.srt.speculative.spec_utils import generate_draft_decode_kv_indices as kernel

    table, topk, steps = pool(), 2, 3
    indices = torch.zeros(steps, topk * (sum(TOTAL) + BATCH * steps), dtype=torch.int32)
    pointers = torch.zeros(steps, BATCH * topk + 1, dtype=torch.int32)
    positions = whole(TOTAL).repeat_interleave(topk)
    kernel[(steps, BATCH, topk)](ROWS, table, whole(TOTAL), indices, pointers, positions, CONTEXT,
                                 indices.shape[1], pointers.shape[1], BATCH, 4, 8, 1)  # fmt: skip
    return Outcome((indices, pointers))


@case("sglang")
def align_evict_mask() -> Outcome:
    from sglang.srt.speculative.spec_utils import align_evict_mask_to_page_size as kernel

    mask = torch.tensor([[False] * n + [True] * (8 - n) for n in (1, 3, 5, 8)])
    kernel[(BATCH,)](whole(TOTAL), mask, PAGE, 8, 8)
    return Outcome((mask,))


@case("sglang")
def target_cache_loc() -> Outcome:
    from sglang.srt.speculative.spec_utils import get_target_cache_loc as kernel

    accepted, freed = whole([2, 0, 3, 1]), whole([1, 3, 0, 2])
    target = torch.zeros(10, dtype=torch.int64)
    slots = torch.zeros(6, dtype=torch.int64)
    given = torch.arange(16)
    kernel[(BATCH,)](target, slots, accepted, freed, given, 4, 4, BATCH)
    rows = given.view(BATCH, 4)
    kept = [row[: n + 1] for row, n in zip(rows, accepted.tolist(), strict=True)]
    rest = [row[4 - n :] for row, n in zip(rows, freed.tolist(), strict=True)]
    return Outcome((target, slots), (torch.cat(kept), torch.cat(rest)))


@case("sglang")
def filter_finished_cache_loc() -> Outcome:
    from sglang.srt.speculative.spec_utils import filter_finished_cache_loc_kernel as kernel

    accepted, kept = whole([2, 0, 3, 1]), whole([3, 0, 4, 0])
    out, given = torch.zeros(7, dtype=torch.int64), torch.arange(10) + 100
    kernel[(BATCH,)](out, given, accepted, kept, BATCH, 4)
    return Outcome((out,), (torch.cat((given[:3], given[4:8])),))


@case("sglang")
def fill_accepted() -> Outcome:
    from sglang.srt.speculative.eagle_info_v2 import fill_accepted_out_cache_loc as kernel

    index, slots = whole([4, -1, 0, 7, -1, -1, 2, 5]), torch.arange(8) + 50
    out = torch.zeros(5, dtype=torch.int64)
    kernel[(8,)](index, slots, out, 8)
    return Outcome((out,), (slots[index[index >= 0]],))


@case("sglang")
def rotate_input_ids() -> Outcome:
    from sglang.srt.speculative.multi_layer_eagle_utils import rotate_input_ids_triton as function

    ids, best = torch.randint(0, 999, (sum(EXTEND),)), torch.randint(0, 999, (BATCH,))
    parts = [torch.cat((part[1:], best[row : row + 1])) for row, part in enumerate(ids.split(EXTEND))]
    wanted = torch.cat(parts)
    function(ids, starts(EXTEND)[:-1], whole(EXTEND), best)
    return Outcome((ids,), (wanted,))


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
