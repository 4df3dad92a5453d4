"""Kernels whose extents depend on sizes in other ways: triangles, pages, batches, chunks."""

# ruff: noqa: PIE808 - kernels are written as their authors write them

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import Evaluation, Launch, Tensor, case, some
from corpus.sizes.products import cdiv

CASES: list[Case] = []


@triton.jit
def triangle(x, y, n, SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = 0
    for column in range(0, row + 1):
        for k in range(column, row + 1):
            total += tl.load(x + row * (row + 1) // 2 + k).to(tl.int32)
    tl.store(y + row, total)


def triangle_model(v: Evaluation) -> None:
    row = v.programs()
    v.access("x", v.i32(row * (row + 1)) // 2 + row)
    v.access("y", row)


def triangle_of(n: int) -> Launch:
    return Launch(
        (n,),
        {"x": Tensor((n * (n + 1) // 2,)), "y": Tensor((n,), torch.int32), "n": n},
        {"SIZE": 1},
    )


CASES.append(
    case(
        "packed-triangle",
        True,
        "row * (row + 1) // 2 + row is the last of a row",
        triangle,
        ("grid_x", 1, 40_000),
        (5, 9),
        triangle_of,
        triangle_model,
    )
)


@triton.jit
def pages(cache, table, y, count, PAGE: tl.constexpr):
    for page in range(0, count):
        number = tl.load(table + tl.program_id(0) * count + page)
        i = tl.arange(0, PAGE)
        value = tl.load(cache + number * PAGE + i)
        tl.store(y + (tl.program_id(0) * count + page) * PAGE + i, value)


def pages_model(v: Evaluation) -> None:
    if not v["count"]:
        return
    v.access("table", v.programs() * v["count"] + v["count"] - 1)
    last_page = v.i32(v.i32(v.programs() * v["count"]) + v["count"] - 1)
    v.access("y", v.i32(v.i32(last_page * 16) + 15))


def pages_of(count: int) -> Launch:
    numbers = [(3 * i) % 11 for i in range(4 * count)] if count < 100 else None
    return Launch(
        (4,),
        {
            "cache": Tensor((11, 16)),
            "table": Tensor((4, count), torch.int32, numbers),
            "y": Tensor((4, count, 16)),
            "count": count,
        },
        {"PAGE": 16},
    )


CASES.append(
    case(
        "pages-of-a-table",
        True,
        "pages are those that were recorded",
        pages,
        ("count", 0, 100_000),
        (5, 9),
        pages_of,
        pages_model,
    )
)


@triton.jit
def differences(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    after = tl.load(x + i + 1, i < n - 1, 0)
    tl.store(y + i, after - tl.load(x + i, i < n - 1, 0), i < n - 1)


def differences_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("x", (i + 1) * (i < v["n"] - 1), i < v["n"] - 1)  # 1 is added to a pointer
    v.access("y", i, i < v["n"] - 1)


def differences_of(n: int) -> Launch:
    return Launch(
        (cdiv(n, 128),), {"x": Tensor((n,)), "y": Tensor((n - 1,)), "n": n}, {"BLOCK": 128}
    )


CASES.append(
    case(
        "differences",
        True,
        "n - 1 results",
        differences,
        ("n", 1, 1_000_000),
        (301, 70),
        differences_of,
        differences_model,
    )
)


@triton.jit
def boundaries(offsets, y, batch, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    end = tl.load(offsets + i + 1, i <= batch, 0)
    tl.store(y + i, end - tl.load(offsets + i, i < batch, 0), i < batch)


def boundaries_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("offsets", i + 1, i <= v["batch"])


def boundaries_of(batch: int) -> Launch:
    return Launch(
        (cdiv(batch, 128),),
        {
            "offsets": Tensor((batch + 1,), torch.int32),
            "y": Tensor((batch,), torch.int32),
            "batch": batch,
        },
        {"BLOCK": 128},
    )


CASES.append(
    case(
        "ends-of-a-batch",
        False,
        "the mask admits i = batch unless 128 divides it",
        boundaries,
        ("batch", 128, 4000),
        (128, 256),
        boundaries_of,
        boundaries_model,
    )
)


@triton.jit
def two_lengths(x, y, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n, 0), i < n)


def two_lengths_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("x", i, i < v["n"])
    v.access("y", i, i < v["n"])


def two_lengths_of(n: int) -> Launch:
    return Launch((2,), {"x": Tensor((n,)), "y": Tensor((200,)), "n": n, "m": 200}, {"BLOCK": 128})


CASES.append(
    case(
        "store-of-a-fixed-tensor",
        False,
        "y has 200 elements whatever n is",
        two_lengths,
        ("n", 1, 256),
        (200, 90),
        two_lengths_of,
        two_lengths_model,
    )
)
CASES.append(
    case(
        "store-of-a-fixed-tensor-below",
        True,
        "n up to 200",
        two_lengths,
        ("n", 0, 200),
        (150, 90),
        two_lengths_of,
        two_lengths_model,
    )
)


@triton.jit
def columns_grid(x, y, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(
        y + column[None, :] * rows + row[:, None],
        tl.load(x + row[:, None] * columns + column[None, :], mask, 0),
        mask,
    )


def columns_grid_model(v: Evaluation) -> None:
    if v["grid_y"] > 65_535:
        v.reasons.add("grid")
    row = v.i32(v.programs("grid_y") * 16 + np.arange(16)).reshape(-1, 1)
    for program in v.few("grid_x"):
        column = program * 16 + np.arange(16)
        inside = (row < v["rows"]) & (column < v["columns"])
        v.access("x", v.i32(row * v["columns"]) + column, inside)
        v.access("y", v.i32(column * v["rows"]) + row, inside)


def transposed_of(rows: int) -> Launch:
    return Launch(
        (cdiv(37, 16), cdiv(rows, 16)),
        {"x": Tensor((rows, 37)), "y": Tensor((37, rows)), "rows": rows, "columns": 37},
        {"BLOCK": 16},
    )


CASES.append(
    case(
        "transpose",
        True,
        "to the last grid_y",
        columns_grid,
        ("rows", 0, 1_048_560),
        (50, 70),
        transposed_of,
        columns_grid_model,
    )
)


@triton.jit
def chunk_state(x, h, T, BT: tl.constexpr, KV: tl.constexpr):
    chunk, batch = tl.program_id(0), tl.program_id(1)
    chunks = tl.cdiv(T, BT)
    i = tl.arange(0, KV)
    total = tl.zeros((KV,), tl.float32)
    for t in range(chunk * BT, min(chunk * BT + BT, T)):
        total += tl.load(x + (batch * T + t).to(tl.int64) * KV + i).to(tl.float32)
    tl.store(h + (batch * chunks + chunk) * KV + i, total)


def chunk_state_model(v: Evaluation) -> None:
    chunks = int(v.i32(v["T"] + 31)) // 32
    for batch in v.few("grid_y"):
        chunk = some(v["grid_x"])
        ends = np.minimum(v.i32(v.i32(chunk * 32) + 32), v["T"])
        v.access("x", v.i32(int(v.i32(batch * v["T"])) + ends - 1) * 1024 + 1023)
        v.access("h", v.i32(v.i32(v.i32(batch * chunks + chunk) * 1024) + 1023))


def chunks_of(t: int) -> Launch:
    return Launch(
        (cdiv(t, 32), 3),
        {"x": Tensor((3, t, 1024)), "h": Tensor((3, cdiv(t, 32), 1024), torch.float32), "T": t},
        {"BT": 32, "KV": 1024},
    )


# 3 * chunks * 1024 <= 2^31: chunks <= 699,050
CASES.append(
    case(
        "chunk-states",
        True,
        "states fit 32 bits, inputs have 64",
        chunk_state,
        ("T", 0, 32 * 699_050),
        (50, 70),
        chunks_of,
        chunk_state_model,
    )
)
CASES.append(
    case(
        "chunk-states-wrap",
        False,
        "(batch * chunks + chunk) * 1024 wraps",
        chunk_state,
        ("T", 0, 32 * 699_051),
        (50, 70),
        chunks_of,
        chunk_state_model,
    )
)


@triton.jit
def early(x, y, n):
    if tl.program_id(0) >= n:
        return
    tl.store(y + tl.program_id(0), tl.load(x + n - 1 - tl.program_id(0)))


def early_model(v: Evaluation) -> None:
    program = v.programs()
    v.access("x", v["n"] - 1 - program, program < v["n"])


def early_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((100,), {"x": t, "y": t, "n": n})


CASES.append(
    case(
        "early-return",
        True,
        "programs beyond n return",
        early,
        ("n", -5, 1_000_000),
        (40, 70),
        early_of,
        early_model,
    )
)


@triton.jit
def compacted(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n, 0)
    keep = (value > 0) & (i < n)
    place = tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(y + place, value, keep)


def compacted_model(v: Evaluation) -> None:
    i = np.arange(128)
    v.access("x", i, i < v["n"])
    v.access("y", np.minimum(i, v["n"] - 1), i < v["n"])  # the most that a count can be


def compacted_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((1,), {"x": t, "y": t, "n": n}, {"BLOCK": 128})


CASES.append(
    case(
        "compacted",
        True,
        "a count of kept elements is at most n",
        compacted,
        ("n", 0, 128),
        (40, 70),
        compacted_of,
        compacted_model,
    )
)


@triton.jit
def shifted_power(x, y, level):
    size = 1 << level
    i = tl.program_id(0)
    tl.store(y + i, tl.load(x + (size + i) // 2 * 2 - size // 2))


def shifted_power_model(v: Evaluation) -> None:
    if not 0 <= v["level"] < 32:
        v.reasons.add("shift")
        return
    size = int(v.i32(1 << v["level"]))
    v.access("x", (size + v.programs()) // 2 * 2 - size // 2)


def level_of(level: int) -> Launch:
    return Launch((10,), {"x": Tensor((600,)), "y": Tensor((10,)), "level": level})


CASES.append(
    case(
        "level-of-a-tree",
        True,
        "2^level // 2 + 9 is inside",
        shifted_power,
        ("level", 1, 10),
        (5,),
        level_of,
        shifted_power_model,
    )
)
CASES.append(
    case(
        "level-of-a-tree-above",
        False,
        "2^11 // 2 is past the end",
        shifted_power,
        ("level", 1, 11),
        (5,),
        level_of,
        shifted_power_model,
    )
)
