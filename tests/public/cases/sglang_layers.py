"""SGLang's layers: experts, quantised products, norms, activations, state spaces."""

import torch
import torch.nn.functional as F
import triton.language as tl

from tests.public.case import Outcome, case

TOKENS, HIDDEN, INNER, EXPERTS, TOP, BLOCK = 37, 128, 96, 6, 2, 16
CONFIG = {"BLOCK_SIZE_M": BLOCK, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 2,
          "num_warps": 4, "num_stages": 2}  # fmt: skip
FP8 = torch.float8_e4m3fn


def routed() -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """Experts and weights of each token, and the tokens sorted into blocks of one expert each."""
    weights, ids = torch.rand(TOKENS, EXPERTS).softmax(1).topk(TOP)
    blocks, owners = [], []
    for expert in range(EXPERTS):
        mine = (ids.flatten() == expert).nonzero().flatten()
        if len(mine):
            blocks.append(F.pad(mine, (0, -len(mine) % BLOCK), value=TOKENS * TOP))
            owners += [expert] * (len(blocks[-1]) // BLOCK)
    chosen = torch.cat(blocks)
    spare = F.pad(chosen, (0, 3 * BLOCK), value=TOKENS * TOP)
    experts = torch.tensor([*owners, 0, 0, 0])
    return weights, ids, (spare.int(), experts.int(), torch.tensor([len(chosen)]).int())


def mixed(*, weighted: bool) -> Outcome:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        invoke_fused_moe_kernel as function,
    )

    weights, ids, blocks = routed()
    x, w = torch.randn(TOKENS, HIDDEN).bfloat16(), torch.randn(EXPERTS, INNER, HIDDEN).bfloat16()
    out = torch.zeros(TOKENS, TOP, INNER).bfloat16()
    function(x, w, None, out, None, None, None, weights, ids.int(), *blocks, weighted, TOP, CONFIG,
             tl.bfloat16, False, False, False, False, False)  # fmt: skip
    wanted = torch.einsum("th,tkih->tki", x.float(), w.float()[ids])
    if weighted:
        wanted = wanted * weights[..., None]
    return Outcome((out,), (wanted.bfloat16(),), 1e-2)


@case("sglang")
def fused_moe() -> Outcome:
    return mixed(weighted=False)


@case("sglang")
def fused_moe_weighted() -> Outcome:
    return mixed(weighted=True)


@case("sglang")
def moe_sum_reduce() -> Outcome:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        moe_sum_reduce_triton as function,
    )

    x, out = torch.randn(TOKENS, TOP, 300), torch.empty(TOKENS, 300)
    function(x, out, 2.5)
    return Outcome((out,), (x.sum(1) * 2.5,))


@case("sglang")
def act_and_mul() -> Outcome:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        act_and_mul_triton as function,
    )

    x, out = torch.randn(TOKENS * TOP, 600), torch.zeros(TOKENS * TOP, 300)
    ids = torch.randint(-1, EXPERTS, (TOKENS, TOP)).int()
    function(x, out, CONFIG, ids)
    gate, up = x.chunk(2, 1)
    wanted = (F.silu(gate) * up).masked_fill(ids.flatten()[:, None] < 0, 0)
    return Outcome((out,), (wanted,))


@case("sglang")
def append_shared_experts() -> Outcome:
    from sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels import (
        fused_append_shared_experts as function,
    )

    ids, weights = torch.randint(0, EXPERTS, (TOKENS, TOP)).int(), torch.rand(TOKENS, TOP)
    more = torch.tensor([EXPERTS, EXPERTS + 1]).int().expand(TOKENS, 2)
    wanted = (torch.cat((ids, more), 1), torch.cat((weights, torch.full((TOKENS, 2), 0.5)), 1))
    return Outcome(function(ids, weights, 2, 0.5, EXPERTS), wanted)


@case("sglang")
def moe_router() -> Outcome:
    from sglang.srt.layers.moe.router import fused_moe_router_cudacore as function

    x, w = torch.randn(TOKENS, HIDDEN), torch.randn(8, HIDDEN)
    logits = torch.tanh(x @ w.T / 30) * 30
    values, ids = logits.topk(TOP)
    weights = (values - logits.logsumexp(1, keepdim=True)).exp()
    return Outcome(function(x, w, TOP, 30.0), (weights, ids.int()))


@case("sglang")
def expert_scatter_and_gather() -> Outcome:
    from sglang.srt.layers.moe.ep_moe.kernels import ep_gather, ep_scatter

    ids = torch.stack([torch.randperm(EXPERTS)[:TOP] for _ in range(TOKENS)])
    x = torch.randn(TOKENS, 256).to(FP8)
    scale, weights = torch.rand(TOKENS, 2), torch.rand(TOKENS, TOP)
    counts = (torch.bincount(ids.flatten(), minlength=EXPERTS) + 127) // 128 * 128
    rows = int(counts.sum())
    out, out_scale = torch.zeros(rows, 256).to(FP8), torch.zeros(rows, 2)
    owners, index = torch.zeros(rows).int(), torch.zeros(TOKENS, TOP).int()
    ep_scatter(x, scale, ids, counts.int(), torch.zeros(EXPERTS).int(), out, out_scale, owners,
               index)  # fmt: skip
    result = torch.zeros(TOKENS, 256).bfloat16()
    ep_gather(out.bfloat16(), ids, weights, index, result)
    wanted = (x.float() * weights.sum(1, keepdim=True)).bfloat16()
    return Outcome((result,), (wanted,), 1e-2)


@case("sglang")
def silu_and_mul_masked() -> Outcome:
    from sglang.srt.layers.moe.ep_moe.kernels import silu_and_mul_masked_post_quant_fwd as function

    x = torch.randn(EXPERTS, 20, 512).bfloat16()
    out, scale = torch.zeros(EXPERTS, 20, 256).to(FP8), torch.zeros(EXPERTS, 20, 2)
    counts = torch.tensor([0, 20, 3, 17, 1, 16]).int()
    function(x, out, scale, 128, counts)
    gate, up = x.float().chunk(2, -1)
    past = torch.arange(20)[:, None] >= counts[:, None, None]
    wanted = (F.silu(gate).bfloat16().float() * up).masked_fill(past, 0)
    back = out.float() * scale.repeat_interleave(128, -1)
    return Outcome((back,), (wanted,), 5e-2)


@case("sglang")
def group_quant() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import _per_token_group_quant_8bit_raw

    x = torch.randn(TOKENS, 256).bfloat16()
    quantised, scale = _per_token_group_quant_8bit_raw(x, 128)
    return Outcome((quantised.float() * scale.repeat_interleave(128, 1),), (x.float(),), 5e-2)


@case("sglang")
def group_quant_columns() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import _per_token_group_quant_8bit_raw

    x = torch.randn(TOKENS, 256).bfloat16()
    quantised, scale = _per_token_group_quant_8bit_raw(x, 128, column_major_scales=True)
    return Outcome((quantised.float() * scale.repeat_interleave(128, 1),), (x.float(),), 5e-2)


@case("sglang")
def static_quant() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import static_quant_fp8 as function

    x, scale = torch.randn(TOKENS, 300), torch.full((1,), 0.01)
    quantised, repeated = function(x, scale, True)
    wanted = (x / 0.01).clamp(-448, 448).to(FP8).float()
    return Outcome((quantised.float(), repeated), (wanted, scale.expand(TOKENS, 1)), 2e-2)


@case("sglang")
def block_fp8_matmul() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import w8a8_block_fp8_matmul_triton as function

    a, b = torch.randn(TOKENS, 256).to(FP8), torch.randn(200, 256).to(FP8)
    one, two = torch.rand(TOKENS, 2), torch.rand(2, 2)
    got = function(a, b, one, two, [128, 128], torch.bfloat16)
    left = a.float() * one.repeat_interleave(128, 1)
    right = b.float() * two.repeat_interleave(128, 0)[:200].repeat_interleave(128, 1)
    return Outcome((got,), ((left @ right.T).bfloat16(),), 1e-2)


@case("sglang")
def block_int8_matmul() -> Outcome:
    from sglang.srt.layers.quantization.int8_kernel import w8a8_block_int8_matmul as function

    a, b = (torch.randint(-127, 128, (n, 256)).to(torch.int8) for n in (TOKENS, 200))
    one, two = torch.rand(TOKENS, 2), torch.rand(2, 2)
    got = function(a, b, one, two, [128, 128], torch.float32)
    left = a.float() * one.repeat_interleave(128, 1)
    right = b.float() * two.repeat_interleave(128, 0)[:200].repeat_interleave(128, 1)
    return Outcome((got,), (left @ right.T,))


@case("sglang")
def token_quant_int8() -> Outcome:
    from sglang.srt.layers.quantization.int8_kernel import per_token_quant_int8 as function

    x = torch.randn(TOKENS, 300)
    quantised, scale = function(x)[:2]
    return Outcome((quantised * scale,), (x,), 1e-2)


@case("sglang")
def scaled_mm() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import triton_scaled_mm as function

    a, b = torch.randn(TOKENS, 256).to(FP8), torch.randn(200, 256).to(FP8).T
    one, two, bias = torch.rand(TOKENS, 1), torch.rand(200, 1), torch.randn(200).bfloat16()
    wanted = (a.float() @ b.float()) * one * two.T + bias.float()
    got = function(a, b, one, two, torch.bfloat16, bias)
    return Outcome((got,), (wanted.bfloat16(),), 1e-2)


@case("sglang")
def mla_tensor_quant() -> Outcome:
    from sglang.srt.layers.quantization.fp8_kernel import per_tensor_quant_mla_fp8 as function

    x, scale = torch.randn(4, TOKENS, 100), torch.zeros(1)
    quantised, scale = function(x, scale)
    largest = x.abs().amax().reshape(1) / 448
    return Outcome((quantised.float() * scale, scale), (x, largest), 5e-2)


@case("sglang")
def awq_dequantize() -> Outcome:
    from sglang.srt.layers.quantization.awq_triton import awq_dequantize_triton as function

    weight = torch.randint(-(1 << 31), 1 << 31, (128, 8)).int()
    zero = torch.randint(-(1 << 31), 1 << 31, (2, 8)).int()
    return Outcome((function(weight, torch.rand(2, 64).half(), zero),))


def norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight


@case("sglang")
def softcap() -> Outcome:
    from sglang.srt.layers.elementwise import fused_softcap as function

    x = torch.randn(TOKENS, 300) * 40
    return Outcome((function(x, 30.0),), (torch.tanh(x / 30) * 30,))


@case("sglang")
def rmsnorm() -> Outcome:
    from sglang.srt.layers.elementwise import fused_rmsnorm as function

    x, weight = torch.randn(TOKENS, 300), torch.randn(300)
    return Outcome((function(x, weight, 1e-6),), (norm(x, weight),))


@case("sglang")
def dual_residual_rmsnorm() -> Outcome:
    from sglang.srt.layers.elementwise import fused_dual_residual_rmsnorm as function

    x, residual = torch.randn(2, TOKENS, 300)
    one, two = torch.randn(2, 300)
    mid = norm(x, one) + residual
    return Outcome(function(x, residual, one, two, 1e-6), (norm(mid, two), mid))


@case("sglang")
def experts_combine() -> Outcome:
    from sglang.srt.layers.elementwise import experts_combine_triton as function

    moe, dense = torch.randn(TOKENS, 4, 300), torch.randn(TOKENS, 300)
    return Outcome((function(moe, dense),), ((moe.sum(1) + dense) / 2**0.5,))


@case("sglang")
def silu_and_mul() -> Outcome:
    from sglang.srt.layers.elementwise import silu_and_mul_triton as function

    x = torch.randn(TOKENS, 600)
    gate, up = x.chunk(2, 1)
    return Outcome((function(x)[0],), (F.silu(gate) * up,))


@case("sglang")
def gelu_and_mul() -> Outcome:
    from sglang.srt.layers.elementwise import gelu_and_mul_triton as function

    x = torch.randn(TOKENS, 600)
    gate, up = x.chunk(2, 1)
    return Outcome((function(x)[0],), (F.gelu(gate, approximate="tanh") * up,), 1e-2)


@case("sglang")
def batch_invariant_matmul() -> Outcome:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import _matmul_persistent_triton

    a, b = torch.randn(70, 100).bfloat16(), torch.randn(100, 50).bfloat16()
    return Outcome((_matmul_persistent_triton(a, b),), (a @ b,), 1e-2)


@case("sglang")
def batch_invariant_log_softmax() -> Outcome:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import log_softmax as function

    x = torch.randn(13, 3000)
    return Outcome((function(x),), (x.log_softmax(-1),))


@case("sglang")
def batch_invariant_bmm() -> Outcome:
    from sglang.srt.batch_invariant_ops.batch_invariant_ops import bmm_batch_invariant as function

    a, b = torch.randn(3, 70, 100).bfloat16(), torch.randn(3, 100, 50).bfloat16()
    return Outcome((function(a, b),), (a @ b,), 1e-2)


@case("sglang")
def fused_mrope() -> Outcome:
    from sglang.srt.layers.rotary_embedding import triton_mrope_fused as function

    q, k = torch.randn(TOKENS, 6 * 64), torch.randn(TOKENS, 2 * 64)
    table, places = torch.randn(200, 64), torch.randint(0, 200, (3, TOKENS))
    sections = [8, 12, 12]
    c, s = (torch.cat([part[places[i]] for i, part in enumerate(half.split(sections, 1))], 1)
            [:, None] for half in table.chunk(2, 1))  # fmt: skip
    wanted = []
    for x in (q, k):
        one, two = x.view(TOKENS, -1, 64).chunk(2, -1)
        wanted.append(torch.cat((one * c - two * s, two * c + one * s), -1).reshape(x.shape))
    function(q, k, table, places, sections, 64, 64, False, True)
    return Outcome((q, k), tuple(wanted))


@case("sglang")
def murmur_hash() -> Outcome:
    from sglang.srt.layers.utils.hash import murmur_hash32 as function

    seeds = torch.randint(0, 1 << 31, (5,))
    got = function(seeds, torch.randint(0, 999, (5,)), torch.arange(3000))
    return Outcome((got.view(torch.int32),))


@case("sglang")
def sparse_index_quant() -> Outcome:
    from sglang.srt.layers.attention.nsa.triton_kernel import act_quant as function

    x = torch.randn(TOKENS, 256).bfloat16()
    quantised, scale = function(x)
    return Outcome((quantised.float() * scale.repeat_interleave(128, 1),), (x.float(),), 5e-2)


@case("sglang")
def sparse_page_table() -> Outcome:
    from sglang.srt.layers.attention.nsa.transform_index import (
        transform_index_page_table_decode_fast as function,
    )

    pages = torch.randint(0, 999, (3, 4000)).int()
    chosen = torch.randint(-1, 4000, (3, 2048)).int()
    wanted = pages.gather(1, chosen.clamp(min=0).long()).masked_fill(chosen < 0, -1)
    return Outcome((function(pages, chosen),), (wanted,))


@case("sglang")
def split_qkvzba() -> Outcome:
    from sglang.srt.models.qwen3_next import fused_qkvzba_split_reshape_cat as function

    qkvz, ba = torch.randn(TOKENS, 2 * (2 * 64 + 2 * 2 * 64)), torch.randn(TOKENS, 2 * 4)
    mixed_qkv, z, b, a = function(qkvz, ba, 2, 4, 64, 64)
    q, k, v, gate = qkvz.view(TOKENS, 2, 384).split((64, 64, 128, 128), -1)
    wanted = torch.cat([part.reshape(TOKENS, -1) for part in (q, k, v)], 1)
    one, two = ba.view(TOKENS, 2, 4).split((2, 2), -1)
    return Outcome((mixed_qkv, z.reshape(TOKENS, -1), b, a),
                   (wanted, gate.reshape(TOKENS, -1), one.reshape(TOKENS, 4),
                    two.reshape(TOKENS, 4)))  # fmt: skip


WIDTH, CHANNELS, SEQUENCES = 4, 40, [5, 20, 1, 11]


@case("sglang")
def causal_conv1d_fn() -> Outcome:
    from sglang.srt.layers.attention.mamba.causal_conv1d_triton import causal_conv1d_fn as function

    x = torch.randn(sum(SEQUENCES), CHANNELS).T
    weight, bias = torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    states = torch.randn(9, WIDTH - 1, CHANNELS).transpose(1, 2)
    places = torch.tensor([3, 7, 1, 5]).int()
    known = torch.tensor([True, False, True, False])
    wanted, after = [], states.clone()
    for row, part in enumerate(x.split(SEQUENCES, 1)):
        place = int(places[row])
        past = states[place] if known[row] else torch.zeros(CHANNELS, WIDTH - 1)
        whole = torch.cat((past, part), 1)
        wanted.append(F.silu(F.conv1d(whole[None], weight[:, None], bias, groups=CHANNELS)[0]))
        after[place] = whole[:, -(WIDTH - 1) :]
    begin = torch.tensor([0, *SEQUENCES]).cumsum(0).int()
    got = function(x, weight, bias, states, begin, SEQUENCES, places, known, "silu")
    return Outcome((got, states), (torch.cat(wanted, 1), after))


@case("sglang")
def causal_conv1d_update() -> Outcome:
    from sglang.srt.layers.attention.mamba import causal_conv1d_triton as module

    x, weight, bias = torch.randn(4, CHANNELS), torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    states = torch.randn(9, WIDTH - 1, CHANNELS).transpose(1, 2)
    places = torch.tensor([3, 7, 0, 5]).int()
    whole = torch.cat((states[places.long()], x[..., None]), 2)
    wanted = F.silu(F.conv1d(whole, weight[:, None], bias, groups=CHANNELS))[..., 0]
    after = states.clone()
    after[places.long()] = whole[..., 1:]
    got = module.causal_conv1d_update(x.clone(), states, weight, bias, "silu",
                                      conv_state_indices=places)  # fmt: skip
    return Outcome((got, states), (wanted, after))


@case("sglang")
def selective_state_update() -> Outcome:
    from sglang.srt.layers.attention.mamba.ops.mamba_ssm import selective_state_update as function

    state = torch.randn(9, 4, 64, 16)
    x, z, dt = torch.randn(3, 3, 4, 64)
    a, d, bias = -torch.rand(4, 64, 16), torch.randn(4, 64), torch.randn(4, 64)
    b, c = torch.randn(2, 3, 2, 16)
    places, step = torch.tensor([5, 2, 8]).int(), F.softplus(dt + bias)
    new = state[places.long()] * (step[..., None] * a).exp()
    new = new + step[..., None] * b.repeat_interleave(2, 1)[:, :, None] * x[..., None]
    wanted = ((new * c.repeat_interleave(2, 1)[:, :, None]).sum(-1) + x * d) * F.silu(z)
    after, out = state.clone(), torch.empty_like(x)
    after[places.long()] = new
    function(state, x, dt, a, b, c, d, z, bias, True, places, out=out)
    return Outcome((out, state), (wanted, after))


@case("sglang")
def gated_delta_decode() -> Outcome:
    from sglang.srt.layers.attention.fla.fused_sigmoid_gating_recurrent import (
        fused_sigmoid_gating_delta_rule_update as function,
    )

    q, k = torch.randn(2, 1, 3, 2, 64)
    v, (a, b) = torch.randn(1, 3, 4, 64), torch.randn(2, 1, 3, 4)
    log, bias = torch.randn(2, 4)
    state = torch.randn(8, 4, 64, 64)
    got = function(log, a, bias, 1.0, 20.0, q, k, v, b, state, torch.tensor([6, 2, 4]).int(),
                   use_qk_l2norm_in_kernel=True, cu_seqlens=torch.arange(4))  # fmt: skip
    return Outcome((got, state))


@case("sglang")
def l2norm() -> Outcome:
    from sglang.srt.layers.attention.fla.l2norm import l2norm_fwd as function

    x = torch.randn(3, TOKENS, 64)
    return Outcome((function(x),), (F.normalize(x, dim=-1),))


@case("sglang")
def gdn_gating() -> Outcome:
    from sglang.srt.layers.attention.fla.fused_gdn_gating import fused_gdn_gating as function

    log, bias = torch.randn(2, 12)
    a, b = torch.randn(2, TOKENS, 12)
    g, beta = function(log, a, b, bias)
    wanted = -log.exp() * F.softplus(a + bias)
    return Outcome((g.reshape(TOKENS, 12), beta.reshape(TOKENS, 12)), (wanted, b.sigmoid()))


@case("sglang")
def lightning_decode() -> Outcome:
    from sglang.srt.layers.attention.linear.lightning_attn import linear_decode_forward_triton

    q, k, v = torch.randn(3, 3, 4, 1, 64)
    cache, slope = torch.randn(9, 4, 64, 64), torch.rand(4, 1, 1)
    places = torch.tensor([6, 0, 4])
    state = cache[places] * (-slope).exp() + k.transpose(-1, -2) * v
    wanted, after = (q @ state).transpose(1, 2).reshape(3, 256), cache.clone()
    after[places] = state
    got = linear_decode_forward_triton(q, k, v, cache, slope, places)
    return Outcome((got.reshape(3, 256), cache), (wanted, after))


@case("sglang")
def rotary() -> Outcome:
    from sglang.jit_kernel.diffusion.triton.rotary import apply_rotary_embedding as function

    x, angle = torch.randn(1, TOKENS, 4, 64), torch.rand(TOKENS, 32)
    one, two = x[..., ::2], x[..., 1::2]
    c, s = (t[None, :, None] for t in (angle.cos(), angle.sin()))
    wanted = torch.stack((one * c - two * s, two * c + one * s), -1).flatten(-2)
    return Outcome((function(x, angle.cos(), angle.sin()),), (wanted,))
