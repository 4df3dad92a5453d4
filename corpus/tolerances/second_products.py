"""Products, attention, scans and maps by a second author, right and wrong."""

# ruff: noqa: SIM108 - kernels of one signature, written as authors do

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases
from corpus.tolerances.second_rows import random

COUNT = 256


@triton.jit
def product(a, b, out, K, HOW: tl.constexpr):
    rows, cols, deep = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 32)
    split = tl.program_id(0)
    acc = tl.zeros([16, 16], tl.float32)
    trips = K // 32 if HOW == "no tail" else tl.cdiv(K, 32)
    first = 0
    if HOW == "split" or HOW == "split overlapping":
        trips = trips // 2 + split * (trips % 2)
        first = split * (tl.cdiv(K, 32) // 2)
        if HOW == "split overlapping":
            first -= split
    for trip in range(trips):
        k = (first + trip) * 32 + deep
        p = tl.load(a + rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        q = tl.load(b + k[:, None] * 16 + cols[None, :], mask=k[:, None] < K, other=0.0)
        if HOW == "half sum":
            acc = tl.dot(p, q, acc.to(tl.float16), out_dtype=tl.float16).to(tl.float32)
        elif HOW == "narrow between":
            acc = (acc + tl.dot(p, q)).to(tl.bfloat16).to(tl.float32)
        elif HOW == "last only":
            acc = tl.dot(p, q)
        elif HOW == "by hand":
            acc += tl.sum(p.to(tl.float32)[:, :, None] * q.to(tl.float32)[None, :, :], axis=1)
        else:
            acc = tl.dot(p, q, acc, input_precision="ieee")
    offsets = rows[:, None] * 16 + cols[None, :]
    if HOW == "split" or HOW == "split overlapping":
        tl.atomic_add(out + offsets, acc)
    else:
        tl.store(out + offsets, acc)


def product_attack(
    how: str,
    right: bool,
    why: str,
    dtype: torch.dtype = torch.float16,
    out: torch.dtype = torch.float32,
    deep: int = 208,
) -> Attack:
    """Return an attack by a matrix product."""

    def draw(generator: torch.Generator) -> Launch:
        a, b = random(generator, 16, deep).to(dtype), random(generator, deep, 16).to(dtype)
        arguments = {"a": a, "b": b, "out": torch.zeros(16, 16, dtype=out), "K": deep, "HOW": how}
        return Launch(arguments, (2 if "split" in how else 1,))

    def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    return Attack(f"2 product {how} of {dtype}"[:60], right, why, product, draw, reference)


@triton.jit
def scaled_product(a, b, sa, sb, out, K, HOW: tl.constexpr):
    rows, cols, deep = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 32)
    acc = tl.zeros([16, 16], tl.float32)
    for begin in range(0, K, 32):
        p = tl.load(a + rows[:, None] * K + begin + deep[None, :])
        q = tl.load(b + (begin + deep[:, None]) * 16 + cols[None, :])
        scale = tl.load(sa + rows * (K // 32) + begin // 32)
        if HOW == "first scale":
            scale = tl.load(sa + rows * (K // 32))
        if HOW == "narrow sum":
            acc = (acc + tl.dot(p, q) * scale[:, None]).to(tl.bfloat16).to(tl.float32)
        else:
            acc += tl.dot(p, q) * scale[:, None]
    other = tl.load(sb + cols)
    if HOW == "scale of rows":
        acc *= other[:, None]
    else:
        acc *= other[None, :]
    tl.store(out + rows[:, None] * 16 + cols[None, :], acc)


def scaled_reference(
    a: torch.Tensor, b: torch.Tensor, sa: torch.Tensor, sb: torch.Tensor
) -> torch.Tensor:
    """Return the product of scaled matrices."""
    return (a * sa.repeat_interleave(32, 1)) @ (b * sb)


def scaled_attack(how: str, right: bool, why: str) -> Attack:
    """Return an attack by a product of 8-bit floats in blocks of 32."""

    def draw(generator: torch.Generator) -> Launch:
        a, b = random(generator, 16, 128), random(generator, 128, 16)
        arguments = {
            "a": a.to(torch.float8_e4m3fn),
            "b": b.to(torch.float8_e4m3fn),
            "sa": random(generator, 16, 4).abs() + 0.5,
            "sb": random(generator, 16).abs() + 0.5,
            "out": torch.zeros(16, 16),
        }
        return Launch({**arguments, "K": 128, "HOW": how}, (1,))

    return Attack(f"2 fp8 {how}", right, why, scaled_product, draw, scaled_reference, unit=2.0**-12)


@triton.jit
def attention(q, k, v, out, scale, T: tl.constexpr, D: tl.constexpr, HOW: tl.constexpr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    top = tl.full([16], -float("inf"), tl.float32)
    total = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for begin in range(0, (tl.program_id(0) + 1) * 16, 16):
        cols = begin + tl.arange(0, 16)
        key = tl.load(k + cols[None, :] * D + d[:, None])
        scores = tl.dot(query, key, input_precision="ieee")
        if HOW != "scale forgotten":
            scores *= scale
        if HOW == "one key less":
            seen = (cols[None, :] < rows[:, None]) | (cols[None, :] == 0)
        else:
            seen = cols[None, :] <= rows[:, None]
        scores = tl.where(seen, scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        old = tl.exp(top - higher)
        total = total * old + tl.sum(p, 1)
        if HOW != "not rescaled":
            acc *= old[:, None]
        value = tl.load(v + cols[:, None] * D + d[None, :])
        if HOW == "narrow sum":
            acc = (acc + tl.dot(p.to(value.dtype), value)).to(tl.bfloat16).to(tl.float32)
        else:
            acc += tl.dot(p.to(value.dtype), value, input_precision="ieee")
        top = higher
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None])


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return causal attention."""
    scores = q @ k.T * 0.25
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -float("inf")), -1) @ v


def attention_attack(how: str, right: bool, why: str, dtype: torch.dtype = torch.float32) -> Attack:
    """Return an attack by an attention of 48 tokens."""

    def draw(generator: torch.Generator) -> Launch:
        q, k, v = (random(generator, 48, 16).to(dtype) for _ in range(3))
        arguments = {"q": q, "k": k, "v": v, "out": torch.zeros(48, 16, dtype=dtype), "scale": 0.25}
        return Launch({**arguments, "T": 48, "D": 16, "HOW": how}, (3,))

    name = f"2 attention {how}" + ("" if dtype == torch.float32 else " of float16")
    unit = 2.0**-24 if dtype == torch.float32 else 2.0**-11
    return Attack(name, right, why, attention, draw, attended, unit=unit)


@triton.jit
def recurrence(a, b, out, T: tl.constexpr, HOW: tl.constexpr):
    lane = tl.arange(0, 16)
    state = tl.zeros([16], tl.float32)
    if HOW == "chunked" or HOW == "chunked without decay":
        for begin in range(0, T, 16):
            t = begin + tl.arange(0, 16)
            p = tl.load(a + t[:, None] * 16 + lane[None, :])
            q = tl.load(b + t[:, None] * 16 + lane[None, :])
            decay = tl.cumsum(tl.log(p), 0)
            # h[t] = exp(decay[t]) * state + sum over s <= t of exp(decay[t] - decay[s]) * b[s]
            apart = decay[:, None, :] - decay[None, :, :]
            earlier = (tl.arange(0, 16)[:, None] >= tl.arange(0, 16)[None, :])[:, :, None]
            h = tl.sum(tl.where(earlier, tl.exp(apart) * q[None, :, :], 0.0), axis=1)
            if HOW == "chunked":
                h += tl.exp(decay) * state[None, :]
            else:
                h += state[None, :]
            tl.store(out + t[:, None] * 16 + lane[None, :], h)
            state = tl.sum(tl.where(tl.arange(0, 16)[:, None] == 15, h, 0.0), axis=0)
    else:
        for t in range(T):
            p = tl.load(a + t * 16 + lane)
            q = tl.load(b + t * 16 + lane)
            state = p * state + q
            if HOW == "narrow state":
                state = state.to(tl.bfloat16).to(tl.float32)
            tl.store(out + t * 16 + lane, state)


def recurrent(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return h[t] = a[t] h[t-1] + b[t]."""
    state, states = torch.zeros_like(a[0]), []
    for p, q in zip(a, b, strict=True):
        state = p * state + q
        states.append(state)
    return torch.stack(states)


def recurrence_attack(how: str, right: bool, why: str) -> Attack:
    """Return an attack by a gated recurrence of positive numbers."""

    def draw(generator: torch.Generator) -> Launch:
        a = torch.rand(48, 16, generator=generator) * 0.4 + 0.6
        b = torch.rand(48, 16, generator=generator)
        return Launch({"a": a, "b": b, "out": torch.zeros(48, 16), "T": 48, "HOW": how}, (1,))

    return Attack(f"2 recurrence {how}", right, why, recurrence, draw, recurrent)


@triton.jit
def mapped(x, y, out, n, HOW: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    u = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    w = tl.load(y + i, mask=i < n, other=0.0).to(tl.float32)
    if HOW == "geglu" or HOW == "geglu short constant":
        c = 0.0447 if HOW == "geglu short constant" else 0.044715
        z = 0.7978845608028654 * (u + c * u * u * u)
        r = 0.5 * u * (1.0 + (1.0 - 2.0 / (tl.exp(2.0 * z) + 1.0))) * w
    elif HOW == "swiglu":
        r = u * tl.sigmoid(u) * w
    elif HOW == "swiglu narrow":
        r = (u * tl.sigmoid(u)).to(tl.float16).to(tl.float32) * w
    elif HOW == "swiglu swapped":
        r = w * tl.sigmoid(w) * u
    elif HOW == "softplus":
        r = tl.maximum(u, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(u)))
    elif HOW == "hypot":
        r = tl.sqrt(u * u + w * w)
    elif HOW == "hypot scaled":
        m = tl.maximum(tl.abs(u), tl.abs(w))
        s = tl.minimum(tl.abs(u), tl.abs(w)) / m
        r = m * tl.sqrt(1.0 + s * s)
    elif HOW == "adam":
        r = u / (tl.sqrt(tl.abs(w)) + 1e-8)
    elif HOW == "adam eps inside":
        r = u / tl.sqrt(tl.abs(w) + 1e-8)
    elif HOW == "difference of squares":
        r = (u - w) * (u + w)
    elif HOW == "difference of squares naive":
        r = u * u - w * w
    elif HOW == "stale":
        r = tl.where(i == n - 1, 0.0, u * w)
    else:
        r = u * w
    tl.store(out + i, r, mask=i < n)


REFERENCES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "geglu": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh") * y,
    "swiglu": lambda x, y: torch.nn.functional.silu(x) * y,
    "softplus": lambda x, y: torch.nn.functional.softplus(x, threshold=1000) + 0 * y,
    "hypot": lambda x, y: torch.hypot(x, y),
    "adam": lambda x, y: x / (y.abs().sqrt() + 1e-8),
    "difference of squares": lambda x, y: (x - y) * (x + y),
    "stale": lambda x, y: x * y,
    "plain": lambda x, y: x * y,
}


def mapped_attack(
    how: str,
    right: bool,
    why: str,
    *,
    dtype: torch.dtype = torch.float32,
    spread: tuple[float, float] = (1.0, 1.0),
    offset: tuple[float, float] = (0.0, 0.0),
    unit: float = 2.0**-24,
) -> Attack:
    """Return an attack by a map of two vectors."""

    def draw(generator: torch.Generator) -> Launch:
        x, y = (
            (random(generator, COUNT) * s + o).to(dtype)
            for s, o in zip(spread, offset, strict=True)
        )
        if "difference" in how:
            y = x * (1 + y * 1e-4)
        arguments = {"x": x, "y": y, "out": torch.zeros_like(x), "n": COUNT, "HOW": how}
        return Launch(arguments, (COUNT // 64,))

    reference = next(REFERENCES[name] for name in REFERENCES if how.startswith(name))
    name = f"2 map {how}" + ("" if dtype == torch.float32 else " of bfloat16")
    return Attack(name, right, why, mapped, draw, reference, unit=unit)


@triton.jit
def quantized(x, out, scale, N, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    v = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    top = tl.max(tl.abs(v))
    s = top / (128.0 if HOW == "128" else 127.0)
    z = v / s
    if HOW == "truncated":
        code = z.to(tl.int8)
    else:
        code = (z + tl.where(z >= 0, 0.5, -0.5)).to(tl.int8)
    tl.store(out + row * N + cols, code, mask=cols < N)
    tl.store(scale + row, s)


def quantized_reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return codes of 8 bits and their scales."""
    scale = x.abs().amax(-1) / 127
    return {"out": torch.round(x / scale[:, None]), "scale": scale}


def quantized_attack(how: str, right: bool, why: str) -> Attack:
    """Return an attack by a quantization of rows."""

    def draw(generator: torch.Generator) -> Launch:
        x = random(generator, 4, 72)
        out, scale = torch.zeros(4, 72, dtype=torch.int8), torch.zeros(4)
        arguments = {"x": x, "out": out, "scale": scale, "N": 72, "WIDE": 128, "HOW": how}
        return Launch(arguments, (4,), ("out", "scale"))

    return Attack(f"2 quantize {how}", right, why, quantized, draw, quantized_reference)


F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
ATTACKS: list[Attack] = [
    product_attack("plain", True, "summed in float32"),
    product_attack("plain", True, "summed in float32, stored in bfloat16", BF16, BF16),
    product_attack("plain", True, "float32 throughout", F32),
    product_attack("split", True, "two programs add their halves of K"),
    product_attack("by hand", True, "products summed without a dot"),
    product_attack("no tail", False, "the last 16 of K are left out"),
    product_attack("split overlapping", False, "a step of K is added twice"),
    product_attack("half sum", False, "summed in half precision"),
    product_attack("narrow between", False, "rounded to bfloat16 after each step", BF16),
    product_attack("last only", False, "only the last step is kept"),
    scaled_attack("plain", True, "scales of blocks, summed in float32"),
    scaled_attack("narrow sum", False, "summed in bfloat16"),
    scaled_attack("first scale", False, "all blocks have the first one's scale"),
    scaled_attack("scale of rows", False, "the columns' scale is taken by rows"),
    attention_attack("plain", True, "online, in float32"),
    attention_attack("plain", True, "weights are rounded to half precision", F16),
    attention_attack("scale forgotten", False, "scores are not scaled"),
    attention_attack("one key less", False, "a token does not see itself"),
    attention_attack("not rescaled", False, "the result keeps its old scale"),
    attention_attack("narrow sum", False, "rounded to bfloat16 after each block"),
    recurrence_attack("plain", True, "one step after the other"),
    recurrence_attack("chunked", True, "in chunks of 16, by logarithms of gates"),
    recurrence_attack("chunked without decay", False, "a chunk's first state does not decay"),
    recurrence_attack("narrow state", False, "the state is kept in bfloat16"),
    mapped_attack("geglu", True, "tanh by an exponential"),
    mapped_attack("geglu", True, "in float32", dtype=BF16),
    mapped_attack("geglu short constant", False, "0.0447 for 0.044715", spread=(3.0, 1.0)),
    mapped_attack("swiglu", True, "as torch does"),
    mapped_attack("swiglu", True, "in float32", dtype=BF16),
    mapped_attack("swiglu narrow", False, "rounded to half precision between"),
    mapped_attack("swiglu swapped", False, "the other half is gated"),
    mapped_attack("softplus", False, "log(1 + x) of small x is 0", spread=(1, 1), offset=(-20, 0)),
    mapped_attack("hypot", False, "the square of 1e25 overflows", spread=(1e25, 1e25)),
    mapped_attack("hypot scaled", True, "the larger one is factored out", spread=(1e25, 1e25)),
    mapped_attack("adam", True, "eps beside the root"),
    mapped_attack("adam eps inside", False, "eps in the root", spread=(1.0, 1e-8)),
    mapped_attack("difference of squares", True, "a product of exact differences"),
    mapped_attack(
        "difference of squares naive", True, "off as far as a rounding of x is", unit=2.0**-23
    ),
    mapped_attack("stale", False, "the last element is not computed"),
    quantized_attack("rounded", True, "ties apart, rounded to nearest"),
    quantized_attack("truncated", False, "cut instead of rounded"),
    quantized_attack("128", False, "a scale of 128: the largest wraps"),
]

CASES = cases(ATTACKS)
