"""Programs of several CTAs, where a barrier holds the threads of one CTA."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, itself
from corpus.questions.races import Touch, cases_of, clash_free, thread, within


def one_program(ctas, *steps):
    """Return the truth for CTAs of consecutive lanes, where a barrier holds one CTA's lanes."""

    def evaluated():
        size, phase = B // ctas, 0
        touches: list[tuple[int, Touch]] = []
        for step in steps:
            if isinstance(step, str):
                phase += 1
                continue
            kind, address = step
            touches += [
                (lane // size, Touch(phase, thread(lane), kind, address(lane))) for lane in range(B)
            ]
        is_clash_free_inside = all(
            clash_free(touch for cta, touch in touches if cta == cta_index)
            for cta_index in range(ctas)
        )
        across = clash_free(Touch(0, cta, touch.kind, touch.address) for cta, touch in touches)
        return is_clash_free_inside and across

    return evaluated


def exchanged(by):
    return lambda lane: lane ^ by


def numbers(*more):
    return lambda: (torch.arange(2048.0), *more)


@within(
    "exchange within CTAs",
    True,
    "lanes exchange with others of the same CTA, behind a barrier",
    numbers(128, True),
    one_program(2, ("r", exchanged(128)), "|", ("w", itself)),
    num_ctas=2,
)
@within(
    "exchange between CTAs",
    False,
    "lanes exchange with those of the other CTA",
    numbers(256, True),
    one_program(2, ("r", exchanged(256)), "|", ("w", itself)),
    num_ctas=2,
)
@within(
    "exchange between CTAs, no barrier",
    False,
    "lanes exchange with those of the other CTA",
    numbers(256, False),
    one_program(2, ("r", exchanged(256)), ("w", itself)),
    num_ctas=2,
)
@within(
    "exchange between four CTAs",
    False,
    "lanes exchange with those of the next CTA of four",
    numbers(128, True),
    one_program(4, ("r", exchanged(128)), "|", ("w", itself)),
    num_ctas=4,
)
@within(
    "exchange within four CTAs",
    True,
    "lanes exchange with others of the same CTA of four",
    numbers(64, True),
    one_program(4, ("r", exchanged(64)), "|", ("w", itself)),
    num_ctas=4,
)
@triton.jit
def exchange_of_ctas(x, by, BARRIER: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes ^ by))
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + lanes, values + 1)


def shifted(by, end):
    return one_program(2, ("r", lambda lane: (lane + by) % end), "|", ("w", itself))


@within(
    "shift over the border of CTAs",
    False,
    "one lane of each CTA loads what the other CTA stores",
    numbers(1, 512),
    shifted(1, 512),
    num_ctas=2,
)
@within(
    "shift behind both CTAs",
    True,
    "lanes load behind all that is stored",
    numbers(512, 1024),
    shifted(512, 1024),
    num_ctas=2,
)
@within(
    "no shift of two CTAs",
    True,
    "lanes store what they load",
    numbers(0, 512),
    shifted(0, 512),
    num_ctas=2,
)
@triton.jit
def shift_of_ctas(x, by, end, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + by) % end)
    tl.debug_barrier()
    tl.store(x + lanes, values + 1)


@within(
    "tile upside down, two CTAs",
    False,
    "rows of one CTA load what those of the other one store",
    numbers(),
    one_program(2, ("r", lambda i: (31 - i // 16) * 16 + i % 16), "|", ("w", itself)),
    num_ctas=2,
)
@triton.jit
def upside_down(x):
    i, j = tl.arange(0, 32)[:, None], tl.arange(0, 16)[None, :]
    values = tl.load(x + (31 - i) * 16 + j)
    tl.debug_barrier()
    tl.store(x + i * 16 + j, values)


CASES = cases_of(__name__)
