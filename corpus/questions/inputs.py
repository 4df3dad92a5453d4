"""Inputs that show where two versions differ: ordinary and special numbers."""

from collections.abc import Callable

import torch

BENIGN = ("random", "integers")
"""Kinds on which versions that are equal in exact arithmetic are close."""
FLOATS = (
    *BENIGN, "large", "tiny", "huge", "denormal", "nan", "all nan", "infinite", "minus infinity",
    "zeros", "equal", "negative", "canceling",
)  # fmt: skip
INTS = ("random", "negative", "extreme", "equal", "bytes")


def floats(
    kind: str, *shape: int, seed: int = 0, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Return floats of a shape; `kind` is their distribution, such as "plain" or "special"."""
    generator = torch.Generator("cpu").manual_seed(seed + 11)
    x = torch.randn(shape, generator=generator, device="cpu", dtype=torch.float64)
    flat = x.view(-1)
    position = torch.arange(flat.numel(), device="cpu") + seed
    if kind == "integers":
        flat.copy_((flat * 4).round())
    elif kind == "large":
        flat.mul_(1e2).add_(1e4)
    elif kind == "tiny":
        flat.mul_(1e-6)
    elif kind == "huge":
        flat.mul_(1e38)
    elif kind == "denormal":
        flat.mul_(1e-39)
    elif kind == "nan":
        flat[position % 3 == 0] = float("nan")
    elif kind == "all nan":
        flat.fill_(float("nan"))
    elif kind == "infinite":
        flat[position % 3 == 0] = float("inf")
        flat[position % 5 == 0] = float("-inf")
    elif kind == "minus infinity":
        flat.fill_(float("-inf"))
    elif kind == "zeros":
        flat[position % 2 == 0] = 0.0
        flat[position % 3 == 0] = -0.0
    elif kind == "equal":
        flat.fill_(1.5)
    elif kind == "negative":
        flat.abs_().add_(0.5).neg_()
    elif kind == "canceling":
        flat.mul_(1e4)
        flat[1::2] = -flat[: flat[1::2].numel() * 2 : 2]
    return x.to(dtype).to("cuda")


def ints(kind: str, *shape: int, seed: int = 0, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Return integers of a shape; `kind` is their distribution."""
    generator = torch.Generator("cpu").manual_seed(seed + 13)
    low, high = {
        "random": (0, 100), "negative": (-100, 100), "extreme": (-(2**31), 2**31),
        "equal": (7, 8), "bytes": (-300, 300),
    }[kind]  # fmt: skip
    x = torch.randint(low, high, shape, generator=generator, device="cpu", dtype=torch.int64)
    if kind == "extreme":
        edges = torch.tensor([-(2**31), 2**31 - 1, -1, 1, 0], device="cpu")
        flat = x.view(-1)
        count = flat[::2].numel()
        order = torch.randint(0, 5, (count,), generator=generator, device="cpu")
        flat[::2] = edges[order]
    return x.to(dtype).to("cuda")


def two_vectors(
    draw: Callable[..., torch.Tensor], count: int, like: torch.dtype, out: torch.dtype
) -> Callable[[str], list[torch.Tensor]]:
    """Return a function of a kind that draws two vectors (`floats` or `ints`) and an output."""

    def tensors(kind: str) -> list[torch.Tensor]:
        first, second = (draw(kind, count, seed=seed, dtype=like) for seed in (0, 1))
        return [first, second, blank(count, dtype=out)]

    return tensors


def blank(*shape: int, dtype: torch.dtype = torch.float32, value: float = -7) -> torch.Tensor:
    """Return an output filled with `value`, which shows where nothing was written."""
    return torch.full(shape, value, dtype=dtype, device="cuda")
