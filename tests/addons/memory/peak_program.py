"""A program whose peak memory is known: its one mark is around where most is in use."""

import torch
import triton
import triton.language as tl

import kvtrace

MIB = 1 << 20


@triton.jit
def doubled(source, result, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < count)
    tl.store(result + lanes, values * 2, mask=lanes < count)


def double(source):
    result = torch.empty_like(source)  # the place of 3 MiB of the peak
    doubled[(triton.cdiv(source.numel(), 1024),)](source, result, source.numel(), BLOCK=1024)
    return result


def main():
    weights = torch.ones(MIB // 4, device="cuda")
    small = double(weights)
    del small
    large = torch.zeros(3 * MIB // 4, device="cuda")
    with kvtrace.mark("largest"):
        result = double(large)
    del large
    total = result.sum() + double(weights).sum()
    print(float(total))


main()
