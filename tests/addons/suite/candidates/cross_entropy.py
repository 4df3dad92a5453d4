"""Candidates for `liger_cross_entropy_kernel_0`; the docstring of a wrong one says why.

The kernel writes the loss of each row, and its gradient in place of the logits.
"""

import triton
import triton.language as tl


@triton.jit
def two_passes(
    x, stride, y, losses, n, count, ignored, BLOCK: tl.constexpr, SHIFTED: tl.constexpr,
    IGNORES: tl.constexpr, CORRECTED: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(y + row)
    x += row * stride
    if IGNORES and label == ignored:
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(x + i, 0.0, mask=i < n)
    else:
        logit = tl.load(x + label).to(tl.float32)
        largest = tl.full([BLOCK], -float("inf"), tl.float32)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n, other=-float("inf")).to(tl.float32)
            largest = tl.maximum(largest, v)
        top = tl.max(largest) if SHIFTED else 0.0
        total = tl.zeros([BLOCK], tl.float32)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n, other=-float("inf")).to(tl.float32)
            total += tl.exp(v - top)
        total_sum = tl.sum(total)
        tl.debug_barrier()
        for start in range(tl.program_id(1) * BLOCK, n, BLOCK * PARTS):
            i = start + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n, other=-float("inf")).to(tl.float32)
            g = tl.exp(v - top) / total_sum
            if CORRECTED:
                g = tl.where(i == label, g - 1.0, g)
            tl.store(x + i, g / count, mask=i < n)
        tl.store(losses + row, (top + tl.log(total_sum) - logit) / count)


def _launch(
    x, stride, y, losses, n, count, ignored, block=1024, shifted=True, ignores=True, corrected=True,
    parts=1,
):  # fmt: skip
    two_passes[(x.shape[0], parts)](
        x, stride, y, losses, n, count, ignored, BLOCK=block, SHIFTED=shifted, IGNORES=ignores,
        CORRECTED=corrected, PARTS=parts,
    )  # fmt: skip


def in_two_passes(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index):
    _launch(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index)


def without_maximum(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index):
    """Does not subtract the largest logit, so that large ones overflow."""
    _launch(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index, shifted=False)


def label_forgotten(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index):
    """Does not subtract one at the label."""
    _launch(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index, corrected=False)


def nothing_ignored(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index):
    """Takes a label that is to be ignored as a position."""
    _launch(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index, ignores=False)


def programs_race(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index):
    """Has two programs for a row, of which one overwrites logits that the other may still read."""
    _launch(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, n_non_ignore, ignore_index, parts=2)
