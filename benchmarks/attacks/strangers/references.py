"""Reference functions for the strangers' candidates, by PyTorch."""

import torch
import torch.nn.functional as F
from torch import nn


def double(x):
    return x * 2


def copy(x):
    return x.clone()


def total(x):
    return x.sum()


def row_sum(x):
    return x.sum(-1)


def add(x, y):
    return x + y


def matmul(x, y):
    return x @ y


def round_(x):
    return torch.round(x)


def signbit(x):
    return torch.signbit(x)


def is_nonzero(x):
    return x != 0


def floor_third_times(k, y):
    return torch.floor_divide(k, 3) * y


def remainder_times(k, y):
    return torch.remainder(k, 7) * y


def row_mean_of_integers(k):
    return k.float().mean(-1)


def row_max_of_integers(k):
    return k.amax(-1)


def leaky_relu(x, slope):
    return torch.where(x > 0, x, x * slope)


def clamp(x, low, high):
    return torch.clamp(x, low, high)


def relu(x):
    return torch.relu(x)


def hypot(x, y):
    return torch.hypot(x, y)


def softmax(x):
    return torch.softmax(x, -1)


def masked_mean(x, mask):
    return (x * mask).sum(-1) / mask.sum(-1).clamp(min=1)


def quantize(x, scale):
    return torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8)


def cross_entropy(x, labels):
    return F.cross_entropy(x, labels)


def rsqrt_norm(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def scatter_add(x, at, out):
    return out.index_add(0, at, x)


def twice_incremented(x):
    return x + 1, x + 1


def relu_(x):
    x.relu_()


def sum_and_max(x):
    return x.sum(-1), x.amax(-1)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def cumsum(x):
    return x.cumsum(-1)


def edges(x):
    return x - F.pad(x[None, None], (1, 1, 1, 1), mode="replicate")[0, 0, 2:, 2:]


def linear(x, weight):
    return x @ weight.T


def triple(x):
    return x.pow(3)


def gradient(x):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        cube_sum = leaf.pow(3).sum()
    return torch.autograd.grad(cube_sum, leaf)[0]


def batch_sum(x):
    return x.sum(0)


def ceil_parts(x):
    return torch.ceil(x), x - torch.ceil(x)


def swish(x):
    return x * torch.sigmoid(x)


def geglu(gate, up):
    return F.gelu(gate) * up


def layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def group_norm(x, weight, bias):
    return F.group_norm(x, 4, weight, bias)


def log_sum_exp(x):
    return torch.logsumexp(x, -1)


def argmax(x):
    return x.argmax(-1)


def outer(x, y):
    return x[:, None] * y[None, :]


def transpose(x):
    return x.t().contiguous()


def embedding(table, at):
    return table[at]


def bincount(at, bins):
    return torch.zeros_like(bins).index_add(0, at, torch.ones_like(at, dtype=bins.dtype))


def rotary(x, cos, sin):
    first_half, second_half = x.chunk(2, -1)
    return torch.cat(
        (first_half * cos - second_half * sin, second_half * cos + first_half * sin), -1
    )


def dequantize(q, scale):
    return q.float() * scale[:, None]


def rms_backward(g, x, w):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return r * (g * w) - x * r.pow(3) * (g * w * x).mean(-1, keepdim=True)


def int8_matmul(x, y):
    return (x.int() @ y.int()).int()


def welford(x):
    return x.var(-1, unbiased=False), x.mean(-1)


def scale_(x, factor):
    x.mul_(factor)


def add_rows(x, bias):
    return x + bias


def max_pool(x):
    return F.max_pool1d(x[None], 3, 2)[0]


def conv1d(x, weight):
    return F.conv1d(x[None], weight[:, None], groups=weight.shape[0], padding=1)[0]


def where(mask, x, y):
    return torch.where(mask, x, y)


def linear_scan(a, x):
    h = torch.zeros_like(x[..., 0])
    out = []
    for t in range(x.shape[-1]):
        h = a[..., t] * h + x[..., t]
        out.append(h)
    return torch.stack(out, -1)


def smooth_l1(x, y):
    return F.smooth_l1_loss(x, y)


def bitwise(x, y):
    return (x & y) ^ (x << 1)


def cast(x):
    return x.to(torch.float8_e4m3fn)


def top_two(x):
    return x.topk(2, -1).values


class Linear(nn.Module):
    """Linear layer without a bias."""

    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner))

    def forward(self, x):
        return x @ self.weight.T


def get_init_inputs():
    return [48, 32]
