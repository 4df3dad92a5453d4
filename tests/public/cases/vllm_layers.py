"""vLLM's layers: LoRA, mixtures of experts, quantised products, state spaces, rotations."""

import torch
import torch.nn.functional as F
import triton.language as tl

from tests.public.case import Outcome, case, tensors

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
        c, s = (torch.cat([part[i] for i, part in enumerate(table.split(sections, -1))], -1)[:, None]
                for table in (cos, sin))  # fmt: skip
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


WIDTH, CHANNELS = 4, 40
SEQUENCES = [5, 20, 1, 11]


def convolved(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Causal convolution of (channels, length) behind WIDTH - 1 columns of history, then SiLU."""
    out = F.conv1d(x[None], weight[:, None], bias, groups=len(weight))[0]
    return F.silu(out)


@case("vllm")
def causal_conv1d_fn() -> Outcome:
    from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_fn as function

    x = torch.randn(sum(SEQUENCES), CHANNELS).T
    weight, bias = torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    states = torch.randn(9, WIDTH - 1, CHANNELS).transpose(1, 2)
    places = torch.tensor([3, 7, 1, 5]).int()
    known = torch.tensor([True, False, True, False])
    begin = torch.tensor([0, *SEQUENCES]).cumsum(0).int()
    wanted, after = [], states.clone()
    for row, part in enumerate(x.split(SEQUENCES, 1)):
        place = int(places[row])
        past = states[place] if known[row] else torch.zeros(CHANNELS, WIDTH - 1)
        whole = torch.cat((past, part), 1)
        wanted.append(convolved(whole, weight, bias))
        after[place] = whole[:, -(WIDTH - 1) :]
    got = function(x, weight, bias, states, begin, places, known, "silu")
    return Outcome((got, states), (torch.cat(wanted, 1), after))


@case("vllm")
def causal_conv1d_update() -> Outcome:
    from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_update as function

    x = torch.randn(4, CHANNELS)
    weight, bias = torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    states = torch.randn(9, WIDTH - 1, CHANNELS).transpose(1, 2)
    places = torch.tensor([3, 7, 0, 5]).int()  # block 0 is none
    wanted, after = [], states.clone()
    for row, place in enumerate(places.tolist()):
        whole = torch.cat((states[place], x[row, :, None]), 1)
        wanted.append(convolved(whole, weight, bias)[:, 0])
        if place:
            after[place] = whole[:, 1:]
    got = function(x.clone(), states, weight, bias, "silu", conv_state_indices=places)
    kept = places > 0
    return Outcome((got[kept], states), (torch.stack(wanted)[kept], after))


@case("vllm")
def selective_state_update() -> Outcome:
    from vllm.model_executor.layers.mamba.ops.mamba_ssm import selective_state_update as function

    state = torch.randn(9, 4, 64, 16)
    x, z, dt = torch.randn(3, 3, 4, 64)
    a, d, bias = -torch.rand(4, 64, 16), torch.randn(4, 64), torch.randn(4, 64)
    b, c = torch.randn(2, 3, 2, 16)
    places = torch.tensor([5, 2, 8]).int()
    step = F.softplus(dt + bias)
    new = state[places.long()] * (step[..., None] * a).exp()
    new = new + step[..., None] * b.repeat_interleave(2, 1)[:, :, None] * x[..., None]
    wanted = ((new * c.repeat_interleave(2, 1)[:, :, None]).sum(-1) + x * d) * F.silu(z)
    after, out = state.clone(), torch.empty_like(x)
    after[places.long()] = new
    function(state, x, dt, a, b, c, d, bias, z, True, places, out=out)
    return Outcome((out, state), (wanted, after))


@case("vllm")
def mamba_chunk_scan() -> Outcome:
    from vllm.model_executor.layers.mamba.ops.ssd_combined import mamba_chunk_scan_combined_varlen

    lengths, chunk = [40, 70, 9], 32
    begin = torch.tensor([0, *lengths]).cumsum(0).int()
    ends, owners, last = [0], [], []
    for row, length in enumerate(lengths):
        for start in range(0, length, chunk):
            ends.append(ends[-1] + min(chunk, length - start))
            owners.append(row)
        last.append(len(owners) - 1)
    total = sum(lengths)
    x, dt = torch.randn(total, 4, 32), torch.rand(total, 4)
    a, b, c = -torch.rand(4), *torch.randn(2, total, 2, 16)
    out = torch.empty_like(x)
    states = mamba_chunk_scan_combined_varlen(
        x, dt, a, b, c, chunk, begin, torch.tensor(ends).int(), torch.tensor(last).int(),
        torch.tensor(owners).int(), out,
    )  # fmt: skip
    wanted, final = [], []
    for row in range(len(lengths)):
        state = torch.zeros(4, 32, 16)
        for t in range(int(begin[row]), int(begin[row + 1])):
            state = state * (dt[t] * a).exp()[:, None, None] + (
                (dt[t, :, None] * x[t])[..., None] * b[t].repeat_interleave(2, 0)[:, None]
            )
            wanted.append((state * c[t].repeat_interleave(2, 0)[:, None]).sum(-1))
        final.append(state)
    return Outcome((out, *tensors(states)), (torch.stack(wanted), torch.stack(final)), 1e-2)


@case("vllm")
def gated_delta_chunks() -> Outcome:
    from vllm.model_executor.layers.fla.ops.chunk import chunk_gated_delta_rule_fwd

    q, k = (F.normalize(torch.randn(1, 100, 2, 64), dim=-1).bfloat16() for _ in range(2))
    v, g = torch.randn(1, 100, 4, 64).bfloat16(), F.logsigmoid(torch.randn(1, 100, 4))
    beta, begin = torch.rand(1, 100, 4), torch.tensor([0, 37, 100])
    state = torch.randn(2, 4, 64, 64)
    got = chunk_gated_delta_rule_fwd(q, k, v, g, beta, 0.125, state.clone(), True, begin)
    wanted = []
    for row in range(2):
        now = state[row].transpose(-1, -2).double()
        for t in range(int(begin[row]), int(begin[row + 1])):
            now = now * g[0, t].exp()[:, None, None]
            key = k[0, t].double().repeat_interleave(2, 0)
            new = (v[0, t].double() - torch.einsum("hk,hkv->hv", key, now)) * beta[0, t][:, None]
            now = now + key[..., None] * new[:, None]
            query = q[0, t].double().repeat_interleave(2, 0) * 0.125
            wanted.append(torch.einsum("hk,hkv->hv", query, now))
    found = next(x for x in tensors(got) if x.shape == v.shape)
    return Outcome((found,), (torch.stack(wanted)[None].bfloat16(),), 2e-2)


@case("vllm")
def gated_delta_decode() -> Outcome:
    from vllm.model_executor.layers.fla.ops.fused_recurrent import (
        fused_recurrent_gated_delta_rule_fwd as function,
    )

    q, k = (F.normalize(torch.randn(1, 3, 2, 64), dim=-1) for _ in range(2))
    v, g, beta = torch.randn(1, 3, 4, 64), -torch.rand(1, 3, 4), torch.rand(1, 3, 4)
    state = torch.randn(8, 4, 64, 64)
    places, begin = torch.tensor([6, 2, 4]).int(), torch.tensor([0, 1, 2, 3])
    old = state[places.long()].transpose(-1, -2) * g[0].exp()[..., None, None]
    key, query = (x[0].repeat_interleave(2, 1) for x in (k, q))
    new = (v[0] - torch.einsum("bhk,bhkv->bhv", key, old)) * beta[0][..., None]
    after = old + key[..., None] * new[:, :, None]
    out, kept = function(q, k, v, g, beta, 0.125, state, True, begin, places)
    wanted = torch.einsum("bhk,bhkv->bhv", query * 0.125, after)
    return Outcome((out.reshape(3, 4, 64), kept[places.long()]), (wanted, after.transpose(-1, -2)))


@case("vllm")
def l2norm() -> Outcome:
    from vllm.model_executor.layers.fla.ops.l2norm import l2norm_fwd as function

    x = torch.randn(3, TOKENS, 64)
    return Outcome((function(x),), (F.normalize(x, dim=-1),))


@case("vllm")
def gated_layer_norm() -> Outcome:
    from vllm.model_executor.layers.fla.ops.layernorm_guard import layer_norm_fwd as function

    x, z = torch.randn(2, TOKENS, 128)
    weight = torch.randn(128)
    got = function(x, weight, None, 1e-5, z, is_rms_norm=True)
    wanted = x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * weight * F.silu(z)
    return Outcome((got[0],), (wanted,))


@case("vllm")
def lightning_decode() -> Outcome:
    from vllm.model_executor.layers.lightning_attn import linear_decode_forward_triton as function

    q, k, v = torch.randn(3, 3, 4, 1, 64)
    cache, slope = torch.randn(9, 4, 64, 64), torch.rand(4, 1, 1)
    places = torch.tensor([6, -1, 4])
    kept = places >= 0
    state = cache[places.clamp(min=0)] * (-slope).exp() + k.transpose(-1, -2) * v
    wanted = (q @ state).transpose(1, 2).reshape(3, 256)
    after = cache.clone()
    after[places[kept]] = state[kept]
    got = function(q, k, v, cache, slope, places)
    return Outcome((got.reshape(3, 256)[kept], cache), (wanted[kept], after))


@case("vllm")
def gdn_gating() -> Outcome:
    from vllm.model_executor.layers.mamba.gdn.qwen_gdn_linear_attn import fused_gdn_gating

    log, bias = torch.randn(2, 12)
    a, b = torch.randn(2, TOKENS, 12)
    g, beta = fused_gdn_gating(log, a, b, bias)
    wanted = -log.exp() * F.softplus(a + bias)
    return Outcome((g.reshape(TOKENS, 12), beta.reshape(TOKENS, 12)), (wanted, b.sigmoid()))
