"""Creation of tensors: allocated, filled, random, of access patterns, or constants."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import buffer_of
from kvtrace.addons.neuron.indices import PartitionSize
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.recorder import Execution
from kvtrace.addons.neuron.tensors import Tensor


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new, uninitialized tensor, by default in SBUF."""
    del placement
    run, memory_kind = current(), buffer_of(buffer)
    sizes_given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    partition_dimensions = [
        dimension for dimension, size in enumerate(sizes_given) if isinstance(size, PartitionSize)
    ]
    plain_shape = tuple(int(size) for size in sizes_given)
    if memory_kind.space != "hbm" and len(plain_shape) == 1:
        plain_shape = (*plain_shape, 1)
    memory = run.allocate(
        memory_kind.space,
        plain_shape,
        dtypes.as_dtype(dtype),
        partition=partition_dimensions[0] if partition_dimensions else 0,
        name=name,
        shared=memory_kind.shared,
    )
    return run.tensor(memory)


def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any
) -> Tensor:
    """Return a new tensor with `fill_value` in every element."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name, **placement)
    tensor.put(np.asarray(fill_value))
    memory = tensor.memory
    memory.written_elements = None
    run = current()
    site = run.recorder.site("nl.full", "vector", "other", run.loop_number)
    nbytes = tensor.size * tensor.itemsize
    device, chip = (nbytes, 0) if tensor.memory.space == "hbm" else (0, nbytes)
    counts = (tensor.size, 0, device, chip, 0)
    memory.life.first = memory.life.last = run.recorder.count
    run.recorder.add_execution(Execution(site, run.program, *counts, memory.number, nbytes, ()))
    return tensor


def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of zeros, by default in SBUF."""
    return full(shape, 0, dtype, buffer=buffer, name=name, **placement)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of ones, by default in SBUF."""
    return full(shape, 1, dtype, buffer=buffer, name=name, **placement)


def shared_constant(constant: Any, dtype: Any = None) -> Tensor:
    """Return a tensor in device memory with the elements of an array."""
    values = np.array(constant)
    element_type = values.dtype if dtype is None else dtypes.as_dtype(dtype)
    raw = np.ascontiguousarray(dtypes.rounded(values, element_type)).view(np.uint8).reshape(-1)
    run = current()
    memory = run.allocate("hbm", values.shape, element_type, name="shared_constant", raw=raw)
    return run.tensor(memory)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Tensor:
    """Return an n x n identity matrix as a tensor in device memory."""
    return shared_constant(np.eye(int(n), dtype=np.float32), dtype)


# Random number generators of engines: XORWOW (Marsaglia 2003), one or four per partition.
#
# A generator's state has six words: five that are shifted, the oldest `s` to the newest `v`, and a
# counter: `t = s ^ s >> 2; new = v ^ v << 4 ^ t ^ t << 1; counter += 362437; result = new +
# counter`. The vector engine has four generators per partition, 24 words, which take turns. The
# numbers that a device draws from a seed are not published, so kvtrace's differ; they are equal in
# every run.
