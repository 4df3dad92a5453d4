"""Programs in which one thread, or one warp, loads elements that other threads store."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B
from corpus.questions.races import Touch, cases_of, clash_free, thread, within


def scalar(place):
    return lambda: clash_free(
        [*(Touch(0, thread(lane), "w", lane) for lane in range(B)), Touch(0, 0, "r", place)]
    )


@within(
    "element of thread 0",
    True,
    "thread 0 has stored element 3, and loads it",
    lambda: (torch.zeros(512), torch.zeros(1), 3),
    scalar(3),
)
@within(
    "element of thread 1",
    False,
    "thread 1 stores element 4, thread 0 loads it",
    lambda: (torch.zeros(512), torch.zeros(1), 4),
    scalar(4),
)
@within(
    "element of the second warp",
    False,
    "a thread of the second warp stores element 128, thread 0 loads it",
    lambda: (torch.zeros(512), torch.zeros(1), 128),
    scalar(128),
)
@triton.jit
def one_element(x, out, place, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes + 1.0)
    tl.store(out, tl.load(x + place))


def put_back(place, told=False):
    readers = range(128) if told else range(1)
    return lambda: clash_free(
        [
            *(Touch(0, thread(lane), "w", lane) for lane in range(B)),
            *(Touch(0, reader, "r", 3) for reader in readers),
            Touch(0, 0, "w", place),
        ]
    )


def singled(place, told=False):
    return lambda: (torch.zeros(512), torch.zeros(512), place, told)


@within(
    "element of thread 0, counted up",
    True,
    "thread 0 stores element 3, loads it, and stores it again",
    singled(3),
    put_back(3),
)
@within(
    "element of thread 0 for another warp's",
    False,
    "thread 0 stores element 200, and so does a thread of the second warp",
    singled(200),
    put_back(200),
)
@within(
    "element of thread 0, used by all",
    False,
    "all threads load element 3, and use it",
    singled(3, told=True),
    put_back(3, told=True),
)
@triton.jit
def count_up_element(x, out, place, TOLD: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes + 1.0)
    one = tl.load(x + 3)
    tl.store(x + place, one + 1000)
    if TOLD:
        tl.store(out + lanes, one + lanes)


@within(
    "row of one warp, put before a barrier",
    True,
    "the warp that stores what all load waits for the others",
    lambda: (torch.arange(512.0), 4, True),
)
@within(
    "row of one warp, moved to another warp's",
    False,
    "the first warp stores elements that the second one stores, too",
    lambda: (torch.arange(512.0), 128, False),
    lambda: clash_free(
        [
            *(Touch(0, thread(lane), "w", lane, -1) for lane in range(B)),
            *(Touch(0, lane, "w", 128 + lane, lane) for lane in range(32)),
        ]
    ),
)
@triton.jit
def row_of_warp(x, distance, BARRIER: tl.constexpr, BLOCK: tl.constexpr = 512):
    few = tl.arange(0, 32)
    values = tl.load(x + few)
    tl.debug_barrier()
    tl.store(x + tl.arange(0, BLOCK), tl.arange(0, BLOCK) - 1000.0)
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + distance + few, values)


CASES = cases_of(__name__)
