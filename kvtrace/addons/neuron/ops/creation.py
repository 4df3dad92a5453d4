"""Creation of tensors: allocated, filled, random, or constants of the program."""

import os
from typing import Any

import numpy as np

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import Buffer, buffer_of
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import PartitionSize
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.memory import DEFINED, size_of
from kvtrace.addons.neuron.recorder import Execution
from kvtrace.addons.neuron.tensors import Tensor


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new, uninitialized tensor, by default in SBUF."""
    del placement
    return _allocated(shape, dtype, buffer_of(buffer), name)


def _allocated(shape: Any, dtype: Any, buffer: Buffer, name: str, raw: Any = None) -> Tensor:
    run = current()
    sizes_given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    partition_dimensions = [
        dimension for dimension, size in enumerate(sizes_given) if isinstance(size, PartitionSize)
    ]
    plain_shape = tuple(int(size) for size in sizes_given)
    if buffer.space != "hbm" and len(plain_shape) == 1:
        plain_shape = (*plain_shape, 1)
    memory = run.allocate(
        buffer.space,
        plain_shape,
        dtypes.as_dtype(dtype),
        partition=partition_dimensions[0] if partition_dimensions else 0,
        name=name,
        shared=buffer.shared,
        raw=raw,
    )
    return run.tensor(memory)


def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any
) -> Tensor:
    """Return a new tensor with `fill_value` in every element."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name, **placement)
    tensor.put(np.asarray(fill_value))
    memory = tensor.memory
    memory.states = None
    run = current()
    site = run.recorder.site("nl.full", "vector", "other", run.loop_number)
    nbytes = tensor.size * tensor.itemsize
    device, chip = (nbytes, 0) if memory.space == "hbm" else (0, nbytes)
    memory.life.first = memory.life.last = run.recorder.count
    run.recorder.add_execution(
        Execution(
            site,
            run.program,
            tensor.size,
            0,
            device,
            chip,
            0,
            memory.number,
            nbytes,
            (),
            run.serial,
        )
    )
    return tensor


def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of zeros, by default in SBUF."""
    return full(shape, 0, dtype, buffer=buffer, name=name, **placement)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of ones, by default in SBUF."""
    return full(shape, 1, dtype, buffer=buffer, name=name, **placement)


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Return a new, uninitialized tensor with the shape, type and memory of `x`, if not given."""
    return ndarray(x.shape, dtype or x.dtype, buffer=buffer or x.buffer, name=name)


def zeros_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Return a new tensor of zeros with the shape, type and memory of `x`, if not given."""
    return zeros(x.shape, dtype or x.dtype, buffer=buffer or x.buffer, name=name)


def shared_constant(constant: Any, dtype: Any = None) -> Tensor:
    """Return a tensor in device memory with an array, or with a NumPy file's array.

    Raises:
        NkiError: the file cannot be read, or is not a NumPy file.
    """
    values = _loaded(constant) if isinstance(constant, str | os.PathLike) else np.array(constant)
    element_type = values.dtype if dtype is None else dtypes.as_dtype(dtype)
    raw = np.ascontiguousarray(dtypes.rounded(values, element_type)).view(np.uint8).reshape(-1)
    run = current()
    memory = run.allocate("hbm", values.shape, element_type, name="shared_constant", raw=raw)
    return run.tensor(memory)


def _loaded(path: str | os.PathLike[str]) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise NkiError(f"shared_constant cannot read {os.fspath(path)}: {error}") from None


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Tensor:
    """Return an n x n identity matrix as a tensor in device memory."""
    return shared_constant(np.eye(int(n), dtype=np.float32), dtype)


def rand(shape: Any, dtype: Any, **placement: Any) -> Tensor:
    """Return a tile of random numbers between 0 and 1, equal in every run."""
    tensor = full(shape, 0, dtype, **placement)
    tensor.put(current().random.random(size_of(tensor.shape)).reshape(tensor.shape))
    return tensor


def random_seed(seed: Any) -> None:
    """Restart the random numbers from a seed, an integer or a tensor with one integer."""
    value = seed.array().reshape(-1)[0] if isinstance(seed, Tensor) else seed
    current().random = np.random.default_rng(int(value))


def defined(tensor: Tensor) -> bool:
    """Return whether every element of a tensor is defined."""
    states = tensor.memory.states
    return states is None or bool((tensor.per_element(states) == DEFINED).all())
