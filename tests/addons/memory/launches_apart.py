"""Program of launches that leave out elements for different causes, read at one access."""

import torch
import triton
import triton.language as tl


@triton.jit
def scattered_to(x, index, y, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    places = tl.load(index + lanes, mask=lanes < n, other=-1)
    tl.store(y + places, tl.load(x + lanes, mask=lanes < n), mask=places >= 0)


@triton.jit
def interleaved_to(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + 2 * lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)
    tl.store(y + 2 * lanes + 1, tl.load(x + lanes, mask=lanes < n - 1), mask=lanes < n - 1)


@triton.jit
def spread_to(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + 2 * lanes, tl.load(x + lanes))


@triton.jit
def read(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, 2 * tl.load(x + lanes, mask=lanes < 100))


@triton.jit
def without_padding(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.where(lanes < n, tl.load(x + lanes), 0.0))


@triton.jit
def mirrored(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes), mask=lanes < BLOCK - 1)
    tl.debug_barrier()
    tl.store(out + lanes, 2 * tl.load(y + BLOCK - 1 - lanes))


@triton.jit
def copied(x, y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes))


@triton.jit
def multiplied(q, k, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(q + lanes) * tl.load(k + lanes))


@triton.jit
def divided(x, q, k, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + lanes)
    tl.store(q + lanes, value + 1.0)
    tl.store(k + lanes, value / 2, mask=lanes < BLOCK - 8)


@triton.jit
def picked(index, x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    places = tl.load(index + lanes) & 7
    tl.store(out + lanes, tl.load(x + places))


def main():
    """Run the launches."""
    index = torch.arange(100, dtype=torch.int32, device="cuda")
    x, out = torch.ones(100, device="cuda"), torch.zeros(128, device="cuda")
    for _ in range(2):
        y = torch.empty(100, device="cuda")  # scattered
        scattered_to[(1,)](x, index, y, 100, BLOCK=128)
        read[(1,)](y, out, BLOCK=128)
        index[97] = -1
    z = torch.empty(100, device="cuda")  # interleaved
    interleaved_to[(1,)](x, z, 50, BLOCK=64)
    read[(1,)](z, out, BLOCK=128)
    interleaved_to[(1,)](x, z, 50, BLOCK=64)
    spread = torch.empty(100, device="cuda")  # with gaps
    spread_to[(1,)](x, spread, BLOCK=32)
    read[(1,)](spread, out, BLOCK=128)
    whole = torch.empty(228, device="cuda")  # before a view
    copied[(1,)](x, whole, BLOCK=64)
    read[(1,)](whole[128:], out, BLOCK=128)
    torch.ones(64, device="cuda").sum()
    half = torch.empty(64, device="cuda")  # summed by an operator
    half[:32] = 1
    half.sum()
    without_padding[(1,)](half, out, 32, BLOCK=64)
    own = torch.empty(64, device="cuda")  # mirrored
    mirrored[(1,)](x, own, out, BLOCK=64)
    narrow = torch.empty(100, device="cuda")  # in halves
    copied[(1,)](index.to(torch.int16), narrow.view(torch.int16), BLOCK=64)
    read[(1,)](narrow, out, BLOCK=128)
    part = torch.empty(100, device="cuda")  # by an operator
    part[:99].copy_(x[:99])
    read[(1,)](part, out, BLOCK=128)
    both = torch.empty(2, 32, device="cuda")  # as the second of two
    both[0], both[1, :20] = 1, 1
    multiplied[(1,)](both[0], both[1], out, BLOCK=32)
    keys = torch.empty(32, 4, device="cuda")  # as the second of two types
    keys.view(torch.int16)[:16] = 1
    multiplied[(1,)](keys.view(torch.int16)[:16], keys[16:], out, BLOCK=64)
    stored = torch.empty(2, 32, device="cuda")  # stored as the second of two
    divided[(1,)](x, stored[0], stored[1], BLOCK=32)
    stored.sum()
    words = torch.empty(100, dtype=torch.int64, device="cuda")  # half of each
    words.view(torch.int32)[::2] = 1
    read[(1,)](words, out, BLOCK=128)
    places = torch.empty(32, dtype=torch.int32, device="cuda")  # of which bits count
    places[:30] = 1
    picked[(1,)](places, x, out, BLOCK=32)
    nothing = torch.empty(100, device="cuda")  # by nobody
    read[(1,)](nothing, out, BLOCK=128)


if __name__ == "__main__":
    main()
