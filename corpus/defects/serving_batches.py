"""What is made ready before a step: slots, positions, offsets and tables of ragged batches."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: batches")


@triton.jit
def slots_of_tokens(
    positions, query_starts, block_tables, slots, tokens, padded, stride_table,
    KIND: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The slot of each token of a request; the last program fills up with -1."""
    request = tl.program_id(0)
    if request == tl.num_programs(0) - 1:
        for start in range(tokens, padded, BLOCK):
            lanes = start + tl.arange(0, BLOCK)
            if KIND == "filled in blocks":
                tl.store(slots + lanes, -1)  # [filled]
            else:
                tl.store(slots + lanes, -1, mask=lanes < padded)  # [filling]
        if KIND != "last program goes on":
            return
    begin = tl.load(query_starts + request)
    end = tl.load(query_starts + request + 1)  # [end]
    for start in range(begin, end, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < end
        position = tl.load(positions + lanes, mask=inside, other=0)  # [position]
        entry = block_tables + request * stride_table + position // PAGE
        page = tl.load(entry, mask=inside, other=0).to(tl.int64)  # [page]
        slot = page * PAGE + position % PAGE
        if KIND == "stored in blocks":
            tl.store(slots + lanes, slot)  # [block]
        else:
            tl.store(slots + lanes, slot, mask=inside)  # [slot]


def positions(table=((2, 5, -1), (0, -1, -1), (7, 3, 4)), places=None, padded=24):
    places = [*range(6), 2, *range(1, 11)] if places is None else places
    return {
        "positions": holding(places, "i64"), "query_starts": holding([0, 6, 7, 17]),
        "block_tables": holding(table), "slots": tensor(padded, dtype="i64"), "tokens": 17,
        "padded": padded, "stride_table": 3,
    }  # fmt: skip


def slotting(kind=""):
    return {"KIND": kind, "PAGE": 4, "BLOCK": 4}


CASES.good("slots of tokens, and a filling", slots_of_tokens, positions(), slotting(), (4,))
CASES.bad("slots of tokens, the filling in blocks", slots_of_tokens, positions(),
            slotting("filled in blocks"), (4,), out_of_bounds="filled")  # fmt: skip
CASES.good("slots of tokens, the filling in blocks that fit", slots_of_tokens,
             positions(padded=25), slotting("filled in blocks"), (4,))  # fmt: skip
CASES.bad("slots of tokens, stored in blocks", slots_of_tokens, positions(),
            slotting("stored in blocks"), (4,), race="block")  # fmt: skip
CASES.bad("slots of tokens, the last program takes itself for a request", slots_of_tokens,
            positions(), slotting("last program goes on"), (4,), out_of_bounds="end",
            doubtful={"out_of_bounds": ("position", "page", "slot")},
            follows={"race": ("slot", "filling")})  # fmt: skip
CASES.bad("slots of tokens, a position past the last table", slots_of_tokens,
            positions(places=[*range(6), 2, *range(1, 10), 12]), slotting(), (4,),
            out_of_bounds="page")  # fmt: skip
CASES.undecided("slots of tokens at positions that were not recorded", slots_of_tokens,
                  positions() | {"positions": tensor(17, dtype="i64")}, slotting(), (4,),
                  because="positions", out_of_bounds="page")  # fmt: skip


@triton.jit
def fill_request_rows(
    pool, rows, before, lengths, fresh, stride_pool,
    KIND: tl.constexpr, BATCH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Enter a request's new slots into its row; where they begin is a sum over earlier requests."""
    request = tl.program_id(0)
    row = tl.load(rows + request)
    old = tl.load(before + request)
    length = tl.load(lengths + request)
    each = tl.arange(0, BATCH)
    if KIND == "no other":
        starts = tl.load(before + each, mask=each < request)
        ends = tl.load(lengths + each, mask=each < request)
    else:
        starts = tl.load(before + each, mask=each < request, other=0)
        ends = tl.load(lengths + each, mask=each < request, other=0)
    if KIND == "this one's too":
        ends += tl.where(each == request, length - old, 0)
    first = tl.sum(ends - starts, axis=0)
    for start in range(0, length - old, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < length - old
        slot = tl.load(fresh + first + lanes, mask=inside)  # [fresh]
        tl.store(pool + row * stride_pool + old + lanes, slot, mask=inside)  # [pool]


def extended(rows=(4, 0, 2), before=(3, 0, 5), lengths=(7, 9, 6), width=10):
    return {
        "pool": tensor(5, width, dtype="i32"), "rows": holding(rows, "i64"),
        "before": holding(before), "lengths": holding(lengths), "fresh": tensor(14, dtype="i32"),
        "stride_pool": width,
    }  # fmt: skip


def filled(kind=""):
    return {"KIND": kind, "BATCH": 4, "BLOCK": 8}


CASES.good("new slots entered into rows of requests", fill_request_rows, extended(), filled(),
             (3,))  # fmt: skip
CASES.bad("new slots entered, sums over lanes without a value", fill_request_rows, extended(),
            filled("no other"), (3,), undefined_use="fresh")  # fmt: skip
CASES.bad("new slots entered, from where the next request's begin", fill_request_rows,
            extended(), filled("this one's too"), (3,), out_of_bounds="fresh")  # fmt: skip
CASES.bad("new slots entered into one row for two requests", fill_request_rows,
            extended(rows=(4, 0, 0), before=(3, 0, 5)), filled(), (3,), race="pool")  # fmt: skip
CASES.good("new slots entered into one row for two requests, side by side", fill_request_rows,
             extended(rows=(4, 0, 0), before=(3, 0, 9), lengths=(7, 9, 10)), filled(),
             (3,))  # fmt: skip
CASES.bad("new slots entered past a row, into the next", fill_request_rows,
            extended(rows=(3, 0, 4), before=(7, 0, 0), lengths=(12, 8, 1)), filled(), (3,),
            race="pool")  # fmt: skip
CASES.bad("new slots entered past the last row", fill_request_rows,
            extended(before=(7, 0, 5), lengths=(11, 9, 6)), filled(), (3,),
            out_of_bounds="pool")  # fmt: skip


@triton.jit
def advance(lengths, positions, tables, slots, requests, stride_table, KIND: tl.constexpr,
            PAGE: tl.constexpr, BATCH: tl.constexpr):  # fmt: skip
    """One token further for each request, in place; a total for all of them beside it."""
    request = tl.program_id(0)
    length = tl.load(lengths + request) + 1
    tl.store(lengths + request, length)  # [length]
    tl.store(positions + request, length - 1)
    index = length // PAGE if KIND == "page of the next token" else (length - 1) // PAGE
    page = tl.load(tables + request * stride_table + index)  # [page]
    tl.store(slots + request, page * PAGE + (length - 1) % PAGE)
    if KIND == "longest":
        each = tl.arange(0, BATCH)
        longest = tl.max(tl.load(lengths + each, mask=each < requests, other=0), axis=0)  # [all]
        tl.store(positions + requests + request, longest)


def advanced(lengths):
    return {
        "lengths": holding(lengths), "positions": tensor(6, dtype="i32"),
        "tables": holding([[4, 1], [0, 2], [3, 7]]), "slots": tensor(3, dtype="i32"),
        "requests": 3, "stride_table": 2,
    }  # fmt: skip


def advancing(kind=""):
    return {"KIND": kind, "PAGE": 4, "BATCH": 4}


CASES.good("requests one token further", advance, advanced([3, 5, 7]), advancing(), (3,))
CASES.bad("requests one token further, of a full table", advance, advanced([3, 5, 8]),
            advancing(), (3,), out_of_bounds="page")  # fmt: skip
CASES.bad("requests one token further, in the page of the next", advance, advanced([3, 5, 7]),
            advancing("page of the next token"), (3,), out_of_bounds="page")  # fmt: skip
CASES.bad("requests one token further, and the longest while others move on", advance,
            advanced([3, 5, 7]), advancing("longest"), (3,), race="length")  # fmt: skip


@triton.jit
def share_out(work, active, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """As many programs as there are share what there is, each a run of it."""
    program = tl.program_id(0)
    sharers = tl.load(active)
    if KIND == "at least one":
        sharers = tl.maximum(sharers, 1)
    per_program = (n + sharers - 1) // sharers  # [share]
    begin = program * per_program
    end = tl.minimum(begin + per_program, n)
    for start in range(begin, end, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        values = tl.load(work + lanes, mask=lanes < end, other=0.0)  # [work]
        tl.store(out + lanes, values * 2.0, mask=lanes < end)  # [done]


def shared(active):
    return {"work": tensor(50), "active": active, "out": tensor(50), "n": 50}


CASES.good("work shared by three programs", share_out, shared(holding([3])),
             {"KIND": "", "BLOCK": 8}, (4,))  # fmt: skip
CASES.bad("work shared by no program", share_out, shared(holding([0])),
            {"KIND": "", "BLOCK": 8}, (4,), division_by_zero="share")  # fmt: skip
CASES.good("work shared by no program, but at least by one", share_out, shared(holding([0])),
             {"KIND": "at least one", "BLOCK": 8}, (4,))  # fmt: skip
CASES.undecided("work shared by as many programs as nobody recorded", share_out,
                  shared(tensor(1, dtype="i32")), {"KIND": "", "BLOCK": 8}, (4,),
                  because="active", division_by_zero="share",
                  follows={"out_of_bounds": ("work", "done"), "race": "done"})  # fmt: skip


@triton.jit
def ragged_to_padded(x, out, cu_lengths, most, width, KIND: tl.constexpr, ROWS: tl.constexpr,
                     BLOCK: tl.constexpr):  # fmt: skip
    """Sequences one behind the other into rows of equal length, filled up with zeros."""
    seq = tl.program_id(0)
    begin = tl.load(cu_lengths + seq)
    length = tl.load(cu_lengths + seq + 1) - begin
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, BLOCK)
    source = x + (begin + rows[:, None]) * width + lanes[None, :]
    inside = (rows[:, None] < length) & (lanes[None, :] < width)
    if KIND == "rows not masked":
        inside = (rows[:, None] < most) & (lanes[None, :] < width)
    if KIND == "no other":
        values = tl.load(source, mask=inside)
    else:
        values = tl.load(source, mask=inside, other=0.0)  # [source]
    target = out + (seq * most + rows[:, None]) * width + lanes[None, :]
    inside = lanes[None, :] < width
    if KIND != "past the most":
        inside = inside & (rows[:, None] < most)
    tl.store(target, values, mask=inside)  # [target]


def ragged(ends=(0, 5, 5, 14), most=9):
    return {
        "x": tensor(14, 6), "out": tensor(3, most, 6), "cu_lengths": holding(ends), "most": most,
        "width": 6,
    }  # fmt: skip


def padding(kind=""):
    return {"KIND": kind, "ROWS": 4, "BLOCK": 8}


CASES.good("ragged rows filled up", ragged_to_padded, ragged(), padding(), (3, 3))
CASES.bad("ragged rows filled up with lanes without a value", ragged_to_padded, ragged(),
            padding("no other"), (3, 3), undefined_lanes="target")  # fmt: skip
CASES.bad("ragged rows filled up, sources not masked by their length", ragged_to_padded,
            ragged((0, 5, 6, 14)), padding("rows not masked"), (3, 3),
            out_of_bounds="source")  # fmt: skip
CASES.bad("ragged rows filled up past the longest", ragged_to_padded, ragged(),
            padding("past the most"), (3, 3), out_of_bounds="target", race="target")  # fmt: skip
CASES.good("ragged rows filled up past the longest, of whole blocks", ragged_to_padded,
             ragged(most=12), padding("past the most"), (3, 3))  # fmt: skip


@triton.jit
def run_lengths(lengths, ends, n, KIND: tl.constexpr, BATCH: tl.constexpr):
    """Running ends of all sequences, behind a 0, by one program or by each for itself."""
    lanes = tl.arange(0, BATCH)
    if KIND == "no other":
        numbers = tl.load(lengths + lanes, mask=lanes < n)
    else:
        numbers = tl.load(lengths + lanes, mask=lanes < n, other=0)
    sums = tl.cumsum(numbers, axis=0)
    if KIND == "whole":
        tl.store(ends + 1 + lanes, sums)  # [whole]
    else:
        tl.store(ends + 1 + lanes, sums, mask=lanes < n)  # [ends]
    if tl.program_id(0) == 0:
        tl.store(ends, 0)
    tl.store(ends + 1 + n, tl.max(numbers, axis=0))  # [longest]


def run_of(room):
    return {"lengths": holding([4, 1, 7, 2, 9]), "ends": tensor(room, dtype="i32"), "n": 5}


CASES.good("running ends, and the longest behind them", run_lengths, run_of(7),
             {"KIND": "", "BATCH": 8}, (1,))  # fmt: skip
CASES.good("running ends by two programs, which store the same", run_lengths, run_of(7),
             {"KIND": "", "BATCH": 8}, (2,), meets=True,
             why="both compute the same of what nobody writes")  # fmt: skip
CASES.bad("running ends, no room for the longest", run_lengths, run_of(6),
            {"KIND": "", "BATCH": 8}, (1,), out_of_bounds="longest")  # fmt: skip
CASES.bad("running ends of more lanes than sequences", run_lengths, run_of(7),
            {"KIND": "whole", "BATCH": 8}, (1,), out_of_bounds="whole")  # fmt: skip
CASES.bad("the longest of lanes without a value", run_lengths, run_of(7),
            {"KIND": "no other", "BATCH": 8}, (1,), undefined_lanes="longest")  # fmt: skip
