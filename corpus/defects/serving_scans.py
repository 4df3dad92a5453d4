"""States carried along a sequence: chunked scans, convolutions and recurrent states in slots."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("serving: scans")


@triton.jit
def chunk_cumsum(g, out, cu_seqlens, chunk_indices, heads, KIND: tl.constexpr,
                 CHUNK: tl.constexpr):  # fmt: skip
    """A running sum within each chunk of each sequence, a program for each pair of them."""
    pair, head = tl.program_id(0), tl.program_id(1)
    seq = tl.load(chunk_indices + 2 * pair)
    chunk = tl.load(chunk_indices + 2 * pair + 1)
    begin = tl.load(cu_seqlens + seq)
    end = tl.load(cu_seqlens + seq + 1)  # [end]
    rows = begin + chunk * CHUNK + tl.arange(0, CHUNK)
    inside = rows < end
    place = rows * heads + head
    values = tl.load(g + place, mask=inside, other=0.0)  # [load]
    if KIND == "no mask":
        tl.store(out + place, tl.cumsum(values, axis=0))  # [whole]
    else:
        tl.store(out + place, tl.cumsum(values, axis=0), mask=inside)  # [store]


PAIRS = [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]]


def chunked(pairs, ends=(0, 13, 14, 33), tokens=33):
    return {
        "g": tensor(tokens, 3), "out": tensor(tokens, 3), "cu_seqlens": holding(ends),
        "chunk_indices": holding(pairs), "heads": 3,
    }  # fmt: skip


def chunks(kind=""):
    return {"KIND": kind, "CHUNK": 8}


CASES.good("running sums of chunks", chunk_cumsum, chunked(PAIRS), chunks(), (6, 3))
CASES.bad("running sums of chunks, each stored whole", chunk_cumsum, chunked(PAIRS),
            chunks("no mask"), (6, 3), out_of_bounds="whole", race="whole")  # fmt: skip
CASES.undecided("running sums of chunks, one chunk twice", chunk_cumsum,
                  chunked([*PAIRS[:4], [2, 0], [2, 2]]), chunks(), (6, 3),
                  because="which were not recorded", race="store", meets=True,
                  why="both store the same")  # fmt: skip
CASES.bad("running sums of chunks, of a sequence that is not there", chunk_cumsum,
            chunked([*PAIRS[:5], [3, 0]]), chunks(), (6, 3), out_of_bounds="end",
            doubtful={"out_of_bounds": ("load", "store"), "race": "store"})  # fmt: skip
CASES.bad("running sums of chunks, of fewer tokens than told", chunk_cumsum,
            chunked(PAIRS, tokens=32), chunks(), (6, 3), out_of_bounds=("load",
            "store"))  # fmt: skip


@triton.jit
def chunk_states(k, states, final, cu_seqlens, chunk_offsets, WRITE: tl.constexpr,
                 D: tl.constexpr, CHUNK: tl.constexpr):  # fmt: skip
    """The state before each chunk, chunk after chunk; where a sequence's states begin is given."""
    seq, head = tl.program_id(0), tl.program_id(1)
    heads = tl.num_programs(1)
    begin = tl.load(cu_seqlens + seq)
    length = tl.load(cu_seqlens + seq + 1) - begin
    first = tl.load(chunk_offsets + seq)
    dims = tl.arange(0, D)
    square = dims[:, None] * D + dims[None, :]
    state = tl.zeros((D, D), tl.float32)
    last = tl.cdiv(length, CHUNK)
    if WRITE == "one after the last":
        last += 1
    for chunk in range(last):
        tl.store(states + ((first + chunk) * heads + head) * D * D + square, state)  # [state]
        rows = chunk * CHUNK + tl.arange(0, CHUNK)
        place = ((begin + rows[:, None]) * heads + head) * D + dims[None, :]
        keys = tl.load(k + place, mask=rows[:, None] < length, other=0.0)  # [keys]
        state = tl.dot(tl.trans(keys), keys, state)
    tl.store(final + (seq * heads + head) * D * D + square, state)


def states(offsets, count=6):
    return {
        "k": tensor(45, 2, 16), "states": tensor(count, 2, 16, 16), "final": tensor(3, 2, 16, 16),
        "cu_seqlens": holding([0, 17, 18, 45]), "chunk_offsets": holding(offsets),
    }  # fmt: skip


def stating(write=""):
    return {"WRITE": write, "D": 16, "CHUNK": 16}


CASES.good("states before each chunk", chunk_states, states([0, 2, 3], 5), stating(), (3, 2))
CASES.bad("states before each chunk, offsets of whole chunks only", chunk_states,
            states([0, 1, 1], 5), stating(), (3, 2), race="state")  # fmt: skip
CASES.bad("states before each chunk, and after the last", chunk_states, states([0, 2, 3], 5),
            stating("one after the last"), (3, 2), out_of_bounds="state",
            race="state")  # fmt: skip
CASES.good("states before each chunk and after the last, with room for them", chunk_states,
             states([0, 3, 5], 8), stating("one after the last"), (3, 2))  # fmt: skip


@triton.jit
def update_convolution(x, weight, state, slots, out, width, stride_slot, pad, KIND: tl.constexpr,
                       TAPS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One step of a causal convolution: a request's last inputs are in a slot, and move on."""
    request = tl.program_id(0)
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < width
    slot = tl.load(slots + request).to(tl.int64)
    if KIND != "padding not looked for" and slot == pad:
        return
    taps = tl.arange(0, TAPS)
    history = state + slot * stride_slot + lanes[:, None] * (TAPS - 1) + taps[None, :]
    mask = inside[:, None] & (taps[None, :] < TAPS - 1)
    old = tl.load(history, mask=mask, other=0.0)  # [old]
    new = tl.load(x + request * width + lanes, mask=inside, other=0.0)
    newest = (taps == TAPS - 1).to(tl.float32)
    window = old + new[:, None] * newest[None, :]
    factors = tl.load(weight + lanes[:, None] * TAPS + taps[None, :], mask=inside[:, None],
                      other=0.0)  # fmt: skip
    tl.store(out + request * width + lanes, tl.sum(window * factors, axis=1), mask=inside)
    moved = state + slot * stride_slot + lanes[:, None] * (TAPS - 1) + taps[None, :] - 1
    mask = inside[:, None]
    if KIND != "first tap moved too":
        mask = mask & (taps[None, :] > 0)
    tl.store(moved, window, mask=mask)  # [moved]


def convolution(slots):
    return {
        "x": tensor(4, 20), "weight": tensor(20, 4), "state": tensor(6, 20, 3), "slots": slots,
        "out": tensor(4, 20), "width": 20, "stride_slot": 60, "pad": -1,
    }  # fmt: skip


def convolving(kind=""):
    return {"KIND": kind, "TAPS": 4, "BLOCK": 16}


CASES.good("convolution's step, states in slots", update_convolution,
             convolution(holding([5, 0, 3, 1])), convolving(), (4, 2))  # fmt: skip
CASES.good("convolution's step, a request that is padding", update_convolution,
             convolution(holding([5, -1, 3, -1])), convolving(), (4, 2))  # fmt: skip
CASES.bad("convolution's step, padding not looked for", update_convolution,
            convolution(holding([5, -1, 3, 1])), convolving("padding not looked for"), (4, 2),
            out_of_bounds=("old", "moved"))  # fmt: skip
CASES.bad("convolution's step, two requests of one slot", update_convolution,
            convolution(holding([5, 0, 3, 5])), convolving(), (4, 2),
            race="moved")  # fmt: skip
CASES.bad("convolution's step, the first tap moved before the channel", update_convolution,
            convolution(holding([5, 0, 3, 1])), convolving("first tap moved too"), (4, 2),
            out_of_bounds="moved", race="moved", lane_conflict="moved")  # fmt: skip
CASES.undecided("convolution's step, slots that were not recorded", update_convolution,
                  convolution(tensor(4, dtype="i32")), convolving(), (4, 2), because="slots",
                  out_of_bounds=("old", "moved"), race="moved")  # fmt: skip


@triton.jit
def update_state(x, decay, state, out, slots, accepted, stride_slot, stride_step, width,
                 IN_PLACE: tl.constexpr, D: tl.constexpr, STEPS: tl.constexpr):  # fmt: skip
    """Drafted tokens one after the other, each one's state kept until it is known which holds."""
    request, head = tl.program_id(0), tl.program_id(1)
    slot = tl.load(slots + request).to(tl.int64)
    if slot < 0:
        return
    base = state + slot * stride_slot + head * width
    lanes = tl.arange(0, D)
    inside = lanes < width
    before = tl.load(accepted + request)
    if IN_PLACE:
        now = tl.load(base + lanes, mask=inside, other=0.0)
    else:
        now = tl.load(base + (before - 1) * stride_step + lanes, mask=inside, other=0.0)  # [start]
    heads = tl.num_programs(1)
    for step in range(STEPS):
        place = ((request * STEPS + step) * heads + head) * width + lanes
        now = now * tl.load(decay + head) + tl.load(x + place, mask=inside, other=0.0)
        tl.store(out + place, now, mask=inside)
        if not IN_PLACE:
            tl.store(base + step * stride_step + lanes, now, mask=inside)  # [step]
    if IN_PLACE:
        tl.store(base + lanes, now, mask=inside)  # [state]


def updated(slots, accepted=(1, 3, 2), room=5):
    return {
        "x": tensor(3, 3, 2, 12), "decay": tensor(2), "state": tensor(room, 3, 2, 12),
        "out": tensor(3, 3, 2, 12), "slots": holding(slots), "accepted": holding(accepted),
        "stride_slot": 72, "stride_step": 24, "width": 12,
    }  # fmt: skip


def updating(in_place=False):
    return {"IN_PLACE": in_place, "D": 16, "STEPS": 3}


CASES.good("states of drafted tokens", update_state, updated([4, -1, 0]), updating(), (3, 2))
CASES.bad("states of drafted tokens, none accepted in the first slot", update_state,
            updated([4, -1, 0], (1, 3, 0)), updating(), (3, 2), out_of_bounds="start")  # fmt: skip
CASES.good("states of drafted tokens, none accepted of a later slot: the slot before is read",
             update_state, updated([4, -1, 2], (0, 3, 1)), updating(), (3, 2))  # fmt: skip
CASES.bad("states of drafted tokens, none accepted, the slot before in use", update_state,
            updated([3, -1, 2], (0, 3, 1)), updating(), (3, 2), race="step")  # fmt: skip
CASES.bad("states of drafted tokens, slots without room for them", update_state,
            updated([4, -1, 0]) | {"state": tensor(5, 2, 12), "stride_slot": 24}, updating(),
            (3, 2), out_of_bounds="step")  # fmt: skip
CASES.bad("states of drafted tokens, slots into each other", update_state,
            updated([1, -1, 0]) | {"state": tensor(5, 2, 12), "stride_slot": 24}, updating(),
            (3, 2), race="step")  # fmt: skip
CASES.bad("states of two requests in one slot, in place", update_state,
            updated([4, 4, 0]), updating(True), (3, 2), race="state")  # fmt: skip


@triton.jit
def hand_on(x, out, sums, flags, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """A running sum over all programs: each waits for the one before, which raises a flag."""
    program = tl.program_id(0)
    lanes = program * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    before = 0.0
    if program > 0:
        if KIND != "not waited for":
            while tl.atomic_add(flags + program - 1, 0, sem="acquire") == 0:
                pass
        before = tl.load(sums + program - 1)  # [before]
    if KIND == "flag first":
        tl.atomic_xchg(flags + program, 1, sem="release")
    tl.store(sums + program, before + tl.sum(values, axis=0))  # [sum]
    if KIND == "plain flag":
        tl.store(flags + program, 1)  # [flag]
    elif KIND == "relaxed flag":
        tl.atomic_xchg(flags + program, 1, sem="relaxed")
    elif KIND != "flag first":
        tl.debug_barrier()
        tl.atomic_xchg(flags + program, 1, sem="release")
    tl.store(out + lanes, before + tl.cumsum(values, axis=0), mask=lanes < n)


HANDED = {
    "x": tensor(60), "out": tensor(60), "sums": tensor(4), "flags": holding([0] * 4), "n": 60,
}  # fmt: skip


def handing(kind):
    return {"KIND": kind, "BLOCK": 16}


CASES.good("running sum handed on with a flag", hand_on, HANDED, handing(""), (4,), meets=True,
             why="the flag is raised after the sum, with release, and waited for with acquire",
             )  # fmt: skip
CASES.bad("running sum handed on, the flag raised first", hand_on, HANDED,
            handing("flag first"), (4,), race="sum")  # fmt: skip
CASES.bad("running sum handed on, not waited for", hand_on, HANDED, handing("not waited for"),
            (4,), race="sum")  # fmt: skip
CASES.bad("running sum handed on, with a relaxed flag", hand_on, HANDED,
            handing("relaxed flag"), (4,), race="sum")  # fmt: skip
CASES.bad("running sum handed on, with a flag stored without an atomic", hand_on, HANDED,
            handing("plain flag"), (4,), race=("sum", "flag"))  # fmt: skip
