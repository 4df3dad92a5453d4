"""Lanes without a value: masked loads without `other` whose lanes reach something that counts."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("lanes")


@triton.jit
def row(x, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    if KIND == "softmax":
        values = tl.load(x + at * n + lanes, mask=mask, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + at * BLOCK + lanes, powers / tl.sum(powers, axis=0), mask=mask)
    else:
        values = tl.load(x + at * n + lanes, mask=mask)  # [load]
        if KIND == "whole":
            tl.store(out + at * BLOCK + lanes, values * 2)  # [whole]
        elif KIND == "masked":
            tl.store(out + at * BLOCK + lanes, values * 2, mask=mask)
        elif KIND == "where":
            tl.store(out + at * BLOCK + lanes, tl.where(mask, values, 0.0))
        elif KIND == "sum":
            tl.store(out + at, tl.sum(values, axis=0))  # [sum]
        elif KIND == "sum of where":
            tl.store(out + at, tl.sum(tl.where(mask, values, 0.0), axis=0))
        elif KIND == "largest":
            tl.store(out + at, tl.max(values, axis=0))  # [largest]
        elif KIND == "scan":
            tl.store(out + at * BLOCK + lanes, tl.cumsum(values, axis=0), mask=mask)
        elif KIND == "atomic":
            tl.atomic_add(out + lanes, values)  # [atomic]
        else:
            tl.store(out + at * BLOCK + lanes, values, mask=lanes <= n)  # [one more]


ROWS = {"x": tensor(5, 50), "out": tensor(5, 64), "n": 50}


def kind(name):
    return {"KIND": name, "BLOCK": 64}


CASES.bad("lanes without a value are stored", row, ROWS, kind("whole"), (5,),
            undefined_lanes="whole")  # fmt: skip
CASES.good("lanes without a value are masked off again", row, ROWS, kind("masked"), (5,))
CASES.good("lanes without a value get one by select", row, ROWS, kind("where"), (5,))
CASES.bad("one lane without a value is stored", row, ROWS, kind(""), (5,),
            undefined_lanes="one more")  # fmt: skip
CASES.bad("sum over lanes without a value", row, ROWS, kind("sum"), (5,),
            undefined_lanes="sum")  # fmt: skip
CASES.good("sum over lanes that got zeros", row, ROWS, kind("sum of where"), (5,))
CASES.bad("maximum over lanes without a value", row, ROWS, kind("largest"), (5,),
            undefined_lanes="largest")  # fmt: skip
CASES.good("running sum: lanes without a value come last", row, ROWS, kind("scan"), (5,))
CASES.bad("atomic sum of lanes without a value", row, ROWS, kind("atomic"), (5,),
            undefined_lanes="atomic")  # fmt: skip
CASES.good("softmax with -inf in the lanes outside", row, ROWS, kind("softmax"), (5,))
CASES.good(
    "all lanes have a value: the mask is true everywhere",
    row, {"x": tensor(5, 64), "out": tensor(5, 64), "n": 64}, kind("whole"), (5,),
)  # fmt: skip


@triton.jit
def product(a, b, c, k, OTHER: tl.constexpr, B: tl.constexpr):
    """The accumulator sums over the depth, so its lanes past k must be zero."""
    lanes = tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        depth = start + lanes
        mask = depth < k
        place = a + lanes[:, None] * k + depth[None, :]
        if OTHER:
            left = tl.load(place, mask=mask[None, :], other=0.0)
            right = tl.load(b + depth[:, None] * B + lanes[None, :], mask=mask[:, None], other=0.0)
        else:
            left = tl.load(place, mask=mask[None, :])
            right = tl.load(b + depth[:, None] * B + lanes[None, :], mask=mask[:, None])
        total = tl.dot(left, right, total)
    tl.store(c + lanes[:, None] * B + lanes[None, :], total)  # [store]


FACTORS = {"a": tensor(16, 40), "b": tensor(40, 16), "c": tensor(16, 16), "k": 40}
CASES.bad("accumulator over lanes without a value", product, FACTORS,
            {"OTHER": False, "B": 16}, (1,), undefined_lanes="store")  # fmt: skip
CASES.good("accumulator over lanes with zeros", product, FACTORS, {"OTHER": True, "B": 16}, (1,))


@triton.jit
def accumulate(x, out, rows, columns, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """The accumulator begins as what a masked load left in it."""
    lanes = tl.arange(0, BLOCK)
    if OTHER:
        total = tl.load(x + lanes, mask=lanes < columns, other=0.0)
    else:
        total = tl.load(x + lanes, mask=lanes < columns)
    for at in range(1, rows):
        total += tl.load(x + at * columns + lanes, mask=lanes < columns, other=0.0)
    tl.store(out, tl.sum(total, axis=0))  # [store]


SUMS = {"x": tensor(7, 50), "out": tensor(1), "rows": 7, "columns": 50}
CASES.bad("accumulator begun with lanes without a value", accumulate, SUMS,
            {"OTHER": False, "BLOCK": 64}, (1,), undefined_lanes="store")  # fmt: skip
CASES.good("accumulator begun with zeros", accumulate, SUMS, {"OTHER": True, "BLOCK": 64}, (1,))


@triton.jit
def block_padding(x, out, n, PADDING: tl.constexpr, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    if PADDING:
        values = tl.load(source, boundary_check=(0,), padding_option="zero")
    else:
        values = tl.load(source, boundary_check=(0,))
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), values)  # [store]


PADDED = {"x": tensor(100), "out": tensor(128), "n": 100}
CASES.bad("block pointer without padding, stored whole", block_padding, PADDED,
            {"PADDING": False, "BLOCK": 64}, (2,), undefined_lanes="store")  # fmt: skip
CASES.good("block pointer with padding, stored whole", block_padding, PADDED,
             {"PADDING": True, "BLOCK": 64}, (2,))  # fmt: skip


@triton.jit
def indirect(index, x, out, n, MASKED: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    if OTHER:
        place = tl.load(index + lanes, mask=mask, other=0)
    else:
        place = tl.load(index + lanes, mask=mask)
    values = tl.load(x + place, mask=mask) if MASKED else tl.load(x + place)  # [load]
    tl.store(out + lanes, values, mask=mask)


INDEX = {"index": holding(range(50)), "x": tensor(50), "out": tensor(50), "n": 50}
CASES.bad(
    "address from lanes without a value",
    indirect, INDEX, {"MASKED": False, "OTHER": False, "BLOCK": 64}, (1,), undefined_use="load",
)  # fmt: skip
CASES.good(
    "address from lanes without a value, masked off",
    indirect, INDEX, {"MASKED": True, "OTHER": False, "BLOCK": 64}, (1,),
)  # fmt: skip
CASES.good(
    "address from lanes with zeros",
    indirect, INDEX, {"MASKED": False, "OTHER": True, "BLOCK": 64}, (1,),
)  # fmt: skip


@triton.jit
def branch(flags, out, n, OTHER: tl.constexpr):
    program = tl.program_id(0)
    if OTHER:
        flag = tl.load(flags + program, mask=program < n, other=0)
    else:
        flag = tl.load(flags + program, mask=program < n)
    if flag > 0:  # [branch]
        tl.store(out + program, 1.0)


FLAGS = {"flags": holding([1, 0, 1, 0]), "out": tensor(8), "n": 4}
CASES.bad("branch on a flag without a value", branch, FLAGS, {"OTHER": False}, (8,),
            undefined_use="branch")  # fmt: skip
CASES.good("branch on a flag with a value", branch, FLAGS, {"OTHER": True}, (8,))
