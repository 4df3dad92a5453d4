"""A program whose memory is recorded; it prints its results, which recording must not change."""

import json
import threading

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@torch.library.custom_op("memory_test::plus", mutates_args=())
def plus(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    add[(1,)](x, y, out, 8, BLOCK=8)
    return out


@torch.library.custom_op("memory_test::fill_", mutates_args=("x",))
def fill_(x: torch.Tensor) -> None:
    x.fill_(3)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


def counted(results):
    total = torch.zeros(4, dtype=torch.int64)
    for _ in range(300):
        total.add_(1)
    results.append(total.tolist())


def main():
    zeros, empty = torch.zeros(8), torch.empty(8)
    like = torch.empty_like(zeros)
    empty.add_(1).zero_()
    view = zeros[2:].view(2, 3)
    cat = torch.cat([zeros, zeros], out=torch.empty(16))
    zeros.index_put_((torch.arange(2),), torch.ones(2))
    total = plus(zeros, empty)
    fill_(like)
    add[(1,)](like, out=empty, y=total, n=8, BLOCK=8)
    leaf = torch.full((4, 4), 2.0, requires_grad=True)
    Square.apply(leaf).sum().backward()
    chunks = torch.split(zeros, 4)
    try:
        torch.mm(leaf, torch.ones(3, 3))
    except RuntimeError:
        failed = True
    counts: list[list[int]] = []
    threads = [threading.Thread(target=counted, args=(counts,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results = [view, cat, total, like, empty, leaf.grad, *chunks]
    print(json.dumps([[value.tolist() for value in results], failed, counts]))


main()
