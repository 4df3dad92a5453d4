"""Hints that the arguments contradict; pointers that are misaligned or null."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("hints")


@triton.jit
def multiple(x, out, stride, n, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * stride, 16)  # [hint]
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + start + lanes, mask=lanes < n)
    tl.store(out + start + lanes, values, mask=lanes < n)


def rows(columns):
    return {"x": tensor(9, columns), "out": tensor(9, columns), "stride": columns, "n": columns}


CASES.good("multiple_of that holds", multiple, rows(96), {"BLOCK": 128}, (9,))
CASES.bad(
    "multiple_of that does not hold", multiple, rows(100), {"BLOCK": 128}, (9,), wrong_hint="hint"
)
CASES.good(
    "multiple_of that does not hold, but for the one program there is",
    multiple, rows(100), {"BLOCK": 128}, (1,),
)  # fmt: skip


@triton.jit
def argument_multiple(x, out, stride, n, BLOCK: tl.constexpr):
    """Of an argument that is used as it is, the hint does not reach Triton's IR."""
    step = tl.multiple_of(stride, 16)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * step + lanes, mask=lanes < n)
    tl.store(out + tl.program_id(0) * step + lanes, values, mask=lanes < n)


CASES.good(
    "multiple_of of an argument does not hold, and nobody hears of it",
    argument_multiple, rows(100), {"BLOCK": 128}, (9,),
)  # fmt: skip


@triton.jit
def contiguous_rest(x, out, n, BLOCK: tl.constexpr):
    """The tutorial's hint after a remainder: true only if n is a multiple of the block."""
    lanes = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n  # [hinted]
    lanes = tl.max_contiguous(tl.multiple_of(lanes, BLOCK), BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x + lanes))


CASES.good(
    "max_contiguous after a remainder, whole blocks",
    contiguous_rest, {"x": tensor(512), "out": tensor(512), "n": 512}, {"BLOCK": 128}, (4,),
)  # fmt: skip
CASES.bad(
    "max_contiguous after a remainder, ragged",
    contiguous_rest, {"x": tensor(500), "out": tensor(512), "n": 500}, {"BLOCK": 128}, (4,),
    wrong_hint="hinted",
)  # fmt: skip


@triton.jit
def assumed(x, out, stride, n, BLOCK: tl.constexpr):
    tl.assume(stride >= n)  # [hint]
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * stride + lanes, mask=lanes < n)
    tl.store(out + tl.program_id(0) * n + lanes, values, mask=lanes < n)


CASES.good("assume that holds", assumed, rows(100), {"BLOCK": 128}, (9,))
CASES.bad(
    "assume that does not hold",
    assumed, {"x": tensor(9, 100, strides=(0, 1)), "out": tensor(9, 100), "stride": 0, "n": 100},
    {"BLOCK": 128}, (9,), wrong_hint="hint",
)  # fmt: skip


@triton.jit
def divisible(x, out, n, BLOCK: tl.constexpr):  # [arguments]
    """Compiled for pointers and numbers that are multiples of 16."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, mask=mask), mask=mask)  # [both]


def vectors(n, offset):
    return {"x": tensor(n, offset=offset, room=n + offset), "out": tensor(n), "n": n}


CASES.good(
    "pointer that is a multiple of 16 bytes", divisible, vectors(1008, 4), {"BLOCK": 128}, (8,),
    divisible=("x", "out", "n"),
)  # fmt: skip
CASES.bad(
    "pointer four bytes on, for code that loads 16 at once",
    divisible, vectors(1008, 1), {"BLOCK": 128}, (8,), divisible=("x", "out", "n"),
    wrong_hint="arguments",
)  # fmt: skip
CASES.bad(
    "number that is no multiple of 16, for code that takes it for one",
    divisible, vectors(1000, 4), {"BLOCK": 128}, (8,), divisible=("x", "out", "n"),
    wrong_hint="arguments",
)  # fmt: skip
CASES.good(
    "pointer four bytes on, for code that expects nothing",
    divisible, vectors(1008, 1), {"BLOCK": 128}, (8,),
)  # fmt: skip


@triton.jit
def words_from_bytes(x, out, first, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    words = (x + first).to(tl.pointer_type(tl.float32))
    tl.store(out + lanes, tl.load(words + lanes))  # [load]


BYTES = {"x": tensor(600, dtype="i8"), "out": tensor(128)}
CASES.good("floats from byte 4 on", words_from_bytes, BYTES | {"first": 4}, {"BLOCK": 128}, (1,))
CASES.bad(
    "floats from byte 6 on", words_from_bytes, BYTES | {"first": 6}, {"BLOCK": 128}, (1,),
    misaligned="load",
)  # fmt: skip
CASES.bad(
    "tensor of floats at an odd byte",
    divisible, {"x": tensor(100, odd_bytes=2), "out": tensor(100), "n": 100}, {"BLOCK": 128},
    (1,), misaligned="both",
)  # fmt: skip


@triton.jit
def from_number(address, out, n, BLOCK: tl.constexpr):
    """A pointer passed as a number, as tables of pointers hold them."""
    lanes = tl.arange(0, BLOCK)
    source = address.to(tl.pointer_type(tl.float32))
    if n > 0:
        tl.store(out + lanes, tl.load(source + lanes, mask=lanes < n, other=0.0))  # [load]


NUMBER = {"address": 0, "out": tensor(128), "n": 100}
CASES.bad(
    "null pointer", from_number, NUMBER, {"BLOCK": 128}, (1,), wide=frozenset({"address"}),
    null_pointer="load",
    follows={"out_of_bounds": "load"},
)  # fmt: skip
CASES.good(
    "null pointer that nobody follows", from_number, NUMBER | {"n": 0}, {"BLOCK": 128}, (1,),
    wide=frozenset({"address"}),
)  # fmt: skip
CASES.bad(
    "tensor without elements: its pointer is null", divisible,
    {"x": tensor(0), "out": tensor(128), "n": 128}, {"BLOCK": 128}, (1,), null_pointer="both",
    follows={"out_of_bounds": "both"},
)  # fmt: skip
CASES.bad(
    "tensors without elements, of which none is asked for", divisible,
    {"x": tensor(0), "out": tensor(0), "n": 0}, {"BLOCK": 128}, (1,), mask_always_false="both",
)  # fmt: skip
