"""Integers that leave their 32 (or 16) bits on the way to an address, a mask or a loop's end.

The tensors have up to 2^32 elements and are never allocated. Where a wrapped address also leaves
its tensor, that is a defect of its own; some wrapped addresses stay inside.
"""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("overflow")


@triton.jit
def row_copy(x, out, stride, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    if KIND == "early":
        start = row.to(tl.int64) * stride
    elif KIND == "late":
        start = (row * stride).to(tl.int64)  # [late]
    else:
        start = row * stride  # [product]
    values = tl.load(x + start + lanes, mask=mask)  # [load]
    tl.store(out + row * BLOCK + lanes, values, mask=mask)


def long_rows(rows, stride):
    return {
        "x": tensor(rows, stride, dtype="fp16"), "out": tensor(rows, 64, dtype="fp16"),
        "stride": stride, "n": 60,
    }  # fmt: skip


BIG = long_rows(70_000, 40_000)
LAST = (0, 53_687, 53_688, 69_999)
CASES.bad(
    "row * stride past 2^31",
    row_copy, BIG, {"KIND": "", "BLOCK": 64}, (70_000,), look_at=LAST,
    overflow="product", follows={"out_of_bounds": "load"},
)  # fmt: skip
CASES.bad(
    "row * stride past 2^31, made wide too late",
    row_copy, BIG, {"KIND": "late", "BLOCK": 64}, (70_000,), look_at=LAST,
    overflow="late", follows={"out_of_bounds": "load"},
)  # fmt: skip
CASES.good(
    "row * stride past 2^31, made wide first",
    row_copy, BIG, {"KIND": "early", "BLOCK": 64}, (70_000,), look_at=LAST,
)  # fmt: skip
CASES.good(
    "row * stride up to 2^31 - 1",
    row_copy, long_rows(65_535, 32_768), {"KIND": "", "BLOCK": 64}, (65_535,),
    look_at=(0, 65_534),
)  # fmt: skip
CASES.good(
    "row * stride past 2^31 of a tensor that has it, by programs that do not get there",
    row_copy, BIG, {"KIND": "", "BLOCK": 64}, (50_000,), look_at=(0, 49_999),
)  # fmt: skip


@triton.jit
def far_rows(x, out, stride, BLOCK: tl.constexpr):
    """Only every 65,536th row: the product wraps around to 0 and looks harmless."""
    row = tl.program_id(0) * 65_536
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + lanes)  # [load]
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)


CASES.bad(
    "product that wraps to an address inside",
    far_rows, {"x": tensor(65_537, 65_536, dtype="i8"), "out": tensor(2, 64, dtype="i8"),
               "stride": 65_536},
    {"BLOCK": 64}, (2,), look_at=(0, 1), overflow="load",
)  # fmt: skip
CASES.good(
    "wide stride: the argument is an i64",
    far_rows, {"x": tensor(65_537, 65_536, dtype="i8"), "out": tensor(2, 64, dtype="i8"),
               "stride": 65_536},
    {"BLOCK": 64}, (2,), look_at=(0, 1), wide=frozenset({"stride"}),
)  # fmt: skip


@triton.jit
def flat_copy(x, out, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0)
    if WIDE:
        start = start.to(tl.int64)
    lanes = start * BLOCK + tl.arange(0, BLOCK)  # [lanes]
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask)  # [load]
    tl.store(out + lanes, values, mask=mask)  # [store]


def flat(n):
    return {"x": tensor(n, dtype="i8"), "out": tensor(n, dtype="i8"), "n": n}


FEW = {"BLOCK": 65_536}
CASES.bad(
    "program * BLOCK past 2^31: a negative lane is below n too",
    flat_copy, flat(2**31 + 2**20), {"WIDE": False, **FEW}, (32_784,),
    look_at=(0, 32_767, 32_768), overflow="lanes", follows={"out_of_bounds": ("load", "store")},
)  # fmt: skip
CASES.good(
    "program * BLOCK past 2^31, wide",
    flat_copy, flat(2**31 + 2**20), {"WIDE": True, **FEW}, (32_784,),
    look_at=(0, 32_767, 32_768),
)  # fmt: skip
CASES.good(
    "2^31 - 5 elements: the last lane is 2^31 - 1",
    flat_copy, flat(2**31 - 5), {"WIDE": False, **FEW}, (32_768,), look_at=(0, 32_767),
)  # fmt: skip


@triton.jit
def ragged_rows(x, out, stride, rows, BM: tl.constexpr, BN: tl.constexpr):
    """The last tile has rows that do not exist; theirs alone are past 2^31, and masked."""
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    mask = (r[:, None] < rows) & (c[None, :] < stride)
    place = r[:, None] * stride + c[None, :]  # [place]
    values = tl.load(x + place, mask=mask)
    tl.store(out + r[:, None] * BN + c[None, :], values, mask=mask)


CASES.good(
    "overflow in lanes that the mask takes away",
    ragged_rows, {"x": tensor(21_474, 100_000, dtype="i8"), "out": tensor(21_504, 64, dtype="i8"),
                  "stride": 100_000, "rows": 21_474},
    {"BM": 32, "BN": 64}, (672,), look_at=(0, 671),
)  # fmt: skip


@triton.jit
def canceled(x, out, stride, base, n, BLOCK: tl.constexpr):
    """Both products wrap, and their difference is right again, modulo 2^32."""
    row = tl.program_id(0) + base
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    place = row * stride - base * stride + lanes
    tl.store(out + place, tl.load(x + place, mask=mask), mask=mask)


CASES.good(
    "products that wrap and cancel",
    canceled, {"x": tensor(10, 50), "out": tensor(10, 50), "stride": 50, "base": 90_000_000,
                "n": 50}, {"BLOCK": 64}, (10,),
)  # fmt: skip


@triton.jit
def rounded_up(x, out, n, BLOCK: tl.constexpr):
    """n + BLOCK - 1 is past 2^31, so that there are no steps at all."""
    lanes = tl.arange(0, BLOCK)
    for step in range(tl.cdiv(n, BLOCK)):  # [steps]
        place = step.to(tl.int64) * BLOCK + lanes
        values = tl.load(x + place, mask=place < n)  # [load]
        tl.store(out + place, values, mask=place < n)  # [store]


CASES.bad(
    "number of steps rounded up past 2^31",
    rounded_up, flat(2**31 - 5), {"BLOCK": 1024}, (1,), look_at=(0,), overflow="steps",
    follows={"out_of_bounds": ("load", "store")},
)  # fmt: skip
CASES.good("number of steps rounded up", rounded_up, flat(5000), {"BLOCK": 1024}, (1,))


@triton.jit
def below_total(x, out, rows, columns, stride, BLOCK: tl.constexpr):
    """Guarded by the flat index, which is negative where it wraps, and so below the total."""
    place = tl.program_id(0) * stride + tl.arange(0, BLOCK)  # [place]
    mask = place < rows * columns
    values = tl.load(x + place, mask=mask)  # [load]
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), values, mask=mask)


CASES.bad(
    "mask that a wrapped index passes",
    below_total,
    {"x": tensor(20_000, 100_000, dtype="i8"), "out": tensor(24_000, 64, dtype="i8"),
                  "rows": 20_000, "columns": 100_000, "stride": 100_000},
    {"BLOCK": 64}, (22_000,), look_at=(0, 21_999), overflow="place",
    follows={"out_of_bounds": "load"},
)  # fmt: skip


@triton.jit
def short_words(x, out, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    place = lanes * 300 if WIDE else lanes.to(tl.int16) * 300  # [place]
    tl.store(out + lanes, tl.load(x + place))  # [load]


SHORT = {"x": tensor(128 * 300), "out": tensor(128)}
CASES.bad(
    "16-bit product past 2^15",
    short_words, SHORT, {"WIDE": False, "BLOCK": 128}, (1,),
    overflow="place", follows={"out_of_bounds": "load"},
)  # fmt: skip
CASES.good("the same product in 32 bits", short_words, SHORT, {"WIDE": True, "BLOCK": 128}, (1,))


@triton.jit
def unsigned_offset(x, out, stride, BLOCK: tl.constexpr):
    """Between 2^31 and 2^32, unsigned: it fits, and Triton extends it without sign."""
    place = tl.program_id(0).to(tl.uint32) * stride.to(tl.uint32)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + place + lanes.to(tl.uint32))
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)


CASES.good(
    "unsigned offsets past 2^31",
    unsigned_offset, {"x": tensor(30_000, 100_000, dtype="i8"),
                      "out": tensor(30_000, 64, dtype="i8"), "stride": 100_000},
    {"BLOCK": 64}, (30_000,), look_at=(0, 29_999),
)  # fmt: skip


@triton.jit
def scrambled(x, out, BLOCK: tl.constexpr):
    """A product that is meant to wrap: only its low bits are used."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = (lanes * 1_664_525 + 1_013_904_223) & 255
    tl.store(out + lanes, tl.load(x + place))


CASES.good(
    "hash that wraps on purpose",
    scrambled, {"x": tensor(256), "out": tensor(8192)}, {"BLOCK": 1024}, (8,),
)  # fmt: skip


@triton.jit
def big_product(a, c, m, k, a_row, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, BK)
    place = a + rows[:, None] * a_row + depth[None, :]  # [pointers]
    total = tl.zeros((BM,), tl.float32)
    for step in range(tl.cdiv(k, BK)):
        left = k - step * BK
        mask = (rows[:, None] < m) & (depth[None, :] < left)
        total += tl.sum(tl.load(place, mask=mask, other=0.0).to(tl.float32), axis=1)  # [load]
        place += BK
    tl.store(c + rows, total, mask=rows < m)


def factors(m, k):
    return {"a": tensor(m, k, dtype="bf16"), "c": tensor(m), "m": m, "k": k, "a_row": k}


CASES.bad(
    "factor with more than 2^31 elements",
    big_product, factors(40_000, 60_000), {"BM": 16, "BK": 4096}, (2500,),
    look_at=(0, 2236, 2237, 2499), overflow="pointers", follows={"out_of_bounds": "load"},
)  # fmt: skip
CASES.good(
    "factor with fewer, its pointers moved past 2^31 bytes",
    big_product, factors(30_000, 60_000), {"BM": 16, "BK": 4096}, (1875,), look_at=(0, 1874),
)  # fmt: skip
