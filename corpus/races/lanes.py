"""Programs in which integers, masks and aliases decide which lanes touch the same bytes."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, itself
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


def masked(extra):
    return lambda: one_program(
        B,
        ("r", lambda lane: lane + 37 if lane < 37 + extra else None),
        ("w", lambda lane: lane if lane < 37 + extra else None),
    )


@within("halves", True, "lanes below 37 load from 37 on", numbers(37, 37), masked(0))
@within("halves of more warps", True, "lanes below 200 load from 200 on", numbers(200, 200))
@within(
    "halves of more warps that touch", False, "lane 200 stores what lane 0 loads", numbers(200, 201)
)
@within("halves that touch", False, "lane 37 stores what lane 0 loads", numbers(37, 38), masked(1))
@triton.jit
def halves(x, n, bound, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + n + lanes, mask=lanes < bound)
    tl.store(x + lanes, values + 1, mask=lanes < bound)


def truncated(number, divisor):
    return -(-number // divisor) if number < 0 else number // divisor


def quotients(shift):
    return lambda: one_program(
        B,
        ("r", lambda lane: 600 + truncated(lane - shift, 256) if lane < 255 else None),
        ("w", lambda lane: 600 if lane == 511 else None),
    )


@within(
    "quotient of negative numbers",
    False,
    "-1 // 256 is 0 in a kernel, so that loads meet the store",
    numbers(255),
    quotients(255),
)
@within(
    "quotient of more negative numbers",
    True,
    "all quotients are -1 or -2",
    numbers(511),
    quotients(511),
)
@triton.jit
def quotient(x, shift, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + 600 + (lanes - shift) // 256, mask=lanes < 255, other=0.0)
    tl.store(x + 600 + lanes * 0, lanes + 1.0, mask=lanes == 511)
    tl.store(x + 1024 + lanes, values)


def remainders(low):
    return lambda: one_program(
        B,
        ("r", lambda lane: 1000 - (512 - lane) % 4),
        ("w", lambda lane: low + lane - 508 if lane >= 508 else None),
    )


@within(
    "remainder of negative numbers",
    True,
    "(lane - 512) % 4 is -3 to 0 in a kernel",
    numbers(1001),
    remainders(1001),
)
@within(
    "remainder of negative numbers that meets",
    False,
    "a lane stores where the remainder is -3",
    numbers(997),
    remainders(997),
)
@triton.jit
def remainder(x, low, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + 1000 + (lanes - 512) % 4)
    tl.store(x + low + lanes - 508, lanes + 1.0, mask=lanes >= 508)
    tl.store(x + 1024 + lanes, values)


def unsigned(where):
    return lambda: one_program(
        B,
        ("r", lambda lane: 512 + ((lane - 256) % 2**32 >> 31)),
        ("w", lambda lane: where if lane == 300 else None),
    )


@within(
    "unsigned shift",
    False,
    "as unsigned, a negative number shifts to 1",
    numbers(513),
    unsigned(513),
)
@within(
    "unsigned shift, no -1",
    True,
    "as unsigned, no number shifts to -1",
    numbers(511),
    unsigned(511),
)
@triton.jit
def unsigned_shift(x, where, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    bit = ((lanes.to(tl.uint32) - 256) >> 31).to(tl.int32)
    values = tl.load(x + 512 + bit)
    tl.store(x + where + lanes * 0, lanes + 5.0, mask=lanes == 300)
    tl.store(x + 1024 + lanes, values)


def wrapped(base):
    return lambda: one_program(
        B,
        ("r", lambda lane: base + (lane + 128) % 256 - 128),
        ("w", lambda lane: 384 + base - 256 + lane),
    )


@within(
    "wrapped to a byte",
    True,
    "(lane << 24) >> 24 stays within -128 to 127",
    numbers(384),
    wrapped(256),
)
@within(
    "wrapped to a byte, one below",
    False,
    "127 above the base is stored by lane 0",
    numbers(383),
    lambda: one_program(
        B, ("r", lambda lane: 256 + (lane + 128) % 256 - 128), ("w", lambda lane: 383 + lane)
    ),
)
@triton.jit
def wrapped_byte(x, low, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + 256 + ((lanes << 24) >> 24))
    tl.store(x + low + lanes, values)


def moved(distance, *between):
    """Return the truth for copies between two fp32 views that begin `distance` bytes apart."""
    return lambda: one_program(B, ("r", itself), *between, ("w", lambda lane: lane + distance))


def views(distance):
    def made():
        x = torch.arange(2048.0)
        return x, x[distance:]

    return made


@within(
    "overlapping views",
    True,
    "for a result that is not aligned, elements change threads behind a barrier",
    views(1),
    moved(1, "|"),
)
@within(
    "overlapping views, aligned",
    False,
    "the result begins 16 elements after the source",
    views(16),
    moved(16),
)
@within("the same view twice", True, "each lane stores its own element", views(0), moved(0))
@within(
    "views that adjoin", True, "the result begins where the source ends", views(512), moved(512)
)
@triton.jit
def copy(x, y, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes) + 1)


def halfwords():
    x = torch.arange(512.0)
    return x, x.view(torch.float16)


def halved():
    loads = [Touch(0, thread(lane), "r", 4 * lane + byte) for lane in range(B) for byte in range(4)]
    stores = [
        Touch(0, thread(lane), "w", 2 * lane + byte) for lane in range(B) for byte in range(2)
    ]
    return clash_free(loads + stores)


@within("words as halves", False, "lane 2 i stores half of what lane i loads", halfwords, halved)
@triton.jit
def narrow(x, y, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes).to(tl.float16))


def chosen(aliased):
    def made():
        x = torch.arange(1024.0)
        return x, x[512:] if aliased else torch.arange(512.0), torch.zeros(512)

    return made


def choice(aliased):
    other_address = 512 if aliased else 4096
    return lambda: one_program(
        B,
        ("r", lambda lane: lane + 512),
        ("w", lambda lane: lane if lane < 256 else other_address + B - 1 - lane),
    )


@within(
    "chosen pointers", True, "upper lanes store to another tensor", chosen(False), choice(False)
)
@within(
    "chosen pointers, aliased", False, "upper lanes store to the source", chosen(True), choice(True)
)
@triton.jit
def choose(x, y, out, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK + lanes)
    tl.store(tl.where(lanes < 256, x + lanes, y + BLOCK - 1 - lanes), lanes + 1.0)
    tl.store(out + lanes, values)


def gathered(*changes):
    targets = dict(changes)
    return lambda: one_program(B, ("r", lambda lane: targets.get(lane, 512 + lane)), ("w", itself))


@within(
    "gather from the upper half",
    True,
    "no recorded index is below 512",
    lambda: (torch.arange(1024.0), torch.arange(512, 1024, dtype=torch.int32)),
    gathered(),
)
@within(
    "gather with one index in the lower half",
    False,
    "lane 3 loads what lane 500 stores",
    lambda: (
        torch.arange(1024.0),
        torch.cat((torch.arange(512, 515), torch.tensor([500]), torch.arange(516, 1024))).to(
            torch.int32
        ),
    ),
    gathered((3, 500)),
)
@triton.jit
def gather(x, index, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + tl.load(index + lanes))
    tl.store(x + lanes, values)


@within(
    "index that the launch writes",
    False,
    "trip 1 gathers by what trip 0 stored to the index",
    lambda: (torch.arange(1024.0), torch.arange(512, 1024, dtype=torch.int32)),
    lambda: one_program(
        B,
        ("r", lambda lane: 512 + lane),
        ("w", itself),
        "|",
        ("r", lambda lane: B - 1 - lane),
        ("w", itself),
    ),
)
@triton.jit
def gather_again(x, index, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for _ in range(2):
        values = tl.load(x + tl.load(index + lanes))
        tl.store(x + lanes, values)
        tl.store(index + lanes, BLOCK - 1 - lanes)
        tl.debug_barrier()


def shifted(programs):
    def evaluated():
        return all(
            one_program(B, ("r", lambda lane, p=p: lane + p // 3), ("w", itself))
            for p in range(programs)
        )

    return evaluated


@within(
    "three programs",
    True,
    "programs 0 to 2 load where they store",
    numbers(),
    shifted(3),
    grid=(3,),
)
@within(
    "four programs", False, "program 3 loads one element farther", numbers(), shifted(4), grid=(4,)
)
@triton.jit
def shift_by_program(x, BLOCK: tl.constexpr = 512):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + pid * BLOCK + lanes + pid // 3, mask=lanes + pid // 3 < BLOCK)
    tl.store(x + pid * BLOCK + lanes, values + 1)


@within(
    "block pointers, advanced by two",
    True,
    "elements change threads behind a barrier, as the second block is not aligned",
    numbers(2),
    moved(2, "|"),
)
@within(
    "block pointers, advanced by 16",
    False,
    "the block is stored 16 elements after where it was loaded",
    numbers(16),
    moved(16),
)
@within(
    "block pointers, advanced by a block",
    True,
    "the block is stored behind where it was loaded",
    numbers(512),
    moved(512),
)
@triton.jit
def block_pointers(x, by, BLOCK: tl.constexpr = 512):
    block = tl.make_block_ptr(x, (2048,), (1,), (0,), (BLOCK,), (0,))
    values = tl.load(block)
    tl.store(tl.advance(block, (by,)), values + 1)


CASES = cases_of(__name__)
