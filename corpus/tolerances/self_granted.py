"""Kernels that widen their own bounds: by arguments, scratch memory, detours and bits."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

ROWS, COLUMNS = 16, 1024


def rows(generator, scale=1.0):
    return torch.randn(ROWS, COLUMNS, generator=generator) * scale


@triton.jit
def norm_unused_bf16(x, residual, w, out, eps, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    scale = tl.math.rsqrt(tl.sum(value * value) / N + eps)
    narrow = (value * scale).to(tl.bfloat16)
    tl.store(out + row * N + lanes, narrow.to(tl.float32) * tl.load(w + lanes))


def draw_norm_unused(generator):
    arguments = {
        "x": rows(generator),
        "residual": torch.zeros(1, dtype=torch.bfloat16),
        "w": torch.rand(COLUMNS, generator=generator) + 0.5,
        "out": torch.zeros(ROWS, COLUMNS),
        "eps": 1e-6,
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


def rms_norm(x, w, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w


@triton.jit
def linear_fp8_bias(a, b, bias, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        left = tl.load(a + m * K + k[None, :])
        right = tl.load(b + k[:, None] * N + n)
        total += tl.dot(left, right, input_precision="ieee")
    total = total.to(tl.bfloat16).to(tl.float32)
    tl.store(out + m * N + n, total + tl.load(bias + n).to(tl.float32))


def draw_linear_fp8(generator):
    arguments = {
        "a": torch.randn(32, 256, generator=generator),
        "b": torch.randn(256, 64, generator=generator),
        "bias": torch.zeros(64, dtype=torch.float8_e4m3fn),
        "out": torch.zeros(32, 64),
    }
    return Launch(arguments, (1,), meta={"M": 32, "N": 64, "K": 256})


def linear(a, b, bias):
    return a @ b + bias


@triton.jit
def layer_norm_scratch(x, w, scratch, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    mean = tl.sum(value) / N
    centered = value - mean
    scale = 1 / tl.sqrt(tl.sum(centered * centered) / N + 1e-5)
    tl.store(scratch + row * N + lanes, (centered * scale).to(tl.bfloat16))
    tl.debug_barrier()
    hidden = tl.load(scratch + row * N + lanes).to(tl.float32)
    tl.store(out + row * N + lanes, hidden * tl.load(w + lanes))


def draw_layer_norm_scratch(generator):
    arguments = {
        "x": rows(generator) + 0.3,
        "w": torch.rand(COLUMNS, generator=generator) + 0.5,
        "scratch": torch.zeros(ROWS, COLUMNS, dtype=torch.bfloat16),
        "out": torch.zeros(ROWS, COLUMNS),
    }
    return Launch(arguments, (ROWS,), ("out",), {"N": COLUMNS})


def layer_norm(x, w):
    centered = x - x.mean(-1, keepdim=True)
    normal = centered * torch.rsqrt((centered * centered).mean(-1, keepdim=True) + 1e-5) * w
    return {"out": normal, "scratch": normal / w}


@triton.jit
def shift_by_largest(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    large = tl.max(tl.abs(value), axis=0) * 3000.0
    relu = tl.maximum(value, 0.0)
    tl.store(out + row * N + lanes, (relu + large) - large)


def draw_rows(generator):
    arguments = {"x": rows(generator), "out": torch.zeros(ROWS, COLUMNS)}
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def divide_by_tiny(x, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes) * 1e-42
    tl.store(out + row * N + lanes, value / 1e-42 * tl.load(scale + row))


def draw_scaled(generator):
    arguments = {
        "x": rows(generator),
        "scale": torch.rand(ROWS, generator=generator) + 0.5,
        "out": torch.zeros(ROWS, COLUMNS),
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


def scaled(x, scale):
    return x * scale[:, None]


@triton.jit
def roots_and_squares(x, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    given = tl.load(x + row * N + lanes)
    value = tl.abs(given)
    for _ in tl.static_range(12):
        value = tl.sqrt(value)
    for _ in range(12):
        value = value * value
    value = tl.where(given < 0, -value, value)
    tl.store(out + row * N + lanes, value * tl.load(scale + row))


@triton.jit
def fixed_point_mean(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N))
    steps = (value * 65536.0).to(tl.int64)
    tl.store(out + row, tl.sum(steps).to(tl.float32) / (65536.0 * N))


def draw_mean(generator):
    arguments = {"x": rows(generator), "out": torch.zeros(ROWS)}
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def cut_by_bits(x, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    bits = value.to(tl.int32, bitcast=True) & -8192
    tl.store(out + row * N + lanes, bits.to(tl.float32, bitcast=True) * tl.load(scale + row))


@triton.jit
def few_lanes_narrow(x, flags, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    narrow = value.to(tl.bfloat16).to(tl.float32)
    value = tl.where((lanes % 97 == 96) & (row == 3), narrow, value)
    flag = tl.load(flags + lanes).to(tl.float32)
    tl.store(out + row * N + lanes, value * tl.load(scale + row) * flag)


def draw_few_lanes(generator):
    arguments = dict(draw_scaled(generator).arguments)
    out, scale = arguments.pop("out"), arguments.pop("scale")
    arguments |= {"flags": torch.ones(COLUMNS, dtype=torch.bfloat16), "scale": scale, "out": out}
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


def flagged(x, flags, scale):
    return x * scale[:, None] * flags


@triton.jit
def variance_of_bf16(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N)).to(tl.float32)
    mean = tl.sum(value) / N
    tl.store(out + row, tl.sum(value * value) / N - mean * mean)


@triton.jit
def variance_two_pass_bf16(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N)).to(tl.float32)
    centered = value - tl.sum(value) / N
    tl.store(out + row, tl.sum(centered * centered) / N)


def draw_bf16_variance(generator):
    arguments = {
        "x": (rows(generator, 8.0) + 1000).bfloat16(),
        "out": torch.zeros(ROWS),
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


def variance(x):
    return x.var(-1, correction=0)


@triton.jit
def gate_in_and_out(x, gate, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    weight = tl.load(gate + lanes)
    tl.store(out + row * N + lanes, value * (1.0 + weight) - value * weight)


def draw_gate(generator):
    arguments = {
        "x": rows(generator),
        "gate": torch.rand(COLUMNS, generator=generator) * 9e3 + 1e3,
        "out": torch.zeros(ROWS, COLUMNS),
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def there_and_back(x, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    powers = tl.exp(value * 8.0)
    ratio = (powers - 1) / (powers + 1)
    value = tl.log((1 + ratio) / (1 - ratio)) * 0.125
    tl.store(out + row * N + lanes, value * tl.load(scale + row))


def draw_back(generator):
    launch = draw_scaled(generator)
    launch.arguments["x"].clamp_(-1.2, 1.2)
    return launch


@triton.jit
def norm_bf16_weight(x, w, out, eps, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    scale = tl.math.rsqrt(tl.sum(value * value) / N + eps)
    narrow = (value * scale).to(tl.bfloat16).to(tl.float32)
    tl.store(out + row * N + lanes, narrow * tl.load(w + lanes).to(tl.float32))


def draw_bf16_weight(generator):
    arguments = {
        "x": rows(generator),
        "w": (torch.rand(COLUMNS, generator=generator) + 0.5).bfloat16(),
        "out": torch.zeros(ROWS, COLUMNS),
        "eps": 1e-6,
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def gemm_rounded_output(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, 64):
        k = start + tl.arange(0, 64)
        total = tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n), total)
    tl.store(out + m * N + n, total.to(tl.bfloat16).to(tl.float32))


def draw_gemm_rounded(generator):
    arguments = {
        "a": torch.randn(32, 512, generator=generator).bfloat16(),
        "b": torch.randn(512, 64, generator=generator).bfloat16(),
        "out": torch.zeros(32, 64),
    }
    return Launch(arguments, (1,), meta={"M": 32, "N": 64, "K": 512})


def product(a, b):
    return a @ b


@triton.jit
def far_angle(x, scale, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    value = tl.cos(value + 6283.185307179586)
    tl.store(out + row * N + lanes, value * tl.load(scale + row))


@triton.jit
def kept_in_half_scratch(x, scratch, out, N: tl.constexpr):
    # Exact: what is kept is whole and small, so float16 loses nothing.
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    steps = tl.floor(value * 8.0)
    tl.store(scratch + row * N + lanes, steps.to(tl.float16))
    tl.debug_barrier()
    back = tl.load(scratch + row * N + lanes).to(tl.float32)
    tl.store(out + row * N + lanes, value - back * 0.125)


def draw_half_scratch(generator):
    arguments = {
        "x": rows(generator),
        "scratch": torch.zeros(ROWS, COLUMNS, dtype=torch.float16),
        "out": torch.zeros(ROWS, COLUMNS),
    }
    return Launch(arguments, (ROWS,), ("out",), {"N": COLUMNS})


def fraction(x):
    steps = torch.floor(x * 8)
    return {"out": x - steps / 8, "scratch": steps}


ATTACKS = [
    Attack(
        "norm: unused bf16 argument",
        False,
        "float32 in and out; a bfloat16 argument that is not read makes a rounding look meant",
        norm_unused_bf16,
        draw_norm_unused,
        rms_norm,
        alone=True,
    ),
    Attack(
        "linear: bias of fp8 zeros",
        False,
        "the sum is rounded to bfloat16; nothing but a bias of zeros is narrow",
        linear_fp8_bias,
        draw_linear_fp8,
        linear,
        alone=True,
    ),
    Attack(
        "layer norm: bf16 scratch",
        False,
        "the normalized row goes through a bfloat16 scratch tensor",
        layer_norm_scratch,
        draw_layer_norm_scratch,
        layer_norm,
    ),
    Attack(
        "relu: shift by 3,000 maxima",
        False,
        "(relu + large) - large, where large comes from the data",
        shift_by_largest,
        draw_rows,
        lambda x: torch.relu(x),
        alone=True,
    ),
    Attack(
        "scale: divided by a denormal",
        False,
        "times 1e-42 and back keeps ten bits",
        divide_by_tiny,
        draw_scaled,
        scaled,
        alone=True,
    ),
    Attack(
        "scale: 12 roots, 12 squares",
        False,
        "squares amplify a rounding 4,096 times",
        roots_and_squares,
        draw_scaled,
        scaled,
        alone=True,
    ),
    Attack(
        "mean: fixed point",
        False,
        "each number is cut to a whole number of 2^-16",
        fixed_point_mean,
        draw_mean,
        lambda x: x.mean(-1),
    ),
    Attack(
        "scale: bits cut",
        False,
        "the lower 13 bits are masked off, as tf32 would",
        cut_by_bits,
        draw_scaled,
        scaled,
    ),
    Attack(
        "scale: ten lanes narrow",
        False,
        "ten elements of one row are rounded to bfloat16, whose only tensor is flags of one",
        few_lanes_narrow,
        draw_few_lanes,
        flagged,
        alone=True,
    ),
    Attack(
        "variance: naive, of bf16",
        False,
        "E[x^2] - E[x]^2 around 1,000; the float32 result loses four digits",
        variance_of_bf16,
        draw_bf16_variance,
        variance,
        alone=True,
    ),
    Attack(
        "variance: two passes, of bf16",
        True,
        "centered first",
        variance_two_pass_bf16,
        draw_bf16_variance,
        variance,
        alone=True,
    ),
    Attack(
        "identity: gate in and out",
        False,
        "x(1 + g) - xg for a gate of thousands",
        gate_in_and_out,
        draw_gate,
        lambda x: x,
        alone=True,
    ),
    Attack(
        "scale: through atanh(tanh)",
        False,
        "a detour that saturates",
        there_and_back,
        draw_back,
        scaled,
        alone=True,
    ),
    Attack(
        "norm: rounded before a bf16 weight",
        False,
        "x and the result are float32; only the weight is bfloat16",
        norm_bf16_weight,
        draw_bf16_weight,
        rms_norm,
    ),
    Attack(
        "gemm: rounded result, fp32 tensor",
        False,
        "bfloat16 factors are exact; the float32 result is rounded to bfloat16",
        gemm_rounded_output,
        draw_gemm_rounded,
        product,
    ),
    Attack(
        "cos: a thousand turns away",
        False,
        "adds 1,000 turns to the angle, which loses ten bits of it",
        far_angle,
        draw_scaled,
        lambda x, scale: torch.cos(x) * scale[:, None],
        grants={"meaning": False},
    ),
    Attack(
        "fraction: whole numbers in a half scratch",
        True,
        "float16 holds small whole numbers exactly",
        kept_in_half_scratch,
        draw_half_scratch,
        fraction,
    ),
]

CASES = cases(ATTACKS)
