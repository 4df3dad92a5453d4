"""Kernels of elementwise functions, quantization, optimizers, norms and rotary embeddings."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

N = 2000


@triton.jit
def polynomial_exp(value, TERMS: tl.constexpr):
    # Cody and Waite: exp(x) = 2^n * p(r), |r| <= ln(2)/2.
    whole = tl.floor(value * 1.4426950408889634 + 0.5)
    rest = value - whole * 0.693359375
    rest = rest + whole * 2.12194440e-4
    term = tl.full(value.shape, 1.0, tl.float32)
    result = tl.full(value.shape, 1.0, tl.float32)
    for power in tl.static_range(1, TERMS):
        term = term * rest / power
        result += term
    return result * tl.exp2(whole)


@triton.jit
def elementwise(x, out, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    value = tl.load(x + lanes, mask=mask, other=1.0)
    if KIND == "gelu":
        result = 0.5 * value * (1 + tl.erf(value * 0.7071067811865476))
    elif KIND == "gelu coarse":
        # Abramowitz and Stegun 7.1.25, off by 2.5e-5.
        positive = tl.abs(value) * 0.7071067811865476
        t = 1 / (1 + 0.47047 * positive)
        tail = t * (0.3480242 + t * (-0.0958798 + t * 0.7478556)) * tl.exp(-positive * positive)
        erf = tl.where(value < 0, tail - 1, 1 - tail)
        result = 0.5 * value * (1 + erf)
    elif KIND == "exp 8":
        result = polynomial_exp(value, 9)
    elif KIND == "exp 5":
        result = polynomial_exp(value, 6)
    elif KIND == "log1p":
        result = tl.log(1 + value)
    elif KIND == "log1p Kahan":
        near = 1 + value
        one = near == 1
        result = tl.where(one, value, tl.log(near) * value / tl.where(one, 1.0, near - 1))
    elif KIND == "expm1":
        result = tl.exp(value) - 1
    elif KIND == "tanh ratio":
        powers = tl.exp(2 * value)
        result = (powers - 1) / (powers + 1)
    elif KIND == "sigmoid":
        result = 1 / (1 + tl.exp(-value))
    elif KIND == "silu ratio":
        powers = tl.exp(value)
        result = value * (powers / (1 + powers))
    elif KIND == "softplus":
        result = tl.log(1 + tl.exp(value))
    elif KIND == "small scale":
        result = value * 1e-25 * 1e25
    elif KIND == "one wrong":
        result = tl.where(lanes == 1337, value * 0.3 * 1.0005, value * 0.3)
    elif KIND == "third":
        result = value * 0.3
    elif KIND == "root":
        result = tl.sqrt(1 + value) - tl.sqrt(value)
    elif KIND == "root stable":
        result = 1 / (tl.sqrt(1 + value) + tl.sqrt(value))
    elif KIND == "rsqrt 3":
        bits = 0x5F3759DF - (value.to(tl.int32, bitcast=True) >> 1)
        result = bits.to(tl.float32, bitcast=True)
        for _ in tl.static_range(3):
            result = result * (1.5 - 0.5 * value * result * result)
    elif KIND == "rsqrt 2":
        bits = 0x5F3759DF - (value.to(tl.int32, bitcast=True) >> 1)
        result = bits.to(tl.float32, bitcast=True)
        for _ in tl.static_range(2):
            result = result * (1.5 - 0.5 * value * result * result)
    elif KIND == "newton":
        # Newton's square root until nothing changes.
        result = tl.maximum(value, 1.0)
        off = 1.0
        while off > 1e-7:
            better = 0.5 * (result + value / result)
            off = tl.max(tl.abs(better - result) / better)
            result = better
    elif KIND == "cut bf16":
        bits = (value * 0.7).to(tl.int32, bitcast=True) & -65536
        result = bits.to(tl.float32, bitcast=True)
    elif KIND == "even bf16":
        bits = (value * 0.7).to(tl.int32, bitcast=True)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -65536
        result = bits.to(tl.float32, bitcast=True)
    tl.store(out + lanes, result.to(out.dtype.element_ty), mask=mask)


def draw(kind, scale=1.0, shift=0.0, out=torch.float32):
    def drawn(generator):
        x = torch.randn(N, generator=generator) * scale + shift
        arguments = {"x": x, "out": torch.zeros(N, dtype=out), "n": N}
        return Launch(arguments, (8,), meta={"BLOCK": 256, "KIND": kind})

    return drawn


def positive(kind, low, high):
    def drawn(generator):
        x = torch.rand(N, generator=generator) * (high - low) + low
        arguments = {"x": x, "out": torch.zeros(N), "n": N}
        return Launch(arguments, (8,), meta={"BLOCK": 256, "KIND": kind})

    return drawn


@triton.jit
def rope(x, inverse, out, D: tl.constexpr, KIND: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, D // 2)
    position = row * 41
    if KIND == "half":
        position = position.to(tl.float16)
    angle = position.to(tl.float32) * tl.load(inverse + half)
    at = half
    if KIND == "lane":
        at = tl.where(half == D // 2 - 1, D // 2 - 2, half)
    first = tl.load(x + row * D + half).to(tl.float32)
    second = tl.load(x + row * D + D // 2 + at).to(tl.float32)
    cos = tl.cos(angle)
    sin = tl.sin(angle)
    tl.store(out + row * D + half, (first * cos - second * sin).to(tl.bfloat16))
    tl.store(out + row * D + D // 2 + half, (second * cos + first * sin).to(tl.bfloat16))


def draw_rope(kind):
    def drawn(generator):
        arguments = {
            "x": torch.randn(256, 128, generator=generator).bfloat16(),
            "inverse": 10000.0 ** (-torch.arange(64) / 64.0),
            "out": torch.zeros(256, 128, dtype=torch.bfloat16),
        }
        return Launch(arguments, (256,), meta={"D": 128, "KIND": kind})

    return drawn


def rotated(x, inverse):
    angle = (torch.arange(256) * 41).to(x.dtype)[:, None] * inverse
    first_half, second_half = x.chunk(2, -1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat(
        [first_half * cos - second_half * sin, second_half * cos + first_half * sin], -1
    )


@triton.jit
def quantize(x, out, scales, N: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    scale = tl.max(tl.abs(value)) / 448.0
    tl.store(scales + row, scale)
    if HOW == "reciprocal":
        value = value * (1 / scale)
    elif HOW == "stale" and N > 0:
        value = tl.where(lanes == N - 1, value * 0.9, value / scale)
    else:
        value = value / scale
    tl.store(out + row * N + lanes, value.to(tl.float8e4nv))


def draw_quantize(how):
    def drawn(generator):
        arguments = {
            "x": torch.randn(16, 512, generator=generator),
            "out": torch.zeros(16, 512, dtype=torch.float8_e4m3fn),
            "scales": torch.zeros(16),
        }
        return Launch(arguments, (16,), ("out", "scales"), {"N": 512, "HOW": how})

    return drawn


def quantized(x):
    scale = x.abs().amax(-1) / 448
    return {"out": x / scale[:, None], "scales": scale}


@triton.jit
def adam(p, g, m, v, lr, beta1, beta2, eps, n, BLOCK: tl.constexpr, INSIDE: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    gradient = tl.load(g + lanes, mask=mask)
    first = tl.load(m + lanes, mask=mask) * beta1 + (1 - beta1) * gradient
    second = tl.load(v + lanes, mask=mask) * beta2 + (1 - beta2) * gradient * gradient
    step = first / tl.sqrt(second + eps) if INSIDE else first / (tl.sqrt(second) + eps)
    tl.store(m + lanes, first, mask=mask)
    tl.store(v + lanes, second, mask=mask)
    tl.store(p + lanes, tl.load(p + lanes, mask=mask) - lr * step, mask=mask)


def draw_adam(inside):
    def drawn(generator):
        g = torch.randn(N, generator=generator)
        arguments = {
            "p": torch.randn(N, generator=generator) * 0.02,
            "g": g,
            "m": torch.randn(N, generator=generator) * 0.1,
            "v": torch.rand(N, generator=generator) * 0.1 + 1e-4,
            "lr": 1e-2,
            "beta1": 0.875,
            "beta2": 0.9990234375,
            "eps": 2.0**-20,
            "n": N,
        }
        meta = {"BLOCK": 256, "INSIDE": inside}
        return Launch(arguments, (8,), ("p", "m", "v"), meta)

    return drawn


def adam_step(p, g, m, v, lr, beta1, beta2, eps):
    first_moment = m * beta1 + (1 - beta1) * g
    second_moment = v * beta2 + (1 - beta2) * g * g
    return {
        "p": p - lr * first_moment / (second_moment.sqrt() + eps),
        "m": first_moment,
        "v": second_moment,
    }


@triton.jit
def rms(x, w, out, N: tl.constexpr, EPS: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes).to(tl.float32)
    scale = tl.math.rsqrt(tl.sum(value * value) / N + EPS)
    tl.store(out + row * N + lanes, value * scale * tl.load(w + lanes))


def draw_rms(eps):
    def drawn(generator):
        arguments = {
            "x": torch.randn(16, 512, generator=generator),
            "w": torch.rand(512, generator=generator) + 0.5,
            "out": torch.zeros(16, 512),
        }
        arguments["x"][9] *= 1e-2
        return Launch(arguments, (16,), meta={"N": 512, "EPS": eps})

    return drawn


def rms_norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


@triton.jit
def group_norm(x, out, C: tl.constexpr, S: tl.constexpr, LEAK: tl.constexpr):
    group = tl.program_id(0)
    c = tl.arange(0, C)[:, None]
    s = tl.arange(0, S)[None, :]
    at = (group * C + c) * S + s
    value = tl.load(x + at)
    mean = tl.sum(tl.sum(value, 1), 0) / (C * S)
    off = value - mean
    spread = tl.sum(tl.sum(off * off, 1), 0) / (C * S)
    if LEAK:
        spread = tl.where((group == 7) & (c == C - 1), spread * 1.01, spread)
    tl.store(out + at, off / tl.sqrt(spread + 1e-5))


def draw_group(leak):
    def drawn(generator):
        x = torch.randn(8 * 8, 64, generator=generator) * 2 + 1
        arguments = {"x": x, "out": torch.zeros(64, 64)}
        return Launch(arguments, (8,), meta={"C": 8, "S": 64, "LEAK": leak})

    return drawn


def grouped(x):
    return torch.nn.functional.group_norm(x[None], 8)[0]


@triton.jit
def lengths(x, y, out, n, BLOCK: tl.constexpr, SAFE: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    left = tl.abs(tl.load(x + lanes, mask=mask, other=1.0))
    right = tl.abs(tl.load(y + lanes, mask=mask, other=1.0))
    if SAFE:
        larger = tl.maximum(left, right)
        ratio = tl.minimum(left, right) / larger
        result = larger * tl.sqrt(1 + ratio * ratio)
    else:
        result = tl.sqrt(left * left + right * right)
    tl.store(out + lanes, result, mask=mask)


def draw_lengths(safe):
    def drawn(generator):
        powers = 10.0 ** (torch.rand(N, generator=generator) * 60 - 30)
        arguments = {
            "x": torch.randn(N, generator=generator) * powers,
            "y": torch.randn(N, generator=generator) * powers,
            "out": torch.zeros(N),
            "n": N,
        }
        return Launch(arguments, (8,), meta={"BLOCK": 256, "SAFE": safe})

    return drawn


def exactly(function):
    return lambda x: function(x)


def case(name, right, why, drawn, function, **more):
    """Return an attack with the elementwise kernel and the formula `name`."""
    return Attack(name, right, why, elementwise, drawn, exactly(function), **more)


def hypot(x, y):
    return torch.hypot(x, y)


gelu = torch.nn.functional.gelu

ATTACKS = [
    case("gelu", True, "by erf", draw("gelu"), gelu, alone=True),
    case("gelu: coarse erf", False, "off by 2.5e-5", draw("gelu coarse"), gelu),
    case(
        "gelu: coarse erf, meaning granted",
        False,
        "off by 2.5e-5; granted is another formula, not an error",
        draw("gelu coarse"),
        gelu,
        grants={"meaning": False},
    ),
    case(
        "exp: eight terms, meaning granted",
        True,
        "1e-8",
        draw("exp 8"),
        torch.exp,
        grants={"meaning": False},
    ),
    case(
        "exp: five terms, meaning granted",
        False,
        "off by 3e-6",
        draw("exp 5"),
        torch.exp,
        grants={"meaning": False},
    ),
    case("log1p: log(1 + x)", False, "x near 1e-4", draw("log1p", 1e-4), torch.log1p, alone=True),
    case(
        "log1p: Kahan's",
        True,
        "the rounding of 1 + x cancels out",
        draw("log1p Kahan", 1e-4),
        torch.log1p,
        alone=True,
    ),
    case("expm1: exp(x) - 1", False, "x near 1e-4", draw("expm1", 1e-4), torch.expm1, alone=True),
    case("tanh: ratio", False, "inf / inf at 50", draw("tanh ratio", 20.0), torch.tanh, alone=True),
    case("sigmoid: exp overflows", True, "1 / inf is 0", draw("sigmoid", 60.0), torch.sigmoid),
    case(
        "silu: ratio", False, "inf / inf at 100", draw("silu ratio", 60.0), torch.nn.functional.silu
    ),
    case(
        "softplus: log(1 + exp)",
        False,
        "x near -12: 1 + exp(x) keeps one digit",
        draw("softplus", 0.5, -12.0),
        torch.nn.functional.softplus,
        alone=True,
    ),
    case(
        "identity: through denormals",
        False,
        "1e-15 times 1e-25 and back",
        draw("small scale", 1e-15),
        lambda x: x * 1.0,
        alone=True,
    ),
    case("scale: one element", False, "one of 2,000", draw("one wrong"), lambda x: x * 0.3),
    case("scale", True, "0.3 is rounded", draw("third"), lambda x: x * 0.3, alone=True),
    case(
        "roots: difference",
        False,
        "sqrt(1 + x) - sqrt(x) near 10,000",
        positive("root", 9e3, 1.1e4),
        lambda x: 1 / ((1 + x).sqrt() + x.sqrt()),
        alone=True,
    ),
    case(
        "roots: stable",
        True,
        "no difference",
        positive("root stable", 9e3, 1.1e4),
        lambda x: 1 / ((1 + x).sqrt() + x.sqrt()),
        alone=True,
    ),
    case(
        "rsqrt: bits and three steps, meaning granted",
        True,
        "Newton converges",
        positive("rsqrt 3", 0.1, 50.0),
        torch.rsqrt,
        grants={"meaning": False},
    ),
    case(
        "rsqrt: bits and two steps, meaning granted",
        False,
        "off by 5e-6",
        positive("rsqrt 2", 0.1, 50.0),
        torch.rsqrt,
        grants={"meaning": False},
    ),
    case(
        "sqrt: Newton until nothing changes",
        True,
        "a loop that ends when nothing changes",
        positive("newton", 0.1, 50.0),
        torch.sqrt,
        grants={"meaning": False},
    ),
    case(
        "to bf16: cut",
        False,
        "float32 in; the result is cut toward zero, not rounded to nearest",
        draw("cut bf16", out=torch.bfloat16),
        lambda x: x * 0.7,
        grants={"meaning": False},
    ),
    case(
        "to bf16: rounded by integers",
        True,
        "adds half, ties to even",
        draw("even bf16", out=torch.bfloat16),
        lambda x: x * 0.7,
        grants={"meaning": False},
    ),
    Attack("rope: float32 angles", True, "positions to 10,000", rope, draw_rope(""), rotated),
    Attack(
        "rope: half positions", False, "positions above 2,048", rope, draw_rope("half"), rotated
    ),
    Attack(
        "rope: last lane duplicated",
        False,
        "the last pair takes its neighbor's second half",
        rope,
        draw_rope("lane"),
        rotated,
    ),
    Attack("fp8: by division", True, "usual", quantize, draw_quantize(""), quantized, alone=True),
    Attack(
        "fp8: by reciprocal",
        True,
        "a tie may fall to the other side",
        quantize,
        draw_quantize("reciprocal"),
        quantized,
        unit=2.0**-22,
    ),
    Attack(
        "fp8: last lane's scale", False, "stale scale", quantize, draw_quantize("stale"), quantized
    ),
    Attack("adam", True, "usual", adam, draw_adam(False), adam_step, alone=True),
    Attack("adam: eps inside", False, "sqrt(v + eps)", adam, draw_adam(True), adam_step),
    Attack("rms norm: eps 1e-5", False, "not 1e-6", rms, draw_rms(1e-5), rms_norm),
    Attack(
        "rms norm: eps 1.0005e-6", False, "by parts in 10,000", rms, draw_rms(1.0005e-6), rms_norm
    ),
    Attack("rms norm", True, "usual", rms, draw_rms(1e-6), rms_norm, alone=True),
    Attack("group norm", True, "usual", group_norm, draw_group(False), grouped),
    Attack("group norm: one channel", False, "off by 0.5 %", group_norm, draw_group(True), grouped),
    Attack("hypot: overflow", False, "1e20 squared", lengths, draw_lengths(False), hypot),
    Attack(
        "hypot: scaled", True, "larger times sqrt(1 + ratio^2)", lengths, draw_lengths(True), hypot
    ),
]

CASES = cases(ATTACKS)
