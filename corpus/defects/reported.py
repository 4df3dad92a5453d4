"""32-bit offsets that were reported of serving and training kernels, each at the size where it is.

Each pair is the same call: one size at which an offset first leaves its 32 bits, and the one below
it, where all fit. Kernels are written anew; what they share with the reports is the arithmetic.
"""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("reported")


@triton.jit
def read_pages(cache, table, out, page_stride, slot_stride, PAGE: tl.constexpr, D: tl.constexpr):
    """Decoding from a paged cache: a page's number is an int32 from memory (vllm 47671)."""
    slot = tl.program_id(1)
    d = tl.arange(0, D)
    page = tl.load(table + tl.program_id(0))
    place = page * page_stride + (slot % PAGE) * slot_stride + d  # [page]
    tl.store(out + (tl.program_id(0) * PAGE + slot) * D + d, tl.load(cache + place))  # [read]


PAGE, LATENT = 480, 576


def pages(last):
    return {
        "cache": tensor(last + 1, PAGE, LATENT, dtype="bf16"), "table": holding([0, 1, last]),
        "out": tensor(3, PAGE, 64, dtype="bf16"), "page_stride": PAGE * LATENT,
        "slot_stride": LATENT,
    }  # fmt: skip


# 7,767 * 276,480 fits by 63,487 elements: it is the sum with a later slot that does not.
CONSTANTS = {"PAGE": PAGE, "D": 64}
CASES.bad(
    "pages of a latent cache: number 7,767",
    read_pages, pages(7_767), CONSTANTS, (3, PAGE), look_at=(2, 2 + 3 * 479),
    overflow="page", follows={"out_of_bounds": "read"},
)  # fmt: skip
CASES.good(
    "pages of a latent cache: number 7,766",
    read_pages, pages(7_766), CONSTANTS, (3, PAGE), look_at=(2, 2 + 3 * 479),
)  # fmt: skip


@triton.jit
def gather_keys(kv, blocks, out, stride, SLOTS: tl.constexpr, D: tl.constexpr):
    """Keys interleaved with values: a token's stride is that of both (vllm 50427)."""
    block = tl.load(blocks + tl.program_id(0))
    token = block * SLOTS + tl.arange(0, SLOTS)
    d = tl.arange(0, D)
    keys = tl.load(kv + token[:, None] * stride + d[None, :])  # [key]
    rows = tl.program_id(0) * SLOTS + tl.arange(0, SLOTS)
    tl.store(out + rows[:, None] * D + d[None, :], keys)


SLOTS, HEADS, SIZE = 16, 8, 128


def key_blocks(count):
    return {
        "kv": tensor(count, SLOTS, HEADS, 2 * SIZE, dtype="bf16"),
        "blocks": holding([0, count - 1]), "out": tensor(2, SLOTS, SIZE, dtype="bf16"),
        "stride": 2 * HEADS * SIZE,
    }  # fmt: skip


CASES.bad(
    "blocks of keys beside values: 65,537 of 32,768 elements",
    gather_keys, key_blocks(65_537), {"SLOTS": SLOTS, "D": SIZE}, (2,), look_at=(0, 1),
    overflow="key", follows={"out_of_bounds": "key"},
)  # fmt: skip
CASES.good(
    "blocks of keys beside values: 65,536 of 32,768 elements",
    gather_keys, key_blocks(65_536), {"SLOTS": SLOTS, "D": SIZE}, (2,), look_at=(0, 1),
)  # fmt: skip


@triton.jit
def packed_queries(q, starts, out, stride, BLOCK: tl.constexpr):
    """Sequences packed one after the other: where one starts is an int32 (sglang 20389)."""
    sequence = tl.program_id(0)
    start = tl.load(starts + sequence)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(q + start * stride + lanes)  # [start]
    tl.store(out + sequence * BLOCK + lanes, values)


def tokens(count, stride):
    return {
        "q": tensor(count, stride, dtype="bf16"), "starts": holding([0, 1000, count - 1]),
        "out": tensor(3, 128, dtype="bf16"), "stride": stride,
    }  # fmt: skip


for heads, most in ((64, 262_144), (128, 131_072)):
    CASES.bad(
        f"packed queries of {heads} heads: {most + 1:,} tokens",
        packed_queries, tokens(most + 1, heads * 128), {"BLOCK": 128}, (3,), look_at=(0, 1, 2),
        overflow="start", follows={"out_of_bounds": "start"},
    )  # fmt: skip
    CASES.good(
        f"packed queries of {heads} heads: {most:,} tokens",
        packed_queries, tokens(most, heads * 128), {"BLOCK": 128}, (3,), look_at=(0, 1, 2),
    )  # fmt: skip


@triton.jit
def chunk_of_keys(k, out, T, H: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    """A chunk of one head of one sequence: the base of its block is an int32 (fla 1080)."""
    chunk, head = tl.program_id(0), tl.program_id(1)
    b, h = head // H, head % H
    base = k + (b * T * H + h) * K  # [base]
    block = tl.make_block_ptr(base, (T, K), (H * K, 1), (chunk * BT, 0), (BT, K), (1, 0))
    values = tl.load(block, boundary_check=(0,), padding_option="zero")  # [chunk]
    tl.store(out + head * tl.num_programs(0) + chunk, tl.sum(values.to(tl.float32)))


def sequences(length):
    return {
        "k": tensor(8, length, 32, 128, dtype="bf16"),
        "out": tensor(8 * 32, -(-length // 64)), "T": length,
    }  # fmt: skip


LONG = {"H": 32, "K": 128, "BT": 64}
# ((8 - 1) * T * 32 + 31) * 128 is past 2^31 - 1 from T = 74,899 on.
CASES.bad(
    "chunks of eight sequences of 74,899 tokens",
    chunk_of_keys, sequences(74_899), LONG, (1171, 256), look_at=(0, 1171 * 255),
    overflow="base", follows={"out_of_bounds": "chunk"},
)  # fmt: skip
CASES.good(
    "chunks of eight sequences of 74,898 tokens",
    chunk_of_keys, sequences(74_898), LONG, (1171, 256), look_at=(0, 1171 * 255),
)  # fmt: skip
