"""Addresses, loops and branches that depend on what a tensor holds, recorded or not."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("data")


@triton.jit
def gather(x, chosen, out, n, rows, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    where = tl.load(chosen + lanes, mask=mask, other=0)
    if GUARD == "both":
        mask = mask & (where >= 0) & (where < rows)
    elif GUARD == "upper":
        mask = mask & (where < rows)
    elif GUARD == "clamp":
        where = tl.minimum(tl.maximum(where.to(tl.int32), 0), rows - 1)
    elif GUARD == "rest":
        where = where.to(tl.uint32) % rows.to(tl.uint32)
    elif GUARD == "bits":
        where = where & 31
    values = tl.load(x + where, mask=mask, other=0.0)  # [gather]
    tl.store(out + lanes, values, mask=lanes < n)


def chosen(index, x=50):
    return {
        "x": tensor(x), "chosen": index, "out": tensor(10), "n": 10, "rows": 50,
    }  # fmt: skip


def guard(name):
    return {"GUARD": name, "BLOCK": 4}


UNKNOWN = tensor(10, dtype="i32")
GRID = (3,)
CASES.good("gather by recorded indices", gather,
             chosen(holding([3, 49, 0, 7, 7, 2, 48, 1, 1, 30])), guard(""), GRID)  # fmt: skip
CASES.bad("gather by recorded indices, one too large", gather,
            chosen(holding([3, 49, 0, 7, 7, 50, 48, 1, 1, 30])), guard(""), GRID,
            out_of_bounds="gather")  # fmt: skip
CASES.bad("gather by recorded indices, one negative", gather,
            chosen(holding([3, 49, 0, 7, 7, 2, 48, -1, 1, 30])), guard(""), GRID,
            out_of_bounds="gather")  # fmt: skip
CASES.undecided("gather by indices that were not recorded", gather, chosen(UNKNOWN), guard(""),
                  GRID, because="chosen", out_of_bounds="gather")  # fmt: skip
CASES.good("unrecorded indices, guarded on both sides", gather, chosen(UNKNOWN), guard("both"),
             GRID)  # fmt: skip
CASES.undecided("unrecorded indices, guarded above alone", gather, chosen(UNKNOWN),
                  guard("upper"), GRID, because="chosen", out_of_bounds="gather")  # fmt: skip
CASES.good("recorded indices that are guarded: -1 is skipped", gather,
             chosen(holding([3, -1, 0, 7, 99, 2, 48, -1, 1, 30])), guard("both"),
             GRID)  # fmt: skip
CASES.good("unrecorded indices, clamped", gather, chosen(UNKNOWN), guard("clamp"), GRID)
CASES.good("unrecorded indices, taken around the end", gather, chosen(UNKNOWN), guard("rest"),
             GRID)  # fmt: skip
CASES.good("unrecorded indices, five bits of them", gather, chosen(UNKNOWN), guard("bits"),
             GRID)  # fmt: skip
CASES.undecided("unrecorded indices, clamped for a longer tensor", gather,
                  chosen(UNKNOWN, x=49), guard("clamp"), GRID, because="chosen",
                  out_of_bounds="gather")  # fmt: skip
CASES.good("unrecorded bytes into a table of 256", gather,
             chosen(tensor(10, dtype="u8"), x=256), guard(""), GRID)  # fmt: skip
CASES.undecided("unrecorded bytes into a table of 255", gather,
                  chosen(tensor(10, dtype="u8"), x=255), guard(""), GRID, because="chosen",
                  out_of_bounds="gather")  # fmt: skip


@triton.jit
def scatter(x, where, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    place = tl.load(where + lanes, mask=mask, other=0)
    tl.store(out + place, tl.load(x + lanes, mask=mask), mask=mask)  # [scatter]


def scattered(index):
    return {"x": tensor(8), "where": index, "out": tensor(8), "n": 8}


CASES.good("scatter by a recorded permutation", scatter,
             scattered(holding([3, 1, 0, 7, 6, 2, 5, 4])), {"BLOCK": 4}, (2,))  # fmt: skip
CASES.bad("scatter to one place from two programs", scatter,
            scattered(holding([3, 1, 0, 7, 6, 2, 7, 4])), {"BLOCK": 4}, (2,),
            race="scatter")  # fmt: skip
CASES.bad("scatter past the end", scatter,
            scattered(holding([3, 1, 0, 8, 6, 2, 5, 4])), {"BLOCK": 4}, (2,),
            out_of_bounds="scatter")  # fmt: skip
CASES.undecided("scatter by indices that were not recorded", scatter,
                  scattered(tensor(8, dtype="i32")), {"BLOCK": 4}, (2,), because="where",
                  out_of_bounds="scatter", race="scatter")  # fmt: skip


@triton.jit
def ragged(x, starts, out, BLOCK: tl.constexpr):
    """Rows of different lengths, one behind the other."""
    row = tl.program_id(0)
    begin = tl.load(starts + row)
    end = tl.load(starts + row + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(begin, end, BLOCK):
        lanes = at + tl.arange(0, BLOCK)
        total += tl.load(x + lanes, mask=lanes < end, other=0.0)  # [load]
    tl.store(out + row, tl.sum(total, axis=0))


def lengths(starts):
    return {"x": tensor(60), "starts": starts, "out": tensor(4)}


CASES.good("ragged rows", ragged, lengths(holding([0, 17, 17, 40, 60])), {"BLOCK": 16}, (4,))
CASES.bad("ragged rows, the last one too long", ragged, lengths(holding([0, 17, 17, 40, 61])),
            {"BLOCK": 16}, (4,), out_of_bounds="load")  # fmt: skip
CASES.undecided("ragged rows of unrecorded lengths", ragged, lengths(tensor(5, dtype="i32")),
                  {"BLOCK": 16}, (4,), because="starts", out_of_bounds="load")  # fmt: skip


@triton.jit
def on_a_flag(flag, x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    if tl.load(flag) > 0:
        tl.store(out + lanes, tl.load(x + lanes))  # [whole]
    else:
        tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def flagged(flag):
    return {"flag": flag, "x": tensor(50), "out": tensor(64), "n": 50}


CASES.bad("branch taken by a recorded flag", on_a_flag, flagged(holding([1])), {"BLOCK": 64},
            (1,), out_of_bounds="whole")  # fmt: skip
CASES.good("branch not taken by a recorded flag", on_a_flag, flagged(holding([0])),
             {"BLOCK": 64}, (1,))  # fmt: skip
CASES.undecided("branch on a flag that was not recorded", on_a_flag,
                  flagged(tensor(1, dtype="i32")), {"BLOCK": 64}, (1,), because="flag",
                  out_of_bounds="whole")  # fmt: skip


@triton.jit
def embedding(table, ids, out, columns, padding, BLOCK: tl.constexpr):
    """Rows of a table; the id for padding gives zeros."""
    word = tl.load(ids + tl.program_id(0))
    lanes = tl.arange(0, BLOCK)
    mask = (lanes < columns) & (word != padding)
    values = tl.load(table + word * columns + lanes, mask=mask, other=0.0)  # [row]
    tl.store(out + tl.program_id(0) * columns + lanes, values, mask=lanes < columns)


def words(ids):
    return {
        "table": tensor(30, 20), "ids": ids, "out": tensor(4, 20), "columns": 20, "padding": -100,
    }  # fmt: skip


CASES.good("rows of a table, one of them padding", embedding,
             words(holding([29, -100, 0, 7])), {"BLOCK": 32}, (4,))  # fmt: skip
CASES.bad("rows of a table, one of them another padding", embedding,
            words(holding([29, -1, 0, 7])), {"BLOCK": 32}, (4,), out_of_bounds="row")  # fmt: skip
CASES.undecided("rows of a table by unrecorded ids", embedding, words(tensor(4, dtype="i64")),
                  {"BLOCK": 32}, (4,), because="ids", out_of_bounds="row")  # fmt: skip


@triton.jit
def histogram(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    value = tl.load(x + lanes, mask=mask, other=0)
    tl.atomic_add(counts + value // BINS, 1, mask=mask)  # [add]


def counted(x):
    return {"x": x, "counts": tensor(4, dtype="i32"), "n": 8}


CASES.good("histogram of recorded numbers", histogram,
             counted(holding([0, 39, 12, 25, 25, 0, 39, 9])), {"BINS": 10, "BLOCK": 4},
             (2,))  # fmt: skip
CASES.bad("histogram, one number past the last bin", histogram,
            counted(holding([0, 39, 12, 25, 40, 0, 39, 9])), {"BINS": 10, "BLOCK": 4}, (2,),
            out_of_bounds="add")  # fmt: skip


@triton.jit
def search(sorted_keys, keys, out, n, INCLUSIVE: tl.constexpr):
    """Binary search of a key in each program."""
    key = tl.load(keys + tl.program_id(0))
    low, high = 0, n
    if INCLUSIVE:
        while low <= high:
            middle = (low + high) // 2  # [far middle]
            if tl.load(sorted_keys + middle) < key:  # [far probe]
                low = middle + 1  # [far low]
            else:
                high = middle - 1  # [far high]
    else:
        while low < high:
            middle = (low + high) // 2
            if tl.load(sorted_keys + middle) < key:  # [probe]
                low = middle + 1
            else:
                high = middle
    tl.store(out + tl.program_id(0), low)


SEARCH = {
    "sorted_keys": holding([1, 4, 9, 16, 25, 36, 49]), "keys": holding([0, 9, 10, 50]),
    "out": tensor(4, dtype="i32"), "n": 7,
}  # fmt: skip
CASES.good("binary search", search, SEARCH, {"INCLUSIVE": False}, (4,))
CASES.bad("binary search whose end is one too far", search, SEARCH, {"INCLUSIVE": True}, (4,),
            out_of_bounds="far probe",
            follows={"overflow": ("far middle", "far low", "far high")})  # fmt: skip


@triton.jit
def gather_sorted(x, chosen, out, BLOCK: tl.constexpr):
    """Indices put in order first: each compared with each, in a tower of selections."""
    lanes = tl.arange(0, BLOCK)
    where = tl.sort(tl.load(chosen + lanes))
    tl.store(out + lanes, tl.load(x + where))  # [gather]


def in_order(index):
    return {"x": tensor(50), "chosen": index, "out": tensor(*index.shape)}


CASES.good("gather by sorted indices", gather_sorted,
             in_order(holding([*range(49, -1, -1), *range(14)])), {"BLOCK": 64},
             (1,))  # fmt: skip
CASES.good("gather by a thousand sorted indices", gather_sorted,
             in_order(holding([i % 50 for i in range(1024)])), {"BLOCK": 1024},
             (1,))  # fmt: skip
CASES.bad("gather by sorted indices, one too large", gather_sorted,
            in_order(holding([*range(50, -1, -1), *range(13)])), {"BLOCK": 64}, (1,),
            out_of_bounds="gather")  # fmt: skip
CASES.undecided("gather by sorted indices that were not recorded", gather_sorted,
                  in_order(tensor(64, dtype="i32")), {"BLOCK": 64}, (1,), because="chosen",
                  out_of_bounds="gather")  # fmt: skip


@triton.jit
def route(x, chosen, out, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """As experts are routed: rows in order of their group, each key a group and a row."""
    lanes = tl.arange(0, BLOCK)
    group = tl.load(chosen + lanes, mask=lanes < n, other=GROUPS).to(tl.uint32)
    keys = tl.sort((group << 16) | lanes.to(tl.uint32))
    row = (keys & 0xFFFF).to(tl.int32)
    mask = row < n
    tl.store(out + lanes, tl.load(x + row, mask=mask), mask=mask)  # [row]


def routed(index, rows=1000):
    return {"x": tensor(rows), "chosen": index, "out": tensor(1024), "n": 1000}


CASES.good("rows in order of recorded groups", route,
             routed(holding([i % 7 for i in range(1000)])), {"GROUPS": 8, "BLOCK": 1024},
             (1,))  # fmt: skip
CASES.bad("rows in order of recorded groups, of a shorter tensor", route,
            routed(holding([i % 7 for i in range(1000)]), 999), {"GROUPS": 8, "BLOCK": 1024},
            (1,), out_of_bounds="row")  # fmt: skip


@triton.jit
def running_places(x, wanted, out, n, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    """Compaction: a running sum of flags says where each chosen value goes."""
    lanes = tl.arange(0, BLOCK)
    flag = tl.load(wanted + lanes, mask=lanes < n, other=0)
    if GUARD:
        flag = (flag != 0).to(tl.int32)
    place = tl.cumsum(flag, 0) - flag
    tl.store(out + place, tl.load(x + lanes, mask=lanes < n), mask=flag != 0)  # [place]


def compacted(flags, size=20):
    return {"x": tensor(50), "wanted": flags, "out": tensor(size), "n": 50}


CASES.good("compaction by recorded flags", running_places,
             compacted(holding([1, 0] * 20 + [0] * 10)), {"GUARD": True, "BLOCK": 64},
             (1,))  # fmt: skip
CASES.bad("compaction by recorded flags into too short a vector", running_places,
            compacted(holding([1, 0] * 20 + [0] * 9 + [1])), {"GUARD": True, "BLOCK": 64}, (1,),
            out_of_bounds="place")  # fmt: skip


@triton.jit(noinline=True)
def _fetch(x, place):
    return tl.load(x + place)  # [callee]


@triton.jit
def calling(x, out, n, limit):
    place = tl.program_id(0)
    if place < limit:
        tl.store(out + place % n, _fetch(x, place))


CALL = {"x": tensor(1000), "out": tensor(1000), "n": 1000}
CASES.good("load in a function that is not inlined", calling, CALL | {"limit": 1000}, {},
             (1000,))  # fmt: skip
CASES.bad("load in a function that is not inlined, limit too large", calling,
            CALL | {"limit": 1001, "out": tensor(1001), "n": 1001}, {}, (1001,),
            out_of_bounds="callee")  # fmt: skip


@triton.jit
def _inlined(x, place, limit):
    return tl.load(x + place, mask=place < limit, other=0.0)  # [inlined callee]


@triton.jit
def calling_inlined(x, out, n, limit, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, _inlined(x, lanes, limit), mask=lanes < n)


CASES.bad("load in a function that is inlined, limit too large", calling_inlined,
            CALL | {"limit": 1001}, {"BLOCK": 256}, (4,),
            out_of_bounds="inlined callee")  # fmt: skip
