"""Lookups that lead to lookups: searches, trees of drafts, replicas of experts, bits, queues."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: lookups")


@triton.jit
def sequence_of_block(starts, block, count, BLOCK_Q: tl.constexpr, FAR: tl.constexpr):
    """The sequence that a block of queries is of, where each one's last block may be ragged."""
    low = 0
    high = count + 1 if FAR else count
    while low < high:
        middle = (low + high) // 2
        first = tl.load(starts + middle) // BLOCK_Q + middle  # [probe]
        if first <= block:
            low = middle + 1
        else:
            high = middle
    return low - 1


@triton.jit
def found_queries(q, out, starts, lengths, count, width, KIND: tl.constexpr, BLOCK_Q: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """A program for each block of queries, more of them than there are; each finds its sequence."""
    block = tl.program_id(0)
    seq = sequence_of_block(starts, block, count, BLOCK_Q, KIND == "search too far")
    first = tl.load(starts + seq)  # [first]
    number = tl.load(starts + seq + 1) - first  # [next]
    begin = (block - (first // BLOCK_Q + seq)) * BLOCK_Q
    if KIND != "blocks past the end not left out" and begin >= number:
        return
    rows = begin + tl.arange(0, BLOCK_Q)
    lanes = tl.arange(0, BLOCK)
    inside = (rows[:, None] < number) & (lanes[None, :] < width)
    if KIND == "rows not masked":
        inside = (rows[:, None] >= 0) & (lanes[None, :] < width)
    place = (first + rows[:, None]) * width + lanes[None, :]
    values = tl.load(q + place, mask=inside, other=0.0)  # [q]
    tl.store(out + place, values * tl.load(lengths + seq), mask=inside)  # [out]


def queries(starts=(0, 1, 8, 8, 14)):
    return {
        "q": tensor(14, 6), "out": tensor(14, 6), "starts": holding(starts),
        "lengths": tensor(4, dtype="i32"), "count": 4, "width": 6,
    }  # fmt: skip


def finding(kind=""):
    return {"KIND": kind, "BLOCK_Q": 4, "BLOCK": 8}


CASES.good("sequences found for blocks of queries", found_queries, queries(), finding(), (7,))
CASES.good("sequences found for blocks of queries, the last ones not left out but masked",
             found_queries, queries(), finding("blocks past the end not left out"),
             (7,))  # fmt: skip
CASES.bad("sequences searched for one too far", found_queries, queries(),
            finding("search too far"), (9,), out_of_bounds="next",
            doubtful={"out_of_bounds": ("q", "out"), "race": "out",
                      "lane_conflict": "out"})  # fmt: skip
CASES.bad("sequences found, rows of the next stored too", found_queries, queries(),
            finding("rows not masked"), (7,), out_of_bounds=("q", "out"), race="out")  # fmt: skip
CASES.undecided("sequences found in starts that were not recorded", found_queries,
                  queries() | {"starts": tensor(5, dtype="i32")}, finding(), (7,),
                  because="starts", out_of_bounds=("q", "out"), race="out",
                  follows={"out_of_bounds": ("probe", "first", "next")})  # fmt: skip


@triton.jit
def paths_of_drafts(parents, tokens, out, KIND: tl.constexpr, DEPTH: tl.constexpr):
    """From a leaf of a tree of drafts up to its root, whose parent is -1."""
    leaf = tl.program_id(0)
    node = leaf
    for step in range(DEPTH):
        if KIND == "root not looked for":
            tl.store(out + leaf * DEPTH + step, tl.load(tokens + node))  # [blind]
            node = tl.load(parents + node)  # [blind parent]
        else:
            if node >= 0:
                tl.store(out + leaf * DEPTH + step, tl.load(tokens + node))  # [path]
                node = tl.load(parents + node)  # [parent]


def tree(parents, depth=3):
    return {
        "parents": holding(parents), "tokens": tensor(6, dtype="i32"),
        "out": tensor(6, depth, dtype="i32"),
    }  # fmt: skip


CASES.good("paths up a tree of drafts", paths_of_drafts, tree([-1, 0, 0, 1, 2, 2]),
             {"KIND": "", "DEPTH": 3}, (6,))  # fmt: skip
CASES.bad("paths up a tree of drafts, the root not looked for", paths_of_drafts,
            tree([-1, 0, 0, 1, 2, 2]), {"KIND": "root not looked for", "DEPTH": 3}, (6,),
            out_of_bounds=("blind", "blind parent"))  # fmt: skip
CASES.bad("paths up a tree of drafts, a parent that was cut off", paths_of_drafts,
            tree([-1, 0, 0, 1, 6, 2]), {"KIND": "", "DEPTH": 3}, (6,),
            out_of_bounds=("path", "parent"))  # fmt: skip
CASES.undecided("paths up a tree of drafts that was not recorded", paths_of_drafts,
                  tree([-1, 0, 0, 1, 2, 2]) | {"parents": tensor(6, dtype="i32")},
                  {"KIND": "", "DEPTH": 3}, (6,), because="parents",
                  out_of_bounds=("path", "parent"))  # fmt: skip


@triton.jit
def choose_replicas(chosen, replicas, places, out, n, most, KIND: tl.constexpr,
                    BLOCK: tl.constexpr):  # fmt: skip
    """Which replica of an expert a choice goes to: in turn among as many as it has."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    expert = tl.load(chosen + lanes, mask=inside, other=0)
    known = inside if KIND == "-1 not excluded" else inside & (expert >= 0)
    number = tl.load(replicas + expert, mask=known, other=1)  # [replicas]
    if KIND == "at least one":
        number = tl.maximum(number, 1)
    turn = lanes % number  # [turn]
    place = expert * most + turn  # [where]
    physical = tl.load(places + place, mask=known, other=-1)  # [place]
    tl.store(out + lanes, physical, mask=inside)


def replicated(chosen, replicas=(2, 1, 3, 1)):
    return {
        "chosen": holding(chosen), "replicas": holding(replicas),
        "places": tensor(4, 3, dtype="i32"), "out": tensor(10, dtype="i32"), "n": 10, "most": 3,
    }  # fmt: skip


def replicating(kind=""):
    return {"KIND": kind, "BLOCK": 8}


PICKED = [3, 0, 2, 2, -1, 1, 2, 0, -1, 3]
CASES.good("replicas of experts in turn", choose_replicas, replicated(PICKED), replicating(),
             (2,))  # fmt: skip
CASES.bad("replicas of experts in turn, one without any", choose_replicas,
            replicated(PICKED, (2, 0, 3, 1)), replicating(), (2,),
            division_by_zero="turn")  # fmt: skip
CASES.good("replicas of experts in turn, one without any but at least one", choose_replicas,
             replicated(PICKED, (2, 0, 3, 1)), replicating("at least one"), (2,))  # fmt: skip
CASES.bad("replicas of experts in turn, -1 not excluded", choose_replicas,
            replicated(PICKED), replicating("-1 not excluded"), (2,),
            out_of_bounds="replicas",
            doubtful={"out_of_bounds": "place", "division_by_zero": "turn"},
            follows={"overflow": "where"})  # fmt: skip
CASES.bad("replicas of experts in turn, more than a row has", choose_replicas,
            replicated([*PICKED[:5], 3, *PICKED[6:]], (2, 1, 3, 7)), replicating(), (2,),
            out_of_bounds="place")  # fmt: skip
CASES.undecided("replicas of experts, of numbers that were not recorded", choose_replicas,
                  replicated(PICKED) | {"replicas": tensor(4, dtype="i32")}, replicating(), (2,),
                  because="replicas", division_by_zero="turn",
                  out_of_bounds="place")  # fmt: skip


@triton.jit
def apply_bits(logits, bits, rows, vocabulary, stride, words, BLOCK: tl.constexpr):
    """Forbid tokens whose bit is not set; a row of words for each row of logits named."""
    row = tl.load(rows + tl.program_id(0))
    for start in range(0, vocabulary, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < vocabulary
        word = tl.load(bits + row * words + lanes // 32, mask=inside, other=0)  # [word]
        forbidden = ((word >> (lanes % 32)) & 1) == 0
        tl.store(logits + row * stride + lanes, -float("inf"), mask=inside & forbidden)  # [logit]


def bits(rows, words=3, vocabulary=70):
    return {
        "logits": tensor(4, 70), "bits": holding([[-1, 7, 0], [5, -1, 63], [0, 0, 1], [1, 2, 3]]),
        "rows": holding(rows), "vocabulary": vocabulary, "stride": 70, "words": words,
    }  # fmt: skip


CASES.good("bits applied to rows of logits", apply_bits, bits([3, 0]), {"BLOCK": 32}, (2,))
CASES.bad("bits applied to a row that is not there", apply_bits, bits([3, 4]), {"BLOCK": 32},
            (2,), out_of_bounds="word", doubtful={"out_of_bounds": "logit"},
            follows={"race": "logit"})  # fmt: skip
CASES.bad("bits applied to rows of a padded vocabulary", apply_bits,
            bits([3, 0], vocabulary=96), {"BLOCK": 32}, (2,), out_of_bounds="logit")  # fmt: skip
CASES.bad("bits applied to rows of a padded vocabulary, the next row's too", apply_bits,
            bits([2, 3], vocabulary=96), {"BLOCK": 32}, (2,), out_of_bounds="logit", meets=True,
            why="what is stored into the next row is stored there too")  # fmt: skip
CASES.good("bits applied twice to a row", apply_bits, bits([3, 3]), {"BLOCK": 32}, (2,),
             meets=True, why="both store the same")  # fmt: skip


@triton.jit
def take_from_queue(x, out, queue, total, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Programs take tiles from a counter until there are none left."""
    lanes = tl.arange(0, BLOCK)
    if KIND == "load and store":
        tile = tl.load(queue)  # [take]
        tl.store(queue, tile + 1)  # [queue]
    else:
        tile = tl.atomic_add(queue, 1)
    if KIND == "end not looked for" or tile < total:
        values = tl.load(x + tile * BLOCK + lanes)  # [x]
        tl.store(out + tile * BLOCK + lanes, values)  # [tile]


QUEUED = {"x": tensor(4, 16), "out": tensor(4, 16), "queue": holding([0]), "total": 4}
CASES.good("tiles taken from a queue", take_from_queue, QUEUED, {"KIND": "", "BLOCK": 16}, (6,))
CASES.bad("tiles taken from a queue, its end not looked for", take_from_queue, QUEUED,
            {"KIND": "end not looked for", "BLOCK": 16}, (6,), out_of_bounds=("x", "tile"),
            follows={"race": "tile"})  # fmt: skip
CASES.bad("tiles taken from a queue without an atomic", take_from_queue, QUEUED,
            {"KIND": "load and store", "BLOCK": 16}, (4,), race="queue",
            race_within_program="queue")  # fmt: skip


@triton.jit
def shift_tokens(ids, starts, fresh, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Move each sequence's tokens one to the left in place, and put a new one at its end."""
    seq = tl.program_id(0)
    begin = tl.load(starts + seq)
    end = tl.load(starts + seq + 1)
    for start in range(begin, end, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        last = end if KIND == "the next one's first too" else end - 1
        token = tl.load(ids + lanes + 1, mask=lanes < last, other=0)  # [right]
        tl.store(ids + lanes, token, mask=lanes < last)  # [left]
    if KIND == "empty not looked for" or end > begin:
        tl.store(ids + end - 1, tl.load(fresh + seq))  # [end]


def shifted(starts, tokens=14):
    return {
        "ids": tensor(tokens, dtype="i32"), "starts": holding(starts),
        "fresh": tensor(3, dtype="i32"),
    }  # fmt: skip


def shifting(kind=""):
    return {"KIND": kind, "BLOCK": 4}


CASES.good("tokens moved to the left, an empty sequence", shift_tokens, shifted([0, 5, 5, 14]),
             shifting(), (3,))  # fmt: skip
CASES.bad("tokens moved to the left, an empty sequence first that is not looked for",
            shift_tokens, shifted([0, 0, 5, 14]), shifting("empty not looked for"), (3,),
            out_of_bounds="end")  # fmt: skip
CASES.bad("tokens moved to the left, an empty sequence that is not looked for", shift_tokens,
            shifted([0, 5, 5, 14]), shifting("empty not looked for"), (3,), race="end")  # fmt: skip
CASES.bad("tokens moved to the left, with the next sequence's first", shift_tokens,
            shifted([0, 5, 6, 14]), shifting("the next one's first too"), (3,),
            out_of_bounds="right", race="left")  # fmt: skip
