"""Grids: too large, with axes swapped, decoded wrongly; swizzles; persistent programs."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("grids")


@triton.jit
def scale_row(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * columns + lanes, mask=mask)  # [load]
    tl.store(out + row * columns + lanes, values * 2, mask=mask)  # [store]


ROWS = {"x": tensor(20, 50), "out": tensor(20, 50), "columns": 50}

CASES.good("a program for each row", scale_row, ROWS, {"BLOCK": 64}, (20,))
CASES.bad(
    "one program more than rows",
    scale_row, ROWS, {"BLOCK": 64}, (21,), out_of_bounds=("load", "store"),
)  # fmt: skip
CASES.good("fewer programs than rows", scale_row, ROWS, {"BLOCK": 64}, (7,))


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, mask=mask) * 2, mask=mask)


CASES.good(
    "far more programs than needed, all of them masked",
    scale, {"x": tensor(1000), "out": tensor(1000), "n": 1000}, {"BLOCK": 256}, (4000,),
)  # fmt: skip


@triton.jit
def element(x, out, columns):
    place = tl.program_id(0) * columns + tl.program_id(1)
    tl.store(out + place, tl.load(x + place) + 1)  # [both]


CASES.good(
    "a program for each element",
    element, {"x": tensor(6, 9), "out": tensor(6, 9), "columns": 9}, {}, (6, 9),
)  # fmt: skip
CASES.bad(
    "grid axes swapped",
    element, {"x": tensor(6, 9), "out": tensor(6, 9), "columns": 9}, {}, (9, 6),
    out_of_bounds="both",
)  # fmt: skip


@triton.jit
def early_return(x, out, rows, columns, LATE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if LATE:
        if row > rows:
            return
    elif row >= rows:
        return
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + lanes, mask=lanes < columns)  # [load]
    tl.store(out + row * columns + lanes, values, mask=lanes < columns)  # [store]


CASES.good(
    "too many programs, which return at once",
    early_return, ROWS | {"rows": 20}, {"LATE": False, "BLOCK": 64}, (32,),
)  # fmt: skip
CASES.bad(
    "too many programs, of which one returns too late",
    early_return, ROWS | {"rows": 20}, {"LATE": True, "BLOCK": 64}, (32,),
    out_of_bounds=("load", "store"),
)  # fmt: skip


@triton.jit
def persistent(x, out, tiles, n, MORE: tl.constexpr, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles + MORE, tl.num_programs(0)):
        lanes = tile * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + lanes)  # [load]
        tl.store(out + lanes, values, mask=lanes < n)


PERSISTENT = {"x": tensor(1280), "out": tensor(1280), "tiles": 10, "n": 1280}
CASES.good("persistent programs", persistent, PERSISTENT, {"MORE": 0, "BLOCK": 128}, (4,))
CASES.bad(
    "persistent programs, one tile too many",
    persistent, PERSISTENT, {"MORE": 1, "BLOCK": 128}, (4,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def flattened(x, out, tiles_across, columns, BM: tl.constexpr, BN: tl.constexpr):
    tile = tl.program_id(0)
    r = tile // tiles_across * BM + tl.arange(0, BM)[:, None]
    c = tile % tiles_across * BN + tl.arange(0, BN)[None, :]
    values = tl.load(x + r * columns + c)  # [load]
    tl.store(out + r * columns + c, values)  # [store]


def flat(tiles_across):
    return {
        "x": tensor(64, 96), "out": tensor(64, 96), "tiles_across": tiles_across, "columns": 96,
    }  # fmt: skip


CASES.good("tiles by one program id", flattened, flat(6), {"BM": 16, "BN": 16}, (24,))
CASES.bad(
    "tiles by one program id, divided by the tiles down",
    flattened, flat(4), {"BM": 16, "BN": 16}, (24,), out_of_bounds=("load", "store"),
)  # fmt: skip


@triton.jit
def grouped(out, rows, columns, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            GROUP: tl.constexpr):  # fmt: skip
    """The swizzle of matrix products: programs go down in groups of rows of tiles."""
    program = tl.program_id(0)
    tiles_down = tl.cdiv(rows, BM)
    tiles_across = tl.cdiv(columns, BN)
    in_group = GROUP * tiles_across
    first = program // in_group * GROUP
    height = GROUP if KIND == "not cut" else min(tiles_down - first, GROUP)
    down = first + program % in_group % height
    if KIND == "divided by the group":
        across = program % in_group // GROUP
    else:
        across = program % in_group // height
    r = down * BM + tl.arange(0, BM)[:, None]
    c = across * BN + tl.arange(0, BN)[None, :]
    tl.store(out + r * columns + c, program, mask=c < columns)  # [store]


GROUPED = {"out": tensor(80, 50, dtype="i32"), "rows": 80, "columns": 50}
GROUPS = {"BM": 16, "BN": 16, "GROUP": 4}
CASES.good("grouped programs", grouped, GROUPED, {"KIND": "", **GROUPS}, (20,))
CASES.bad(
    "grouped programs, the last group not cut",
    grouped, GROUPED, {"KIND": "not cut", **GROUPS}, (20,), out_of_bounds="store",
)  # fmt: skip
CASES.good(
    "grouped programs, the last group not cut, but it is whole",
    grouped, {"out": tensor(64, 50, dtype="i32"), "rows": 64, "columns": 50},
    {"KIND": "not cut", **GROUPS}, (16,),
)  # fmt: skip
CASES.bad(
    "grouped programs, divided by the group's full height: two get one tile",
    grouped, GROUPED, {"KIND": "divided by the group", **GROUPS}, (20,), race="store",
)  # fmt: skip


@triton.jit
def around(x, out, n, m, BLOCK: tl.constexpr):
    """Lanes past the end begin again, so that loads need no mask."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes % m)  # [load]
    tl.store(out + lanes, values, mask=lanes < n)


CASES.good(
    "lanes around the end by remainder",
    around, {"x": tensor(1000), "out": tensor(1000), "n": 1000, "m": 1000}, {"BLOCK": 256}, (4,),
)  # fmt: skip
CASES.bad(
    "lanes around an end that is too far",
    around, {"x": tensor(1000), "out": tensor(1000), "n": 1000, "m": 1024}, {"BLOCK": 256}, (4,),
    out_of_bounds="load",
)  # fmt: skip


@triton.jit
def remainder_of_negative(x, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Remainders have the sign of the dividend."""
    lanes = tl.arange(0, BLOCK)
    place = (lanes - 5) % n if KIND == "plain" else (lanes - 5 + n) % n
    tl.store(out + lanes, tl.load(x + place))  # [load]


RING = {"x": tensor(64), "out": tensor(64), "n": 64}
CASES.bad(
    "remainder of a negative index stays negative",
    remainder_of_negative, RING, {"KIND": "plain", "BLOCK": 64}, (1,), out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "remainder of an index made positive first",
    remainder_of_negative, RING, {"KIND": "", "BLOCK": 64}, (1,),
)  # fmt: skip


@triton.jit
def third_axis(x, out, rows, columns):
    place = (tl.program_id(2) * rows + tl.program_id(1)) * columns + tl.program_id(0)
    tl.store(out + place, tl.load(x + place))  # [both]


CASES.good(
    "three axes",
    third_axis, {"x": tensor(3, 4, 5), "out": tensor(3, 4, 5), "rows": 4, "columns": 5}, {},
    (5, 4, 3),
)  # fmt: skip
CASES.bad(
    "three axes, the last one too long",
    third_axis, {"x": tensor(3, 4, 5), "out": tensor(3, 4, 5), "rows": 4, "columns": 5}, {},
    (5, 4, 4), out_of_bounds="both",
)  # fmt: skip


@triton.jit
def one_billion(x, out, n, BLOCK: tl.constexpr):
    """The last of very many programs is the one too far."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + place)  # [load]
    tl.store(out + place, values, mask=place < n)


CASES.good(
    "a billion programs",
    one_billion, {"x": tensor(10**9, 4, dtype="i8"), "out": tensor(10**9, 4, dtype="i8"),
                  "n": 4 * 10**9},
    {"BLOCK": 4}, (10**9,), look_at=(0, 10**9 - 1),
)  # fmt: skip
CASES.bad(
    "a billion programs and one",
    one_billion, {"x": tensor(10**9, 4, dtype="i8"), "out": tensor(10**9, 4, dtype="i8"),
                  "n": 4 * 10**9},
    {"BLOCK": 4}, (10**9 + 1,), look_at=(0, 10**9), out_of_bounds="load",
)  # fmt: skip
