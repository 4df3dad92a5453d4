"""Kernels like those with a false verdict in the first attack: flags, integers, 16-bit inputs."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

ROWS, COLUMNS = 64, 2048


@triton.jit
def flagged_then_rounded(x, flags, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes) * tl.load(flags + lanes).to(tl.float32)
    tl.store(out + row * N + lanes, value.to(tl.bfloat16).to(tl.float32) * 0.75)


def draw_flags(generator):
    arguments = {
        "x": torch.randn(ROWS, COLUMNS, generator=generator),
        "flags": torch.ones(COLUMNS, dtype=torch.bfloat16),
        "out": torch.zeros(ROWS, COLUMNS),
    }
    return Launch(arguments, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def int8_rows(x, out, N: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes).to(tl.float32)
    scale = tl.max(tl.abs(value)) / 127.0
    scaled = value * (1 / scale) if HOW == "reciprocal" else value / scale
    whole = scaled if HOW == "cut" else tl.floor(scaled + 0.5)
    tl.store(out + row * N + lanes, whole.to(tl.int8))


def draw_int8(how, dtype):
    def draw(generator):
        x = torch.randn(ROWS, COLUMNS, generator=generator).to(dtype)
        arguments = {"x": x, "out": torch.zeros(ROWS, COLUMNS, dtype=torch.int8)}
        return Launch(arguments, (ROWS,), meta={"N": COLUMNS, "HOW": how})

    return draw


def int8_reference(x):
    return torch.round(x / (x.abs().amax(-1, keepdim=True) / 127))


@triton.jit
def scores_of_halves(x, out, N: tl.constexpr, COARSE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes).to(tl.float32)
    value -= tl.max(value)
    # 1.4427 is log2(e) to five digits.
    powers = tl.exp2(value * 1.4427) if COARSE else tl.exp(value)
    tl.store(out + row * N + lanes, powers / tl.sum(powers))


def draw_halves(coarse):
    def draw(generator):
        x = (torch.randn(ROWS, COLUMNS, generator=generator) * 3).half()
        arguments = {"x": x, "out": torch.zeros(ROWS, COLUMNS)}
        return Launch(arguments, (ROWS,), meta={"N": COLUMNS, "COARSE": coarse})

    return draw


@triton.jit
def half_arithmetic(x, y, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = row * N + tl.arange(0, N)
    tl.store(out + lanes, (tl.load(x + lanes) + tl.load(y + lanes)) * tl.load(y + lanes))


def draw_half_arithmetic(generator):
    x, y = (torch.randn(ROWS, COLUMNS, generator=generator).half() for _ in range(2))
    out = torch.zeros(ROWS, COLUMNS, dtype=torch.float16)
    return Launch({"x": x, "y": y, "out": out}, (ROWS,), meta={"N": COLUMNS})


@triton.jit
def add_and_norm(x, residual, out, N: tl.constexpr):
    # As vLLM: the sum is kept in the residual's type, and read again.
    row = tl.program_id(0)
    lanes = row * N + tl.arange(0, N)
    total = tl.load(x + lanes).to(tl.float32) + tl.load(residual + lanes).to(tl.float32)
    tl.store(residual + lanes, total.to(tl.bfloat16))
    tl.debug_barrier()
    value = tl.load(residual + lanes).to(tl.float32)
    scale = tl.math.rsqrt(tl.sum(value * value) / N + 1e-6)
    tl.store(out + lanes, (value * scale).to(tl.bfloat16))


def draw_add(generator):
    x, residual = (torch.randn(ROWS, COLUMNS, generator=generator).bfloat16() for _ in range(2))
    arguments = {"x": x, "residual": residual, "out": torch.zeros_like(x)}
    return Launch(arguments, (ROWS,), ("out", "residual"), {"N": COLUMNS})


def added(x, residual):
    total = x + residual
    scale = torch.rsqrt((total * total).mean(-1, keepdim=True) + 1e-6)
    return {"out": total * scale, "residual": total}


@triton.jit
def stochastic(p, g, out, seed, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    value = tl.load(p + lanes, mask=mask).to(tl.float32) - 0.01 * tl.load(g + lanes, mask=mask)
    noise = (tl.randint(seed, lanes) & 0xFFFF).to(tl.int32)
    bits = (value.to(tl.int32, bitcast=True) + noise) & -65536
    tl.store(out + lanes, bits.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=mask)


def draw_stochastic(generator):
    arguments = {
        "p": torch.randn(2000, generator=generator).bfloat16(),
        "g": torch.randn(2000, generator=generator).bfloat16(),
        "out": torch.zeros(2000, dtype=torch.bfloat16),
        "seed": 7,
        "n": 2000,
    }
    return Launch(arguments, (8,), meta={"BLOCK": 256})


ATTACKS = [
    Attack(
        "neighbor: rounded behind a flag",
        False,
        "bfloat16 flags of one touch what is rounded",
        flagged_then_rounded,
        draw_flags,
        lambda x, flags: x * flags * 0.75,
        alone=True,
    ),
    Attack(
        "neighbor: int8 by reciprocal, fp32",
        True,
        "ties within float32's error may fall to either side",
        int8_rows,
        draw_int8("reciprocal", torch.float32),
        int8_reference,
        grants={"meaning": False},
    ),
    Attack(
        "neighbor: int8 by reciprocal, bf16",
        True,
        "as before, of bfloat16 inputs",
        int8_rows,
        draw_int8("reciprocal", torch.bfloat16),
        int8_reference,
        unit=2.0**-22,
        grants={"meaning": False},
    ),
    Attack(
        "neighbor: int8 cut",
        False,
        "cut toward zero, not rounded",
        int8_rows,
        draw_int8("cut", torch.bfloat16),
        int8_reference,
        grants={"meaning": False},
    ),
    Attack(
        "neighbor: softmax of halves, coarse log2(e)",
        False,
        "float32 result of exact float16 inputs",
        scores_of_halves,
        draw_halves(True),
        lambda x: torch.softmax(x, -1),
        grants={"meaning": False},
    ),
    Attack(
        "neighbor: softmax of halves",
        True,
        "float32 on the way",
        scores_of_halves,
        draw_halves(False),
        lambda x: torch.softmax(x, -1),
        alone=True,
    ),
    Attack(
        "neighbor: float16 arithmetic",
        True,
        "inputs and result are float16; each op rounds to it",
        half_arithmetic,
        draw_half_arithmetic,
        lambda x, y: (x + y) * y,
        unit=2.0**-11,
        alone=True,
    ),
    Attack(
        "neighbor: residual read again",
        True,
        "the residual's type is the caller's",
        add_and_norm,
        draw_add,
        added,
        unit=2.0**-8,
        alone=True,
    ),
    Attack(
        "sgd: stochastic rounding",
        True,
        "bfloat16 parameters grant a step of bfloat16",
        stochastic,
        draw_stochastic,
        lambda p, g: p - 0.01 * g,
        unit=2.0**-8,
        grants={"meaning": False},
    ),
]

CASES = cases(ATTACKS)
