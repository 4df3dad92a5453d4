"""Tensor descriptors on hardware that copies by tensor maps: whole chunks, and what maps demand."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("descriptors")


@triton.jit
def tiles_filled(out, rows, columns, pitch, at, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [rows, columns], [pitch, 1], [BM, BN])
    tile = tl.full((BM, BN), 3, out.dtype.element_ty)
    target.store([tl.program_id(0) * BM, tl.program_id(1) * BN + at], tile)  # [store]


def table(columns, dtype="fp32", pitch=64, rows=8, at=0, **where):
    return {
        "out": tensor(8, 64, dtype=dtype, **where), "rows": rows, "columns": columns,
        "pitch": pitch, "at": at,
    }  # fmt: skip


TILES = {"BM": 4, "BN": 32}
for dtype, whole, past in (("fp32", 12, 5), ("fp16", 24, 9), ("i8", 48, 17), ("i64", 6, 7)):
    CASES.good(
        f"descriptor of {dtype} whose columns are whole chunks",
        tiles_filled, table(whole, dtype), TILES, (2, 2),
    )  # fmt: skip
    CASES.bad(
        f"descriptor of {dtype} with columns past the last whole chunk",
        tiles_filled, table(past, dtype), TILES, (2, 2), descriptor_contract="store",
    )  # fmt: skip
CASES.good("descriptor whose last columns no tile reaches", tiles_filled, table(35), TILES, (2, 1))
CASES.bad(
    "descriptor whose last columns are reached by the second tile",
    tiles_filled, table(35), TILES, (2, 2), descriptor_contract="store",
)  # fmt: skip
CASES.bad(
    "descriptor over a view of five columns",
    tiles_filled,
    {"out": tensor(8, 5, strides=(64, 1), room=512), "rows": 8, "columns": 5, "pitch": 64, "at": 0},
    TILES, (2, 1), descriptor_contract="store", out_of_view="store",
)  # fmt: skip
CASES.bad(
    "descriptor whose last row ends with the storage",
    tiles_filled,
    {"out": tensor(8, 62, strides=(64, 1)), "rows": 8, "columns": 62, "pitch": 64, "at": 0},
    TILES, (2, 2), descriptor_contract="store", out_of_bounds="store",
)  # fmt: skip
CASES.good(
    "descriptor told of the padding that its rows have",
    tiles_filled,
    {"out": tensor(8, 62, strides=(64, 1), room=512), "rows": 7, "columns": 64, "pitch": 64,
     "at": 0},
    TILES, (2, 2),
)  # fmt: skip
CASES.good("descriptor from an aligned base", tiles_filled, table(12, offset=8), TILES, (2, 1))
CASES.bad(
    "descriptor from a base between multiples of 16 bytes",
    tiles_filled, table(12, offset=2), TILES, (2, 1), descriptor_contract="store",
)  # fmt: skip
CASES.bad(
    "descriptor with rows of 60 16-bit floats, 120 bytes",
    tiles_filled, table(24, "fp16", pitch=60), TILES, (2, 1), descriptor_contract="store",
)  # fmt: skip
CASES.good(
    "descriptor with rows of 56 16-bit floats, 112 bytes",
    tiles_filled, table(24, "fp16", pitch=56), TILES, (2, 1),
)  # fmt: skip
CASES.bad(
    "descriptor's tiles moved by two columns",
    tiles_filled, table(48, at=2), TILES, (2, 1), descriptor_contract="store",
)  # fmt: skip
CASES.good("descriptor's tiles moved by four columns", tiles_filled, table(48, at=4), TILES, (2, 1))
CASES.bad(
    "descriptor's tiles that begin before the first column",
    tiles_filled, table(48, at=-4), TILES, (2, 1), descriptor_contract="store",
)  # fmt: skip
CASES.bad(
    "descriptor without rows",
    tiles_filled, table(48, rows=0), TILES, (2, 1), descriptor_contract="store",
    mask_always_false="store",
)  # fmt: skip


@triton.jit
def tiles_read(x, out, columns, at, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [8, columns], [64, 1], [BM, BN])
    tile = source.load([0, at])  # [load]
    tl.store(out + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], tile)


READ = {"x": tensor(8, 64), "out": tensor(8, 32), "columns": 5, "at": 0}
SIZES = {"BM": 8, "BN": 32}
CASES.good("descriptor read past its columns gives zeros", tiles_read, READ, SIZES, (1,))
CASES.bad(
    "descriptor read from a column between chunks",
    tiles_read, READ | {"at": 3}, SIZES, (1,), descriptor_contract="load",
)  # fmt: skip


@triton.jit
def rows_added(out, columns, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [8, columns], [64, 1], [BM, BN])
    for column in range(0, columns, BN):
        target.atomic_add([0, column], tl.full((BM, BN), 1, tl.float32))  # [add]


CASES.good(
    "descriptor adds to whole chunks, tile by tile",
    rows_added, {"out": tensor(8, 64), "columns": 44}, {"BM": 8, "BN": 16}, (3,),
)  # fmt: skip
CASES.bad(
    "descriptor adds past its columns in the last tile",
    rows_added, {"out": tensor(8, 64), "columns": 45}, {"BM": 8, "BN": 16}, (3,),
    descriptor_contract="add",
)  # fmt: skip


@triton.jit
def heads_filled(out, width, pitch, BM: tl.constexpr, BN: tl.constexpr):
    """Each program has columns of its own, by a descriptor of its own."""
    head = tl.program_id(0)
    target = tl.make_tensor_descriptor(out + head * width, [8, width], [pitch, 1], [BM, BN])
    target.store([0, 0], tl.full((BM, BN), 1, tl.float32) + head)  # [store]


HEADS = {"out": tensor(8, 64), "pitch": 64}
CASES.good("descriptor for each head", heads_filled, HEADS | {"width": 12}, SIZES, (5,))
CASES.bad(
    "descriptor for each head, of six columns",
    heads_filled, HEADS | {"width": 6}, SIZES, (10,), descriptor_contract="store", race="store",
)  # fmt: skip


@triton.jit
def batches_filled(out, starts, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Ragged batches, each from where the table says."""
    batch = tl.program_id(0)
    start, end = tl.load(starts + batch), tl.load(starts + batch + 1)
    target = tl.make_tensor_descriptor(
        out + start * columns, [end - start, columns], [columns, 1], [BM, BN]
    )
    for row in range(0, end - start, BM):
        target.store([row, 0], tl.zeros((BM, BN), tl.float32) + batch)  # [store]


BATCHES = {"out": tensor(20, 32), "columns": 32, "starts": holding([0, 7, 7, 20])}
CASES.good("descriptor for each batch, one of them empty", batches_filled, BATCHES, TILES, (3,))
CASES.bad(
    "descriptor for each batch, of 30 columns",
    batches_filled, BATCHES | {"columns": 30}, TILES, (3,), descriptor_contract="store",
    race="store",
)  # fmt: skip
