"""To be run by hand on a machine with an NVIDIA GPU: programs that waste time, in one way each.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/planted.py NAME

Makes the fixtures `tests/fixtures/h200/planted/NAME`. Each program runs 30 steps, marked "step",
which spend most of what they could win on the cause that NAME says; `good` has none. What
`kvtrace profile` names first is held by `tests/converters/profile/test_lost_time_planted.py`.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl

import kvtrace

STEPS = 30
#: Elements of a tensor: 128 MiB of float32, more than the level 2 cache holds.
SIZE = 1 << 25
#: Rows and columns of the matrix that is read along its columns.
SIDE = 8192

Step = Callable[[int], None]
CAUSES: dict[str, Callable[[], Step]] = {}


@triton.jit
def triad(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    total = tl.load(x + lanes, mask=inside) + 3.0 * tl.load(y + lanes, mask=inside)
    tl.store(out + lanes, total, mask=inside)


@triton.jit
def nudge(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(x + lanes, tl.load(x + lanes, mask=inside) * 0.999, mask=inside)


@triton.jit
def column_sums(x, out, side, BLOCK: tl.constexpr):
    """Sum rows that lie apart in memory: neighboring lanes read `side` elements from each other."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, side, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + lanes * side + row, mask=lanes < side, other=0.0)
    tl.store(out + row, tl.sum(total))


def cause(make: Callable[[], Step]) -> Callable[[], Step]:
    """Register what makes the step of a program."""
    CAUSES[make.__name__] = make
    return make


def independent_work() -> Callable[[], torch.Tensor]:
    """Return work near the device's limits, of which no kernel reads what another one wrote."""
    x, y = (torch.rand(SIZE, device="cuda") for _ in range(2))
    outs = [torch.empty_like(x) for _ in range(4)]
    a, b = (torch.rand(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(a)

    def work() -> torch.Tensor:
        for out in outs:
            triad[(triton.cdiv(SIZE, 4096),)](x, y, out, SIZE, BLOCK=4096, num_warps=8)
        torch.mm(a, b, out=product)
        return product

    return work


@cause
def good() -> Step:
    """Waste nothing: the device never waits, each kernel is near its limit."""
    work = independent_work()

    def step(_: int) -> None:
        work()

    return step


@cause
def item() -> Step:
    """Read a number from the device in each step, and then think about it."""
    work = independent_work()
    history: list[float] = []

    def step(_: int) -> None:
        history.append(work()[0, 0].item())
        # What a training loop does with its loss: without the read, the device would not wait.
        for place in range(3000):
            history[-1] += place * 1e-9

    return step


@cause
def loader() -> Step:
    """Wait for a data loader that takes longer than the step."""
    work = independent_work()

    def batches() -> Iterator[torch.Tensor]:
        batch = torch.rand(1 << 16).pin_memory()
        while True:
            time.sleep(0.005)
            yield batch

    source = batches()

    def step(_: int) -> None:
        next(source).to("cuda", non_blocking=True)
        work()

    return step


@cause
def allocations() -> Step:
    """Hand memory back to the driver in each step, and ask for it again."""
    work = independent_work()

    def step(_: int) -> None:
        work()
        scratch = [torch.empty((64 + place) << 20, device="cuda") for place in range(4)]
        del scratch
        torch.cuda.empty_cache()

    return step


@cause
def recompiles() -> Step:
    """Compile a function with a graph break again, for another length in every third step."""
    import torch._dynamo.config

    for name in ("recompile_limit", "cache_size_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 64)
    work = independent_work()

    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x) * 2.0
        torch._dynamo.graph_break()
        return torch.cos(y) + x

    compiled = torch.compile(model, dynamic=False)
    tensors = [torch.rand((1 << 20) + 1024 * place, device="cuda") for place in range(STEPS // 3)]

    def step(number: int) -> None:
        work()
        compiled(tensors[number // 3])

    return step


@cause
def tiny() -> Step:
    """Launch 200 kernels of a few microseconds each in a step."""
    work = independent_work()
    tensors = [torch.rand(4096, device="cuda") for _ in range(200)]

    def step(_: int) -> None:
        work()
        for tensor in tensors:
            nudge[(4,)](tensor, 4096, BLOCK=1024)

    return step


@cause
def uncoalesced() -> Step:
    """Read a matrix along its columns."""
    work = independent_work()
    matrix = torch.rand(SIDE, SIDE, device="cuda")
    sums = torch.empty(SIDE, device="cuda")

    def step(_: int) -> None:
        work()
        column_sums[(SIDE,)](matrix, sums, SIDE, BLOCK=1024)

    return step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(CAUSES))
    torch.manual_seed(0)
    step = CAUSES[parser.parse_args().name]()
    for number in range(STEPS):
        with kvtrace.mark("step"):
            step(number)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
