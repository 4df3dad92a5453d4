"""Speed of tracing a program: kvtrace.hlo beside jax.jit(f).lower, of the same function.

    python benchmarks/hlo_tracing.py [--layers 100] [--rounds 5] [--json FILE]

Method: one run on one machine, one process. The function is the forward pass of a decoder-only
transformer, written once against a module that is NumPy for kvtrace and jax.numpy for JAX: layers
are a Python loop, as users write them, each with 4 heads of attention, two RMS norms and a gated
feed-forward part. Both trace it again in each round, in turn (JAX's caches are emptied before), and
a figure is the best round in CPU time of the process. Nothing is compiled or run.

kvtrace trace        trace(f).specialize(specs): the graph with all shapes, types, source stacks
kvtrace StableHLO    the same, and its text with locations
JAX lower            jax.jit(f).lower(specs): jaxpr, and MLIR module in memory
JAX StableHLO        the same, and its text with locations
"""

import argparse
import gc
import json
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

from kvtrace.hlo import float32, tensor, trace

WIDTH, HEADS, TOKENS, HIDDEN = 64, 4, 32, 128

SHAPES = {
    "norm1": (WIDTH,),
    "qkv": (WIDTH, 3 * WIDTH),
    "out": (WIDTH, WIDTH),
    "norm2": (WIDTH,),
    "gate": (WIDTH, HIDDEN),
    "up": (WIDTH, HIDDEN),
    "down": (HIDDEN, WIDTH),
}


def rms_norm(xp: Any, x: Any, weight: Any) -> Any:
    return x / xp.sqrt(xp.mean(xp.square(x), axis=-1, keepdims=True) + 1e-5) * weight


def attention(xp: Any, x: Any, layer: dict[str, Any], mask: Any) -> Any:
    tokens, width = x.shape
    qkv = xp.matmul(x, layer["qkv"]).reshape(tokens, 3, HEADS, width // HEADS)
    q, k, v = (xp.transpose(qkv[:, part], (1, 0, 2)) for part in range(3))
    scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) / math.sqrt(width // HEADS)
    scores = xp.where(mask, scores, -1e9)
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    joined = xp.transpose(xp.matmul(weights, v), (1, 0, 2)).reshape(tokens, width)
    return xp.matmul(joined, layer["out"])


def feed_forward(xp: Any, x: Any, layer: dict[str, Any]) -> Any:
    gate = xp.matmul(x, layer["gate"])
    return xp.matmul(gate / (1 + xp.exp(-gate)) * xp.matmul(x, layer["up"]), layer["down"])


def forward(xp: Any) -> Callable[..., Any]:
    """Return the transformer's forward pass, written with `xp`: NumPy or jax.numpy."""

    def transformer(x: Any, layers: list[dict[str, Any]]) -> Any:
        mask = np.tril(np.ones((TOKENS, TOKENS), bool))
        for layer in layers:
            x = x + attention(xp, rms_norm(xp, x, layer["norm1"]), layer, mask)
            x = x + feed_forward(xp, rms_norm(xp, x, layer["norm2"]), layer)
        return x

    return transformer


def candidates(layers: int) -> dict[str, Callable[[], Any]]:
    ours = forward(np)
    specs = tensor[float32, (TOKENS, WIDTH)]
    weights = [{name: tensor[float32, s] for name, s in SHAPES.items()} for _ in range(layers)]
    theirs = forward(jnp)
    jax_x = jax.ShapeDtypeStruct((TOKENS, WIDTH), jnp.float32)
    jax_weights = [
        {name: jax.ShapeDtypeStruct(s, jnp.float32) for name, s in SHAPES.items()}
        for _ in range(layers)
    ]

    def lowered() -> Any:
        return jax.jit(theirs).lower(jax_x, jax_weights)

    return {
        "kvtrace trace": lambda: trace(ours).specialize(specs, weights),
        "kvtrace StableHLO": lambda: trace(ours).specialize(specs, weights).to_stablehlo(),
        "JAX lower": lowered,
        "JAX StableHLO": lambda: lowered().as_text(debug_info=True),
    }


def seconds(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call of `work`."""
    jax.clear_caches()
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def agreement(layers: int) -> float:
    """Return the largest difference between NumPy's and JAX's results on the same data."""
    random = np.random.default_rng(0)

    def drawn(shape: tuple[int, ...]) -> Any:
        return (random.normal(size=shape) / math.sqrt(shape[0])).astype(np.float32)

    x = drawn((TOKENS, WIDTH))
    weights = [{name: drawn(shape) for name, shape in SHAPES.items()} for _ in range(layers)]
    ours = trace(forward(np))(x, weights)
    theirs = np.asarray(jax.jit(forward(jnp))(x, weights))
    return float(np.max(np.abs(ours - theirs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    work = candidates(options.layers)
    best = dict.fromkeys(work, math.inf)
    for _ in range(options.rounds):
        for name, call in work.items():
            best[name] = min(best[name], seconds(call))
    ops = len(work["kvtrace trace"]().ops)
    difference = agreement(2)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()},")
    print(f"NumPy {np.__version__}, JAX {jax.__version__}; {options.layers} layers, {ops:,} ops")
    print(f"largest difference of the results of 2 layers: {difference:.1e}\n")
    for name, figure in best.items():
        print(f"{name:18}  {figure * 1e3:8.0f} ms  {figure / ops * 1e6:6.1f} µs/op")
    ratio = best["JAX lower"] / best["kvtrace trace"]
    text_ratio = best["JAX StableHLO"] / best["kvtrace StableHLO"]
    print(f"\nJAX takes {ratio:.1f} times as long to trace, {text_ratio:.1f} times with the text")
    if options.json is not None:
        facts = {"layers": options.layers, "ops": ops, "seconds": best, "difference": difference}
        options.json.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
