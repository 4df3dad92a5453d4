"""Mixtures of experts: routing, sorting by expert, products by expert, and back."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: experts")


@triton.jit
def fused_experts(
    a, b, c, weights, sorted_ids, expert_ids, post_padded, n, k, valid,
    stride_am, stride_be, stride_bn, stride_cm,
    KIND: tl.constexpr, TOP_K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Tiles of tokens that go to one expert; ids past the last token fill a tile up."""
    tile, column = tl.program_id(0), tl.program_id(1)
    if KIND != "all tiles" and tile * BM >= tl.load(post_padded):
        return
    ids = tl.load(sorted_ids + tile * BM + tl.arange(0, BM))  # [ids]
    real = ids < valid
    columns = column * BN + tl.arange(0, BN)
    places = c + ids[:, None] * stride_cm + columns[None, :]  # [places]
    written = real[:, None] & (columns[None, :] < n)
    expert = tl.load(expert_ids + tile).to(tl.int64)  # [expert]
    if KIND != "-1 not excluded" and expert == -1:  # an expert of another rank
        tl.store(places, tl.zeros((BM, BN), tl.float32), mask=written)  # [zeros]
        return
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        depth = start + tl.arange(0, BK)
        mask = depth[None, :] < k
        if KIND != "padding rows read":
            mask = mask & real[:, None]
        rows = a + ids[:, None] // TOP_K * stride_am + depth[None, :]  # [row of a]
        left = tl.load(rows, mask=mask, other=0.0)  # [left]
        theirs = b + expert * stride_be + columns[None, :] * stride_bn  # [expert of b]
        theirs += depth[:, None]
        mask = (depth[:, None] < k) & (columns[None, :] < n)
        right = tl.load(theirs, mask=mask, other=0.0)  # [right]
        total = tl.dot(left, right, total)
    if KIND == "weights of padding":
        total *= tl.load(weights + ids)[:, None]  # [padded weight]
    else:
        total *= tl.load(weights + ids, mask=real, other=0.0)[:, None]  # [weight]
    if KIND == "padding stored":
        tl.store(places, total, mask=columns[None, :] < n)  # [padded store]
    else:
        tl.store(places, total, mask=written)  # [store]


TOKENS, TOP_K, EXPERTS, N, K, BM = 5, 2, 3, 20, 24, 16
ROUTES = [0, 2, 4, 7, 9] + [10] * 11 + [1, 3, 5] + [10] * 13 + [6, 8] + [10] * 14 + [10] * 16
OWN = [0, 1, 2, 0]


def experts(expert_ids=OWN, ids=ROUTES, padded=48, b_experts=EXPERTS):
    return {
        "a": tensor(TOKENS, K), "b": tensor(b_experts, N, K), "c": tensor(TOKENS, TOP_K, N),
        "weights": tensor(TOKENS, TOP_K), "sorted_ids": holding(ids) if ids else UNSORTED,
        "expert_ids": holding(expert_ids), "post_padded": holding([padded]), "n": N, "k": K,
        "valid": TOKENS * TOP_K, "stride_am": K, "stride_be": N * K, "stride_bn": K,
        "stride_cm": N,
    }  # fmt: skip


UNSORTED = tensor(64, dtype="i32")
TILES = (4, 2)


def expertly(kind=""):
    return {"KIND": kind, "TOP_K": TOP_K, "BM": BM, "BN": 16, "BK": 16}


CASES.good("experts' products, tiles filled up", fused_experts, experts(), expertly(), TILES)
CASES.good("experts' products, one of another rank", fused_experts, experts([0, -1, 2, 0]),
             expertly(), TILES)  # fmt: skip
CASES.bad("experts' products, one of another rank that is not excluded", fused_experts,
            experts([-1, 1, 2, 0]), expertly("-1 not excluded"), TILES,
            out_of_bounds="right")  # fmt: skip
CASES.bad("experts' products, an expert too many", fused_experts, experts([0, 1, 3, 0]),
            expertly(), TILES, out_of_bounds="right")  # fmt: skip
CASES.bad("experts' products, rows read for padding", fused_experts, experts(),
            expertly("padding rows read"), TILES, out_of_bounds="left")  # fmt: skip
CASES.bad("experts' products, weights read for padding", fused_experts, experts(),
            expertly("weights of padding"), TILES, out_of_bounds="padded weight")  # fmt: skip
CASES.bad("experts' products, padding stored", fused_experts, experts(),
            expertly("padding stored"), TILES, out_of_bounds="padded store",
            follows={"race": "padded store"})  # fmt: skip
CASES.bad("experts' products, padding stored into a row for it", fused_experts,
            experts() | {"c": tensor(TOKENS * TOP_K + 1, N)}, expertly("padding stored"), TILES,
            race="padded store")  # fmt: skip
CASES.good("experts' products, all tiles, of which the last are padding", fused_experts,
             experts(), expertly("all tiles"), TILES)  # fmt: skip
CASES.bad("experts' products, all tiles, more than there are ids for", fused_experts,
            experts(), expertly("all tiles"), (5, 2), out_of_bounds=("ids", "expert"),
            doubtful={"out_of_bounds": ("left", "right", "weight", "store", "zeros")},
            follows={"race": ("store", "zeros"), "lane_conflict": ("store", "zeros"),
                     "overflow": ("places", "row of a", "expert of b")})  # fmt: skip
CASES.bad("experts' products, a token in two tiles", fused_experts,
            experts(ids=[*ROUTES[:16], 4, *ROUTES[17:]]), expertly(), TILES,
            race="store")  # fmt: skip
CASES.undecided("experts' products, tokens in an order that was not recorded", fused_experts,
                  experts(ids=None), expertly(), TILES, because="sorted_ids",
                  out_of_bounds=("left", "weight", "store"), race="store",
                  doubtful={"overflow": "places"})  # fmt: skip


@triton.jit
def count_in_parts(chosen, counts, n, per_program, KIND: tl.constexpr, EXPERTS: tl.constexpr):
    """Each program counts its share of choices into a row of its own, behind a row of zeros."""
    program = tl.program_id(0)
    row = counts + (program + 1) * EXPERTS
    if KIND == "all in one row":
        row = counts + EXPERTS
    first = program * per_program
    for index in range(first, tl.minimum(first + per_program, n)):
        expert = tl.load(chosen + index)
        if KIND == "local experts":
            if (expert >= 0) & (expert < EXPERTS):
                tl.store(row + expert, tl.load(row + expert) + 1)
        else:
            tl.store(row + expert, tl.load(row + expert) + 1)  # [count]


def parts(chosen):
    return {
        "chosen": holding(chosen), "counts": tensor(4, 5, dtype="i32"), "n": len(chosen),
        "per_program": 4,
    }  # fmt: skip


def counting(kind=""):
    return {"KIND": kind, "EXPERTS": 5}


CHOICES = [4, 0, 1, 1, 3, 2, 2, 4, 0, 4, 3]
CASES.good("choices counted in parts", count_in_parts, parts(CHOICES), counting(), (3,))
CASES.bad("choices counted in parts, one of no expert in the last", count_in_parts,
            parts([*CHOICES[:-1], 5]), counting(), (3,), out_of_bounds="count")  # fmt: skip
CASES.bad("choices counted in parts, one that ends in the next part's row", count_in_parts,
            parts([7, *CHOICES[1:]]), counting(), (3,), race="count")  # fmt: skip
CASES.bad("choices counted in parts, all in one row", count_in_parts, parts(CHOICES),
            counting("all in one row"), (3,), race="count")  # fmt: skip
CASES.good("choices counted in parts, other ranks' left out", count_in_parts,
             parts([-1, 7, *CHOICES[2:-1], 99]), counting("local experts"), (3,))  # fmt: skip


@triton.jit
def expert_histogram(chosen, counts, n, KIND: tl.constexpr, EXPERTS: tl.constexpr,
                     BLOCK: tl.constexpr):  # fmt: skip
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(chosen + lanes, mask=lanes < n, other=EXPERTS)
    mask = expert < EXPERTS
    if KIND == "":
        mask = mask & (expert >= 0)
    if KIND == "no atomic":
        before = tl.load(counts + expert, mask=mask)
        tl.store(counts + expert, before + 1, mask=mask)  # [count]
    else:
        tl.atomic_add(counts + expert, 1, mask=mask, sem="relaxed")  # [add]


def histogram(chosen):
    return {"chosen": chosen, "counts": tensor(5, dtype="i32"), "n": 11}


def binned(kind=""):
    return {"KIND": kind, "EXPERTS": 5, "BLOCK": 4}


CASES.good("experts counted by atomics", expert_histogram, histogram(holding(CHOICES)), binned(),
             (3,))  # fmt: skip
CASES.good("experts counted by atomics, unrecorded and checked on both sides", expert_histogram,
             histogram(tensor(11, dtype="i32")), binned(), (3,))  # fmt: skip
CASES.bad("experts counted by atomics, -1 not excluded", expert_histogram,
            histogram(holding([-1, *CHOICES[1:]])), binned("upper"), (3,),
            out_of_bounds="add")  # fmt: skip
CASES.undecided("experts counted by atomics, unrecorded and checked above", expert_histogram,
                  histogram(tensor(11, dtype="i32")), binned("upper"), (3,), because="chosen",
                  out_of_bounds="add")  # fmt: skip
CASES.bad("experts counted by loads and stores", expert_histogram,
            histogram(holding(CHOICES)), binned("no atomic"), (3,), race="count",
            lane_conflict="count")  # fmt: skip


@triton.jit
def sort_by_expert(chosen, cursors, sorted_ids, n, EXPERTS: tl.constexpr, RANKED: tl.constexpr,
                   BLOCK: tl.constexpr):  # fmt: skip
    """Places from running cursors, or by counting what goes before, in one program."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    expert = tl.load(chosen + lanes, mask=inside, other=EXPERTS)
    if RANKED:
        other = tl.arange(0, BLOCK)
        theirs = tl.load(chosen + other, mask=other < n, other=EXPERTS)
        before = (theirs[None, :] < expert[:, None]) | (
            (theirs[None, :] == expert[:, None]) & (other[None, :] < lanes[:, None])
        )
        place = tl.sum(before.to(tl.int32), axis=1)
    else:
        place = tl.atomic_add(cursors + expert, 1, mask=inside)
    tl.store(sorted_ids + place, lanes, mask=inside)  # [place]


def sorting(room=11):
    return {
        "chosen": holding(CHOICES), "cursors": holding([0, 2, 4, 6, 8]),
        "sorted_ids": tensor(room, dtype="i32"), "n": 11,
    }  # fmt: skip


def sorted_by(ranked, block):
    return {"EXPERTS": 5, "RANKED": ranked, "BLOCK": block}


CASES.good("ids sorted by counting what goes before", sort_by_expert, sorting(),
             sorted_by(True, 16), (1,))  # fmt: skip
CASES.bad("ids sorted by counting what goes before, into too short a list", sort_by_expert,
            sorting(10), sorted_by(True, 16), (1,), out_of_bounds="place")  # fmt: skip


@triton.jit
def choose_experts(logits, weights, ids, experts, stride, KIND: tl.constexpr, TOP_K: tl.constexpr,
                   BLOCK: tl.constexpr):  # fmt: skip
    """The TOP_K largest logits of a token, one after the other, as weights of a softmax."""
    token = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < experts
    if KIND == "no other":
        values = tl.load(logits + token * stride + lanes, mask=inside)
    else:
        values = tl.load(logits + token * stride + lanes, mask=inside, other=-float("inf"))
    shifted = tl.exp(values - tl.max(values, axis=0))
    shares = shifted / tl.sum(shifted, axis=0)
    for rank in tl.static_range(TOP_K):
        place = tl.argmax(shares, axis=0)
        width = 1 if KIND == "rows of one" else TOP_K
        tl.store(weights + token * width + rank, tl.max(shares, axis=0))  # [weight]
        tl.store(ids + token * TOP_K + rank, place)  # [id]
        shares = tl.where(lanes == place, -1.0, shares)


def choosing(experts=5):
    return {
        "logits": tensor(6, experts), "weights": tensor(6, 2), "ids": tensor(6, 2, dtype="i32"),
        "experts": experts, "stride": experts,
    }  # fmt: skip


def chosen_by(kind=""):
    return {"KIND": kind, "TOP_K": 2, "BLOCK": 8}


CASES.good("the two largest of five experts", choose_experts, choosing(), chosen_by(), (6,))
CASES.bad("the two largest of five experts, and of three lanes more", choose_experts,
            choosing(), chosen_by("no other"), (6,), undefined_lanes=("weight", "id"))  # fmt: skip
CASES.good("the two largest of eight experts, without other", choose_experts, choosing(8),
             chosen_by("no other"), (6,))  # fmt: skip
CASES.bad("the two largest, weights in rows of one", choose_experts, choosing(),
            chosen_by("rows of one"), (6,), race="weight")  # fmt: skip


@triton.jit
def grouped_product(a, b, c, sizes, n, k, groups, KIND: tl.constexpr, BM: tl.constexpr,
                    BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Programs take tiles in turn from all groups, whose rows lie one behind the other."""
    tile = tl.program_id(0)
    across = tl.cdiv(n, BN)
    before = 0
    first_row = 0
    for group in range(groups):
        rows = tl.load(sizes + group)
        tiles = tl.cdiv(rows, BM) * across
        while (tile >= before) & (tile < before + tiles):
            local = tile - before
            lines = local // across * BM + tl.arange(0, BM)
            columns = local % across * BN + tl.arange(0, BN)
            inside = lines[:, None] < (rows + 1 if KIND == "one row more" else rows)
            total = tl.zeros((BM, BN), tl.float32)
            for start in range(0, k, BK):
                depth = start + tl.arange(0, BK)
                mask = inside & (depth[None, :] < k)
                ours = a + (first_row + lines[:, None]) * k + depth[None, :]
                left = tl.load(ours, mask=mask, other=0.0)  # [left]
                right = tl.load(
                    b + (group * k + depth[:, None]) * n + columns[None, :],
                    mask=(depth[:, None] < k) & (columns[None, :] < n), other=0.0,
                )  # fmt: skip
                total = tl.dot(left, right, total)
            place = c + (first_row + lines[:, None]) * n + columns[None, :]
            tl.store(place, total, mask=inside & (columns[None, :] < n))  # [store]
            tile += tl.num_programs(0)
        before += tiles
        if KIND == "rows padded":
            first_row += tl.cdiv(rows, BM) * BM
        else:
            first_row += rows


def groups(sizes, rows=35):
    return {
        "a": tensor(rows, 20), "b": tensor(len(sizes), 20, 24), "c": tensor(rows, 24),
        "sizes": holding(sizes), "n": 24, "k": 20, "groups": len(sizes),
    }  # fmt: skip


def grouped(kind=""):
    return {"KIND": kind, "BM": 16, "BN": 16, "BK": 16}


CASES.good("product of groups, programs in turn", grouped_product, groups([17, 0, 3, 15]),
             grouped(), (3,))  # fmt: skip
CASES.bad("product of groups, one row more of each", grouped_product, groups([17, 0, 3, 15]),
            grouped("one row more"), (3,), out_of_bounds=("left", "store"),
            race="store")  # fmt: skip
CASES.bad("product of groups, offsets of padded groups in rows without padding",
            grouped_product, groups([17, 0, 3, 15]), grouped("rows padded"), (3,),
            out_of_bounds=("left", "store"))  # fmt: skip
CASES.good("product of groups, offsets of padded groups in rows with padding", grouped_product,
             groups([17, 0, 3, 15], 63), grouped("rows padded"), (3,))  # fmt: skip


@triton.jit
def put_back(permuted, places, weights, out, width, KIND: tl.constexpr, TOP_K: tl.constexpr,
             BLOCK: tl.constexpr):  # fmt: skip
    """The sum of a token's rows, from where they were sorted to, or scattered from there."""
    lanes = tl.arange(0, BLOCK)
    inside = lanes < width
    if KIND == "scattered":
        row = tl.program_id(0)
        token = tl.load(places + row) // TOP_K
        weight = tl.load(weights + row)
        values = tl.load(permuted + row * width + lanes, mask=inside, other=0.0) * weight
        target = out + token * width + lanes
        tl.store(target, tl.load(target, mask=inside, other=0.0) + values, mask=inside)  # [add]
    else:
        token = tl.program_id(0)
        total = tl.zeros((BLOCK,), tl.float32)
        for rank in tl.static_range(TOP_K):
            row = tl.load(places + token * TOP_K + rank)
            kept = inside if KIND == "dropped not looked for" else inside & (row >= 0)
            weight = tl.load(weights + token * TOP_K + rank)
            values = tl.load(permuted + row * width + lanes, mask=kept, other=0.0)  # [rows]
            total += weight * values
        tl.store(out + token * width + lanes, total, mask=inside)


def back(places):
    return {
        "permuted": tensor(8, 20), "places": holding(places), "weights": tensor(8),
        "out": tensor(4, 20), "width": 20,
    }  # fmt: skip


def put(kind=""):
    return {"KIND": kind, "TOP_K": 2, "BLOCK": 32}


INVERSE = [3, 0, 7, 5, 1, 2, 6, 4]
CASES.good("rows put back by their tokens", put_back, back(INVERSE), put(), (4,))
CASES.good("rows put back by their tokens, dropped ones left out", put_back,
             back([3, -1, 7, 5, -1, -1, 6, 4]), put(), (4,))  # fmt: skip
CASES.bad("rows put back by their tokens, dropped ones not looked for", put_back,
            back([3, -1, 7, 5, -1, -1, 6, 4]), put("dropped not looked for"), (4,),
            out_of_bounds="rows")  # fmt: skip
CASES.bad("rows scattered back to their tokens without atomics", put_back, back(INVERSE),
            put("scattered"), (8,), race="add")  # fmt: skip
