"""Program of kernels that store and read through a table of pointers, each case in its mark."""

import torch
import triton
import triton.language as tl

import kvtrace


@triton.jit
def stored_by_table(table, sizes, BLOCK: tl.constexpr):
    group, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    pointer = tl.load(table + group).to(tl.pointer_type(tl.float32))
    tl.store(pointer + lanes, 1.0, mask=lanes < tl.load(sizes + group))


@triton.jit
def read_by_table(table, out, n, BLOCK: tl.constexpr):
    group, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    pointer = tl.load(table + group).to(tl.pointer_type(tl.float32))
    tl.store(out + group * n + lanes, 2 * tl.load(pointer + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def table_moved(table, sizes, BLOCK: tl.constexpr):
    """A store through the table changes the table itself."""
    group, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    pointer = tl.load(table + group).to(tl.pointer_type(tl.int64))
    tl.store(pointer + lanes, 0, mask=lanes < tl.load(sizes + group))


def case(name, sizes, block, use, stored=stored_by_table, dtype=torch.float32):
    """Store `sizes` elements of tensors of 5, 17 and 30, and use the tensors."""
    with kvtrace.mark(name):
        tensors = [torch.empty(size, dtype=dtype, device="cuda") for size in (5, 17, 30)]
        table = torch.zeros(3, dtype=torch.int64, device="cuda")
        pointers = [tensor.data_ptr() for tensor in tensors]
        if stored is table_moved:
            pointers[2] = table.data_ptr()
        table.copy_(torch.tensor(pointers, device="cuda"))
        stored[(3,)](table, torch.tensor(sizes, dtype=torch.int32, device="cuda"), block)
        use(tensors, table)


def summed(tensors, _):
    """Read all elements."""
    for tensor in tensors:
        tensor.sum()


def read_again(block):
    """Return a function that reads 5 elements of each tensor, by a kernel."""
    return lambda _, table: read_by_table[(3,)](table, torch.zeros(15, device="cuda"), 5, block)


if __name__ == "__main__":
    case("whole", [5, 17, 30], 32, summed)
    case("short", [5, 16, 30], 64, summed)
    case("read", [5, 17, 30], 128, read_again(8))
    case("read_short", [4, 17, 30], 256, read_again(16))
    case("table_moved", [5, 17, 3], 512, summed, table_moved, torch.int64)
