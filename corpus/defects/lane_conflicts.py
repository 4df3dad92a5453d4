"""Lanes of one store that write the same bytes, and lanes that only look as if they did."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("lane conflicts")


# -- where the index is arithmetic ----------------------------------------------------------------


@triton.jit
def placed(x, out, n, stride, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """A block into places that are made of the lane; each program has a part of its own."""
    lanes = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    values = tl.load(x + row * BLOCK + lanes)
    here = out + row * BLOCK * 2
    if KIND == "stride":
        tl.store(here + lanes * stride, values)  # [stride]
    elif KIND == "one value by stride":
        tl.store(here + lanes * stride, tl.sum(values))
    elif KIND == "wrapped":
        tl.store(here + lanes % n, values)  # [wrapped]
    elif KIND == "wrapped, and its value":
        tl.store(here + lanes % n, tl.load(x + row * BLOCK + lanes % n) * 2)
    elif KIND == "wrapped, and its value by the next":
        tl.store(here + lanes % n, tl.load(x + row * BLOCK + (lanes + 1) % n) * 2)  # [next]
    elif KIND == "wrapped, masked":
        tl.store(here + lanes % n, values, mask=lanes < n)
    elif KIND == "halved":
        tl.store(here + lanes // 2, values)  # [halved]
    elif KIND == "halved, and its value":
        tl.store(here + lanes // 2, (lanes // 2).to(tl.float32) * 3)
    elif KIND == "halved, the even ones":
        tl.store(here + lanes // 2, values, mask=lanes % 2 == 0)
    elif KIND == "halved, by more than the even ones":
        tl.store(here + lanes // 2, values, mask=(lanes % 2 == 0) | (lanes == n))  # [both]
    elif KIND == "clamped":
        tl.store(here + tl.minimum(lanes, n - 1), values)  # [clamped]
    elif KIND == "clamped, and its value":
        at = tl.minimum(lanes, n - 1)
        tl.store(here + at, tl.load(x + row * BLOCK + at))
    elif KIND == "dumped":
        tl.store(here + tl.where(lanes < n, lanes, BLOCK), values)  # [dumped]
    elif KIND == "dumped, one value":
        tl.store(here + tl.where(lanes < n, lanes, BLOCK), tl.where(lanes < n, values, 0.0))
    elif KIND == "bits":
        tl.store(here + (lanes & 7), values)  # [bits]
    elif KIND == "bits swapped":
        tl.store(here + (lanes % 2 * (BLOCK // 2) + lanes // 2), values)
    elif KIND == "twice around":
        tl.store(here + lanes * 6 % n, values)  # [around]
    elif KIND == "once around":
        tl.store(here + lanes * 5 % n, values)  # [once]


X, OUT = tensor(2, 16), tensor(2, 32)


def place(kind, *, good=False, n=10, stride=1, name="", **label):
    arguments = {"x": X, "out": OUT, "n": n, "stride": stride}
    add = CASES.good if good else CASES.bad
    add(name or kind, placed, arguments, {"KIND": kind, "BLOCK": 16}, (2,), **label)


place("stride", good=True, name="stride of 1")
place("stride", good=True, stride=2, name="stride of 2")
place("stride", stride=0, name="stride of 0", lane_conflict="stride")
place("one value by stride", good=True, stride=0, name="one value, stride of 0")
place("wrapped", lane_conflict="wrapped")
place("wrapped", good=True, n=16, name="wrapped by the block's size")
place("wrapped, and its value", good=True)
place("wrapped, and its value by the next", good=True)
place("wrapped, masked", good=True)
place("halved", lane_conflict="halved")
place("halved, and its value", good=True)
place("halved, the even ones", good=True)
place("halved, by more than the even ones", n=7, lane_conflict="both")
place("halved, by more than the even ones", good=True, n=8, name="halved, an even one more")
place("clamped", lane_conflict="clamped")
place("clamped", good=True, n=16, name="clamped to the block's end")
place("clamped, and its value", good=True)
place("dumped", lane_conflict="dumped")
place("dumped", good=True, n=15, name="one lane dumped")
place("dumped, one value", good=True)
place("bits", lane_conflict="bits")
place("bits swapped", good=True)
place("twice around", n=18, lane_conflict="around")
place("once around", good=True, n=16)


# -- tiles ----------------------------------------------------------------------------------------


@triton.jit
def tiled(x, out, m, n, ld, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """A tile into rows that lie `ld` apart, or columns that do."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tile = tl.load(x + rows[:, None] * n + columns[None, :], mask=inside, other=0.0)
    if KIND == "rows":
        tl.store(out + rows[:, None] * ld + columns[None, :], tile, mask=inside)  # [rows]
    elif KIND == "edge":
        mask = (rows[:, None] < m) & (columns[None, :] <= n)
        tl.store(out + rows[:, None] * ld + columns[None, :], tile, mask=mask)  # [edge]
    elif KIND == "transposed":
        tl.store(out + columns[None, :] * ld + rows[:, None], tile, mask=inside)  # [columns]
    elif KIND == "diagonals":
        tl.store(out + rows[:, None] + columns[None, :], tile, mask=inside)  # [diagonals]
    elif KIND == "one row":
        tl.store(out + columns[None, :] + 0 * rows[:, None], tile, mask=inside)  # [row]
    elif KIND == "one row, the maximum":
        most = tl.max(tile, axis=0)
        tl.store(out + columns[None, :] + 0 * rows[:, None], tl.broadcast_to(most[None, :], BM, BN),
                 mask=inside)  # fmt: skip
    elif KIND == "one row, a running sum":
        sums = tl.cumsum(tile, axis=0)
        tl.store(out + columns[None, :] + 0 * rows[:, None], sums, mask=inside)  # [sums]
    elif KIND == "groups":
        tl.store(out + rows // 4, tl.sum(tile, axis=1), mask=rows < m)  # [groups]
    elif KIND == "groups, summed":
        sums = tl.sum(tl.reshape(tl.sum(tile, axis=1), (BM // 4, 4)), axis=1)
        groups = tl.program_id(0) * (BM // 4) + tl.arange(0, BM // 4)
        tl.store(out + groups, sums, mask=groups < m // 4)
    elif KIND == "descriptor":
        box = tl.make_tensor_descriptor(out, (m, n), (ld, 1), (BM, BN))
        box.store([tl.program_id(0) * BM, 0], tile)  # [box]


@triton.jit
def tiled_by_block_pointer(x, out, m, n, ld, BM: tl.constexpr, BN: tl.constexpr):
    """A tile into rows that lie `ld` apart, by a block pointer."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tile = tl.load(x + rows[:, None] * n + columns[None, :], mask=inside, other=0.0)
    pointer = tl.make_block_ptr(out, (m, n), (ld, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    tl.store(pointer, tile, boundary_check=(0, 1))  # [block]


def tile(kind, *, good=False, m=8, n=12, ld=12, name="", out=None, **label):
    arguments = {"x": tensor(m, n), "out": out or tensor(16, 16), "m": m, "n": n, "ld": ld}
    add = CASES.good if good else CASES.bad
    size = {"BM": 8, "BN": 16}
    if kind == "block pointer":
        add(name or kind, tiled_by_block_pointer, arguments, size, (1,), **label)
    else:
        add(name or kind, tiled, arguments, {"KIND": kind, **size}, (1,), **label)


tile("rows", good=True, name="rows side by side")
tile("rows", good=True, ld=16, name="rows with a gap")
tile("rows", ld=8, name="rows that overlap", lane_conflict="rows")
tile("rows", good=True, m=1, ld=8, name="one row, whatever the stride")
tile("rows", good=True, ld=11, n=11, name="rows as wide as the mask lets them be")
tile("edge", lane_conflict="edge", name="a column too many in rows side by side")
tile("edge", good=True, ld=13, name="a column too many in rows with a gap")
tile("transposed", good=True, ld=8, name="tile transposed")
tile("transposed", ld=6, name="tile transposed, with too small a stride", lane_conflict="columns")
tile("transposed", good=True, m=6, ld=6, name="tile transposed, of as few rows")
tile("diagonals", lane_conflict="diagonals")
tile("one row", lane_conflict="row", name="rows into one row")
tile("one row, the maximum", good=True)
tile("one row, a running sum", lane_conflict="sums")
tile("groups", lane_conflict="groups", name="rows' sums by group")
tile("groups, summed", good=True)
tile("block pointer", good=True)
tile("block pointer", ld=8, name="block pointer, rows that overlap", lane_conflict="block")
tile("descriptor", good=True)
tile("descriptor", ld=8, name="descriptor, rows that overlap", lane_conflict="box")


# -- where the index is data ----------------------------------------------------------------------


@triton.jit
def indexed(x, index, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """A block into places that are loaded."""
    lanes = tl.arange(0, BLOCK)
    inside = lanes < n
    at = tl.load(index + lanes, mask=inside, other=0)
    values = tl.load(x + lanes, mask=inside, other=0.0)
    if KIND == "scattered":
        tl.store(out + at, values, mask=inside)  # [scattered]
    elif KIND == "scattered, its value by the index":
        tl.store(out + at, tl.load(x + at, mask=inside, other=0.0), mask=inside)
    elif KIND == "marked":
        tl.store(out + at, 1.0, mask=inside)
    elif KIND == "histogram":
        tl.store(out + at, tl.load(out + at, mask=inside, other=0.0) + 1, mask=inside)  # [count]
    elif KIND == "added":
        before = tl.load(out + at, mask=inside, other=0.0)
        tl.store(out + at, before + values, mask=inside)  # [added]
    elif KIND == "added, of what is positive":
        before = tl.load(out + at, mask=inside, other=0.0)
        tl.store(out + at, before + values, mask=inside & (values > 0))  # [doubtful]
    elif KIND == "atomic":
        tl.atomic_add(out + at, values, mask=inside)
    elif KIND == "rows":
        columns = tl.arange(0, 4)
        rows = tl.load(x + lanes[:, None] * 4 + columns[None, :], mask=inside[:, None], other=0.0)
        tl.store(out + at[:, None] * 4 + columns[None, :], rows, mask=inside[:, None])  # [rows]
    elif KIND == "kept":
        kept = inside & (at > 0)
        to = tl.cumsum(kept.to(tl.int32), axis=0) - 1
        tl.store(out + to, values, mask=kept)
    elif KIND == "kept, not masked":
        to = tl.maximum(tl.cumsum((inside & (at > 0)).to(tl.int32), axis=0) - 1, 0)
        tl.store(out + to, values, mask=inside)  # [kept]


PERMUTED = [3, 0, 7, 1, 9, 2, 8, 5, 4, 6]
TWICE = [3, 0, 7, 1, 9, 2, 8, 3, 4, 6]


def index(kind, values, *, good=False, name="", because="", **label):
    at = tensor(10, dtype="i32") if values is None else holding(values)
    arguments = {"x": tensor(16, 4), "index": at, "out": tensor(16, 4), "n": 10}
    given = (name or kind, indexed, arguments, {"KIND": kind, "BLOCK": 16}, (1,))
    if because:
        CASES.undecided(*given, because, **label)
    elif good:
        CASES.good(*given, **label)
    else:
        CASES.bad(*given, **label)


index("scattered", PERMUTED, good=True, name="scattered by a permutation")
index("scattered", TWICE, name="scattered, an index twice", lane_conflict="scattered")
index("scattered", None, name="scattered, by indices that were not recorded", because="index",
      out_of_bounds="scattered")  # fmt: skip
index("scattered, its value by the index", TWICE, good=True)
index("marked", TWICE, good=True)
index("histogram", PERMUTED, good=True, name="histogram, each bin once")
index("histogram", TWICE, name="histogram by load and store", lane_conflict="count")
index("added", PERMUTED, good=True, name="added, each place once")
index("added", TWICE, name="added by load and store", lane_conflict="added")
index("added, of what is positive", TWICE, because="depends", lane_conflict="doubtful")
index("atomic", TWICE, good=True, name="added atomically")
index("rows", PERMUTED, good=True, name="rows scattered by a permutation")
index("rows", TWICE, name="rows scattered, an index twice", lane_conflict="rows")
index("kept", [0, 1, 1, 0, 1, 0, 0, 1, 1, 0], good=True)
index("kept, not masked", [0, 1, 1, 0, 1, 0, 0, 1, 1, 0], lane_conflict="kept")
index("kept, not masked", [1] * 10, good=True, name="all kept, not masked")


# -- loops, calls, widths -------------------------------------------------------------------------


@triton.jit
def looped(x, out, n, step, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """A block in each trip of a loop."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    pointers = out + lanes * step
    for trip in range(n):
        values = tl.load(x + trip * BLOCK + lanes)
        total += values
        if KIND == "by step":
            tl.store(out + trip * BLOCK + lanes // step, values)  # [step]
        elif KIND == "carried":
            tl.store(pointers, values)  # [carried]
            pointers += BLOCK * step
        elif KIND == "in a later trip":
            tl.store(out + trip * BLOCK + tl.minimum(lanes, BLOCK - trip - 1), values)  # [late]
        elif KIND == "together":
            columns = tl.arange(0, 2)
            places = out + trip * 2 * BLOCK + lanes[:, None] * step + columns[None, :]
            tl.store(places, tl.join(values, values * 2))  # [together]
    if KIND == "sums":
        tl.store(out + lanes // step, total)  # [sums]
    elif KIND == "sum":
        tl.store(out + lanes // step, tl.sum(total) + tl.zeros((BLOCK,), tl.float32))
    elif KIND == "sums of pairs":
        for trip in range(n):
            total += tl.load(x + trip * BLOCK + lanes // step)
        total = tl.where(lanes >= 0, tl.load(x + lanes // step), total)
        tl.store(out + lanes // step, total)


def loop(kind, *, good=False, n=3, step=1, name="", **label):
    arguments = {"x": tensor(8, 16), "out": tensor(16, 16), "n": n, "step": step}
    add = CASES.good if good else CASES.bad
    add(name or kind, looped, arguments, {"KIND": kind, "BLOCK": 16}, (1,), **label)


loop("by step", good=True, name="each lane in each trip")
loop("by step", step=2, name="two lanes in each trip", lane_conflict="step")
loop("carried", good=True, name="pointers that move on")
loop("carried", step=0, name="pointers that do not move", lane_conflict="carried")
loop("in a later trip", good=True, n=1, name="in the first trip each lane")
loop("in a later trip", n=3, lane_conflict="late")
loop("together", good=True, step=2, name="pairs side by side")
loop("together", step=1, name="pairs that overlap", lane_conflict="together")
loop("sums", good=True, name="sums of a loop")
loop("sums", step=2, name="sums of a loop, two into one", lane_conflict="sums")
loop("sum", good=True, step=2, name="the sum of a loop, everywhere")


@triton.jit
def cut(x, out, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Numbers of four bytes, `STEP` bytes apart."""
    lanes = tl.arange(0, BLOCK)
    bytes_ = out + lanes * STEP
    tl.store(bytes_.to(tl.pointer_type(tl.float32)), tl.load(x + lanes))  # [cut]


BYTES = {"x": tensor(16), "out": tensor(64, dtype="i8")}
CASES.good("numbers side by side", cut, BYTES, {"STEP": 4, "BLOCK": 16}, (1,))
CASES.bad("numbers two bytes apart", cut, BYTES, {"STEP": 2, "BLOCK": 16}, (1,),
            lane_conflict="cut", misaligned="cut")  # fmt: skip


@triton.jit
def product(a, b, c, m, n, k, KIND: tl.constexpr, B: tl.constexpr):
    """A matrix product whose offsets are wrapped around."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.arange(0, B)
    depth = tl.arange(0, B)
    if KIND != "columns not wrapped":
        columns = columns % n
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        left = tl.load(a + (rows % m)[:, None] * k + (start + depth)[None, :])
        right = tl.load(b + (start + depth)[:, None] * n + (columns % n)[None, :])
        total = tl.dot(left, right, total)
    if KIND == "masked":
        mask = (rows[:, None] < m) & (tl.arange(0, B)[None, :] < n)
        tl.store(c + rows[:, None] * n + tl.arange(0, B)[None, :], total, mask=mask)
    elif KIND == "by column":
        total += tl.arange(0, B)[None, :]
        tl.store(c + (rows % m)[:, None] * n + columns[None, :], total)  # [column]
    else:
        tl.store(c + (rows % m)[:, None] * n + columns[None, :], total)


def multiply(kind, *, good=False, m=12, n=10, **label):
    arguments = {"a": tensor(m, 32), "b": tensor(32, n), "c": tensor(m, n), "m": m, "n": n, "k": 32}
    add = CASES.good if good else CASES.bad
    add(f"product, {kind}", product, arguments, {"KIND": kind, "B": 16}, (1,), **label)


multiply("masked", good=True)
multiply("wrapped", good=True)
multiply("by column", lane_conflict="column")
