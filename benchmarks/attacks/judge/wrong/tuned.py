"""Candidates whose autotuning is wrong: one wrong configuration, or trials with side effects."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def first_is_right(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def adds_up(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def in_place(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i, mask=i < n) * 2, mask=i < n)


def _zeroed(arguments):
    arguments["out"].copy_(torch.softmax(arguments["x"], -1))


@triton.autotune([triton.Config({"BLOCK": 256}, pre_hook=_zeroed)], key=["n"])
@triton.jit
def nothing(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i, mask=i < n), mask=i < n)


def wrong_configuration(x):
    """Return softmax(x); wrong: one of two configurations covers only 64 elements of a row."""
    x = x.contiguous()
    out = torch.empty_like(x)
    first_is_right[(x.shape[0],)](x, out, x.shape[1])
    return out


def sum_not_reset(x):
    """Return total(x); wrong: the tuner's trials add to the same sum (no reset_to_zero)."""
    out = torch.zeros((), dtype=x.dtype, device=x.device)
    n = x.numel()
    adds_up[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.contiguous(), out, n)
    return out


def doubled_while_tuned(x):
    """Return double(x); wrong: trials of the tuner double in place (no restore_value)."""
    out = x.clone(memory_format=torch.contiguous_format)
    n = x.numel()
    in_place[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, n)
    return out


def computed_by_a_hook(x):
    """Return softmax(x); cheating: computed by torch in a hook of the configuration."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    nothing[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out
