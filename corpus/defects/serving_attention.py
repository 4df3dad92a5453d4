"""Attention over a cache in pages and over ragged batches, as servers run it."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: attention")


@triton.jit
def paged_decode(
    q, k_cache, v_cache, out, block_tables, seq_lens, scale,
    stride_qb, stride_qh, stride_page, stride_slot, stride_head, stride_table,
    KIND: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """One new token of each sequence against its pages, query heads in groups to a KV head."""
    seq, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(seq_lens + seq)
    dims = tl.arange(0, D)
    query = tl.load(q + seq * stride_qb + head * stride_qh + dims)
    kv_head = head if KIND == "head of the query" else head // GROUP
    highest = -float("inf")
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    last = length + 1 if KIND == "one token too many" else length
    for start in range(0, last, BLOCK):
        tokens = start + tl.arange(0, BLOCK)
        inside = tokens < last
        entries = block_tables + seq * stride_table + tokens // PAGE
        if KIND == "no mask at the table":
            page = tl.load(entries)  # [table]
        elif KIND == "no other":
            page = tl.load(entries, mask=inside)
        else:
            page = tl.load(entries, mask=inside, other=0)  # [pages]
        row = page.to(tl.int64) * stride_page + tokens % PAGE * stride_slot
        where = row[:, None] + kv_head * stride_head + dims[None, :]
        if KIND == "no other":
            keys = tl.load(k_cache + where)  # [load]
        else:
            keys = tl.load(k_cache + where, mask=inside[:, None], other=0.0)  # [keys]
        scores = tl.sum(keys * query[None, :], axis=1) * scale
        scores = tl.where(inside, scores, -float("inf"))
        new = tl.maximum(highest, tl.max(scores, axis=0))
        weights = tl.exp(scores - new)
        shrink = tl.exp(highest - new)
        total = total * shrink + tl.sum(weights, axis=0)
        values = tl.load(v_cache + where, mask=inside[:, None], other=0.0)  # [values]
        sums = sums * shrink + tl.sum(weights[:, None] * values, axis=0)
        highest = new
    tl.store(out + seq * stride_qb + head * stride_qh + dims, sums / total)


PAGES, PAGE, KV_HEADS, HEADS, D = 12, 4, 2, 6, 16
TABLE = [[3, 0, 7, -1, -1], [11, -1, -1, -1, -1], [5, 1, 9, 10, 2]]


def decode(table=None, lengths=(9, 3, 18), pages=PAGES):
    tables = holding(TABLE) if table is None else table
    return {
        "q": tensor(3, HEADS, D), "k_cache": tensor(pages, PAGE, KV_HEADS, D),
        "v_cache": tensor(pages, PAGE, KV_HEADS, D), "out": tensor(3, HEADS, D),
        "block_tables": tables, "seq_lens": holding(lengths), "scale": 0.25,
        "stride_qb": HEADS * D, "stride_qh": D, "stride_page": PAGE * KV_HEADS * D,
        "stride_slot": KV_HEADS * D, "stride_head": D, "stride_table": 5,
    }  # fmt: skip


def decoding(kind=""):
    return {"KIND": kind, "GROUP": 3, "D": D, "PAGE": PAGE, "BLOCK": 8}


CACHES = ("keys", "values")
CASES.good("decode over pages, tables filled up with -1", paged_decode, decode(), decoding(),
             (3, HEADS))  # fmt: skip
CASES.good("decode over pages, the last table full", paged_decode, decode(lengths=(9, 3, 20)),
             decoding(), (3, HEADS))  # fmt: skip
CASES.good("decode over pages, an empty sequence", paged_decode, decode(lengths=(9, 0, 18)),
             decoding(), (3, HEADS))  # fmt: skip
CASES.bad("decode over pages, a page that is not there", paged_decode,
            decode(holding([*TABLE[:2], [5, 1, 9, 12, 2]])), decoding(), (3, HEADS),
            out_of_bounds=CACHES)  # fmt: skip
CASES.bad("decode over pages, a length that reaches a -1", paged_decode,
            decode(lengths=(9, 5, 18)), decoding(), (3, HEADS), out_of_bounds=CACHES)  # fmt: skip
CASES.bad("decode over pages, a length past the table", paged_decode,
            decode(lengths=(9, 3, 21)), decoding(), (3, HEADS), out_of_bounds="pages",
            doubtful={"out_of_bounds": CACHES})  # fmt: skip
CASES.bad("decode over pages, one token too many, where a page begins", paged_decode,
            decode(lengths=(12, 3, 18)), decoding("one token too many"), (3, HEADS),
            out_of_bounds=CACHES)  # fmt: skip
CASES.good("decode over pages, one token too many, inside a page", paged_decode,
             decode(lengths=(9, 3, 18)), decoding("one token too many"), (3, HEADS))  # fmt: skip
CASES.bad("decode over pages, the table's load without a mask", paged_decode, decode(),
            decoding("no mask at the table"), (3, HEADS), out_of_bounds="table",
            follows={"out_of_bounds": CACHES})  # fmt: skip
CASES.good("decode over pages, the table's load without a mask, in a longer table", paged_decode,
             decode(holding([*TABLE, [-1] * 5])), decoding("no mask at the table"),
             (3, HEADS))  # fmt: skip
CASES.bad("decode over pages, pages of lanes without other", paged_decode, decode(),
            decoding("no other"), (3, HEADS), undefined_use="load")  # fmt: skip
CASES.bad("decode over pages, KV head not divided by the group", paged_decode, decode(),
            decoding("head of the query"), (3, HEADS), out_of_bounds=CACHES)  # fmt: skip
CASES.undecided("decode over pages that were not recorded", paged_decode,
                  decode(tensor(3, 5, dtype="i32")), decoding(), (3, HEADS),
                  because="block_tables", out_of_bounds=CACHES)  # fmt: skip
CASES.undecided("decode over pages, lengths that were not recorded", paged_decode,
                  decode() | {"seq_lens": tensor(3, dtype="i32")}, decoding(), (3, HEADS),
                  because="seq_lens", out_of_bounds=("pages", *CACHES))  # fmt: skip


@triton.jit
def split_decode(
    q, cache, part, part_lse, block_tables, seq_lens, stride_page, stride_table,
    KIND: tl.constexpr, SPLITS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Each program takes a run of a sequence's pages, and leaves a part to be merged."""
    seq, split = tl.program_id(0), tl.program_id(1)
    length = tl.load(seq_lens + seq)
    pages = tl.cdiv(length, PAGE)
    per_split = tl.cdiv(pages, SPLITS)
    first = split * per_split
    last = first + per_split if KIND == "end not cut" else tl.minimum(first + per_split, pages)
    if first >= last:
        return
    dims = tl.arange(0, D)
    slots = tl.arange(0, PAGE)
    query = tl.load(q + seq * D + dims)
    highest = -float("inf")
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for index in range(first, last):
        page = tl.load(block_tables + seq * stride_table + index)  # [table]
        inside = index * PAGE + slots < length
        where = page.to(tl.int64) * stride_page + slots[:, None] * D + dims[None, :]
        if KIND == "end not cut":
            rows = tl.load(cache + where)  # [rows unmasked]
        else:
            rows = tl.load(cache + where, mask=inside[:, None], other=0.0)  # [rows]
        scores = tl.where(inside, tl.sum(rows * query[None, :], axis=1), -float("inf"))
        new = tl.maximum(highest, tl.max(scores, axis=0))
        weights = tl.exp(scores - new)
        shrink = tl.exp(highest - new)
        total = total * shrink + tl.sum(weights, axis=0)
        sums = sums * shrink + tl.sum(weights[:, None] * rows, axis=0)
        highest = new
    place = seq * SPLITS + split
    if KIND == "stored without the split":
        place = seq
    tl.store(part + place * D + dims, sums / total)  # [part]
    tl.store(part_lse + place, highest + tl.log(total))  # [lse]


def splits(lengths, table=None):
    return {
        "q": tensor(3, D), "cache": tensor(12, PAGE, D), "part": tensor(3, 2, D),
        "part_lse": tensor(3, 2), "block_tables": holding(TABLE) if table is None else table,
        "seq_lens": holding(lengths), "stride_page": PAGE * D, "stride_table": 5,
    }  # fmt: skip


def splitting(kind=""):
    return {"KIND": kind, "SPLITS": 2, "D": D, "PAGE": PAGE}


CASES.good("split decode, a part for each split", split_decode, splits((9, 3, 18)), splitting(),
             (3, 2))  # fmt: skip
CASES.bad("split decode, parts stored without their split", split_decode, splits((9, 3, 18)),
            splitting("stored without the split"), (3, 2), race=("part", "lse"))  # fmt: skip
CASES.good("split decode, parts stored without their split, of one page each", split_decode,
             splits((4, 3, 2)), splitting("stored without the split"), (3, 2))  # fmt: skip
CASES.bad("split decode, the last split goes on past the end", split_decode,
            splits((9, 3, 18)), splitting("end not cut"), (3, 2), out_of_bounds=("table",
            "rows unmasked"), follows={"race": ("part", "lse")})  # fmt: skip
CASES.good("split decode, the last split goes on, with an even number of pages", split_decode,
             splits((8, 3, 16), holding([[3, 0, 7, 4, 4], [11, 6, 1, 1, 1], TABLE[2]])),
             splitting("end not cut"), (3, 2))  # fmt: skip


@triton.jit
def merge_splits(part, part_lse, counts, out, SPLITS: tl.constexpr, D: tl.constexpr):
    """The parts of a sequence, as many as it has, weighted into one."""
    seq = tl.program_id(0)
    dims = tl.arange(0, D)
    highest = -float("inf")
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for split in range(tl.load(counts + seq)):
        lse = tl.load(part_lse + seq * SPLITS + split)  # [lse]
        new = tl.maximum(highest, lse)
        weight = tl.exp(lse - new)
        shrink = tl.exp(highest - new)
        total = total * shrink + weight
        values = tl.load(part + (seq * SPLITS + split) * D + dims)  # [part]
        sums = sums * shrink + weight * values
        highest = new
    tl.store(out + seq * D + dims, sums / total)


def merged(counts):
    return {
        "part": tensor(3, 4, D), "part_lse": tensor(3, 4), "counts": counts, "out": tensor(3, D),
    }  # fmt: skip


MERGING = {"SPLITS": 4, "D": D}
CASES.good("parts merged, as many as recorded", merge_splits, merged(holding([4, 1, 4])),
             MERGING, (3,))  # fmt: skip
CASES.good("parts merged, one too many, which is the next sequence's", merge_splits,
             merged(holding([4, 5, 4])), MERGING, (3,))  # fmt: skip
CASES.bad("parts merged, one too many of the last sequence", merge_splits,
            merged(holding([4, 1, 5])), MERGING, (3,), out_of_bounds=("lse", "part"))  # fmt: skip
CASES.undecided("parts merged, as many as nobody recorded", merge_splits,
                  merged(tensor(3, dtype="i32")), MERGING, (3,), because="counts",
                  out_of_bounds=("lse", "part"))  # fmt: skip


@triton.jit
def varlen_prefill(
    q, k, v, out, cu_seqlens, stride_token, scale,
    KIND: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Causal attention over sequences that lie one behind the other."""
    seq, head = tl.program_id(1), tl.program_id(2)
    begin = tl.load(cu_seqlens + seq)
    end = tl.load(cu_seqlens + seq + 1)  # [end]
    length = end - begin
    first = tl.program_id(0) * BM
    if first >= length:
        return
    rows = first + tl.arange(0, BM)
    dims = tl.arange(0, D)
    places = (begin + rows[:, None]) * stride_token + head * D + dims[None, :]
    queries = tl.load(q + places, mask=rows[:, None] < length, other=0.0)  # [queries]
    highest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    last = first + BM if KIND == "keys to the block's end" else tl.minimum(first + BM, length)
    for start in range(0, last, BN):
        columns = start + tl.arange(0, BN)
        from_ = (begin + columns[:, None]) * stride_token + head * D + dims[None, :]
        inside = columns[:, None] < last
        keys = tl.load(k + from_, mask=inside, other=0.0)  # [keys]
        scores = tl.dot(queries, tl.trans(keys)) * scale
        seen = (columns[None, :] <= rows[:, None]) & (columns[None, :] < length)
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(highest - new)
        total = total * shrink + tl.sum(weights, axis=1)
        values = tl.load(v + from_, mask=inside, other=0.0)  # [values]
        sums = tl.dot(weights, values, sums * shrink[:, None])
        highest = new
    if KIND == "stored whole":
        tl.store(out + places, sums / total[:, None])  # [whole]
    else:
        tl.store(out + places, sums / total[:, None], mask=rows[:, None] < length)  # [stored]


def prefill(starts, tokens=47):
    one = tensor(tokens, 2, D)
    return {
        "q": one, "k": one, "v": one, "out": one, "cu_seqlens": holding(starts),
        "stride_token": 2 * D, "scale": 0.25,
    }  # fmt: skip


def prefilling(kind=""):
    return {"KIND": kind, "D": D, "BM": 16, "BN": 16}


CASES.good("varlen prefill", varlen_prefill, prefill([0, 17, 18, 47]), prefilling(), (2, 3, 2))
CASES.good("varlen prefill, with a sequence without tokens", varlen_prefill,
             prefill([0, 17, 17, 47]), prefilling(), (2, 3, 2))  # fmt: skip
CASES.bad("varlen prefill, ends for one sequence fewer", varlen_prefill,
            prefill([0, 17, 47]), prefilling(), (2, 3, 2), out_of_bounds="end",
            doubtful={"out_of_bounds": ("queries", "keys", "values", "stored")},
            follows={"race": "stored"})  # fmt: skip
CASES.bad("varlen prefill, whole blocks stored", varlen_prefill, prefill([0, 17, 18, 47]),
            prefilling("stored whole"), (2, 3, 2), out_of_bounds="whole", race="whole")  # fmt: skip
CASES.good("varlen prefill, whole blocks stored, of whole blocks", varlen_prefill,
             prefill([0, 16, 32, 64], 64), prefilling("stored whole"), (2, 3, 2))  # fmt: skip
CASES.bad("varlen prefill, keys up to the block's end", varlen_prefill,
            prefill([0, 17, 18, 47]), prefilling("keys to the block's end"), (2, 3, 2),
            out_of_bounds=("keys", "values"))  # fmt: skip
CASES.bad("varlen prefill, more tokens told than there are", varlen_prefill,
            prefill([0, 17, 18, 48]) | {"out": tensor(48, 2, D), "q": tensor(48, 2, D)},
            prefilling(), (2, 3, 2), out_of_bounds=("keys", "values"))  # fmt: skip


@triton.jit
def window_decode(cache, block_tables, seq_lens, out, stride_page, stride_table,
                  CUT: tl.constexpr, WINDOW: tl.constexpr, PAGE: tl.constexpr,
                  D: tl.constexpr):  # fmt: skip
    """The mean of the last WINDOW tokens, which are in pages."""
    seq = tl.program_id(0)
    length = tl.load(seq_lens + seq)
    first = length - WINDOW
    if CUT:
        first = tl.maximum(first, 0)
    tokens = first + tl.arange(0, WINDOW)
    inside = tokens < length
    dims = tl.arange(0, D)
    places = block_tables + seq * stride_table + tokens // PAGE
    page = tl.load(places, mask=inside, other=0)  # [table]
    where = page.to(tl.int64) * stride_page + tokens % PAGE * D
    where = where[:, None] + dims[None, :]
    rows = tl.load(cache + where, mask=inside[:, None], other=0.0)  # [rows]
    tl.store(out + seq * D + dims, tl.sum(rows, axis=0) / tl.maximum(length - first, 1))


def window(lengths):
    return {
        "cache": tensor(12, PAGE, D), "block_tables": holding([[0, 4, 1, 2], [3, 6, 11, 9]]),
        "seq_lens": holding(lengths), "out": tensor(2, D), "stride_page": PAGE * D,
        "stride_table": 4,
    }  # fmt: skip


def windows(cut):
    return {"CUT": cut, "WINDOW": 8, "PAGE": PAGE, "D": D}


CASES.good("window over the last tokens, cut at the first", window_decode, window([5, 16]),
             windows(True), (2,))  # fmt: skip
CASES.bad("window over the last tokens, of a sequence shorter than it", window_decode,
            window([5, 16]), windows(False), (2,), out_of_bounds="rows")  # fmt: skip
CASES.good("window over the last tokens, of sequences longer than it", window_decode,
             window([8, 16]), windows(False), (2,))  # fmt: skip
CASES.bad("window over the last tokens, of a sequence much shorter", window_decode,
            window([2, 16]), windows(False), (2,), out_of_bounds=("table", "rows"))  # fmt: skip


@triton.jit
def flat_decode(q, cache, out, kv_indptr, kv_indices, stride_slot,
                KIND: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Pages of one token: all slots of all sequences in one list, cut by `kv_indptr`."""
    seq = tl.program_id(0)
    first = tl.load(kv_indptr + seq)
    count = tl.load(kv_indptr + seq + 1) - first
    dims = tl.arange(0, D)
    query = tl.load(q + seq * D + dims)
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for start in range(0, count, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < count
        if KIND == "no other":
            slot = tl.load(kv_indices + first + lanes, mask=inside)
        else:
            slot = tl.load(kv_indices + first + lanes, mask=inside, other=0)  # [indices]
        where = slot[:, None] * stride_slot + dims[None, :]
        if KIND == "":
            rows = tl.load(cache + where, mask=inside[:, None], other=0.0)  # [rows]
        else:
            rows = tl.load(cache + where)  # [load]
        weights = tl.where(inside, tl.exp(tl.sum(rows * query[None, :], axis=1)), 0.0)
        total += tl.sum(weights, axis=0)
        sums += tl.sum(weights[:, None] * rows, axis=0)
    tl.store(out + seq * D + dims, sums / tl.maximum(total, 1e-6))


def flat(indices):
    return {
        "q": tensor(3, D), "cache": tensor(20, D), "out": tensor(3, D),
        "kv_indptr": holding([0, 5, 5, 11]), "kv_indices": indices, "stride_slot": D,
    }  # fmt: skip


SLOTS = [4, 19, 0, 7, 2, 3, 3, 8, 1, 10, 11]


def flatly(kind=""):
    return {"KIND": kind, "D": D, "BLOCK": 4}


CASES.good("decode over a list of slots", flat_decode, flat(holding(SLOTS)), flatly(), (3,))
CASES.good("decode over a list of slots, slot 0 read for lanes without one", flat_decode,
             flat(holding(SLOTS)), flatly("slot 0"), (3,))  # fmt: skip
CASES.bad("decode over a list of slots, slots of lanes without other", flat_decode,
            flat(holding(SLOTS)), flatly("no other"), (3,), undefined_use="load")  # fmt: skip
CASES.bad("decode over a list of slots, one past the pool", flat_decode,
            flat(holding([*SLOTS[:-1], 20])), flatly(), (3,), out_of_bounds="rows")  # fmt: skip
CASES.bad("decode over a list of slots, one freed to -1", flat_decode,
            flat(holding([*SLOTS[:4], -1, *SLOTS[5:]])), flatly(), (3,),
            out_of_bounds="rows")  # fmt: skip
CASES.bad("decode over a list of slots that is too short", flat_decode,
            flat(holding(SLOTS[:-1])), flatly(), (3,), out_of_bounds="indices",
            doubtful={"out_of_bounds": "rows"})  # fmt: skip
CASES.undecided("decode over a list of slots that was not recorded", flat_decode,
                  flat(tensor(11, dtype="i32")), flatly(), (3,), because="kv_indices",
                  out_of_bounds="rows")  # fmt: skip
