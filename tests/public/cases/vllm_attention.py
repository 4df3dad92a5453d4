"""vLLM's attention over a paged cache, and what is written into the cache."""

from types import SimpleNamespace

import torch

from tests.public.case import Outcome, case

HEADS, KV_HEADS, SIZE, PAGE, PAGES = 4, 2, 64, 16, 40
QUERIES = [1, 20, 1, 33]
LENGTHS = [50, 20, 17, 70]


def starts(counts: list[int]) -> torch.Tensor:
    return torch.tensor([0, *counts]).cumsum(0).int()


def tables(rows: int = 4, columns: int = 8) -> torch.Tensor:
    """Block tables: no page belongs to two requests."""
    return torch.randperm(PAGES)[: rows * columns].reshape(rows, columns).int()


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, window: int = 0, causal: bool = True
) -> torch.Tensor:
    """Attention of the last rows of a sequence to all of it: (rows, heads, size)."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1).float(), v.repeat_interleave(groups, 1).float()
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * q.shape[-1] ** -0.5
    row = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    column = torch.arange(k.shape[0])
    if causal:
        scores = scores.masked_fill(column > row, float("-inf"))
    if window:
        scores = scores.masked_fill(column <= row - window, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).to(q.dtype)


def paged(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor,
    queries: list[int], lengths: list[int], window: int = 0,
) -> torch.Tensor:  # fmt: skip
    """The same for several requests over (pages, page, heads, size)."""
    outputs, begin = [], 0
    for row, (count, length) in enumerate(zip(queries, lengths, strict=True)):
        slots = table[row].long()
        k, v = (cache[slots].flatten(0, 1)[:length] for cache in (keys, values))
        outputs.append(attention(q[begin : begin + count], k, v, window=window))
        begin += count
    return torch.cat(outputs)


def cache(dtype: torch.dtype = torch.bfloat16) -> tuple[torch.Tensor, torch.Tensor]:
    return (torch.randn(PAGES, PAGE, KV_HEADS, SIZE).to(dtype),
            torch.randn(PAGES, PAGE, KV_HEADS, SIZE).to(dtype))  # fmt: skip


def unified(queries: list[int], lengths: list[int], window: int = 0, *, split: bool) -> Outcome:
    from vllm.v1.attention.ops.triton_unified_attention import unified_attention

    keys, values = cache()
    table = tables()
    q = torch.randn(sum(queries), HEADS, SIZE).bfloat16()
    out = torch.zeros_like(q)
    segments = {}
    if split:
        segments = {
            "seq_threshold_3D": 64, "num_par_softmax_segments": 4,
            "softmax_segm_output": torch.zeros(len(q), HEADS, 4, SIZE),
            "softmax_segm_max": torch.zeros(len(q), HEADS, 4),
            "softmax_segm_expsum": torch.zeros(len(q), HEADS, 4),
        }  # fmt: skip
    unified_attention(
        q, keys, values, out, starts(queries), max(queries), torch.tensor(lengths).int(),
        max(lengths), SIZE**-0.5, True, (window - 1, 0) if window else (-1, -1), table, 0, None,
        None, None, **segments,
    )  # fmt: skip
    wanted = paged(q, keys, values, table, queries, lengths, window)
    return Outcome((out,), (wanted,), 1e-2)


@case("vllm")
def unified_attention_mixed() -> Outcome:
    return unified(QUERIES, LENGTHS, split=False)


@case("vllm")
def unified_attention_window() -> Outcome:
    return unified(QUERIES, LENGTHS, 24, split=False)


@case("vllm")
def unified_attention_decode_split() -> Outcome:
    return unified([1, 1, 1, 1], LENGTHS, split=True)


@case("vllm")
def prefill_attention() -> Outcome:
    from vllm.v1.attention.ops.triton_prefill_attention import context_attention_fwd

    q = torch.randn(sum(QUERIES), HEADS, SIZE).bfloat16()
    k, v = (torch.randn(sum(QUERIES), KV_HEADS, SIZE).bfloat16() for _ in range(2))
    out, begin = torch.zeros_like(q), starts(QUERIES)
    context_attention_fwd(q, k, v, out, begin[:-1], torch.tensor(QUERIES).int(), max(QUERIES))
    pieces = [attention(*parts) for parts in zip(*(x.split(QUERIES) for x in (q, k, v)),
                                                 strict=True)]  # fmt: skip
    return Outcome((out,), (torch.cat(pieces),), 1e-2)


def prefixed(window: int | None = None, *, decode: bool = False) -> Outcome:
    """Prefill of chunks behind a cached prefix; with `decode`, requests with one query too."""
    from vllm.v1.attention.ops.chunked_prefill_paged_decode import chunked_prefill_paged_decode
    from vllm.v1.attention.ops.prefix_prefill import context_attention_fwd

    queries = QUERIES if decode else [7, 20, 5, 33]
    keys, values = cache()
    table = tables()
    q = torch.randn(sum(queries), HEADS, SIZE).bfloat16()
    parts = [tables_row[:n] for tables_row, n in zip(
        (torch.stack((keys, values))[:, row.long()].flatten(1, 2).transpose(0, 1) for row in table),
        LENGTHS, strict=True)]  # fmt: skip
    new = torch.cat([part[-count:] for part, count in zip(parts, queries, strict=True)])
    k, v = new[:, 0].contiguous(), new[:, 1].contiguous()
    key_cache = keys.view(PAGES, PAGE, KV_HEADS, SIZE // 8, 8).permute(0, 2, 3, 1, 4).contiguous()
    value_cache = values.permute(0, 2, 3, 1).contiguous()
    out, one = torch.zeros_like(q), torch.ones(1)
    begin, ends = starts(queries), torch.tensor(LENGTHS).int()
    if decode:
        chunked_prefill_paged_decode(
            q, k, v, out, "auto", key_cache, value_cache, table, begin, ends, max(LENGTHS),
            max(queries), one, one, sliding_window=window,
        )  # fmt: skip
    else:
        context_attention_fwd(
            q, k, v, out, "auto", key_cache, value_cache, table, begin, ends, max(LENGTHS),
            max(queries), one, one, sliding_window=window,
        )  # fmt: skip
    wanted = paged(q, keys, values, table, queries, LENGTHS, window or 0)
    return Outcome((out,), (wanted,), 1e-2)


@case("vllm")
def prefix_prefill() -> Outcome:
    return prefixed()


@case("vllm")
def prefix_prefill_window() -> Outcome:
    return prefixed(24)


@case("vllm")
def chunked_prefill_paged_decode() -> Outcome:
    return prefixed(decode=True)


def decoded(heads: int) -> Outcome:
    from vllm.v1.attention.ops.triton_decode_attention import decode_attention_fwd

    keys, values = cache()
    table = tables()
    q = torch.randn(4, heads, SIZE).bfloat16()
    out, lse = torch.zeros_like(q), torch.zeros(4, heads)
    logits = torch.zeros(4, heads, 4, SIZE + 1)
    decode_attention_fwd(
        q, keys, values, out, lse, table, torch.tensor(LENGTHS).int(), logits, 4, SIZE**-0.5, PAGE
    )
    return Outcome((out,), (paged(q, keys, values, table, [1] * 4, LENGTHS),), 1e-2)


@case("vllm")
def decode_attention() -> Outcome:
    return decoded(KV_HEADS)


@case("vllm")
def decode_attention_grouped() -> Outcome:
    return decoded(8)


@case("vllm")
def merge_attn_states() -> Outcome:
    from vllm.v1.attention.ops.triton_merge_attn_states import merge_attn_states as function

    first, second = torch.randn(2, 9, HEADS, SIZE)
    one, two = torch.randn(2, HEADS, 9)
    one[2, 3] = float("-inf")
    out, lse = torch.empty_like(first), torch.empty(HEADS, 9)
    function(out, first, one, second, two, lse)
    share = torch.stack((one, two)).softmax(0).transpose(1, 2)[..., None]
    wanted = share[0] * first + share[1] * second
    return Outcome((out, lse), (wanted, torch.logaddexp(one, two)))


def slots(count: int) -> torch.Tensor:
    """Where tokens go; -1 for one that goes nowhere."""
    chosen = torch.randperm(PAGES * PAGE)[:count]
    chosen[count // 2] = -1
    return chosen


@case("vllm")
def reshape_and_cache_flash() -> Outcome:
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash as function,
    )

    key, value = torch.randn(2, 37, KV_HEADS, SIZE).bfloat16()
    keys, values = cache()
    wanted = [keys.clone().flatten(0, 1), values.clone().flatten(0, 1)]
    where, one = slots(37), torch.ones(1)
    function(key, value, keys, values, where, "auto", one, one)
    for whole, new in zip(wanted, (key, value), strict=True):
        whole[where[where >= 0]] = new[where >= 0]
    return Outcome((keys.flatten(0, 1), values.flatten(0, 1)), tuple(wanted))


@case("vllm")
def reshape_and_cache_flash_fp8() -> Outcome:
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash as function,
    )

    key, value = torch.randn(2, 37, KV_HEADS, SIZE).bfloat16()
    keys, values = (torch.zeros(PAGES, PAGE, KV_HEADS, SIZE, dtype=torch.uint8) for _ in range(2))
    where, scale = slots(37), torch.full((1,), 0.5)
    function(key, value, keys, values, where, "fp8", scale, scale)
    wanted = []
    for new in (key, value):
        whole = torch.zeros(PAGES * PAGE, KV_HEADS, SIZE, dtype=torch.uint8)
        small = (new.float() / 0.5).to(torch.float8_e4m3fn).view(torch.uint8)
        whole[where[where >= 0]] = small[where >= 0]
        wanted.append(whole)
    return Outcome((keys.flatten(0, 1), values.flatten(0, 1)), tuple(wanted))


@case("vllm")
def reshape_and_cache_per_token_head() -> Outcome:
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash_per_token_head_quant as function,
    )

    key, value = torch.randn(2, 37, KV_HEADS, SIZE).bfloat16()
    keys, values = (torch.zeros(PAGES, PAGE, KV_HEADS, SIZE, dtype=torch.int8) for _ in range(2))
    scales = [torch.zeros(PAGES, PAGE, KV_HEADS) for _ in range(2)]
    function(key, value, keys, values, *scales, slots(37))
    return Outcome((keys.float(), values.float(), *scales))


@case("vllm")
def reshape_and_cache_diffkv() -> Outcome:
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash_diffkv as function,
    )

    key, value = torch.randn(37, KV_HEADS, SIZE), torch.randn(37, KV_HEADS, 32)
    whole = torch.zeros(PAGES, PAGE, KV_HEADS, SIZE + 32)
    where, one = slots(37), torch.ones(1)
    function(key, value, whole, where, "auto", one, one)
    wanted = torch.zeros(PAGES * PAGE, KV_HEADS, SIZE + 32)
    wanted[where[where >= 0]] = torch.cat((key, value), -1)[where >= 0]
    return Outcome((whole.flatten(0, 1),), (wanted,))


@case("vllm")
def pack_and_unpack() -> Outcome:
    from vllm.v1.attention.ops.common import pack_seq_triton, unpack_seq_triton

    counts = torch.tensor([5, 70, 1, 33])
    x = torch.randn(109, 3, 40)
    packed = pack_seq_triton(x, counts)
    wanted = torch.full((4, 70, 3, 40), float("-inf"))
    for row, part in enumerate(x.split(counts.tolist())):
        wanted[row, : len(part)] = part
    return Outcome((packed, unpack_seq_triton(packed, counts)), (wanted, x))


@case("vllm")
def eagle_step_slot_mapping() -> Outcome:
    from vllm.v1.spec_decode.utils import eagle_step_update_slot_mapping_and_metadata as function

    positions, lengths = torch.tensor([49, 19, 126, 127]), torch.tensor([50, 20, 127, 128]).int()
    table = tables()
    clamped, where = torch.zeros(4, dtype=torch.int64), torch.zeros(6, dtype=torch.int64)
    function(positions, table, lengths, PAGE, 128, clamped, where, 6)
    after = torch.tensor([50, 20, 127, 0])
    wanted = table[torch.arange(4), after // PAGE] * PAGE + after % PAGE
    wanted = torch.cat((wanted.long()[:3], torch.full((3,), -1)))
    return Outcome((clamped, where), (after, wanted))


@case("vllm")
def req_index_to_global_index() -> Outcome:
    from vllm.v1.attention.backends.mla.sparse_utils import (
        triton_convert_req_index_to_global_index as function,
    )

    requests, table = torch.tensor([0, 1, 1, 3, 2]).int(), tables()
    chosen = torch.randint(-1, 128, (5, 256)).int()
    got = function(requests, table, chosen, BLOCK_SIZE=PAGE, NUM_TOPK_TOKENS=256)
    page = table[requests.long()[:, None], chosen.clamp(min=0) // PAGE]
    wanted = torch.where(chosen < 0, chosen, page * PAGE + chosen % PAGE)
    return Outcome((got,), (wanted.int(),))


@case("vllm")
def compressed_slot_mapping() -> Outcome:
    from vllm.v1.attention.backends.mla.compressor_utils import (
        get_compressed_slot_mapping as function,
    )

    lengths = torch.tensor(LENGTHS).int()
    return Outcome((function(sum(QUERIES), starts(QUERIES), lengths, tables(), PAGE, 4),))


@case("vllm")
def dcp_pack_and_combine() -> Outcome:
    from vllm.v1.attention.ops.dcp_alltoall import _dcp_a2a_pack_send, _dcp_a2a_unpack_combine

    out, lse = torch.randn(9, 8, SIZE).bfloat16(), torch.randn(9, 8)
    sent = torch.zeros(2, 9, 4, SIZE + 2).bfloat16()
    _dcp_a2a_pack_send(out, lse, sent, 2, 4, SIZE, 2)
    combined = _dcp_a2a_unpack_combine(sent, SIZE, 2, False, True)
    parts, weights = out.float().view(9, 2, 4, SIZE), lse.view(9, 2, 4).softmax(1)
    wanted = (parts * weights[..., None]).sum(1).bfloat16()
    got = combined[0] if isinstance(combined, tuple) else combined
    return Outcome((got,), (wanted,), 1e-2)


@case("vllm")
def top_k_top_p() -> Outcome:
    from vllm.v1.sample.ops import topk_topp_triton as module

    k, p = torch.tensor([5, 50, 1, 4000]).int(), torch.tensor([0.9, 0.5, 1.0, 0.2])
    given = torch.randn(4, 4000)
    ordered, index = given.sort(descending=True)
    ordered = ordered.masked_fill(torch.arange(4000) >= k[:, None], float("-inf"))
    share = ordered.softmax(1)
    ordered = ordered.masked_fill(share.cumsum(1) - share >= p[:, None], float("-inf"))
    wanted = torch.empty_like(given).scatter(1, index, ordered)
    got = module.apply_top_k_top_p_triton(given.clone(), k, p)
    if hasattr(module, "_apply_topp_split"):  # of rows without a top-k, where tensors say "cuda"
        module._apply_topp_split(got, k, p, float("-inf"), 132)
    return Outcome((got,), (wanted,))


@case("vllm")
def top_k_alone() -> Outcome:
    from vllm.v1.sample.ops.topk_topp_triton import apply_top_k_top_p_triton as function

    k, given = torch.tensor([5, 50, 1, 4000]).int(), torch.randn(4, 4000)
    least = given.sort(descending=True).values.gather(1, k.long()[:, None] - 1)
    return Outcome((function(given.clone(), k, None),),
                   (given.masked_fill(given < least, float("-inf")),))  # fmt: skip


DRAFTED = [2, 0, 3]


def rejected(*, greedy: bool) -> Outcome:
    from vllm.v1.sample.rejection_sampler import rejection_sample

    logits, drafts = torch.randn(5, 3000), torch.randint(0, 3000, (5,))
    drafts[:2] = logits[:2].argmax(1)
    settings = SimpleNamespace(
        all_greedy=greedy, all_random=False, generators={},
        temperature=torch.tensor([0.0, 1.0, 0.7]), top_k=None, top_p=None,
    )  # fmt: skip
    bonus = torch.tensor([[7], [8], [9]])
    probabilities = None if greedy else torch.rand(5, 3000).softmax(1)
    got = rejection_sample(drafts, DRAFTED, 3, torch.tensor(DRAFTED).cumsum(0).int(),
                           probabilities, logits, bonus, settings)  # fmt: skip
    if not greedy:
        return Outcome((got,))
    best = logits.argmax(1).tolist()
    wanted = torch.tensor([[*best[:2], 7, -1], [8, -1, -1, -1], [best[2], -1, -1, -1]])
    return Outcome((got,), (wanted.int(),))


@case("vllm")
def rejection_greedy() -> Outcome:
    return rejected(greedy=True)


@case("vllm")
def rejection_random() -> Outcome:
    return rejected(greedy=False)


@case("vllm")
def expand_batch_to_tokens() -> Outcome:
    from vllm.v1.sample.rejection_sampler import expand_batch_to_tokens as function

    x = torch.tensor([0.0, 0.5, 2.0])
    got = function(x, torch.tensor(DRAFTED).cumsum(0).int(), 5, 0, 1)
    return Outcome((got,), (torch.tensor([1.0, 1.0, 2.0, 2.0, 2.0]),))


@case("vllm")
def rejection_of_draft_logits() -> Outcome:
    from vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils import rejection_sample

    counts = torch.tensor([0, 1, 4, 7]).int()
    mapping = torch.tensor([2, 0, 3]).int()
    expanded, local = mapping.repeat_interleave(counts.diff()), torch.tensor([0, 0, 1, 2, 0, 1, 2])
    sampled = torch.randint(0, 3000, (7,))
    got = rejection_sample(
        torch.randn(7, 3000), torch.randn(4, 2, 3000), sampled, counts, torch.arange(7), mapping,
        expanded, local.int(), torch.tensor([0.0, 1.0, 0.8, 1.2]), torch.arange(4), 2,
    )  # fmt: skip
    tokens, number = got
    kept = torch.arange(tokens.shape[1]) < number[:, None]
    return Outcome((tokens.where(kept, torch.zeros_like(tokens)), number))


def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight


@case("vllm")
def batch_invariant_rms_norm() -> Outcome:
    from vllm.model_executor.layers.batch_invariant import rms_norm_batch_invariant as function

    x, weight = torch.randn(13, 300), torch.randn(300)
    return Outcome((function(x, weight, 1e-6),), (norm(x, weight),))


@case("vllm")
def batch_invariant_log_softmax() -> Outcome:
    from vllm.model_executor.layers.batch_invariant import log_softmax as function

    x = torch.randn(13, 3000)
    return Outcome((function(x),), (x.log_softmax(-1),))


@case("vllm")
def batch_invariant_mean() -> Outcome:
    from vllm.model_executor.layers.batch_invariant import mean_dim as function

    x = torch.randn(13, 70, 9)
    return Outcome((function(x, 1),), (x.mean(1),))


@case("vllm")
def batch_invariant_matmul() -> Outcome:
    from vllm.model_executor.layers.batch_invariant import matmul_persistent as function

    a, b = torch.randn(70, 100).bfloat16(), torch.randn(100, 50).bfloat16()
    return Outcome((function(a, b),), (a @ b,), 1e-2)


@case("vllm")
def batch_invariant_bmm() -> Outcome:
    from vllm.model_executor.layers.batch_invariant import bmm_batch_invariant as function

    a, b = torch.randn(3, 70, 100).bfloat16(), torch.randn(3, 100, 50).bfloat16()
    return Outcome((function(a, b),), (a @ b,), 1e-2)
