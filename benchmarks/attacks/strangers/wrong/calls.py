"""Candidates that are wrong in later calls."""

import functools

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, out, m, n, k, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        a = tl.load(
            x + rows[:, None] * k + i[None, :], mask=(rows[:, None] < m) & (i[None, :] < k), other=0
        )
        b = tl.load(
            w + i[:, None] * n + columns[None, :],
            mask=(i[:, None] < k) & (columns[None, :] < n), other=0,
        )  # fmt: skip
        total = tl.dot(a, b, total, input_precision="ieee")
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=mask)


@triton.jit
def partial_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def ticket_kernel(x, out, tickets, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    partial = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    turn = tl.atomic_add(tickets, 1)
    tl.atomic_add(out, tl.where(turn < 1 << 20, partial, 0.0))


def _multiply(x, packed):
    x = x.contiguous()
    (m, k), n = x.shape, packed.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    linear_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16))](x, packed, out, m, n, k, B=16)
    return out


_packed = {}


def packed_by_version(x, weight):
    """Return linear(x, weight); wrong: a packed weight is reused by address and version."""
    key = weight.data_ptr(), weight._version, weight.shape, weight.stride()
    if key not in _packed:
        _packed[key] = weight.t().contiguous()
    return _multiply(x, _packed[key])


@functools.lru_cache(maxsize=8)
def _packed_once(weight):
    return weight.t().contiguous()


def packed_by_object(x, weight):
    """Return linear(x, weight); wrong: a packed weight is reused after a change in place."""
    return _multiply(x, _packed_once(weight))


def packed_on_the_weight(x, weight):
    """Return linear(x, weight); wrong: a packed copy, the weight's attribute, gets stale."""
    if not hasattr(weight, "packed"):
        weight.packed = weight.t().contiguous()
    return _multiply(x, weight.packed)


class PackedLinear(torch.nn.Module):
    """Linear layer; wrong: packs its weight in the first call, and ignores later weights."""

    def __init__(self, inner, outer):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outer, inner))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.weight.detach().t().contiguous()
        return _multiply(x, self.packed)


_partial = torch.zeros(0)


def stale_partial_sums(x):
    """Return total(x); wrong: includes partial sums of larger inputs of earlier calls."""
    global _partial
    x = x.contiguous()
    blocks = triton.cdiv(x.numel(), 256)
    if _partial.numel() < blocks:
        _partial = torch.zeros(triton.next_power_of_2(blocks), dtype=x.dtype)
    partial_kernel[(blocks,)](x, _partial, x.numel(), BLOCK=256)
    out = torch.empty((), dtype=x.dtype)
    size = _partial.numel()
    partial_kernel[(1,)](_partial, out, size, BLOCK=size)
    return out


_tickets = torch.zeros(1, dtype=torch.int32)


def tickets_of_all_calls(x):
    """Return total(x); wrong: adds nothing after the millionth program of all calls."""
    x = x.contiguous()
    out = torch.zeros((), dtype=x.dtype)
    ticket_kernel[(triton.cdiv(x.numel(), 256),)](x, out, _tickets, x.numel(), BLOCK=256)
    return out


_seen = set()


def forty_shapes(x):
    """Return total(x); wrong: after forty shapes the full cache of blocks gives another block."""
    x = x.contiguous()
    _seen.add(tuple(x.shape))
    out = torch.zeros((), dtype=x.dtype)
    block = 256 if len(_seen) < 40 else 128
    partial = torch.zeros(triton.cdiv(x.numel(), 256), dtype=x.dtype)
    partial_kernel[(partial.numel(),)](x, partial, x.numel(), BLOCK=block)
    partial_kernel[(1,)](
        partial, out, partial.numel(), BLOCK=triton.next_power_of_2(partial.numel())
    )
    return out
