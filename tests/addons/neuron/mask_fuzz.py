"""Random products with masks, each against NumPy; what a mask leaves out holds NaN.

By hand, longer than in the tests: `python -m tests.addons.neuron.mask_fuzz --count 5000 --seed 7`.
"""

import argparse
import random
import sys
from collections import Counter
from typing import Any

import numpy as np

import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.launching import Kernel, bound_arguments, execute
from kvtrace.addons.neuron.older.tiles import Tile

KINDS = ("none", "number", "partitions", "stationary", "moving", "both", "triangle")
_HELD = 7.0


def case(rng: random.Random) -> tuple[str, Any, Any, dict[str, Any]]:
    """Give a kind of mask, two arrays of small whole numbers, and the limits of the mask."""
    kind = rng.choice(KINDS)
    rows, columns = rng.choice((1, 2, 5, 32, 128)), rng.choice((1, 3, 16, 128))
    free = rng.choice([size for size in (2, 7, 64, 500) if size != columns])
    numbers = np.random.default_rng(rng.randrange(2**32))
    one = numbers.integers(-8, 9, (rows, columns)).astype(np.float32)
    other = numbers.integers(-8, 9, (rows, free)).astype(np.float32)
    limits = {
        "holds": rng.random() < 0.5,
        "k": rng.randint(1, rows),
        "m": rng.randint(1, columns),
        "n": rng.randint(1, free),
        "adds": rng.random() < 0.5,
    }
    return kind, one, other, limits


def mask_of(kind: str, k: Any, m: Any, n: Any, limits: dict[str, Any]) -> Any:
    """Make the mask of index expressions, or of NumPy's arrays: over k and m, or k and n."""
    match kind:
        case "none":
            return None
        case "number":
            return limits["holds"]
        case "partitions":
            return k < limits["k"]
        case "stationary":
            return m < limits["m"]
        case "moving":
            return n < limits["n"]
        case "both":
            return (k < limits["k"]) & (n < limits["n"])
    return k <= m + limits["k"]


def kernel(kind: str, limits: dict[str, Any]) -> Any:
    """Multiply with a mask into a tile that holds numbers."""

    def run(a: Any, b: Any) -> Any:
        k, m = nl.arange(a.shape[0])[:, None], nl.arange(a.shape[1])[None, :]
        n = nl.arange(b.shape[1])[None, :]
        one, other = nl.load(a[k, m]), nl.load(b[k, n])
        held = nl.full((a.shape[1], b.shape[1]), _HELD, dtype=nl.float32, buffer=nl.psum)
        mask = mask_of(kind, k, m, n, limits)
        if limits["adds"]:
            held[...] += nisa.nc_matmul(one, other, mask=mask)
        else:
            held[...] = nisa.nc_matmul(one, other, mask=mask)
        out = nl.ndarray(held.shape, nl.float32, buffer=nl.shared_hbm)
        nl.store(out, value=nl.copy(held))
        return out

    return run


def by_numpy(kind: str, one: Any, other: Any, limits: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Give the arrays with NaN where the mask leaves elements out, and what the kernel gives."""
    k, m = np.arange(one.shape[0])[:, None], np.arange(one.shape[1])[None, :]
    n = np.arange(other.shape[1])[None, :]
    mask = mask_of(kind, k, m, n, limits)
    mask = np.asarray(True if mask is None else mask)
    on_one = kind in ("stationary", "triangle")
    lets = np.broadcast_to(mask, one.shape if on_one else other.shape)
    rows = lets.any(axis=1, keepdims=True)
    left = np.broadcast_to(lets if on_one else rows, one.shape)
    right = np.broadcast_to(rows if on_one else lets, other.shape)
    product = np.where(left, one, 0).T @ np.where(right, other, 0)
    made = lets.any(axis=0)[:, None] if on_one else lets.any(axis=0)[None, :]
    expected = np.where(made, product + (_HELD if limits["adds"] else 0), np.float32(_HELD))
    return np.where(left, one, np.nan), np.where(right, other, np.nan), expected


def outcome(kind: str, one: Any, other: Any, limits: dict[str, Any]) -> str:
    """Run a case, and say how it ended."""
    a, b, expected = by_numpy(kind, one, other, limits)
    arrays = (a.astype(np.float32), b.astype(np.float32))
    function = kernel(kind, limits)
    try:
        ran = execute(Kernel(function, Tile), (), bound_arguments(function, arrays, {}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if ran.recorder.findings:
        return f"finding: {ran.recorder.findings[0].rule}"
    return "right" if np.array_equal(ran.result, expected) else "wrong"


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Give how many masks of each kind were compared, and what was wrong."""
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        kind, one, other, limits = case(rng)
        ended = outcome(kind, one, other, limits)
        kinds[kind] += 1
        if ended != "right":
            wrong.append(f"{ended}: case {number}: {kind} {one.shape} {other.shape} {limits}")
    return kinds, wrong


def main() -> int:
    """Fuzz as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    kinds, wrong = fuzz(asked.count, asked.seed)
    print(*wrong, sep="\n")
    print(f"seed {asked.seed}, {asked.count:,} products, {len(wrong)} wrong:", dict(kinds))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
