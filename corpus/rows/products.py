"""Products of matrices, attention and sequences."""

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

K, COLUMNS = 64, 32


@triton.jit
def _matmul(
    a,
    b,
    c,
    M,
    N: tl.constexpr,
    K: tl.constexpr,
    BM: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    WRAP: tl.constexpr,
    LOW: tl.constexpr,
):
    pid = tl.program_id(0)
    down, across = tl.cdiv(M, BM), tl.cdiv(N, 16)
    in_group = GROUP * across
    first_row = pid // in_group * GROUP
    height = min(down - first_row, GROUP)
    pid_m = first_row + (pid % in_group) % height
    pid_n = (pid % in_group) // height
    rows = pid_m * BM + tl.arange(0, BM)
    if WRAP:
        rows = rows % M
    columns = pid_n * 16 + tl.arange(0, 16)
    total = tl.zeros((BM, 16), tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :])
        if LOW:
            total = tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16), total)
        else:
            total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows < M)[:, None])


def _product(
    batch: Batch, rows: int, depth: int = 32, wrap: bool = False, low: bool = False
) -> Outputs:
    # Small integers: the evaluator's plain run leaves the order inside a product to NumPy.
    a, b = batch.integers(-9, 9, K, dtype=torch.float32), shared(K, COLUMNS).round()
    c = batch.result(COLUMNS)
    grid = (triton.cdiv(batch.size, rows) * COLUMNS // 16,)
    _matmul[grid](a, b, c, batch.size, COLUMNS, K, rows, depth, 4, wrap, low)
    return c


@case(right=True, why="programs in groups of rows, masked", recorded=(3, 40, 100))
def grouped_matmul(batch: Batch) -> Outputs:
    return _product(batch, 16)


@case(right=True, why="rows past the end wrap around and store what is stored there anyway")
def wrapped_matmul(batch: Batch) -> Outputs:
    return _product(batch, 16, wrap=True)


@case(right=True, why="the height of a tile follows the batch, its depth does not")
def matmul_tile_height(batch: Batch) -> Outputs:
    return _product(batch, 16 if batch.size < 5 else 32)


@case(right=False, why="the depth of a tile follows the batch", read=True)
def matmul_tile_depth(batch: Batch) -> Outputs:
    return _product(batch, 16, depth=16 if batch.size < 5 else 64)


@case(right=False, why="large batches are rounded to bfloat16", read=True)
def matmul_low_precision(batch: Batch) -> Outputs:
    return _product(batch, 16, low=batch.size > 4)


@triton.jit
def _split_k(a, w, y, M, K, SMALL: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    splits = tl.where(M < SMALL, 4, 1)
    length = K // splits
    total = 0.0
    for split in range(splits):
        part = 0.0
        for k in range(split * length, (split + 1) * length, BLOCK):
            cols = k + tl.arange(0, BLOCK)
            part += tl.sum(tl.load(a + row * K + cols) * tl.load(w + cols))
        total += part
    tl.store(y + row, total)


@case(right=False, why="K is split in four for fewer than 64 rows", recorded=(3, 5, 12))
def split_by_rows(batch: Batch) -> Outputs:
    a, y = batch.floats(1024, tag=2), batch.result()
    _split_k[(batch.size,)](a, shared(1024), y, batch.size, 1024, 64, BLOCK=16)
    return y


@triton.jit
def _atomic_columns(x, y, N, OPERATION: tl.constexpr, BLOCK: tl.constexpr, SEM: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at)
    if OPERATION == "add":
        tl.atomic_add(y + row, tl.sum(value), sem=SEM)
    elif OPERATION == "max":
        tl.atomic_max(y + row, tl.max(value), sem=SEM, scope="cta")
    else:
        tl.atomic_xchg(y + row, tl.sum(value), sem=SEM)


@case(right=False, why="sums of floats by atomics, in any order", read=True)
def atomic_float_sum(batch: Batch) -> Outputs:
    x, y = batch.floats(64), batch.floats(tag=3)
    _atomic_columns[(batch.size, 4)](x, y, 64, "add", 16, "relaxed")
    return y


@case(right=True, why="sums of integers by atomics have no order")
def atomic_integer_sum(batch: Batch) -> Outputs:
    x, y = batch.integers(-9, 9, 64), batch.integers(0, 9, tag=3)
    _atomic_columns[(batch.size, 4)](x, y, 64, "add", 16, "acq_rel")
    return y


@case(right=True, why="the largest integer by atomics has no order")
def atomic_integer_maximum(batch: Batch) -> Outputs:
    x, y = batch.integers(-9, 9, 64), batch.integers(-50, -40, tag=3)
    _atomic_columns[(batch.size, 4)](x, y, 64, "max", 16, "release")
    return y


@case(right=False, why="the last of four programs to exchange wins", read=True)
def atomic_exchange(batch: Batch) -> Outputs:
    x, y = batch.floats(64), batch.floats(tag=3)
    _atomic_columns[(batch.size, 4)](x, y, 64, "xchg", 16, "relaxed")
    return y


@triton.jit
def _stream_k(a, w, y, M, K, BLOCK: tl.constexpr):
    steps = M * (K // BLOCK)
    share = tl.cdiv(steps, tl.num_programs(0))
    begin = tl.program_id(0) * share
    for step in range(begin, min(begin + share, steps)):
        row = step // (K // BLOCK)
        at = step % (K // BLOCK) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(y + row, tl.sum(tl.load(a + row * K + at) * tl.load(w + at)))


@case(right=False, why="stream-K: which programs add up a row follows the batch", read=True)
def stream_k(batch: Batch) -> Outputs:
    a, y = batch.floats(64), batch.floats(tag=3)
    _stream_k[(4,)](a, shared(64), y, batch.size, 64, BLOCK=16)
    return y


@triton.jit
def _expert_gemv(x, w, experts, y, K: tl.constexpr, N: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(experts + token)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    value = tl.load(x + token * K + inner)
    weight = tl.load(w + expert * K * N + inner[:, None] * N + columns[None, :])
    tl.store(y + token * N + columns, tl.sum(value[:, None] * weight, 0))


@case(right=True, why="a token's expert is its own data")
def expert_gemv(batch: Batch) -> Outputs:
    x, y, experts = batch.floats(K), batch.result(16), batch.integers(0, 4)
    _expert_gemv[(batch.size,)](x, shared(4, K, 16), experts, y, K, 16)
    return y


@triton.jit
def _expert_rank(experts, ranks, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    mine = tl.load(experts + token)
    cols = tl.arange(0, BLOCK)
    others = tl.load(experts + cols, mask=cols < token, other=-1)
    tl.store(ranks + token, tl.sum((others == mine).to(tl.int32)))


@case(right=False, why="a token's place in its expert counts the tokens before it")
def expert_rank(batch: Batch) -> Outputs:
    experts, ranks = batch.integers(0, 4), batch.result(dtype=torch.int32)
    _expert_rank[(batch.size,)](experts, ranks, BLOCK=128)
    return ranks


@triton.jit
def _capacity(experts, counters, x, y, N, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    place = tl.atomic_add(counters + tl.load(experts + token), 1)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + token * N + cols, mask=cols < N, other=0.0)
    tl.store(y + token * N + cols, tl.where(place < LIMIT, value, 0.0), mask=cols < N)


@case(right=False, why="tokens past an expert's capacity are dropped")
def expert_capacity(batch: Batch) -> Outputs:
    x, y, experts = batch.floats(20), batch.result(20), batch.integers(0, 4)
    counters = torch.zeros(4, dtype=torch.int32, device="cuda")
    _capacity[(batch.size,)](experts, counters, x, y, 20, 2, BLOCK=32)
    return y


@triton.jit
def _route(logits, weights, chosen, EXPERTS: tl.constexpr, TOP: tl.constexpr):
    token = tl.program_id(0)
    cols = tl.arange(0, EXPERTS)
    value = tl.load(logits + token * EXPERTS + cols)
    power = tl.exp(value - tl.max(value))
    share = power / tl.sum(power)
    for place in tl.static_range(TOP):
        best = tl.argmax(share, 0)
        tl.store(chosen + token * TOP + place, best)
        tl.store(weights + token * TOP + place, tl.max(share))
        share = tl.where(cols == best, -1.0, share)


@case(right=True, why="the best two experts of each token")
def route_top_two(batch: Batch) -> Outputs:
    logits, weights = batch.floats(8), batch.result(2)
    experts = batch.result(2, dtype=torch.int32)
    _route[(batch.size,)](logits, weights, experts, 8, 2)
    return weights, experts


PAGE, HEAD = 8, 16


@triton.jit
def _decode(
    q,
    cache,
    table,
    lengths,
    y,
    longest,
    SCALE: tl.constexpr,
    PAGES: tl.constexpr,
    PAGE: tl.constexpr,
    HEAD: tl.constexpr,
    SPLIT: tl.constexpr,
):
    sequence = tl.program_id(0)
    cols = tl.arange(0, HEAD)
    query = tl.load(q + sequence * HEAD + cols) * SCALE
    length = tl.load(lengths + sequence)
    step: tl.constexpr = PAGE
    largest, total = float("-inf"), 0.0
    result = tl.zeros((HEAD,), tl.float32)
    half = tl.cdiv(longest, 2) if SPLIT else PAGES * PAGE
    sum_of_halves = tl.zeros((HEAD,), tl.float32)
    for begin in range(0, length, step):
        place = begin + tl.arange(0, PAGE)
        page = tl.load(table + sequence * PAGES + begin // PAGE)
        key = tl.load(
            cache + page * PAGE * HEAD + tl.arange(0, PAGE)[:, None] * HEAD + cols[None, :],
            mask=(place < length)[:, None],
            other=0.0,
        )
        score = tl.where(place < length, tl.sum(key * query[None, :], 1), float("-inf"))
        new = tl.maximum(largest, tl.max(score))
        power = tl.exp(score - new)
        result = result * tl.exp(largest - new) + tl.sum(power[:, None] * key, 0)
        total = total * tl.exp(largest - new) + tl.sum(power)
        largest = new
        if begin >= half:
            sum_of_halves += result / total
            result = result * 0.5
    tl.store(y + sequence * HEAD + cols, (result + sum_of_halves) / total)


def _paged(batch: Batch, split: bool) -> Outputs:
    pages = 4
    row_pages = batch.floats(pages, PAGE, HEAD, tag=2)
    cache = row_pages.flip(0).reshape(-1, PAGE, HEAD).contiguous()
    lengths = batch.integers(1, pages * PAGE + 1, tag=6)
    first_page = torch.arange(batch.size - 1, -1, -1, device="cuda", dtype=torch.int32) * pages
    table = first_page[:, None] + torch.arange(pages, device="cuda", dtype=torch.int32)[None, :]
    q, y = batch.floats(HEAD), batch.result(HEAD)
    _decode[(batch.size,)](
        q,
        cache,
        table.contiguous(),
        lengths,
        y,
        int(lengths.max()),
        0.25,
        pages,
        PAGE,
        HEAD,
        split,
    )
    return y


@case(right=True, why="pages of a cache by the sequence's own table and length")
def paged_decode(batch: Batch) -> Outputs:
    return _paged(batch, split=False)


@case(right=False, why="the halves of a sequence are those of the longest one of the batch")
def paged_decode_halves(batch: Batch) -> Outputs:
    return _paged(batch, split=True)


@triton.jit
def _packed_sum(x, begins, y, LATER: tl.constexpr, ALIGN: tl.constexpr, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    begin = tl.load(begins + sequence)
    end = tl.load(begins + sequence + LATER)
    total = 0.0
    aligned = begin - begin % ALIGN
    for first in range(aligned, end, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        mask = (cols >= begin) & (cols < end)
        total = total * 0.5 + tl.sum(tl.load(x + cols, mask=mask, other=0.0))
    tl.store(y + sequence, total)


def _packed(batch: Batch, later: int, align: int) -> Outputs:
    lengths = batch.integers(1, 30, tag=5).tolist()
    tokens = batch.floats(30)
    x = torch.cat([tokens[row, : lengths[row]] for row in range(batch.size)])
    begins = torch.tensor([0, *lengths, 0], device="cuda").cumsum(0).to(torch.int32)
    y = batch.result()
    _packed_sum[(batch.size,)](x, begins, y, later, align, BLOCK=8)
    return y


@case(right=True, why="a packed sequence, by its begin and end")
def packed_sum(batch: Batch) -> Outputs:
    return _packed(batch, 1, 1)


@case(right=False, why="a packed sequence ends where the next one ends")
def packed_sum_of_two(batch: Batch) -> Outputs:
    return _packed(batch, 2, 1)


@case(right=False, why="blocks of a packed sequence begin at even places of the tensor")
def packed_sum_even(batch: Batch) -> Outputs:
    return _packed(batch, 1, 2)


@triton.jit
def _packed_beyond(x, begins, y, size, BEFORE: tl.constexpr, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    begin = tl.load(begins + sequence)
    at = begin + tl.arange(0, BLOCK) - BEFORE
    mask = (at >= 0) & (at < size)
    tl.store(y + sequence, tl.sum(tl.load(x + at, mask=mask, other=0.0)))


def _packed_around(batch: Batch, before: int) -> Outputs:
    lengths = batch.integers(4, 30, tag=5).tolist()
    tokens = batch.floats(30)
    x = torch.zeros(4000, device="cuda")
    x[: sum(lengths)] = torch.cat([tokens[row, : lengths[row]] for row in range(batch.size)])
    begins = torch.tensor([0, *lengths], device="cuda").cumsum(0).to(torch.int32)
    y = batch.result()
    _packed_beyond[(batch.size,)](x, begins, y, len(x), before, BLOCK=32 if not before else 4)
    return y


@case(right=False, why="32 tokens of a packed sequence, however long it is")
def packed_past_end(batch: Batch) -> Outputs:
    return _packed_around(batch, 0)


@case(right=False, why="the token before a packed sequence counts")
def packed_token_before(batch: Batch) -> Outputs:
    return _packed_around(batch, 1)


@triton.jit
def _three_begins(begins, y):
    sequence = tl.program_id(0) + 1
    before = tl.load(begins + sequence - 1)
    begin = tl.load(begins + sequence)
    end = tl.load(begins + sequence + 1)
    tl.store(y + sequence - 1, (end - begin) * 1000 + begin - before)


@case(right=False, why="the length of the sequence before counts")
def packed_two_lengths(batch: Batch) -> Outputs:
    lengths = batch.integers(4, 30, tag=5).tolist()
    begins = torch.tensor([0, *lengths, 3], device="cuda").cumsum(0).to(torch.int32)
    y = batch.result(dtype=torch.int32)
    _three_begins[(batch.size,)](begins, y)
    return y


@triton.jit
def _padded_count(tokens, lengths, y, longest, STRIDE, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    total = tl.zeros((), tl.int32)
    for first in range(0, longest, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        token = tl.load(tokens + sequence * STRIDE + cols, mask=cols < length, other=0)
        total += tl.sum(tl.where(cols < length, token, 0))
    tl.store(y + sequence, total)


@case(right=True, why="a loop to the longest sequence adds zeros past the row's own")
def padded_count(batch: Batch) -> Outputs:
    tokens, lengths = batch.integers(0, 9, 40), batch.integers(1, 40, tag=5)
    y = batch.result(dtype=torch.int32)
    _padded_count[(batch.size,)](tokens, lengths, y, int(lengths.max()), 40, BLOCK=8)
    return y


@triton.jit
def _rotate(x, cosines, sines, positions, y, LENGTH, MODE: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    if MODE == "own":
        position = tl.load(positions + token)
    elif MODE == "sequence":
        position = token % LENGTH
    else:
        position = tl.minimum(token, 7)
    cols = tl.arange(0, HALF)
    cosine = tl.load(cosines + position * HALF + cols)
    sine = tl.load(sines + position * HALF + cols)
    low = tl.load(x + token * 2 * HALF + cols)
    high = tl.load(x + token * 2 * HALF + HALF + cols)
    tl.store(y + token * 2 * HALF + cols, low * cosine - high * sine)
    tl.store(y + token * 2 * HALF + HALF + cols, high * cosine + low * sine)


@case(right=True, why="each token's position is loaded")
def rotary_positions(batch: Batch) -> Outputs:
    x, y, positions = batch.floats(16), batch.result(16), batch.integers(0, 8)
    _rotate[(batch.size,)](x, shared(8, 8), shared(8, 8, tag=1), positions, y, 8, "own", 8)
    return y


@case(right=True, why="a row is a sequence of four tokens, in place")
def rotary_sequences(batch: Batch) -> Outputs:
    x = batch.floats(4, 16)
    _rotate[(batch.size * 4,)](x, shared(4, 8), shared(4, 8, tag=1), x, x, 4, "sequence", 8)
    return x


@case(right=False, why="a token's position is its number, up to seven")
def rotary_by_program(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _rotate[(batch.size,)](x, shared(8, 8), shared(8, 8, tag=1), x, y, 8, "program", 8)
    return y


@triton.jit
def _update_state(state, slots, x, y, HEAD: tl.constexpr):
    row = tl.program_id(0)
    slot = tl.load(slots + row)
    cols = tl.arange(0, HEAD)
    new = tl.load(state + slot * HEAD + cols) * 0.9 + tl.load(x + row * HEAD + cols)
    tl.store(state + slot * HEAD + cols, new)
    tl.store(y + row * HEAD + cols, new * tl.sigmoid(new))


@case(right=True, why="a state in a cache, at the row's slot")
def state_update(batch: Batch) -> Outputs:
    states, x, y = batch.floats(16, tag=6), batch.floats(16), batch.result(16)
    slots = torch.arange(batch.size - 1, -1, -1, device="cuda", dtype=torch.int64)
    cache = states.flip(0).contiguous()
    _update_state[(batch.size,)](cache, slots, x, y, 16)
    return y, cache.flip(0)


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
