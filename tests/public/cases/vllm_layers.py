"""vLLM's layers: LoRA, mixtures of experts, quantised products, rotations."""

import torch
import torch.nn.functional as F
import triton.language as tl

from tests.public.case import Outcome, case

TOKENS, HIDDEN, RANK, LORAS = 37, 128, 16, 3


def adapters() -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Which adapter each token has (-1: none), and what LoRA's kernels are given of it."""
    mapping = torch.randint(-1, LORAS, (TOKENS,))
    order = mapping.argsort(stable=True)
    present = mapping.unique()
    ids = torch.full((LORAS + 1,), -1)
    ids[: len(present)] = present
    counts = torch.zeros(LORAS + 1, dtype=torch.int64)
    counts[: len(present)] = torch.stack([(mapping == one).sum() for one in present])
    begin = F.pad(counts.cumsum(0), (1, 0))
    none, active = torch.tensor([False]), torch.tensor([len(present)])
    facts = (mapping.int(), order.int(), counts.int(), begin.int(), ids.int(), none, active)
    return mapping, facts


def shrunk(slices: int) -> Outcome:
    from vllm.lora.ops.triton_ops.lora_shrink_op import _lora_shrink

    mapping, facts = adapters()
    x = torch.randn(TOKENS, HIDDEN).bfloat16()
    weights = [torch.randn(LORAS, RANK, HIDDEN).bfloat16() for _ in range(slices)]
    out = torch.zeros(slices, TOKENS, RANK)
    _lora_shrink(x, weights, out, *facts, 0.5)
    wanted = torch.stack([torch.einsum("th,trh->tr", x.float(), w[mapping.clamp(min=0)].float())
                          for w in weights]) * 0.5  # fmt: skip
    return Outcome((out,), (wanted.masked_fill(mapping[:, None] < 0, 0),), 1e-2)


def expanded(slices: int) -> Outcome:
    from vllm.lora.ops.triton_ops.lora_expand_op import _lora_expand

    mapping, facts = adapters()
    x = torch.randn(slices, TOKENS, RANK)
    weights = [torch.randn(LORAS, HIDDEN, RANK).bfloat16() for _ in range(slices)]
    out = torch.randn(TOKENS, HIDDEN * slices).bfloat16()
    before = out.clone()
    _lora_expand(x, weights, out, *facts, 0, True)
    added = torch.cat([torch.einsum("tr,thr->th", one.bfloat16().float(),
                                    w[mapping.clamp(min=0)].float())
                       for one, w in zip(x, weights, strict=True)], 1)  # fmt: skip
    wanted = before.float() + added.masked_fill(mapping[:, None] < 0, 0)
    return Outcome((out,), (wanted.bfloat16(),), 1e-2)


@case("vllm")
def lora_shrink() -> Outcome:
    return shrunk(1)


@case("vllm")
def lora_shrink_slices() -> Outcome:
    return shrunk(3)


@case("vllm")
def lora_expand() -> Outcome:
    return expanded(1)


@case("vllm")
def lora_expand_slices() -> Outcome:
    return expanded(3)


EXPERTS, TOP, INNER, BLOCK = 6, 2, 96, 16


def routed() -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """Experts and weights of each token, and the tokens sorted into blocks of one expert each."""
    weights, ids = torch.rand(TOKENS, EXPERTS).softmax(1).topk(TOP)
    flat, padding = ids.flatten(), TOKENS * TOP
    blocks, owners = [], []
    for expert in range(EXPERTS):
        mine = (flat == expert).nonzero().flatten()
        if len(mine):
            filled = F.pad(mine, (0, -len(mine) % BLOCK), value=padding)
            blocks.append(filled)
            owners += [expert] * (len(filled) // BLOCK)
    sorted_ids = torch.cat(blocks)
    total = torch.tensor([len(sorted_ids)])
    spare = F.pad(sorted_ids, (0, 3 * BLOCK), value=padding)  # as large as it may have to be
    experts = torch.tensor([*owners, 0, 0, 0])
    return weights, ids, (spare.int(), experts.int(), total.int())


CONFIG = {"BLOCK_SIZE_M": BLOCK, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 2,
          "num_warps": 4, "num_stages": 2}  # fmt: skip


def mixed(*, weighted: bool, fp8: bool = False) -> Outcome:
    from vllm.model_executor.layers.fused_moe.fused_moe import invoke_fused_moe_triton_kernel

    weights, ids, blocks = routed()
    x, w = torch.randn(TOKENS, HIDDEN), torch.randn(EXPERTS, INNER, HIDDEN)
    dtype = torch.float8_e4m3fn if fp8 else torch.bfloat16
    x, w = x.to(dtype), w.to(dtype)
    scales = (torch.rand(1), torch.rand(EXPERTS)) if fp8 else (None, None)
    out = torch.zeros(TOKENS, TOP, INNER).bfloat16()
    invoke_fused_moe_triton_kernel(
        x, w, out, *scales, weights, *blocks, weighted, TOP, CONFIG, tl.bfloat16, fp8, False, False,
        False, False,
    )  # fmt: skip
    wanted = torch.einsum("th,tkih->tki", x.float(), w.float()[ids])
    if fp8:
        wanted = wanted * scales[0] * scales[1][ids][..., None]
    if weighted:
        wanted = wanted * weights[..., None]
    return Outcome((out,), (wanted.bfloat16(),), 1e-2)


@case("vllm")
def fused_moe() -> Outcome:
    return mixed(weighted=False)


@case("vllm")
def fused_moe_weighted() -> Outcome:
    return mixed(weighted=True)


@case("vllm")
def fused_moe_fp8() -> Outcome:
    return mixed(weighted=True, fp8=True)


@case("vllm")
def batched_moe() -> Outcome:
    from vllm.model_executor.layers.fused_moe.experts.fused_batched_moe import (
        invoke_moe_batched_triton_kernel as function,
    )

    x, w = torch.randn(EXPERTS, 20, HIDDEN), torch.randn(EXPERTS, INNER, HIDDEN)
    x, w = x.bfloat16(), w.bfloat16()
    counts = torch.tensor([0, 20, 3, 17, 1, 16]).int()
    out = torch.zeros(EXPERTS, 20, INNER).bfloat16()
    function(x, w, out, counts, tl.bfloat16, None, None, None, False, False, False, CONFIG, False)
    wanted = torch.einsum("eth,eih->eti", x.float(), w.float()).bfloat16()
    past = torch.arange(20)[:, None] >= counts[:, None, None]
    return Outcome((out,), (wanted.masked_fill(past, 0),), 1e-2)


@case("vllm")
def count_expert_num_tokens() -> Outcome:
    from vllm.model_executor.layers.fused_moe.utils import count_expert_num_tokens as function

    ids = torch.randint(-1, 12, (TOKENS, TOP)).int()
    places = torch.tensor([-1, 0, -1, 1, 2, -1, 3, -1, -1, 4, 5, -1]).int()
    local = places[ids.clamp(min=0).long()].masked_fill(ids < 0, -1)
    wanted = torch.stack([(local == one).sum() for one in range(EXPERTS)])
    return Outcome((function(ids, EXPERTS, places),), (wanted.int(),))


@case("vllm")
def moe_fused_mul_sum() -> Outcome:
    from vllm.model_executor.layers.fused_moe.moe_fused_mul_sum import moe_fused_mul_sum as function

    x, weights = torch.randn(TOKENS, TOP, HIDDEN), torch.rand(TOKENS, TOP)
    return Outcome((function(x, weights),), ((x * weights[..., None]).sum(1),))


@case("vllm")
def expert_scatter_and_gather() -> Outcome:
    from vllm.model_executor.layers.fused_moe.deep_gemm_utils import ep_gather, ep_scatter

    ids = torch.stack([torch.randperm(EXPERTS)[:TOP] for _ in range(TOKENS)])
    x = torch.randn(TOKENS, 256).to(torch.float8_e4m3fn)
    scale, weights = torch.rand(TOKENS, 2), torch.rand(TOKENS, TOP)
    counts = torch.bincount(ids.flatten(), minlength=EXPERTS)
    aligned = ((counts + 127) // 128 * 128).sum()
    out = torch.zeros(int(aligned), 256).to(torch.float8_e4m3fn)
    out_scale, rows = torch.zeros(int(aligned), 2), torch.zeros(int(aligned)).int()
    index = torch.zeros(TOKENS, TOP).int()
    ep_scatter(x, scale, ids, counts.int(), None, torch.zeros(EXPERTS).int(), out, out_scale, rows,
               index)  # fmt: skip
    result = torch.zeros(TOKENS, 256).bfloat16()
    ep_gather(out.bfloat16(), ids, weights, index, None, result)
    wanted = x.float() * weights.sum(1, keepdim=True)
    return Outcome((result,), (wanted.bfloat16(),), 1e-2)


FP8 = torch.float8_e4m3fn


def small(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).to(FP8)


@case("vllm")
def group_quant_fp8() -> Outcome:
    from vllm.model_executor.layers.quantization.utils.fp8_utils import per_token_group_quant_fp8

    x = torch.randn(TOKENS, 300)[:, :256].bfloat16()  # as one part of a wider tensor
    x = torch.cat((x, x), 1)[:, :256]
    quantised, scale = per_token_group_quant_fp8(x, 128, use_ue8m0=False)
    largest = x.float().view(TOKENS, 2, 128).abs().amax(-1)
    back = quantised.float().view(TOKENS, 2, 128) * scale[..., None]
    return Outcome((scale, back), (largest / 448, x.float().view(TOKENS, 2, 128)), 5e-2)


@case("vllm")
def block_scaled_mm() -> Outcome:
    from vllm.model_executor.layers.quantization.utils.fp8_utils import w8a8_triton_block_scaled_mm

    a, b = small(TOKENS, 256), small(200, 256)
    one, two = torch.rand(TOKENS, 2), torch.rand(2, 2)
    got = w8a8_triton_block_scaled_mm(a, b, one, two, [128, 128], torch.bfloat16)
    left = a.float() * one.repeat_interleave(128, 1)
    right = b.float() * two.repeat_interleave(128, 0)[:200].repeat_interleave(128, 1)
    return Outcome((got,), ((left @ right.T).bfloat16(),), 1e-2)


@case("vllm")
def token_quant_int8() -> Outcome:
    from vllm.model_executor.layers.quantization.utils.int8_utils import per_token_quant_int8

    x = torch.randn(TOKENS, 300)
    quantised, scale = per_token_quant_int8(x)
    largest = x.abs().amax(1, keepdim=True)
    return Outcome((scale, quantised * scale), (largest / 127, x), 1e-2)


@case("vllm")
def block_int8_matmul() -> Outcome:
    from vllm.model_executor.layers.quantization.utils.int8_utils import w8a8_block_int8_matmul

    a, b = (torch.randint(-127, 128, (n, 256)).to(torch.int8) for n in (TOKENS, 200))
    one, two = torch.rand(TOKENS, 2), torch.rand(2, 2)
    got = w8a8_block_int8_matmul(a, b, one, two, [128, 128], torch.float32)
    left = a.float() * one.repeat_interleave(128, 1)
    right = b.float() * two.repeat_interleave(128, 0)[:200].repeat_interleave(128, 1)
    return Outcome((got,), (left @ right.T,))


@case("vllm")
def scaled_mm() -> Outcome:
    from vllm.model_executor.layers.quantization.compressed_tensors.triton_scaled_mm import (
        triton_scaled_mm as function,
    )

    a, b = small(TOKENS, 256), small(200, 256).T
    one, two, bias = torch.rand(TOKENS, 1), torch.rand(200, 1), torch.randn(200)
    got = function(a, b, one, two, torch.bfloat16, bias.bfloat16())
    wanted = (a.float() @ b.float()) * one * two.T + bias.bfloat16().float()
    return Outcome((got,), (wanted.bfloat16(),), 1e-2)


def packed() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    bits = [torch.randint(-(1 << 31), 1 << 31, shape).int() for shape in ((128, 8), (2, 8))]
    return bits[0], torch.rand(2, 64).half(), bits[1]


@case("vllm")
def awq_dequantize() -> Outcome:
    from vllm.model_executor.layers.quantization.awq_triton import awq_dequantize_triton

    return Outcome((awq_dequantize_triton(*packed()),))


@case("vllm")
def awq_gemm() -> Outcome:
    from vllm.model_executor.layers.quantization.awq_triton import (
        awq_dequantize_triton,
        awq_gemm_triton,
    )

    weight, scale, zero = packed()
    x = torch.randn(TOKENS, 128).half()
    wanted = x.float() @ awq_dequantize_triton(weight, scale, zero).float()
    return Outcome((awq_gemm_triton(x, weight, scale, zero, 2),), (wanted.half(),), 1e-2)


@case("vllm")
def dequantised_embedding() -> Outcome:
    from vllm.model_executor.layers.quantization.compressed_tensors import (
        compressed_tensors_embedding as module,
    )

    ids = torch.randint(0, 50, (TOKENS,))
    packed_rows = torch.randint(-(1 << 31), 1 << 31, (50, 16)).int()
    scale = torch.rand(50, 4)
    got = module._dequant_gather_triton(ids, packed_rows, scale, 128, 4)
    nibbles = (packed_rows[:, :, None] >> (torch.arange(8) * 4)) & 15
    wanted = (nibbles.reshape(50, 128) - 8) * scale.repeat_interleave(32, 1)
    return Outcome((got,), (wanted[ids],))


@case("vllm")
def w4a16_gemm() -> Outcome:
    from vllm.model_executor.kernels.linear.mixed_precision.triton_w4a16 import triton_w4a16_gemm

    x = torch.randn(TOKENS, 128).half()
    weight, scale = torch.randint(-(1 << 31), 1 << 31, (128, 8)).int(), torch.rand(4, 64).half()
    whole = ((weight[:, :, None] >> (torch.arange(8) * 4)) & 15).reshape(128, 64) - 8
    wanted = x.float() @ (whole * scale.float().repeat_interleave(32, 0))
    return Outcome((triton_w4a16_gemm(x, weight, scale, None, 32),), (wanted.half(),), 1e-2)


@case("vllm")
def swiglu_step() -> Outcome:
    from vllm.model_executor.layers.activation import swiglustep_and_mul_triton as function

    x, out = torch.randn(TOKENS, 600) * 5, torch.empty(TOKENS, 300)
    function(out, x, 7.0)
    gate, up = x.chunk(2, 1)
    return Outcome((out,), (F.silu(gate).clamp(max=7) * up.clamp(-7, 7),))


@case("vllm")
def mrope() -> Outcome:
    from vllm.model_executor.layers.rotary_embedding.mrope import triton_mrope

    q, k = torch.randn(TOKENS, 6 * 64), torch.randn(TOKENS, 2 * 64)
    angle = torch.rand(3, TOKENS, 32)
    cos, sin = angle.cos(), angle.sin()
    sections = [8, 12, 12]

    def turned(x: torch.Tensor) -> torch.Tensor:
        rows = x.view(TOKENS, -1, 64)
        c, s = (torch.cat([part[i] for i, part in enumerate(table.split(sections, -1))], -1)
                [:, None] for table in (cos, sin))  # fmt: skip
        one, two = rows.chunk(2, -1)
        return torch.cat((one * c - two * s, two * c + one * s), -1).reshape(x.shape)

    wanted = (turned(q), turned(k))
    return Outcome(triton_mrope(q.clone(), k.clone(), cos, sin, sections, 64, 64, False), wanted)


@case("vllm")
def rotary() -> Outcome:
    from vllm.vllm_flash_attn.ops.triton.rotary import apply_rotary

    x, angle = torch.randn(TOKENS, 4, 64), torch.rand(50, 16)
    begin = torch.tensor([0, 20, 21, TOKENS]).int()
    got = apply_rotary(x, angle.cos(), angle.sin(), cu_seqlens=begin, max_seqlen=20)
    place = torch.cat([torch.arange(n) for n in (20, 1, 16)])
    c, s = (table[place][:, None] for table in (angle.cos(), angle.sin()))
    one, two, rest = x.split((16, 16, 32), -1)
    return Outcome((got,), (torch.cat((one * c - two * s, one * s + two * c, rest), -1),))


@case("vllm")
def qk_norm_rope_gate() -> Outcome:
    from vllm.model_executor.layers.fused_qk_norm_rope import fused_qk_rmsnorm_rope_gate

    q, k = torch.randn(TOKENS, 4 * 2 * 64).bfloat16(), torch.randn(TOKENS, 2 * 64).bfloat16()
    weights = torch.rand(2, 64).bfloat16()
    table = torch.randn(200, 32).bfloat16()
    return Outcome(
        fused_qk_rmsnorm_rope_gate(q, k, weights[0], weights[1], table,
                                   torch.randint(0, 200, (TOKENS,)), 1e-6, 4, 2, 64, 32),
        None, 2e-2,
    )  # fmt: skip
