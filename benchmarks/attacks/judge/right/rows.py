"""Kernels over rows and elements, in the style of Triton's tutorials."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def log_softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    v -= tl.max(v, 0)
    tl.store(out + row * n + i, v - tl.log(tl.sum(tl.exp(v), 0)), mask=i < n)


@triton.jit
def rms_norm_kernel(x, weight, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    w = tl.load(weight + i, mask=i < n, other=0.0).to(tl.float32)
    y = v * tl.rsqrt(tl.sum(v * v, 0) / n + eps) * w
    tl.store(out + row * n + i, y, mask=i < n)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    centered = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / n + eps)
    w = tl.load(weight + i, mask=i < n, other=0.0).to(tl.float32)
    b = tl.load(bias + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + row * n + i, centered * scale * w + b, mask=i < n)


@triton.jit
def sum_kernel(x, out, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    result = tl.sum(total, 0)
    tl.store(out + row, result / n if MEAN else result)


@triton.jit
def deviation_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    centered = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    tl.store(out + row, tl.sqrt(tl.sum(centered * centered, 0) / (n - 1)))


@triton.jit
def argmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    tl.store(out + row, tl.argmax(v, 0).to(tl.int64))


@triton.jit
def integer_sum_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0).to(tl.int64)
    tl.store(out + row, tl.sum(v, 0))


@triton.jit
def cross_entropy_kernel(x, labels, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    label = tl.load(labels + row)
    top = tl.max(v, 0)
    chosen = tl.load(x + row * n + label).to(tl.float32)
    tl.store(out + row, tl.log(tl.sum(tl.exp(v - top), 0)) - (chosen - top))


@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, 0.5 * v * (1 + libdevice.erf(v * 0.7071067811865476)), mask=i < n)


@triton.jit
def swiglu_kernel(gate, up, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, mask=i < n, other=0.0).to(tl.float32)
    u = tl.load(up + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, g * tl.sigmoid(g) * u, mask=i < n)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=0.0), tl.load(y + i, mask=i < n, other=0.0)
    tl.store(out + i, a + b, mask=i < n)


@triton.jit
def scale_kernel(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, v * factor, mask=i < n)


@triton.jit
def widen_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, v * 0.5, mask=i < n)


@triton.jit
def roll_kernel(x, out, n, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    at = (i - shift % n + n) % n
    tl.store(out + row * n + i, tl.load(x + row * n + at, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def reverse_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + n - 1 - i, mask=i < n, other=0.0)
    tl.store(out + row * n + i, v * 2, mask=i < n)


@triton.jit
def count_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(out + index, 1.0, mask=i < n)


@triton.jit
def scatter_kernel(x, at, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    to = tl.load(at + row)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.atomic_add(out + to * n + i, v, mask=i < n)


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"],
                 reset_to_zero=["out"])  # fmt: skip
@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def relu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"],
                 restore_value=["out"])  # fmt: skip
@triton.jit
def double_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i, mask=i < n, other=0.0) * 2, mask=i < n)


def _rows(kernel, x, out, *more):
    x = x.contiguous()
    n = x.shape[-1]
    kernel[(x.numel() // n,)](x, *more, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def _elements(kernel, *tensors):
    tensors = [tensor.contiguous() for tensor in tensors]
    out = torch.empty_like(tensors[0])
    kernel[(triton.cdiv(out.numel(), 256),)](*tensors, out, out.numel(), BLOCK=256)
    return out


def _empty(x, shape=None, dtype=None):
    return torch.empty(x.shape if shape is None else shape, dtype=dtype or x.dtype, device=x.device)


def softmax(x):
    """Return `softmax` of x, by a kernel: right."""
    return _rows(softmax_kernel, x, _empty(x))


def log_softmax(x):
    """Return `log_softmax` of x, by a kernel: right."""
    return _rows(log_softmax_kernel, x, _empty(x))


def rms_norm(x, weight, eps=1e-6):
    """Return `rms_norm` of x, weight, eps, by a kernel: right."""
    x, out = x.contiguous(), _empty(x)
    n = x.shape[-1]
    rms_norm_kernel[(x.numel() // n,)](
        x, weight.contiguous(), out, n, eps, BLOCK=triton.next_power_of_2(n)
    )
    return out


def layer_norm(x, weight, bias, eps=1e-5):
    """Return `layer_norm` of x, weight, bias, eps, by a kernel: right."""
    x, out = x.contiguous(), _empty(x)
    n = x.shape[-1]
    layer_norm_kernel[(x.numel() // n,)](
        x, weight.contiguous(), bias.contiguous(), out, n, eps, BLOCK=triton.next_power_of_2(n)
    )
    return out


def row_sum(x):
    """Return `row_sum` of x, by a kernel: right."""
    x, out = x.contiguous(), _empty(x, x.shape[:-1])
    sum_kernel[(out.numel(),)](x, out, x.shape[-1], MEAN=False, BLOCK=64)
    return out


def row_mean(x):
    """Return `row_mean` of x, by a kernel: right."""
    x, out = x.contiguous(), _empty(x, x.shape[:-1])
    sum_kernel[(out.numel(),)](x, out, x.shape[-1], MEAN=True, BLOCK=64)
    return out


def deviation(x):
    """Return `deviation` of x, by a kernel: right."""
    return _rows(deviation_kernel, x, _empty(x, x.shape[:-1]))


def argmax(x):
    """Return `argmax` of x, by a kernel: right."""
    return _rows(argmax_kernel, x, _empty(x, x.shape[:-1], torch.int64))


def integer_sum(x):
    """Return `integer_sum` of x, by a kernel: right."""
    return _rows(integer_sum_kernel, x, _empty(x, x.shape[:-1], torch.int64))


def cross_entropy(x, labels):
    """Return `cross_entropy` of x, labels, by a kernel: right."""
    x, out = x.contiguous(), _empty(x, x.shape[:1])
    n = x.shape[-1]
    cross_entropy_kernel[(x.shape[0],)](
        x, labels.contiguous(), out, n, BLOCK=triton.next_power_of_2(n)
    )
    return out


def gelu(x):
    """Return `gelu` of x, by a kernel: right."""
    return _elements(gelu_kernel, x)


def swiglu(gate, up):
    """Return `swiglu` of gate, up, by a kernel: right."""
    return _elements(swiglu_kernel, gate, up)


def add(x, y):
    """Return `add` of x, y, by a kernel: right."""
    return _elements(add_kernel, x, y)


def scale(x, factor):
    """Return `scale` of x, factor, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, factor, x.numel(), BLOCK=256)
    return out


def widen(x):
    """Return `widen` of x, by a kernel: right."""
    x = x.contiguous()
    out = _empty(x, dtype=torch.float32)
    widen_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def roll(x, shift):
    """Return `roll` of x, shift, by a kernel: right."""
    x, out = x.contiguous(), _empty(x)
    n = x.shape[-1]
    roll_kernel[(x.shape[0],)](x, out, n, shift, BLOCK=triton.next_power_of_2(n))
    return out


def reverse(x):
    """Return `reverse` of x, by a kernel: right."""
    return _rows(reverse_kernel, x, _empty(x))


def histogram(x, bins):
    """Return `histogram` of x, bins, by a kernel: right."""
    out = torch.zeros(bins.shape[0], device=x.device)
    count_kernel[(triton.cdiv(x.numel(), 128),)](x.contiguous(), out, x.numel(), BLOCK=128)
    return out


def scatter_sum(x, at, out):
    """Return `scatter_sum` of x, at, out, by a kernel: right."""
    x, sums = x.contiguous(), torch.zeros(out.shape, dtype=out.dtype, device=out.device)
    n = x.shape[1]
    scatter_kernel[(x.shape[0],)](x, at.contiguous(), sums, n, BLOCK=triton.next_power_of_2(n))
    return sums


def total(x):
    """Return `total` of x, by a kernel: right, tuned, and set to zero before each trial."""
    out, n = torch.zeros((), dtype=x.dtype, device=x.device), x.numel()
    total_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.contiguous(), out, n)
    return out


def relu(x):
    """Return `relu` of x, by a kernel: right, tuned."""
    x = x.contiguous()
    out, n = torch.empty_like(x), x.numel()
    relu_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out


def double(x):
    """Return `double` of x, by a kernel: right, tuned in place, and restored after each trial."""
    out, n = x.clone(memory_format=torch.contiguous_format), x.numel()
    double_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, n)
    return out
