"""Norms, softmaxes and losses by a second author, right and wrong."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

ROWS, N, WIDE = 4, 72, 128


def random(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Return normal numbers."""
    return torch.randn(shape, generator=generator)


@triton.jit
def softmax(x, out, N, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    mask = cols < N
    v = tl.load(x + row * N + cols, mask=mask, other=-float("inf")).to(tl.float32)
    if HOW == "online" or HOW == "not rescaled":
        top = -float("inf")
        total = 0.0
        for begin in range(0, N, 16):
            part = begin + tl.arange(0, 16)
            p = tl.load(x + row * N + part, mask=part < N, other=-float("inf")).to(tl.float32)
            higher = tl.maximum(top, tl.max(p))
            if HOW == "online":
                total *= tl.exp(top - higher)
            total += tl.sum(tl.exp(p - higher))
            top = higher
        r = tl.exp(v - top) / total
    elif HOW == "base two":
        scaled = v * 1.4426950408889634
        e = tl.exp2(scaled - tl.max(scaled))
        r = e / tl.sum(e)
    elif HOW == "short base two":
        scaled = v * 1.4427
        e = tl.exp2(scaled - tl.max(scaled))
        r = e / tl.sum(e)
    elif HOW == "padded":
        p = tl.where(mask, v, 0.0)
        e = tl.exp(p - tl.max(p))
        r = e / tl.sum(e)
    elif HOW == "half sum":
        e = tl.exp(v - tl.max(v))
        r = e / tl.sum(e.to(tl.float16))
    elif HOW == "mean instead":
        p = tl.where(mask, v, 0.0)
        e = tl.exp(v - tl.sum(p) / N)
        r = e / tl.sum(e)
    elif HOW == "last left out":
        e = tl.exp(v - tl.max(v))
        r = e / tl.sum(tl.where(cols < N - 1, e, 0.0))
    elif HOW == "log":
        m = tl.max(v)
        r = v - m - tl.log(tl.sum(tl.exp(v - m)))
    elif HOW == "log of softmax":
        e = tl.exp(v - tl.max(v))
        r = tl.log(e / tl.sum(e))
    else:
        e = tl.exp(v - tl.max(v))
        r = e * (1.0 / tl.sum(e))
    tl.store(out + row * N + cols, r, mask=mask)


def softmax_attack(
    how: str, right: bool, why: str, dtype: torch.dtype = torch.float32, spread: float = 4.0
) -> Attack:
    """Return an attack by a softmax."""

    def draw(generator: torch.Generator) -> Launch:
        x = (random(generator, ROWS, N) * spread).to(dtype)
        return Launch(
            {"x": x, "out": torch.zeros_like(x), "N": N, "WIDE": WIDE, "HOW": how}, (ROWS,)
        )

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(x, -1) if "log" in how else torch.softmax(x, -1)

    name = f"2 softmax {how}" + ("" if dtype == torch.float32 else " of bfloat16")
    unit = 2.0**-24
    return Attack(name, right, why, softmax, draw, reference, unit=unit, alone=how == "online")


@triton.jit
def normed(x, w, out, N, eps, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    mask = cols < N
    v = tl.load(x + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(w + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v) / N
    d = tl.where(mask, v - mean, 0.0)
    variance = tl.sum(d * d) / N
    if HOW == "welford" or HOW == "welford without counts":
        mean = 0.0
        m2 = 0.0
        for begin in range(0, N, 8):
            part = tl.load(x + row * N + begin + tl.arange(0, 8)).to(tl.float32)
            own = tl.sum(part) / 8
            own2 = tl.sum((part - own) * (part - own))
            delta = own - mean
            count = begin + 8
            mean += delta * 8 / count
            if HOW == "welford":
                m2 += own2 + delta * delta * begin * 8 / count
            else:
                m2 += own2 + delta * delta * 8 / count
        variance = m2 / N
        d = v - mean
    elif HOW == "naive":
        variance = tl.sum(v * v) / N - mean * mean
    elif HOW == "unbiased":
        variance = tl.sum(d * d) / (N - 1)
    elif HOW == "padded":
        d = v - mean
        variance = tl.sum(d * d) / N
    elif HOW == "half variance":
        variance = tl.sum((d * d).to(tl.bfloat16)).to(tl.float32) / N
    elif HOW == "shifted":
        e = tl.where(mask, v - tl.load(x + row * N).to(tl.float32), 0.0)
        variance = tl.sum(e * e) / N - (tl.sum(e) / N) * (tl.sum(e) / N)
    if HOW == "eps outside":
        r = d / (tl.sqrt(variance) + eps) * weight
    elif HOW == "small eps":
        r = d / tl.sqrt(variance + eps * 0.1) * weight
    else:
        r = d * tl.rsqrt(variance + eps) * weight
    tl.store(out + row * N + cols, r, mask=mask)


def normed_attack(
    how: str,
    right: bool,
    why: str,
    *,
    dtype: torch.dtype = torch.float32,
    offset: float = 0.0,
    spread: float = 1.0,
    alone: bool = False,
) -> Attack:
    """Return an attack by a layer norm."""

    def draw(generator: torch.Generator) -> Launch:
        x = (random(generator, ROWS, N) * spread + offset).to(dtype)
        w = random(generator, N).to(dtype)
        arguments = {"x": x, "w": w, "out": torch.zeros_like(x), "N": N, "eps": 1e-5}
        return Launch({**arguments, "WIDE": WIDE, "HOW": how}, (ROWS,))

    def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        d = x - x.mean(-1, keepdim=True)
        return d / torch.sqrt((d * d).mean(-1, keepdim=True) + 1e-5) * w

    name = f"2 layer norm {how}" + ("" if dtype == torch.float32 else f" of {dtype}"[9:])
    return Attack(name, right, why, normed, draw, reference, alone=alone)


@triton.jit
def rms_backward(x, w, dy, dx, N, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    mask = cols < N
    v = tl.load(x + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(w + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(dy + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v) / N + 1e-6)
    gw = g if HOW == "weight forgotten" else g * weight
    if HOW == "count forgotten":
        r = scale * (gw - v * scale * scale * tl.sum(gw * v))
    elif HOW == "square forgotten":
        r = scale * (gw - v * scale * tl.sum(gw * v) / N)
    else:
        r = scale * (gw - v * scale * scale * tl.sum(gw * v) / N)
    tl.store(dx + row * N + cols, r, mask=mask)


def rms_reference(x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the gradient of an RMS norm."""
    scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    gw = dy * w
    return scale * (gw - x * scale**2 * (gw * x).mean(-1, keepdim=True))


def rms_attack(how: str, right: bool, why: str, dtype: torch.dtype = torch.float32) -> Attack:
    """Return an attack by the gradient of an RMS norm."""

    def draw(generator: torch.Generator) -> Launch:
        x, dy = (random(generator, ROWS, N).to(dtype) for _ in range(2))
        arguments = {
            "x": x,
            "w": random(generator, N).to(dtype),
            "dy": dy,
            "dx": torch.zeros_like(x),
        }
        return Launch({**arguments, "N": N, "WIDE": WIDE, "HOW": how}, (ROWS,), ("dx",))

    name = f"2 rms norm backward {how}" + ("" if dtype == torch.float32 else " of bfloat16")
    return Attack(name, right, why, rms_backward, draw, rms_reference)


@triton.jit
def entropy(x, labels, loss, N, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    v = tl.load(x + row * N + cols, mask=cols < N, other=-float("inf")).to(tl.float32)
    label = tl.load(labels + row)
    m = tl.max(v)
    total = m + tl.log(tl.sum(tl.exp(v - m)))
    own = tl.load(x + row * N + label).to(tl.float32)
    if HOW == "next label":
        own = tl.load(x + row * N + label + 1).to(tl.float32)
    elif HOW == "base two":
        total = m + tl.log2(tl.sum(tl.exp(v - m)))
    elif HOW == "narrow":
        total = total.to(tl.bfloat16).to(tl.float32)
    elif HOW == "smoothed":
        mean = tl.sum(tl.where(cols < N, v, 0.0)) / N
        own = 0.9 * own + 0.1 * mean
    elif HOW == "smoothed by lanes":
        mean = tl.sum(tl.where(cols < N, v, 0.0)) / WIDE
        own = 0.9 * own + 0.1 * mean
    tl.store(loss + row, total - own)


def entropy_attack(how: str, right: bool, why: str, dtype: torch.dtype = torch.float32) -> Attack:
    """Return an attack by a cross entropy."""

    def draw(generator: torch.Generator) -> Launch:
        x = random(generator, ROWS, N).to(dtype)
        labels = torch.randint(0, N - 1, (ROWS,), generator=generator)
        arguments = {"x": x, "labels": labels, "loss": torch.zeros(ROWS), "N": N}
        return Launch({**arguments, "WIDE": WIDE, "HOW": how}, (ROWS,), ("loss",))

    def reference(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        label_logits = x.gather(-1, labels[:, None])[:, 0]
        if "smoothed" in how:
            label_logits = 0.9 * label_logits + 0.1 * x.mean(-1)
        return torch.logsumexp(x, -1) - label_logits

    name = f"2 cross entropy {how}" + ("" if dtype == torch.float32 else " of bfloat16")
    return Attack(name, right, why, entropy, draw, reference)


BF16 = torch.bfloat16
ATTACKS: list[Attack] = [
    softmax_attack("plain", True, "a product with the inverse of the sum"),
    softmax_attack("plain", True, "computed in float32", BF16),
    softmax_attack("online", True, "rescaled when a higher number comes"),
    softmax_attack("base two", True, "log2(e) in float32", spread=2.0),
    softmax_attack("log", True, "the maximum is subtracted first"),
    softmax_attack("not rescaled", False, "the sum keeps its old scale"),
    softmax_attack("short base two", False, "log2(e) in five digits"),
    softmax_attack("padded", False, "lanes past the end count exp(0)"),
    softmax_attack("half sum", False, "summed in half precision"),
    softmax_attack("mean instead", False, "the mean instead of the maximum overflows", spread=60.0),
    softmax_attack("last left out", False, "the last number is missing in the sum"),
    softmax_attack("log of softmax", False, "log(0) for small numbers", spread=60.0),
    normed_attack("plain", True, "in two passes", alone=True),
    normed_attack("plain", True, "in float32", dtype=BF16),
    normed_attack("welford", True, "parts of eight are merged", offset=1000.0),
    normed_attack("shifted", True, "about the first number", offset=1000.0),
    normed_attack("welford without counts", False, "parts count alike", offset=3.0),
    normed_attack("naive", False, "E[x²] - E[x]² around 10,000", offset=10000.0),
    normed_attack("unbiased", False, "divided by N - 1"),
    normed_attack("padded", False, "lanes past the end count", offset=3.0),
    normed_attack("half variance", False, "squares are summed in bfloat16"),
    normed_attack("eps outside", False, "eps beside the root", spread=0.01),
    normed_attack("small eps", False, "a tenth of eps", spread=0.01),
    rms_attack("plain", True, "as derived"),
    rms_attack("plain", True, "in float32", BF16),
    rms_attack("weight forgotten", False, "the weight is missing"),
    rms_attack("count forgotten", False, "a sum instead of a mean"),
    rms_attack("square forgotten", False, "the scale once instead of twice"),
    entropy_attack("plain", True, "log-sum-exp less the label's logit"),
    entropy_attack("plain", True, "computed in float32", BF16),
    entropy_attack("smoothed", True, "a tenth of the mean logit"),
    entropy_attack("next label", False, "the label after it"),
    entropy_attack("base two", False, "the wrong logarithm"),
    entropy_attack("narrow", False, "log-sum-exp is rounded to bfloat16"),
    entropy_attack("smoothed by lanes", False, "the mean is over the lanes"),
]

CASES = cases(ATTACKS)
