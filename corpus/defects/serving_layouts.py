"""Parts of fused tensors, caches with their scales inside, and hints that layouts break."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: layouts")


@triton.jit
def rotate(
    q, k, table, positions, stride_q, stride_k, heads_q, heads_k,
    KIND: tl.constexpr, D: tl.constexpr, HALF: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    """Rotate a token's query and key heads in place; both are parts of one tensor."""
    token = tl.program_id(0)
    position = tl.load(positions + token)
    lanes = tl.arange(0, HALF)
    cosine = tl.load(table + position * 2 * HALF + lanes)  # [cosine]
    sine = tl.load(table + position * 2 * HALF + HALF + lanes)  # [sine]
    heads = tl.arange(0, HEADS)
    first = heads[:, None] * D + lanes[None, :]
    second = first + (D if KIND == "a head further" else HALF)
    inside = heads[:, None] < heads_q
    row = q + token * stride_q
    left = tl.load(row + first, mask=inside, other=0.0)
    right = tl.load(row + second, mask=inside, other=0.0)  # [right of q]
    tl.store(row + first, left * cosine[None, :] - right * sine[None, :], mask=inside)  # [q]
    tl.store(row + second, right * cosine[None, :] + left * sine[None, :], mask=inside)  # [2nd q]
    inside = heads[:, None] < (heads_q if KIND == "as many key heads" else heads_k)
    row = k + token * stride_k
    left = tl.load(row + first, mask=inside, other=0.0)  # [k]
    right = tl.load(row + second, mask=inside, other=0.0)  # [right of k]
    tl.store(row + first, left * cosine[None, :] - right * sine[None, :], mask=inside)  # [left]
    tl.store(row + second, right * cosine[None, :] + left * sine[None, :], mask=inside)  # [end]


def fused(positions, tokens=4, stride_k=88):
    """Query heads 6 of 8 numbers, key heads 2, value heads 3, in rows of 88."""
    return {
        "q": tensor(tokens, 48, strides=(88, 1), room=tokens * 88),
        "k": tensor(tokens, 16, strides=(88, 1), offset=48, shares="q"),
        "table": tensor(20, 8), "positions": holding(positions, "i64"), "stride_q": 88,
        "stride_k": stride_k, "heads_q": 6, "heads_k": 2,
    }  # fmt: skip


def rotating(kind=""):
    return {"KIND": kind, "D": 8, "HALF": 4, "HEADS": 8}


POSITIONS = [0, 7, 7, 19]
CASES.good("heads rotated in a fused tensor", rotate, fused(POSITIONS), rotating(), (4,))
CASES.bad("heads rotated, a position past the table", rotate, fused([0, 7, 7, 20]), rotating(),
            (4,), out_of_bounds=("cosine", "sine"))  # fmt: skip
CASES.bad("heads rotated, as many of the key as of the query", rotate, fused(POSITIONS),
            rotating("as many key heads"), (4,), out_of_view=("k", "right of k", "left", "end"),
            out_of_bounds=("k", "right of k", "left", "end"), race="end")  # fmt: skip
CASES.bad("heads rotated, the key's rows taken for its own", rotate,
            fused(POSITIONS, stride_k=16), rotating(), (4,), race=("left", "end"))  # fmt: skip
CASES.undecided("heads rotated at positions that were not recorded", rotate,
                  fused(POSITIONS) | {"positions": tensor(4, dtype="i64")}, rotating(), (4,),
                  because="positions", out_of_bounds=("cosine", "sine"))  # fmt: skip


@triton.jit
def gated(x, out, rows, width, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """silu(gate) * up, the two halves of a row."""
    row = tl.program_id(0)
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < width
    step = width if KIND == "rows of one half" else 2 * width
    gate = tl.load(x + row * step + lanes, mask=inside, other=0.0)
    if KIND == "up not masked":
        up = tl.load(x + row * step + width + lanes)  # [up]
    else:
        up = tl.load(x + row * step + width + lanes, mask=inside, other=0.0)
    values = gate * tl.sigmoid(gate) * up
    if KIND == "in place":
        tl.store(x + row * width + lanes, values, mask=inside)  # [in place]
    else:
        tl.store(out + row * width + lanes, values, mask=inside)  # [out]


GATED = {"x": tensor(5, 2, 20), "out": tensor(5, 20), "rows": 5, "width": 20}


def gating(kind=""):
    return {"KIND": kind, "BLOCK": 16}


CASES.good("gate and up of a row", gated, GATED, gating(), (5, 2))
CASES.bad("gate and up of a row, up not masked", gated, GATED, gating("up not masked"), (5, 2),
            out_of_bounds="up")  # fmt: skip
CASES.bad("gate and up, packed in place", gated, GATED, gating("in place"), (5, 2),
            race="in place")  # fmt: skip
CASES.good("gate and up, packed in place, of one row in one program", gated,
             GATED | {"x": tensor(1, 2, 20), "rows": 1}, {"KIND": "in place", "BLOCK": 32},
             (1, 1))  # fmt: skip


@triton.jit
def dequantise(cache, block_tables, lengths, out, stride_page, stride_table, width,
               PAGE: tl.constexpr, PAGES: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """8-bit tokens of a page, and behind them, in the same bytes, a 32-bit scale for each."""
    seq = tl.program_id(0)
    length = tl.load(lengths + seq)
    lanes = tl.arange(0, BLOCK)
    slots = tl.arange(0, PAGE)
    for index in range(tl.cdiv(length, PAGE)):
        page = tl.load(block_tables + seq * stride_table + index).to(tl.int64)
        start = cache + page * stride_page
        inside = index * PAGE + slots < length
        mask = inside[:, None] & (lanes[None, :] < width)
        values = tl.load(start + slots[:, None] * width + lanes[None, :], mask=mask, other=0)
        scales = (start + PAGE * width).to(tl.pointer_type(tl.float32))
        scale = tl.load(scales + slots, mask=inside, other=0.0)  # [scale]
        rows = (seq * PAGES + index) * PAGE + slots
        place = out + rows[:, None] * width + lanes[None, :]
        tl.store(place, values.to(tl.float32) * scale[:, None], mask=mask)


def packed(width, page_bytes, table=((3, 1), (0, -1))):
    return {
        "cache": tensor(4, page_bytes, dtype="i8"), "block_tables": holding(table),
        "lengths": holding([7, 2]), "out": tensor(2, 8, width), "stride_page": page_bytes,
        "stride_table": 2, "width": width,
    }  # fmt: skip


DEQUANTISE = {"PAGE": 4, "PAGES": 2, "BLOCK": 16}
CASES.good("scales behind the tokens of a page", dequantise, packed(12, 64), DEQUANTISE, (2,))
CASES.good("scales behind the tokens of a page, of an odd width", dequantise, packed(11, 60),
             DEQUANTISE, (2,))  # fmt: skip
CASES.bad("scales behind the tokens of a page of odd size", dequantise, packed(11, 61),
            DEQUANTISE, (2,), misaligned="scale")  # fmt: skip
CASES.good("scales behind the tokens of a page of odd size, of which only page 0 is read",
             dequantise, packed(11, 61, ((0, 0), (0, -1))), DEQUANTISE, (2,))  # fmt: skip
CASES.bad("scales behind the tokens of a page without room for them", dequantise,
            packed(12, 48), DEQUANTISE, (2,), out_of_bounds="scale")  # fmt: skip


@triton.jit
def hinted_slots(cache, slots, out, width, BLOCK: tl.constexpr):
    """Rows that are promised to begin at multiples of 16."""
    start = tl.multiple_of(tl.load(slots + tl.program_id(0)) * width, 16)  # [hint]
    lanes = tl.arange(0, BLOCK)
    values = tl.load(cache + start + lanes, mask=lanes < width)
    tl.store(out + tl.program_id(0) * width + lanes, values, mask=lanes < width)


def hinted(width, slots):
    return {
        "cache": tensor(10, width), "slots": holding(slots), "out": tensor(3, width),
        "width": width,
    }  # fmt: skip


CASES.good("slots of 64 numbers, promised to be multiples of 16", hinted_slots,
             hinted(64, [3, 9, 0]), {"BLOCK": 128}, (3,))  # fmt: skip
CASES.bad("slots of 72 numbers, promised to be multiples of 16", hinted_slots,
            hinted(72, [4, 9, 0]), {"BLOCK": 128}, (3,), wrong_hint="hint")  # fmt: skip
CASES.good("slots of 72 numbers, promised to be multiples of 16, and even ones", hinted_slots,
             hinted(72, [4, 8, 0]), {"BLOCK": 128}, (3,))  # fmt: skip


@triton.jit
def packed_keys(key, cache, slots, heads, width, x, KIND: tl.constexpr, PAGE: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """Keys in pages of [heads, width // x, PAGE, x], so that lanes of one slot lie apart."""
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    page, within = slot // PAGE, slot % PAGE
    lanes = tl.arange(0, BLOCK)
    inside = lanes < heads * width
    values = tl.load(key + token * heads * width + lanes, mask=inside)
    head, channel = lanes // width, lanes % width
    if KIND == "page and x swapped":
        outer = channel // x * PAGE * x + channel % x * PAGE + within
    elif KIND == "without the page":
        outer = channel // x * x + within * x + channel % x
    else:
        outer = channel // x * PAGE * x + within * x + channel % x
    place = cache + page * heads * width * PAGE + head * width * PAGE + outer
    tl.store(place, values, mask=inside)  # [cache]


def keys_of(slots):
    return {
        "key": tensor(5, 3, 16), "cache": tensor(4, 3, 4, 4, 4), "slots": holding(slots),
        "heads": 3, "width": 16, "x": 4,
    }  # fmt: skip


def key_layout(kind=""):
    return {"KIND": kind, "PAGE": 4, "BLOCK": 64}


CASES.good("keys into pages whose channels are packed", packed_keys,
             keys_of([0, 15, 6, -1, 7]), key_layout(), (5,))  # fmt: skip
CASES.good("keys into pages whose channels are packed the other way, each place once",
             packed_keys, keys_of([0, 15, 6, -1, 7]), key_layout("page and x swapped"),
             (5,))  # fmt: skip
CASES.bad("keys into pages, packed channels without the page's size", packed_keys,
            keys_of([0, 15, 6, -1, 7]), key_layout("without the page"), (5,),
            race="cache")  # fmt: skip
CASES.bad("keys into pages whose channels are packed, slot past the end", packed_keys,
            keys_of([0, 16, 6, -1, 7]), key_layout(), (5,), out_of_bounds="cache")  # fmt: skip
