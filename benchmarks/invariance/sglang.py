"""Cases of SGLang: batch-invariant kernels, layers, quantized products, attention and sampling."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
import triton.language as tl

from benchmarks.invariance.batch import Batch, Results, Size, case, cu_seqlens
from benchmarks.invariance.vllm import (
    ELEMENTWISE,
    FP8,
    ROWWISE,
    as_bytes,
    of_many_magnitudes,
    routed,
)

LARGE: tuple[Size, ...] = ((1, 0), (3, 1), (9, 5), (140, 77))
HEADS, KV_HEADS, SIZE = 4, 2, 64


@case("sglang", "rows", "tiles by dtype alone; K in one loop", sizes=LARGE)
def batch_invariant_matmul(batch: Batch) -> Results:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import _matmul_persistent_triton

    x, w = batch.per_row(100), batch.shared(100, 50)
    return {"c": batch.observed(_matmul_persistent_triton(x, w, torch.float32))}


@case("sglang", "matrices", "persistent programs share matrices and tiles; K in one loop")
def batch_invariant_bmm(batch: Batch) -> Results:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import bmm_batch_invariant as function

    return {"c": batch.observed(function(batch.per_row(20, 100), batch.per_row(100, 50)))}


@case("sglang", "rows", ROWWISE)
def batch_invariant_log_softmax(batch: Batch) -> Results:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import log_softmax as function

    return {"output": batch.observed(function(batch.per_row(3000)))}


@case("sglang", "rows", "a program per output element, loops over the reduced dimension")
def batch_invariant_mean(batch: Batch) -> Results:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import mean_dim as function

    return {"output": batch.observed(function(batch.per_row(70, 9), 1))}


@case("sglang", "rows", ROWWISE)
def batch_invariant_rms_norm(batch: Batch) -> Results:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import rms_norm as function

    return {"output": batch.observed(function(batch.per_row(3000), batch.shared(3000), 1e-6))}


@case("sglang", "rows", "a program per row, one block as wide as the row")
def rmsnorm(batch: Batch) -> Results:
    from sglang.srt.layers.elementwise import fused_rmsnorm as function

    return {"out": batch.observed(function(batch.per_row(300), batch.shared(300), 1e-6))}


@case("sglang", "rows", "a program per row, one block as wide as the row")
def dual_residual_rmsnorm(batch: Batch) -> Results:
    from sglang.srt.layers.elementwise import fused_dual_residual_rmsnorm as function

    one, two = batch.shared(300), batch.shared(300)
    out, mid = function(batch.per_row(300), batch.per_row(300), one, two, 1e-6)
    return {"out": batch.observed(out), "mid": batch.observed(mid)}


@case("sglang", "tokens", "a program per token adds its experts in a block")
def moe_sum_reduce(batch: Batch) -> Results:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        moe_sum_reduce_triton as function,
    )

    x = batch.per_row(4, 300)
    out = torch.empty(batch.rows, 300)
    function(x, out, 2.5)
    return {"out": batch.observed(out)}


@case("sglang", "rows", ELEMENTWISE)
def act_and_mul(batch: Batch) -> Results:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        act_and_mul_triton as function,
    )

    out = torch.zeros(batch.rows, 300)
    ids = batch.per_row(1, make=torch.randint).int() % 6
    function(batch.per_row(600), out, {"BLOCK_SIZE_M": 16}, ids)
    return {"out": batch.observed(out)}


@case("sglang", "tokens", "a program per token: one sum over the width, top-k by maxima")
def moe_router(batch: Batch) -> Results:
    from sglang.srt.layers.moe.router import fused_moe_router_cudacore as function

    weights, ids = function(batch.per_row(128), batch.shared(8, 128), 2, 30.0)
    return {"weights": batch.observed(weights), "ids": batch.observed(ids)}


def experts(batch: Batch, depth: int) -> Results:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        invoke_fused_moe_kernel as function,
    )

    config = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": depth, "GROUP_SIZE_M": 1}
    weights, ids, facts = routed(batch, 16)
    x, w = batch.per_row(128), batch.shared(6, 96, 128)
    out = torch.zeros(batch.rows, 2, 96)
    function(x, w, None, out, None, None, None, weights, ids.int(), *facts, True, 2, config,
             tl.float32, False, False, False, False, False)  # fmt: skip
    return {"c": batch.observed(out)}


@case("sglang", "tokens", "one configuration for all batches")
def fused_moe(batch: Batch) -> Results:
    return experts(batch, 32)


@case(
    "sglang",
    "tokens",
    "get_default_config: BLOCK_K 64 with few tokens, M <= E, then 32",
    invariant=False,
)
def fused_moe_by_tokens(batch: Batch) -> Results:
    return experts(batch, 64 if batch.rows <= 6 else 32)


@case("sglang", "rows", "a maximum per group of 128 columns: no sum")
def group_quant(batch: Batch) -> Results:
    from sglang.srt.layers.quantization.fp8_kernel import _per_token_group_quant_8bit_raw

    out, scale = _per_token_group_quant_8bit_raw(batch.per_row(256).bfloat16(), 128)
    return {"out": batch.observed(as_bytes(out)), "scale": batch.observed(scale)}


@case("sglang", "rows", "a program per row: its maximum")
def token_quant_int8(batch: Batch) -> Results:
    from sglang.srt.layers.quantization.int8_kernel import per_token_quant_int8 as function

    out, scale = function(batch.per_row(300))[:2]
    return {"out": batch.observed(out), "scale": batch.observed(scale)}


@case("sglang", "rows", "BLOCK_K is the quantisation block", sizes=LARGE)
def block_fp8_matmul(batch: Batch) -> Results:
    from sglang.srt.layers.quantization.fp8_kernel import w8a8_block_fp8_matmul_triton as function

    a, b = of_many_magnitudes(batch.per_row(256)), of_many_magnitudes(batch.shared(200, 256))
    return {
        "c": batch.observed(
            function(a, b, batch.per_row(2), batch.shared(2, 2), [128, 128], torch.float32)
        )
    }


@case("sglang", "rows", "BLOCK_K is the quantisation block; int32 sums within it")
def block_int8_matmul(batch: Batch) -> Results:
    from sglang.srt.layers.quantization.int8_kernel import w8a8_block_int8_matmul as function

    a, b = (batch.per_row(256) * 30).to(torch.int8), (batch.shared(200, 256) * 30).to(torch.int8)
    return {
        "c": batch.observed(
            function(a, b, batch.per_row(2), batch.shared(2, 2), [128, 128], torch.float32)
        )
    }


@case(
    "sglang",
    "rows",
    "BLOCK_K by M, as vLLM's: 256 up to 64 rows, then 128",
    invariant=False,
    sizes=LARGE,
)
def scaled_mm(batch: Batch) -> Results:
    from sglang.srt.layers.quantization.fp8_kernel import triton_scaled_mm as function

    a, b = of_many_magnitudes(batch.per_row(512)), of_many_magnitudes(batch.shared(64, 512)).T
    one, two = batch.per_row(1, make=torch.rand), batch.shared(64, 1, make=torch.rand)
    return {"c": batch.observed(function(a, b, one, two, torch.float32))}


@case("sglang", "rows", "a maximum over the whole batch gives the scale", invariant=False)
def mla_tensor_quant(batch: Batch) -> Results:
    from sglang.kernels.ops.quantization import fp8_kernel as module

    # what these names are where the platform is CUDA
    vars(module).update(
        fp8_min=-448.0, fp8_max=448.0, fp8_dtype=FP8, fp8_dtype_to_triton=lambda _: tl.float8e4nv
    )
    out, scale = module.per_tensor_quant_mla_fp8(
        batch.per_row(4, 100).transpose(0, 1).contiguous(), torch.zeros(1)
    )
    return {"out": batch.observed(as_bytes(out).transpose(0, 1)), "scale": scale}


def run_decode_attention(
    batch: Batch, heads: int, splits: torch.Tensor, lengths: list[int]
) -> Results:
    from sglang.srt.layers.attention.triton_ops.decode_attention import decode_attention_fwd

    q = batch.per_row(heads, SIZE)
    k, v = (batch.packed(lengths, KV_HEADS, SIZE) for _ in range(2))
    order = torch.arange(len(k)).flip(0)  # where each token lies in the pool
    out = torch.zeros_like(q)
    logits, lse = torch.zeros(batch.rows, heads, 8, SIZE), torch.zeros(batch.rows, heads, 8)
    decode_attention_fwd(q, k[order], v[order], out, cu_seqlens(lengths), order, logits, lse,
                         splits, 8, SIZE**-0.5, 1.0, 1.0)  # fmt: skip
    return {"out": batch.observed(out)}


@case("sglang", "sequences", "num_kv_splits is an input, here 4 for each sequence")
def decode_attention(batch: Batch) -> Results:
    splits = torch.full((batch.rows,), 4).int()
    return run_decode_attention(batch, KV_HEADS, splits, batch.lengths(50, 40, 90))


@case("sglang", "sequences", "num_kv_splits is an input, here 4 for each sequence")
def decode_attention_grouped(batch: Batch) -> Results:
    splits = torch.full((batch.rows,), 4).int()
    return run_decode_attention(batch, 8, splits, batch.lengths(50, 40, 90))


@case("sglang", "sequences", "get_num_kv_splits looks at the batch's size and its longest sequence",
      invariant=False, sizes=((1, 0), (3, 1), (40, 5)))  # fmt: skip
def decode_attention_splits(batch: Batch) -> Results:
    from sglang.srt.layers.attention.triton_backend import get_num_kv_splits_triton as kernel

    lengths, splits = batch.lengths(200, 150, 250), torch.zeros(batch.rows).int()
    kernel[(1,)](splits, torch.tensor(lengths), batch.rows, 1, 8, 2, 8, 132, MAX_NUM_SEQ=64)
    return run_decode_attention(batch, 8, splits, lengths)


def run_extend_attention(batch: Batch, unified: bool) -> Results:
    from sglang.srt.layers.attention.triton_ops import extend_attention as module

    old, new = batch.lengths(20, 1, 40), batch.lengths(11, 1, 30)
    q = batch.packed(new, HEADS, SIZE)
    before = [batch.packed(old, KV_HEADS, SIZE) for _ in range(2)]
    after = [batch.packed(new, KV_HEADS, SIZE) for _ in range(2)]
    k, v = (torch.cat(parts) for parts in zip(before, after, strict=True))
    out, slots = torch.zeros_like(q), torch.arange(sum(old))
    if unified:
        new_slots = torch.arange(sum(old), len(k))
        both = torch.cat([part for parts in zip(slots.split(old), new_slots.split(new), strict=True)
                          for part in parts])  # fmt: skip
        total = [a + b for a, b in zip(old, new, strict=True)]
        module.extend_attention_fwd_unified(q, out, k, v, 1.0, 1.0, cu_seqlens(new),
                                            cu_seqlens(total), both, torch.tensor(old).int(),
                                            max(new))  # fmt: skip
    else:
        module.extend_attention_fwd(q, *after, out, k, v, cu_seqlens(new), cu_seqlens(old), slots,
                                    None, True, None, max(new), 1.0, 1.0)  # fmt: skip
    return {"out": batch.observed(out, new)}


@case(
    "sglang",
    "sequences",
    "a program per query block and head; loops over the own prefix, then the new keys",
)
def extend_attention(batch: Batch) -> Results:
    return run_extend_attention(batch, unified=False)


@case("sglang", "sequences", "a program per query block and head; one loop over the own keys")
def extend_attention_unified(batch: Batch) -> Results:
    return run_extend_attention(batch, unified=True)


@case("sglang", "sequences", "a program per query block and head; one loop over the own keys")
def prefill_attention(batch: Batch) -> Results:
    from sglang.srt.layers.attention.triton_ops.prefill_attention import context_attention_fwd

    lengths = batch.lengths(40, 5, 50)
    q = batch.packed(lengths, HEADS, SIZE)
    k, v = (batch.packed(lengths, KV_HEADS, SIZE) for _ in range(2))
    out = torch.zeros_like(q)
    context_attention_fwd(
        q, k, v, out, cu_seqlens(lengths)[:-1], torch.tensor(lengths).int(), max(lengths)
    )
    return {"out": batch.observed(out, lengths)}


@case("sglang", "tokens", "a program per token and head, two states")
def merge_state(batch: Batch) -> Results:
    from sglang.srt.layers.attention.triton_ops.merge_state import merge_state_triton

    out, lse = merge_state_triton(batch.per_row(HEADS, SIZE), batch.per_row(HEADS),
                                  batch.per_row(HEADS, SIZE), batch.per_row(HEADS))  # fmt: skip
    return {"out": batch.observed(out), "lse": batch.observed(lse)}


def lora(batch: Batch, lengths: list[int]) -> SimpleNamespace:
    """Return the batch information that LoRA's kernels read."""
    return SimpleNamespace(
        use_cuda_graph=False, bs=batch.rows, num_segments=batch.rows,
        seg_indptr=cu_seqlens(lengths),
        weight_indices=batch.per_row(make=torch.randint).int() % 3,
        lora_ranks=torch.tensor([16, 16, 16]).int(), scalings=torch.tensor([0.5, 2.0, 1.0]),
        max_len=max(lengths), seg_lens=torch.tensor(lengths).int(), permutation=None,
    )  # fmt: skip


@case("sglang", "sequences", "BLOCK_K fixed, no split")
def sgemm_lora_a(batch: Batch) -> Results:
    from sglang.srt.lora.triton_ops.sgemm_lora_a import sgemm_lora_a_fwd as function

    lengths = batch.lengths(20, 1, 40)
    info = lora(batch, lengths)
    x, w = batch.packed(lengths, 300), batch.shared(3, 16, 300)
    return {"out": batch.observed(function(x, w, info, 1), lengths)}


@case("sglang", "sequences", "the rank is one BLOCK_K; no split")
def sgemm_lora_b(batch: Batch) -> Results:
    from sglang.srt.lora.triton_ops.sgemm_lora_b import sgemm_lora_b_fwd as function

    lengths = batch.lengths(20, 1, 40)
    info = lora(batch, lengths)
    x, w = batch.packed(lengths, 16), batch.shared(3, 256, 16)
    return {"out": batch.observed(function(x, w, info), lengths)}


@case("sglang", "rows", "splits of the vocabulary by the number of rows", invariant=False,
      sizes=((1, 0), (9, 5), (60, 21)))  # fmt: skip
def temperature_softmax(batch: Batch) -> Results:
    from sglang.kernels.ops.sampling.temperature_softmax import temperature_softmax as function

    temperature = batch.per_row(1, make=torch.rand) + 0.5
    return {"probs": batch.observed(function(batch.per_row(9000), temperature))}


@case("sglang", "rows", "blocks of a constant; torch adds their sums")
def top_k_renorm_probs(batch: Batch) -> Results:
    from sglang.kernels.ops.sampling.renorm_triton import top_k_renorm_probs_triton as function

    k = batch.per_row(make=torch.randint).int() % 50 + 1
    return {"probs": batch.observed(function(batch.per_row(3000, make=torch.rand), k))}


@case(
    "sglang",
    "rows",
    "float32 gates: one configuration up to 8 rows, the most; the last program adds parts in order",
    sizes=((1, 0), (3, 1), (8, 5)),
)
def router_gemv(batch: Batch) -> Results:
    from sglang.kernels.ops.gemm.router_gemv import router_gemv as function

    return {"out": batch.observed(function(batch.per_row(2048).bfloat16(), batch.shared(32, 2048)))}


@case(
    "sglang",
    "rows",
    "bfloat16 gates: SPLIT_K 4 up to 8 rows, then 8; above 8 rows a dot instead of a sum",
    invariant=False,
    sizes=((1, 0), (3, 1), (9, 5)),
)
def router_gemv_bf16(batch: Batch) -> Results:
    from sglang.kernels.ops.gemm.router_gemv import router_gemv as function

    x, w = batch.per_row(4096).bfloat16(), batch.shared(32, 4096).bfloat16()
    return {"out": batch.observed(function(x, w))}


@case(
    "sglang", "rows", "a program per row block: maximum and sum of exponentials in columns' order"
)
def row_logsumexp(batch: Batch) -> Results:
    from sglang.srt.layers.logsumexp import row_logsumexp as function

    top, lse = function(batch.per_row(3000))
    return {"first": batch.observed(top), "second": batch.observed(lse)}


@case("sglang", "rows", "several rows a program, each row's sum along its own axis")
def l2norm(batch: Batch) -> Results:
    from sglang.srt.layers.attention.fla.l2norm import l2norm_fwd as function

    return {"out": batch.observed(function(batch.per_row(64)))}


@case("sglang", "tokens", ELEMENTWISE)
def fused_mrope(batch: Batch) -> Results:
    from sglang.srt.layers.rotary_embedding import triton_mrope_fused as function

    q, k, table = batch.per_row(6 * 64), batch.per_row(2 * 64), batch.shared(1000, 64)
    places = batch.per_row(3, make=torch.randint).T.contiguous()
    function(q, k, table, places, [8, 12, 12], 64, 64, False, False, True, None)
    return {"q": batch.observed(q), "k": batch.observed(k)}


@case("sglang", "sequences", "a program per sequence and channels; four taps in order")
def causal_conv1d_update(batch: Batch) -> Results:
    from sglang.srt.layers.attention.mamba import causal_conv1d_triton as module

    x, weight, bias = batch.per_row(40), batch.shared(40, 4), batch.shared(40)
    states = F.pad(batch.per_row(3, 40), (0, 0, 0, 0, 1, 0)).transpose(1, 2)
    places = (torch.arange(batch.rows) + 1).int()
    out = module.causal_conv1d_update(x, states, weight, bias, "silu", conv_state_indices=places)
    return {"out": batch.observed(out), "states": states[batch.position + 1]}


@case("sglang", "sequences", "a program per sequence, head and channels; one sum over the state")
def selective_state_update(batch: Batch) -> Results:
    from sglang.srt.layers.attention.mamba.ops.mamba_ssm import selective_state_update as function

    state, x, z, dt = (
        batch.per_row(4, 64, 16),
        batch.per_row(4, 64),
        batch.per_row(4, 64),
        batch.per_row(4, 64),
    )
    a, d, bias = -batch.shared(4, 64, 16).abs(), batch.shared(4, 64), batch.shared(4, 64)
    b, c, out = batch.per_row(2, 16), batch.per_row(2, 16), torch.empty_like(x)
    function(state, x, dt, a, b, c, d, z, bias, True, torch.arange(batch.rows).int(), out=out)
    return {"out": batch.observed(out), "state": batch.observed(state)}
