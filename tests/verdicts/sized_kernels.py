"""Random kernels of two or three sizes, each with its wrapper: what it launches at which sizes.

About half have a defect at some sizes: masks and loops one off, tails that are lost or left,
strides that overflow 32 bits, grids one off, tables one short. A wrapper is plain arithmetic, so
that it can be called at any size; tensors are described, never allocated.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.recorded_calls.recorded import Call
from tests.support.imported_file import imported_file
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor

Sizes = Mapping[str, int]
Launch = tuple[tuple[int, ...], dict[str, Any]]


@dataclass(frozen=True)
class Drawn:
    """A kernel's source, its constants, its wrapper, and the sizes that are recorded."""

    name: str
    source: str
    constants: Mapping[str, int]
    launch: Callable[[Sizes], Launch]
    sizes: Sizes

    def first(self, module: Any) -> Call:
        """The launch that is recorded."""
        grid, arguments = self.launch(self.sizes)
        return call(getattr(module, self.name), grid, **arguments, **self.constants)

    def at(self, first: Call, sizes: Sizes) -> Call:
        """The launch at other sizes, of the same variant."""
        grid, arguments = self.launch(sizes)
        bound = [self._bound(each.name, arguments[each.name]) for each in first.arguments]
        recorded = tuple(
            a.name for a in bound if isinstance(a, TensorArgument) and a.storage.data is not None
        )
        x, y, z = (*grid, 1, 1)[:3]
        return replace(first, grid=(x, y, z), arguments=tuple(bound), recorded=recorded)

    @staticmethod
    def _bound(name: str, value: Any) -> Any:
        is_tensor = isinstance(value, TensorArgument)
        return replace(value, name=name) if is_tensor else ScalarArgument(name, value)


def drawn_kernels(count: int, seed: int = 0) -> list[Drawn]:
    """Draw so many kernels."""
    numbers = random.Random(seed)
    return [_THEMES[each % len(_THEMES)](f"kernel_{each}", numbers) for each in range(count)]


def module_of(kernels: list[Drawn], folder: Path) -> Any:
    """Write the kernels to a file, and import it."""
    path = folder / "drawn_kernels.py"
    head = "import triton\nimport triton.language as tl\n"
    path.write_text(head + "".join(f"\n\n@triton.jit\n{each.source}" for each in kernels))
    return imported_file(path)


def tiles(size: int, block: int) -> int:
    return -(-size // block)


def mostly(numbers: random.Random, right: Any, *wrong: Any) -> Any:
    """What is right, half of the time."""
    return right if numbers.random() < 0.55 else numbers.choice(wrong)


def ids(values: Any) -> TensorArgument:
    data = np.asarray(values, np.int32)
    return tensor(len(data), dtype="i32", data=data)


def flat(name: str, numbers: random.Random) -> Drawn:
    """One size: masks one off, shifted loads, grids one off, an offset that overflows."""
    block = numbers.choice((8, 16, 32))
    mask = mostly(numbers, "i < n", "i <= n", "i < n - 1", "i < n + 1", "i >= 0")
    shift = mostly(numbers, 0, 1, -1)
    room, step = mostly(numbers, 0, 1), mostly(numbers, 1, 3, 1_000_003)
    more = mostly(numbers, 0, 1)
    source = (
        f"def {name}(x, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        f"    value = tl.load(x + i * {step} + {shift}, mask={mask}, other=0.0)\n"
        "    tl.store(out + i, value, mask=i < n)\n"
    )

    def launch(s: Sizes) -> Launch:
        n = s["n"]
        return (tiles(n, block) + more,), {
            "x": tensor((n - 1) * step + 1 + room), "out": tensor(n), "n": n,
        }  # fmt: skip

    return Drawn(name, source, {"BLOCK": block}, launch, {"n": numbers.randint(2, 60)})


def rows(name: str, numbers: random.Random) -> Drawn:
    """Rows and columns: a row a program, one block or a loop, strides that may overflow."""
    block, wide = numbers.choice((8, 16)), numbers.random() < 0.3
    pad = numbers.choice((0, 0, 3, 50_000_000))
    looped = numbers.random() < 0.6
    mask = mostly(numbers, "c < columns", "c <= columns", "c < columns + 1", "c >= 0")
    row = "tl.program_id(0).to(tl.int64)" if wide else "tl.program_id(0)"
    more = mostly(numbers, 0, 1)
    end = mostly(numbers, "columns", "columns + 1", "columns - 1")
    body = (
        f"    for start in range(0, {end}, BLOCK):\n"
        "        c = start + tl.arange(0, BLOCK)\n"
        f"        value = tl.load(x + row * stride + c, mask={mask}, other=0.0)\n"
        "        tl.store(out + row * columns + c, value, mask=c < columns)\n"
        if looped
        else "    c = tl.arange(0, BLOCK)\n"
        f"    value = tl.load(x + row * stride + c, mask={mask}, other=0.0)\n"
        "    tl.store(out + row * columns + c, value, mask=c < columns)\n"
    )
    source = f"def {name}(x, out, columns, stride, BLOCK: tl.constexpr):\n    row = {row}\n{body}"

    def launch(s: Sizes) -> Launch:
        m, n = s["rows"], s["columns"]
        return (m + more,), {
            "x": tensor(m, n, strides=(n + pad, 1)), "out": tensor(m, n), "columns": n,
            "stride": n + pad,
        }  # fmt: skip

    sizes = {"rows": numbers.randint(2, 9), "columns": numbers.randint(2, 16)}
    return Drawn(name, source, {"BLOCK": block}, launch, sizes)


def tiled(name: str, numbers: random.Random) -> Drawn:
    """Tiles of a matrix, by two axes of the grid; maybe transposed on the way."""
    bm, bn = numbers.choice((4, 8)), numbers.choice((8, 16))
    rows_mask = mostly(numbers, "r < m", "r <= m", "r >= 0")
    columns_mask = mostly(numbers, "c < n", "c <= n", "c >= 0")
    transposed = numbers.random() < 0.4
    lost = mostly(numbers, 0, 1)
    at = "c[None, :] * m + r[:, None]" if transposed else "r[:, None] * n + c[None, :]"
    source = (
        f"def {name}(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):\n"
        "    r = tl.program_id(0) * BM + tl.arange(0, BM)\n"
        "    c = tl.program_id(1) * BN + tl.arange(0, BN)\n"
        f"    mask = ({rows_mask})[:, None] & ({columns_mask})[None, :]\n"
        "    value = tl.load(x + r[:, None] * n + c[None, :], mask=mask, other=0.0)\n"
        f"    tl.store(out + {at}, value, mask=(r < m)[:, None] & (c < n)[None, :])\n"
    )

    def launch(s: Sizes) -> Launch:
        m, n = s["m"], s["n"]
        grid = (max(tiles(m, bm) - lost, 1), tiles(n, bn))
        return grid, {
            "x": tensor(m, n), "out": tensor(n, m) if transposed else tensor(m, n), "m": m, "n": n,
        }  # fmt: skip

    sizes = {"m": numbers.randint(2, 20), "n": numbers.randint(21, 40)}
    return Drawn(name, source, {"BM": bm, "BN": bn}, launch, sizes)


def parts_of(tokens: int, batch: int) -> Any:
    """Return `tokens * i // batch` for each i up to the batch, which may be half a billion."""
    if batch <= tokens:
        return [tokens * i // batch for i in range(batch + 1)]
    begins = -(-np.arange(tokens + 1) * batch // tokens)
    return np.repeat(np.arange(tokens + 1, dtype=np.int32), np.diff(begins, append=batch + 1))


def ragged(name: str, numbers: random.Random) -> Drawn:
    """Sequences one after the other, `batch + 1` offsets of them, and a constexpr width."""
    width = numbers.choice((4, 8))
    after = mostly(numbers, 1, 2)
    end = mostly(numbers, "last", "last + 1")
    more = mostly(numbers, 0, 1)
    source = (
        f"def {name}(x, offsets, out, WIDTH: tl.constexpr):\n"
        "    b = tl.program_id(0)\n"
        "    first = tl.load(offsets + b)\n"
        f"    last = tl.load(offsets + b + {after})\n"
        "    lanes = tl.arange(0, WIDTH)\n"
        "    total = tl.zeros((WIDTH,), dtype=tl.float32)\n"
        f"    for t in range(first, {end}):\n"
        "        total += tl.load(x + t * WIDTH + lanes)\n"
        "    tl.store(out + b * WIDTH + lanes, total)\n"
    )

    def launch(s: Sizes) -> Launch:
        batch, tokens = s["batch"], s["tokens"]
        return (batch + more,), {
            "x": tensor(tokens, width), "out": tensor(batch, width),
            "offsets": ids(parts_of(tokens, batch)),
        }  # fmt: skip

    sizes = {"batch": numbers.randint(2, 6), "tokens": numbers.randint(20, 40)}
    return Drawn(name, source, {"WIDTH": width}, launch, sizes)


def headed(name: str, numbers: random.Random) -> Drawn:
    """Tokens, heads and a width: heads and width are constants, or heads an argument."""
    width, fixed = numbers.choice((4, 8)), numbers.random() < 0.5
    count = numbers.choice((2, 3, 4))
    large = numbers.choice((1, 1, 20_000_000))
    of = "HEADS" if fixed else "heads"
    grid_of_two = numbers.random() < 0.5
    guard = mostly(numbers, "t < tokens", "t <= tokens", "t >= 0")
    place = (
        "    t = tl.program_id(0)\n    h = tl.program_id(1)\n"
        if grid_of_two
        else f"    t = tl.program_id(0) // {of}\n    h = tl.program_id(0) % {of}\n"
    )
    parameters = "HEADS: tl.constexpr" if fixed else "heads"
    source = (
        f"def {name}(x, out, tokens, {parameters}, WIDTH: tl.constexpr):\n{place}"
        "    lanes = tl.arange(0, WIDTH)\n"
        f"    if {guard}:\n"
        f"        value = tl.load(x + (t * {of} + h) * {width * large} + lanes)\n"
        f"        tl.store(out + (t * {of} + h) * WIDTH + lanes, value)\n"
    )

    def launch(s: Sizes) -> Launch:
        tokens, heads = s["tokens"], s.get("heads", count)
        step = width * large
        grid = (tokens, heads) if grid_of_two else (tokens * heads,)
        arguments = {
            "x": tensor(tokens, heads, width, strides=(heads * step, step, 1)),
            "out": tensor(tokens, heads, width), "tokens": tokens,
        }  # fmt: skip
        return grid, arguments if fixed else {**arguments, "heads": heads}

    sizes = {"tokens": numbers.randint(5, 12)} | ({} if fixed else {"heads": count})
    constants = {"WIDTH": width} | ({"HEADS": count} if fixed else {})
    return Drawn(name, source, constants, launch, sizes)


def looped(name: str, numbers: random.Random) -> Drawn:
    """One program that goes through all of it, and a second size for what it writes."""
    block = numbers.choice((8, 16))
    trips = mostly(numbers, "tl.cdiv(n, BLOCK)", "n // BLOCK + 1", "n // BLOCK")
    mask = mostly(numbers, ", mask=i < n, other=0.0", "", ", mask=i <= n, other=0.0")
    last = mostly(numbers, "k < groups", "k <= groups")
    source = (
        f"def {name}(x, out, n, groups, BLOCK: tl.constexpr, MOST: tl.constexpr):\n"
        "    total = tl.zeros((BLOCK,), dtype=tl.float32)\n"
        f"    for trip in range({trips}):\n"
        "        i = trip * BLOCK + tl.arange(0, BLOCK)\n"
        f"        total += tl.load(x + i{mask})\n"
        "    k = tl.program_id(0) * MOST + tl.arange(0, MOST)\n"
        f"    tl.store(out + k, tl.sum(total, axis=0) + k, mask={last})\n"
    )

    def launch(s: Sizes) -> Launch:
        n, groups = s["n"], s["groups"]
        return (tiles(groups, 8),), {
            "x": tensor(n), "out": tensor(groups), "n": n, "groups": groups,
        }  # fmt: skip

    sizes = {"n": numbers.randint(9, 60), "groups": numbers.randint(2, 20)}
    return Drawn(name, source, {"BLOCK": block, "MOST": 8}, launch, sizes)


def turned(name: str, numbers: random.Random) -> Drawn:
    """Backwards, clamped or split by a divisor; the number of elements is a product of sizes."""
    block = numbers.choice((8, 16))
    how = numbers.choice(("n - 1 - i", "tl.minimum(i, n - 1)", "n - i", "i // columns * columns"))
    mask = mostly(numbers, "i < n", "i <= n")
    source = (
        f"def {name}(x, out, n, columns, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        f"    value = tl.load(x + {how}, mask={mask}, other=0.0)\n"
        "    tl.store(out + i // columns * columns + i % columns, value, mask=i < n)\n"
    )

    def launch(s: Sizes) -> Launch:
        rows, columns = s["rows"], s["columns"]
        n = rows * columns
        return (tiles(n, block),), {
            "x": tensor(rows, columns), "out": tensor(rows, columns), "n": n, "columns": columns,
        }  # fmt: skip

    sizes = {"rows": numbers.randint(2, 9), "columns": numbers.randint(3, 12)}
    return Drawn(name, source, {"BLOCK": block}, launch, sizes)


_THEMES = (flat, rows, tiled, ragged, headed, looped, turned)
