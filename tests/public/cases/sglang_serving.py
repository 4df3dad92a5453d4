"""SGLang's scheduler: pools of tokens, allocators, speculation, KV caches."""

import torch

from tests.public.case import Outcome, case

CONTEXT, POOL, BATCH = 256, 10, 4
ROWS = torch.tensor([3, 0, 7, 5])
PREFIX = [10, 0, 33, 64]
EXTEND = [7, 20, 1, 40]
TOTAL = [p + e for p, e in zip(PREFIX, EXTEND, strict=True)]
SLOTS = 640


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
    parts = [
        torch.cat((part[1:], best[row : row + 1])) for row, part in enumerate(ids.split(EXTEND))
    ]
    wanted = torch.cat(parts)
    function(ids, starts(EXTEND)[:-1], whole(EXTEND), best)
    return Outcome((ids,), (wanted,))
