"""Kernels that store to slots which programs draw from counters, and calls of them."""

import numpy as np
import triton
import triton.language as tl

from tests.verdicts import race_kernels
from tests.verdicts.calls import call, ids, tensor

TOKENS = 48
EXPERTS = tuple((i * 5 + i // 3) % 4 for i in range(TOKENS))
STARTS = np.concatenate(([0], np.cumsum(np.bincount(EXPERTS))))


def zeros(*shape):
    return tensor(*shape, dtype="i32", data=np.zeros(shape, np.int32))


@triton.jit
def token_to_slot(experts, counts, out, ROOM: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(experts + token)
    tl.store(out + expert * ROOM + tl.atomic_add(counts + expert, 1), token)


@triton.jit
def block_to_slots(experts, counts, out, n, ROOM: tl.constexpr, BLOCK: tl.constexpr):
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(experts + tokens, mask=tokens < n, other=0)
    slot = tl.atomic_add(counts + expert, 1, mask=tokens < n)
    tl.store(out + expert * ROOM + slot, tokens, mask=(tokens < n) & (slot < ROOM))


@triton.jit
def rows_to_slots(x, experts, starts, counts, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(experts + token)
    row = tl.load(starts + expert) + tl.atomic_add(counts + expert, 1)
    for first in range(0, COLUMNS, BLOCK):
        lanes = first + tl.arange(0, BLOCK)
        tl.store(out + row * COLUMNS + lanes, tl.load(x + token * COLUMNS + lanes))


@triton.jit
def block_of_rows_to_slots(
    x, experts, starts, counts, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    tokens = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, COLUMNS)[None, :]
    expert = tl.load(experts + tokens)
    rows = tl.load(starts + expert) + tl.atomic_add(counts + expert, 1)
    tl.store(out + rows[:, None] * COLUMNS + lanes, tl.load(x + tokens[:, None] * COLUMNS + lanes))


@triton.jit
def large_to_slots(x, counter, out, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places)
    slot = tl.atomic_add(counter + tl.zeros_like(places), 1, mask=values > 2)
    tl.store(out + slot * 2, values, mask=values > 2)
    tl.store(out + slot * 2 + 1, places, mask=values > 2)


@triton.jit
def experts_in_turn(experts, counters, out, ROOM: tl.constexpr, COUNTERS: tl.constexpr):
    tokens = tl.program_id(0) * 16 + tl.arange(0, 16)
    expert = tl.load(experts + tokens)
    for turn in range(4):
        kept = (expert == turn).to(tl.int32)
        first = tl.atomic_add(counters + turn // (4 // COUNTERS), tl.sum(kept))
        tl.store(out + turn * ROOM + first + tl.cumsum(kept) - 1, tokens, mask=expert == turn)


def in_turn(room, counters):
    return call(experts_in_turn, (3,), experts=E, counters=zeros(4),
                out=tensor(4 * TOKENS, dtype="i32"), ROOM=room, COUNTERS=counters)  # fmt: skip


E = ids(*EXPERTS)
PROVEN = {
    "experts in turn": lambda: in_turn(16, 4),
    "tokens": lambda: call(token_to_slot, (TOKENS,), experts=E, counts=zeros(4),
                           out=tensor(4, 16, dtype="i32"), ROOM=16),
    "blocks with a tail": lambda: call(
        block_to_slots, (3,), experts=E, counts=zeros(4), out=tensor(4, 16, dtype="i32"), n=45,
        ROOM=16, BLOCK=16),
    "slots that end at the room": lambda: call(
        block_to_slots, (3,), experts=E, counts=zeros(4), out=tensor(4, 4, dtype="i32"), n=45,
        ROOM=4, BLOCK=16),
    "rows": lambda: call(
        rows_to_slots, (TOKENS,), x=tensor(TOKENS, 32), experts=E, starts=ids(*STARTS),
        counts=zeros(4), out=tensor(TOKENS, 32), COLUMNS=32, BLOCK=16),
    "blocks of rows": lambda: call(
        block_of_rows_to_slots, (6,), x=tensor(TOKENS, 32), experts=E, starts=ids(*STARTS),
        counts=zeros(4), out=tensor(TOKENS, 32), ROWS=8, COLUMNS=32),
    "chosen by data": lambda: call(
        large_to_slots, (3,), x=E, counter=zeros(1), out=tensor(2 * TOKENS, dtype="i32"), BLOCK=16),
}  # fmt: skip


@triton.jit
def slot_and_program(counter, out):
    """Ascending programs store to even places, others meet."""
    tl.store(out + tl.atomic_add(counter, 1) + tl.program_id(0), 1.0 * tl.program_id(0))


@triton.jit
def slot_by_table_and_program(counter, table, out):
    token = tl.program_id(0)
    tl.store(out + tl.load(table + tl.atomic_add(counter, 1)) + token, 1.0 * token)


@triton.jit
def two_draws(counter, out):
    """The number of the second draw is free for the first of another program."""
    token = tl.program_id(0)
    slot = tl.atomic_add(counter, 1)
    tl.store(out + slot + tl.atomic_add(counter, 1), 1.0 * token)


@triton.jit
def reset(counter, out):
    token = tl.program_id(0)
    tl.store(out + tl.atomic_add(counter, 1), 1.0 * token)
    if token == 7:
        tl.atomic_xchg(counter, 0)


@triton.jit
def steps_of_data(counter, steps, out):
    token = tl.program_id(0)
    tl.store(out + tl.atomic_add(counter, tl.load(steps + token)), 1.0 * token)


@triton.jit
def store_of_all(counter, out):
    token = tl.program_id(0)
    tl.store(out + tl.atomic_add(counter, 1, mask=token > 3), 1.0 * token)


@triton.jit
def lanes_of_a_block(counter, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    slots = tl.atomic_add(counter + tl.zeros((BLOCK,), tl.int32), 1)
    tl.store(out + slots + lanes * BLOCK, lanes * 1.0)


@triton.jit
def others_read(counter, out, sums):
    """In the order of the ids each program reads its own slot alone."""
    token = tl.program_id(0)
    tl.store(out + tl.atomic_add(counter, 1), 1.0 * token)
    tl.store(sums + token, tl.load(out + token))


@triton.jit
def loaded_by_slot(counter, table, out, sums):
    token = tl.program_id(0)
    slot = tl.atomic_add(counter, 1)
    tl.store(out + slot, 1.0 * token)
    tl.store(sums + tl.load(table + slot) * 8 + token, 1.0)


@triton.jit
def by_program(counter, out):
    """Slots that are written or not, and elsewhere, by the program that drew them."""
    token = tl.program_id(0)
    slot = tl.atomic_add(counter, 1)
    tl.store(out + tl.where(token == 5, 0, slot), 1.0 * token, mask=(token == 5) | (slot > 5))


@triton.jit
def compared(counter, out):
    token = tl.program_id(0)
    tl.store(out + tl.atomic_cas(counter, token, token + 1), 1.0 * token)


@triton.jit
def in_two_counters(counters, out):
    """Both counters give the same numbers."""
    token = tl.program_id(0)
    tl.store(out + tl.atomic_add(counters + token % 2, 1), 1.0 * token)


@triton.jit
def counters_by_written_tensor(experts, counts, out, ROOM: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(experts + token)
    tl.store(experts + (token + 1) % 8, expert)
    tl.store(out + expert * ROOM + tl.atomic_add(counts + expert, 1), 1.0 * token)


@triton.jit
def more_trips_for_later(counter, out):
    """Draws whose number depends on the first number drawn."""
    token = tl.program_id(0)
    slot = tl.atomic_add(counter, 1)
    for _ in range(slot % 2 + token % 2):
        tl.store(out + slot + tl.atomic_add(counter, 1) * 8, 1.0 * token)


NOT_PROVEN = {
    "experts in turn that share room": lambda: in_turn(8, 4),
    "experts in turn of one counter": lambda: in_turn(TOKENS, 1),
    "slot and program": lambda: call(
        slot_and_program, (8,), counter=zeros(1), out=tensor(32)),
    "slot by table and program": lambda: call(
        slot_by_table_and_program, (8,), counter=zeros(1), table=ids(*range(8)), out=tensor(32)),
    "a table with equal places": lambda: call(
        rows_to_slots, (8,), x=tensor(8, 32), experts=ids(*range(8)), starts=ids(*[0, 1] * 4),
        counts=zeros(8), out=tensor(8, 32), COLUMNS=32, BLOCK=16),
    "two draws": lambda: call(two_draws, (8,), counter=zeros(1), out=tensor(64)),
    "reset": lambda: call(reset, (8,), counter=zeros(1), out=tensor(8)),
    "steps of data": lambda: call(
        steps_of_data, (8,), counter=zeros(1), steps=ids(1, 2, 1, 2, 1, 1, 1, 0), out=tensor(32)),
    "store of all": lambda: call(store_of_all, (8,), counter=zeros(1), out=tensor(8)),
    "lanes of a block": lambda: call(
        lanes_of_a_block, (4,), counter=zeros(1), out=tensor(1024), BLOCK=8),
    "others read": lambda: call(
        others_read, (8,), counter=zeros(1), out=tensor(8), sums=tensor(8)),
    "by program": lambda: call(by_program, (8,), counter=zeros(1), out=tensor(8)),
    "compared": lambda: call(compared, (8,), counter=zeros(1), out=tensor(16)),
    "in two counters": lambda: call(in_two_counters, (8,), counters=zeros(2), out=tensor(8)),
    "experts that share room": lambda: call(
        token_to_slot, (TOKENS,), experts=E, counts=zeros(4), out=tensor(4, 16, dtype="i32"),
        ROOM=8),
    "counters by a written tensor": lambda: call(
        counters_by_written_tensor, (8,), experts=ids(*range(8)), counts=zeros(8), out=tensor(64),
        ROOM=8),
    "more trips for later": lambda: call(
        more_trips_for_later, (8,), counter=zeros(1), out=tensor(512)),
}  # fmt: skip


@triton.jit
def tickets_that_end(counter, out, tiles, BLOCK: tl.constexpr):
    """The last program puts the counter back."""
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        tl.store(out + tile * BLOCK + tl.arange(0, BLOCK), 1.0 * tl.program_id(0))
        tile = tl.atomic_add(counter, 1)
    if tile == tiles + tl.num_programs(0) - 1:
        tl.atomic_xchg(counter, 0)


@triton.jit
def tickets_of_programs(counter, out, tiles, BLOCK: tl.constexpr):
    """The place of a tile depends on the program that drew it, too."""
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        place = (tile + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + place, 1.0, mask=place < tiles * BLOCK)
        tile = tl.atomic_add(counter, 1)


def tiles(kernel=race_kernels.tickets, counter=(0,), **constants):
    source = {"x": tensor(8, 64)} if kernel is race_kernels.tickets else {}
    return call(
        kernel, (4,), counter=ids(*counter), out=tensor(8, 64), tiles=8, BLOCK=64, **source,
        **constants,
    )  # fmt: skip


@triton.jit
def kept_to_reserved(x, counters, out, n, BLOCK: tl.constexpr, FORM: tl.constexpr):
    token = tl.program_id(0)
    places = token * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < n, other=0)
    kept = (values > 50).to(tl.int32)
    counter = counters + token % 2 if FORM == "two counters" else counters
    first = tl.atomic_add(counter, tl.sum((values > 60).to(tl.int32) if FORM == "fewer" else kept))
    if FORM == "pointers":
        tl.store(out + first + tl.cumsum(kept) - 1, values, mask=kept > 0)
    elif FORM == "sums before":
        tl.store(out + (first + tl.cumsum(kept) - kept), values, mask=values > 50)
    elif FORM == "all":
        tl.store(out + first + tl.cumsum(kept), values)
    elif FORM == "by program":
        tl.store(out + first + tl.cumsum(kept) + token, values, mask=kept > 0)
    elif FORM == "pairs" or FORM == "far pairs":
        slots = (first + tl.cumsum(kept) - 1) * 2
        tl.store(out + slots, values, mask=kept > 0)
        tl.store(out + slots + (1 if FORM == "pairs" else 2), places, mask=kept > 0)
    else:
        slots = first + tl.cumsum(kept) - 1
        tl.store(out + slots, values, mask=(kept > 0) & (slots < n - 53))


def compaction(form):
    x = ids(*((i * 37 + i // 3) % 100 for i in range(70)))
    return call(
        kept_to_reserved, (5,), x=x, counters=zeros(2), out=tensor(80, dtype="i32"), n=70, BLOCK=16,
        FORM=form,
    )  # fmt: skip


@triton.jit
def rows_to_reserved(counts, counter, out, FORM: tl.constexpr, MORE: tl.constexpr):
    token = tl.program_id(0)
    count = tl.load(counts + token)
    lanes = tl.arange(0, 8)
    if FORM == "lanes":
        count = tl.load(counts + lanes)
    first = tl.atomic_add(counter + (lanes * 0 if FORM == "lanes" else 0), count)
    if FORM == "rows":
        columns = tl.arange(0, 16)[None, :]
        rows = (first + lanes[:, None]) * (16 - MORE)
        tl.store(out + rows + columns, token, mask=lanes[:, None] < count)
    elif FORM == "lanes":
        number = (first[None, :] if MORE else first[:, None]) + lanes[:, None] * 0
        tl.store(out + number + lanes[None, :], token, mask=lanes[None, :] < count[:, None])
    elif FORM == "trips":
        for start in range(0, count, 4):
            places = start + tl.arange(0, 4)
            tl.store(out + first + places + MORE * (token % 2), token, mask=places < count)
    elif FORM == "draws":
        for trip in range(1, 4):
            count = tl.load(counts + (token + trip) % 4)
            tl.store(out + first + lanes, token, mask=lanes < count)
            first = tl.atomic_add(counter, count)


def reserved(form, more, counts=(3, 0, 5, 2, 1, 4, 2, 3)):
    return call(rows_to_reserved, (4,), counts=ids(*counts), counter=zeros(1),
                out=tensor(640, dtype="i32"), FORM=form, MORE=more)  # fmt: skip


@triton.jit
def tickets_by_table(counter, table, out, tiles, MORE: tl.constexpr):
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        tl.store(out + tl.load(table + tile) * 8 + tl.arange(0, 8), 1.0 * tl.program_id(0))
        if MORE:
            tl.atomic_add(counter, 1)
        tile = tl.atomic_add(counter, 1)


def by_table(*table, more=False):
    return call(tickets_by_table, (4,), counter=zeros(1), table=ids(*table), out=tensor(64),
                tiles=len(table), MORE=more)  # fmt: skip


@triton.jit
def to_far_places(steps, counter, out, FORM: tl.constexpr, FAR: tl.constexpr):
    """Numbers from a counter: places `FAR` elements apart, or steps of up to as many."""
    if FORM == "steps":
        step = tl.minimum(tl.maximum(tl.load(steps + tl.program_id(0)), 1), FAR)
        tl.store(out + tl.atomic_add(counter, step), tl.program_id(0))
    elif FORM == "rows":
        tl.store(out + tl.atomic_add(counter, 1) * FAR + tl.arange(0, 8), tl.program_id(0))
    else:
        rows = tl.make_tensor_descriptor(out, shape=[32, 8], strides=[FAR, 1], block_shape=[1, 8])
        row = tl.atomic_add(counter, 1).to(tl.int32)
        rows.store([row, 0], tl.zeros((1, 8), tl.int32) + tl.program_id(0))


def far_places(form, far, dtype, known):
    width = np.int64 if dtype == "i64" else np.int32
    steps, counter = (
        tensor(n, dtype=dtype, data=np.full(n, fill, width) if known else None)
        for n, fill in ((5, min(far, np.iinfo(width).max)), (1, 0))
    )
    out = tensor(64, dtype="i32")
    return call(to_far_places, (5,), steps=steps, counter=counter, out=out, FORM=form, FAR=far)
