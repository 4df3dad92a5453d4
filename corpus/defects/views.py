"""Views: tensors that lie inside a larger storage, or share one."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("views")


@triton.jit
def copy(x, out, n, shift, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + lanes + shift, mask=mask)  # [load]
    tl.store(out + lanes, values, mask=mask)


def view(offset, shift=0, room=1000, n=100):
    return {
        "x": tensor(100, offset=offset, room=room), "out": tensor(n), "n": n, "shift": shift,
    }  # fmt: skip


BLOCK = {"BLOCK": 128}
CASES.good("view in the middle", copy, view(300), BLOCK, (1,))
CASES.bad(
    "view in the middle, read past its end", copy, view(300, n=110), BLOCK, (1,),
    out_of_view="load",
)  # fmt: skip
CASES.bad(
    "view in the middle, read before its start", copy, view(300, shift=-3), BLOCK, (1,),
    out_of_view="load",
)  # fmt: skip
CASES.bad(
    "view at the end of its storage, read past its end", copy, view(900, n=110), BLOCK, (1,),
    out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "view at the start of its storage, read before its start", copy, view(0, shift=-3), BLOCK,
    (1,), out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "view near the end, read past view and storage", copy, view(895, n=110), BLOCK, (1,),
    out_of_bounds="load", out_of_view="load",
)  # fmt: skip


@triton.jit
def rotate(qkv, out, length, row_step, SIDE: tl.constexpr, HALF: tl.constexpr):
    """One tensor holds queries, keys and values side by side."""
    row = tl.program_id(0)
    lanes = tl.arange(0, HALF)
    left = tl.load(qkv + row * row_step + lanes)
    right = tl.load(qkv + row * row_step + HALF + lanes + SIDE)  # [right]
    tl.store(out + row * 2 * HALF + lanes, right)
    tl.store(out + row * 2 * HALF + HALF + lanes, left)


def packed(offset):
    return {
        "qkv": tensor(10, 64, strides=(192, 1), offset=offset, room=1920), "out": tensor(10, 64),
        "length": 10, "row_step": 192,
    }  # fmt: skip


CASES.good("part of a packed tensor", rotate, packed(64), {"SIDE": 0, "HALF": 32}, (10,))
CASES.bad(
    "part of a packed tensor, into the next part of the last row",
    rotate, packed(64), {"SIDE": 1, "HALF": 32}, (10,), out_of_view="right",
)  # fmt: skip
CASES.bad(
    "last part of a packed tensor, past its last row",
    rotate, packed(128), {"SIDE": 1, "HALF": 32}, (10,), out_of_bounds="right",
)  # fmt: skip


@triton.jit
def halves(first, second, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(second + lanes, tl.load(first + lanes, mask=mask), mask=mask)  # [both]


CASES.good(
    "from one half of a storage to the other",
    halves, {"first": tensor(500, room=1000), "second": tensor(500, offset=500, shares="first"),
             "n": 500}, BLOCK, (4,),
)  # fmt: skip
CASES.bad(
    "halves that overlap by a block",
    halves, {"first": tensor(500, room=1000), "second": tensor(500, offset=372, shares="first"),
             "n": 500}, BLOCK, (4,), race="both",
)  # fmt: skip


@triton.jit
def as_words(x, out, words, BLOCK: tl.constexpr):
    """Bytes read as words of four."""
    lanes = tl.arange(0, BLOCK)
    wide = x.to(tl.pointer_type(tl.int32))
    tl.store(out + lanes, tl.load(wide + lanes, mask=lanes < words), mask=lanes < words)  # [load]


CASES.good(
    "bytes as words",
    as_words, {"x": tensor(400, dtype="i8"), "out": tensor(100, dtype="i32"), "words": 100},
    BLOCK, (1,),
)  # fmt: skip
CASES.bad(
    "bytes as words, the last word not whole",
    as_words, {"x": tensor(398, dtype="i8"), "out": tensor(100, dtype="i32"), "words": 100},
    BLOCK, (1,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def one_of_two(x, y, out, n, far, BLOCK: tl.constexpr):
    """A pointer that is one tensor's or another's, by the program."""
    lanes = tl.arange(0, BLOCK)
    source = x
    if tl.program_id(0) % 2 == 1:
        source = y
    values = tl.load(source + lanes, mask=lanes < n, other=0.0)  # [load]
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)


EITHER = {"x": tensor(100), "y": tensor(100), "out": tensor(4, 128), "n": 100, "far": 0}
CASES.good("one of two tensors", one_of_two, EITHER, BLOCK, (4,))
CASES.bad(
    "one of two tensors, one of them shorter",
    one_of_two, EITHER | {"y": tensor(90)}, BLOCK, (4,), out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "one of two tensors, the shorter one never taken",
    one_of_two, EITHER | {"y": tensor(90)}, BLOCK, (1,),
)  # fmt: skip
