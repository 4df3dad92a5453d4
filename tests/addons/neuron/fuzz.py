"""Random kernels of both interfaces, each compared bit by bit with NumPy.

To run more kernels than in the tests: `python -m tests.addons.neuron.fuzz --count 20000 --seed 7`.
The command prints each kernel that differs from NumPy, has a finding, or raises.

Values are small integers, which float32 and sums in any order represent exactly; steps with larger
results are dropped.
"""

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.launching import Kernel, bound_arguments, execute

_LARGEST = 2**16
_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "int32": np.int32}
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "less", "greater_equal", "equal")
_UNARY = {"abs": np.abs, "square": np.square, "relu": lambda x: np.maximum(x, 0), "sign": np.sign}
_REDUCTIONS = {"add": np.sum, "maximum": np.max, "minimum": np.min}
KINDS = ("tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation", "tensor_reduce",
         "nc_transpose", "nc_matmul", "tensor_copy", "patch")  # fmt: skip


@dataclass
class Step:
    """One instruction: its sources, its settings, and the result by NumPy."""

    kind: str
    sources: tuple[int, ...]
    facts: tuple[Any, ...]
    dtype: str
    values: Any


def rounded(values: Any, dtype: str) -> Any:
    """Return values converted to an element type."""
    if dtype == "int32":
        return np.rint(values).astype(np.int32)
    return np.asarray(values, np.float32).astype(_DTYPES[dtype])


def _two(name: str, one: Any, other: Any) -> Any:
    return np.asarray(getattr(np, name)(one, other)).astype(np.float64)


def program(rng: random.Random) -> tuple[list[Any], list[Step]]:
    """Return random arrays, and steps, each of which makes a tile from earlier tiles."""
    partitions, free = rng.choice((1, 2, 5, 32, 128)), rng.choice((1, 2, 3, 8, 40))
    numbers = np.random.default_rng(rng.randrange(2**32))
    arrays = [
        rounded(numbers.integers(-8, 9, (partitions, free)), rng.choice(tuple(_DTYPES)))
        for _ in range(2)
    ]
    tiles, steps = list(arrays), list[Step]()
    while len(steps) < 6:
        result = _step(rng, tiles)
        if result is not None and np.abs(result.values.astype(np.float64)).max() < _LARGEST:
            steps.append(result)
            tiles.append(result.values)
    return arrays, steps


def _step(rng: random.Random, tiles: list[Any]) -> Step | None:
    """Return a random step, or None if it does not fit the chosen tiles."""
    kind = rng.choice(KINDS)
    first, second = rng.randrange(len(tiles)), rng.randrange(len(tiles))
    one, other = (tiles[index].astype(np.float64) for index in (first, second))
    facts: tuple[Any, ...] = ()
    sources: tuple[int, ...] = (first,)
    dtype = rng.choice(tuple(_DTYPES))
    if kind == "tensor_tensor":
        if one.shape != other.shape:
            return None
        facts, sources = (rng.choice(_BINARY),), (first, second)
        values = _two(facts[0], one, other)
    elif kind in ("tensor_scalar", "scalar_tensor_tensor"):
        facts = (rng.choice(_BINARY), rng.randint(-3, 3), rng.random() < 0.5, rng.choice(_BINARY))
        swapped = (facts[1], one) if facts[2] else (one, facts[1])
        values = _two(facts[0], *swapped)
        if kind == "tensor_scalar":
            column = rng.random() < 0.5 and other.shape[0] == one.shape[0]
            column = column and _name(tiles[second]) == "float32"
            facts = (*facts, second if column else rng.randint(-3, 3))
            values = _two(facts[3], values, other[:, 0:1] if column else facts[4])
            facts = (*facts, column)
        elif one.shape != other.shape:
            return None
        else:
            sources = (first, second)
            values = _two(facts[3], values, other)
    elif kind == "activation":
        facts = (rng.choice(tuple(_UNARY)), rng.choice((1.0, 2.0, -1.0)))
        values = _UNARY[facts[0]](one * facts[1])
    elif kind == "tensor_reduce":
        facts = (rng.choice(tuple(_REDUCTIONS)), rng.random() < 0.3)
        values = _REDUCTIONS[facts[0]](one, axis=1, keepdims=True) * (-1 if facts[1] else 1)
    elif kind == "nc_transpose":
        dtype = _name(tiles[first])
        if dtype == "int32":
            return None
        values = one.T
    elif kind == "nc_matmul":
        kinds = {_name(tiles[first]), _name(tiles[second])}
        if one.shape[0] != other.shape[0] or "int32" in kinds or len(kinds) > 1:
            return None
        sources, dtype = (first, second), "float32"
        values = one.T @ other
    elif kind == "tensor_copy":
        start = rng.randrange(one.shape[1])
        facts = (start, rng.randint(start + 1, one.shape[1]))
        values = one[:, facts[0] : facts[1]]
    else:
        if one.shape != other.shape:
            return None
        sources, facts = (first, second), (rng.randint(1, one.shape[1]),)
        values = one.copy()
        values[:, : facts[0]] = other[:, : facts[0]]
    return Step(kind, sources, facts, dtype, rounded(values, dtype))


def _name(tile: Any) -> str:
    return str(np.dtype(tile.dtype).name)


def older_kernel(steps: list[Step]) -> Any:
    """Return the program as a kernel of the older interface, whose instructions return tiles."""

    def kernel(*arrays: Any) -> Any:
        tiles = [nl.load(array) for array in arrays]
        results = []
        for step in steps:
            one, other = tiles[step.sources[0]], tiles[step.sources[-1]]
            tiles.append(_older(step, one, other, tiles))
            out = nl.ndarray(step.values.shape, dtype=getattr(nl, step.dtype), buffer=nl.shared_hbm)
            nl.store(out, value=tiles[-1])
            results.append(out)
        return tuple(results)

    return kernel


def _older(step: Step, one: Any, other: Any, tiles: list[Any]) -> Any:
    dtype, facts = getattr(nl, step.dtype), step.facts
    match step.kind:
        case "tensor_tensor":
            return nisa.tensor_tensor(one, other, getattr(nl, facts[0]), dtype=dtype)
        case "tensor_scalar":
            return nisa.tensor_scalar(one, **_scalars(facts, nl, tiles), dtype=dtype)
        case "scalar_tensor_tensor":
            return nisa.scalar_tensor_tensor(
                data=one, op0=getattr(nl, facts[0]), operand0=facts[1], reverse0=facts[2],
                op1=getattr(nl, facts[3]), operand1=other, dtype=dtype,
            )  # fmt: skip
        case "activation":
            return nisa.activation(getattr(nl, facts[0]), one, scale=facts[1], dtype=dtype)
        case "tensor_reduce":
            return nisa.tensor_reduce(
                getattr(nl, facts[0]), one, axis=1, dtype=dtype, negate=facts[1], keepdims=True
            )
        case "nc_transpose":
            return nisa.nc_transpose(one)
        case "nc_matmul":
            return nisa.tensor_copy(nisa.nc_matmul(one, other))  # out of PSUM, for the next step
        case "tensor_copy":
            return nisa.tensor_copy(one[:, facts[0] : facts[1]], dtype=dtype)
    result = nl.ndarray(step.values.shape, dtype=dtype, buffer=nl.sbuf)
    result[...] = nl.copy(one, dtype=dtype)
    result[:, 0 : facts[0]] = other[:, 0 : facts[0]]
    return result


def _scalars(facts: tuple[Any, ...], language: Any, tiles: list[Any]) -> dict[str, Any]:
    operand1 = tiles[facts[4]][:, 0:1] if facts[5] else facts[4]
    return {
        "op0": getattr(language, facts[0]),
        "operand0": facts[1],
        "reverse0": facts[2],
        "op1": getattr(language, facts[3]),
        "operand1": operand1,
    }


def newer_kernel(steps: list[Step]) -> Any:
    """Return the program as a kernel of the newer interface, whose instructions write to tiles."""

    def kernel(*arrays: Any) -> Any:
        tiles = []
        for array in arrays:
            tiles.append(nl2.ndarray(array.shape, dtype=array.dtype, buffer=nl2.sbuf))
            nisa2.dma_copy(dst=tiles[-1], src=array)
        results = []
        for step in steps:
            one, other = tiles[step.sources[0]], tiles[step.sources[-1]]
            dtype = getattr(nl2, step.dtype)
            product = step.kind in ("nc_matmul", "nc_transpose")
            dst = nl2.ndarray(
                step.values.shape, dtype=dtype, buffer=nl2.psum if product else nl2.sbuf
            )
            _newer(step, dst, one, other, tiles)
            if product:
                tile = nl2.ndarray(step.values.shape, dtype=dtype, buffer=nl2.sbuf)
                nisa2.tensor_copy(dst=tile, src=dst)
                dst = tile
            tiles.append(dst)
            results.append(nl2.ndarray(step.values.shape, dtype=dtype, buffer=nl2.shared_hbm))
            nisa2.dma_copy(dst=results[-1], src=dst)
        return tuple(results)

    return kernel


def _newer(step: Step, dst: Any, one: Any, other: Any, tiles: list[Any]) -> None:
    facts = step.facts
    match step.kind:
        case "tensor_tensor":
            nisa2.tensor_tensor(dst, one, other, getattr(nl2, facts[0]))
        case "tensor_scalar":
            nisa2.tensor_scalar(dst=dst, data=one, **_scalars(facts, nl2, tiles))
        case "scalar_tensor_tensor":
            nisa2.scalar_tensor_tensor(
                dst=dst, data=one, op0=getattr(nl2, facts[0]), operand0=facts[1],
                reverse0=facts[2], op1=getattr(nl2, facts[3]), operand1=other,
            )  # fmt: skip
        case "activation":
            nisa2.activation(dst=dst, op=getattr(nl2, facts[0]), data=one, scale=facts[1])
        case "tensor_reduce":
            nisa2.tensor_reduce(
                dst=dst, op=getattr(nl2, facts[0]), data=one, axis=1, negate=facts[1], keepdims=True
            )
        case "nc_transpose":
            nisa2.nc_transpose(dst=dst, data=one)
        case "nc_matmul":
            nisa2.nc_matmul(dst=dst, stationary=one, moving=other)
        case "tensor_copy":
            nisa2.tensor_copy(dst=dst, src=one[:, facts[0] : facts[1]])
        case _:
            nisa2.tensor_copy(dst=dst, src=one)
            nisa2.tensor_copy(dst=dst[:, 0 : facts[0]], src=other[:, 0 : facts[0]])


#: Interface → class of its tensors, and function that makes a kernel of a program.
INTERFACES: dict[str, tuple[Any, Any]] = {
    "older": ("older", older_kernel),
    "newer": ("newer", newer_kernel),
}


def outcome(interface: str, arrays: list[Any], steps: list[Step]) -> str:
    """Run a program, and return "right" or a description of the failure."""
    kind, write = INTERFACES[interface]
    function = write(steps)
    try:
        launch = execute(Kernel(function, kind), (), bound_arguments(function, tuple(arrays), {}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if launch.recorder.findings:
        return f"finding: {launch.recorder.findings[0].rule}"
    for index, (step, result) in enumerate(zip(steps, launch.result, strict=True)):
        if result.dtype != step.values.dtype or not np.array_equal(
            result.astype(np.float64), step.values.astype(np.float64)
        ):
            return f"step {index} is wrong"
    return "right"


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return the number of compared steps of each kind, and descriptions of all failures."""
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        arrays, steps = program(rng)
        interface = tuple(INTERFACES)[number % 2]
        ended = outcome(interface, arrays, steps)
        kinds.update(step.kind for step in steps)
        if ended != "right":
            described = [(s.kind, s.sources, s.facts, s.dtype, s.values.shape) for s in steps]
            wrong.append(f"{ended}: kernel {number}, {interface}: {described}")
    return kinds, wrong


def main() -> int:
    """Run the fuzzer with the command line's options; return 1 if a kernel failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    kinds, wrong = fuzz(options.count, options.seed)
    print(*wrong, sep="\n")
    print(f"seed {options.seed}, {options.count:,} kernels, {len(wrong)} wrong:", dict(kinds))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
