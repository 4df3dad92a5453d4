"""Memory that copies by descriptors access, by plan and by arrays, with and without tensor maps."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, evaluate, parsed
from tests.support.compile_ttir import compile_generic

TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
ROWS, PITCH, BM = 6, 128, 4
SENTINEL = 7


@triton.jit
def stored(out, columns, PITCH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [5, columns], [PITCH, 1], [BM, BN])
    tile = (tl.arange(0, BN) + 8).to(out.dtype.element_ty).expand_dims(0).broadcast_to(BM, BN)
    target.store([tl.program_id(0) * BM, tl.program_id(1) * BN], tile)


@triton.jit
def added(out, columns, PITCH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [5, columns], [PITCH, 1], [BM, BN])
    tile = (tl.arange(0, BN) + 1).to(out.dtype.element_ty).expand_dims(0).broadcast_to(BM, BN)
    target.atomic_add([tl.program_id(0) * BM, tl.program_id(1) * BN], tile)


@triton.jit
def scattered(out, columns, PITCH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [5, columns], [PITCH, 1], [1, BN])
    tile = (tl.arange(0, BN) + 8).to(out.dtype.element_ty).expand_dims(0).broadcast_to(8, BN)
    target.scatter(tile, tl.arange(0, 8) * 2 - 4, tl.program_id(1) * BN)


@triton.jit
def ragged(out, columns, PITCH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Store with an inner extent that differs between programs."""
    row = tl.program_id(0)
    target = tl.make_tensor_descriptor(out + row * PITCH, [1, columns + row], [PITCH, 1], [1, BN])
    target.store([0, 0], tl.full((1, BN), 9, out.dtype.element_ty))


def extents(dtype):
    """Return eight inner extents, some of which are not whole chunks of 16 bytes."""
    chunk = 16 // np.dtype(TYPES[dtype]).itemsize
    return (1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk - 1, 3 * chunk, 4 * chunk)


def memory_after_launch(kernel, dtype, columns, target, *, grid=(2, 2), stage="ttir"):
    """Return the memory, full of the sentinel before, after a launch."""
    size = np.dtype(TYPES[dtype]).itemsize
    constants = {"PITCH": PITCH // size, "BM": BM, "BN": 32 // size}
    signature = {"out": f"*{dtype}", "columns": "i32"} | dict.fromkeys(constants, "constexpr")
    module = parsed(compile_generic(kernel, signature, constants, stage=stage), target)
    memory = np.full((ROWS, PITCH // size), SENTINEL, TYPES[dtype])
    storage = Storage(memory.nbytes, memory.reshape(-1).view(np.uint8))
    out = TensorArgument("out", storage, 0, dtype, memory.shape, (memory.shape[1], 1))
    evaluate(module, [out, ScalarArgument("columns", columns)], grid)
    return memory.astype(np.float32)


def columns_in_chunks(columns, dtype):
    """Return the number of columns that a store of whole chunks writes."""
    chunk = 16 // np.dtype(TYPES[dtype]).itemsize
    return -(-columns // chunk) * chunk


@pytest.mark.parametrize("dtype", TYPES)
def test_stores_write_whole_chunks_of_16_bytes_where_the_target_has_tensor_maps(dtype):
    for columns in extents(dtype):
        tile = np.arange(32 // np.dtype(TYPES[dtype]).itemsize) + 8
        for target, end in (("cuda:90", columns_in_chunks(columns, dtype)), ("cuda:80", columns)):
            meant = np.full((ROWS, PITCH // np.dtype(TYPES[dtype]).itemsize), SENTINEL, float)
            meant[:5, :end] = np.tile(tile, 2)[:end]
            result = memory_after_launch(stored, dtype, columns, target)
            assert (result == meant).all(), (columns, target)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_descriptor_reductions_and_scatters_write_the_same_chunks_as_stores(dtype):
    for kernel, rows in ((added, [0, 1, 2, 3, 4]), (scattered, [0, 2, 4])):
        for columns in extents(dtype)[:5]:
            grid = (2, 2) if kernel is added else (1, 2)
            changed = memory_after_launch(kernel, dtype, columns, "cuda:90", grid=grid) != SENTINEL
            meant = np.zeros_like(changed)
            meant[rows, : columns_in_chunks(columns, dtype)] = True
            assert (changed == meant).all(), (kernel, columns)


def test_descriptor_extents_may_differ_between_programs():
    changed = memory_after_launch(ragged, "fp32", 2, "cuda:90", grid=(6, 1)) != SENTINEL

    assert changed.sum(axis=1).tolist() == [4, 4, 4, 8, 8, 8]


def test_ttgir_with_tensor_maps_stores_the_same_elements_as_ttir():
    for columns in (5, 8):
        by_ttgir = memory_after_launch(stored, "fp32", columns, "", stage="ttgir")
        assert (by_ttgir == memory_after_launch(stored, "fp32", columns, "cuda:90")).all()
