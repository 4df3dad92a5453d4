"""Conversion between torch's tensors and files of inputs and results; import of user files."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.inputs.cases import Case, Input, ScalarInput, TensorInput, numpy_dtype

#: Description of a stored result: `dtype`, `shape` and `file`.
StoredResult = dict[str, Any]


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file as the module `name`, with underscores appended if that name is taken.

    The file's folder is added to `sys.path`.
    """
    sys.path.insert(0, str(path.parent))
    while name in sys.modules:
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def tensor_from(description: TensorInput, folder: Path, device: str = "cpu") -> Any:
    """Return the tensor of an input on a device; its file in `folder` has the storage's bytes."""
    return tensor_of(description, (folder / description.file).read_bytes(), device)


def tensor_of(description: TensorInput, content: bytes, device: str = "cpu") -> Any:
    """Return the tensor of an input on a device, with a new storage of the given bytes."""
    import torch

    dtype = getattr(torch, description.dtype)
    data = bytearray(content)
    storage = torch.frombuffer(data, dtype=dtype).clone() if data else torch.empty(0, dtype=dtype)
    return storage.to(device).as_strided(description.shape, description.strides, description.offset)


def arguments_from(case: Case, folder: Path, device: str = "cpu") -> list[Any]:
    """Return the values of a case's inputs, with tensors on a device; shared inputs are shared."""
    arguments: list[Any] = []
    for number, entry in enumerate(case.inputs):
        earlier_input = case.shared_with(number)
        if earlier_input is not None:
            arguments.append(arguments[earlier_input])
        elif isinstance(entry, ScalarInput):
            arguments.append(entry.value)
        else:
            arguments.append(tensor_from(entry, folder, device))
    return arguments


def bytes_of(tensor: Any) -> bytes:
    """Return the bytes of a tensor's elements in order."""
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size())


def storage_bytes(tensor: Any) -> bytes:
    """Return all bytes of the storage that a tensor views, in host memory on any device here."""
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes())


def store_result(tensor: Any, folder: Path, file: str) -> StoredResult:
    """Write a result's elements into a file, and return its description."""
    (folder / file).write_bytes(bytes_of(tensor))
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"dtype": dtype, "shape": list(tensor.shape), "file": file}


def array(folder: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    """Return the elements of a result that `store_result` has written."""
    content = (folder / str(entry["file"])).read_bytes()
    return np.frombuffer(content, numpy_dtype(str(entry["dtype"]))).reshape(entry["shape"])


def results_of(returned: Any) -> list[Any]:
    """Return a function's result as a flat list of the values in its lists, tuples and dicts."""
    if returned is None:
        return []
    if isinstance(returned, Mapping):
        return [leaf for value in returned.values() for leaf in results_of(value)]
    if isinstance(returned, Sequence) and not isinstance(returned, str | bytes):
        return [leaf for value in returned for leaf in results_of(value)]
    return [returned]


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of torch."""
    import torch

    return isinstance(value, torch.Tensor)


def is_floats(value: Any) -> bool:
    """Return whether a value is a tensor of torch that holds floats."""
    return is_tensor(value) and bool(value.is_floating_point())


def input_of(value: Any, name: str) -> Input:
    """Return the description of an input value, without its contents.

    Raises:
        TypeError: the value is neither a tensor nor a number, bool, text or None.
    """
    if is_tensor(value):
        dtype = str(value.dtype).removeprefix("torch.")
        storage = value.untyped_storage().nbytes() // value.element_size()
        return TensorInput(
            name, dtype, tuple(value.shape), tuple(value.stride()), value.storage_offset(), storage
        )
    if value is None or isinstance(value, int | float | bool | str):
        return ScalarInput(name, value)
    raise TypeError(f"the input {name} is a {type(value).__name__}, not a tensor or number")
