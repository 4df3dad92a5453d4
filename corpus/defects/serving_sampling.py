"""From logits to tokens: penalties, top-k, the best token, and speculation's accept or reject."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: sampling")


@triton.jit
def best_in_parts(logits, values, places, vocabulary, stride, parts,
                  KIND: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """The largest logit of each part of a row, and where it is."""
    row, part = tl.program_id(0), tl.program_id(1)
    lanes = part * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < vocabulary
    if KIND == "whole":
        numbers = tl.load(logits + row * stride + lanes)  # [whole]
    elif KIND == "no other":
        numbers = tl.load(logits + row * stride + lanes, mask=inside)
    else:
        numbers = tl.load(logits + row * stride + lanes, mask=inside, other=-float("inf"))
    place = row * parts + part
    if KIND == "rows swapped":
        place = part * parts + row
    tl.store(values + place, tl.max(numbers, axis=0))  # [value]
    tl.store(places + place, part * BLOCK + tl.argmax(numbers, axis=0))  # [place]


def parted(vocabulary=50, rows=5):
    return {
        "logits": tensor(rows, vocabulary), "values": tensor(rows, 4),
        "places": tensor(rows, 4, dtype="i64"), "vocabulary": vocabulary, "stride": vocabulary,
        "parts": 4,
    }  # fmt: skip


def part(kind=""):
    return {"KIND": kind, "BLOCK": 16}


CASES.good("best token of each part of a row", best_in_parts, parted(), part(), (5, 4))
CASES.bad("best token of each part, the last part loaded whole", best_in_parts, parted(),
            part("whole"), (5, 4), out_of_bounds="whole")  # fmt: skip
CASES.good("best token of each part, the last part loaded whole, of a padded vocabulary",
             best_in_parts, parted(64), part("whole"), (5, 4))  # fmt: skip
CASES.bad("best token of each part, and of lanes without a logit", best_in_parts, parted(),
            part("no other"), (5, 4), undefined_lanes=("value", "place"))  # fmt: skip
CASES.bad("best token of each part, rows and parts swapped", best_in_parts, parted(),
            part("rows swapped"), (5, 4), race=("value", "place"))  # fmt: skip
CASES.good("best token of each part, rows and parts swapped, of as many", best_in_parts,
             parted(rows=4), part("rows swapped"), (4, 4))  # fmt: skip


@triton.jit
def best_of_parts(values, places, out, logits, chosen, parts, stride, BLOCK: tl.constexpr):
    """The best part's token, and its logit again."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    numbers = tl.load(values + row * parts + lanes, mask=lanes < parts, other=-float("inf"))
    best = tl.argmax(numbers, axis=0)
    token = tl.load(places + row * parts + best)  # [token]
    tl.store(out + row, token)
    tl.store(chosen + row, tl.load(logits + row * stride + token))  # [logit]


def best(last, values=None):
    """The last row's parts hold these tokens; it is the second part that wins."""
    known = [[1.0, 3.0, 2.0], [4.0, 0.5, 1.0], [0.0, -1.0, 2.0], [5.0, 9.0, 6.0]]
    tokens = [[3, 18, 40], [0, 31, 49], [9, 16, 33], last]
    return {
        "values": holding(known, "fp32") if values is None else values,
        "places": holding(tokens, "i64"), "out": tensor(4, dtype="i64"), "logits": tensor(4, 50),
        "chosen": tensor(4), "parts": 3, "stride": 50,
    }  # fmt: skip


CASES.good("best of the parts", best_of_parts, best([50, 17, 32]), {"BLOCK": 4}, (4,))
CASES.bad("best of the parts, of a padded vocabulary", best_of_parts, best([1, 50, 32]),
            {"BLOCK": 4}, (4,), out_of_bounds="logit")  # fmt: skip
CASES.undecided("best of the parts, whose logits nobody recorded", best_of_parts,
                  best([1, 17, 32], tensor(4, 3)), {"BLOCK": 4}, (4,), because="values",
                  out_of_bounds="token", follows={"out_of_bounds": "logit"})  # fmt: skip


@triton.jit
def penalties(logits, seen, lengths, vocabulary, stride, stride_seen, factor,
              KIND: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Make tokens that were said less likely; rows of seen tokens are filled up."""
    row = tl.program_id(0)
    length = tl.load(lengths + row)
    for start in range(0, length, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < length
        if KIND == "filled lanes too":
            token = tl.load(seen + row * stride_seen + lanes)  # [filled]
            kept = token >= 0
        elif KIND == "by the filling":
            token = tl.load(seen + row * stride_seen + lanes, mask=inside, other=vocabulary)
            kept = token < vocabulary
        else:
            token = tl.load(seen + row * stride_seen + lanes, mask=inside, other=0)  # [seen]
            kept = inside
        place = logits + row * stride + token
        number = tl.load(place, mask=kept, other=0.0)  # [load]
        number = tl.where(number > 0, number / factor, number * factor)
        tl.store(place, number, mask=kept)  # [store]


SEEN = [[3, 9, 19, 1, 20, 20], [0, 20, 20, 20, 20, 20], [7, 2, 4, 8, 16, 15]]


def penalized(seen, lengths=(4, 1, 6)):
    return {
        "logits": tensor(3, 20), "seen": seen, "lengths": holding(lengths), "vocabulary": 20,
        "stride": 20, "stride_seen": 6, "factor": 1.5,
    }  # fmt: skip


def penalty(kind=""):
    return {"KIND": kind, "BLOCK": 4}


CASES.good("penalties for tokens that were seen", penalties, penalized(holding(SEEN, "i64")),
             penalty(), (3,))  # fmt: skip
CASES.good("penalties, rows filled up with the vocabulary's size", penalties,
             penalized(holding(SEEN, "i64"), (6, 6, 6)), penalty("by the filling"),
             (3,))  # fmt: skip
CASES.bad("penalties for the filling: another row's first token", penalties,
            penalized(holding(SEEN, "i64"), (5, 1, 6)), penalty(), (3,),
            race="store")  # fmt: skip
CASES.bad("penalties for the filling of the last row", penalties,
            penalized(holding([*SEEN[:2], [7, 2, 4, 8, 16, 20]], "i64")), penalty(), (3,),
            out_of_bounds=("load", "store"))  # fmt: skip
CASES.bad("penalties, a row's filled lanes loaded as tokens", penalties,
            penalized(holding(SEEN, "i64")), penalty("filled lanes too"), (3,),
            out_of_bounds="filled", lane_conflict="store",
            doubtful={"out_of_bounds": ("load", "store"), "race": ("load", "store")})  # fmt: skip
CASES.bad("penalties, a row's filled lanes loaded as tokens, two of them the next row's",
            penalties, penalized(holding(SEEN, "i64"), (5, 1, 6)), penalty("filled lanes too"),
            (3,), out_of_bounds="filled", race="store", lane_conflict="store",
            doubtful={"out_of_bounds": ("load", "store")})  # fmt: skip
CASES.undecided("penalties for tokens that were not recorded", penalties,
                  penalized(tensor(3, 6, dtype="i64")), penalty(), (3,), because="seen",
                  out_of_bounds=("load", "store"), race="store")  # fmt: skip


@triton.jit
def accept_greedy(drafts, targets, bonus, out, cu_drafts, stride_out,
                  KIND: tl.constexpr):  # fmt: skip
    """Keep drafted tokens up to the first that the model would not have said."""
    request = tl.program_id(0)
    begin = 0
    if request > 0:
        begin = tl.load(cu_drafts + request - 1)
    count = tl.load(cu_drafts + request) - begin
    rejected = False
    for index in range(count):
        if not rejected:
            drafted = tl.load(drafts + begin + index)  # [draft]
            target = tl.load(targets + begin + index)  # [target]
            tl.store(out + request * stride_out + index, target)  # [token]
            rejected = drafted != target
    if KIND == "bonus always":
        tl.store(out + request * stride_out + count, tl.load(bonus + request))  # [always]
    elif not rejected:
        last = tl.load(bonus + request)  # [last]
        tl.store(out + request * stride_out + count, last)  # [bonus]


def accepted(ends, drafts=(5, 6, 7, 1, 9, 9), width=4):
    return {
        "drafts": holding(drafts, "i64"), "targets": holding([5, 6, 7, 2, 9, 9], "i64"),
        "bonus": tensor(4, dtype="i64"), "out": tensor(4, width, dtype="i64"),
        "cu_drafts": holding(ends), "stride_out": width,
    }  # fmt: skip


CASES.good("drafts accepted, then a bonus", accept_greedy, accepted([3, 4, 4, 6]), {"KIND": ""},
             (4,))  # fmt: skip
CASES.bad("drafts accepted, no place for the bonus", accept_greedy,
            accepted([3, 4, 4, 6], width=3), {"KIND": ""}, (4,), race="bonus")  # fmt: skip
CASES.bad("drafts accepted, no place for the last one's bonus", accept_greedy,
            accepted([2, 3, 3, 6], (5, 6, 7, 2, 9, 9), 3), {"KIND": ""}, (4,),
            out_of_bounds="bonus")  # fmt: skip
CASES.good("drafts rejected, so no place for a bonus is needed", accept_greedy,
             accepted([3, 4, 4, 6], (5, 6, 8, 1, 9, 9), 3), {"KIND": ""}, (4,))  # fmt: skip
CASES.bad("drafts rejected, and a bonus stored all the same", accept_greedy,
            accepted([3, 4, 4, 6], (5, 6, 8, 1, 9, 9), 3), {"KIND": "bonus always"}, (4,),
            race="always")  # fmt: skip
CASES.bad("drafts accepted, more counted than there are", accept_greedy,
            accepted([3, 4, 4, 7]), {"KIND": ""}, (4,), out_of_bounds=("draft", "target"),
            follows={"out_of_bounds": ("token", "last", "bonus"),
                     "race": ("token", "bonus")})  # fmt: skip


@triton.jit
def spread(values, out, cu_counts, MASK: tl.constexpr, MOST: tl.constexpr):
    """A request's value for each of its tokens."""
    request = tl.program_id(0)
    begin = 0 if request == 0 else tl.load(cu_counts + request - 1)
    count = tl.load(cu_counts + request) - begin
    lanes = tl.arange(0, MOST)
    value = tl.load(values + request)
    if MASK:
        tl.store(out + begin + lanes, value, mask=lanes < count)  # [masked]
    else:
        tl.store(out + begin + lanes, value)  # [store]


def spreading(ends, tokens):
    return {"values": tensor(3), "out": tensor(tokens), "cu_counts": holding(ends)}


CASES.good("a value for each token of a request", spread, spreading([4, 5, 11], 11),
             {"MASK": True, "MOST": 8}, (3,))  # fmt: skip
CASES.bad("a value for as many tokens as a request may have", spread,
            spreading([4, 5, 11], 11), {"MASK": False, "MOST": 8}, (3,), out_of_bounds="store",
            race="store")  # fmt: skip
CASES.bad("a value for each token of a request, which are more", spread,
            spreading([4, 5, 12], 11), {"MASK": True, "MOST": 8}, (3,),
            out_of_bounds="masked")  # fmt: skip


@triton.jit
def keep_top_k(logits, ordered, top_k, vocabulary, CHECK: tl.constexpr, BLOCK: tl.constexpr):
    """Mask what is below the k-th largest of a row, whose logits in order are given too."""
    row = tl.program_id(0)
    k = tl.load(top_k + row)
    if CHECK and (k <= 0) | (k >= vocabulary):  # every token may be chosen
        return
    least = tl.load(ordered + row * vocabulary + vocabulary - k)  # [least]
    for start in range(0, vocabulary, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < vocabulary
        numbers = tl.load(logits + row * vocabulary + lanes, mask=inside, other=-float("inf"))
        kept = tl.where(numbers >= least, numbers, -float("inf"))
        tl.store(logits + row * vocabulary + lanes, kept, mask=inside)


def top(k):
    return {
        "logits": tensor(4, 50), "ordered": tensor(4, 50), "top_k": k, "vocabulary": 50,
    }  # fmt: skip


CASES.good("top-k of each row, 0 for none", keep_top_k, top(holding([5, 50, 1, 0])),
             {"CHECK": True, "BLOCK": 16}, (4,))  # fmt: skip
CASES.bad("top-k of each row, 0 looked up in the last row", keep_top_k,
            top(holding([5, 50, 1, 0])), {"CHECK": False, "BLOCK": 16}, (4,),
            out_of_bounds="least")  # fmt: skip
CASES.good("top-k of each row, unrecorded and checked", keep_top_k, top(tensor(4, dtype="i32")),
             {"CHECK": True, "BLOCK": 16}, (4,))  # fmt: skip
CASES.undecided("top-k of each row, unrecorded and not checked", keep_top_k,
                  top(tensor(4, dtype="i32")), {"CHECK": False, "BLOCK": 16}, (4,),
                  because="top_k", out_of_bounds="least")  # fmt: skip
