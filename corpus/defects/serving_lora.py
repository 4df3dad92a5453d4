"""Low-rank adapters: tokens of several adapters in one batch, and slices of one product."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: adapters")


@triton.jit
def shrink(
    x, down, out, sorted_tokens, counts, starts, adapters, tokens, k, rank,
    stride_adapter, stride_slice,
    KIND: tl.constexpr, SPLIT_K: tl.constexpr, BM: tl.constexpr, R: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """x times the first factor of each token's adapter; the depth split between programs."""
    tile, part = tl.program_id(0) // SPLIT_K, tl.program_id(0) % SPLIT_K
    slice_, group = tl.program_id(1), tl.program_id(2)
    adapter = tl.load(adapters + group)
    if KIND != "-1 not excluded" and adapter == -1:
        return
    count = tl.load(counts + group)
    if tile * BM >= count:
        return
    lanes = tile * BM + tl.arange(0, BM)
    ours = lanes < count
    token = tl.load(sorted_tokens + tl.load(starts + group) + lanes, mask=ours, other=0)  # [token]
    ranks = tl.arange(0, R)
    total = tl.zeros((BM, R), tl.float32)
    for start in range(part * BK, k, BK * SPLIT_K):
        depth = start + tl.arange(0, BK)
        mask = ours[:, None] & (depth[None, :] < k)
        left = tl.load(x + token[:, None] * k + depth[None, :], mask=mask, other=0.0)  # [left]
        factor = down + adapter * stride_adapter + slice_ * stride_slice
        mask = (depth[:, None] < k) & (ranks[None, :] < rank)
        factor += ranks[None, :] * k + depth[:, None]
        right = tl.load(factor, mask=mask, other=0.0)  # [right]
        total = tl.dot(left, right, total)
    where = out + (slice_ * tokens + token[:, None]) * rank + ranks[None, :]
    mask = ours[:, None] & (ranks[None, :] < rank)
    if KIND == "parts stored":
        tl.store(where, total, mask=mask)  # [part]
    elif KIND == "first token for lanes outside":
        tl.store(where, total, mask=ranks[None, :] < rank)  # [loose]
    else:
        tl.atomic_add(where, total, mask=mask, sem="relaxed")  # [sum]


def shrunk(adapters, counts=(3, 2, 2), tokens=(0, 4, 6, 1, 2, 3, 5)):
    return {
        "x": tensor(7, 40), "down": tensor(3, 2, 4, 40), "out": tensor(2, 7, 4),
        "sorted_tokens": holding(tokens), "counts": holding(counts),
        "starts": holding([0, 3, 5]), "adapters": holding(adapters), "tokens": 7, "k": 40,
        "rank": 4, "stride_adapter": 320, "stride_slice": 160,
    }  # fmt: skip


def shrinking(kind="", split=2):
    return {"KIND": kind, "SPLIT_K": split, "BM": 16, "R": 16, "BK": 16}


CASES.good("tokens by adapter, some without one", shrink, shrunk([-1, 2, 0]), shrinking(),
             (2, 2, 3))  # fmt: skip
CASES.bad("tokens by adapter, some without one that are not excluded", shrink,
            shrunk([-1, 2, 0]), shrinking("-1 not excluded"), (2, 2, 3),
            out_of_bounds="right")  # fmt: skip
CASES.bad("tokens by adapter, one adapter more than there are", shrink, shrunk([-1, 3, 0]),
            shrinking(), (2, 2, 3), out_of_bounds="right")  # fmt: skip
CASES.bad("tokens by adapter, more of the last than there are", shrink,
            shrunk([-1, 2, 0], (3, 2, 3)), shrinking(), (2, 2, 3), out_of_bounds="token",
            doubtful={"out_of_bounds": ("left", "sum")})  # fmt: skip
CASES.bad("tokens by adapter, one that is not in the batch", shrink,
            shrunk([-1, 2, 0], tokens=(0, 4, 6, 1, 7, 3, 5)), shrinking(), (2, 2, 3),
            out_of_bounds=("left", "sum"))  # fmt: skip
CASES.bad("tokens by adapter, parts of the depth stored", shrink, shrunk([-1, 2, 0]),
            shrinking("parts stored"), (2, 2, 3), race="part")  # fmt: skip
CASES.good("tokens by adapter, the whole depth stored", shrink, shrunk([-1, 2, 0]),
             shrinking("parts stored", 1), (1, 2, 3))  # fmt: skip
CASES.bad("tokens by adapter, lanes past the last one stored as the first token", shrink,
            shrunk([1, 2, 0]), shrinking("first token for lanes outside", 1), (1, 2, 3),
            race="loose", lane_conflict="loose")  # fmt: skip
CASES.undecided("tokens by adapter, adapters that were not recorded", shrink,
                  shrunk([-1, 2, 0]) | {"adapters": tensor(3, dtype="i32")}, shrinking(),
                  (2, 2, 3), because="adapters", out_of_bounds="right")  # fmt: skip


@triton.jit
def expand(low, up, out, adapters, slice_starts, slice_widths, tokens, rank, width, most,
           KIND: tl.constexpr, R: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """Add each slice of an adapter's second product to where it belongs in the output."""
    token, slice_ = tl.program_id(0), tl.program_id(1)
    adapter = tl.load(adapters + token)
    if adapter < 0:
        return
    begin = tl.load(slice_starts + slice_)
    columns = tl.load(slice_widths + slice_)
    ranks = tl.arange(0, R)
    inside = ranks < rank
    small = tl.load(low + (slice_ * tokens + token) * rank + ranks, mask=inside, other=0.0)
    if KIND == "widest slice":
        columns = most
    for start in range(0, columns, BN):
        lanes = start + tl.arange(0, BN)
        factor = up + (adapter * width + begin + lanes[:, None]) * rank + ranks[None, :]
        mask = (lanes[:, None] < columns) & inside[None, :]
        product = tl.sum(tl.load(factor, mask=mask, other=0.0) * small[None, :], axis=1)  # [up]
        place = out + token * width + begin + lanes
        mask = lanes < columns
        if KIND == "no mask":
            mask = lanes < columns + BN
        tl.store(place, tl.load(place, mask=mask, other=0.0) + product, mask=mask)  # [out]


def expanded(starts=(0, 20, 28), widths=(20, 8, 8), adapters=(1, -1, 0, 2, 2)):
    return {
        "low": tensor(3, 5, 4), "up": tensor(3, 36, 4), "out": tensor(5, 36),
        "adapters": holding(adapters), "slice_starts": holding(starts),
        "slice_widths": holding(widths), "tokens": 5, "rank": 4, "width": 36, "most": 20,
    }  # fmt: skip


def expanding(kind=""):
    return {"KIND": kind, "R": 4, "BN": 16}


CASES.good("slices added side by side", expand, expanded(), expanding(), (5, 3))
CASES.bad("slices added, one into the next", expand, expanded(starts=(0, 16, 28)), expanding(),
            (5, 3), race="out")  # fmt: skip
CASES.good("slices added, one into the next, of which it takes no part", expand,
             expanded(starts=(0, 20, 24), widths=(20, 4, 12)), expanding(), (5, 3))  # fmt: skip
CASES.bad("slices added, all as wide as the widest", expand, expanded(),
            expanding("widest slice"), (5, 3), out_of_bounds=("up", "out"),
            race="out")  # fmt: skip
CASES.bad("slices added, the last lanes not masked", expand, expanded(adapters=(1, -1, 0, 2, 0)),
            expanding("no mask"), (5, 3), out_of_bounds="out", race="out")  # fmt: skip
CASES.bad("slices added, an adapter that was thrown out", expand,
            expanded(adapters=(1, -1, 0, 2, 3)), expanding(), (5, 3),
            out_of_bounds="up")  # fmt: skip


@triton.jit
def segments(x, weights, out, seg_starts, seg_adapters, ranks, k, CHECK: tl.constexpr,
             MOST: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """A run of tokens for each request, whose adapter has a rank of its own, or none."""
    request = tl.program_id(1)
    adapter = tl.load(seg_adapters + request)
    rank = tl.load(ranks + adapter)
    if CHECK and rank == 0:
        return
    begin = tl.load(seg_starts + request)
    length = tl.load(seg_starts + request + 1) - begin
    if tl.program_id(0) * BM >= length:
        return
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, MOST)
    per_rank = k // rank  # [per rank]
    total = tl.zeros((BM, MOST), tl.float32)
    for start in range(0, per_rank * rank, BK):
        depth = start + tl.arange(0, BK)
        seen = depth < per_rank * rank
        place = x + (begin + rows[:, None]) * k + depth[None, :]
        left = tl.load(place, mask=(rows[:, None] < length) & seen[None, :], other=0.0)
        place = weights + (adapter * MOST + columns[None, :]) * k + depth[:, None]
        mask = seen[:, None] & (columns[None, :] < rank)
        right = tl.load(place, mask=mask, other=0.0)  # [weights]
        total = tl.dot(left, right, total)
    place = out + (begin + rows[:, None]) * MOST + columns[None, :]
    tl.store(place, total, mask=(rows[:, None] < length) & (columns[None, :] < rank))


def segmented(ranks, weights=3):
    return {
        "x": tensor(23, 24), "weights": tensor(weights, 16, 24), "out": tensor(23, 16),
        "seg_starts": holding([0, 4, 4, 22, 23]), "seg_adapters": holding([1, 0, 2, 0]),
        "ranks": holding(ranks), "k": 24,
    }  # fmt: skip


def segmenting(check):
    return {"CHECK": check, "MOST": 16, "BM": 16, "BK": 16}


CASES.good("runs of tokens, an adapter of rank 0", segments, segmented([0, 4, 16]),
             segmenting(True), (2, 4))  # fmt: skip
CASES.bad("runs of tokens, divided by an adapter's rank 0", segments, segmented([0, 4, 16]),
            segmenting(False), (2, 4), division_by_zero="per rank")  # fmt: skip
CASES.good("runs of tokens, divided by ranks of which none is 0", segments,
             segmented([8, 4, 16]), segmenting(False), (2, 4))  # fmt: skip
CASES.bad("runs of tokens, weights of one adapter fewer", segments, segmented([0, 4, 16], 2),
            segmenting(True), (2, 4), out_of_bounds="weights")  # fmt: skip
