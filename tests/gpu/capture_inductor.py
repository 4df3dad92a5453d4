"""To be run by hand on a machine with a GPU: many kernels of torch.compile, into one trace.

    python tests/gpu/capture_inductor.py OUT

Odd shapes, so that masks matter; forward and backward; static and dynamic shapes. The trace is the
fixture `tests/fixtures/h200/inductor`, on which verdicts are tested without a GPU.
"""

import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

import kvtrace

Inputs = tuple[torch.Tensor, ...]


def real(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)


def whole(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, device="cuda")


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


PROGRAMS: dict[str, tuple[Callable[..., torch.Tensor], Callable[[], Inputs]]] = {
    "gelu": (lambda x, y: F.gelu(x * 2 + y), lambda: (real(513, 77), real(513, 77))),
    "broadcast": (lambda x, y: (x + y).sigmoid(), lambda: (real(33, 1, 129), real(65, 1))),
    "transposed": (lambda x, y: x.t() * y + 1, lambda: (real(301, 203), real(203, 301))),
    "softmax": (lambda x: x.softmax(-1), lambda: (real(257, 1001),)),
    "log_softmax": (lambda x: x.log_softmax(0), lambda: (real(1001, 57),)),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (777,), w, b),
        lambda: (real(129, 777), real(777), real(777)),
    ),
    "rms_norm": (
        lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
        lambda: (real(65, 3001), real(3001)),
    ),
    "batch_norm": (
        lambda x: (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True),
        lambda: (real(8, 19, 31, 17),),
    ),
    "cross_entropy": (
        lambda x, t: F.cross_entropy(x, t),
        lambda: (real(301, 1003), whole(1003, 301)),
    ),
    "embedding": (lambda w, i: F.embedding(i, w) * 2, lambda: (real(1009, 65), whole(1009, 7, 33))),
    "gather": (lambda x, i: x.gather(1, i), lambda: (real(65, 131), whole(131, 65, 40))),
    "index_add": (
        lambda x, y, i: x.index_add(0, i, y),
        lambda: (real(101, 33), real(57, 33), whole(101, 57)),
    ),
    "scatter": (
        lambda x, y, i: x.scatter_add(1, i, y),
        lambda: (real(31, 77), real(31, 40), whole(77, 31, 40)),
    ),
    "cumsum": (lambda x: x.cumsum(-1) * 2, lambda: (real(37, 1025),)),
    "variance": (lambda x: x.var(1) + x.amax(1), lambda: (real(131, 2049),)),
    "argmax": (lambda x: x.argmax(-1) + x.argmin(-1), lambda: (real(77, 513),)),
    "pool": (lambda x: F.max_pool2d(x, 3, 2, 1) + 1, lambda: (real(3, 5, 33, 41),)),
    "average": (lambda x: F.avg_pool2d(x, 3, 2) * 2, lambda: (real(3, 5, 33, 41),)),
    "upsample": (
        lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
        lambda: (real(2, 3, 17, 19),),
    ),
    "pad": (lambda x: F.pad(x, (3, 2, 1, 4), mode="reflect") * 2, lambda: (real(2, 3, 17, 19),)),
    "cat": (lambda x, y: torch.cat([x, y.relu()], 1) + 1, lambda: (real(33, 17), real(33, 44))),
    "strided": (lambda x: x[::2, 1::3].exp() + 1, lambda: (real(101, 202),)),
    "flipped": (lambda x: x.flip(0) + x.roll(3, 1), lambda: (real(45, 67),)),
    "triangle": (lambda x: x.tril() @ x.triu(), lambda: (real(130, 130),)),
    "dropout": (lambda x: F.dropout(x, 0.3) * 2, lambda: (real(129, 257),)),
    "where": (lambda x, y: torch.where(x > 0, x, y).clamp(-1, 1), lambda: (real(999), real(999))),
    "rope": (rope, lambda: (real(2, 4, 33, 64), real(33, 64), real(33, 64))),
    "half": (
        lambda x, y: F.silu(x) * y,
        lambda: (real(257, 515, dtype=torch.bfloat16), real(257, 515, dtype=torch.bfloat16)),
    ),
    "sum_all": (lambda x: (x * x).sum(), lambda: (real(70_001),)),
    "sum_columns": (lambda x: x.sum(0), lambda: (real(5003, 33),)),
    "bucket": (lambda x, b: torch.bucketize(x, b), lambda: (real(301), real(17).sort().values)),
    "group_norm": (lambda x: F.group_norm(x, 5), lambda: (real(3, 15, 13, 11),)),
    "linear": (
        nn.Sequential(nn.Linear(65, 131), nn.GELU(), nn.Linear(131, 33)).cuda(),
        lambda: (real(77, 65),),
    ),
}


def main() -> None:
    failed = 0
    with kvtrace.capture(sys.argv[1], mode="timeline"):
        for name, (function, inputs) in PROGRAMS.items():
            for dynamic in (False, True):
                torch._dynamo.reset()
                compiled = torch.compile(function, dynamic=dynamic)
                try:
                    out = compiled(*inputs())
                    if out.requires_grad:
                        out.sum().backward()
                except Exception as error:
                    failed += 1
                    print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        torch.cuda.synchronize()
    print(f"{len(PROGRAMS)} programs, twice each, {failed} failed")


if __name__ == "__main__":
    main()
