"""Programs that touch the same bytes, with and without something that orders them."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("races")


@triton.jit
def split_depth(a, b, c, m, n, k, KIND: tl.constexpr, B: tl.constexpr, BK: tl.constexpr,
                SPLITS: tl.constexpr):  # fmt: skip
    """A matrix product whose depth is split between programs, which then meet in `c`."""
    tiles_across = tl.cdiv(n, B)
    rows = tl.program_id(0) // tiles_across * B + tl.arange(0, B)
    columns = tl.program_id(0) % tiles_across * B + tl.arange(0, B)
    part = tl.program_id(1)
    total = tl.zeros((B, B), tl.float32)
    for step in range(tl.cdiv(k, BK * SPLITS)):
        depth = (step * SPLITS + part) * BK + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * k + depth[None, :],
            mask=(rows[:, None] < m) & (depth[None, :] < k), other=0.0,
        )  # fmt: skip
        right = tl.load(
            b + depth[:, None] * n + columns[None, :],
            mask=(depth[:, None] < k) & (columns[None, :] < n), other=0.0,
        )  # fmt: skip
        total = tl.dot(left, right, total)
    place = c + rows[:, None] * n + columns[None, :]
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    if KIND == "atomic":
        tl.atomic_add(place, total, mask=mask)
    elif KIND == "store":
        tl.store(place, total, mask=mask)  # [store]
    elif KIND == "parts":
        tl.store(place + part * m * n, total, mask=mask)
    else:
        before = tl.load(place, mask=mask, other=0.0)
        tl.store(place, before + total, mask=mask)  # [add]


PRODUCT = {
    "a": tensor(40, 70), "b": tensor(70, 50), "c": tensor(40, 50), "m": 40, "n": 50, "k": 70,
}  # fmt: skip


def split(kind, splits):
    return {"KIND": kind, "B": 16, "BK": 16, "SPLITS": splits}


CASES.bad("split depth, stored by all", split_depth, PRODUCT, split("store", 2), (12, 2),
            race="store")  # fmt: skip
CASES.bad("split depth, loaded, added and stored", split_depth, PRODUCT, split("", 2), (12, 2),
            race="add")  # fmt: skip
CASES.good("split depth, added atomically", split_depth, PRODUCT, split("atomic", 2), (12, 2))
CASES.good("split depth into one part", split_depth, PRODUCT, split("store", 1), (12, 1))
CASES.good("split depth, each part stored apart", split_depth,
             PRODUCT | {"c": tensor(2, 40, 50)}, split("parts", 2), (12, 2))  # fmt: skip


@triton.jit
def neighbor(x, out, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x + lanes, mask=lanes < n, other=0.0)
    there = tl.load(x + lanes + SHIFT, mask=lanes + SHIFT < n, other=0.0)
    tl.store(out + lanes, here + there, mask=lanes < n)  # [store]


APART = {"x": tensor(1000), "out": tensor(1000), "n": 1000}
TOGETHER = {"x": tensor(1000), "out": tensor(1000, shares="x"), "n": 1000}
CASES.good("neighbor's sum into another tensor", neighbor, APART,
             {"SHIFT": 1, "BLOCK": 128}, (8,))  # fmt: skip
CASES.bad("neighbor's sum in place: input and output are one", neighbor, TOGETHER,
            {"SHIFT": 1, "BLOCK": 128}, (8,), race="store",
            race_within_program="store")  # fmt: skip
CASES.good("sum in place, each element from itself", neighbor, TOGETHER,
             {"SHIFT": 0, "BLOCK": 128}, (8,))  # fmt: skip
CASES.bad("neighbor's sum in place by one program", neighbor, TOGETHER | {"n": 100},
            {"SHIFT": 1, "BLOCK": 128}, (1,), race_within_program="store")  # fmt: skip
CASES.bad("output that begins inside the input", neighbor,
            {"x": tensor(1000, room=1100), "out": tensor(1000, offset=100, shares="x"),
             "n": 1000}, {"SHIFT": 0, "BLOCK": 128}, (8,), race="store",
            race_within_program="store")  # fmt: skip


@triton.jit
def overlapping_tiles(out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.program_id(0), mask=lanes < n)  # [store]


OUT = {"out": tensor(1000, dtype="i32"), "n": 1000}
CASES.good("tiles side by side", overlapping_tiles, OUT, {"STEP": 128, "BLOCK": 128}, (8,))
CASES.bad("tiles that overlap by one lane", overlapping_tiles, OUT,
            {"STEP": 127, "BLOCK": 128}, (8,), race="store")  # fmt: skip
CASES.bad("tiles that overlap because programs move too little", overlapping_tiles, OUT,
            {"STEP": 64, "BLOCK": 128}, (16,), race="store")  # fmt: skip


@triton.jit
def same_value(out, length, n, MINE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, lanes, mask=lanes < n)
    if MINE:
        tl.store(length, tl.program_id(0))  # [mine]
    else:
        tl.store(length, n)


FLAG = OUT | {"length": tensor(1, dtype="i32")}
CASES.good("all programs store the same value", same_value, FLAG,
             {"MINE": False, "BLOCK": 128}, (8,), meets=True,
             why="whoever is last, the value is n")  # fmt: skip
CASES.bad("all programs store their own number", same_value, FLAG,
            {"MINE": True, "BLOCK": 128}, (8,), race="mine")  # fmt: skip


@triton.jit
def partial_sums(x, out, n, PER: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0), axis=0)
    tl.store(out + tl.program_id(0) // PER, total)  # [store]


SUMS = {"x": tensor(1000), "out": tensor(8), "n": 1000}
CASES.good("a sum for each program", partial_sums, SUMS, {"PER": 1, "BLOCK": 128}, (8,))
CASES.bad("a sum for every two programs", partial_sums, SUMS, {"PER": 2, "BLOCK": 128}, (8,),
            race="store")  # fmt: skip


@triton.jit
def last_block(x, partial, counter, out, n, SEM: tl.constexpr, PROGRAMS: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """The program that finishes last adds up what the others have left."""
    program = tl.program_id(0)
    lanes = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + program, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))  # [leave]
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem=SEM) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))  # [collect]


LAST = {
    "x": tensor(1000), "partial": tensor(8), "counter": tensor(1, dtype="i32"),
    "out": tensor(1), "n": 1000,
}  # fmt: skip
CASES.good("the last program adds up what is left", last_block,
             LAST | {"counter": holding([0])}, {"SEM": "acq_rel", "PROGRAMS": 8, "BLOCK": 128},
             (8,), meets=True, why="the counter releases and acquires")  # fmt: skip
CASES.bad("the last program, with a relaxed counter", last_block,
            LAST | {"counter": holding([0])}, {"SEM": "relaxed", "PROGRAMS": 8, "BLOCK": 128},
            (8,), race="leave")  # fmt: skip


@triton.jit
def last_of_rows(x, partial, counter, out, HOW: tl.constexpr, PROGRAMS: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """As last_block, but each program leaves a row, which all of its threads store."""
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + program * BLOCK + lanes)
    if HOW == "stored behind the barrier":
        tl.debug_barrier()
    tl.store(partial + program * BLOCK + lanes, values * 2)  # [row]
    if HOW == "barrier":
        tl.debug_barrier()
    if tl.atomic_add(counter, 1) == PROGRAMS - 1:
        total = tl.zeros((BLOCK,), tl.float32)
        for row in range(PROGRAMS):
            total += tl.load(partial + row * BLOCK + lanes)
        tl.store(out + lanes, total)


ROWS_LEFT = {
    "x": tensor(8, 256), "partial": tensor(8, 256), "counter": holding([0]), "out": tensor(256),
}  # fmt: skip
CASES.good("the last program adds up rows, each left before a barrier", last_of_rows, ROWS_LEFT,
             {"HOW": "barrier", "PROGRAMS": 8, "BLOCK": 256}, (8,), meets=True,
             why="the barrier is before the thread that counts")  # fmt: skip
for how in ("no barrier", "stored behind the barrier"):
    CASES.bad(f"the last program adds up rows, {how}", last_of_rows, ROWS_LEFT,
                {"HOW": how, "PROGRAMS": 8, "BLOCK": 256}, (8,), race="row")  # fmt: skip


@triton.jit
def locked(x, lock, total, n, KIND: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Programs add rows into one of a few sums, each with a lock, as layer norm's backward does."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    mine = total + row % GROUPS * n + lanes
    if KIND == "too many locks":
        lock += row % (2 * GROUPS)
    else:
        lock += row % GROUPS
    values = tl.load(x + row * n + lanes, mask=mask)
    if KIND != "no lock":
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
    before = tl.load(mine, mask=mask)
    if KIND == "released too early":
        tl.atomic_xchg(lock, 0)
    tl.store(mine, before + values, mask=mask)  # [store]
    if (KIND == "right") or (KIND == "too many locks"):
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
    if KIND == "no barrier":
        tl.atomic_xchg(lock, 0)


LOCKED = {
    "x": tensor(12, 50), "lock": holding([0] * 8), "total": tensor(3, 50), "n": 50,
}  # fmt: skip


def lock(kind):
    return {"KIND": kind, "GROUPS": 3, "BLOCK": 64}


CASES.good("sums under a lock each", locked, LOCKED, lock("right"), (12,), meets=True,
             why="who has the lock is alone")  # fmt: skip
CASES.bad("sums without their lock", locked, LOCKED, lock("no lock"), (12,),
            race="store")  # fmt: skip
CASES.bad("two locks for one sum", locked, LOCKED, lock("too many locks"), (12,),
            race="store")  # fmt: skip
CASES.bad("lock released while other threads may still store", locked, LOCKED,
            lock("no barrier"), (12,), race="store")  # fmt: skip
CASES.bad("lock released before the store", locked, LOCKED, lock("released too early"), (12,),
            race="store")  # fmt: skip


@triton.jit
def counted(x, counts, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.sum(tl.load(x + lanes, mask=lanes < n, other=0), axis=0)
    slot = counts + tl.program_id(0) % 3
    if ATOMIC:
        tl.atomic_add(slot, value)
    else:
        tl.store(slot, tl.load(slot) + value)  # [store]


COUNTED = {"x": tensor(1000, dtype="i32"), "counts": tensor(3, dtype="i32"), "n": 1000}
CASES.good("counted atomically", counted, COUNTED, {"ATOMIC": True, "BLOCK": 128}, (8,))
CASES.bad("counted by load and store", counted, COUNTED, {"ATOMIC": False, "BLOCK": 128}, (8,),
            race="store")  # fmt: skip
CASES.good("counted by load and store, in slots of their own", counted, COUNTED,
             {"ATOMIC": False, "BLOCK": 128}, (3,))  # fmt: skip


@triton.jit
def added_then_read(x, total, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    if KIND == "cleared":
        tl.store(total, 0.0)  # [clear]
    before = tl.atomic_add(total, tl.sum(values, axis=0))
    if KIND == "read":
        before = tl.load(total)  # [read]
    tl.store(out + tl.program_id(0), before)


READ = {"x": tensor(1000), "total": tensor(1), "out": tensor(8), "n": 1000}
CASES.good("the value that an atomic sum had before", added_then_read, READ,
             {"KIND": "", "BLOCK": 128}, (8,))  # fmt: skip
CASES.bad("atomic sum, read without an atomic", added_then_read, READ,
            {"KIND": "read", "BLOCK": 128}, (8,), race="read")  # fmt: skip
CASES.bad("atomic sum that each program clears first", added_then_read, READ,
            {"KIND": "cleared", "BLOCK": 128}, (8,), race="clear")  # fmt: skip


@triton.jit
def transpose_in_place(x, n, PAIRS: tl.constexpr, B: tl.constexpr):
    """Each program swaps its tile with the mirrored one, or only writes its own."""
    row, column = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, B)
    mine = x + (row * B + lanes[:, None]) * n + column * B + lanes[None, :]
    other = x + (column * B + lanes[:, None]) * n + row * B + lanes[None, :]
    if PAIRS:
        if row <= column:
            first = tl.load(mine)
            second = tl.load(other)
            tl.store(mine, tl.trans(second))
            tl.store(other, tl.trans(first))
    else:
        tl.store(mine, tl.trans(tl.load(other)))  # [store]


SQUARE = {"x": tensor(64, 64), "n": 64}
CASES.good("transposed in place by pairs of tiles", transpose_in_place, SQUARE,
             {"PAIRS": True, "B": 16}, (4, 4))  # fmt: skip
CASES.bad("transposed in place, tile by tile", transpose_in_place, SQUARE,
            {"PAIRS": False, "B": 16}, (4, 4), race="store")  # fmt: skip


@triton.jit
def even_and_odd(x, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Reads odd elements, writes even ones: between each other, never the same."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    odd = tl.load(x + 2 * lanes + STEP, mask=2 * lanes + STEP < n, other=0.0)
    tl.store(x + 2 * lanes, odd, mask=2 * lanes < n)  # [store]


CASES.good("reads odd elements, writes even ones", even_and_odd, {"x": tensor(1000), "n": 1000},
             {"STEP": 3, "BLOCK": 64}, (8,))  # fmt: skip
CASES.bad("reads even elements of others, writes even ones", even_and_odd,
            {"x": tensor(1000), "n": 1000}, {"STEP": 2, "BLOCK": 64}, (8,),
            race="store", race_within_program="store")  # fmt: skip


@triton.jit
def one_program_writes(x, out, n, BLOCK: tl.constexpr, LATE: tl.constexpr):
    """Program 0 writes what all others read; nothing says that it is first."""
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    if program == 0:
        tl.store(x + lanes, lanes, mask=lanes < n)  # [write]
    if LATE:
        tl.store(out + program * BLOCK + lanes, lanes)
    else:
        tl.store(out + program * BLOCK + lanes, tl.load(x + lanes, mask=lanes < n, other=0))


FIRST = {"x": tensor(50, dtype="i32"), "out": tensor(4, 64, dtype="i32"), "n": 50}
CASES.bad("one program writes what all read", one_program_writes, FIRST,
            {"BLOCK": 64, "LATE": False}, (4,), race="write")  # fmt: skip
CASES.good("one program writes what nobody reads", one_program_writes, FIRST,
             {"BLOCK": 64, "LATE": True}, (4,))  # fmt: skip


@triton.jit
def once(x, out, columns, AXIS: tl.constexpr, BLOCK: tl.constexpr):
    """Every program along an axis of the grid does the same rows again."""
    row = tl.program_id(AXIS)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + lanes, mask=lanes < columns)
    tl.store(out + row * columns + lanes, values + tl.program_id(0), mask=lanes < columns)  # [row]


ROWS = {"x": tensor(6, 50), "out": tensor(6, 50), "columns": 50}
CASES.good("rows by the axis that the grid has", once, ROWS, {"AXIS": 0, "BLOCK": 64}, (6,))
CASES.bad("rows by the wrong axis of the grid", once, ROWS, {"AXIS": 1, "BLOCK": 64}, (3, 6),
            race="row")  # fmt: skip


@triton.jit
def loop_over_rows(out, rows, columns, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Programs take every STEP-th row; if that is not their number, they meet."""
    lanes = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, STEP):
        tl.store(out + row * columns + lanes, tl.program_id(0), mask=lanes < columns)  # [store]


STRIPED = {"out": tensor(20, 50, dtype="i32"), "rows": 20, "columns": 50}
CASES.good("rows in turn", loop_over_rows, STRIPED, {"STEP": 4, "BLOCK": 64}, (4,))
CASES.bad("rows in turn, with a step smaller than the grid", loop_over_rows, STRIPED,
            {"STEP": 3, "BLOCK": 64}, (4,), race="store")  # fmt: skip


@triton.jit
def wrapped_store(x, out, n, BLOCK: tl.constexpr, MASK: tl.constexpr):
    """Lanes past the end go around and meet the first ones."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes % n)
    if MASK:
        tl.store(out + lanes % n, values + tl.program_id(0), mask=lanes < n)
    else:
        tl.store(out + lanes % n, values + tl.program_id(0))  # [store]


CASES.bad("store around the end", wrapped_store, APART, {"BLOCK": 128, "MASK": False}, (8,),
            race="store")  # fmt: skip
CASES.good("store around the end, masked", wrapped_store, APART, {"BLOCK": 128, "MASK": True},
             (8,))  # fmt: skip
