"""torch's side of inputs: tensors made of storages' bytes, and files of results' bytes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import numpy_dtype
from kvtrace.addons.judge.inputs import Case, Input, ScalarInput, TensorInput

#: How results that a file keeps are named; a tensor is `name`, `dtype`, `shape`, `file`.
StoredResult = dict[str, Any]


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file under a name, or one that is like it; files beside it can be imported by it."""
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


def tensor_from(given: TensorInput, folder: Path, device: str = "cpu") -> Any:
    """Make the tensor of an input on a device, on a separate storage."""
    return tensor_of(given, (folder / given.file).read_bytes(), device)


def tensor_of(given: TensorInput, content: bytes, device: str = "cpu") -> Any:
    """Make the tensor of an input on a device, on a separate storage with these bytes."""
    import torch

    dtype = getattr(torch, given.dtype)
    data = bytearray(content)
    storage = torch.frombuffer(data, dtype=dtype).clone() if data else torch.empty(0, dtype=dtype)
    return storage.to(device).as_strided(given.shape, given.strides, given.offset)


def arguments_from(case: Case, folder: Path, device: str = "cpu") -> list[Any]:
    """Make all inputs of a case on a device."""
    made: list[Any] = []
    for number, each in enumerate(case.inputs):
        same = case.shared_with(number)
        if same is not None:
            made.append(made[same])
        elif isinstance(each, ScalarInput):
            made.append(each.value)
        else:
            made.append(tensor_from(each, folder, device))
    return made


def bytes_of(tensor: Any) -> bytes:
    """Return the bytes of a tensor's elements, one after the other."""
    import torch

    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).cpu().numpy().tobytes()) if flat.numel() else b""


def storage_bytes(tensor: Any) -> bytes:
    """Return all bytes of the storage that a tensor views."""
    import torch

    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return bytes(whole.set_(tensor.detach().untyped_storage()).cpu().numpy().tobytes())


def store_result(tensor: Any, name: str, folder: Path, file: str) -> StoredResult:
    """Write a result's elements into a file, and return what describes it."""
    (folder / file).write_bytes(bytes_of(tensor))
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"name": name, "dtype": dtype, "shape": list(tensor.shape), "file": file}


def array(folder: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    """Return a result that `store_result` has written."""
    content = (folder / str(entry["file"])).read_bytes()
    return np.frombuffer(content, numpy_dtype(str(entry["dtype"]))).reshape(entry["shape"])


def results_of(returned: Any) -> list[Any]:
    """Return the tensors of what a function returned, in order; other values stay as they are."""
    if returned is None:
        return []
    if isinstance(returned, Mapping):
        return [one for each in returned.values() for one in results_of(each)]
    if isinstance(returned, Sequence) and not isinstance(returned, str | bytes):
        return [one for each in returned for one in results_of(each)]
    return [returned]


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch."""
    import torch

    return isinstance(value, torch.Tensor)


def is_floats(value: Any) -> bool:
    """Whether a value is a tensor of torch that holds floats."""
    return is_tensor(value) and bool(value.is_floating_point())


def input_of(value: Any, name: str) -> Input:
    """Return what an input is that a function of a file made, without its contents.

    Raises:
        TypeError: it is neither a tensor nor a number.

    """
    if is_tensor(value):
        dtype = str(value.dtype).removeprefix("torch.")
        storage = value.untyped_storage().nbytes() // value.element_size()
        return TensorInput(
            name, dtype, tuple(value.shape), tuple(value.stride()), value.storage_offset(), storage
        )
    if value is None or isinstance(value, int | float | bool | str):
        return ScalarInput(name, value)
    raise TypeError(f"the input {name} is a {type(value).__name__}, no tensor or number")
