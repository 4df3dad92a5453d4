"""Random products with masks, each compared with NumPy; masked-off elements are NaN.

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
_FILL = 7.0


def case(rng: random.Random) -> tuple[str, Any, Any, dict[str, Any]]:
    """Return a kind of mask, two arrays of small integers, and the limits of the mask."""
    kind = rng.choice(KINDS)
    rows, columns = rng.choice((1, 2, 5, 32, 128)), rng.choice((1, 3, 16, 128))
    free = rng.choice([size for size in (2, 7, 64, 500) if size != columns])
    numbers = np.random.default_rng(rng.randrange(2**32))
    left = numbers.integers(-8, 9, (rows, columns)).astype(np.float32)
    right = numbers.integers(-8, 9, (rows, free)).astype(np.float32)
    limits = {
        "holds": rng.random() < 0.5,
        "k": rng.randint(1, rows),
        "m": rng.randint(1, columns),
        "n": rng.randint(1, free),
        "adds": rng.random() < 0.5,
    }
    return kind, left, right, limits


def mask_of(kind: str, k: Any, m: Any, n: Any, limits: dict[str, Any]) -> Any:
    """Return a mask over k and m, or over k and n, from index expressions or NumPy arrays."""
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
    """Return a kernel that multiplies with a mask into a tile filled with a number."""

    def run(a: Any, b: Any) -> Any:
        k, m = nl.arange(a.shape[0])[:, None], nl.arange(a.shape[1])[None, :]
        n = nl.arange(b.shape[1])[None, :]
        one, other = nl.load(a[k, m]), nl.load(b[k, n])
        tile = nl.full((a.shape[1], b.shape[1]), _FILL, dtype=nl.float32, buffer=nl.psum)
        mask = mask_of(kind, k, m, n, limits)
        if limits["adds"]:
            tile[...] += nisa.nc_matmul(one, other, mask=mask)
        else:
            tile[...] = nisa.nc_matmul(one, other, mask=mask)
        out = nl.ndarray(tile.shape, nl.float32, buffer=nl.shared_hbm)
        nl.store(out, value=nl.copy(tile))
        return out

    return run


def by_numpy(
    kind: str, left_array: Any, right_array: Any, limits: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Return the arrays with NaN in masked-off elements, and the product by NumPy."""
    k, m = np.arange(left_array.shape[0])[:, None], np.arange(left_array.shape[1])[None, :]
    n = np.arange(right_array.shape[1])[None, :]
    mask = mask_of(kind, k, m, n, limits)
    mask = np.asarray(True if mask is None else mask)
    on_one = kind in ("stationary", "triangle")
    active = np.broadcast_to(mask, left_array.shape if on_one else right_array.shape)
    rows = active.any(axis=1, keepdims=True)
    left = np.broadcast_to(active if on_one else rows, left_array.shape)
    right = np.broadcast_to(rows if on_one else active, right_array.shape)
    product = np.where(left, left_array, 0).T @ np.where(right, right_array, 0)
    product_lanes = active.any(axis=0)[:, None] if on_one else active.any(axis=0)[None, :]
    expected = np.where(
        product_lanes, product + (_FILL if limits["adds"] else 0), np.float32(_FILL)
    )
    return np.where(left, left_array, np.nan), np.where(right, right_array, np.nan), expected


def outcome(kind: str, left: Any, right: Any, limits: dict[str, Any]) -> str:
    """Run a case, and return "right" or a description of the failure."""
    a, b, expected = by_numpy(kind, left, right, limits)
    arrays = (a.astype(np.float32), b.astype(np.float32))
    function = kernel(kind, limits)
    try:
        launch = execute(Kernel(function, Tile), (), bound_arguments(function, arrays, {}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if launch.recorder.findings:
        return f"finding: {launch.recorder.findings[0].rule}"
    return "right" if np.array_equal(launch.result, expected) else "wrong"


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return the number of compared masks of each kind, and descriptions of all failures."""
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        kind, left, right, limits = case(rng)
        ended = outcome(kind, left, right, limits)
        kinds[kind] += 1
        if ended != "right":
            wrong.append(f"{ended}: case {number}: {kind} {left.shape} {right.shape} {limits}")
    return kinds, wrong


def main() -> int:
    """Run the fuzzer with the command line's options; return 1 if a product failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    kinds, wrong = fuzz(options.count, options.seed)
    print(*wrong, sep="\n")
    print(f"seed {options.seed}, {options.count:,} products, {len(wrong)} wrong:", dict(kinds))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
