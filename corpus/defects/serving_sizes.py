"""Offsets at the sizes of servers: 32 bits are enough up to some page, token, expert or row.

Nothing of these sizes is allocated. What is loaded decides which page or token it is.
"""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: sizes")


@triton.jit
def read_page(cache, block_tables, out, stride_page, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """The start of a page that a table names."""
    lanes = tl.arange(0, BLOCK)
    page = tl.load(block_tables + tl.program_id(0))
    if KIND == "early":
        values = tl.load(cache + (page.to(tl.int64) * stride_page + lanes))  # [early]
    elif KIND == "late":
        start = (page * stride_page).to(tl.int64)  # [late]
        values = tl.load(cache + (start + lanes))  # [from late]
    elif KIND == "in one":
        values = tl.load(cache + (page * stride_page + lanes))  # [in one]
    else:
        values = tl.load(cache + page * stride_page + lanes)  # [page]
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)


def pages(table, count=16_400, dtype="i32"):
    return {
        "cache": tensor(count, 262_144, dtype="i8"), "block_tables": holding(table, dtype),
        "out": tensor(2, 64, dtype="i8"), "stride_page": 262_144,
    }  # fmt: skip


def reading(kind=""):
    return {"KIND": kind, "BLOCK": 64}


ALL = (0, 1)
CASES.bad("page 8,192 of 256 KiB in 32 bits", read_page, pages([8191, 8192]), reading(), (2,),
            look_at=ALL, overflow="page", follows={"out_of_bounds": "page"})  # fmt: skip
CASES.good("page 8,191 of 256 KiB in 32 bits", read_page, pages([8191, 0]), reading(), (2,),
             look_at=ALL)  # fmt: skip
CASES.bad("page 16,384 of 256 KiB in 32 bits, which is page 0 again", read_page,
            pages([8191, 16_384]), reading(), (2,), look_at=ALL, overflow="page")  # fmt: skip
CASES.bad("page 16,384 of 256 KiB, all of the offset in 32 bits", read_page,
            pages([8191, 16_384]), reading("in one"), (2,), look_at=ALL,
            overflow="in one")  # fmt: skip
CASES.good("page 8,191 of 256 KiB, all of the offset in 32 bits", read_page,
             pages([8191, 17]), reading("in one"), (2,), look_at=ALL)  # fmt: skip
CASES.good("page 16,384 of 256 KiB, made wide first", read_page, pages([8191, 16_384]),
             reading("early"), (2,), look_at=ALL)  # fmt: skip
CASES.bad("page 16,384 of 256 KiB, made wide too late", read_page, pages([8191, 16_384]),
            reading("late"), (2,), look_at=ALL, overflow="late")  # fmt: skip
CASES.good("page 16,384 of 256 KiB, a table of 64 bits", read_page,
             pages([8191, 16_384], dtype="i64"), reading(), (2,), look_at=ALL)  # fmt: skip
CASES.good("page 16,384 of 256 KiB, a stride of 64 bits", read_page, pages([8191, 16_384]),
             reading(), (2,), look_at=ALL, wide=frozenset({"stride_page"}))  # fmt: skip
CASES.bad("page 16,400 of 16,400, made wide first", read_page, pages([8191, 16_400]),
            reading("early"), (2,), look_at=ALL,
            out_of_bounds="early")  # fmt: skip


@triton.jit
def read_checked_page(cache, block_tables, out, stride_page, pages, BLOCK: tl.constexpr):
    """The same, of a page that is there, or zeros."""
    lanes = tl.arange(0, BLOCK)
    page = tl.load(block_tables + tl.program_id(0))
    known = (page >= 0) & (page < pages)
    values = tl.load(cache + (page * stride_page + lanes), mask=known, other=0)  # [checked]
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)


def checked(table, count):
    return pages(table, count) | {"pages": count}


CASES.good("pages that are checked, 8,192 of them in 32 bits", read_checked_page,
             checked([8191, 8192], 8192), {"BLOCK": 64}, (2,), look_at=ALL)  # fmt: skip
CASES.bad("pages that are checked, 16,400 of them in 32 bits", read_checked_page,
            checked([8191, 16_384], 16_400), {"BLOCK": 64}, (2,), look_at=ALL,
            overflow="checked")  # fmt: skip
UNTOLD = {"block_tables": tensor(2, dtype="i32")}
CASES.good("unrecorded pages that are checked, 8,192 of them in 32 bits", read_checked_page,
             checked([0, 0], 8192) | UNTOLD, {"BLOCK": 64}, (2,), look_at=ALL)  # fmt: skip
CASES.undecided("unrecorded pages that are checked, 16,400 of them in 32 bits",
                  read_checked_page, checked([0, 0], 16_400) | UNTOLD, {"BLOCK": 64}, (2,),
                  look_at=ALL, because="block_tables", out_of_bounds="checked",
                  doubtful={"overflow": "checked"})  # fmt: skip


@triton.jit
def write_slots(key, cache, slots, stride_slot, width, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Tokens into a flat cache."""
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    if WIDE:
        slot = slot.to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < width
    values = tl.load(key + token * width + lanes, mask=inside)
    tl.store(cache + slot * stride_slot + lanes, values, mask=inside)  # [slot]


def flat_cache(slots, count=2_200_000):
    return {
        "key": tensor(len(slots), 1000, dtype="bf16"),
        "cache": tensor(count, 1024, dtype="bf16"), "slots": holding(slots),
        "stride_slot": 1024, "width": 1000,
    }  # fmt: skip


SLOTTED = (0, 1, 2)
CASES.good("slot 2,097,151 of 1,024 numbers in 32 bits", write_slots,
             flat_cache([5, 2_097_151, -1]), {"WIDE": False, "BLOCK": 1024}, (3,),
             look_at=SLOTTED)  # fmt: skip
CASES.bad("slot 2,097,152 of 1,024 numbers in 32 bits", write_slots,
            flat_cache([5, 2_097_152, -1]), {"WIDE": False, "BLOCK": 1024}, (3,),
            look_at=SLOTTED, overflow="slot",
            follows={"out_of_bounds": "slot", "race": "slot"})  # fmt: skip
CASES.good("slot 2,097,152 of 1,024 numbers, wide", write_slots,
             flat_cache([5, 2_097_152, -1]), {"WIDE": True, "BLOCK": 1024}, (3,),
             look_at=SLOTTED)  # fmt: skip
CASES.bad("slot of the last page's end, wide", write_slots,
            flat_cache([5, 2_200_000, -1]), {"WIDE": True, "BLOCK": 1024}, (3,),
            look_at=SLOTTED, out_of_bounds="slot")  # fmt: skip


@triton.jit
def expert_rows(weights, expert_ids, sorted_ids, out, stride_expert, stride_out, valid,
                WIDE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """The head of an expert's weights into the rows of its tokens."""
    tile = tl.program_id(0)
    expert = tl.load(expert_ids + tile)
    ids = tl.load(sorted_ids + tile * BM + tl.arange(0, BM))
    if (WIDE == "experts") or (WIDE == "both"):
        expert = expert.to(tl.int64)
    if WIDE == "both":
        ids = ids.to(tl.int64)
    lanes = tl.arange(0, BN)
    values = tl.load(weights + expert * stride_expert + lanes)  # [weights]
    rows = out + ids[:, None] * stride_out + lanes[None, :]  # [offset]
    tl.store(rows, values[None, :], mask=ids[:, None] < valid)  # [rows]


def many_experts(expert_ids, ids, valid):
    return {
        "weights": tensor(256, 4096, 7168, dtype="fp16"), "expert_ids": holding(expert_ids),
        "sorted_ids": holding(ids), "out": tensor(valid, 4096, dtype="fp16"),
        "stride_expert": 29_360_128, "stride_out": 4096, "valid": valid,
    }  # fmt: skip


def weighted(wide):
    return {"WIDE": wide, "BM": 4, "BN": 16}


LAST = [0, 524_284, 524_287, 524_288, 9, 7, 524_286, 524_288]
MORE = [0, 524_284, 524_287, 524_288, 9, 7, 524_286, 524_289]
CASES.good("expert 73 and 524,288 rows in 32 bits", expert_rows,
             many_experts([73, 2], LAST, 524_288), weighted(""), (2,), look_at=ALL)  # fmt: skip
CASES.bad("expert 74 in 32 bits", expert_rows, many_experts([73, 74], LAST, 524_288),
            weighted(""), (2,), look_at=ALL, overflow="weights",
            follows={"out_of_bounds": "weights"})  # fmt: skip
CASES.good("expert 255 in 64 bits, 524,288 rows in 32", expert_rows,
             many_experts([73, 255], LAST, 524_288), weighted("experts"), (2,),
             look_at=ALL)  # fmt: skip
CASES.bad("expert 255 in 64 bits, 524,289 rows in 32", expert_rows,
            many_experts([73, 255], MORE, 524_289), weighted("experts"), (2,), look_at=ALL,
            overflow="offset", follows={"out_of_bounds": "rows", "race": "rows"})  # fmt: skip
CASES.good("expert 255 and 524,289 rows in 64 bits", expert_rows,
             many_experts([73, 255], MORE, 524_289), weighted("both"), (2,),
             look_at=ALL)  # fmt: skip
CASES.bad("expert 256 of 256, in 64 bits", expert_rows,
            many_experts([73, 256], MORE, 524_289), weighted("both"), (2,), look_at=ALL,
            out_of_bounds="weights")  # fmt: skip


@triton.jit
def scale_logits(logits, temperatures, stride, vocabulary, WIDE: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """Divide a row of logits by its temperature, in place."""
    row = tl.program_id(0)
    start = row.to(tl.int64) * stride if WIDE else row * stride
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < vocabulary
    place = start + lanes  # [place]
    values = tl.load(logits + place, mask=inside)  # [load]
    tl.store(logits + place, values / tl.load(temperatures + row), mask=inside)  # [store]


def vocabulary(rows):
    return {
        "logits": tensor(rows, 151_936, dtype="fp16"), "temperatures": tensor(rows),
        "stride": 151_936, "vocabulary": 151_936,
    }  # fmt: skip


def columns(row, part, rows):
    """Linear id of the program of a row and a part of it."""
    return row + part * rows


CASES.good("14,134 rows of 151,936 logits in 32 bits", scale_logits, vocabulary(14_134),
             {"WIDE": False, "BLOCK": 1024}, (14_134, 149),
             look_at=(0, columns(14_133, 148, 14_134)))  # fmt: skip
CASES.bad("14,135 rows of 151,936 logits in 32 bits", scale_logits, vocabulary(14_135),
            {"WIDE": False, "BLOCK": 1024}, (14_135, 149),
            look_at=(0, columns(14_134, 18, 14_135), columns(14_134, 19, 14_135),
                     columns(14_134, 20, 14_135)),
            overflow="place",
            follows={"out_of_bounds": ("load", "store"), "race": "store"})  # fmt: skip
CASES.good("16,384 rows of 151,936 logits in 64 bits", scale_logits, vocabulary(16_384),
             {"WIDE": True, "BLOCK": 1024}, (16_384, 149),
             look_at=(0, columns(16_383, 148, 16_384)))  # fmt: skip


@triton.jit
def read_tokens(x, cu_seqlens, out, stride, KIND: tl.constexpr, STEPS: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """The last tokens of a sequence, their place counted on from step to step."""
    seq = tl.program_id(0)
    end = tl.load(cu_seqlens + seq + 1)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    if KIND == "wide":
        end = end.to(tl.int64)
    offset = (end - STEPS) * stride
    place = x + offset
    for _ in range(STEPS):
        if KIND == "pointer":
            total += tl.load(place + lanes)
            place += stride
        else:
            total += tl.load(x + (offset + lanes))  # [load]
            offset += stride  # [counted]
    tl.store(out + seq * BLOCK + lanes, total)


def tokens(end):
    return {
        "x": tensor(end, 2048, dtype="fp16"), "cu_seqlens": holding([0, 9, end]),
        "out": tensor(2, 64), "stride": 2048,
    }  # fmt: skip


def taking(kind):
    return {"KIND": kind, "STEPS": 4, "BLOCK": 64}


CASES.good("1,048,576 tokens of 2,048 numbers in 32 bits", read_tokens, tokens(1_048_576),
             taking(""), (2,), look_at=ALL)  # fmt: skip
CASES.bad("1,048,577 tokens of 2,048 numbers in 32 bits, counted on past the last",
            read_tokens, tokens(1_048_577), taking(""), (2,), look_at=ALL,
            overflow="counted", follows={"out_of_bounds": "load"})  # fmt: skip
CASES.good("1,048,577 tokens of 2,048 numbers, the pointer counted on", read_tokens,
             tokens(1_048_577), taking("pointer"), (2,), look_at=ALL)  # fmt: skip
CASES.good("1,048,577 tokens of 2,048 numbers in 64 bits", read_tokens, tokens(1_048_577),
             taking("wide"), (2,), look_at=ALL)  # fmt: skip


@triton.jit
def copy_states(states, sources, targets, stride_slot, elements, WIDE: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """Recurrent states from slot to slot, in blocks along the second axis of the grid."""
    source, target = tl.load(sources + tl.program_id(0)), tl.load(targets + tl.program_id(0))
    if WIDE:
        source, target = source.to(tl.int64), target.to(tl.int64)
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < elements
    values = tl.load(states + source * stride_slot + lanes, mask=inside)  # [source]
    tl.store(states + target * stride_slot + lanes, values, mask=inside)  # [target]


def recurrent(sources, targets):
    return {
        "states": tensor(5000, 64, 64, 128), "sources": holding(sources),
        "targets": holding(targets), "stride_slot": 524_288, "elements": 524_288,
    }  # fmt: skip


COPIED = (0, 1, 1022, 1023)
CASES.good("states of slot 4,095 in 32 bits", copy_states, recurrent([4095, 2], [1, 3]),
             {"WIDE": False, "BLOCK": 1024}, (2, 512), look_at=COPIED)  # fmt: skip
CASES.bad("states of slot 4,096 in 32 bits", copy_states, recurrent([4096, 2], [1, 3]),
            {"WIDE": False, "BLOCK": 1024}, (2, 512), look_at=COPIED, overflow="source",
            follows={"out_of_bounds": "source", "race": ("source", "target")})  # fmt: skip
CASES.good("states of slot 4,999 in 64 bits", copy_states, recurrent([4999, 2], [1, 4096]),
             {"WIDE": True, "BLOCK": 1024}, (2, 512), look_at=COPIED)  # fmt: skip
CASES.bad("states copied to one slot from two, at their size", copy_states,
            recurrent([4999, 2], [4096, 4096]), {"WIDE": True, "BLOCK": 1024}, (2, 512),
            look_at=COPIED, race="target")  # fmt: skip
CASES.bad("states copied from a slot that is written, at their size", copy_states,
            recurrent([4999, 2], [2, 4096]), {"WIDE": True, "BLOCK": 1024}, (2, 512),
            look_at=COPIED, race="target")  # fmt: skip
