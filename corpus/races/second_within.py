"""Second attack on one program's threads: buffers, barriers on paths, views, shapes, scans."""

from collections.abc import Callable, Generator
from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.races import (
    Operation,
    Step,
    Touch,
    cases_of,
    clash_free,
    one_program,
    outcomes,
    within,
)

N = 1024


def _x(count: int = N, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(count).to(dtype)


def _xy() -> tuple[Any, ...]:
    return _x(), torch.zeros(N)


def _steps(*steps: Step) -> Callable[[], bool]:
    return lambda: one_program(N, *steps)


def _own(lane: int) -> int:
    return lane


def _across(lane: int) -> int:
    return (lane + 256) % N


@within(
    "second-view-one-further",
    True,
    "out is x[1:], not aligned: its layout is another one, converted to behind barriers of the PTX",
    lambda: ((base := _x(N + 1))[:N], base[1:]),
    _steps(("r", _own), "|", ("w", lambda lane: lane + 1)),
)
@within(
    "second-view-behind",
    True,
    "out begins where x ends",
    lambda: ((base := _x(2 * N))[:N], base[N:]),
    _steps(("r", _own), ("w", lambda lane: lane + N)),
)
@within(
    "second-view-in-place",
    True,
    "out is x: each lane loads and stores its own element",
    lambda: ((base := _x()), base),
    _steps(("r", _own), ("w", _own)),
)
@triton.jit
def copied(x, out):
    lane = tl.arange(0, 1024)
    tl.store(out + lane, tl.load(x + lane) + 1)


def _bytes(step: int) -> Callable[[], bool]:
    def free() -> bool:
        touches = [
            Touch(0, lane // 4, "r", 4 * lane + byte) for lane in range(N) for byte in range(4)
        ]
        return clash_free([*touches, *(Touch(0, lane // 4, "w", step * lane) for lane in range(N))])

    return free


def _with_bytes() -> tuple[Any, ...]:
    base = torch.zeros(N, dtype=torch.int32)
    return base, base.view(torch.int8)


@within(
    "second-bytes-of-others",
    False,
    "byte i is a part of element i // 4, which another lane loads",
    _with_bytes,
    _bytes(1),
    STEP=1,
)
@within(
    "second-bytes-of-its-own",
    True,
    "byte 4 i is a part of the element that the lane has loaded",
    _with_bytes,
    _bytes(4),
    STEP=4,
)
@triton.jit
def bytewise(x, view, STEP: tl.constexpr):
    lane = tl.arange(0, 1024)
    tl.store(view + STEP * lane, (tl.load(x + lane) + 1).to(tl.int8))


def _transposed(lane: int) -> int:
    return lane % 32 * 32 + lane // 32


@within(
    "second-transposed-in-place",
    True,
    "stores by columns have another layout, converted to behind a barrier of the PTX",
    lambda: (_x(),),
    _steps(("r", _own), "|", ("w", _transposed)),
    BARRIER=False,
)
@within(
    "second-transposed-behind-a-barrier",
    True,
    "all lanes have loaded before any stores",
    lambda: (_x(),),
    _steps(("r", _own), "|", ("w", _transposed)),
    BARRIER=True,
)
@triton.jit
def transposed(x, BARRIER: tl.constexpr):
    r, c = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    value = tl.load(x + r * 32 + c)
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + c * 32 + r, value)


@within(
    "second-diagonal",
    True,
    "an element of the diagonal is loaded by the lane that stores it",
    lambda: (_x(),),
    _steps(("r", _transposed), ("w", lambda lane: lane if lane % 33 == 0 else None)),
)
@triton.jit
def diagonal(x):
    r, c = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    value = tl.load(x + c * 32 + r)
    tl.store(x + r * 32 + c, value + 1, mask=r == c)


@within(
    "second-transposed-pointers",
    True,
    "pointers and values are transposed together: what is stored was loaded there",
    lambda: (_x(),),
)
@triton.jit
def transposed_pointers(x):
    place = x + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    value = tl.load(place) * 2
    tl.store(tl.trans(place), tl.trans(value))


@within(
    "second-reshaped-pointers",
    True,
    "pointers and values are reshaped together: what is stored was loaded there",
    lambda: (_x(),),
)
@triton.jit
def reshaped_pointers(x):
    lanes = x + tl.arange(0, 1024)
    value = tl.load(lanes) * 2
    tl.store(tl.reshape(lanes, (32, 32)), tl.reshape(value, (32, 32)))


@within(
    "second-flag-not-set",
    False,
    "the barrier is in a branch that is not taken",
    lambda: (*_xy(), 0),
    _steps(("w", _own), ("r", _across)),
)
@within(
    "second-flag-set",
    True,
    "the barrier is in a branch that is taken",
    lambda: (*_xy(), 3),
    _steps(("w", _own), "|", ("r", _across)),
)
@triton.jit
def flagged(x, out, flag):
    lane = tl.arange(0, 1024)
    tl.store(x + lane, lane * 2.0)
    if flag > 0:
        tl.debug_barrier()
    tl.store(out + lane, tl.load(x + (lane + 256) % 1024))


def _loop(count: int, *steps: Step) -> Callable[[], bool]:
    return _steps(*(steps * count))


@within(
    "second-loop-starts-with-a-barrier",
    False,
    "no barrier between the load and the store of one trip",
    lambda: (_x(), 3),
    _loop(3, "|", ("r", _own), ("w", _across)),
    SECOND=False,
)
@within(
    "second-loop-with-two-barriers",
    True,
    "a barrier before the load and one before the store",
    lambda: (_x(), 3),
    _loop(3, "|", ("r", _own), "|", ("w", _across)),
    SECOND=True,
)
@triton.jit
def two_barriers(x, n, SECOND: tl.constexpr):
    lane = tl.arange(0, 1024)
    for _ in range(n):
        tl.debug_barrier()
        value = tl.load(x + lane)
        if SECOND:
            tl.debug_barrier()
        tl.store(x + (lane + 256) % 1024, value + 1)


def _ping_pong(barrier: bool) -> Callable[[], bool]:
    steps: list[Step] = []
    for k in range(4):
        steps += [
            ("r", lambda lane, k=k: k % 2 * N + _across(lane)),  # type: ignore[misc]
            ("w", lambda lane, k=k: (k + 1) % 2 * N + lane),  # type: ignore[misc]
            *(["|"] if barrier else []),
        ]
    return _steps(*steps)


@within(
    "second-ping-pong",
    True,
    "one barrier a trip is enough: a trip loads one buffer and stores the other",
    lambda: (_x(2 * N), 4),
    _ping_pong(True),
    BARRIER=True,
)
@within(
    "second-ping-pong-without-barriers",
    False,
    "a trip loads what the trip before has stored",
    lambda: (_x(2 * N), 4),
    _ping_pong(False),
    BARRIER=False,
)
@triton.jit
def ping_pong(x, n, BARRIER: tl.constexpr):
    lane = tl.arange(0, 1024)
    for k in range(n):
        value = tl.load(x + k % 2 * 1024 + (lane + 256) % 1024)
        tl.store(x + (k + 1) % 2 * 1024 + lane, value + 1)
        if BARRIER:
            tl.debug_barrier()


def _through_scratch(buffers: int) -> Callable[[], bool]:
    steps: list[Step] = []
    for k in range(4):
        steps += [
            ("w", lambda lane, k=k: k % buffers * N + lane),  # type: ignore[misc]
            "|",
            ("r", lambda lane, k=k: k % buffers * N + _across(lane)),  # type: ignore[misc]
        ]
    return _steps(*steps)


@within(
    "second-scratch-of-one-buffer",
    False,
    "a trip stores into what the trip before still loads",
    lambda: (torch.zeros(4 * N), torch.zeros(N), 4),
    _through_scratch(1),
    BUFFERS=1,
)
@within(
    "second-scratch-of-two-buffers",
    True,
    "the barrier of the trip between orders the load of a buffer and its next store",
    lambda: (torch.zeros(4 * N), torch.zeros(N), 4),
    _through_scratch(2),
    BUFFERS=2,
)
@within(
    "second-scratch-of-four-buffers",
    True,
    "each trip has its own buffer",
    lambda: (torch.zeros(4 * N), torch.zeros(N), 4),
    _through_scratch(4),
    BUFFERS=4,
)
@triton.jit
def through_scratch(scratch, out, n, BUFFERS: tl.constexpr):
    lane = tl.arange(0, 1024)
    total = tl.zeros((1024,), tl.float32)
    for k in range(n):
        tl.store(scratch + k % BUFFERS * 1024 + lane, total + lane)
        tl.debug_barrier()
        total += tl.load(scratch + k % BUFFERS * 1024 + (lane + 256) % 1024)
    tl.store(out + lane, total)


def _prefix(second: bool) -> Callable[[], bool]:
    steps: list[Step] = []
    for bit in range(10):
        steps += [
            ("r", lambda lane, d=2**bit: lane - d if lane >= d else None),  # type: ignore[misc]
            "|",
            ("r", _own),
            ("w", _own),
            *(["|"] if second else []),
        ]
    return _steps(*steps)


@within(
    "second-prefix-sum",
    True,
    "all lanes have loaded before any stores, and stored before any loads",
    lambda: (_x(),),
    _prefix(True),
    SECOND=True,
)
@within(
    "second-prefix-sum-with-one-barrier",
    False,
    "the next step loads before all lanes have stored",
    lambda: (_x(),),
    _prefix(False),
    SECOND=False,
)
@triton.jit
def prefix(x, SECOND: tl.constexpr):
    lane = tl.arange(0, 1024)
    d = 1
    while d < 1024:
        before = tl.load(x + lane - d, mask=lane >= d, other=0)
        tl.debug_barrier()
        tl.store(x + lane, tl.load(x + lane) + before)
        if SECOND:
            tl.debug_barrier()
        d *= 2


@within(
    "second-tree-barrier-first",
    True,
    "each trip begins with a barrier and loads what no lane stores in it",
    lambda: (_x(),),
    _steps(
        *(
            step
            for bit in range(9, -1, -1)
            for step in (
                "|",
                ("r", lambda lane, s=2**bit: lane if lane < s else None),
                ("r", lambda lane, s=2**bit: lane + s if lane < s else None),
                ("w", lambda lane, s=2**bit: lane if lane < s else None),
            )
        )
    ),
    MASKED=True,
)
@within(
    "second-tree-without-its-mask",
    False,
    "lanes behind s store what lanes before s load",
    lambda: (_x(2 * N),),
    _steps("|", ("r", _own), ("r", lambda lane: lane + 256), ("w", _own)),
    MASKED=False,
)
@triton.jit
def tree(x, MASKED: tl.constexpr):
    lane = tl.arange(0, 1024)
    s = 512
    while s > 0:
        tl.debug_barrier()
        mask = (lane < s) | (not MASKED)
        total = tl.load(x + lane, mask=mask, other=0) + tl.load(x + lane + s, mask=mask, other=0)
        tl.store(x + lane, total, mask=mask)
        s //= 2


@within(
    "second-scalar-for-all",
    False,
    "one thread stores the number that all threads load",
    lambda: (torch.zeros(1), torch.zeros(N)),
    lambda: clash_free([Touch(0, 0, "w", 0), *(Touch(0, k, "r", 0) for k in range(128))]),
    BARRIER=False,
)
@within(
    "second-scalar-for-all-behind-a-barrier",
    True,
    "one thread stores the number before the barrier",
    lambda: (torch.zeros(1), torch.zeros(N)),
    lambda: clash_free([Touch(0, 0, "w", 0), *(Touch(1, k, "r", 0) for k in range(128))]),
    BARRIER=True,
)
@triton.jit
def scalar_for_all(p, out, BARRIER: tl.constexpr):
    tl.store(p, 5.0)
    if BARRIER:
        tl.debug_barrier()
    tl.store(out + tl.arange(0, 1024), tl.load(p))


@within(
    "second-element-for-all",
    False,
    "all threads load element 777, which one lane has stored",
    _xy,
    lambda: clash_free(
        [Touch(0, 777 // 4, "w", 777), *(Touch(0, k, "r", 777) for k in range(128))]
    ),
)
@triton.jit
def element_for_all(x, out):
    lane = tl.arange(0, 1024)
    tl.store(x + lane, lane * 2.0)
    tl.store(out + lane, tl.load(x + 777) + lane)


@within(
    "second-bins-read-at-once",
    False,
    "bins are loaded while other threads still add to them",
    lambda: (torch.zeros(8, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)),
    _steps(("a", lambda lane: lane % 8), ("r", lambda lane: lane % 8)),
    BARRIER=False,
)
@within(
    "second-bins-read-behind-a-barrier",
    True,
    "all threads have added before any loads",
    lambda: (torch.zeros(8, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)),
    _steps(("a", lambda lane: lane % 8), "|", ("r", lambda lane: lane % 8)),
    BARRIER=True,
)
@triton.jit
def bins(h, out, BARRIER: tl.constexpr):
    lane = tl.arange(0, 1024)
    tl.atomic_add(h + lane % 8, 1, sem="relaxed")
    if BARRIER:
        tl.debug_barrier()
    tl.store(out + lane, tl.load(h + lane % 8))


@within(
    "second-bins-in-a-loop",
    False,
    "the next trip adds while others load",
    lambda: (torch.zeros(8, dtype=torch.int32), torch.zeros(N, dtype=torch.int32), 3),
    _loop(3, ("a", lambda lane: lane % 8), "|", ("r", lambda lane: lane % 8)),
)
@triton.jit
def bins_in_a_loop(h, out, n):
    lane = tl.arange(0, 1024)
    for _ in range(n):
        tl.atomic_add(h + lane % 8, 1, sem="relaxed")
        tl.debug_barrier()
        tl.store(out + lane, tl.load(h + lane % 8))


def _same_value() -> bool:
    def body() -> Generator[Operation, Any, None]:
        yield "store", "p", 7
        value = yield "load", "p"
        yield "store", "out", value

    return len(outcomes([body, body], {"p": 0, "out": 0})) == 1


@within(
    "second-the-same-value-twice",
    True,
    "lanes i and i + 512 store one value, and each loads it after its own store",
    _xy,
    _same_value,
)
@triton.jit
def same_value(x, out):
    lane = tl.arange(0, 1024)
    tl.store(x + lane % 512, (lane % 512) * 2.0)
    tl.store(out + lane, tl.load(x + lane % 512))


@within(
    "second-own-pairs",
    True,
    "each lane swaps its own pair",
    lambda: (_x(2 * N),),
    _steps(
        ("r", lambda lane: 2 * lane),
        ("r", lambda lane: 2 * lane + 1),
        ("w", lambda lane: 2 * lane),
        ("w", lambda lane: 2 * lane + 1),
    ),
    SHIFT=0,
)
@within(
    "second-pairs-one-further",
    False,
    "each lane stores its pair one element further",
    lambda: (_x(2 * N + 1),),
    _steps(
        ("r", lambda lane: 2 * lane),
        ("r", lambda lane: 2 * lane + 1),
        ("w", lambda lane: 2 * lane + 1),
        ("w", lambda lane: 2 * lane + 2),
    ),
    SHIFT=1,
)
@triton.jit
def pairs(x, SHIFT: tl.constexpr):
    lane = tl.arange(0, 1024)
    left, right = tl.load(x + 2 * lane), tl.load(x + 2 * lane + 1)
    tl.store(x + 2 * lane + SHIFT, right)
    tl.store(x + 2 * lane + 1 + SHIFT, left)


@within(
    "second-joined",
    True,
    "what is stored was loaded from that place, in a block of another shape",
    lambda: (_x(2 * N),),
)
@triton.jit
def joined(x):
    lane = tl.arange(0, 1024)
    both = tl.join(tl.load(x + 2 * lane) + 1, tl.load(x + 2 * lane + 1) + 2)
    tl.store(x + 2 * lane[:, None] + tl.arange(0, 2)[None, :], both)


@within(
    "second-softmax-in-place",
    True,
    "each lane stores the element that it has loaded",
    lambda: (_x(),),
    _steps(("r", _own), "|", ("w", _own)),
)
@triton.jit
def softmax(x):
    lane = tl.arange(0, 1024)
    row = tl.load(x + lane)
    power = tl.exp(row - tl.max(row))
    tl.store(x + lane, power / tl.sum(power))


@within(
    "second-norm-of-two-widths",
    True,
    "what is stored depends on the sum, and so on all that was loaded in wider blocks",
    lambda: (_x(),),
)
@triton.jit
def two_widths(x):
    row = tl.load(x + tl.arange(0, 1024))
    scale = tl.rsqrt(tl.sum(row * row) / 1024 + 1e-6)
    for k in range(0, 1024, 256):
        place = x + k + tl.arange(0, 256)
        tl.store(place, tl.load(place) * scale)


@within(
    "second-norm-in-chunks",
    True,
    "both loops give an element to one lane",
    lambda: (_x(4 * N), 4 * N),
    _steps(("r", _own), "|", ("r", _own), ("w", _own)),
)
@triton.jit
def chunked_norm(x, n):
    lane = tl.arange(0, 1024)
    total = tl.zeros((1024,), tl.float32)
    for k in range(0, n, 1024):
        row = tl.load(x + k + lane, mask=k + lane < n, other=0)
        total += row * row
    scale = tl.rsqrt(tl.sum(total) / n + 1e-6)
    for k in range(0, n, 1024):
        row = tl.load(x + k + lane, mask=k + lane < n, other=0)
        tl.store(x + k + lane, row * scale, mask=k + lane < n)


@within(
    "second-row-sums-in-place",
    True,
    "a row's sum depends on all of the row, where it is stored",
    lambda: (_x(),),
)
@triton.jit
def row_sums(x):
    r, c = tl.arange(0, 32), tl.arange(0, 32)
    tile = tl.load(x + r[:, None] * 32 + c[None, :])
    tl.store(x + r * 32, tl.sum(tile, 1))


@within(
    "second-disjoint-halves",
    True,
    "lanes load [n, 2 n) and store [0, n)",
    lambda: (_x(), 500),
    _steps(
        ("r", lambda lane: 500 + lane if lane < 500 else None),
        ("w", lambda lane: lane if lane < 500 else None),
    ),
    BACK=0,
)
@within(
    "second-halves-that-share-one",
    False,
    "lane 0 loads what lane n - 1 stores",
    lambda: (_x(), 500),
    _steps(
        ("r", lambda lane: 499 + lane if lane < 500 else None),
        ("w", lambda lane: lane if lane < 500 else None),
    ),
    BACK=1,
)
@triton.jit
def halves(x, n, BACK: tl.constexpr):
    lane = tl.arange(0, 1024)
    value = tl.load(x + n - BACK + lane, mask=lane < n, other=0)
    tl.store(x + lane, value + 1, mask=lane < n)


@within(
    "second-index-of-8-bits",
    False,
    "lanes from 256 on load what the first 256 store",
    lambda: (_x(2 * N),),
    _steps(("r", lambda lane: lane % 256), ("w", _own)),
    SHIFT=0,
)
@within(
    "second-index-of-8-bits-elsewhere",
    True,
    "what is stored begins behind what is loaded",
    lambda: (_x(2 * N),),
    _steps(("r", lambda lane: lane % 256), ("w", lambda lane: lane + 256)),
    SHIFT=256,
)
@triton.jit
def eight_bits(x, SHIFT: tl.constexpr):
    lane = tl.arange(0, 1024)
    value = tl.load(x + lane.to(tl.uint8).to(tl.int32))
    tl.store(x + SHIFT + lane, value + 1)


@within(
    "second-asm-between",
    False,
    "a mov in inline assembly orders nothing",
    lambda: (_x(N, torch.int32),),
    _steps(("r", lambda lane: lane ^ 256), ("w", _own)),
)
@triton.jit
def asm_between(x):
    lane = tl.arange(0, 1024)
    value = tl.load(x + (lane ^ 256))
    value = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [value], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(x + lane, value)


@within(
    "second-permutation-that-is-none",
    True,
    "the recorded indices are the lanes",
    lambda: (_x(), torch.arange(N, dtype=torch.int32)),
    _steps(("r", _own), ("w", _own)),
)
@within(
    "second-permutation",
    False,
    "the recorded indices are the lanes, backwards",
    lambda: (_x(), torch.arange(N, dtype=torch.int32).flip(0)),
    _steps(("r", lambda lane: N - 1 - lane), ("w", _own)),
)
@triton.jit
def permuted(x, index):
    lane = tl.arange(0, 1024)
    value = tl.load(x + tl.load(index + lane))
    tl.store(x + lane, value + 1)


@within(
    "second-both-by-three",
    True,
    "loads and stores go by the same permutation",
    lambda: (_x(),),
    _steps(("r", lambda lane: lane * 3 % N), ("w", lambda lane: lane * 3 % N)),
    BY=3,
)
@within(
    "second-by-three-and-five",
    False,
    "loads go by one permutation, stores by another",
    lambda: (_x(),),
    _steps(("r", lambda lane: lane * 3 % N), ("w", lambda lane: lane * 5 % N)),
    BY=5,
)
@triton.jit
def by_three(x, BY: tl.constexpr):
    lane = tl.arange(0, 1024)
    value = tl.load(x + lane * 3 % 1024)
    tl.store(x + lane * BY % 1024, value + 1)


CASES = cases_of(__name__)
