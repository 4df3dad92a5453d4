"""Arguments of kernels: NumPy, torch or JAX arrays as tensors in device memory, and back.

A kernel may be called while a NumPy function is traced to a graph. The arguments are then objects
with a method `_call_kernel`, the only thing that this package knows about graphs.
"""

import sys
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import Run
from kvtrace.addons.neuron.tensors import Tensor


class LaunchArrays:
    """The arrays passed to a launch, and the memories through which the kernel accesses them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._copies: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._has_torch = False
        self._memories: dict[int, Any] = {}

    def kernel_argument(self, name: str, value: Any) -> Any:
        """Return an argument with its arrays, also those in containers, as tensors."""
        if isinstance(value, tuple | list):
            items = [self.kernel_argument(f"{name}.{at}", item) for at, item in enumerate(value)]
            return container_like(value, items)
        if isinstance(value, dict):
            return {key: self.kernel_argument(f"{name}.{key}", item) for key, item in value.items()}
        array = array_of(value)
        self._has_torch = self._has_torch or (array is not None and _is_torch(value))
        return value if array is None else self._argument_tensor(name, array)

    def copy_back(self) -> None:
        """Copy contents back to arrays that were copied; read-only arrays are left alone."""
        for original, copy in self._copies:
            if original.flags.writeable:
                original[...] = copy

    def written_arrays(self) -> list[int]:
        """Return `id(array)` of each array that the kernel has written to."""
        return [identity for identity, memory in self._memories.items() if memory.written]

    def result_arrays(self, value: Any) -> Any:
        """Return a kernel's results as arrays; as torch tensors if an argument was one."""
        if isinstance(value, tuple | list):
            return container_like(value, [self.result_arrays(item) for item in value])
        if not isinstance(value, Tensor):
            return value
        array = np.array(value.array())
        return _as_torch(array) if self._has_torch else array

    def _argument_tensor(self, name: str, array: NDArray[Any]) -> Tensor:
        memory = self._memories.get(id(array))
        if memory is None:
            memory = self._memories[id(array)] = self._argument_memory(name, array)
        return self._run.tensor(memory)

    def _argument_memory(self, name: str, array: NDArray[Any]) -> Any:
        if array.dtype.kind not in "biufV" or array.dtype == np.float64:
            supported = "float32" if array.dtype == np.float64 else "another type"
            raise NkiError(
                f"argument {name!r} is {array.dtype}, which NKI does not have; pass {supported}"
            )
        contents = array
        if not array.flags.c_contiguous or not array.flags.writeable:
            contents = np.array(array, order="C")
            self._copies.append((array, contents))
        raw = contents.reshape(-1).view(np.uint8)
        site = self._run.recorder.site("argument", "none", "allocate", -1)
        memory = self._run.allocate("hbm", array.shape, array.dtype, name=name, raw=raw, site=site)
        memory.argument = name
        return memory


def container_like(value: Any, items: list[Any]) -> Any:
    """Return the items in a list, tuple or named tuple of the class of `value`."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def array_of(value: Any) -> NDArray[Any] | None:
    """Return a NumPy, torch or JAX array as a NumPy array, or None; copied only if necessary."""
    if isinstance(value, np.ndarray):
        return value
    if _is_torch(value):
        return _from_torch(value)
    is_array = hasattr(value, "__array__") and hasattr(value, "dtype")
    return np.asarray(value) if is_array and getattr(value, "shape", None) else None


def traced_tensors(value: Any) -> list[Any]:
    """Return the distinct tensors of a graph's trace among the arguments, in order."""
    tensors: list[Any] = []
    for leaf in _leaves(value):
        if hasattr(type(leaf), "_call_kernel") and not any(leaf is tensor for tensor in tensors):
            tensors.append(leaf)
    return tensors


def replace_leaves(value: Any, old: list[Any], new: list[Any]) -> Any:
    """Return a nested container with each leaf of `old` replaced by that of `new` at its index."""
    if isinstance(value, dict):
        return {key: replace_leaves(item, old, new) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return container_like(value, [replace_leaves(item, old, new) for item in value])
    for old_leaf, new_leaf in zip(old, new, strict=True):
        if value is old_leaf:
            return new_leaf
    return value


def result_leaves(value: Any) -> list[Any]:
    """Return the arrays and tensors among a kernel's results, in order."""
    return [leaf for leaf in _leaves(value) if hasattr(leaf, "dtype") and hasattr(leaf, "shape")]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(tensor: Any) -> NDArray[Any]:
    detached = tensor.detach().cpu()
    name = str(detached.dtype).removeprefix("torch.")
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        width = "int16" if name == "bfloat16" else "uint8"
        bits = detached.view(getattr(sys.modules["torch"], width)).numpy()
        return np.asarray(bits.view(getattr(ml_dtypes, name)))
    return np.asarray(detached.numpy())


def _as_torch(array: NDArray[Any]) -> Any:
    torch = sys.modules["torch"]
    name = str(array.dtype)
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        bits = array.view(np.int16 if name == "bfloat16" else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, name))
    return torch.from_numpy(array)
