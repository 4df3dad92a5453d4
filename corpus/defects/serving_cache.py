"""Writing to, reading from and moving about a KV cache in pages."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: cache")


@triton.jit
def write_cache(
    key, value, key_cache, value_cache, slot_mapping, stride_token, stride_page, stride_slot, width,
    KIND: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Put a token's key and value where its slot says; -1 is padding of a captured graph."""
    token = tl.program_id(0)
    slot = tl.load(slot_mapping + token)
    if KIND != "no check" and slot < 0:
        return
    lanes = tl.arange(0, BLOCK)
    inside = lanes < width
    keys = tl.load(key + token * stride_token + lanes, mask=inside)
    values = tl.load(value + token * stride_token + lanes, mask=inside)
    if KIND == "slot for a page":
        row = slot * stride_page
    else:
        row = slot // PAGE * stride_page + slot % PAGE * stride_slot
    if KIND == "no mask":
        tl.store(key_cache + row + lanes, keys)  # [unmasked key]
    else:
        tl.store(key_cache + row + lanes, keys, mask=inside)  # [key]
    tl.store(value_cache + row + lanes, values, mask=inside)  # [value]


def written(slots, width=24):
    cache = tensor(6, 4, width, dtype="bf16")
    tokens = tensor(7, width, dtype="bf16")
    return {
        "key": tokens, "value": tokens, "key_cache": cache, "value_cache": cache,
        "slot_mapping": slots, "stride_token": width, "stride_page": 4 * width,
        "stride_slot": width, "width": width,
    }  # fmt: skip


def writing(kind=""):
    return {"KIND": kind, "PAGE": 4, "BLOCK": 32}


PLACED = [4, 5, 6, 23, 0, 8, 9]
PADDED = [4, 5, 6, 23, -1, -1, -1]
BOTH = ("key", "value")
CASES.good("tokens written to their slots", write_cache, written(holding(PLACED, "i64")),
             writing(), (7,))  # fmt: skip
CASES.good("tokens written to their slots, padding left out", write_cache,
             written(holding(PADDED, "i64")), writing(), (7,))  # fmt: skip
CASES.bad("tokens written to their slots, padding not looked for", write_cache,
            written(holding(PADDED, "i64")), writing("no check"), (7,),
            out_of_bounds=BOTH, follows={"race": BOTH})  # fmt: skip
CASES.good("tokens written to their slots, no padding and not looked for", write_cache,
             written(holding(PLACED, "i64")), writing("no check"), (7,))  # fmt: skip
CASES.bad("two tokens written to one slot", write_cache,
            written(holding([4, 5, 6, 23, 0, 8, 5], "i64")), writing(), (7,),
            race=BOTH)  # fmt: skip
CASES.bad("tokens written to their slots, one past the last page", write_cache,
            written(holding([4, 5, 6, 24, 0, 8, 9], "i64")), writing(), (7,),
            out_of_bounds=BOTH)  # fmt: skip
CASES.bad("tokens written to pages of their slots' numbers", write_cache,
            written(holding(PLACED, "i64")), writing("slot for a page"), (7,),
            out_of_bounds=BOTH)  # fmt: skip
CASES.bad("tokens written to their slots, lanes past a head too", write_cache,
            written(holding([*PADDED[:4], 1, -1, -1], "i64")), writing("no mask"), (7,),
            out_of_bounds="unmasked key", race="unmasked key",
            undefined_lanes="unmasked key")  # fmt: skip
CASES.good("tokens written to their slots without a mask, heads of 32", write_cache,
             written(holding(PADDED, "i64"), 32), writing("no mask"), (7,))  # fmt: skip
CASES.undecided("tokens written to slots that were not recorded", write_cache,
                  written(tensor(7, dtype="i64")), writing(), (7,), because="slot_mapping",
                  out_of_bounds=BOTH, race=BOTH)  # fmt: skip


@triton.jit
def copy_pages(cache, pairs, stride_page, elements, BLOCK: tl.constexpr):
    """Copy whole pages within a cache, as a forked sequence needs: pairs of source and target."""
    pair = tl.program_id(0)
    source = tl.load(pairs + 2 * pair).to(tl.int64)  # [pair]
    target = tl.load(pairs + 2 * pair + 1).to(tl.int64)  # [its target]
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < elements
    values = tl.load(cache + source * stride_page + lanes, mask=inside)  # [source]
    tl.store(cache + target * stride_page + lanes, values, mask=inside)  # [target]


def copied(pairs):
    return {"cache": tensor(9, 4, 10), "pairs": pairs, "stride_page": 40, "elements": 40}


COPY = {"BLOCK": 16}
CASES.good("pages copied to pages of their own", copy_pages,
             copied(holding([[0, 3], [0, 4], [8, 5]])), COPY, (3, 3))  # fmt: skip
CASES.bad("a page copied that another program writes", copy_pages,
            copied(holding([[0, 3], [3, 4], [8, 5]])), COPY, (3, 3), race="target")  # fmt: skip
CASES.bad("two pages copied to one", copy_pages, copied(holding([[0, 3], [1, 3], [8, 5]])),
            COPY, (3, 3), race="target")  # fmt: skip
CASES.bad("a page copied that is past the pool", copy_pages,
            copied(holding([[0, 3], [9, 4], [8, 5]])), COPY, (3, 3),
            out_of_bounds="source")  # fmt: skip
CASES.bad("pages copied, more programs than pairs", copy_pages,
            copied(holding([[0, 3], [0, 4]])), COPY, (3, 3),
            out_of_bounds=("pair", "its target"),
            doubtful={"race": "target"},
            follows={"out_of_bounds": ("source", "target"), "race": "source"})  # fmt: skip


@triton.jit
def gather_cache(cache, out, block_tables, cu_lens, stride_page, stride_table, width,
                 KIND: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Collect the pages of a sequence, one after the other, into a ragged tensor."""
    seq, split = tl.program_id(0), tl.program_id(1)
    begin = tl.load(cu_lens + seq)
    length = tl.load(cu_lens + seq + 1) - begin
    pages = length // PAGE + 1 if KIND == "one page more" else tl.cdiv(length, PAGE)
    lanes = tl.arange(0, BLOCK)
    for index in range(split, pages, tl.num_programs(1)):
        page = tl.load(block_tables + seq * stride_table + index)  # [table]
        count = tl.minimum(length - index * PAGE, PAGE)
        if KIND == "whole pages":
            count = PAGE
        for slot in range(count):
            row = page.to(tl.int64) * stride_page + slot * width
            values = tl.load(cache + row + lanes, mask=lanes < width)  # [row]
            place = (begin + index * PAGE + slot) * width
            tl.store(out + place + lanes, values, mask=lanes < width)  # [out]


def gathered(ends, table=None):
    return {
        "cache": tensor(8, 4, 10, dtype="fp16"), "out": tensor(int(ends[-1]), 10, dtype="fp16"),
        "block_tables": holding([[1, 5, 0], [2, -1, -1], [7, 3, 6]]) if table is None else table,
        "cu_lens": holding(ends), "stride_page": 40, "stride_table": 3, "width": 10,
    }  # fmt: skip


def gathering(kind=""):
    return {"KIND": kind, "PAGE": 4, "BLOCK": 16}


CASES.good("pages gathered into a ragged tensor", gather_cache, gathered([0, 9, 12, 23]),
             gathering(), (3, 2))  # fmt: skip
CASES.bad("pages gathered, the last one whole", gather_cache, gathered([0, 9, 12, 23]),
            gathering("whole pages"), (3, 2), out_of_bounds="out", race="out")  # fmt: skip
CASES.good("pages gathered, the last one whole, of whole pages", gather_cache,
             gathered([0, 8, 12, 24]), gathering("whole pages"), (3, 2))  # fmt: skip
CASES.bad("pages gathered, one too many after a full one", gather_cache,
            gathered([0, 9, 12, 24]), gathering("one page more"), (3, 2), out_of_bounds="table",
            follows={"out_of_bounds": ("row", "out"), "race": "out"})  # fmt: skip
CASES.good("pages gathered, one more, of none that is full", gather_cache,
             gathered([0, 9, 12, 23], holding([[1, 5, 0], [2, 0, -1], [7, 3, 6]])),
             gathering("one page more"), (3, 2))  # fmt: skip


@triton.jit
def quantised_write(value, cache, scales, slots, width, stride_slot, stride_scale,
                    BLOCK: tl.constexpr):  # fmt: skip
    """A token's head as 8-bit integers, its scale beside it."""
    token, head = tl.program_id(0), tl.program_id(1)
    heads = tl.num_programs(1)
    slot = tl.load(slots + token).to(tl.int64)
    if slot >= 0:
        lanes = tl.arange(0, BLOCK)
        inside = lanes < width
        values = tl.load(value + (token * heads + head) * width + lanes, mask=inside, other=0.0)
        scale = tl.maximum(tl.max(tl.abs(values), axis=0) / 127.0, 1e-6)
        place = slot * stride_slot + head * width + lanes
        tl.store(cache + place, (values / scale).to(tl.int8), mask=inside)  # [cache]
        tl.store(scales + slot * stride_scale + head, scale)  # [scale]


def quantised(slots, stride_scale=3):
    return {
        "value": tensor(5, 3, 12), "cache": tensor(16, 3, 12, dtype="i8"),
        "scales": tensor(16, 3), "slots": holding(slots), "width": 12, "stride_slot": 36,
        "stride_scale": stride_scale,
    }  # fmt: skip


QUANTISE = {"BLOCK": 16}
CASES.good("quantised tokens with a scale for each head", quantised_write,
             quantised([3, 15, -1, 0, 9]), QUANTISE, (5, 3))  # fmt: skip
CASES.bad("quantised tokens, scales with the stride of one head", quantised_write,
            quantised([3, 4, -1, 0, 9], 1), QUANTISE, (5, 3), race="scale")  # fmt: skip
CASES.good("quantised tokens, scales with the stride of one head, slots far apart",
             quantised_write, quantised([3, 15, -1, 0, 9], 1), QUANTISE, (5, 3))  # fmt: skip
CASES.bad("quantised tokens, scales with the stride of the cache", quantised_write,
            quantised([3, 15, -1, 0, 9], 36), QUANTISE, (5, 3), out_of_bounds="scale")  # fmt: skip


@triton.jit
def move_slots(cache, targets, sources, count, width, KIND: tl.constexpr, TOKENS: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """Move accepted tokens together in place: all rows of a program are read before any is put."""
    rows = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    lanes = tl.arange(0, BLOCK)
    inside = (rows[:, None] < count) & (lanes[None, :] < width)
    if KIND == "no other":
        source = tl.load(sources + rows, mask=rows < count)
        inside = lanes[None, :] < width
    else:
        source = tl.load(sources + rows, mask=rows < count, other=0)
    target = tl.load(targets + rows, mask=rows < count, other=0)
    values = tl.load(cache + source[:, None] * width + lanes[None, :], mask=inside)  # [load]
    inside = (rows[:, None] < count) & (lanes[None, :] < width)
    tl.store(cache + target[:, None] * width + lanes[None, :], values, mask=inside)  # [put]


def moved(targets, sources):
    return {
        "cache": tensor(12, 10), "targets": holding(targets, "i64"),
        "sources": holding(sources, "i64"), "count": len(targets), "width": 10,
    }  # fmt: skip


def moving(tokens, kind=""):
    return {"KIND": kind, "TOKENS": tokens, "BLOCK": 16}


CASES.good("slots moved together by one program", move_slots,
             moved([2, 3, 4, 5, 6], [3, 5, 6, 9, 11]), moving(8), (1,))  # fmt: skip
CASES.bad("slots moved together by two programs", move_slots,
            moved([2, 3, 4, 5, 6], [3, 5, 6, 9, 11]), moving(4), (2,), race="put")  # fmt: skip
CASES.good("slots moved together by two programs, none into another's", move_slots,
             moved([2, 3, 4, 5, 6], [3, 4, 7, 9, 11]), moving(4), (2,))  # fmt: skip
CASES.bad("slots moved together, sources without other", move_slots,
            moved([2, 3, 4, 5, 6], [3, 5, 6, 9, 11]), moving(8, "no other"), (1,),
            undefined_use="load")  # fmt: skip
