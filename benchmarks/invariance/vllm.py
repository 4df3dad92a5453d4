"""Cases of vLLM: batch-invariant kernels, other layers, experts and quantized products."""

import torch
import torch.nn.functional as F
import triton.language as tl

from benchmarks.invariance.batch import Batch, Results, Size, case, cu_seqlens

FP8 = torch.float8_e4m3fn
LARGE: tuple[Size, ...] = ((1, 0), (3, 1), (9, 5), (140, 77))
ROWWISE = "a program per row, loops over columns by a constant"
ELEMENTWISE = "elementwise: no sum"
BLOCK_K_BY_M = (
    "the wrapper chooses BLOCK_K by the number of rows, and so which products one dot adds"
)


def as_bytes(value: torch.Tensor) -> torch.Tensor:
    """Return a float8 tensor's bytes, which torch can index and compare."""
    return value.view(torch.uint8)


def of_many_magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Return a float8 tensor of many magnitudes, so that sums of products are rounded."""
    return (x * x * x * 8).clamp(-400, 400).to(FP8)


@case("vllm", "rows", "BLOCK_K depends on dtype, N and K alone; K in one loop", sizes=LARGE)
def batch_invariant_matmul(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import matmul_persistent as function

    out = function(batch.per_row(100), batch.shared(100, 50))
    return {"c": batch.observed(out)}


@case("vllm", "rows", "as matmul; the bias is added once, after the loop")
def batch_invariant_matmul_bias(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import matmul_persistent as function

    out = function(batch.per_row(100), batch.shared(100, 50), batch.shared(50))
    return {"c": batch.observed(out)}


@case("vllm", "rows", "tuned shape (2048, 6144): BLOCK_M, warps by M, BLOCK_K fixed; K is 192 here",
      sizes=((1, 0), (9, 5), (40, 21)))  # fmt: skip
def batch_invariant_matmul_tuned(batch: Batch) -> Results:
    from vllm.model_executor.determinism import batch_invariant as module

    sizes = {1: (16, 64, 4), 9: (16, 32, 8), 40: (32, 64, 4)}
    rows, n, warps = sizes.get(batch.rows, (64, 64, 4))
    x, w = batch.per_row(192).bfloat16(), batch.shared(192, 64).bfloat16()
    out = torch.empty(batch.rows, 64)
    programs = min(132, -(-batch.rows // rows) * -(-64 // n))
    module.matmul_kernel_persistent[(programs,)](
        x, w, out, None, batch.rows, 64, 192, *x.stride(), *w.stride(), *out.stride(), 1,
        BLOCK_SIZE_M=rows, BLOCK_SIZE_N=n, BLOCK_SIZE_K=128, GROUP_SIZE_M=8, NUM_SMS=132,
        A_LARGE=False, B_LARGE=False, C_LARGE=False, HAS_BIAS=False, num_warps=warps,
    )  # fmt: skip
    return {"c": batch.observed(out)}


@case("vllm", "matrices", "a program per matrix and tile; BLOCK_K by dtype")
def batch_invariant_bmm(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import bmm_batch_invariant as function

    return {"c": batch.observed(function(batch.per_row(20, 100), batch.per_row(100, 50)))}


@case("vllm", "rows", ROWWISE)
def batch_invariant_log_softmax(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import log_softmax as function

    return {"output": batch.observed(function(batch.per_row(3000)))}


@case("vllm", "rows", ROWWISE)
def batch_invariant_softmax(batch: Batch) -> Results:
    from vllm.model_executor.determinism.batch_invariant import softmax as function

    return {"output": batch.observed(function(batch.per_row(3000)))}


@case("vllm", "rows", "a program per output element, loops over the reduced dimension")
def batch_invariant_mean(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import mean_dim as function

    return {"output": batch.observed(function(batch.per_row(70, 9), 1))}


@case("vllm", "rows", ROWWISE)
def batch_invariant_rms_norm(batch: Batch) -> Results:
    from vllm.model_executor.layers.batch_invariant import rms_norm_batch_invariant as function

    return {"output": batch.observed(function(batch.per_row(3000), batch.shared(3000), 1e-6))}


@case("vllm", "tokens", "ranks are added in a fixed order, each element alone")
def fixed_order_sum(batch: Batch) -> Results:
    from vllm.model_executor.determinism.batch_invariant import _fixed_order_sum_kernel as kernel

    parts = torch.stack([batch.per_row(300) for _ in range(4)])
    out, count = torch.empty(batch.rows, 300), batch.rows * 300
    kernel[(-(-count // 1024),)](
        parts, out, count, count, WORLD_SIZE=4, BLOCK_SIZE=1024, LARGE=False
    )
    return {"out": batch.observed(out)}


EXPERTS, TOP, INNER = 6, 2, 96


def routed(batch: Batch, block: int) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return weights and experts of each token, and tokens sorted into blocks of an expert each."""
    weights, ids = batch.per_row(EXPERTS, make=torch.rand).topk(TOP)
    padding, blocks, owners = batch.rows * TOP, [], []
    for expert in range(EXPERTS):
        mine = (ids.flatten() == expert).nonzero().flatten()
        if len(mine):
            blocks.append(F.pad(mine, (0, -len(mine) % block), value=padding))
            owners += [expert] * (len(blocks[-1]) // block)
    chosen = torch.cat(blocks)
    facts = (chosen.int(), torch.tensor(owners).int(), torch.tensor([len(chosen)]).int())
    return weights, ids, facts


def experts(batch: Batch, fp8: bool = False, fixed: bool = False) -> Results:
    """Return products of tokens with their experts' weights, in the library's tile sizes."""
    import vllm.model_executor.layers.fused_moe.fused_moe as module

    dtype = "fp8_w8a8" if fp8 else None
    config = module.get_default_config(batch.rows, EXPERTS, INNER, 256, TOP, dtype)
    if fixed:  # what VLLM_BATCH_INVARIANT selects
        config = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8,
                  "SPLIT_K": 1}  # fmt: skip
    weights, _, facts = routed(batch, config["BLOCK_SIZE_M"])
    x, w = batch.per_row(256), batch.shared(EXPERTS, INNER, 256)
    scales = (None, None)
    if fp8:
        x, w, scales = (
            of_many_magnitudes(x),
            of_many_magnitudes(w),
            (batch.shared(1, make=torch.rand), batch.shared(EXPERTS)),
        )
    out = torch.zeros(batch.rows, TOP, INNER)
    module.invoke_fused_moe_triton_kernel(
        x, w, out, *scales, weights, *facts, True, TOP, config, tl.float32, fp8, False, False,
        False, False,
    )  # fmt: skip
    return {"c": batch.observed(out)}


@case("vllm", "tokens", BLOCK_K_BY_M + ": 128 up to 64 tokens, then 64", invariant=False,
      sizes=((1, 0), (9, 5), (80, 41)))  # fmt: skip
def fused_moe(batch: Batch) -> Results:
    return experts(batch)


@case("vllm", "tokens", "fp8: BLOCK_K is 128 for all batches", sizes=((1, 0), (9, 5), (80, 41)))
def fused_moe_fp8(batch: Batch) -> Results:
    return experts(batch, fp8=True)


@case("vllm", "tokens", "the configuration of VLLM_BATCH_INVARIANT is fixed",
      sizes=((1, 0), (9, 5), (80, 41)))  # fmt: skip
def fused_moe_batch_invariant(batch: Batch) -> Results:
    return experts(batch, fixed=True)


@case("vllm", "tokens of an expert", "fixed configuration; rows past an expert's count are masked")
def batched_moe(batch: Batch) -> Results:
    from vllm.model_executor.layers.fused_moe.experts.fused_batched_moe import (
        invoke_moe_batched_triton_kernel as function,
    )

    x, w = batch.per_row(2, 128).transpose(0, 1).contiguous(), batch.shared(2, 64, 128)
    counts = torch.full((2,), batch.rows).int()
    out = torch.zeros(2, batch.rows, 64)
    config = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32}
    function(x, w, out, counts, tl.float32, None, None, None, False, False, False, config, False)
    return {"c": batch.observed(out.transpose(0, 1))}


@case("vllm", "tokens", "a program per token adds its experts in order")
def moe_fused_mul_sum(batch: Batch) -> Results:
    from vllm.model_executor.layers.fused_moe.moe_fused_mul_sum import moe_fused_mul_sum as function

    return {"out": batch.observed(function(batch.per_row(TOP, 128), batch.per_row(TOP)))}


@case("vllm", "tokens", "a maximum per group of columns: no sum")
def group_quant_fp8(batch: Batch) -> Results:
    from vllm.model_executor.layers.quantization.utils.fp8_utils import (
        _per_token_group_quant_fp8 as kernel,
    )

    x = batch.per_row(256)
    out, scale = torch.empty_like(x, dtype=FP8), torch.empty(batch.rows, 2)
    kernel[(2 * batch.rows,)](x, out, scale, 128, 256, 256, 1e-10, fp8_min=-448.0, fp8_max=448.0,
                              use_ue8m0=False, BLOCK=128, num_warps=1, num_stages=1)  # fmt: skip
    return {"quantised": batch.observed(as_bytes(out)), "scale": batch.observed(scale)}


@case("vllm", "rows", "BLOCK_K is the quantisation block, whatever M", sizes=LARGE)
def block_scaled_mm(batch: Batch) -> Results:
    from vllm.model_executor.layers.quantization.utils.fp8_utils import w8a8_triton_block_scaled_mm

    a, b = of_many_magnitudes(batch.per_row(256)), of_many_magnitudes(batch.shared(200, 256))
    one, two = batch.per_row(2), batch.shared(2, 2)
    out = w8a8_triton_block_scaled_mm(a, b, one, two, [128, 128], torch.float32)
    return {"c": batch.observed(out)}


@case("vllm", "rows", "a program per row: its maximum")
def token_quant_int8(batch: Batch) -> Results:
    from vllm.model_executor.layers.quantization.utils.int8_utils import per_token_quant_int8

    quantised, scale = per_token_quant_int8(batch.per_row(300))
    return {"quantised": batch.observed(quantised), "scale": batch.observed(scale)}


@case("vllm", "rows", BLOCK_K_BY_M + ": 256 up to 64 rows, then 128", invariant=False, sizes=LARGE)
def scaled_mm(batch: Batch) -> Results:
    from vllm.model_executor.layers.quantization.compressed_tensors.triton_scaled_mm import (
        triton_scaled_mm as function,
    )

    a, b = of_many_magnitudes(batch.per_row(512)), of_many_magnitudes(batch.shared(64, 512)).T
    one, two = batch.per_row(1, make=torch.rand), batch.shared(64, 1, make=torch.rand)
    return {"c": batch.observed(function(a, b, one, two, torch.float32))}


@case(
    "vllm",
    "rows",
    "split_k is the caller's, here 2, for all M; each part is one program's, added by torch",
)
def awq_gemm(batch: Batch) -> Results:
    from vllm.model_executor.layers.quantization.awq_triton import awq_gemm_triton

    limits = {"make": lambda shape, **how: torch.randint(-(1 << 31), 1 << 31, shape, **how)}
    weight, zero = batch.shared(128, 8, **limits).int(), batch.shared(2, 8, **limits).int()
    out = awq_gemm_triton(batch.per_row(128).half(), weight, batch.shared(2, 64).half(), zero, 2)
    return {"c": batch.observed(out)}


@case("vllm", "rows", "on CUDA BLOCK_K is 32 for every M: only BLOCK_M and BLOCK_N change",
      sizes=((1, 0), (9, 5), (40, 21), (80, 50)))  # fmt: skip
def w4a16_gemm(batch: Batch) -> Results:
    from vllm.model_executor.kernels.linear.mixed_precision import triton_w4a16 as module

    limits = {"make": lambda shape, **how: torch.randint(-(1 << 31), 1 << 31, shape, **how)}
    weight = batch.shared(128, 8, **limits).int()
    x, scale = batch.per_row(128).half(), batch.shared(4, 64).half()
    out = module._triton_w4a16_gemm_impl(x, weight, scale, None, 32)
    return {"c": batch.observed(out)}


@case("vllm", "rows", ELEMENTWISE)
def swiglu_step(batch: Batch) -> Results:
    from vllm.model_executor.layers.activation import swiglustep_and_mul_triton as function

    out = torch.empty(batch.rows, 300)
    function(out, batch.per_row(600) * 5, 7.0)
    return {"out": batch.observed(out)}


@case("vllm", "rows", ROWWISE)
def gelu_and_mul_sparse(batch: Batch) -> Results:
    from vllm.kernels.triton import activation

    x = batch.per_row(512).bfloat16()
    return {"out": batch.observed(activation._gelu_and_mul_sparse_triton_op(x, 0.5))}


@case("vllm", "tokens", ELEMENTWISE)
def mrope(batch: Batch) -> Results:
    from vllm.model_executor.layers.rotary_embedding.mrope import triton_mrope

    q, k = batch.per_row(256), batch.per_row(128)
    cos, sin = (batch.per_row(3, 32).transpose(0, 1).contiguous() for _ in range(2))
    q, k = triton_mrope(q, k, cos, sin, [8, 12, 12], 64, 64, False, True)
    return {"q": batch.observed(q), "k": batch.observed(k)}


@case("vllm", "sequences", ELEMENTWISE)
def rotary(batch: Batch) -> Results:
    from vllm.vllm_flash_attn.ops.triton.rotary import apply_rotary

    lengths = batch.lengths(11, 1, 20)
    x, angle = batch.packed(lengths, 4, 64), batch.shared(50, 16)
    out = apply_rotary(
        x, angle.cos(), angle.sin(), cu_seqlens=cu_seqlens(lengths), max_seqlen=max(lengths)
    )
    return {"out": batch.observed(out, lengths)}


@case("vllm", "tokens", "a program per token and head")
def qk_norm_rope_gate(batch: Batch) -> Results:
    from vllm.model_executor.layers.fused_qk_norm_rope import fused_qk_rmsnorm_rope_gate as function

    q, k = batch.per_row(512).half(), batch.per_row(128).half()
    one, two, table = (batch.shared(*shape).half() for shape in ((64,), (64,), (1000, 32)))
    places = batch.per_row(make=torch.randint)
    q, k, *gate = function(q, k, one, two, table, places, 1e-6, 4, 2, 64, 32)
    return {"q": batch.observed(q), "k": batch.observed(k), "gate": batch.observed(gate[0])}


@case("vllm", "tokens", "a program per token: q or kv, one sum over a block as wide as the row")
def fused_q_kv_rmsnorm(batch: Batch) -> Results:
    from vllm.models.common.ops.fused_qk_rmsnorm import fused_q_kv_rmsnorm as function

    q, kv = function(
        batch.per_row(300), batch.per_row(100), batch.shared(300), batch.shared(100), 1e-6
    )
    return {"q": batch.observed(q), "kv": batch.observed(kv)}


@case("vllm", "rows", "up to 4 rows a program by M; each row's sum is along its own axis")
def gated_layer_norm(batch: Batch) -> Results:
    from vllm.model_executor.layers.fla.ops.layernorm_guard import layer_norm_fwd as function

    out = function(
        batch.per_row(128), batch.shared(128), None, 1e-5, batch.per_row(128), is_rms_norm=True
    )
    return {"out": batch.observed(out[0]), "rstd": batch.observed(out[2])}


def lora_facts(mapping: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the arguments of LoRA's kernels that say which adapter each token has."""
    order, present = mapping.argsort(stable=True), mapping.unique()
    ids = torch.full((4,), -1)
    ids[: len(present)] = present
    counts = torch.zeros(4, dtype=torch.int64)
    counts[: len(present)] = torch.stack([(mapping == one).sum() for one in present])
    begin = F.pad(counts.cumsum(0), (1, 0))
    none, active = torch.tensor([False]), torch.tensor([len(present)])
    return (mapping.int(), order.int(), counts.int(), begin.int(), ids.int(), none, active)


@case("vllm", "tokens", "SPLIT_K 64 up to 127 tokens, then 8, added by atomics", invariant=False,
      sizes=LARGE)  # fmt: skip
def lora_shrink(batch: Batch) -> Results:
    from vllm.lora.ops.triton_ops.lora_shrink_op import _lora_shrink

    x, w = batch.per_row(1024), batch.shared(3, 16, 1024)
    facts = lora_facts(batch.per_row(make=torch.randint) % 3)
    out = torch.zeros(1, batch.rows, 16)
    _lora_shrink(x.bfloat16(), [w.bfloat16()], out, *facts, 0.5)
    return {"out": batch.observed(out[0])}


@case("vllm", "tokens", "the rank is one BLOCK_K; no split", sizes=LARGE)
def lora_expand(batch: Batch) -> Results:
    from vllm.lora.ops.triton_ops.lora_expand_op import _lora_expand

    x, w = batch.per_row(16), batch.shared(3, 128, 16).half()
    facts, out = lora_facts(batch.per_row(make=torch.randint) % 3), batch.per_row(128)
    _lora_expand(x[None], [w], out, *facts, 0, True)
    return {"out": batch.observed(out)}
