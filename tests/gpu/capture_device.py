"""To be run by hand on a machine with an NVIDIA GPU: the fixture `tests/fixtures/h200/device`.

    python tests/gpu/capture_device.py OUT

A short program with what only a device has: an autotuned kernel, two streams, a graph that is
replayed, kernels of torch's in between, and a kernel that is compiled again for other arguments.
"""

import sys

import torch
import triton
import triton.language as tl

import kvtrace


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block in (256, 1024)
        for warps in (2, 8)
    ],
    key=["n"],
)
@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * factor, mask=lanes < n)


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + lanes, mask=lanes < n) + tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, total, mask=lanes < n)


def main() -> None:
    n = 1 << 20
    x, y, out = (torch.rand(n, device="cuda") for _ in range(3))
    with kvtrace.capture(sys.argv[1], mode="timeline"):
        with kvtrace.mark("autotune"):
            for size in (n, 1000):
                scaled[lambda meta, size=size: (triton.cdiv(size, meta["BLOCK"]),)](
                    x, out, size, 2.0
                )
        side = torch.cuda.Stream()
        with kvtrace.mark("streams"):
            for _ in range(10):
                added[(1024,)](x, y, out, n, BLOCK=1024)
                with torch.cuda.stream(side):
                    added[(1024,)](y, y, x, n, BLOCK=1024)
                out.sin_()
            torch.cuda.synchronize()
        with kvtrace.mark("graph"):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                added[(1024,)](x, y, out, n, BLOCK=1024)
                out.cos_()
                added[(4096,)](out, y, out, n, BLOCK=256)
            for _ in range(5):
                graph.replay()
            torch.cuda.synchronize()
        with kvtrace.mark("recompiles"):
            added[(8,)](x[1:], y, out, 1001, BLOCK=128)
            added[(8,)](x.half(), y, out, 1001, BLOCK=128)
            torch.cuda.synchronize()


if __name__ == "__main__":
    main()
