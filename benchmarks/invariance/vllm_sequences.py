"""Cases of vLLM: attention over a paged cache, states of sequences, and sampling."""

import torch
import torch.nn.functional as F

from benchmarks.invariance.batch import Batch, Results, case, cu_seqlens

HEADS, KV_HEADS, SIZE, PAGE, VOCABULARY = 4, 2, 64, 16, 3000
OWN_TILES = (
    "a program per query block and head; the loop over keys depends on the sequence's length"
)
ROWWISE = "a program per row, loops over columns by a constant"


class Cache:
    """Keys and values of all sequences, in pages whose order depends on the batch."""

    def __init__(self, batch: Batch, lengths: list[int]) -> None:
        pages = max(-(-length // PAGE) for length in lengths)
        count = batch.rows * pages
        shape = (pages * PAGE, KV_HEADS, SIZE)
        k, v = batch.per_row(*shape), batch.per_row(*shape)
        generator = torch.Generator().manual_seed(batch.rows)
        table = torch.randperm(count, generator=generator, device="cpu").cuda()
        self.table = table.reshape(batch.rows, pages).int()
        self.k, self.v = torch.empty(2, count, PAGE, KV_HEADS, SIZE)
        self.k[table] = k.view(count, PAGE, KV_HEADS, SIZE)
        self.v[table] = v.view(count, PAGE, KV_HEADS, SIZE)
        self.lengths = torch.tensor(lengths).int()


def run_unified_attention(batch: Batch, queries: list[int], *, threshold: int = 0) -> Results:
    from vllm.v1.attention.ops.triton_unified_attention import unified_attention

    lengths = batch.lengths(50, 40, 90)
    cache, q = Cache(batch, lengths), batch.packed(queries, HEADS, SIZE)
    out, segments = torch.zeros_like(q), {}
    if threshold:
        segments = {
            "seq_threshold_3D": threshold, "num_par_softmax_segments": 4,
            "softmax_segm_output": torch.zeros(len(q), HEADS, 4, SIZE),
            "softmax_segm_max": torch.zeros(len(q), HEADS, 4),
            "softmax_segm_expsum": torch.zeros(len(q), HEADS, 4),
        }  # fmt: skip
    unified_attention(
        q, cache.k, cache.v, out, cu_seqlens(queries), max(queries), cache.lengths,
        max(lengths), SIZE**-0.5, True, (-1, -1), cache.table, 0, None, None, None, **segments,
    )  # fmt: skip
    return {"out": batch.observed(out, queries)}


@case("vllm", "sequences", OWN_TILES)
def unified_attention_prefill(batch: Batch) -> Results:
    return run_unified_attention(batch, batch.lengths(20, 1, 30))


@case(
    "vllm",
    "sequences",
    "segments by the own length, their number fixed; all sizes stay below the threshold",
)
def unified_attention_decode_split(batch: Batch) -> Results:
    return run_unified_attention(batch, [1] * batch.rows, threshold=64)


@case("vllm", "sequences", "keys are split up to seq_threshold_3D sequences, here 4, then not",
      invariant=False)  # fmt: skip
def unified_attention_threshold(batch: Batch) -> Results:
    return run_unified_attention(batch, [1] * batch.rows, threshold=4)


@case("vllm", "sequences", OWN_TILES)
def prefill_attention(batch: Batch) -> Results:
    from vllm.v1.attention.ops.triton_prefill_attention import context_attention_fwd

    lengths = batch.lengths(40, 5, 50)
    q = batch.packed(lengths, HEADS, SIZE)
    k, v = batch.packed(lengths, KV_HEADS, SIZE), batch.packed(lengths, KV_HEADS, SIZE)
    out = torch.zeros_like(q)
    context_attention_fwd(
        q, k, v, out, cu_seqlens(lengths)[:-1], torch.tensor(lengths).int(), max(lengths)
    )
    return {"out": batch.observed(out, lengths)}


def run_prefix_attention(batch: Batch, queries: list[int], *, decode: bool) -> Results:
    from vllm.v1.attention.ops.chunked_prefill_paged_decode import chunked_prefill_paged_decode
    from vllm.v1.attention.ops.prefix_prefill import context_attention_fwd

    cache = Cache(batch, batch.lengths(50, 40, 90))
    q = batch.packed(queries, HEADS, SIZE)
    k, v = batch.packed(queries, KV_HEADS, SIZE), batch.packed(queries, KV_HEADS, SIZE)
    pages = len(cache.k)
    keys = cache.k.view(pages, PAGE, KV_HEADS, SIZE // 8, 8).permute(0, 2, 3, 1, 4).contiguous()
    values = cache.v.permute(0, 2, 3, 1).contiguous()
    out, one = torch.zeros_like(q), torch.ones(1)
    function = chunked_prefill_paged_decode if decode else context_attention_fwd
    function(q, k, v, out, "auto", keys, values, cache.table, cu_seqlens(queries),
             cache.lengths, int(cache.lengths.max()), max(queries), one, one)  # fmt: skip
    return {"out": batch.observed(out, queries)}


@case("vllm", "sequences", OWN_TILES)
def prefix_prefill(batch: Batch) -> Results:
    return run_prefix_attention(batch, batch.lengths(20, 2, 30), decode=False)


@case("vllm", "sequences", "a program per sequence and head loops over its pages")
def paged_decode(batch: Batch) -> Results:
    return run_prefix_attention(batch, [1] * batch.rows, decode=True)


def run_decode_attention(batch: Batch, heads: int) -> Results:
    from vllm.v1.attention.ops.triton_decode_attention import decode_attention_fwd

    cache, q = Cache(batch, batch.lengths(50, 40, 90)), batch.per_row(heads, SIZE)
    out, lse = torch.zeros_like(q), torch.zeros(batch.rows, heads)
    logits = torch.zeros(batch.rows, heads, 4, SIZE + 1)
    decode_attention_fwd(
        q, cache.k, cache.v, out, lse, cache.table, cache.lengths, logits, 4, SIZE**-0.5, PAGE
    )
    return {"out": batch.observed(out), "lse": batch.observed(lse)}


@case(
    "vllm",
    "sequences",
    "num_kv_splits is an argument, here 4 for all batches; parts by the own length",
)
def decode_attention(batch: Batch) -> Results:
    return run_decode_attention(batch, KV_HEADS)


@case("vllm", "sequences", "as decode_attention, heads in groups")
def decode_attention_grouped(batch: Batch) -> Results:
    return run_decode_attention(batch, 8)


@case("vllm", "tokens", "a program per token and head, two states")
def merge_attn_states(batch: Batch) -> Results:
    from vllm.v1.attention.ops.triton_merge_attn_states import merge_attn_states as function

    first, second = batch.per_row(HEADS, SIZE), batch.per_row(HEADS, SIZE)
    one, two = batch.per_row(HEADS).T.contiguous(), batch.per_row(HEADS).T.contiguous()
    out, lse = torch.empty_like(first), torch.empty(HEADS, batch.rows)
    function(out, first, one, second, two, lse)
    return {"out": batch.observed(out), "lse": batch.observed(lse.T)}


@case("vllm", "tokens", "copies to slots: no arithmetic")
def reshape_and_cache_flash(batch: Batch) -> Results:
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash as function,
    )

    key, value = batch.per_row(KV_HEADS, SIZE), batch.per_row(KV_HEADS, SIZE)
    keys, values = torch.zeros(2, 4, PAGE, KV_HEADS, SIZE)
    slots, one = torch.arange(batch.rows).flip(0) * 3, torch.ones(1)
    function(key, value, keys, values, slots, "auto", one, one)
    place = int(slots[batch.position])
    return {"keys": keys.flatten(0, 1)[place], "values": values.flatten(0, 1)[place]}


WIDTH, CHANNELS = 4, 40


@case("vllm", "sequences", "a program per sequence and channels; four taps in order")
def causal_conv1d_update(batch: Batch) -> Results:
    from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_update as function

    x, weight, bias = batch.per_row(CHANNELS), batch.shared(CHANNELS, WIDTH), batch.shared(CHANNELS)
    states = F.pad(batch.per_row(WIDTH - 1, CHANNELS), (0, 0, 0, 0, 1, 0)).transpose(1, 2)
    places = (torch.arange(batch.rows) + 1).int()
    out = function(x, states, weight, bias, "silu", conv_state_indices=places)
    return {"out": batch.observed(out), "states": states[batch.position + 1]}


@case("vllm", "sequences", "a program per sequence, head and channels; one sum over the state")
def selective_state_update(batch: Batch) -> Results:
    from vllm.model_executor.layers.mamba.ops.mamba_ssm import selective_state_update as function

    state, x, z, dt = (
        batch.per_row(4, 64, 16),
        batch.per_row(4, 64),
        batch.per_row(4, 64),
        batch.per_row(4, 64),
    )
    a, d, bias = -batch.shared(4, 64, 16).abs(), batch.shared(4, 64), batch.shared(4, 64)
    b, c, out = batch.per_row(2, 16), batch.per_row(2, 16), torch.empty_like(x)
    places = torch.arange(batch.rows).int()
    state = torch.cat((torch.zeros_like(state[:1]), state))
    function(state, x, dt, a, b, c, d, bias, z, True, places + 1, out=out)
    return {"out": batch.observed(out), "state": state[batch.position + 1]}


@case("vllm", "sequences", "a program per sequence and head; sums over blocks as wide as the head")
def gated_delta_decode(batch: Batch) -> Results:
    from vllm.model_executor.layers.fla.ops.fused_recurrent import (
        fused_recurrent_gated_delta_rule_fwd as function,
    )

    q, k = batch.per_row(2, 64)[None], batch.per_row(2, 64)[None]
    v, g, beta = (
        batch.per_row(4, 64)[None],
        -batch.per_row(4).abs()[None],
        batch.per_row(4, make=torch.rand)[None],
    )
    state = F.pad(batch.per_row(4, 64, 64), (0, 0, 0, 0, 0, 0, 1, 0))
    places = (torch.arange(batch.rows) + 1).int()
    begin = torch.arange(batch.rows + 1)
    out, kept = function(q, k, v, g, beta, 0.125, state, True, begin, places)
    return {"out": batch.observed(out.reshape(batch.rows, -1)), "state": kept[batch.position + 1]}


@case("vllm", "rows", "16 to 32 rows a program, each row's sum along its own axis")
def l2norm(batch: Batch) -> Results:
    from vllm.model_executor.layers.fla.ops.l2norm import l2norm_fwd as function

    return {"out": batch.observed(function(batch.per_row(64)))}


@case("vllm", "tokens", "a maximum per row: no sum")
def apply_min_p(batch: Batch) -> Results:
    from vllm.v1.worker.gpu.sample.min_p import apply_min_p as function

    logits = batch.per_row(VOCABULARY)
    function(logits, torch.arange(batch.rows).int(), batch.per_row(make=torch.rand) * 0.1)
    return {"logits": batch.observed(logits)}


@case("vllm", "tokens", ROWWISE)
def compute_token_logprobs(batch: Batch) -> Results:
    from vllm.v1.worker.gpu.sample.logprob import compute_token_logprobs as function

    return {
        "logprobs": batch.observed(
            function(batch.per_row(VOCABULARY), batch.per_row(5, make=torch.randint))
        )
    }


@case("vllm", "tokens", "noise by the request's seed and position; a maximum per block")
def gumbel_sample(batch: Batch) -> Results:
    from vllm.v1.worker.gpu.sample.gumbel import gumbel_sample as function

    seeds, places = batch.per_row(make=torch.randint), batch.per_row(make=torch.randint)
    got = function(batch.per_row(VOCABULARY), torch.arange(batch.rows).int(),
                   batch.per_row(make=torch.rand), seeds, places, True, False)  # fmt: skip
    return {"sampled": batch.observed(got)}


@case("vllm", "tokens", "elementwise: no sum")
def apply_penalties(batch: Batch) -> Results:
    from vllm.v1.worker.gpu.sample.penalties import apply_penalties as function

    logits = batch.per_row(VOCABULARY)
    factors = [batch.per_row(make=torch.rand) + 0.5 for _ in range(3)]
    mask = batch.per_row(94, make=torch.randint).int()
    counts = batch.per_row(VOCABULARY, make=torch.randint).int() % 3
    tokens, zeros = batch.per_row(make=torch.randint), torch.zeros(batch.rows).int()
    function(logits, torch.arange(batch.rows).int(), tokens, zeros, *factors, mask, counts)
    return {"logits": batch.observed(logits)}


@case("vllm", "rows", "top-k and top-p by pivots: sums of exponentials in blocks of a constant")
def top_k_top_p(batch: Batch) -> Results:
    from vllm.v1.sample.ops import topk_topp_triton as module

    k = (batch.per_row(make=torch.randint) % 50 + 1).int()
    out = module.apply_top_k_top_p_triton(
        batch.per_row(VOCABULARY), k, batch.per_row(make=torch.rand)
    )
    return {"logits": batch.observed(out)}
