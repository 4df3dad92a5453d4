"""Launches whose programs touch the same bytes, or seem to."""

import torch
import triton
import triton.language as tl

from corpus.questions.races import Touch, between, cases_of, clash_free, same_end


def disjoint(stores, programs, kind="w"):
    """Return the truth for programs that store different values at the places `stores`."""
    return lambda: clash_free(
        Touch(0, p, kind, place, p) for p in range(programs) for place in stores(p)
    )


def last_reduces(
    *, lanes=2, barrier=True, releases=True, late=False, last=2, scalar=False, start=0
):
    """Return the truth for three programs that store, count, and of which the last adds up."""

    def made(program, lane):
        def body():
            if not late:
                yield "store", (program, lane), 1 + program
            if barrier:
                yield "bar", program, lanes
            if lane == 0:
                ticket = yield "add", "count", 1, releases
                if late:
                    yield "store", (program, 0), 1 + program
                if ticket == last:
                    total = 0
                    for other in range(3):
                        for place in range(1 if scalar else lanes):
                            total += yield "load", (other, place)
                    yield "store", "total", total

        return body

    if scalar:
        lanes = 1
    threads = [made(program, lane) for program in range(3) for lane in range(lanes)]
    memory = {(program, lane): 0 for program in range(3) for lane in range(lanes)}
    return lambda: same_end(threads, {**memory, "count": start, "total": 0})


def partials(start=0):
    return lambda: (
        torch.arange(384.0),
        torch.zeros(384),
        torch.full((1,), start, dtype=torch.int32),
        torch.zeros(128),
    )


@between(
    "last program adds up",
    True,
    "rows are stored, a barrier, a release; the last one acquires",
    partials(),
    last_reduces(),
    grid=(3,),
    LAST=2,
)
@between(
    "last but one adds up",
    False,
    "the program that counts second does not wait for the third",
    partials(),
    last_reduces(last=1),
    grid=(3,),
    LAST=1,
)
@between(
    "count that starts at 1",
    False,
    "the recorded count is 1, so that the second program takes itself for the last",
    partials(1),
    last_reduces(start=1),
    grid=(3,),
    LAST=2,
)
@between(
    "last program, no barrier",
    False,
    "other threads' stores may arrive after thread 0 has counted",
    partials(),
    last_reduces(barrier=False),
    grid=(3,),
    LAST=2,
    BARRIER=False,
)
@between(
    "last program, relaxed",
    False,
    "a relaxed count orders no stores",
    partials(),
    last_reduces(releases=False, barrier=False),
    grid=(3,),
    LAST=2,
    SEM="relaxed",
)
@between(
    "last program, scope of a CTA",
    False,
    "the programs are of different CTAs",
    partials(),
    grid=(3,),
    LAST=2,
    SCOPE="cta",
)
@between(
    "last program, counted first",
    False,
    "rows are stored after the count",
    partials(),
    last_reduces(late=True, barrier=False),
    grid=(3,),
    LAST=2,
    LATE=True,
)
@triton.jit
def last_program(
    source,
    partial,
    counter,
    total,
    LAST: tl.constexpr,
    BARRIER: tl.constexpr = True,
    SEM: tl.constexpr = "acq_rel",
    SCOPE: tl.constexpr = "gpu",
    LATE: tl.constexpr = False,
):
    pid = tl.program_id(0)
    lanes = tl.arange(0, 128)
    row = tl.load(source + pid * 128 + lanes) + 1
    if not LATE:
        tl.store(partial + pid * 128 + lanes, row)
    if BARRIER:
        tl.debug_barrier()
    ticket = tl.atomic_add(counter, 1, sem=SEM, scope=SCOPE)
    if LATE:
        tl.store(partial + pid * 128 + lanes, row)
    if ticket == LAST:
        added = tl.zeros((128,), tl.float32)
        for k in range(3):
            added += tl.load(partial + k * 128 + lanes)
        tl.store(total + lanes, added)
        tl.store(counter, 0)


@between(
    "last program, numbers",
    True,
    "thread 0 stores the number and counts",
    lambda: (
        torch.arange(384.0),
        torch.zeros(3),
        torch.zeros(1, dtype=torch.int32),
        torch.zeros(1),
    ),
    last_reduces(barrier=False, scalar=True),
    grid=(3,),
)
@triton.jit
def last_program_of_numbers(source, partial, counter, total):
    pid = tl.program_id(0)
    tl.store(partial + pid, tl.sum(tl.load(source + pid * 128 + tl.arange(0, 128))))
    if tl.atomic_add(counter, 1) == 2:
        added = 0.0
        for k in range(3):
            added += tl.load(partial + k)
        tl.store(total, added)


def locks(programs, lock_of, row_of):
    """Return the truth for programs that add to a row with one thread, under a lock."""

    def made(program):
        def body():
            lock, row = ("lock", lock_of(program)), ("row", row_of(program))
            while (yield "cas", lock, 0, 1, True) != 0:
                yield "wait", lock, 0
            yield "store", row, 1 + (yield "load", row)
            yield "add", lock, -1, True

        return body

    memory = {("lock", lock_of(p)): 0 for p in range(programs)} | {
        ("row", row_of(p)): 0 for p in range(programs)
    }
    return lambda: same_end([made(p) for p in range(programs)], memory)


def locked(*more):
    return lambda: (torch.zeros(4), torch.zeros(4, dtype=torch.int32), *more)


@between(
    "lock of each row",
    True,
    "programs of one row take one lock",
    locked(2, 2),
    locks(4, lambda p: p % 2, lambda p: p % 2),
    grid=(4,),
)
@between(
    "lock of another row",
    False,
    "programs 0 and 2 add to row 0 behind locks 0 and 2",
    locked(2, 4),
    locks(4, lambda p: p % 4, lambda p: p % 2),
    grid=(4,),
)
@triton.jit
def lock_rows(rows, lock, n, locks):
    pid = tl.program_id(0)
    mine = lock + pid % locks
    while tl.atomic_cas(mine, 0, 1) == 1:
        pass
    tl.store(rows + pid % n, tl.load(rows + pid % n) + 1)
    tl.atomic_xchg(mine, 0)


@between("unlocked by a store", False, "a plain store releases nothing", locked(), grid=(3,))
@triton.jit
def unlock_by_store(rows, lock):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(rows, tl.load(rows) + 1)
    tl.store(lock, 0)


@between(
    "lock around a block",
    True,
    "barriers hold all threads in the section",
    lambda: (torch.zeros(128), torch.zeros(1, dtype=torch.int32), True),
    grid=(3,),
)
@between(
    "lock around a block, no barrier",
    False,
    "thread 0 unlocks before other threads have stored",
    lambda: (torch.zeros(128), torch.zeros(1, dtype=torch.int32), False),
    grid=(3,),
)
@triton.jit
def lock_block(row, lock, BARRIER: tl.constexpr):
    lanes = tl.arange(0, 128)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(row + lanes, tl.load(row + lanes) + 1)
    if BARRIER:
        tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def shares(begin, end, programs):
    return disjoint(lambda p: range(begin(p), end(p)), programs)


def tiles(total, up):
    return lambda: (torch.zeros(16, dtype=torch.int32), total, up)


@between(
    "shares of five tiles",
    True,
    "a share begins where the one before ends",
    tiles(5, 0),
    shares(lambda p: p * 5 // 4, lambda p: (p + 1) * 5 // 4, 4),
    grid=(4,),
)
@between(
    "shares of five tiles, rounded up",
    False,
    "tile 1 is of programs 0 and 1",
    tiles(5, 3),
    shares(lambda p: p * 5 // 4, lambda p: ((p + 1) * 5 + 3) // 4, 4),
    grid=(4,),
)
@between(
    "shares of eight tiles, rounded up",
    True,
    "8 is a multiple of 4: nothing is rounded",
    tiles(8, 3),
    shares(lambda p: p * 8 // 4, lambda p: ((p + 1) * 8 + 3) // 4, 4),
    grid=(4,),
)
@triton.jit
def stream_shares(owner, tiles, up):
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    for tile in range(pid * tiles // programs, ((pid + 1) * tiles + up) // programs):
        tl.store(owner + tile, pid)


def grouped(size):
    def stores(p):
        group, width = p // (size * 2), size * 2
        rows = min(5 - group * size, size)
        return [(group * size + p % width % rows) * 2 + p % width // rows]

    return stores


@between(
    "grouped tiles",
    True,
    "the last group has fewer rows",
    lambda: (torch.zeros(64, dtype=torch.int32), 5, 2, True),
    disjoint(grouped(3), 10),
    grid=(10,),
)
@between(
    "grouped tiles, clipped",
    False,
    "rows beyond the last are clipped to it",
    lambda: (torch.zeros(64, dtype=torch.int32), 5, 2, False),
    disjoint(lambda p: [min(p // 6 * 3 + p % 6 % 3, 4) * 2 + p % 6 // 3], 12),
    grid=(12,),
)
@triton.jit
def group_tiles(owner, rows, columns, EXACT: tl.constexpr):
    pid = tl.program_id(0)
    group = pid // (3 * columns)
    height = min(rows - group * 3, 3) if EXACT else 3
    row = group * 3 + pid % (3 * columns) % height
    column = pid % (3 * columns) // height
    tl.store(owner + min(row, rows - 1) * columns + column, pid)


def narrow(stride):
    def made():
        return torch.zeros(256), stride

    return made


@between(
    "rows with padding",
    True,
    "rows of 3 at a distance of 4",
    narrow(4),
    disjoint(lambda p: range(p * 4, p * 4 + 4), 8),
    grid=(8,),
)
@between(
    "rows that overlap",
    False,
    "blocks of 4 at a distance of 3",
    narrow(3),
    disjoint(lambda p: range(p * 3, p * 3 + 4), 8),
    grid=(8,),
)
@between(
    "rows backwards",
    True,
    "a negative distance of 4",
    lambda: (torch.zeros(256)[128:], -4),
    disjoint(lambda p: range(-4 * p, 4 - 4 * p), 8),
    grid=(8,),
)
@triton.jit
def rows(out, stride):
    pid = tl.program_id(0)
    tl.store(out + pid * stride + tl.arange(0, 4), pid + 0.5)


@between(
    "rotation in place",
    False,
    "a program stores what its neighbor loads",
    lambda: (torch.arange(512.0), 0),
    grid=(4,),
)
@between(
    "rotation to the other half",
    True,
    "programs load from one half and store to the other",
    lambda: (torch.arange(1024.0), 512),
    lambda: not {*range(512)} & {*range(512, 1024)},
    grid=(4,),
)
@triton.jit
def rotate(x, target):
    pid = tl.program_id(0)
    lanes = tl.arange(0, 128)
    values = tl.load(x + (pid + 1) % tl.num_programs(0) * 128 + lanes)
    tl.store(x + target + pid * 128 + lanes, values)


@between(
    "index that wraps",
    False,
    "4 * 2^30 is 0: programs 0 and 4 store to one place",
    lambda: (torch.zeros(64), 0),
    disjoint(lambda p: [p * 2**30 % 2**32 >> 30], 8),
    grid=(8,),
)
@between(
    "index that would wrap",
    True,
    "64 bits hold 7 * 2^30",
    lambda: (torch.zeros(64), 1),
    disjoint(lambda p: [p], 8),
    grid=(8,),
)
@triton.jit
def wraps(x, WIDE: tl.constexpr):
    pid = tl.program_id(0)
    place = pid.to(tl.int64) if WIDE else pid.to(tl.uint32)
    tl.store(x + ((place * 1073741824) >> 30), pid + 1.0)


@between(
    "look-back",
    True,
    "a flag that releases hands a prefix to the next program",
    lambda: (torch.arange(4.0), torch.zeros(4), torch.zeros(5, dtype=torch.int32), False),
    grid=(4,),
)
@between(
    "look-back by volatile loads",
    False,
    "the flag is loaded without acquiring",
    lambda: (torch.arange(4.0), torch.zeros(4), torch.zeros(5, dtype=torch.int32), True),
    grid=(4,),
)
@triton.jit
def look_back(source, prefix, flags, PLAIN: tl.constexpr):
    pid = tl.program_id(0)
    total = tl.load(source + pid)
    if pid > 0:
        if PLAIN:
            while tl.load(flags + pid - 1, volatile=True) == 0:
                pass
        else:
            while tl.atomic_add(flags + pid - 1, 0) == 0:
                pass
        total += tl.load(prefix + pid - 1)
    tl.store(prefix + pid, total)
    tl.atomic_xchg(flags + pid, 1)


@between(
    "remainder of a source",
    True,
    "programs that meet store the same element of a source",
    lambda: (torch.arange(300.0), torch.zeros(300), 0),
    grid=(3,),
)
@between(
    "remainder and the program",
    False,
    "programs 0 and 2 store other numbers to one place",
    lambda: (torch.arange(300.0), torch.zeros(300), 1),
    disjoint(lambda p: [(p * 128 + i) % 300 for i in range(128)], 3),
    grid=(3,),
)
@triton.jit
def wrap_around(source, out, factor):
    pid = tl.program_id(0)
    places = (pid * 128 + tl.arange(0, 128)) % 300
    tl.store(out + places, tl.load(source + places) + pid * factor)


@between(
    "halves of bytes",
    False,
    "two programs change halves of one byte",
    lambda: (torch.zeros(4, dtype=torch.uint8), 2),
    disjoint(lambda p: [p // 2], 8),
    grid=(8,),
)
@between(
    "bytes",
    True,
    "each program changes its own byte",
    lambda: (torch.zeros(8, dtype=torch.uint8), 1),
    disjoint(lambda p: [p], 8),
    grid=(8,),
)
@triton.jit
def nibbles(packed, each):
    pid = tl.program_id(0)
    old = tl.load(packed + pid // each)
    tl.store(packed + pid // each, old | ((pid + 1) << (pid % each * 4)).to(tl.uint8))


@between(
    "bias beside atomics",
    False,
    "one program stores what others add to",
    lambda: (torch.zeros(128), True),
    lambda: clash_free([Touch(0, 0, "w", 0), *(Touch(0, p, "a", 0) for p in range(3))]),
    grid=(3,),
)
@between(
    "bias by an atomic",
    True,
    "all programs add",
    lambda: (torch.zeros(128), False),
    lambda: clash_free(Touch(0, p, "a", 0) for p in range(3)),
    grid=(3,),
)
@triton.jit
def split_k(out, STORED: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, 128)
    if pid == 0:
        if STORED:
            tl.store(out + lanes, 5.0 + lanes)
        else:
            tl.atomic_add(out + lanes, 5.0)
    tl.atomic_add(out + lanes, pid + 1.0)


@between(
    "stride of the grid",
    True,
    "each tile has one program",
    lambda: (torch.zeros(32, dtype=torch.int32), 20, 0),
    disjoint(lambda p: range(p, 20, 4), 4),
    grid=(4,),
)
@between(
    "stride of the grid less one",
    False,
    "program 3 begins where program 0 goes",
    lambda: (torch.zeros(32, dtype=torch.int32), 20, 1),
    disjoint(lambda p: range(p, 20, 3), 4),
    grid=(4,),
)
@triton.jit
def grid_stride(owner, tiles, less):
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0) - less, num_stages=3):
        tl.store(owner + tile, tl.program_id(0))


CASES = cases_of(__name__)
