"""Lanes of one program that touch the same bytes, with and without something that orders them."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("within")

#: Kernels of all themes whose lanes meet where data decides, or where other integers than those of
#: the rules that the labels are about: what may be unknown of lanes, by the marks of the stores.
MAY_BE_UNKNOWN = {
    "accept_greedy": ("bonus", "token"), "advance": ("length",), "apply_bits": ("logit",),
    "copy_pages": ("target",), "copy_states": ("target",), "expert_histogram": ("count",),
    "from_number": ("load",), "grouped_product": ("store",),
    "indexed": ("added", "count", "doubtful"), "looped": ("carried",), "move_slots": ("put",),
    "penalties": ("store",), "rounded_up": ("store",), "run_lengths": ("longest", "whole"),
    "share_out": ("done",), "shift_tokens": ("end", "left"), "slots_of_tokens": ("slot",),
    "update_convolution": ("moved",), "update_state": ("step",),
}  # fmt: skip

#: What says which lanes run: more than one warp has, so that a GPU can show what is wrong.
LANES = 512
ONE = (1,)


@triton.jit
def flipped(x, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    turned = tl.load(x + BLOCK - 1 - lanes)
    if HOW == "barrier":
        tl.debug_barrier()
    if HOW == "elsewhere":
        tl.store(out + lanes, turned)
    else:
        tl.store(x + lanes, turned)  # [store]


@triton.jit
def rotated(x, out, by, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes)  # [store]
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(out + lanes, tl.load(x + (lanes + by) % BLOCK))


@triton.jit
def transposed(x, HOW: tl.constexpr, SIDE: tl.constexpr):
    rows, columns = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    tile = tl.load(x + rows * SIDE + columns)
    if HOW == "barrier":
        tl.debug_barrier()
    if HOW == "values":
        tl.store(x + rows * SIDE + columns, tl.trans(tile))
    else:
        tl.store(x + columns * SIDE + rows, tile)  # [store]


@triton.jit
def counted(p, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    count = tl.load(p)
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(p, count + 1)  # [store]
    if HOW == "alone":
        tl.store(out + lanes, lanes)
    else:
        tl.store(out + lanes, count + lanes)


@triton.jit
def told(p, out, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(p, n)  # [store]
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(out + lanes, tl.load(p) + lanes)


@triton.jit
def carried(x, carry, out, tiles, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A sum carried from tile to tile through memory, by one number or by one a lane."""
    lanes = tl.arange(0, BLOCK)
    for tile in range(tiles):
        here = tl.load(x + tile * BLOCK + lanes)
        if HOW == "lanes":
            before = tl.load(carry + lanes)
            tl.store(out + tile * BLOCK + lanes, before + here)
            tl.store(carry + lanes, before + here)
        else:
            base = tl.load(carry)
            if HOW == "before" or HOW == "both":
                tl.debug_barrier()
            tl.store(out + tile * BLOCK + lanes, base + here)
            tl.store(carry, base + 1)  # [carry]
            if HOW == "after" or HOW == "both":
                tl.debug_barrier()


@triton.jit
def smoothed(x, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    left = tl.load(x + lanes - 1, mask=(lanes > 0) & (lanes < n), other=0)
    right = tl.load(x + lanes + 1, mask=lanes + 1 < n, other=0)
    if HOW == "barrier":
        tl.debug_barrier()
    if HOW == "even":
        tl.store(x + lanes, left + right, mask=(lanes < n) & (lanes % 2 == 7))
    else:
        tl.store(x + lanes, left + right, mask=lanes < n)  # [store]


@triton.jit
def odd_to_even(x, n, EVERY: tl.constexpr, BLOCK: tl.constexpr):
    """Even elements take what odd ones hold; EVERY: odd ones are stored, too."""
    lanes = tl.arange(0, BLOCK)
    even = (lanes % 2 == 0) & (lanes + 1 < n)
    given = tl.load(x + lanes + 1, mask=even, other=0)
    tl.store(x + lanes, given, mask=even if not EVERY else lanes < n)  # [store]


@triton.jit
def reshaped(scratch, out, HOW: tl.constexpr, SIDE: tl.constexpr):
    """A tile handed over through memory, row by row, and taken up column by column."""
    lanes = tl.arange(0, SIDE * SIDE)
    tl.store(scratch + lanes, lanes)  # [store]
    if HOW == "barrier":
        tl.debug_barrier()
    rows, columns = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    tile = tl.load(scratch + columns * SIDE + rows)
    tl.store(out + rows * SIDE + columns, tile)


@triton.jit
def branched(x, out, flag, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A barrier on one way only, or on both."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes)  # [store]
    if flag > 0:
        tl.debug_barrier()
    else:
        if HOW == "both":
            tl.debug_barrier()
    tl.store(out + lanes, tl.load(x + BLOCK - 1 - lanes))


@triton.jit
def looped_barrier(x, out, n, BLOCK: tl.constexpr):
    """The barrier is in a loop, which may have no trip."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes)  # [store]
    for _ in range(n):
        tl.debug_barrier()
    tl.store(out + lanes, tl.load(x + BLOCK - 1 - lanes))


@triton.jit
def cleared(x, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Two stores to one place: which stays?"""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, 0)  # [clear]
    if HOW == "barrier":
        tl.debug_barrier()
    if HOW == "lanes":
        tl.store(x + lanes, lanes + 1)
    elif HOW == "alike":
        tl.store(x + BLOCK - 1 - lanes, 0)
    else:
        tl.store(x + BLOCK - 1 - lanes, lanes + 1)  # [fill]


@triton.jit
def patched(x, out, at, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """One element is stored by itself, the others with it are loaded."""
    lanes = tl.arange(0, BLOCK)
    if HOW == "after":
        block = tl.load(x + lanes)
        tl.store(x + at, 100)  # [after]
    elif HOW == "masked":
        tl.store(x + at, 100)
        block = tl.load(x + lanes, mask=lanes != at, other=0)
    else:
        tl.store(x + at, 100)  # [before]
        if HOW == "barrier":
            tl.debug_barrier()
        block = tl.load(x + lanes)
    tl.store(out + lanes, block)


@triton.jit
def picked(x, out, at, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A block is stored, and one element of it is what all go on with."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes * 3)  # [store]
    if HOW == "barrier":
        tl.debug_barrier()
    one = tl.load(x + at)
    tl.store(out + lanes, one + lanes)


@triton.jit
def sliding(x, tiles, STEP: tl.constexpr, FAR: tl.constexpr, BLOCK: tl.constexpr):
    """Each tile is made of one that lies FAR behind it."""
    lanes = tl.arange(0, BLOCK)
    for tile in range(tiles):
        here = tl.load(x + tile * STEP + FAR + lanes)
        tl.store(x + tile * STEP + lanes, here + 1)  # [store]


@triton.jit
def scanned(x, STEPS: tl.constexpr, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Sums of all before, by steps that double."""
    lanes = tl.arange(0, BLOCK)
    for number in tl.static_range(STEPS):
        here = tl.load(x + lanes)
        there = tl.load(x + lanes - (1 << number), mask=lanes >= 1 << number, other=0)
        if HOW == "both" or HOW == "first":
            tl.debug_barrier()
        tl.store(x + lanes, here + there)  # [store]
        if HOW == "both" or HOW == "last":
            tl.debug_barrier()


@triton.jit
def ping_pong(buffers, out, trips, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Two buffers in turn: what was stored to one is loaded by other lanes while the next fills."""
    lanes = tl.arange(0, BLOCK)
    for trip in range(trips):
        mine = buffers + trip % 2 * BLOCK
        tl.store(mine + lanes, lanes + trip)  # [store]
        if HOW == "barrier":
            tl.debug_barrier()
        tl.store(out + trip * BLOCK + lanes, tl.load(mine + BLOCK - 1 - lanes))


@triton.jit
def turned_pairs(x, HALF: tl.constexpr, PAIRED: tl.constexpr):
    """Rotary embedding in place; PAIRED: it takes neighbors, and stores halves."""
    lanes = tl.arange(0, HALF)
    if PAIRED:
        a, b = tl.load(x + 2 * lanes), tl.load(x + 2 * lanes + 1)
    else:
        a, b = tl.load(x + lanes), tl.load(x + HALF + lanes)
    tl.store(x + lanes, a - b)  # [first]
    tl.store(x + HALF + lanes, a + b)  # [second]


@triton.jit
def from_first(x, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A block less its first element, in place."""
    lanes = tl.arange(0, BLOCK)
    first = tl.load(x)
    block = tl.load(x + lanes)
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(x + lanes, block - first)  # [store]


@triton.jit
def narrowed(x, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Words are stored and their halves loaded, in another block."""
    lanes, halves = tl.arange(0, BLOCK), tl.arange(0, 2 * BLOCK)
    tl.store(x + lanes, lanes * 65537)  # [store]
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(out + halves, tl.load(x.to(tl.pointer_type(tl.int16)) + halves))


@triton.jit
def overlapping(x, y, BLOCK: tl.constexpr):
    """From x to y, which may be views of one storage."""
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes) + 1)  # [store]


@triton.jit
def normalized(x, n, BLOCK: tl.constexpr):
    """A row in place, in two passes over it, each lane its own elements."""
    row = x + tl.program_id(0) * n
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(row + start + lanes, mask=start + lanes < n, other=0.0)
    mean = tl.sum(total, 0) / n
    for start in range(0, n, BLOCK):
        here = tl.load(row + start + lanes, mask=start + lanes < n, other=0.0)
        tl.store(row + start + lanes, here - mean, mask=start + lanes < n)


@triton.jit
def summed(scratch, out, BLOCK: tl.constexpr):
    """A sum lies between: it may be compiled to code with a barrier, or to code with none."""
    lanes = tl.arange(0, BLOCK)
    given = tl.load(out + lanes)
    tl.store(scratch + lanes, given)  # [store]
    total = tl.sum(given, 0)
    tl.store(out + lanes, tl.load(scratch + BLOCK - 1 - lanes) + total)


@triton.jit
def totaled(x, out, tiles, BLOCK: tl.constexpr):
    """One element is loaded, then sums of a loop, each with a barrier; then all are stored."""
    lanes = tl.arange(0, BLOCK)
    one = tl.load(x + 5)
    total = one
    for tile in range(tiles):
        total += tl.sum(tl.load(x + tile * BLOCK + lanes), 0)
    tl.store(x + lanes, 9 - lanes)  # [store]
    tl.store(out, total)


@triton.jit
def settled(x, out, turns, BLOCK: tl.constexpr):
    """Sums of what is in registers lie between: a loop with barriers that touches no memory."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes)  # [store]
    total = 1.0
    for _ in range(turns):
        total = tl.sum(lanes * total, 0) / BLOCK
    tl.store(out + lanes, tl.load(x + BLOCK - 1 - lanes) + total)


@triton.jit
def updated(p, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(p, 1)  # [add]
    tl.store(out + lanes, tl.load(p) + lanes)


@triton.jit
def exchanged(x, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Each lane takes the element whose number has all bits turned."""
    lanes = tl.arange(0, BLOCK)
    taken = tl.load(x + (lanes ^ (BLOCK - 1)))
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(x + lanes, taken)  # [store]


@triton.jit
def halved(x, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A sum by halves through memory, in a loop that is no `for`."""
    lanes = tl.arange(0, BLOCK)
    half = BLOCK // 2
    while half > 0:
        low = tl.load(x + lanes, mask=lanes < half)
        high = tl.load(x + lanes + half, mask=lanes < half)
        if HOW == "barrier":
            tl.debug_barrier()
        tl.store(x + lanes, low + high, mask=lanes < half)  # [store]
        if HOW == "barrier":
            tl.debug_barrier()
        half = half // 2


@triton.jit
def zeroed_then_added(x, HOW: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    if HOW == "same lanes":  # apart, so that no version stores four of them at once
        tl.store(x + 2 * lanes, 0)
        tl.atomic_add(x + 2 * lanes, 1)
    else:
        tl.store(x + lanes, 0)  # [zero]
        if HOW == "barrier":
            tl.debug_barrier()
        tl.atomic_add(x + BLOCK - 1 - lanes, 1)  # [add]


@triton.jit
def placed_by_counter(p, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A place is taken from a counter, which goes on at once."""
    lanes = tl.arange(0, BLOCK)
    place = tl.load(p)
    if HOW == "barrier":
        tl.debug_barrier()
    tl.store(p, place + BLOCK)  # [count]
    tl.store(out + place + lanes, lanes)


@triton.jit
def counted_experts(chosen, counts, ends, HOW: tl.constexpr, TOKENS: tl.constexpr,
                    EXPERTS: tl.constexpr):  # fmt: skip
    """Tokens of each expert, counted by one program: zeros, counts, sums, through memory."""
    experts = tl.arange(0, EXPERTS)
    tl.store(counts + experts, 0)  # [zeros]
    if HOW == "barriers":
        tl.debug_barrier()
    for token in range(TOKENS):
        count = counts + tl.load(chosen + token)
        tl.store(count, tl.load(count) + 1)  # [count]
    if HOW == "barriers":
        tl.debug_barrier()
    tl.store(ends + experts, tl.cumsum(tl.load(counts + experts), 0))


def block(**more):
    return {"x": tensor(LANES, dtype="i32"), "out": tensor(LANES, dtype="i32")} | more


def how(text="", **more):
    return {"HOW": text, "BLOCK": LANES} | more


def bad(name, kernel, arguments, constants, mark):
    CASES.bad(name, kernel, arguments, constants, ONE, race_within_program=mark)


def good(name, kernel, arguments, constants, **more):
    CASES.good(name, kernel, arguments, constants, ONE, **more)


SIDE = {"x": tensor(32, 32, dtype="i32")}
NUMBER = {"p": tensor(1, dtype="i32"), "out": tensor(LANES, dtype="i32")}
CARRY = {
    "x": tensor(8 * LANES, dtype="i32"), "carry": tensor(LANES, dtype="i32"),
    "out": tensor(8 * LANES, dtype="i32"), "tiles": 8,
}  # fmt: skip
TILE = {"scratch": tensor(32 * 32, dtype="i32"), "out": tensor(32, 32, dtype="i32")}
LINE = {"x": tensor(LANES, dtype="i32"), "n": LANES}
ROW = {"x": tensor(LANES, dtype="i32")}
LONG = {"x": tensor(9 * LANES, dtype="i32"), "tiles": 8}
TWO = {"buffers": tensor(2, LANES, dtype="i32"), "out": tensor(8 * LANES, dtype="i32"), "trips": 8}

bad("a block flipped in place", flipped, block(), how(), "store")
good("a block flipped in place, all loaded first", flipped, block(), how("barrier"))
good("a block flipped into another", flipped, block(), how("elsewhere"))
bad("a store, then a load by other lanes", rotated, block(by=1), how(), "store")
bad("a store, then a load by lanes half a block away", rotated, block(by=256), how(), "store")
good("a store, a barrier, then a load by other lanes", rotated, block(by=1), how("barrier"))
good("a store, then a load by the same lanes", rotated, block(by=0), how())
bad("a tile transposed in place", transposed, SIDE, {"HOW": "", "SIDE": 32}, "store")
good("a tile transposed in place, all loaded first", transposed, SIDE,
     {"HOW": "barrier", "SIDE": 32})  # fmt: skip
good("a tile transposed in registers", transposed, SIDE, {"HOW": "values", "SIDE": 32})
bad("a counter read, stored, and used by all lanes", counted, NUMBER, how(), "store")
good("a counter read by all before it is stored", counted, NUMBER, how("barrier"))
good("a counter that only its store uses", counted, NUMBER, how("alone"))
bad("a number stored, then loaded by all lanes", told, NUMBER | {"n": 7}, how(), "store")
good("a number stored, then loaded after a barrier", told, NUMBER | {"n": 7}, how("barrier"))
bad("a number carried through memory", carried, CARRY, how(), "carry")
bad("a number carried, the barrier before its store only", carried, CARRY, how("before"), "carry")
bad("a number carried, the barrier after its store only", carried, CARRY, how("after"), "carry")
good("a number carried, barriers on both sides of its store", carried, CARRY, how("both"))
good("a block carried, each lane its own", carried, CARRY, how("lanes"))
good("a number carried, of a single tile", carried, CARRY | {"tiles": 1}, how("before"))
bad("neighbors' sum in place", smoothed, LINE, how(), "store")
good("neighbors' sum in place, all loaded first", smoothed, LINE, how("barrier"))
bad("even elements from odd ones, all stored", odd_to_even, LINE,
    {"EVERY": True, "BLOCK": LANES}, "store")  # fmt: skip
good("even elements from odd ones", odd_to_even, LINE, {"EVERY": False, "BLOCK": LANES})
bad("scratch stored by rows and loaded by columns", reshaped, TILE,
    {"HOW": "", "SIDE": 32}, "store")  # fmt: skip
good("scratch stored by rows, a barrier, loaded by columns", reshaped, TILE,
     {"HOW": "barrier", "SIDE": 32})  # fmt: skip
bad("a barrier on the branch that is not taken", branched, block(flag=0), how(), "store")
good("a barrier on the branch that is taken", branched, block(flag=1), how())
good("a barrier on both branches", branched, block(flag=0), how("both"))
bad("a barrier in a loop without trips", looped_barrier, block(n=0), {"BLOCK": LANES}, "store")
good("a barrier in a loop of three trips", looped_barrier, block(n=3), {"BLOCK": LANES})
bad("cleared, then filled by other lanes", cleared, block(), how(), ("clear", "fill"))
good("cleared, a barrier, then filled by other lanes", cleared, block(), how("barrier"))
good("cleared, then filled by the same lanes", cleared, block(), how("lanes"))
bad("an element stored before its block is loaded", patched, block(at=300), how(), "before")
bad("an element stored after its block is loaded", patched, block(at=300), how("after"), "after")
good("an element stored, a barrier, its block loaded", patched, block(at=300), how("barrier"))
good("an element stored, the others loaded", patched, block(at=300), how("masked"))
bad("an element of a block that was just stored", picked, block(at=300), how(), "store")
good("an element of a block behind a barrier", picked, block(at=300), how("barrier"))
bad("a window that slides over what it stores", sliding, LONG,
    {"STEP": LANES, "FAR": 1, "BLOCK": LANES}, "store")  # fmt: skip
bad("tiles that take what a tile before has stored", sliding, LONG,
    {"STEP": 256, "FAR": 0, "BLOCK": LANES}, "store")  # fmt: skip
good("tiles in place, side by side", sliding, LONG, {"STEP": LANES, "FAR": 0, "BLOCK": LANES})
bad("sums by doubling without barriers", scanned, ROW, how(STEPS=4), "store")
bad("sums by doubling, a barrier before the store only", scanned, ROW, how("first", STEPS=4),
    "store")  # fmt: skip
bad("sums by doubling, a barrier after the store only", scanned, ROW, how("last", STEPS=4),
    "store")  # fmt: skip
good("sums by doubling, barriers on both sides", scanned, ROW, how("both", STEPS=4))
bad("two buffers without a barrier", ping_pong, TWO, how(), "store")
good("two buffers, a barrier a trip", ping_pong, TWO, how("barrier"))
bad("neighbors turned in place, stored as halves", turned_pairs, {"x": tensor(1024)},
    {"HALF": 512, "PAIRED": True}, ("first", "second"))  # fmt: skip
good("halves turned in place", turned_pairs, {"x": tensor(1024)}, {"HALF": 512, "PAIRED": False})
bad("a block less its first element, in place", from_first, ROW, how(), "store")
good("a block less its first element, all loaded first", from_first, ROW, how("barrier"))
bad("elements exchanged by all bits of their number", exchanged, ROW, how(), "store")
good("elements exchanged by all bits, all loaded first", exchanged, ROW, how("barrier"))
bad("a sum by halves in a while", halved, ROW, how(), "store")
good("a sum by halves in a while, barriers on both sides", halved, ROW, how("barrier"))
bad("zeroed, then added to by other lanes", zeroed_then_added, ROW, how(), ("zero", "add"))
good("zeroed, a barrier, then added to by other lanes", zeroed_then_added, ROW, how("barrier"))
APART = {"x": tensor(2 * LANES, dtype="i32")}
good("zeroed, then added to by the same lanes", zeroed_then_added, APART, how("same lanes"))
PLACED = {"p": holding([0]), "out": tensor(2 * LANES, dtype="i32")}
bad("a place from a counter that goes on at once", placed_by_counter, PLACED, how(), "count")
good("a place from a counter that all have read", placed_by_counter, PLACED, how("barrier"))
CHOSEN = {
    "chosen": holding([number % 7 for number in range(32)]), "counts": tensor(256, dtype="i32"),
    "ends": tensor(256, dtype="i32"),
}  # fmt: skip
EXPERTS = {"TOKENS": 32, "EXPERTS": 256}
bad("tokens of experts counted without barriers", counted_experts, CHOSEN,
    {"HOW": "", **EXPERTS}, ("zeros", "count"))  # fmt: skip
good("tokens of experts counted, barriers between", counted_experts, CHOSEN,
     {"HOW": "barriers", **EXPERTS})  # fmt: skip
WORDS = {"x": tensor(LANES, dtype="i32"), "out": tensor(2 * LANES, dtype="i16")}
bad("words stored, their halves loaded by other lanes", narrowed, WORDS, how(), "store")
good("words stored, a barrier, their halves loaded", narrowed, WORDS, how("barrier"))
bad("a view that lies one element on", overlapping,
    {"x": tensor(LANES, room=2000), "y": tensor(LANES, offset=1, shares="x")},
    {"BLOCK": LANES}, "store")  # fmt: skip
good("a view that lies a block on", overlapping,
     {"x": tensor(LANES, room=2000), "y": tensor(LANES, offset=LANES, shares="x")},
     {"BLOCK": LANES})  # fmt: skip
good("one tensor given twice", overlapping,
     {"x": tensor(LANES), "y": tensor(LANES, shares="x")}, {"BLOCK": LANES})  # fmt: skip
CASES.good("rows normalized in place", normalized, {"x": tensor(4, 1000), "n": 1000},
             {"BLOCK": 256}, (4,))  # fmt: skip
good("cleared twice with the same value", cleared, block(), how("alike"))
CASES.undecided("a sum lies between a store and a load by other lanes", summed,
                  {"scratch": tensor(LANES), "out": tensor(LANES)}, {"BLOCK": LANES}, ONE,
                  "the compiled code has one", race_within_program="store")  # fmt: skip
TOTAL = {"x": tensor(2 * LANES), "out": tensor(1)}
CASES.undecided("an element of what is stored after sums of a loop", totaled,
                  TOTAL | {"tiles": 2}, {"BLOCK": LANES}, ONE, "the compiled code has one",
                  race_within_program="store")  # fmt: skip
bad("an element of what is stored after sums of a loop of no trips", totaled,
    TOTAL | {"tiles": 0}, {"BLOCK": LANES}, "store")  # fmt: skip
CASES.undecided("sums of registers in a loop between a store and a load", settled,
                  {"x": tensor(LANES), "out": tensor(LANES), "turns": 3}, {"BLOCK": LANES}, ONE,
                  "the compiled code has one", race_within_program="store")  # fmt: skip
bad("a counter updated atomically and loaded plainly", updated, NUMBER, {"BLOCK": LANES}, "add")
