"""A program with one planted GPU fault or hang: `planted_faults.py NAME eager|graph`.

Each fault is launched first as it should be, and then spoiled: the contents of an index tensor, a
scalar, or the life of a tensor. With `graph` the kernel is captured, and the spoiled state is
replayed.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import triton
import triton.language as tl

N, BLOCK, ROWS, WIDTH = 4096, 256, 64, 512
FAR = 1 << 40


class Planted(NamedTuple):
    """What is launched (with whether it is to fail), and what spoils its tensors."""

    launch: Callable[[bool], object]
    spoil: Callable[[], object] = lambda: None


class Expected(NamedTuple):
    """What has to be found: part of the kernel's name, of the line, the argument, of the causes."""

    kernel: str
    line: str
    argument: str | None
    cause: str

    def missing_from(self, file: str, line: int) -> str:
        """Return the source at a 1-based line if neither it nor the one before has the text.

        A call over several lines begins in the line before its device code, on Triton 3.6.
        """
        lines = Path(file).read_text().split("\n")[max(line - 2, 0) : line]
        return "" if any(self.line in one for one in lines) else lines[-1].strip()


@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(index + lanes, mask=lanes < n, other=0)
    tl.store(out + lanes, tl.load(x + rows, mask=lanes < n), mask=lanes < n)


@triton.jit
def add_at(x, index, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(index + lanes, mask=lanes < n, other=0)
    tl.atomic_add(x + rows, 1, mask=lanes < n)


@triton.jit
def scale_rows(x, out, rows, stride, BLOCK: tl.constexpr):
    row = rows - 1 - tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + row * stride + lanes) * 2)


@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        tl.store(out + lanes, 1, mask=lanes < n)


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, loaded(x, lanes, n) * 2, mask=lanes < n)


@triton.jit
def loaded(x, lanes, n):
    return tl.load(x + lanes, mask=lanes < n)


@triton.jit
def shifted(x, out, shift, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    moved = (x.to(tl.int64) + shift).to(tl.pointer_type(tl.int32))
    tl.store(out + lanes, tl.load(moved + lanes))


@triton.jit
def described(x, out, shift, BLOCK: tl.constexpr):
    moved = (x.to(tl.int64) + shift).to(tl.pointer_type(tl.int32))
    block = tl.make_tensor_descriptor(moved, [BLOCK, BLOCK], [BLOCK, 1], [32, 32])
    lanes = tl.arange(0, 32)
    tl.store(out + lanes[:, None] * 32 + lanes[None, :], block.load([0, 0]))


@triton.jit
def asserting(x, limit, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.device_assert(values < limit, "values are below the limit")
    tl.store(x + lanes, values)


@triton.jit
def trapping(x, limit, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    if limit < 0:
        tl.inline_asm_elementwise(
            "trap; mov.b32 $0, $1;", "=r,r", [values], dtype=tl.int32, is_pure=False, pack=1
        )
    tl.store(x + lanes, values)


@triton.jit
def paged(
    q, cache, block_table, lengths, out, stride_page, stride_table, PAGE: tl.constexpr,
    HEAD: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    dims, slots = tl.arange(0, HEAD), tl.arange(0, PAGE)
    query = tl.load(q + row * HEAD + dims)
    length = tl.load(lengths + row)
    total = tl.zeros([HEAD], tl.float32)
    for start in range(0, length, PAGE):
        page = tl.load(block_table + row * stride_table + start // PAGE)
        places = page.to(tl.int64) * stride_page + slots[:, None] * HEAD + dims[None, :]
        keys = tl.load(cache + places, mask=(start + slots < length)[:, None], other=0.0)
        total += tl.sum(keys * query[None, :], axis=0)
    tl.store(out + row * HEAD + dims, total)


@triton.jit
def spinning(flag, x):
    while tl.atomic_add(flag, 0) == 0:
        pass
    tl.store(x, 1)


@triton.jit
def deadlocked(locks, x):
    mine = tl.program_id(0)
    while tl.atomic_cas(locks + mine, 0, 1) != 0:
        pass
    tl.store(x + mine, 1)
    while tl.atomic_cas(locks + 1 - mine, 0, 1) != 0:
        pass
    tl.atomic_xchg(locks + mine, 0)


@triton.jit
def half_barrier(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.inline_asm_elementwise(
        "bar.sync 1, 256; mov.b32 $0, $1;", "=r,r", [values], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(x + lanes, values)


def whole(count: int = N) -> torch.Tensor:
    return torch.arange(count, device="cuda", dtype=torch.int32)


def spoiled(index: torch.Tensor, value: int) -> Callable[[], object]:
    return lambda: index.view(-1)[1000 % index.numel()].fill_(value)


class Borrowed:
    """Memory of the driver's own, as a tensor, which can be freed while the tensor lives."""

    def __init__(self, count: int, kind: str = "<f4") -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._address = ctypes.c_uint64()
        torch.zeros(1, device="cuda")
        self._call("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(count * 4))
        self._call("cuMemsetD8_v2", self._address, 0, ctypes.c_size_t(count * 4))
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": kind, "data": (self._address.value, False), "version": 3,
        }  # fmt: skip
        self.tensor = torch.as_tensor(self, device="cuda")

    def _call(self, name: str, *arguments: object) -> None:
        assert getattr(self._driver, name)(*arguments) == 0, name

    def free(self) -> None:
        torch.cuda.synchronize()
        self._call("cuMemFree_v2", self._address)


def gathering(value: int) -> Planted:
    x, index, out = whole(), torch.zeros(N, dtype=torch.int64, device="cuda"), whole()
    return Planted(lambda _: gather[(N // BLOCK,)](x, index, out, N, BLOCK), spoiled(index, value))


def atomics() -> Planted:
    x, index = whole(), torch.zeros(N, dtype=torch.int64, device="cuda")
    return Planted(lambda _: add_at[(N // BLOCK,)](x, index, N, BLOCK), spoiled(index, FAR))


def rows(count: int, stride: int) -> Planted:
    x, out = whole(), whole()
    return Planted(
        lambda is_bad: scale_rows[(4,)](x, out, *((count, stride) if is_bad else (8, WIDTH)), BLOCK)
    )


def stale_length() -> Planted:
    out = whole()
    return Planted(lambda is_bad: fill[(8,)](out, 0x7FFF_0000 if is_bad else N, 1024))


def freed() -> Planted:
    lent, out = Borrowed(N, "<i4"), whole()
    x = lent.tensor
    return Planted(lambda _: doubled[(N // BLOCK,)](x, out, N, BLOCK), lent.free)


def misaligned() -> Planted:
    x, out = whole(), whole()
    return Planted(lambda is_bad: shifted[(1,)](x, out, 1 if is_bad else 4, BLOCK))


def misaligned_descriptor() -> Planted:
    triton.set_allocator(lambda size, _a, _s: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, out = whole(1 << 17), whole()
    return Planted(lambda is_bad: described[(1,)](x, out, 4 if is_bad else 16, BLOCK))


def assertion() -> Planted:
    x = torch.zeros(BLOCK, dtype=torch.int32, device="cuda")
    return Planted(lambda _: asserting[(1,)](x, 10, BLOCK, debug=True), spoiled(x, 99))


def trap() -> Planted:
    x = whole()
    return Planted(lambda is_bad: trapping[(1,)](x, -1 if is_bad else 5, BLOCK))


def no_memory() -> Planted:
    x, empty, out = whole(), torch.empty(0, dtype=torch.int32, device="cuda"), whole()
    return Planted(lambda is_bad: doubled[(N // BLOCK,)](empty if is_bad else x, out, N, BLOCK))


def paging(what: str) -> Planted:
    q = torch.randn(ROWS, 64, device="cuda")
    cache = torch.randn(128, 16, 64, device="cuda")
    table = torch.arange(ROWS * 2, device="cuda", dtype=torch.int32).view(ROWS, 2)
    lengths, out = torch.full((ROWS,), 30, dtype=torch.int32, device="cuda"), torch.zeros_like(q)
    spoil = {
        "index": spoiled(table, 1 << 28), "length": spoiled(lengths, 1 << 30), "stride": lambda: 0
    }[what]  # fmt: skip

    def launch(is_bad: bool) -> object:
        stride = 1 << 31 if is_bad and what == "stride" else cache.stride(0)
        return paged[(ROWS,)](q, cache, table, lengths, out, stride, table.stride(0), 16, 64)

    return Planted(launch, spoil)


def liger_embedding() -> Planted:
    from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction

    weight = torch.randn(256, 128, device="cuda")
    index = torch.zeros(N, dtype=torch.int64, device="cuda")
    return Planted(lambda _: LigerEmbeddingFunction.apply(weight, index), spoiled(index, FAR))


def liger_cross_entropy() -> Planted:
    from liger_kernel.ops import cross_entropy

    logits = torch.randn(ROWS, 1024, device="cuda")
    target = torch.zeros(ROWS, dtype=torch.int64, device="cuda")
    loss = torch.zeros(ROWS, device="cuda")

    def launch(_: bool) -> object:
        return cross_entropy.liger_cross_entropy_kernel[(ROWS,)](
            X_ptr=logits, X_stride=1024, Y_ptr=target, Y_stride=1, weight_ptr=None, loss_ptr=loss,
            z_loss_ptr=None, loss_stride=1, token_accuracy_ptr=None, token_accuracy_stride=0,
            predicted_tokens_ptr=None, predicted_tokens_stride=0, n_cols=1024, n_non_ignore=ROWS,
            sum_non_ignore_weight=ROWS, weight_sum=0.0, ignore_index=-100, lse_square_scale=0.0,
            label_smoothing=0.0, reduction="mean", softcap=None, RETURN_Z_LOSS=False,
            RETURN_TOKEN_ACCURACY=False, RETURN_PREDICTED_TOKENS=False, BLOCK_SIZE=1024,
            HAS_WEIGHT=False, HAS_SOFTCAPPING=False, HAS_GRADIENTS=True,
        )  # fmt: skip

    return Planted(launch, spoiled(target, FAR))


def liger_rms_norm() -> Planted:
    from liger_kernel.ops.rms_norm import rms_norm_forward

    lent, x = Borrowed(128), torch.randn(ROWS, 128, device="cuda")
    weight = lent.tensor
    return Planted(lambda _: rms_norm_forward(x, weight, 1e-6, 0.0, "llama", False), lent.free)


def fla_l2norm() -> Planted:
    from fla.modules.l2norm import l2norm_fwd

    lent = Borrowed(ROWS * 128)
    x = lent.tensor.view(1, ROWS, 1, 128)
    return Planted(lambda _: l2norm_fwd(x), lent.free)


def fla_cumsum() -> Planted:
    from fla.ops.utils.cumsum import chunk_local_cumsum

    lent = Borrowed(4 * 256 * 8)
    x = lent.tensor.view(4, 256, 8)
    return Planted(lambda _: chunk_local_cumsum(x, 64), lent.free)


def fla_token_shift() -> Planted:
    from fla.modules.token_shift import token_shift

    lent = Borrowed(4 * 256 * 64)
    x = lent.tensor.view(4, 256, 64)
    return Planted(lambda _: token_shift(x), lent.free)


def compiled(what: str) -> Planted:
    import torch._inductor.config as config

    config.assert_indirect_indexing = what == "assert"
    x, index = torch.randn(N, device="cuda"), torch.zeros(N, dtype=torch.int64, device="cuda")
    if what == "freed":
        lent = Borrowed(N)
        lent_tensor = lent.tensor
        multiplied = torch.compile(lambda y: y * 2 + 1)
        return Planted(lambda _: multiplied(lent_tensor), lent.free)
    if what == "scatter":
        put = torch.compile(lambda y, i: y.index_put((i,), y + 1, accumulate=True))
        return Planted(lambda _: put(x, index), spoiled(index, FAR))
    taken = torch.compile(lambda y, i: y[i] * 2)
    return Planted(lambda _: taken(x, index), spoiled(index, FAR))


def spin() -> Planted:
    flag, x = torch.ones(1, dtype=torch.int32, device="cuda"), whole()
    return Planted(lambda _: spinning[(2,)](flag, x), lambda: flag.zero_())


def deadlock() -> Planted:
    locks, x = torch.zeros(2, dtype=torch.int32, device="cuda"), whole()
    return Planted(lambda is_bad: deadlocked[(2,)](locks, x) if is_bad else None)


def barrier() -> Planted:
    x = whole()
    return Planted(lambda is_bad: half_barrier[(1,)](x, 128) if is_bad else None)


PLANTED = {
    "gather_index": (lambda: gathering(FAR), Expected("gather", "tl.load(x + rows", "x", "index")),
    "gather_negative": (
        lambda: gathering(-(1 << 36)), Expected("gather", "tl.load(x + rows", "x", "index")
    ),
    "atomic_index": (atomics, Expected("add_at", "tl.atomic_add(x + rows", "x", "index")),
    "int32_wrap": (
        lambda: rows(600_000, 4096), Expected("scale_rows", "tl.load(x + row * stride", "x", "wrap")
    ),
    "wrong_stride": (
        lambda: rows(8, 1 << 27), Expected("scale_rows", "tl.load(x + row * stride", "x", "x")
    ),
    "stale_length": (stale_length, Expected("fill", "tl.store(out + lanes, 1", "out", "out")),
    "freed": (freed, Expected("doubled", "tl.load(x + lanes", "x", "freed")),
    "misaligned": (misaligned, Expected("shifted", "tl.load(moved + lanes", "x", "multiple")),
    "misaligned_descriptor": (
        misaligned_descriptor, Expected("described", "block.load", "x", "multiple")
    ),
    "assertion": (assertion, Expected("asserting", "tl.device_assert", None, "assert")),
    "trap": (trap, Expected("trapping", "trap; mov", None, "")),
    "no_memory": (no_memory, Expected("doubled", "tl.load(x + lanes", "x", "x")),
    "paged_index": (lambda: paging("index"), Expected("paged", "tl.load(cache", "cache", "table")),
    "paged_length": (
        lambda: paging("length"), Expected("paged", "tl.load(cache", "cache", "lengths")
    ),
    "paged_stride": (lambda: paging("stride"), Expected("paged", "tl.load(cache", "cache", "")),
    "liger_embedding": (
        liger_embedding,
        Expected("embedding_forward", "embeddings_ptr + emb", "embeddings_ptr", "indices_ptr"),
    ),
    "liger_cross_entropy": (
        liger_cross_entropy,
        Expected("liger_cross_entropy", "tl.load(X_ptr + y)", "X_ptr", "Y_ptr"),
    ),
    "liger_rms_norm": (liger_rms_norm, Expected("rms_norm", "tl.load(W_ptr", "W_ptr", "freed")),
    "fla_l2norm": (fla_l2norm, Expected("l2norm", "tl.load", "x", "freed")),
    "fla_cumsum": (fla_cumsum, Expected("cumsum", "tl.load", "s", "freed")),
    "fla_token_shift": (fla_token_shift, Expected("token_shift", "tl.load", "x", "freed")),
    "compiled_index": (
        lambda: compiled("index"), Expected("triton_poi", "tl.load(in_ptr1", "in_ptr1", "in_ptr0")
    ),
    "compiled_assert": (
        lambda: compiled("assert"), Expected("triton_poi", "tl.device_assert", None, "assert")
    ),
    "compiled_scatter": (
        lambda: compiled("scatter"),
        Expected("triton_poi", "tl.atomic_add(out", "out_ptr0", "in_ptr"),
    ),
    "compiled_freed": (
        lambda: compiled("freed"), Expected("triton_poi", "tl.load(in_ptr0", "in_ptr0", "freed")
    ),
    "spin": (spin, Expected("spinning", "tl.atomic_add(flag", None, "")),
    "deadlock": (deadlock, Expected("deadlocked", "tl.atomic_cas(locks + 1", None, "")),
    "barrier": (barrier, Expected("half_barrier", "tl.inline_asm_elementwise", None, "")),
}  # fmt: skip
HANGS = ("spin", "deadlock", "barrier")
#: Triton itself refuses to launch with a pointer to freed memory; a replay does not look.
ONLY_IN_GRAPHS = (
    "freed", "liger_rms_norm", "fla_l2norm", "fla_cumsum", "fla_token_shift", "compiled_freed"
)  # fmt: skip


def main() -> None:
    """Run one planted fault; the program is to die, or to hang until it is ended."""
    name, mode = sys.argv[1:3]
    planted = PLANTED[name][0]()
    planted.launch(False)
    torch.cuda.synchronize()
    if mode == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            planted.launch(True)
        planted.spoil()
        torch.cuda.synchronize()
        graph.replay()
    else:
        planted.spoil()
        planted.launch(True)
    print("waiting", flush=True)
    if name in HANGS:
        time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 60)
    torch.cuda.synchronize()
    print("NO FAULT", flush=True)


if __name__ == "__main__":
    main()
