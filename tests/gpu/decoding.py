"""To be run by hand on a machine with an NVIDIA GPU: decoding with a KV cache, in plain Triton.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/decoding.py --reference FILE

A model of 6 layers writes 40 tokens for each of 24 sequences of unequal length. Norms, rotary
embeddings with the write into pages of the cache, attention over pages in splits that a second
kernel joins, SwiGLU and the choice of the next token are kernels of this file; products are
torch's. After the recorded tokens torch.profiler looks at as many more (see reference_profile.py).
"""

import argparse
from pathlib import Path

import torch
import triton
import triton.language as tl
from reference_profile import write_reference

LAYERS, HEADS, GROUPS, SIZE, WORDS = 6, 16, 4, 64, 16_384
WIDTH = HEADS * SIZE
SEQUENCES, PAGE, MOST, TOKENS, SPLITS = 24, 16, 2048, 40, 8


@triton.jit
def rms_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    value = tl.load(x + row * columns + lanes, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value) / columns + eps)
    kept = value * scale * tl.load(weight + lanes, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + lanes, kept.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rotate_and_cache(
    packed, query, pages, table, lengths, columns,
    HEADS: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Turn queries and keys by their place, and write keys and values into their page."""
    row, head = tl.program_id(0), tl.program_id(1)
    place = tl.load(lengths + row) - 1
    half = tl.arange(0, SIZE // 2)
    angle = place * tl.exp(half * (-9.210340371976184 * 2 / SIZE))
    cos, sin = tl.cos(angle), tl.sin(angle)
    source = packed + (row * (HEADS + 2 * GROUPS) + head) * SIZE
    even = tl.load(source + half).to(tl.float32)
    odd = tl.load(source + SIZE // 2 + half).to(tl.float32)
    if head < HEADS:
        target = query + (row * HEADS + head) * SIZE
        tl.store(target + half, (even * cos - odd * sin).to(query.dtype.element_ty))
        tl.store(target + SIZE // 2 + half, (odd * cos + even * sin).to(query.dtype.element_ty))
    else:
        page = tl.load(table + row * columns + place // PAGE).to(tl.int64)
        target = pages + ((page * PAGE + place % PAGE) * 2 * GROUPS + head - HEADS) * SIZE
        if head < HEADS + GROUPS:
            even, odd = even * cos - odd * sin, odd * cos + even * sin
        tl.store(target + half, even.to(pages.dtype.element_ty))
        tl.store(target + SIZE // 2 + half, odd.to(pages.dtype.element_ty))


@triton.jit
def attend_split(
    query, pages, table, lengths, partial, sums, columns, scale,
    HEADS: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr, PAGE: tl.constexpr,
    SPLITS: tl.constexpr,
):  # fmt: skip
    """Attend from one head of one sequence to its share of the pages."""
    row, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    inner = tl.arange(0, SIZE)
    q = tl.load(query + (row * HEADS + head) * SIZE + inner).to(tl.float32)
    length = tl.load(lengths + row)
    share = tl.cdiv(tl.cdiv(length, PAGE), SPLITS)
    best, total = float("-inf"), 0.0
    found = tl.zeros([SIZE], tl.float32)
    for step in range(split * share, tl.minimum((split + 1) * share, tl.cdiv(length, PAGE))):
        page = tl.load(table + row * columns + step).to(tl.int64)
        token = tl.arange(0, PAGE)
        at = ((page * PAGE + token) * 2 * GROUPS + head // (HEADS // GROUPS)) * SIZE
        inside = step * PAGE + token < length
        k = tl.load(pages + at[:, None] + inner[None, :], mask=inside[:, None], other=0.0)
        values = pages + at[:, None] + GROUPS * SIZE + inner[None, :]
        v = tl.load(values, mask=inside[:, None], other=0.0)
        scores = tl.sum(k.to(tl.float32) * q[None, :], 1) * scale
        scores = tl.where(inside, scores, float("-inf"))
        fresh = tl.maximum(best, tl.max(scores, 0))
        weights = tl.exp(scores - fresh)
        kept = tl.exp(best - fresh)
        total = total * kept + tl.sum(weights, 0)
        found = found * kept + tl.sum(weights[:, None] * v.to(tl.float32), 0)
        best = fresh
    at = (row * HEADS + head) * SPLITS + split
    tl.store(partial + at * SIZE + inner, found)
    tl.store(sums + at * 2, best)
    tl.store(sums + at * 2 + 1, total)


@triton.jit
def join_splits(partial, sums, out, SIZE: tl.constexpr, SPLITS: tl.constexpr):
    at = tl.program_id(0)
    split, inner = tl.arange(0, SPLITS), tl.arange(0, SIZE)
    best = tl.load(sums + (at * SPLITS + split) * 2)
    total = tl.load(sums + (at * SPLITS + split) * 2 + 1)
    weights = tl.where(total > 0, tl.exp(best - tl.max(best, 0)), 0.0)
    parts = tl.load(partial + (at * SPLITS + split)[:, None] * SIZE + inner[None, :])
    joined = tl.sum(parts * weights[:, None], 0) / tl.sum(total * weights, 0)
    tl.store(out + at * SIZE + inner, joined.to(out.dtype.element_ty))


@triton.jit
def silu_product(both, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < columns
    gate = tl.load(both + row * 2 * columns + lanes, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * 2 * columns + columns + lanes, mask=inside, other=0.0)
    value = gate * tl.sigmoid(gate) * up.to(tl.float32)
    tl.store(out + row * columns + lanes, value.to(out.dtype.element_ty), mask=inside)


@triton.jit
def choose_word(scores, chosen, lengths, words, BLOCK: tl.constexpr):
    """Write the best word of a row, and let its sequence be one longer."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(scores + row * words + lanes, mask=lanes < words, other=float("-inf"))
    tl.store(chosen + row, tl.argmax(value.to(tl.float32), 0))
    tl.store(lengths + row, tl.load(lengths + row) + 1)


class Decoder:
    """Weights, the cache and its tables."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        like = {"device": "cuda", "dtype": torch.bfloat16}
        self.columns = MOST // PAGE
        count = SEQUENCES * self.columns
        self.embedding = torch.randn(WORDS, WIDTH, **like)
        self.norms = torch.ones(2 * LAYERS + 1, WIDTH, **like)
        self.packed, self.merge, self.gates, self.down = (
            [torch.randn(*size, **like) * 0.02 for _ in range(LAYERS)]
            for size in (
                (WIDTH, (HEADS + 2 * GROUPS) * SIZE), (WIDTH, WIDTH),
                (WIDTH, 6 * WIDTH), (3 * WIDTH, WIDTH),
            )
        )  # fmt: skip
        self.pages = [torch.randn(count * PAGE, 2, GROUPS, SIZE, **like) for _ in range(LAYERS)]
        order = torch.randperm(count, dtype=torch.int32)
        self.table = order.view(SEQUENCES, self.columns).cuda()
        self.lengths = torch.randint(200, 1500, (SEQUENCES,), dtype=torch.int32).cuda()
        self.words = torch.randint(WORDS, (SEQUENCES,)).cuda()

    def norm(self, x: torch.Tensor, number: int) -> torch.Tensor:
        out = torch.empty_like(x)
        rms_norm[(SEQUENCES,)](x, self.norms[number], out, WIDTH, 1e-5, BLOCK=WIDTH)
        return out

    def attended(self, x: torch.Tensor, layer: int) -> torch.Tensor:
        packed = x @ self.packed[layer]
        query = torch.empty_like(x)
        rotate_and_cache[(SEQUENCES, HEADS + 2 * GROUPS)](
            packed, query, self.pages[layer], self.table, self.lengths, self.columns,
            HEADS, GROUPS, SIZE, PAGE,
        )  # fmt: skip
        partial = torch.empty(SEQUENCES, HEADS, SPLITS, SIZE, device="cuda")
        sums = torch.empty(SEQUENCES, HEADS, SPLITS, 2, device="cuda")
        attend_split[(SEQUENCES, HEADS, SPLITS)](
            query, self.pages[layer], self.table, self.lengths, partial, sums, self.columns,
            SIZE**-0.5, HEADS, GROUPS, SIZE, PAGE, SPLITS,
        )  # fmt: skip
        out = torch.empty_like(x)
        join_splits[(SEQUENCES * HEADS,)](partial, sums, out, SIZE, SPLITS)
        return out @ self.merge[layer]

    def token(self) -> None:
        """Write the next token of every sequence."""
        x = self.embedding[self.words]
        for layer in range(LAYERS):
            x = x + self.attended(self.norm(x, 2 * layer), layer)
            both = self.norm(x, 2 * layer + 1) @ self.gates[layer]
            inner = torch.empty(SEQUENCES, 3 * WIDTH, device="cuda", dtype=x.dtype)
            silu_product[(SEQUENCES, triton.cdiv(3 * WIDTH, 1024))](
                both, inner, 3 * WIDTH, BLOCK=1024
            )
            x = x + inner @ self.down[layer]
        scores = self.norm(x, 2 * LAYERS) @ self.embedding.T
        choose_word[(SEQUENCES,)](scores, self.words, self.lengths, WORDS, BLOCK=WORDS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reference", type=Path, required=True)
    options = parser.parse_args()
    decoder = Decoder()
    for _ in range(TOKENS):
        decoder.token()
    write_reference(decoder.token, TOKENS, options.reference)


if __name__ == "__main__":
    main()
