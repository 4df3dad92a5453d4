"""Second attack on programs of one launch: places, locks, handshakes, memory orders, views."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.races import (
    Operation,
    Touch,
    between,
    cases_of,
    clash_free,
    outcomes,
    within,
)

Body = Callable[[], Generator[Operation, Any, None]]


def _stores(count: int, places: Callable[[int], Iterable[int]]) -> Callable[[], bool]:
    """Return the truth for `count` programs that store different numbers at their `places`."""
    return lambda: clash_free(
        Touch(0, program, "w", place, program)
        for program in range(count)
        for place in places(program)
    )


def _zeros(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(count, dtype=dtype)


def _ints(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int32)


def _truncated(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


@between(
    "second-division-toward-0",
    False,
    "(3 p - 4) / 3 is 0 on a device for p = 1 and p = 2",
    lambda: (_ints(16),),
    _stores(6, lambda p: [_truncated(3 * p - 4, 3) + 2]),
    grid=(6,),
    FIRST=4,
)
@between(
    "second-division-of-positive",
    True,
    "(3 p) / 3 is p",
    lambda: (_ints(16),),
    _stores(6, lambda p: [p + 2]),
    grid=(6,),
    FIRST=0,
)
@triton.jit
def divided(x, FIRST: tl.constexpr):
    p = tl.program_id(0)
    tl.store(x + (3 * p - FIRST) // 3 + 2, p)


@between(
    "second-remainder-of-negative",
    True,
    "(p - 4) % 8 is -4 to -1 on a device for the first four programs",
    lambda: (_ints(16),),
    _stores(12, lambda p: [p if p < 4 else 4 + (p - 4) % 8]),
    grid=(12,),
)
@between(
    "second-remainder-of-one-more",
    False,
    "programs 4 and 12 store at 4",
    lambda: (_ints(16),),
    _stores(13, lambda p: [p if p < 4 else 4 + (p - 4) % 8]),
    grid=(13,),
)
@triton.jit
def remainders(x):
    p = tl.program_id(0)
    tl.store(x + (p - 4) % 8 + 4, p)


@between(
    "second-program-in-8-bits",
    True,
    "200 programs have 200 numbers of 8 bits",
    lambda: (_ints(256),),
    _stores(200, lambda p: [(p + 128) % 256]),
    grid=(200,),
)
@between(
    "second-program-in-8-bits-twice",
    False,
    "programs 0 and 256 are one number",
    lambda: (_ints(256),),
    _stores(257, lambda p: [(p + 128) % 256]),
    grid=(257,),
)
@triton.jit
def eight_bits(x):
    p = tl.program_id(0)
    tl.store(x + p.to(tl.int8).to(tl.int32) + 128, p)


@between(
    "second-xor-of-programs",
    True,
    "p ^ 5 is a permutation",
    lambda: (_ints(16),),
    _stores(8, lambda p: [p ^ 5]),
    grid=(8,),
    AND=15,
)
@between(
    "second-and-of-programs",
    False,
    "a bit is lost",
    lambda: (_ints(16),),
    _stores(8, lambda p: [(p ^ 5) & 13]),
    grid=(8,),
    AND=13,
)
@triton.jit
def mixed(x, AND: tl.constexpr):
    p = tl.program_id(0)
    tl.store(x + ((p ^ 5) & AND), p)


@between(
    "second-reversed-bits",
    True,
    "reversed bits are a permutation",
    lambda: (_ints(8),),
    _stores(8, lambda p: [int(f"{p:03b}"[::-1], 2)]),
    grid=(8,),
)
@triton.jit
def reversed_bits(x):
    p = tl.program_id(0)
    tl.store(x + (((p & 1) << 2) | (p & 2) | ((p >> 2) & 1)), p)


@between(
    "second-by-five-of-16",
    True,
    "5 p % 16 is a permutation",
    lambda: (_ints(16),),
    _stores(16, lambda p: [p * 5 % 16]),
    grid=(16,),
    BY=5,
)
@between(
    "second-by-six-of-16",
    False,
    "6 p % 16 meets after 8 programs",
    lambda: (_ints(16),),
    _stores(16, lambda p: [p * 6 % 16]),
    grid=(16,),
    BY=6,
)
@triton.jit
def by_number(x, BY: tl.constexpr):
    p = tl.program_id(0)
    tl.store(x + p * BY % 16, p)


@between(
    "second-rows-of-a-grid",
    True,
    "a row has as many programs as it has elements",
    lambda: (_ints(16), 4),
    _stores(12, lambda p: [p % 4 + p // 4 * 4]),
    grid=(4, 3),
)
@between(
    "second-rows-too-near",
    False,
    "the last program of a row stores where the next row begins",
    lambda: (_ints(16), 3),
    _stores(12, lambda p: [p % 4 + p // 4 * 3]),
    grid=(4, 3),
)
@between(
    "second-stride-of-0",
    False,
    "all rows are one",
    lambda: (_ints(16), 0),
    _stores(12, lambda p: [p % 4]),
    grid=(4, 3),
)
@between(
    "second-stride-below-0",
    True,
    "rows go backwards",
    lambda: (_ints(16)[12:], -4),
    _stores(12, lambda p: [12 + p % 4 - p // 4 * 4]),
    grid=(4, 3),
)
@triton.jit
def grid_rows(x, stride):
    place = tl.program_id(0) + tl.program_id(1) * stride
    tl.store(x + place, tl.program_id(1) * 10 + tl.program_id(0))


def _shifted(n: int, count: int) -> Callable[[], bool]:
    def free() -> bool:
        starts = [min(p * 64, n - 64) for p in range(count)]
        return clash_free(
            Touch(0, p, "w", start + k, start + k)
            for p, start in enumerate(starts)
            for k in range(64)
        )

    return free


@between(
    "second-shifted-back",
    True,
    "the last block overlaps the one before and stores the same numbers",
    lambda: (torch.arange(200.0), _zeros(200), 200),
    _shifted(200, 4),
    grid=(4,),
)
@between(
    "second-shifted-back-in-place",
    False,
    "the overlapping elements are doubled twice, or once",
    lambda: ((base := torch.arange(200.0)), base, 200),
    grid=(4,),
)
@triton.jit
def shifted_back(x, out, n):
    start = tl.minimum(tl.program_id(0) * 64, n - 64)
    i = start + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i) * 2)


@between(
    "second-own-number-twice",
    True,
    "programs 2 k and 2 k + 1 store k",
    lambda: (_ints(8),),
    lambda: clash_free(Touch(0, p, "w", p // 2, p // 2) for p in range(8)),
    grid=(8,),
    BY=2,
)
@between(
    "second-two-numbers-in-a-place",
    False,
    "programs 2 k and 2 k + 1 store p // 3, which may differ",
    lambda: (_ints(8),),
    lambda: clash_free(Touch(0, p, "w", p // 2, p // 3) for p in range(8)),
    grid=(8,),
    BY=3,
)
@triton.jit
def numbers(x, BY: tl.constexpr):
    p = tl.program_id(0)
    tl.store(x + p // 2, p // BY)


@between(
    "second-both-triangles",
    True,
    "program (i, j) with i >= j stores (i, j) and (j, i)",
    lambda: (_ints(16),),
    lambda: clash_free(
        Touch(0, 4 * i + j, "w", place, i * 10 + j)
        for i in range(4)
        for j in range(i + 1)
        for place in (4 * i + j, 4 * j + i)
    ),
    grid=(4, 4),
    STRICT=True,
)
@between(
    "second-both-triangles-twice",
    False,
    "programs (i, j) and (j, i) store both places",
    lambda: (_ints(16),),
    lambda: clash_free(
        Touch(0, 4 * i + j, "w", place, i * 10 + j)
        for i in range(4)
        for j in range(4)
        for place in (4 * i + j, 4 * j + i)
    ),
    grid=(4, 4),
    STRICT=False,
)
@triton.jit
def triangles(x, STRICT: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    if (not STRICT) or i >= j:
        tl.store(x + i * 4 + j, i * 10 + j)
        tl.store(x + j * 4 + i, i * 10 + j)


def _tiles(step: int, total: int) -> Callable[[], bool]:
    return _stores(4, lambda p: range(p, total, step))


@between(
    "second-tiles-of-four",
    True,
    "4 programs take every 4th tile",
    lambda: (_ints(16), 10, 4),
    _tiles(4, 10),
    grid=(4,),
)
@between(
    "second-tiles-of-three",
    False,
    "4 programs take every third tile",
    lambda: (_ints(16), 10, 3),
    _tiles(3, 10),
    grid=(4,),
)
@between(
    "second-three-tiles-of-three",
    True,
    "there are 3 tiles, and program 3 has none",
    lambda: (_ints(16), 3, 3),
    _tiles(3, 3),
    grid=(4,),
)
@triton.jit
def tiles(x, count, step):
    for t in range(tl.program_id(0), count, step):
        tl.store(x + t, tl.program_id(0))


def _locked(
    acquires: bool, releases: bool, *, same: bool = True, plain: bool = False
) -> Callable[[], bool]:
    """Return the truth for two programs that increment a counter under a lock."""

    def program(number: int) -> Body:
        lock = "lock" if same else f"lock {number}"

        def body() -> Generator[Operation, Any, None]:
            while (yield "cas", lock, 0, 1, False):
                yield "wait", lock, 0
            count = yield "load", "count"
            yield "store", "count", count + 1
            if plain:
                yield "store", lock, 0
            else:
                yield "add", lock, -1, releases

        return body

    if not acquires:
        return lambda: False  # by reading: the load may be done before the lock is taken
    return lambda: (
        {
            dict(final_memory)["count"]
            for final_memory in outcomes(
                [program(0), program(1)],
                {"lock": 0, "lock 0": 0, "lock 1": 0, "count": 0},
            )
        }
        == {2}
    )


@between(
    "second-lock",
    True,
    "the lock acquires and releases, and a barrier is before the release",
    lambda: (_ints(2), _ints(1)),
    _locked(True, True),
    grid=(4,),
    TAKE="acquire",
    GIVE="release",
    LOCKS=1,
)
@between(
    "second-lock-that-takes-relaxed",
    False,
    "what is loaded may be older than the lock",
    lambda: (_ints(2), _ints(1)),
    _locked(False, True),
    grid=(4,),
    TAKE="relaxed",
    GIVE="release",
    LOCKS=1,
)
@between(
    "second-lock-that-gives-relaxed",
    False,
    "what is stored may arrive after the lock was given back",
    lambda: (_ints(2), _ints(1)),
    _locked(True, False),
    grid=(4,),
    TAKE="acquire",
    GIVE="relaxed",
    LOCKS=1,
)
@between(
    "second-two-locks-for-one-count",
    False,
    "even and odd programs take different locks",
    lambda: (_ints(2), _ints(1)),
    _locked(True, True, same=False),
    grid=(4,),
    TAKE="acquire",
    GIVE="release",
    LOCKS=2,
)
@triton.jit
def locked(lock, count, TAKE: tl.constexpr, GIVE: tl.constexpr, LOCKS: tl.constexpr):
    own = lock + tl.program_id(0) % LOCKS
    while tl.atomic_cas(own, 0, 1, sem=TAKE) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(own, 0, sem=GIVE)


@between(
    "second-lock-of-a-cta",
    False,
    "the lock's scope is one CTA, and programs are different ones",
    lambda: (_ints(1), _ints(1)),
    grid=(4,),
    SCOPE="cta",
)
@between(
    "second-lock-of-the-system",
    True,
    "the scope is larger than necessary",
    lambda: (_ints(1), _ints(1)),
    _locked(True, True),
    grid=(4,),
    SCOPE="sys",
)
@triton.jit
def scoped(lock, count, SCOPE: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1, sem="acq_rel", scope=SCOPE) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="acq_rel", scope=SCOPE)


@between(
    "second-lock-given-back-by-a-store",
    False,
    "a plain store releases nothing",
    lambda: (_ints(1), _ints(1)),
    _locked(True, False, plain=True),
    grid=(4,),
)
@triton.jit
def plainly_given(lock, count):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.store(lock, 0)


@between(
    "second-row-under-a-lock",
    True,
    "all threads have stored before the release",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
    BARRIER=True,
)
@between(
    "second-row-under-a-lock-without-a-barrier",
    False,
    "one thread gives back what others still store into",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
    BARRIER=False,
)
@triton.jit
def row_locked(lock, row, BARRIER: tl.constexpr):
    lane = tl.arange(0, 1024)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(row + lane, tl.load(row + lane) + 1)
    if BARRIER:
        tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@between(
    "second-in-turn",
    True,
    "a program waits for its number, which the one before releases",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
    EARLY=0,
    GIVE="release",
)
@between(
    "second-in-turn-one-early",
    False,
    "programs p and p + 1 may both be let in",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
    EARLY=1,
    GIVE="release",
)
@between(
    "second-in-turn-relaxed",
    False,
    "the next program may not see what was stored",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
    EARLY=0,
    GIVE="relaxed",
)
@triton.jit
def in_turn(turn, row, EARLY: tl.constexpr, GIVE: tl.constexpr):
    lane = tl.arange(0, 1024)
    while tl.atomic_add(turn, 0, sem="acquire") < tl.program_id(0) - EARLY:
        pass
    tl.store(row + lane, tl.load(row + lane) * 2 + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_add(turn, 1, sem=GIVE)


@between(
    "second-turn-polled-by-a-load",
    False,
    "a volatile load acquires nothing",
    lambda: (_ints(1), _zeros(1024)),
    grid=(4,),
)
@triton.jit
def polled(turn, row):
    lane = tl.arange(0, 1024)
    while tl.load(turn, volatile=True) < tl.program_id(0):
        pass
    tl.store(row + lane, tl.load(row + lane) * 2 + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_add(turn, 1, sem="release")


@between(
    "second-last-reduces",
    True,
    "a barrier is before the count, and the count acquires",
    lambda: (_ints(1), _zeros(1024), _zeros(1)),
    grid=(4,),
    SEM="acq_rel",
    LAST=3,
)
@between(
    "second-last-reduces-relaxed",
    False,
    "a relaxed count orders nothing",
    lambda: (_ints(1), _zeros(1024), _zeros(1)),
    grid=(4,),
    SEM="relaxed",
    LAST=3,
)
@between(
    "second-last-but-one-reduces",
    False,
    "one program is still storing",
    lambda: (_ints(1), _zeros(1024), _zeros(1)),
    grid=(4,),
    SEM="acq_rel",
    LAST=2,
)
@triton.jit
def last_reduces(counter, parts, out, SEM: tl.constexpr, LAST: tl.constexpr):
    lane = tl.arange(0, 256)
    tl.store(parts + tl.program_id(0) * 256 + lane, lane * 1.0)
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem=SEM) == LAST:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, 1024))))


@between(
    "second-next-row",
    False,
    "a program loads the row that the next one stores",
    lambda: (_zeros(1024 * 5),),
    lambda: clash_free(
        touch for p in range(4) for touch in (Touch(0, p, "r", p + 1), Touch(0, p, "w", p))
    ),
    grid=(4,),
)
@between(
    "second-next-row-of-one-program",
    True,
    "no program stores the row that the only one loads",
    lambda: (_zeros(1024 * 5),),
    lambda: clash_free([Touch(0, 0, "r", 1), Touch(0, 0, "w", 0)]),
    grid=(1,),
)
@triton.jit
def next_row(x):
    p, lane = tl.program_id(0), tl.arange(0, 1024)
    tl.store(x + p * 1024 + lane, tl.load(x + (p + 1) * 1024 + lane) + 1)


@between(
    "second-two-views",
    False,
    "left's last element is right's first",
    lambda: ((base := _ints(9))[:5], base[4:]),
    _stores(2, lambda p: range(4 * p, 4 * p + 5)),
    grid=(2,),
    N=5,
)
@between(
    "second-two-views-apart",
    True,
    "left ends where right begins",
    lambda: ((base := _ints(9))[:5], base[4:]),
    _stores(2, lambda p: range(4 * p, 4 * p + 4)),
    grid=(2,),
    N=4,
)
@triton.jit
def views(left, right, N: tl.constexpr):
    lane = tl.arange(0, 8)
    if tl.program_id(0) == 0:
        tl.store(left + lane, 1, mask=lane < N)
    else:
        tl.store(right + lane, 2, mask=lane < N)


@between(
    "second-atomics-of-two-widths",
    False,
    "an atomic of 64 bits and one of 32 share four bytes",
    lambda: ((base := _ints(4)), base.view(torch.int64)),
    grid=(2,),
)
@triton.jit
def two_widths(x, wide):
    if tl.program_id(0) == 0:
        tl.atomic_add(x, 1)
    else:
        tl.atomic_add(wide, 1)


@between(
    "second-store-beside-atomics",
    False,
    "program 0 sets what others add to",
    lambda: (_ints(4),),
    lambda: clash_free([Touch(0, 0, "w", 0), *(Touch(0, p, "a", 0) for p in (1, 2, 3))]),
    grid=(4,),
)
@triton.jit
def set_and_added(x):
    if tl.program_id(0) == 0:
        tl.store(x, 10)
    else:
        tl.atomic_add(x, 1)


@between(
    "second-scatter-of-one-number",
    True,
    "recorded indices meet, and all store 1",
    lambda: (_ints(8), torch.tensor([3, 5, 3, 1], dtype=torch.int32)),
    lambda: clash_free(Touch(0, p, "w", place, 1) for p, place in enumerate([3, 5, 3, 1])),
    grid=(4,),
    ONE=True,
)
@between(
    "second-scatter-of-numbers",
    False,
    "recorded indices meet, and programs store their own numbers",
    lambda: (_ints(8), torch.tensor([3, 5, 3, 1], dtype=torch.int32)),
    lambda: clash_free(Touch(0, p, "w", place, p) for p, place in enumerate([3, 5, 3, 1])),
    grid=(4,),
    ONE=False,
)
@triton.jit
def scattered(x, index, ONE: tl.constexpr):
    p = tl.program_id(0)
    if ONE:
        tl.store(x + tl.load(index + p), 1)
    else:
        tl.store(x + tl.load(index + p), p)


@between(
    "second-blocks-too-near",
    False,
    "blocks of 16 begin every 12 elements",
    lambda: (_zeros(64),),
    _stores(4, lambda p: range(12 * p, 12 * p + 16)),
    grid=(4,),
    STEP=12,
)
@between(
    "second-blocks-apart",
    True,
    "blocks of 16 begin every 16 elements",
    lambda: (_zeros(64),),
    _stores(4, lambda p: range(16 * p, 16 * p + 16)),
    grid=(4,),
    STEP=16,
)
@triton.jit
def near_blocks(x, STEP: tl.constexpr):
    p = tl.program_id(0)
    block = tl.make_block_ptr(x, (64,), (1,), (p * STEP,), (16,), (0,))
    tl.store(block, tl.zeros((16,), tl.float32) + p, boundary_check=(0,))


@within(
    "second-branches-of-programs",
    True,
    "a program takes one branch only",
    lambda: (_zeros(1024), _zeros(1024), _zeros(1024)),
    grid=(3,),
)
@between(
    "second-branches-that-meet",
    False,
    "even programs load what odd ones store",
    lambda: ((x := _zeros(1024)), _zeros(1024), x),
    lambda: clash_free(Touch(0, p, "rw"[p % 2], 0) for p in range(2)),
    grid=(2,),
)
@triton.jit
def branches(x, y, out):
    p, lane = tl.program_id(0), tl.arange(0, 1024)
    if p % 2 == 0:
        value = tl.load(x + 1023 - lane)
        tl.atomic_add(y + lane, value)
    else:
        tl.store(out + lane, lane * 1.0)


@between(
    "second-split-k-by-atomics",
    True,
    "parts of a sum are added atomically",
    lambda: (torch.arange(1024.0), _zeros(1)),
    grid=(4,),
    ATOMIC=True,
)
@between(
    "second-split-k-by-stores",
    False,
    "parts of a sum are added by a load and a store",
    lambda: (torch.arange(1024.0), _zeros(1)),
    grid=(4,),
    ATOMIC=False,
)
@triton.jit
def split_k(x, out, ATOMIC: tl.constexpr):
    partial = tl.sum(tl.load(x + tl.program_id(0) * 256 + tl.arange(0, 256)))
    if ATOMIC:
        tl.atomic_add(out, partial)
    else:
        tl.store(out, tl.load(out) + partial)


CASES = cases_of(__name__)
