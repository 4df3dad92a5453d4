"""Tensors made by name: allocated, filled, or constants of the program."""

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
    """Allocate a tensor, by default in SBUF; nothing is written to it."""
    del placement
    return _allocated(shape, dtype, buffer_of(buffer), name)


def _allocated(shape: Any, dtype: Any, buffer: Buffer, name: str, raw: Any = None) -> Tensor:
    run = current()
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    marked = [place for place, size in enumerate(sizes) if isinstance(size, PartitionSize)]
    plain = tuple(int(size) for size in sizes)
    if buffer.space != "hbm" and len(plain) == 1:
        plain = (*plain, 1)
    memory = run.allocate(
        buffer.space,
        plain,
        dtypes.as_dtype(dtype),
        partition=marked[0] if marked else 0,
        name=name,
        shared=buffer.shared,
        raw=raw,
    )
    return run.tensor(memory)


def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any
) -> Tensor:
    """Allocate a tensor of one number in every element."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name, **placement)
    tensor.put(np.asarray(fill_value))
    memory = tensor.memory
    memory.states = None
    run = current()
    site = run.recorder.site("nl.full", "vector", "other", run.loop_number)
    nbytes = tensor.size * tensor.itemsize
    device, chip = (nbytes, 0) if memory.space == "hbm" else (0, nbytes)
    memory.life.first = memory.life.last = run.recorder.count
    run.recorder.execute(
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
    """Allocate a tensor of zeros."""
    return full(shape, 0, dtype, buffer=buffer, name=name, **placement)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Allocate a tensor of ones."""
    return full(shape, 1, dtype, buffer=buffer, name=name, **placement)


def empty_like(a: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Allocate a tensor of another one's shape and type; nothing is written to it."""
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def zeros_like(a: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Allocate a tensor of zeros with another one's shape and type."""
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def shared_constant(constant: Any, dtype: Any = None) -> Tensor:
    """Return a constant of the program, or of a file of NumPy's, as a tensor in device memory.

    Raises:
        NkiError: the file is not there, or none of NumPy's.
    """
    values = _of_file(constant) if isinstance(constant, str | os.PathLike) else np.array(constant)
    given = values.dtype if dtype is None else dtypes.as_dtype(dtype)
    raw = np.ascontiguousarray(dtypes.rounded(values, given)).view(np.uint8).reshape(-1)
    run = current()
    memory = run.allocate("hbm", values.shape, given, name="shared_constant", raw=raw)
    return run.tensor(memory)


def _of_file(path: str | os.PathLike[str]) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise NkiError(f"shared_constant cannot read {os.fspath(path)}: {error}") from None


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Tensor:
    """Return an identity matrix as a tensor in device memory."""
    return shared_constant(np.eye(int(n), dtype=np.float32), dtype)


def rand(shape: Any, dtype: Any, **placement: Any) -> Tensor:
    """Return a tile of random numbers from 0 to 1; the same ones in every run."""
    tensor = full(shape, 0, dtype, **placement)
    tensor.put(current().random.random(size_of(tensor.shape)).reshape(tensor.shape))
    return tensor


def random_seed(seed: Any) -> None:
    """Begin the random numbers again."""
    value = seed.array().reshape(-1)[0] if isinstance(seed, Tensor) else seed
    current().random = np.random.default_rng(int(value))


def defined(tensor: Tensor) -> bool:
    """Whether every element of a tensor has been given a value."""
    states = tensor.memory.states
    return states is None or bool((tensor.of_elements(states) == DEFINED).all())
