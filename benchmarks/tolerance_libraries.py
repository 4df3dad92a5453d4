"""Cases of FLA's and vLLM's kernels, with the inputs and tolerances of their tests.

FLA 0.6 (its tests/modules and tests/ops) compares root mean squares: the differences' may be a
share of the reference's. vLLM's tests are of 2026; where one names no tolerance, torch's holds.
Shapes are smaller than the tests'.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.tolerance_cases import (
    BF16,
    F16,
    F32,
    Case,
    drawn,
    each_type,
    normal,
    uniform,
)
from benchmarks.tolerance_mutants import (
    BATCH_MATMUL_MUTANTS,
    BATCH_RMS_MUTANTS,
    BATCH_SOFTMAX_MUTANTS,
    CONV_MUTANTS,
    CUMSUM_MUTANTS,
    ELU_MUTANTS,
    FLA_ATTENTION_MUTANTS,
    FLA_GATED_MUTANTS,
    FLA_LAYER_MUTANTS,
    FLA_RMS_MUTANTS,
    FLA_SWIGLU_MUTANTS,
    HGRN_MUTANTS,
    L2_MUTANTS,
    LOGSIGMOID_MUTANTS,
    MERGE_MUTANTS,
    MROPE_MUTANTS,
    POOLING_MUTANTS,
    POWGLU_MUTANTS,
    PREFILL_MUTANTS,
    ROTARY_MUTANTS,
    SCALED_MUTANTS,
    STATE_MUTANTS,
    SWISH_MUTANTS,
)
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings

Tensor = torch.Tensor

ACTIVATIONS = "fla/modules/activations/ops.py"
NORM = "fla/modules/norm"
LAYERS = "vllm/model_executor/layers"
BATCH = "vllm/model_executor/determinism/batch_invariant.py"


def gradient(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the gradient of an elementwise function, as a function of (x, upstream gradient)."""

    def reference(x: Tensor, upstream: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(function(x), x, upstream)[0]

    return reference


def normed(x: Tensor, w: Any = 1.0, b: Any = 0.0, eps: float = 1e-5, mean: bool = True) -> Tensor:
    """Return rows divided by their deviation or, without `mean`, by their root mean square."""
    x = x - x.mean(-1, keepdim=True) if mean else x
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w + b


def power_gate(x: Tensor, y: Tensor) -> Tensor:
    positive = torch.where(x > 0, x, 1.0)
    power = positive ** (3.0 / (positive.sqrt() + 1.0))
    return torch.where(x > 0, power, x) * torch.sigmoid(x) * y


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return x (..., tokens, heads, 2 r) with halves rotated by tables (tokens, r)."""
    first_half, second_half = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat(
        (first_half * cos - second_half * sin, first_half * sin + second_half * cos), -1
    )


def in_chunks(x: Tensor, size: int, work: Callable[[Tensor], Tensor]) -> Tensor:
    """Return `work` of each chunk of `size` along the second dimension, concatenated."""
    return torch.cat([work(chunk) for chunk in x.split(size, 1)], 1)


def recurrent(x: Tensor, g: Tensor, state: Tensor) -> Tensor:
    """Return all h of the recurrence h = exp(g) h + x; x and g are (batch, steps, columns)."""
    states = []
    for step in range(x.shape[1]):
        state = g[:, step].exp() * state + x[:, step]
        states.append(state)
    return torch.stack(states, 1)


def attended(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Return causal attention of q (..., tokens, heads, depth); k, v may have fewer heads."""
    k, v = (each.repeat_interleave(q.shape[-2] // k.shape[-2], -2) for each in (k, v))
    q, k, v = (each.transpose(-2, -3) for each in (q, k, v))
    scores = q @ k.mT * scale
    later = torch.ones_like(scores[(0,) * (scores.ndim - 2)]).triu(1).bool()
    return (scores.masked_fill(later, -torch.inf).softmax(-1) @ v).transpose(-2, -3)


def fla_cases() -> list[Case]:
    """Return the cases of FLA."""
    x, tokens = normal(2, 7, 128), normal(30, 50)
    silu, w = F.silu, normal(50)
    wide = drawn(x, x)
    elu = {F32: 1e-6, F16: 2e-3, BF16: 1e-2}
    return [
        *each_type("fla sigmoid", ACTIVATIONS, {F32: 1e-3}, drawn(x),
                   lambda m, x: m.sigmoid(x), torch.sigmoid),
        *each_type("fla sigmoid dx", ACTIVATIONS, {F32: 1e-3}, wide,
                   lambda m, x, dy: m.sigmoid_bwd(x, dy), gradient(torch.sigmoid)),
        *each_type("fla logsigmoid", ACTIVATIONS, {F32: 1e-3}, drawn(x),
                   lambda m, x: m.logsigmoid(x, 0.5), lambda x: F.logsigmoid(x) / 0.5,
                   LOGSIGMOID_MUTANTS),
        *each_type("fla swish", ACTIVATIONS, {F32: 1e-3}, drawn(x),
                   lambda m, x: m.swish(x), silu, SWISH_MUTANTS),
        *each_type("fla swish dx", ACTIVATIONS, {F32: 1e-3}, wide,
                   lambda m, x, dy: m.swish_bwd(x, dy), gradient(silu)),
        *each_type("fla swiglu", ACTIVATIONS, {F32: 1e-3}, wide,
                   lambda m, x, y: m.swiglu(x, y), lambda x, y: silu(x) * y, FLA_SWIGLU_MUTANTS),
        *each_type("fla sigmoidglu", ACTIVATIONS, {F32: 1e-3}, wide,
                   lambda m, x, y: m.sigmoidglu(x, y), lambda x, y: torch.sigmoid(x) * y),
        *each_type("fla powglu", ACTIVATIONS, {F32: 1e-3}, wide,
                   lambda m, x, y: m.powglu(x, y, 3.0), power_gate, POWGLU_MUTANTS),
        *each_type("fla elu_p1", ACTIVATIONS, elu,
                   drawn(lambda d: (4 * torch.randn(2, 7, 126)).to(d)),
                   lambda m, x: m.elu_p1(x),
                   lambda x: torch.where(x >= 0, x + 1, x.clamp_max(0).exp()), ELU_MUTANTS),
        *each_type("fla layer_norm", f"{NORM}/layernorm.py", {F32: 1e-3}, drawn(tokens, w, w),
                   lambda m, x, w, b: m.layer_norm(x, w, b), normed, FLA_LAYER_MUTANTS),
        *each_type("fla rms_norm", f"{NORM}/layernorm.py", {F32: 1e-3}, drawn(tokens, w),
                   lambda m, x, w: m.rms_norm(x, w, None, eps=0.0),
                   lambda x, w: normed(x, w, eps=0.0, mean=False), FLA_RMS_MUTANTS),
        *each_type("fla group_norm", f"{NORM}/layernorm.py", {F32: 1e-3},
                   drawn(normal(2, 9, 200), normal(200), normal(200)),
                   lambda m, x, w, b: m.group_norm(x, w, b, num_groups=4),
                   lambda x, w, b: normed(x.reshape(2, 9, 4, 50)).reshape(2, 9, 200) * w + b,
                   FLA_LAYER_MUTANTS[:2]),
        *each_type("fla l2norm", f"{NORM}/l2norm.py", {F32: 5e-3, F16: 5e-3, BF16: 5e-3},
                   drawn(lambda d: (torch.randn(1, 15, 2, 60) * 0.5 + 0.3).to(d)),
                   lambda m, x: m.l2norm(x),
                   lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6), L2_MUTANTS),
        *each_type("fla layer_norm_gated", f"{NORM}/fused_norm_gate.py", {F32: 1e-3},
                   drawn(tokens, tokens, w, w),
                   lambda m, x, g, w, b: m.layer_norm_gated(x, g, w, b, "sigmoid", eps=1e-5),
                   lambda x, g, w, b: normed(x, w, b) * torch.sigmoid(g)),
        *each_type("fla rms_norm_gated", f"{NORM}/fused_norm_gate.py", {F32: 1e-3, BF16: 5e-3},
                   drawn(tokens, tokens, w),
                   lambda m, x, g, w: m.rms_norm_gated(x, g, w, None, eps=1e-5),
                   lambda x, g, w: normed(x, w, mean=False) * silu(g), FLA_GATED_MUTANTS),
        *each_type("fla layernorm_fn", f"{NORM}/layernorm_gated.py",
                   {F32: 1e-3, F16: 1e-3, BF16: 5e-3},
                   drawn(tokens, lambda _: torch.randn(50), lambda _: torch.randn(50), tokens),
                   lambda m, x, w, b, z: m.layernorm_fn(x, w, b, z, 1e-5),
                   lambda x, w, b, z: normed(x, w, b) * silu(z)),
        *each_type("fla rotary", "fla/modules/rotary/ops.py", {F32: 1e-5},
                   drawn(normal(2, 11, 4, 32), normal(11, 16), normal(11, 16)),
                   lambda m, x, cos, sin: m.rotary_embedding(x, cos, sin), rotated, ROTARY_MUTANTS),
        *each_type("fla token_shift", "fla/modules/token_shift.py", {F32: 1e-3},
                   drawn(normal(2, 9, 64)), lambda m, x: m.token_shift(x),
                   lambda x: F.pad(x, (0, 0, 1, -1)) - x),
        *each_type("fla local_cumsum", "fla/ops/utils/cumsum.py", {F32: 1e-3},
                   drawn(normal(2, 70, 3)), lambda m, x: m.chunk_local_cumsum(x, 32),
                   lambda x: in_chunks(x, 32, lambda part: part.cumsum(1)), CUMSUM_MUTANTS),
        *each_type("fla global_cumsum", "fla/ops/utils/cumsum.py", {F32: 1e-3},
                   drawn(normal(2, 70, 3)), lambda m, x: m.chunk_global_cumsum(x),
                   lambda x: x.cumsum(1)),
        *each_type("fla mean_pooling", "fla/ops/utils/pooling.py", {F32: 1e-3},
                   drawn(normal(1, 63, 2, 30)), lambda m, x: m.mean_pooling(x, 16),
                   lambda x: in_chunks(x, 16, lambda part: part.mean(1, True)), POOLING_MUTANTS),
        *each_type("fla fused_recurrent_hgrn", "fla/ops/hgrn/fused_recurrent.py", {F32: 5e-3},
                   drawn(normal(2, 15, 50), lambda d: F.logsigmoid(torch.randn(2, 15, 50)).to(d),
                         normal(2, 50)),
                   lambda m, x, g, h: m.fused_recurrent_hgrn(x, g, h)[0], recurrent, HGRN_MUTANTS),
        *each_type("fla parallel_attn", "fla/ops/attn/parallel.py", {F16: 5e-3},
                   drawn(normal(1, 63, 2, 64), normal(1, 63, 1, 64), normal(1, 63, 1, 64)),
                   lambda m, q, k, v: m.parallel_attn(q, k, v, scale=1.0),
                   lambda q, k, v: attended(q, k, v, 1.0), FLA_ATTENTION_MUTANTS),
    ]  # fmt: skip


def updated(m: Any, state: Any, x: Any, dt: Any, bias: Any, a: Any, b: Any, c: Any, d: Any,
            z: Any) -> Tensor:  # fmt: skip
    out = torch.empty_like(x)
    m.selective_state_update(state, x, dt, a, b, c, d, bias, z, dt_softplus=True, out=out)
    return out


def update(state: Any, x: Any, dt: Any, bias: Any, a: Any, b: Any, c: Any, d: Any,
           z: Any) -> Tensor:  # fmt: skip
    dt = F.softplus(dt + bias, threshold=50)
    state = state * (dt[..., None] * a).exp() + (dt * x)[..., None] * b[:, None]
    return ((state * c[:, None]).sum(-1) + x * d) * F.silu(z)


def convolved(x: Tensor, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    padded = torch.cat((states, x[..., None]), -1)
    return F.silu((padded * weight).sum(-1) + bias)


def convolve(m: Any, x: Any, states: Any, weight: Any, bias: Any) -> Tensor:
    states = F.pad(states, (0, 0, 0, 0, 1, 0))  # place 0 means none
    places = torch.arange(1, len(x) + 1, device=x.device).int()
    return m.causal_conv1d_update(x, states, weight, bias, "silu", conv_state_indices=places)


def merge(m: Any, one: Any, first: Any, two: Any, second: Any) -> Tensor:
    out = torch.empty_like(one)
    lse = torch.empty_like(first)
    m.merge_attn_states(out, one, first, two, second, lse)
    return out


def merged(one: Any, first: Any, two: Any, second: Any) -> Tensor:
    share = torch.sigmoid(first - second).T[..., None]
    return one * share + two * (1 - share)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return x (tokens, 4 · 32) rotated by three tables, each for a section of the columns."""
    parts = ((0, slice(0, 4)), (1, slice(4, 10)), (2, slice(10, 16)))
    cos, sin = (torch.cat([each[at, :, part] for at, part in parts], -1) for each in (cos, sin))
    return rotated(x.view(len(x), 4, 32), cos, sin).reshape(x.shape)


LENGTHS = (40, 25)


def prefilled(m: Any, q: Any, k: Any, v: Any) -> Tensor:
    out = torch.zeros_like(q)
    starts, lengths = (torch.tensor(each, device=q.device).int() for each in ((0, 40), LENGTHS))
    m.context_attention_fwd(q, k, v, out, starts, lengths, max(LENGTHS))
    return out


def prefill(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    parts = zip(*(each.split(LENGTHS) for each in (q, k, v)), strict=True)
    return torch.cat([attended(*part, 64**-0.5) for part in parts])


def vllm_cases() -> list[Case]:
    """Return the cases of vLLM."""
    x, w = normal(4, 1500), normal(1500)
    logits = drawn(lambda d: torch.randn(4, 1500).to(d) * 4)
    table = lambda _: torch.rand(3, 11, 16) * 2 - 1  # noqa: E731
    lse = lambda _: torch.randn(4, 13)  # noqa: E731
    heads = normal(13, 4, 32)
    small = lambda *shape: lambda _: (0.25 * torch.rand(*shape)).to(torch.float8_e4m3fn)  # noqa: E731
    scale = lambda *shape: lambda _: 0.25 * torch.rand(*shape)  # noqa: E731
    return [
        *each_type("vllm rms_norm", BATCH, {F32: (1e-4, 1e-4), F16: (1e-2, 1e-2),
                                            BF16: (1e-1, 1e-1)},
                   drawn(x, w), lambda m, x, w: m.rms_norm_batch_invariant(x, w, 1e-6),
                   lambda x, w: normed(x, w, eps=1e-6, mean=False), BATCH_RMS_MUTANTS),
        *each_type("vllm softmax", BATCH, {F32: (1e-5, 1.3e-6), F16: (1e-5, 1e-3),
                                           BF16: (1e-5, 1.6e-2)},
                   logits, lambda m, x: m.softmax(x), lambda x: torch.softmax(x, -1),
                   BATCH_SOFTMAX_MUTANTS),
        *each_type("vllm log_softmax", BATCH, {F32: (1e-5, 1e-5), BF16: (1e-2, 1e-2)},
                   drawn(lambda d: torch.randn(4, 1500).to(d) * 5),
                   lambda m, x: m.log_softmax(x), lambda x: torch.log_softmax(x, -1),
                   BATCH_SOFTMAX_MUTANTS[:2]),
        *each_type("vllm matmul", BATCH, {F16: (1e-2, 1e-2), BF16: (1e-1, 1e-1)},
                   drawn(uniform(32, 150), uniform(150, 16)),
                   lambda m, a, b: m.matmul_persistent(a, b), lambda a, b: a @ b,
                   BATCH_MATMUL_MUTANTS),
        *each_type("vllm mrope", f"{LAYERS}/rotary_embedding/mrope.py", {BF16: (1e-2, 1.6e-2)},
                   drawn(normal(11, 128), lambda d: table(d).to(d), lambda d: table(d).to(d),
                         normal(11, 64)),
                   lambda m, q, cos, sin, k: m.triton_mrope(q, k, cos, sin, [4, 6, 6], 32, 32,
                                                            False, True)[0],
                   lambda q, cos, sin, _: turned(q, cos, sin), MROPE_MUTANTS),
        *each_type("vllm selective_state_update", f"{LAYERS}/mamba/ops/mamba_ssm.py",
                   {F32: (1e-3, 3e-4), BF16: (5e-2, 1e-2)},
                   drawn(normal(2, 80, 16), normal(2, 80), normal(2, 80),
                         lambda _: torch.rand(80) - 4, lambda _: -torch.rand(80, 16) - 1,
                         lambda _: torch.randn(2, 16), lambda _: torch.randn(2, 16),
                         lambda _: torch.randn(80), normal(2, 80)),
                   updated, update, STATE_MUTANTS),
        *each_type("vllm causal_conv1d_update", f"{LAYERS}/mamba/ops/causal_conv1d.py",
                   {F32: (1e-3, 3e-4), BF16: (5e-2, 1e-2)},
                   drawn(normal(3, 80), normal(3, 80, 3), normal(80, 4), normal(80)),
                   convolve, convolved, CONV_MUTANTS),
        *each_type("vllm merge_attn_states", "vllm/v1/attention/ops/triton_merge_attn_states.py",
                   {F32: (1e-3, 1e-3), F16: (1e-3, 1e-3), BF16: (1e-3, 1e-2)},
                   drawn(heads, lse, heads, lse), merge, merged, MERGE_MUTANTS),
        *each_type("vllm prefill_attention", "vllm/v1/attention/ops/triton_prefill_attention.py",
                   {F32: (1e-2, 1e-2), BF16: (1e-2, 1e-2)},
                   drawn(normal(65, 4, 64), normal(65, 2, 64), normal(65, 2, 64)),
                   prefilled, prefill, PREFILL_MUTANTS,
                   granted=GrantedRoundings(narrow=False)),  # in float32 it asks for tf32
        *each_type("vllm scaled_mm",
                   f"{LAYERS}/quantization/compressed_tensors/triton_scaled_mm.py",
                   {BF16: (1e-1, 1e-1)},
                   drawn(small(33, 496), small(496, 40), scale(33, 1), scale(40, 1),
                         uniform(40)),
                   lambda m, a, b, one, two, bias: m.triton_scaled_mm(a, b, one, two, BF16, bias),
                   lambda a, b, one, two, bias: one * (a @ b) * two.T + bias, SCALED_MUTANTS),
        *each_type("vllm fused_q_kv_rmsnorm", "vllm/models/common/ops/fused_qk_rmsnorm.py",
                   {F16: (1e-2, 1e-2), BF16: (1e-2, 1e-2)},
                   drawn(normal(9, 192), normal(192), normal(9, 576), normal(576)),
                   lambda m, q, w, kv, v: m.fused_q_kv_rmsnorm(q, kv, w, v, 1e-6)[0],
                   lambda q, w, *_: normed(q, w, eps=1e-6, mean=False)),
    ]  # fmt: skip
