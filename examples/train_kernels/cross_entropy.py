"""Cross-entropy of logits against class numbers, forward and backward."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_forward(logits, target, loss_out, log_sum_out, classes, BLOCK: tl.constexpr):
    """Store one row's loss per program, and the row's log-sum-exp for the backward kernel."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    logit = tl.load(logits + row * classes + column, mask=column < classes, other=-float("inf"))
    largest = tl.max(logit, axis=0)
    log_sum = largest + tl.log(tl.sum(tl.exp(logit - largest), axis=0))
    chosen = tl.load(logits + row * classes + tl.load(target + row))
    tl.store(loss_out + row, log_sum - chosen)
    tl.store(log_sum_out + row, log_sum)


@triton.jit
def cross_entropy_backward(
    logits, target, log_sum_in, upstream_in, out, classes, BLOCK: tl.constexpr
):
    """Store one row's gradient per program: (softmax - one-hot) times the upstream gradient."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < classes
    logit = tl.load(logits + row * classes + column, mask=inside, other=-float("inf"))
    probability = tl.exp(logit - tl.load(log_sum_in + row))
    hit = tl.where(column == tl.load(target + row), 1.0, 0.0)
    gradient = (probability - hit) * tl.load(upstream_in + row)
    tl.store(out + row * classes + column, gradient, mask=inside)


class CrossEntropy(torch.autograd.Function):
    """Loss per row, (rows,), of logits (rows, classes) against targets (rows,) of int64."""

    @staticmethod
    def forward(ctx, logits, target):
        rows, classes = logits.shape
        loss = torch.empty(rows, device=logits.device)
        log_sum = torch.empty(rows, device=logits.device)
        cross_entropy_forward[(rows,)](
            logits, target, loss, log_sum, classes, BLOCK=triton.next_power_of_2(classes)
        )
        ctx.save_for_backward(logits, target, log_sum)
        return loss

    @staticmethod
    def backward(ctx, gradient):
        logits, target, log_sum = ctx.saved_tensors
        out = torch.empty_like(logits)
        rows, classes = logits.shape
        cross_entropy_backward[(rows,)](
            logits,
            target,
            log_sum,
            gradient.contiguous(),
            out,
            classes,
            BLOCK=triton.next_power_of_2(classes),
        )
        return out, None
