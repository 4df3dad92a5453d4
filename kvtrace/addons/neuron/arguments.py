"""Arguments of kernels: arrays of NumPy, torch or JAX as tensors in device memory, and back.

A kernel may be called while a NumPy function is traced to a graph. Its arguments are then objects
with a method `_call_kernel`; this room knows no more of graphs.
"""

import sys
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import Run
from kvtrace.addons.neuron.tensors import Tensor


class Taken:
    """The arrays that a launch was given. What a kernel writes to them is theirs afterwards."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._copies: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._torch = False
        self._memories: dict[int, Any] = {}

    def of(self, name: str, value: Any) -> Any:
        """Return an argument as the kernel sees it: arrays become tensors, also inside of lists."""
        if isinstance(value, tuple | list):
            return like(value, [self.of(f"{name}.{at}", each) for at, each in enumerate(value)])
        if isinstance(value, dict):
            return {key: self.of(f"{name}.{key}", item) for key, item in value.items()}
        array = array_of(value)
        self._torch = self._torch or (array is not None and _is_torch(value))
        return value if array is None else self._tensor(name, array)

    def give_back(self) -> None:
        """Write to arrays that were copied what the kernel wrote to the copies."""
        for original, copy in self._copies:
            if original.flags.writeable:
                original[...] = copy

    def written(self) -> list[int]:
        """Return the identities of the arrays that the kernel has written to."""
        return [identity for identity, memory in self._memories.items() if memory.written]

    def result(self, value: Any) -> Any:
        """Return what a kernel returned as arrays: torch's where its arguments were."""
        if isinstance(value, tuple | list):
            return like(value, [self.result(item) for item in value])
        if not isinstance(value, Tensor):
            return value
        array = np.array(value.array())
        return _as_torch(array) if self._torch else array

    def _tensor(self, name: str, array: NDArray[Any]) -> Tensor:
        known = self._memories.get(id(array))
        if known is None:
            known = self._memories[id(array)] = self._memory(name, array)
        return self._run.tensor(known)

    def _memory(self, name: str, array: NDArray[Any]) -> Any:
        if array.dtype.kind not in "biufV" or array.dtype == np.float64:
            wanted = "float32" if array.dtype == np.float64 else "another type"
            raise NkiError(
                f"argument {name!r} is {array.dtype}, which NKI has not; make it {wanted}"
            )
        held = array
        if not array.flags.c_contiguous or not array.flags.writeable:
            held = np.array(array, order="C")
            self._copies.append((array, held))
        raw = held.reshape(-1).view(np.uint8)
        site = self._run.recorder.site("argument", "none", "allocate", -1)
        memory = self._run.allocate("hbm", held.shape, held.dtype, name=name, raw=raw, site=site)
        memory.argument = name
        memory.shared = True
        return memory


def like(value: Any, items: list[Any]) -> Any:
    """Return items as a list, a tuple, or a named tuple, as another value is one."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def array_of(value: Any) -> NDArray[Any] | None:
    """Return a NumPy, torch or JAX array as NumPy's, without a copy where that can be."""
    if isinstance(value, np.ndarray):
        return value
    if _is_torch(value):
        return _from_torch(value)
    is_array = hasattr(value, "__array__") and hasattr(value, "dtype")
    return np.asarray(value) if is_array and getattr(value, "shape", None) else None


def traced_tensors(value: Any) -> list[Any]:
    """Return the traced tensors among arguments, in order, each once."""
    found: list[Any] = []
    for leaf in _leaves(value):
        if hasattr(type(leaf), "_call_kernel") and not any(leaf is each for each in found):
            found.append(leaf)
    return found


def placed_again(value: Any, old: list[Any], new: list[Any]) -> Any:
    """Return a structure with some leaves in the place of others."""
    if isinstance(value, dict):
        return {key: placed_again(item, old, new) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return like(value, [placed_again(item, old, new) for item in value])
    for one, other in zip(old, new, strict=True):
        if value is one:
            return other
    return value


def as_results(value: Any) -> list[Any]:
    """Return the arrays that a kernel has returned."""
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
