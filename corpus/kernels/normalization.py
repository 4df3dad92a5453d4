"""Dropout, layer norm forward and backward: the tutorials with random numbers and with locks."""

import triton
import triton.language as tl


@triton.jit
def dropout(x, keep, out, n, p, BLOCK: tl.constexpr):
    """Dropout with a mask that is read."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)
    kept = tl.load(keep + offsets, mask=mask)
    tl.store(out + offsets, tl.where(kept, values / (1 - p), 0.0), mask=mask)


@triton.jit
def seeded_dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    """Dropout whose mask comes from a seed and the element's position."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)
    random = tl.rand(seed, offsets)
    tl.store(out + offsets, tl.where(random > p, values / (1 - p), 0.0), mask=mask)


@triton.jit
def random_numbers(out_rand, out_randn, out_randint, n, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_rand + offsets, tl.rand(seed, offsets), mask=mask)
    tl.store(out_randn + offsets, tl.randn(seed, offsets), mask=mask)
    tl.store(out_randint + offsets, tl.randint(seed, offsets), mask=mask)


@triton.jit
def layer_norm_forward(
    x, y, weight, bias, mean_out, rstd_out, stride, columns, eps, BLOCK: tl.constexpr
):
    """One row a program, in three passes over it."""
    row = tl.program_id(0)
    y += row * stride
    x += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        values = tl.load(x + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
        values = tl.where(lanes < columns, values - mean, 0.0)
        squares += values * values
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        mask = lanes < columns
        w = tl.load(weight + lanes, mask=mask)
        b = tl.load(bias + lanes, mask=mask)
        values = tl.load(x + lanes, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + lanes, (values - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_input(
    dx, dy, dw_partial, db_partial, x, weight, mean_in, rstd_in, lock, stride, columns,
    GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradient of a row; those of weight and bias are summed into GROUP buffers under locks."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    x += row * stride
    dy += row * stride
    dx += row * stride
    group = row % GROUP
    lock += group
    count = lock + GROUP
    dw_partial = dw_partial + group * columns + lanes
    db_partial = db_partial + group * columns + lanes
    values = tl.load(x + lanes, mask=mask, other=0).to(tl.float32)
    upstream = tl.load(dy + lanes, mask=mask, other=0).to(tl.float32)
    w = tl.load(weight + lanes, mask=mask).to(tl.float32)
    mean = tl.load(mean_in + row)
    rstd = tl.load(rstd_in + row)
    normal = tl.where(mask, (values - mean) * rstd, 0.0)
    scaled = tl.where(mask, w * upstream, 0.0)
    c1 = tl.sum(normal * scaled, axis=0) / columns
    c2 = tl.sum(scaled, axis=0) / columns
    tl.store(dx + lanes, (scaled - (normal * c1 + c2)) * rstd, mask=mask)
    part_w = (upstream * normal).to(w.dtype)
    part_b = upstream.to(w.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw_partial, mask=mask)
        part_b += tl.load(db_partial, mask=mask)
    tl.store(dw_partial, part_w, mask=mask)
    tl.store(db_partial, part_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def layer_norm_backward_weight(
    dw_partial, db_partial, dw_out, db_out, rows, columns, BM: tl.constexpr, BN: tl.constexpr
):
    """Sum of the partial gradients."""
    lanes = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        mask = (row[:, None] < rows) & (lanes[None, :] < columns)
        offset = row[:, None] * columns + lanes[None, :]
        dw += tl.load(dw_partial + offset, mask=mask, other=0.0)
        db += tl.load(db_partial + offset, mask=mask, other=0.0)
    tl.store(dw_out + lanes, tl.sum(dw, axis=0), mask=lanes < columns)
    tl.store(db_out + lanes, tl.sum(db, axis=0), mask=lanes < columns)
