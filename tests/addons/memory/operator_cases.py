"""Program of operators and kernels on memory of which a kernel wrote the first half.

A mark has a case's name, and the verdict that is expected of it: `right` (no violation), `wrong` (a
violation), `proven`, or `unknown`. Each case is given a tensor of 100 elements, 50 of which are
written.
"""

import io

import numpy as np
import torch
import triton
import triton.language as tl

import kvtrace

BLOCK = 128
DEVICE = "cuda"


@triton.jit
def copied(source, target, n, case, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(target + lanes, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def doubled(source, target, n, case, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < n)
    tl.store(target + lanes, values + values, mask=lanes < n)


@triton.jit
def chosen(source, flags, target, case, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(source + lanes)
    tl.store(target + lanes, tl.where(tl.load(flags + lanes) != 0, values + values, 0.0))


@triton.jit
def put(source, index, target, case, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    place = tl.load(index) * BLOCK
    tl.store(target + place + lanes, tl.load(source + place + lanes))


class Cases:
    """Runs the cases; `number` makes each kernel launch a call of its own."""

    def __init__(self):
        self.number = 1000

    def run(self, name, expected, case):
        """Run a case in its mark."""
        self.number += 2  # not specialized
        half = torch.empty(100, device=DEVICE)
        with kvtrace.mark(f"{name} {expected}"):
            copied[(1,)](ones(100), half, 50, self.number, BLOCK=BLOCK)
            case(half)

    def read(self, x):
        """Read all of a tensor in a kernel."""
        if x.is_complex():
            x = torch.view_as_real(x)
        target = torch.empty(x.shape, dtype=x.dtype, device=DEVICE)
        doubled[(1,)](x, target, x.numel(), self.number, BLOCK=BLOCK)

    def choose(self, x):
        """Read all of a tensor in a kernel, which drops half of it because of data."""
        x, flags = x[:64], (torch.arange(64, device=DEVICE) < 50).int()
        chosen[(1,)](x, flags, torch.empty_like(x), self.number, BLOCK=64)

    def put_rows(self, source, rows):
        """Copy rows of 16 elements by launches that differ in the contents of an index only."""
        target, index = empty(96), torch.zeros(1, dtype=torch.int32, device=DEVICE)
        for row in rows:
            index.fill_(row)
            put[(1,)](source, index, target, self.number, BLOCK=16)
        return target


def ones(*shape):
    return torch.ones(shape, device=DEVICE)


def first(n):
    return torch.arange(n, device=DEVICE)


def empty(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device=DEVICE)


def part(count, dtype):
    """Return 100 elements of which `count` are written."""
    x = empty(100, dtype=dtype)
    x[:count] = 1
    return x


def results(n):
    return empty(n), empty(n, dtype=torch.int64)


def host_part(n):
    x = torch.empty(100)
    x[:n] = 1
    return x


def from_storage(n):
    return torch.empty(0).set_(torch.UntypedStorage(4 * n))


def failing(x):
    for fails in (
        lambda: x + ones(3), lambda: x.copy_(ones(3)), lambda: x.add_(ones(3)),
        lambda: torch.add(ones(100), ones(3), out=x),
    ):  # fmt: skip
        try:
            fails()
        except RuntimeError:
            continue
        raise AssertionError


def resized(x):
    x.fill_(1)
    return x.resize_(120)


def grown(x):
    x.fill_(1)
    x.resize_(20).resize_(120)[100:] = 1
    return x


def sharing(x):
    return torch.empty(0, device=DEVICE).set_(x.untyped_storage(), 0, (100,), (1,))


def loaded(x):
    """Return a tensor as it is read from a file."""
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def lower(x):
    """Return a matrix of which only the lower triangle is written."""
    matrix = empty(*x.shape)
    for row in range(len(x)):
        matrix[row, :row] = 0
        matrix[row, row] = 2
    return matrix


def main():
    """Run all cases."""
    cases = Cases()
    read = cases.read
    square = (10, 10)
    right = {
        "foreach_zero": lambda x: (torch._foreach_zero_([x]), read(x)),
        "foreach_copy": lambda x: (torch._foreach_copy_([x], [ones(100)]), read(x)),
        "addmm_without": lambda x: (
            x.view(square).addmm_(ones(10, 4), ones(4, 10), beta=0), read(x)
        ),
        "addmm_out": lambda x: torch.addmm(
            x.view(square), ones(10, 4), ones(4, 10), beta=0, out=empty(10, 10)
        ),
        "baddbmm": lambda x: x.view(1, 10, 10).baddbmm_(ones(1, 10, 4), ones(1, 4, 10), beta=0),
        "addmv": lambda x: x.addmv_(ones(100, 4), ones(4), beta=0),
        "diagonal": lambda x: x.view(square).fill_diagonal_(0),
        "metadata": lambda x: x.detach_().unsqueeze_(0).squeeze_().swapaxes_(0, 0),
        "same_size": lambda x: (x.is_same_size(ones(3)), torch.result_type(x, 1)),
        "take": lambda x: x.take(first(50)),
        "take_along": lambda x: torch.take_along_dim(x, first(50), 0),
        "embedding": lambda x: torch.nn.functional.embedding(first(4), x.view(square)),
        "embedding_renorm": lambda x: torch.nn.functional.embedding(
            first(4), x.view(square), max_norm=1.0
        ),
        "embedding_bag": lambda x: torch.nn.functional.embedding_bag(
            first(4).view(2, 2), x.view(square)
        ),
        "masked_select": lambda x: x.masked_select(first(100) < 50).sum(),
        "masked_fill": lambda x: x.masked_fill(first(100) >= 50, 0.0).sum(),
        "where": lambda x: torch.where(first(100) < 50, x, 0.0).sum(),
        "scattered_slice": lambda x: x.slice_scatter(ones(50), 0, 50).sum(),
        "failing": failing,
        "computed": lambda x: read(x[:50] * 2),
        "written_over": lambda x: read(torch.mul(x[:50], 2, out=empty(50))),
        "grown": lambda x: read(grown(x)),
        "stacked_halves": lambda x: read(torch.stack([ones(50), x[:50]])),
        "rows_put": lambda x: read(cases.put_rows(ones(96), range(6))),
        "complex": lambda x: read(part(100, torch.complex64)[:50]),
        "scales": lambda x: empty(100, dtype=torch.float8_e8m0fnu).view(torch.uint8).fill_(1),
        "trace": lambda _: torch.trace(lower(ones(10, 10))),
        "triangle": lambda _: torch.linalg.solve_triangular(
            lower(ones(10, 10)), ones(10, 1), upper=False
        ),
        "cholesky": lambda _: torch.linalg.cholesky(lower(ones(10, 10))),
        "nearest": lambda _: torch.nn.functional.interpolate(
            part(50, torch.float32).view(2, 50).t().reshape(1, 1, 100), scale_factor=0.5
        ),
        "scattered": lambda x: (ones(400, 4000)[:, ::2].add_(1), read(x[:50])),
        "sorted_out": lambda x: read(torch.sort(ones(50), out=results(50))[0]),
        "topk_out": lambda x: read(torch.topk(ones(50), 50, out=results(50))[0]),
        "most_out": lambda x: read(torch.max(ones(50, 2), 1, out=results(50))[0]),
    }  # fmt: skip
    wrong = {
        "sum": lambda x: x.sum(),
        "foreach_add": lambda x: torch._foreach_add_([x], 1.0),
        "foreach_copied": lambda x: read(torch._foreach_copy_([ones(100)], [x])[0]),
        "sum_of_clone": lambda x: x.clone().sum(),
        "sum_of_conversion": lambda x: x.double().sum(),
        "complex": lambda x: read(part(49, torch.complex64)[:50]),
        "sharing": lambda x: read(sharing(x)),
        "accumulator": lambda x: empty(100).add_(1),
        "added_rows": lambda x: empty(10, 10).index_add_(0, first(4), ones(4, 10)),
        "scattered_sums": lambda x: empty(100).scatter_add_(0, first(4), ones(4)),
        "no_programs": lambda x: (copied[(0,)](x, x, 100, cases.number, BLOCK=BLOCK), read(x)),
        "no_columns": lambda x: (copied[(4, 0)](x, x, 100, cases.number, BLOCK=BLOCK), read(x)),
        "topk_of_more": lambda x: read(torch.topk(x[:60], 50)[0]),
        "half_by_operator": lambda x: part(50, torch.int16).sum(),
        "half_product": lambda x: part(50, torch.float32).view(square) @ ones(10, 10),
        "computed": lambda x: read(empty(100) * 2),
        "hidden_copy": lambda x: (
            cases.read(ones(100)),
            empty(10, 10).t().flatten().fill_(1),
            empty(10, 10).t().sum(),
        ),
        "row_left_out": lambda x: read(cases.put_rows(ones(96), (0, 1, 2, 4, 5))),
        "resized": lambda x: read(resized(x)),
        "stacked": lambda x: read(torch.stack([x, ones(100)])),
        "selected": lambda x: read(torch.index_select(x[50:], 0, first(8))),
        "gathered": lambda x: read(x[50:].gather(0, first(8))),
        "row_unwritten": lambda x: read(cases.put_rows(x, (0, 5, 1))),
    }
    proven = {
        "numbers": lambda x: (x[50:].fill_(1), x.__setitem__(3, 2.0), read(x * 2 + 1)),
        "tensor": lambda _: read(torch.tensor([1.0] * 100, device=DEVICE)),
        "host_written": lambda _: read((torch.arange(100) * 2 + torch.ones(100)).to(DEVICE)),
        "host_in_parts": lambda x: read(host_part(100).to(DEVICE)),
        "host_shared": lambda x: read(torch.ones(100).share_memory_().to(DEVICE)),
        "loaded": lambda x: read(loaded(torch.ones(100)).to(DEVICE)),
        "loaded_view": lambda x: read(loaded(torch.ones(10, 10).t()[2:]).to(DEVICE)),
        "beta_of_zero": lambda x: read(
            torch.addmm(x.view(square), ones(10, 4), ones(4, 10), beta=0)
        ),
        "batched": lambda x: read(
            torch.baddbmm(x.view(1, 10, 10), ones(1, 10, 4), ones(1, 4, 10), beta=0.0)
        ),
    }
    unknown = {
        "indexed": lambda x: read(x[first(50)]),
        "accumulated": lambda x: x.index_put_((first(100),), ones(100), accumulate=True),
        "added_somewhere": lambda x: x.index_add_(0, first(4), ones(4)),
        "added_nowhere": lambda x: empty(100).index_add_(0, first(0), ones(0)),
        "chosen": cases.choose,
        "beta": lambda x: read(torch.addmm(x.view(square), ones(10, 4), ones(4, 10))),
        "selected_somewhere": lambda x: read(torch.index_select(x, 0, first(8))),
        "host_empty": lambda x: read(torch.empty(100).to(DEVICE)),
        "host_empty_shared": lambda x: read(torch.empty(100).share_memory_().to(DEVICE)),
        "host_copied": lambda x: read(x.copy_(torch.empty(100))),
        "host_in_part": lambda x: read(host_part(99).to(DEVICE, non_blocking=True)),
        "numpy": lambda x: read(torch.from_numpy(np.empty(100, np.float32)).to(DEVICE)),
        "handed_over": lambda x: (torch.ones(100), read(from_storage(100).to(DEVICE))),
    }
    for expected, listed in (
        ("right", right), ("wrong", wrong), ("proven", proven), ("unknown", unknown)
    ):  # fmt: skip
        for name, case in listed.items():
            cases.run(name, expected, case)


if __name__ == "__main__":
    main()
