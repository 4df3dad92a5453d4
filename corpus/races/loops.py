"""Programs whose lanes touch the same bytes in different trips of loops."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, after, itself, trips
from corpus.questions.races import cases_of, one_program, within


def halved(last):
    """Return the truth for a tree of sums in memory, with barriers after steps above `last`."""

    def evaluated():
        steps, half = [], 512
        while half > 0:
            steps += [
                ("r", lambda lane, half=half: lane + half if lane < half else None),
                ("w", lambda lane, half=half: lane if lane < half else None),
            ]
            steps += ["|"] if half > last else []
            half //= 2
        return one_program(1024, *steps)

    return evaluated


@within(
    "tree of sums", True, "a barrier follows each level", lambda: (torch.ones(1024), 0), halved(0)
)
@within(
    "tree of sums, last levels without",
    False,
    "levels of 256 and fewer do not wait",
    lambda: (torch.ones(1024), 256),
    halved(256),
)
@triton.jit
def tree(x, last, BLOCK: tl.constexpr = 1024):
    lanes = tl.arange(0, BLOCK)
    half = BLOCK // 2
    while half > 0:
        mask = lanes < half
        total = tl.load(x + lanes, mask=mask) + tl.load(x + lanes + half, mask=mask)
        tl.store(x + lanes, total, mask=mask)
        if half > last:
            tl.debug_barrier()
        half = half // 2


def buffers(every):
    def evaluated():
        steps = []
        for k in range(4):
            steps += [
                ("r", lambda lane, k=k: k % 2 * B + after(lane)),
                ("w", lambda lane, k=k: (k + 1) % 2 * B + lane),
            ]
            steps += ["|"] if k % every == 0 else []
        return one_program(B, *steps)

    return evaluated


@within(
    "double buffer",
    True,
    "one barrier a trip suffices for two buffers",
    lambda: (torch.ones(1024), 4, 1),
    buffers(1),
)
@within(
    "double buffer, barrier each second trip",
    False,
    "odd trips do not wait",
    lambda: (torch.ones(1024), 4, 2),
    buffers(2),
)
@triton.jit
def double_buffer(x, trips, every, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(trips):
        values = tl.load(x + k % 2 * BLOCK + (lanes + 1) % BLOCK)
        tl.store(x + (k + 1) % 2 * BLOCK + lanes, values + 1)
        if k % every == 0:
            tl.debug_barrier()


@within(
    "shift, a barrier short",
    False,
    "a next trip loads while this one stores",
    lambda: (torch.arange(512.0), 3),
    trips(3),
)
@within(
    "shift, a barrier short, one trip",
    True,
    "there is no next trip",
    lambda: (torch.arange(512.0), 1),
    trips(1),
)
@triton.jit
def shift(x, trips, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for _ in range(trips):
        values = tl.load(x + (lanes + 1) % BLOCK)
        tl.debug_barrier()
        tl.store(x + lanes, values)


@within(
    "barrier of the outer loop",
    False,
    "trips of the inner loop do not wait",
    lambda: (torch.arange(512.0), 2, 2),
    trips(2),
)
@within(
    "barrier of the outer loop, inner once",
    True,
    "the inner loop has one trip",
    lambda: (torch.arange(512.0), 2, 1),
    trips(2, "|"),
)
@triton.jit
def nested(x, outer, inner, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for _ in range(outer):
        for _ in range(inner):
            values = tl.load(x + (lanes + 1) % BLOCK)
            tl.debug_barrier()
            tl.store(x + lanes, values)
        tl.debug_barrier()


@within(
    "prefix in two loops",
    True,
    "the second loop reads after a barrier",
    lambda: (torch.ones(1024), torch.zeros(1024), 2),
    lambda: one_program(
        B, ("w", itself), ("w", lambda lane: lane + B), "|", ("r", lambda lane: 1023 - lane)
    ),
)
@triton.jit
def two_loops(x, out, trips, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(trips):
        tl.store(x + k * BLOCK + lanes, lanes + k)
    tl.debug_barrier()
    for k in range(trips - 1, -1, -1):
        values = tl.load(x + k * BLOCK + BLOCK - 1 - lanes)
        tl.store(out + k * BLOCK + lanes, values)


@within(
    "pipelined, next row",
    False,
    "rows are loaded two trips early, and stored one trip before",
    lambda: (torch.ones(16, 512), 8, 1),
    num_stages=3,
)
@triton.jit
def pipelined(x, trips, distance, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in tl.range(trips, num_stages=3):
        values = tl.load(x + k * BLOCK + lanes)
        tl.store(x + (k + distance) * BLOCK + lanes, values * 2)


@within(
    "no stages, next row",
    True,
    "the same lane of one thread stores a row and loads it",
    lambda: (torch.ones(16, 512), 8, 1),
    lambda: one_program(
        B,
        *[
            s
            for k in range(8)
            for s in (
                ("r", lambda lane, k=k: k * B + lane),
                ("w", lambda lane, k=k: (k + 1) * B + lane),
            )
        ],
    ),
)
@triton.jit
def not_pipelined(x, trips, distance, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in tl.range(trips, num_stages=1):
        values = tl.load(x + k * BLOCK + lanes)
        tl.store(x + (k + distance) * BLOCK + lanes, values * 2)


def outward(gap):
    steps = [
        (
            ("r", lambda lane, k=k: 2555 - 512 * k + lane),
            ("w", lambda lane, k=k: 3066 + gap + 512 * k + lane),
        )
        for k in range(5)
    ]
    return lambda: one_program(B, *[step for pair in steps for step in pair])


@within(
    "one element of the first trip",
    False,
    "its first store is its last load",
    lambda: (torch.arange(8192.0), 0),
    outward(0),
)
@within(
    "one element farther",
    True,
    "loads end right below where stores begin",
    lambda: (torch.arange(8192.0), 1),
    outward(1),
)
@triton.jit
def downward(x, gap, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(4, -1, -1):
        values = tl.load(x + 2555 - BLOCK * (4 - k) + lanes)
        tl.store(x + 3066 + gap + BLOCK * (4 - k) + lanes, values)


CASES = cases_of(__name__)
