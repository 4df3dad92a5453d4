"""Kernels that go through addresses in memory; prints what they leave, as JSON.

Run by Triton's interpreter (TRITON_INTERPRET=1), or without a GPU (argument: the folder to record
to); both must print the same.
"""

import json
import sys
from hashlib import sha256

import torch
import triton
import triton.language as tl


@triton.jit
def slices(table, counts, out, BLOCK: tl.constexpr):
    """A tensor a program, by address, each of another size (as multi-slice LoRA has them)."""
    pid = tl.program_id(0)
    source = tl.load(table + pid).to(tl.pointer_type(tl.float16))
    lanes = tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < tl.load(counts + pid), other=-1.0)
    tl.store(out + pid * BLOCK + lanes, values)


@triton.jit
def pool(layers, layer, blocks, out, BLOCK: tl.constexpr):
    """A table of tables of blocks; each lane has a pointer of its own."""
    lanes = tl.arange(0, BLOCK)
    table = tl.load(layers + layer).to(tl.pointer_type(tl.int64))
    block = tl.load(blocks + tl.program_id(0) * BLOCK + lanes)
    place = tl.load(table + block).to(tl.pointer_type(tl.float32), bitcast=True)
    tl.store(place + 1, tl.load(place) * 2)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, tl.load(place + 1))


@triton.jit
def stored(x, y, table, flags, number, BLOCK: tl.constexpr):
    """Pointers are written to memory, read again and used; some are only numbers."""
    lanes = tl.arange(0, BLOCK)
    tl.store(table, (x + 3).to(tl.int64))
    tl.store(table + 1, y.to(tl.int64))
    places = (number + lanes * 8).to(tl.pointer_type(tl.float32))
    tl.store(table + 2 + lanes, (places + 1).to(tl.int64))
    second = tl.load(table + 1).to(tl.pointer_type(tl.float32))
    tl.store(second + lanes, lanes.to(tl.float32))
    tl.store(flags, (tl.load(table + 1) == y.to(tl.int64)).to(tl.int64))


def main() -> None:
    torch.manual_seed(0)
    found = {}

    sizes = [40, 64, 17]
    weights = [torch.randn(size).half() for size in sizes]
    out = torch.zeros(3, 64, dtype=torch.float16)
    table = torch.tensor([weight.data_ptr() for weight in weights])
    slices[(3,)](table, torch.tensor(sizes), out, BLOCK=64)
    found["slices"] = digest(out)
    rows = torch.randn(4, 64).half()
    parts = torch.tensor([rows[n].data_ptr() for n in (2, 0, 3)])
    slices[(3,)](parts, torch.tensor([64, 64, 1]), out, BLOCK=64)
    found["rows"] = digest(out)

    kept = [[torch.randn(2) for _ in range(5)] for _ in range(2)]
    tables = [torch.tensor([block.data_ptr() for block in layer]) for layer in kept]
    layers = torch.tensor([table.data_ptr() for table in tables])
    blocks, result = torch.tensor([4, 0, 2, 1, 3, 3, 0, 0]), torch.zeros(8)
    pool[(2,)](layers, 1, blocks, result, BLOCK=4)
    found["pool"] = digest(result, *kept[0], *kept[1])

    x, y, flags = torch.zeros(16), torch.zeros(16), torch.zeros(1, dtype=torch.int64)
    memory = torch.zeros(20, dtype=torch.int64)
    stored[(1,)](x, y, memory, flags, 3 << 40, BLOCK=16)
    memory[0] -= x.data_ptr()
    memory[1] -= y.data_ptr()
    found["stored"] = [memory.tolist(), y.tolist(), flags.tolist()]
    print(json.dumps(found))


def digest(*tensors: torch.Tensor) -> str:
    return sha256(b"".join(t.contiguous().numpy().tobytes() for t in tensors)).hexdigest()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import kvtrace

        kvtrace.start(sys.argv[1])
    main()
