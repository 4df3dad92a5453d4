"""vLLM's state spaces and linear attention: convolutions, scans, delta rules and their gates."""

import torch
import torch.nn.functional as F

from tests.public.case import Outcome, case, tensors

TOKENS = 37
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
