"""Programs whose order depends on compiled code: layouts, and barriers of other ops.

Which barriers there are, and which threads have a lane, was read in the TTGIR and PTX that Triton
3.7.1 makes for cuda:90 with four warps.
"""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, itself, mirror, mirrored
from corpus.questions.races import (
    Touch,
    cases_of,
    clash_free,
    one_program,
    thread,
    within,
)


def numbers(*more):
    return lambda: (torch.arange(2048.0), *more)


@within(
    "sum over warps",
    True,
    "a sum over warps goes through shared memory, behind a barrier",
    numbers(0),
    mirrored("|"),
)
@within(
    "sum over warps in a branch",
    False,
    "the branch with the sum is not taken",
    numbers(1),
    mirrored(),
)
@triton.jit
def sum_between(x, n, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    total = 0.0
    if n == 0:
        total = tl.sum(values)
    tl.store(x + lanes, values + total)


@within(
    "sum within threads",
    False,
    "rows of four lanes are summed by one thread, without a barrier",
    numbers(),
    mirrored(),
)
@triton.jit
def row_sums(x):
    places = tl.arange(0, 128)[:, None] * 4 + tl.arange(0, 4)[None, :]
    values = tl.load(x + 511 - places)
    tl.store(x + places, values + tl.sum(values, axis=1)[:, None])


@within(
    "scan over warps",
    True,
    "a scan over warps goes through shared memory, behind a barrier",
    numbers(),
    lambda: one_program(B, ("r", itself), "|", ("w", lambda lane: (lane + 1) % B)),
)
@triton.jit
def scan_between(x, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + (lanes + 1) % BLOCK, tl.cumsum(tl.load(x + lanes)))


@within(
    "scan within threads",
    False,
    "rows of four lanes are scanned by one thread, without a barrier",
    numbers(),
    mirrored(),
)
@triton.jit
def scan_rows(x):
    places = tl.arange(0, 128)[:, None] * 4 + tl.arange(0, 4)[None, :]
    values = tl.cumsum(tl.load(x + 511 - places), axis=1)
    tl.store(x + places, values)


def replicas():
    loads = [Touch(0, copy * 32 + lane, "r", lane) for lane in range(32) for copy in range(4)]
    return clash_free([*loads, *(Touch(0, lane, "w", lane) for lane in range(32))])


@within(
    "sum that each warp makes",
    False,
    "each of four warps loads 32 elements for its own sum; one stores them",
    lambda: (torch.arange(32.0), torch.zeros(512)),
    replicas,
)
@triton.jit
def small_sum(x, out, BLOCK: tl.constexpr = 512):
    lanes_32 = tl.arange(0, 32)
    values = tl.load(x + lanes_32)
    tl.store(x + lanes_32, values + 1)
    tl.store(out + tl.arange(0, BLOCK), tl.sum(values) + tl.zeros((BLOCK,), tl.float32))


@within(
    "copy that one warp makes",
    True,
    "other warps load 32 elements, too, and drop them",
    lambda: (torch.arange(32.0),),
)
@triton.jit
def small_copy(x):
    lanes_32 = tl.arange(0, 32)
    tl.store(x + lanes_32, tl.load(x + lanes_32) + 1)


def counters(used):
    """Return the truth for threads that load a counter that thread 0 stores; all or 0 use it."""
    readers = range(128) if used else range(1)
    return lambda: clash_free([*(Touch(0, i, "r", 0) for i in readers), Touch(0, 0, "w", 0)])


def counted(used):
    return lambda: (torch.zeros(1), torch.zeros(512), used)


@within(
    "count of one thread",
    True,
    "the thread that stores the number has loaded it",
    counted(False),
    counters(False),
)
@within(
    "count of all threads",
    False,
    "a thread loads the number after another has changed it",
    counted(True),
    counters(True),
)
@triton.jit
def count(p, out, USED: tl.constexpr, BLOCK: tl.constexpr = 512):
    number = tl.load(p)
    tl.store(p, number + 1)
    if USED:
        tl.store(out + tl.arange(0, BLOCK), number + tl.zeros((BLOCK,), tl.float32))


@within(
    "count in a loop",
    True,
    "one thread loads, stores and loads again",
    lambda: (torch.zeros(1), 5),
    counters(False),
)
@triton.jit
def count_in_loop(p, trips):
    for k in range(trips):
        tl.store(p, tl.load(p) + k)


@within(
    "count that ends a loop",
    False,
    "whether a thread leaves depends on when it loads",
    lambda: (torch.zeros(1, dtype=torch.int32), torch.zeros(512)),
    counters(True),
)
@triton.jit
def count_ends_loop(p, out, BLOCK: tl.constexpr = 512):
    trips = 0
    while tl.load(p) < 3:
        tl.store(p, tl.load(p) + 1)
        trips += 1
    tl.store(out + tl.arange(0, BLOCK), trips + tl.zeros((BLOCK,), tl.float32))


def ticketed(used):
    steps = ("|",) if used else ()
    return lambda: one_program(B, ("w", itself), *steps, ("r", mirror))


def tickets(used):
    return lambda: (torch.zeros(512), torch.zeros(512), torch.zeros(1, dtype=torch.int32), used)


@within(
    "atomic's result is used",
    True,
    "its thread hands it to the others behind a barrier",
    tickets(True),
    ticketed(True),
)
@within(
    "atomic's result is dropped",
    False,
    "an atomic of one thread holds no other",
    tickets(False),
    ticketed(False),
)
@triton.jit
def atomic_between(x, out, counter, USED: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes + 1.0)
    ticket = tl.atomic_add(counter, 1)
    values = tl.load(x + BLOCK - 1 - lanes)
    if USED:
        values += ticket
    tl.store(out + lanes, values)


def layouts():
    stores = [Touch(0, thread(lane, each=1), "w", lane) for lane in range(B)]
    return clash_free([*stores, *(Touch(0, thread(lane), "r", lane) for lane in range(B))])


@within(
    "same lanes, other threads",
    False,
    "a scatter has one element a thread in a row, a load four",
    lambda: (torch.zeros(512), torch.arange(512, dtype=torch.int32), torch.zeros(512)),
    layouts,
)
@triton.jit
def scatter(x, index, out, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    places = tl.load(index + lanes)
    tl.store(x + places, places + 1.0)
    tl.store(out + lanes, tl.load(x + lanes))


@within(
    "a tile, then a row",
    True,
    "by both layouts a thread has the same four elements",
    lambda: (torch.zeros(512), torch.zeros(512)),
    lambda: one_program(B, ("w", itself), ("r", itself)),
)
@triton.jit
def tile_and_row(x, out):
    places = tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(x + places, places + 1.0)
    lanes = tl.arange(0, 512)
    tl.store(out + lanes, tl.load(x + lanes))


@within(
    "transposed in place",
    True,
    "the tile changes its layout in shared memory, behind a barrier",
    lambda: (torch.arange(4096.0),),
    lambda: one_program(4096, ("r", itself), "|", ("w", lambda i: i % 64 * 64 + i // 64)),
)
@triton.jit
def transpose(x):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    values = tl.load(x + i * 64 + j)
    tl.store(x + j * 64 + i, values)


@within(
    "rows swapped in place",
    False,
    "no layout changes, so that there is no barrier",
    lambda: (torch.arange(4096.0),),
    lambda: one_program(4096, ("r", itself), ("w", lambda i: (63 - i // 64) * 64 + i % 64)),
)
@triton.jit
def swap_rows(x):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    values = tl.load(x + i * 64 + j)
    tl.store(x + (63 - i) * 64 + j, values)


@within(
    "sorted, then mirrored",
    True,
    "sorting moves elements over warps, behind barriers",
    numbers(),
    mirrored("|"),
)
@triton.jit
def sort_between(x, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + BLOCK - 1 - lanes, tl.sort(tl.load(x + lanes)))


@within(
    "volatile",
    False,
    "volatile loads and write-through stores have no order among threads",
    numbers(),
    mirrored(),
)
@triton.jit
def volatile(x, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes, volatile=True)
    tl.store(x + lanes, values, cache_modifier=".wt")


@within(
    "same lanes, other caches",
    True,
    "a thread loads what it stored, whatever the caches",
    numbers(),
    lambda: one_program(B, ("w", itself), ("r", itself)),
)
@triton.jit
def caches(x, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes + 1.0, cache_modifier=".cs")
    values = tl.load(x + lanes, cache_modifier=".cg")
    tl.store(x + 512 + lanes, values)


def exchanged(*between):
    return lambda: one_program(B, ("r", lambda lane: lane ^ 256), *between, ("w", itself))


@within(
    "exchange by xor", False, "lanes of other warps exchange elements", numbers(False), exchanged()
)
@within(
    "exchange by xor, barrier",
    True,
    "all have loaded before any stores",
    numbers(True),
    exchanged("|"),
)
@triton.jit
def exchange(x, BARRIER: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes ^ 256))
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + lanes, values)


def twice(second):
    stores = [Touch(0, thread(lane), "w", lane, lane) for lane in range(B)]
    return lambda: clash_free(
        [*stores, *(Touch(0, thread(lane), "w", mirror(lane), second(lane)) for lane in range(B))]
    )


@within(
    "equal stores", True, "both stores leave a place's own number", numbers(True), twice(mirror)
)
@within(
    "other stores", False, "the second store leaves another number", numbers(False), twice(itself)
)
@triton.jit
def stores(x, EQUAL: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes)
    mirrored = BLOCK - 1 - lanes
    tl.store(x + mirrored, mirrored if EQUAL else lanes)


@within(
    "product between",
    True,
    "operands of the product lie in shared memory, behind a barrier",
    lambda: (torch.ones(64, 64, dtype=torch.float16),),
    lambda: one_program(4096, ("r", itself), "|", ("w", lambda i: 4095 - i)),
)
@triton.jit
def product(x):
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    tile = tl.load(x + i * 64 + j)
    result = tl.dot(tile, tile)
    tl.store(x + (63 - i) * 64 + 63 - j, result.to(tl.float16))


@within(
    "update of statistics",
    False,
    "warps load a row's number, one stores it, and all use it",
    lambda: (torch.ones(32), torch.zeros(32, 64)),
    replicas,
)
@triton.jit
def statistics(largest, out):
    rows = tl.arange(0, 32)
    old = tl.load(largest + rows)
    tl.store(largest + rows, old * 2)
    places = rows[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(out + places, old[:, None] + places)


CASES = cases_of(__name__)
