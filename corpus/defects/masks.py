"""Masks: one too many, missing, of the wrong axis, of the wrong tensor; and right ones."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("masks")


@triton.jit
def off_by_one(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes <= n, other=0.0)  # [load]
    tl.store(out + lanes, values, mask=lanes < n)


VECTORS = {"x": tensor(1000), "out": tensor(1000), "n": 1000}
BLOCKS = {"BLOCK": 256}

CASES.bad("mask with <= for <", off_by_one, VECTORS, BLOCKS, (4,), out_of_bounds="load")
CASES.good(
    "mask with <= for <, at a multiple of the block no lane is there to take it",
    off_by_one, {"x": tensor(1024), "out": tensor(1024), "n": 1024}, BLOCKS, (4,),
)  # fmt: skip


@triton.jit
def tail_without_mask(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)  # [load]
    tl.store(out + lanes, values * 2, mask=lanes < n)


@triton.jit
def store_without_mask(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(out + lanes, values)  # [store]


CASES.bad("no mask on the tail", tail_without_mask, VECTORS, BLOCKS, (4,), out_of_bounds="load")
CASES.good(
    "no mask, but no tail either",
    tail_without_mask, {"x": tensor(1024), "out": tensor(1000), "n": 1000}, BLOCKS, (4,),
)  # fmt: skip
CASES.bad(
    "store without the load's mask",
    store_without_mask, VECTORS, BLOCKS, (4,), out_of_bounds="store",
)  # fmt: skip
CASES.bad(
    "mask of the longer of two vectors",
    off_by_one, {"x": tensor(900), "out": tensor(1000), "n": 1000}, BLOCKS, (4,),
    out_of_bounds="load",
)  # fmt: skip


@triton.jit
def tile(x, out, rows, columns, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    both = (r[:, None] < rows) & (c[None, :] < columns)
    if KIND == "rows":
        mask = (r[:, None] < rows) & (c[None, :] >= 0)
    elif KIND == "columns":
        mask = (r[:, None] >= 0) & (c[None, :] < columns)
    elif KIND == "or":
        mask = (r[:, None] < rows) | (c[None, :] < columns)
    elif KIND == "swapped":
        mask = (r[:, None] < columns) & (c[None, :] < rows)
    elif KIND == "inverted":
        mask = not both
    else:
        mask = both
    values = tl.load(x + r[:, None] * columns + c[None, :], mask=mask, other=0.0)  # [load]
    tl.store(out + r[:, None] * columns + c[None, :], values, mask=both)


MATRIX = {"x": tensor(20, 50), "out": tensor(20, 50), "rows": 20, "columns": 50}
TILES = {"BM": 16, "BN": 16}

for kind, text in (
    ("rows", "mask of a tile for its rows alone"),
    ("columns", "mask of a tile for its columns alone"),
    ("or", "mask of a tile with or for and"),
    ("swapped", "mask of a tile with rows and columns swapped"),
    ("inverted", "mask of a tile inverted"),
):
    CASES.bad(text, tile, MATRIX, {"KIND": kind, **TILES}, (2, 4), out_of_bounds="load")
CASES.good("mask of a tile for both axes", tile, MATRIX, {"KIND": "", **TILES}, (2, 4))
CASES.good(
    "mask of a tile swapped, but the matrix is square",
    tile, {"x": tensor(30, 30), "out": tensor(30, 30), "rows": 30, "columns": 30},
    {"KIND": "swapped", **TILES}, (2, 2),
)  # fmt: skip


@triton.jit
def clamped(x, out, n, last, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + tl.minimum(lanes, last))  # [load]
    tl.store(out + lanes, values, mask=lanes < n)


CASES.good("index clamped to the last element", clamped, VECTORS | {"last": 999}, BLOCKS, (4,))
CASES.bad(
    "index clamped to one past the last element",
    clamped, VECTORS | {"last": 1000}, BLOCKS, (4,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def neighbors(x, out, n, SIDE: tl.constexpr, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    place = lanes + SIDE
    if GUARD == "lower":
        mask = inside & (place >= 0)
    elif GUARD == "upper":
        mask = inside & (place < n)
    elif GUARD == "unsigned":
        mask = place.to(tl.uint32) < n.to(tl.uint32)
    elif GUARD == "select":
        place = tl.where((place >= 0) & (place < n), place, 0)
        mask = inside
    else:
        mask = inside
    values = tl.load(x + place, mask=mask, other=0.0)  # [load]
    tl.store(out + lanes, values, mask=inside)


CASES.bad(
    "left neighbor of the first element",
    neighbors, VECTORS, {"SIDE": -1, "GUARD": "", **BLOCKS}, (4,), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "left neighbor with the guard of the right one",
    neighbors, VECTORS, {"SIDE": -1, "GUARD": "upper", **BLOCKS}, (4,), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "right neighbor of the last element",
    neighbors, VECTORS, {"SIDE": 1, "GUARD": "", **BLOCKS}, (4,), out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "left neighbor, guarded", neighbors, VECTORS, {"SIDE": -1, "GUARD": "lower", **BLOCKS}, (4,)
)
CASES.good(
    "right neighbor, guarded", neighbors, VECTORS, {"SIDE": 1, "GUARD": "upper", **BLOCKS}, (4,)
)
CASES.good(
    "left neighbor, guarded by one unsigned comparison: -1 is large",
    neighbors, VECTORS, {"SIDE": -1, "GUARD": "unsigned", **BLOCKS}, (4,),
)  # fmt: skip
CASES.good(
    "neighbor by select: an index outside becomes 0",
    neighbors, VECTORS, {"SIDE": -3, "GUARD": "select", **BLOCKS}, (4,),
)  # fmt: skip


@triton.jit
def triangle(x, out, n, BLOCK: tl.constexpr, STRICT: tl.constexpr):
    """Row r of a packed lower triangle begins at r (r + 1) / 2."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns <= row
    if not STRICT:
        mask = columns <= row + 1
    values = tl.load(x + row * (row + 1) // 2 + columns, mask=mask, other=0.0)  # [load]
    tl.store(out + row * n + columns, values, mask=columns < n)


PACKED = {"x": tensor(50 * 51 // 2), "out": tensor(50, 50), "n": 50}
CASES.good("packed triangle", triangle, PACKED, {"BLOCK": 64, "STRICT": True}, (50,))
CASES.bad(
    "packed triangle, one column too wide",
    triangle, PACKED, {"BLOCK": 64, "STRICT": False}, (50,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def never(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=(lanes < n) & (lanes >= n), other=0.0)  # [load]
    tl.store(out + lanes, values, mask=lanes < n)


CASES.bad("mask that no lane fulfills", never, VECTORS, BLOCKS, (4,), mask_always_false="load")


@triton.jit
def second_half(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    values = tl.load(x + lanes, mask=inside & (lanes >= n // 2), other=0.0)  # [load]
    tl.store(out + lanes, values, mask=inside)


CASES.good("mask that is false in the first programs alone", second_half, VECTORS, BLOCKS, (4,))
