"""Strides: of the wrong axis, negative, zero, of padded rows."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("strides")


@triton.jit
def copy_rows(x, out, columns, x_row, x_column, out_row, out_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * x_row + lanes * x_column, mask=mask, other=0.0)  # [load]
    tl.store(out + row * out_row + lanes * out_column, values, mask=mask)  # [store]


def rows(x, out, columns, x_strides, out_strides):
    return {
        "x": x, "out": out, "columns": columns,
        "x_row": x_strides[0], "x_column": x_strides[1],
        "out_row": out_strides[0], "out_column": out_strides[1],
    }  # fmt: skip


ROW = {"BLOCK": 64}
MATRIX = tensor(20, 50)

CASES.good("rows copied", copy_rows, rows(MATRIX, MATRIX, 50, (50, 1), (50, 1)), ROW, (20,))
CASES.bad(
    "strides in the wrong order",
    copy_rows, rows(MATRIX, MATRIX, 50, (1, 50), (50, 1)), ROW, (20,), out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "strides in the wrong order, more rows than columns: wrong values, but inside",
    copy_rows, rows(tensor(50, 20), tensor(50, 20), 20, (1, 20), (20, 1)), ROW, (50,),
)  # fmt: skip
CASES.good(
    "transposed view with its own strides",
    copy_rows, rows(tensor(20, 50, strides=(1, 20)), MATRIX, 50, (1, 20), (50, 1)), ROW, (20,),
)  # fmt: skip
CASES.good(
    "transposed view taken for contiguous: the same bytes, so nothing leaves them",
    copy_rows, rows(tensor(20, 50, strides=(1, 20)), MATRIX, 50, (50, 1), (50, 1)), ROW, (20,),
)  # fmt: skip
CASES.good(
    "every second column",
    copy_rows, rows(tensor(20, 25, strides=(50, 2)), tensor(20, 25), 25, (50, 2), (25, 1)),
    ROW, (20,),
)  # fmt: skip
CASES.bad(
    "every second column of a tensor that has them all no more",
    copy_rows, rows(tensor(20, 25), tensor(20, 25), 25, (50, 2), (25, 1)), ROW, (20,),
    out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "padded rows",
    copy_rows, rows(tensor(20, 50, strides=(64, 1), room=1280), MATRIX, 50, (64, 1), (50, 1)),
    ROW, (20,),
)  # fmt: skip
CASES.bad(
    "padded rows read with their padding: past the view, inside the storage",
    copy_rows,
    rows(tensor(20, 50, strides=(64, 1), room=1280), tensor(20, 64), 64, (64, 1), (64, 1)),
    ROW, (20,), out_of_view="load",
)  # fmt: skip
CASES.good(
    "one row for all: stride 0",
    copy_rows, rows(tensor(20, 50, strides=(0, 1)), MATRIX, 50, (0, 1), (50, 1)), ROW, (20,),
)  # fmt: skip
CASES.bad(
    "one row for all, taken for contiguous",
    copy_rows, rows(tensor(20, 50, strides=(0, 1)), MATRIX, 50, (50, 1), (50, 1)), ROW, (20,),
    out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "all rows written to one: stride 0 of the result",
    copy_rows, rows(MATRIX, tensor(20, 50, strides=(0, 1)), 50, (50, 1), (0, 1)), ROW, (20,),
    race="store",
)  # fmt: skip
BACKWARDS = tensor(20, 50, strides=(50, -1), offset=49, room=1000)
CASES.good(
    "negative stride from the last column",
    copy_rows, rows(BACKWARDS, MATRIX, 50, (50, -1), (50, 1)), ROW, (20,),
)  # fmt: skip
CASES.bad(
    "negative stride from the first column",
    copy_rows, rows(MATRIX, MATRIX, 50, (50, -1), (50, 1)), ROW, (20,), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "negative stride of rows from the first row",
    copy_rows, rows(MATRIX, MATRIX, 50, (-50, 1), (50, 1)), ROW, (20,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def transposed(x, out, rows, columns, leading, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    mask = (r < rows) & (c < columns)
    values = tl.load(x + r * columns + c, mask=mask)
    tl.store(out + c * leading + r, values, mask=mask)  # [store]


TILES = {"BM": 16, "BN": 16}


def flip(leading):
    return {
        "x": tensor(20, 50), "out": tensor(50, 20), "rows": 20, "columns": 50, "leading": leading,
    }  # fmt: skip


CASES.good("transposed", transposed, flip(20), TILES, (2, 4))
CASES.bad(
    "transposed, with the leading dimension of the input",
    transposed, flip(50), TILES, (2, 4), out_of_bounds="store",
)  # fmt: skip


@triton.jit
def batches(x, out, heads, length, batch_step, head_step, BLOCK: tl.constexpr):
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < length
    place = batch * batch_step + head * head_step + lanes
    values = tl.load(x + place, mask=mask)  # [load]
    tl.store(out + (batch * heads + head) * length + lanes, values, mask=mask)


def batch(batch_step, head_step):
    return {
        "x": tensor(3, 5, 70), "out": tensor(3, 5, 70), "heads": 5, "length": 70,
        "batch_step": batch_step, "head_step": head_step,
    }  # fmt: skip


CASES.good("batches of heads", batches, batch(350, 70), {"BLOCK": 32}, (3, 15))
CASES.bad(
    "batches of heads, strides swapped",
    batches, batch(70, 350), {"BLOCK": 32}, (3, 15), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def reversed_vector(x, out, n, last, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + (last - lanes), mask=mask)  # [load]
    tl.store(out + lanes, values, mask=mask)


REVERSED = {"x": tensor(1000), "out": tensor(1000), "n": 1000}
CASES.good("reversed", reversed_vector, REVERSED | {"last": 999}, {"BLOCK": 256}, (4,))
CASES.bad(
    "reversed from one past the end",
    reversed_vector, REVERSED | {"last": 1000}, {"BLOCK": 256}, (4,), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "reversed from one before the end: the last is before the start",
    reversed_vector, REVERSED | {"last": 998}, {"BLOCK": 256}, (4,), out_of_bounds="load",
)  # fmt: skip
