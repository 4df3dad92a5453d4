"""References of `kernels/` in PyTorch, whose annotations describe the inputs."""

# ruff: noqa: F821 - the annotations are no types of Python

import torch
from torch.nn import functional


def add(x: "f32[N]", y: "f32[N]"):
    return x + y


def relu(x: "f32[N]"):
    return torch.relu(x)


def length(x: "f32[N]", y: "f32[N]"):
    return torch.hypot(x, y)


def byte_sum(x: "u8[M, N]"):
    return x.sum(-1, dtype=torch.int64)


def gelu(x: "f32[N]"):
    return functional.gelu(x, approximate="tanh")


def silu(x: "f32[N]"):
    return functional.silu(x)


def dropout(x: "f32[N]", keep: "bool[N]"):
    return torch.where(keep, 2 * x, 0)


def scale_in_place(x: "f32[N]", factor: float = 1.5):
    x *= factor


def softmax(x: "f32[M, N]"):
    return torch.softmax(x, -1)


def cumulative_sum(x: "f32[M, N]"):
    return torch.cumsum(x, -1)


def rolled(x: "f32[M, N]", shift: int = 3):
    return torch.roll(x, shift, -1)


def argmax(x: "f32[M, N]"):
    return torch.argmax(x, -1)


def integer_sum(x: "i32[M, N]"):
    return x.sum(-1)


def transpose(x: "f32[M, N]"):
    return x.t().contiguous()


def row_sum(x: "f32[M, N]"):
    return x.sum(-1)


def row_sum_half(x: "f16[7, 4000]"):
    return x.sum(-1)


def total(x: "f32[N]"):
    return x.sum().reshape(1)


def matmul(a: "f32[M, K]", b: "f32[K, N]"):
    return a @ b


def matmul_half(a: "f16[M, 1024]", b: "f16[1024, N]"):
    return a @ b


def layer_norm(x: "f32[M, N]", weight: "f32[N]", bias: "f32[N]"):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def rms_norm(x: "bf16[M, N]", weight: "bf16[N]"):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scaled = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6)
    return (scaled * weight).to(x.dtype)


def gather_rows(table: "f32[M, N]", index: "i64[K]"):
    return table[index]


def attention(q: "f16[L, 32]", k: "f16[L, 32]", v: "f16[L, 32]"):
    return torch.softmax(q @ k.t() * q.shape[1] ** -0.5, -1) @ v


def positive(x: "f32[N]"):
    return x > 0


def unit_length(x: "f32[N]"):
    return x / x.norm()


def quantized(x: "f32[N]"):
    return torch.floor(x * 127 / x.abs().max() + 0.5).to(torch.int8)


def largest(x: "f32[M, N]"):
    return x.argmax(-1)


def sorted_rows(x: "f32[M, N]"):
    return x.sort(-1).values


def scores_applied(x: "f32[M, K]", v: "f32[K, N]"):
    return torch.softmax(x, -1) @ v


def joined(x: "f32[N]", y: "f32[M]"):
    return torch.cat((x, y))


def counts(x: "i64[N]"):
    return torch.bincount(x, minlength=128)


def sorted_whole(x: "i64[N]"):
    return x.sort().values


def ragged_mean(x: "f32[M, N]", lengths: "i64[M]"):
    inside = torch.arange(x.shape[1])[None] < lengths[:, None]
    return torch.where(inside, x, 0).sum(-1) / lengths.clamp(min=1)


def picked(x: "f32[M, N]", index: "i64[M]"):
    return x.gather(-1, index[:, None])[:, 0]


def eight_bits(x: "f32[N]"):
    return (x * 0.5).to(torch.float8_e4m3fn)


def from_eight_bits(x: "f8e4m3[N]"):
    return (x if x.dtype == torch.float64 else x.float()) * 0.5


def halved_in_eight_bits(x: "f8e5m2[N]"):
    if x.dtype == torch.float64:
        return x * 0.5
    return (x.float() * 0.5).to(x.dtype)


def scaled(x: "f32[N]", factor: float = 1.0):
    return x * factor


def leaky(x: "f32[N]", slope: float = 0.01):
    return torch.where(x > 0, x, x * slope)


def thirds(k: "i32[N]", y: "f32[N]"):
    return torch.floor_divide(k, 3) * y
