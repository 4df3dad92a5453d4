"""Block pointers and tensor descriptors: boundary checks, shapes, offsets."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("blocks")


@triton.jit
def block_rows(x, out, rows, columns, rows_said, row, KIND: tl.constexpr, BM: tl.constexpr,
               BN: tl.constexpr):  # fmt: skip
    source = tl.make_block_ptr(
        x, (rows_said, columns), (columns, 1), (tl.program_id(0) * BM + row, 0), (BM, BN), (1, 0)
    )
    for step in range(tl.cdiv(columns, BN)):
        if KIND == "both":
            block = tl.load(source, boundary_check=(0, 1), padding_option="zero")  # [checked]
        elif KIND == "rows":
            block = tl.load(source, boundary_check=(0,))  # [rows]
        elif KIND == "columns":
            block = tl.load(source, boundary_check=(1,))  # [columns]
        else:
            block = tl.load(source)  # [unchecked]
        r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
        c = step * BN + tl.arange(0, BN)[None, :]
        tl.store(out + r * columns + c, block, mask=(r < rows) & (c < columns))
        source = tl.advance(source, (0, BN))


def block(rows, columns, rows_said=None, row=0):
    return {
        "x": tensor(rows, columns), "out": tensor(rows, columns), "rows": rows,
        "columns": columns, "rows_said": rows_said or rows, "row": row,
    }  # fmt: skip


SIZE = {"BM": 16, "BN": 16}

CASES.good(
    "block pointer with both checks", block_rows, block(20, 50), {"KIND": "both", **SIZE}, (2,)
)
CASES.bad(
    "block pointer without checks",
    block_rows, block(20, 50), {"KIND": "", **SIZE}, (2,), out_of_bounds="unchecked",
)  # fmt: skip
CASES.good(
    "block pointer without checks, whole blocks",
    block_rows, block(32, 48), {"KIND": "", **SIZE}, (2,),
)  # fmt: skip
CASES.bad(
    "block pointer with a check of rows, ragged columns",
    block_rows, block(32, 50), {"KIND": "rows", **SIZE}, (2,), out_of_bounds="rows",
)  # fmt: skip
CASES.bad(
    "block pointer with a check of columns, ragged rows",
    block_rows, block(20, 48), {"KIND": "columns", **SIZE}, (2,), out_of_bounds="columns",
)  # fmt: skip
CASES.good(
    "block pointer with the check of the one ragged axis",
    block_rows, block(20, 48), {"KIND": "rows", **SIZE}, (2,),
)  # fmt: skip
CASES.bad(
    "block pointer told of more rows than there are",
    block_rows, block(20, 50, 24), {"KIND": "both", **SIZE}, (2,), out_of_bounds="checked",
)  # fmt: skip
CASES.good(
    "block pointer before the first row, checked",
    block_rows, block(20, 50, row=-3), {"KIND": "both", **SIZE}, (2,),
)  # fmt: skip
CASES.bad(
    "block pointer before the first row, unchecked",
    block_rows, block(32, 48, row=-3), {"KIND": "", **SIZE}, (2,), out_of_bounds="unchecked",
)  # fmt: skip


@triton.jit
def block_transposed(x, out, rows, columns, leading, B: tl.constexpr):
    source = tl.make_block_ptr(
        x, (rows, columns), (columns, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B),
        (1, 0),
    )  # fmt: skip
    target = tl.make_block_ptr(
        out, (columns, rows), (leading, 1), (tl.program_id(1) * B, tl.program_id(0) * B), (B, B),
        (1, 0),
    )  # fmt: skip
    block = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, tl.trans(block), boundary_check=(0, 1))  # [store]


FLIP = {"x": tensor(20, 50), "out": tensor(50, 20), "rows": 20, "columns": 50}
CASES.good("block pointers, transposed", block_transposed, FLIP | {"leading": 20}, {"B": 16},
             (2, 4))  # fmt: skip
CASES.bad(
    "block pointers, transposed, with the input's leading dimension",
    block_transposed, FLIP | {"leading": 50}, {"B": 16}, (2, 4), out_of_bounds="store",
)  # fmt: skip


@triton.jit
def block_advanced(x, out, n, AHEAD: tl.constexpr, BLOCK: tl.constexpr):
    """Moves first, then loads."""
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(n // BLOCK):
        if AHEAD:
            source = tl.advance(source, (BLOCK,))
        total += tl.load(source)  # [load]
        if not AHEAD:
            source = tl.advance(source, (BLOCK,))
    tl.store(out + tl.arange(0, BLOCK), total)


WALK = {"x": tensor(320), "out": tensor(32), "n": 320}
CASES.good("block pointer loaded, then moved", block_advanced, WALK,
             {"AHEAD": False, "BLOCK": 32}, (1,))  # fmt: skip
CASES.bad(
    "block pointer moved, then loaded",
    block_advanced, WALK, {"AHEAD": True, "BLOCK": 32}, (1,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def descriptor_tiles(x, out, rows, columns, rows_said, leading, BM: tl.constexpr,
                     BN: tl.constexpr):  # fmt: skip
    source = tl.make_tensor_descriptor(x, [rows_said, columns], [leading, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(at, source.load(at))  # [load]


def tiles(rows_said=20, leading=48):
    return {
        "x": tensor(20, 48), "out": tensor(20, 48), "rows": 20, "columns": 48,
        "rows_said": rows_said, "leading": leading,
    }  # fmt: skip


CASES.good("descriptor over ragged rows", descriptor_tiles, tiles(), SIZE, (2, 3))
CASES.good("descriptor, tiles that lie outside", descriptor_tiles, tiles(), SIZE, (4, 5))
CASES.bad(
    "descriptor told of more rows than there are",
    descriptor_tiles, tiles(rows_said=32), SIZE, (2, 3), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "descriptor with too long a row",
    descriptor_tiles, tiles(leading=64), SIZE, (2, 3), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def descriptor_rows(x, rows, out, rows_said, R: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows_said, N], [N, 1], [1, N])
    block = source.gather(tl.load(rows + tl.arange(0, R)), 0)  # [gather]
    tl.store(out + tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :], block)


GATHERED = {"x": tensor(20, 32), "rows": tensor(8, dtype="i32"), "out": tensor(8, 32)}
CHOSEN = {"R": 8, "N": 32}
CASES.good(
    "descriptor gathers rows of unknown number: those outside give zeros",
    descriptor_rows, GATHERED | {"rows_said": 20}, CHOSEN, (1,),
)  # fmt: skip
CASES.bad(
    "descriptor gathers a row that only it believes in",
    descriptor_rows, GATHERED | {"rows": holding([3, 19, 0, 20, 5, 5, 1, 2]), "rows_said": 24},
    CHOSEN, (1,), out_of_bounds="gather",
)  # fmt: skip
CASES.good(
    "descriptor that believes in rows that nobody asks for",
    descriptor_rows, GATHERED | {"rows": holding([3, 19, 0, 18, 5, 5, 1, 2]), "rows_said": 24},
    CHOSEN, (1,),
)  # fmt: skip


@triton.jit
def descriptor_sums(x, out, B: tl.constexpr, N: tl.constexpr):
    block = tl.load(
        x + tl.program_id(0) * B * N + tl.arange(0, B)[:, None] * N + tl.arange(0, N)[None, :]
    )
    target = tl.make_tensor_descriptor(out, [B, N], [N, 1], [B, N])
    target.atomic_add([0, 0], block)  # [add]


CASES.good(
    "descriptor adds atomically from many programs",
    descriptor_sums, {"x": tensor(5, 8, 32), "out": tensor(8, 32)}, {"B": 8, "N": 32}, (5,),
)  # fmt: skip
CASES.bad(
    "descriptor adds to a smaller tensor",
    descriptor_sums, {"x": tensor(5, 8, 32), "out": tensor(7, 32)}, {"B": 8, "N": 32}, (5,),
    out_of_bounds="add",
)  # fmt: skip


@triton.jit
def block_of_three(x, out, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                   CHECK: tl.constexpr):  # fmt: skip
    source = tl.make_block_ptr(
        x, (BATCH, M, N), (M * N, N, 1), (tl.program_id(0) * 2, 0, 0), (2, 8, 8), (2, 1, 0)
    )
    if CHECK:
        block = tl.load(source, boundary_check=(0, 1, 2), padding_option="zero")
    else:
        block = tl.load(source, boundary_check=(1, 2), padding_option="zero")  # [load]
    inside = tl.arange(0, 8)
    place = inside[None, :, None] * 8 + inside[None, None, :]
    both = (tl.program_id(0) * 2 + tl.arange(0, 2))[:, None, None] * 64 + place
    tl.store(out + both, block)


CUBE = {"x": tensor(5, 6, 7), "out": tensor(6, 8, 8)}
NUMBERS = {"BATCH": 5, "M": 6, "N": 7}
CASES.good("block pointer of three axes", block_of_three, CUBE, {"CHECK": True, **NUMBERS}, (3,))
CASES.bad(
    "block pointer of three axes, the outermost unchecked",
    block_of_three, CUBE, {"CHECK": False, **NUMBERS}, (3,), out_of_bounds="load",
)  # fmt: skip
