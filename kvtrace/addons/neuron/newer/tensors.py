"""Tensors of the newer interface: views by slices and access patterns, without operators."""

from typing import Any, NoReturn

import numpy as np

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index, ds, index_of_data
from kvtrace.addons.neuron.memory import size_of
from kvtrace.addons.neuron.ops import moves
from kvtrace.addons.neuron.tensors import Selection, Tensor


class NkiTensor(Tensor):
    """A tensor of the newer interface, `nki`."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> "NkiTensor":
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, Index) for part in parts):
            raise NkiError("tensors of nki cannot be indexed by index expressions; use slices")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if target.on_chip:
            moves.put(target, value)
        else:
            moves.store.older(target, value)

    def _no_operator(self, *others: Any) -> NoReturn:
        del others
        raise NkiError(
            "tensors of nki have no operators; use an instruction such as nisa.tensor_tensor"
        )

    __add__ = __radd__ = __iadd__ = _no_operator
    __sub__ = __rsub__ = __isub__ = _no_operator
    __mul__ = __rmul__ = __imul__ = _no_operator
    __truediv__ = __rtruediv__ = __itruediv__ = _no_operator
    __pow__ = __rpow__ = __mod__ = __neg__ = __abs__ = _no_operator
    __and__ = __or__ = __xor__ = __invert__ = _no_operator
    __lt__ = __le__ = __gt__ = __ge__ = _no_operator
    __hash__ = Tensor.__hash__

    def __eq__(self, other: object) -> bool:
        return False if other is None else self._no_operator(other)

    def __ne__(self, other: object) -> bool:
        return True if other is None else self._no_operator(other)

    # -- views by name ----------------------------------------------------------------------

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> "NkiTensor":
        """Return a view of elements `start` to `end` (not included) of one dimension."""
        parts: list[Any] = [slice(None)] * self.ndim
        parts[dim] = slice(start, end, step)
        return self[tuple(parts)]

    def select(self, dim: int, index: Any) -> "NkiTensor":
        """Return a view at an index, maybe in a tensor, of `dim`, which the view lacks."""
        parts: list[Any] = [slice(None)] * self.ndim
        if isinstance(index, int):
            parts[dim] = index
            return self[tuple(parts)]
        parts[dim] = ds(index, 1)
        selected = self[tuple(parts)]
        return selected.reshape(*self.shape[:dim], *self.shape[dim + 1 :])

    def vector_select(self, dim: int, vector_offset: Any) -> "NkiTensor":
        """Return a view of the rows of a tensor in device memory whose indices are in a tensor."""
        if dim != 0 or self.on_chip:
            raise NkiError("vector_select needs dim=0, and a tensor in device memory")
        self._require_no_selection()
        rows = index_of_data(vector_offset).values().reshape(-1)
        shape = (rows.size, *self.shape[1:])
        indices = [
            (rows if axis == 0 else np.arange(size)).reshape(
                (1,) * axis + (-1,) + (1,) * (self.ndim - axis - 1)
            )
            for axis, size in enumerate(shape)
        ]
        selection = Selection(tuple(indices), strict=False, from_data=True)
        return NkiTensor(
            self.memory, self.offset, shape, self.strides, -1, self.dtype, selection, self.shape
        )

    def reinterpret_cast(self, dtype: Any) -> "NkiTensor":
        """Return a view of the bytes as elements of another type of the same width.

        Raises:
            NkiError: an element of the type has another number of bytes.
        """
        new_type = dtypes.as_dtype(dtype)
        if new_type.itemsize != self.itemsize:
            raise NkiError(
                f"reinterpret_cast needs a type of {self.itemsize} bytes like {self.dtype}, "
                f"not {new_type}; use view"
            )
        return self.view(new_type)

    @property
    def name(self) -> str:
        """The program's name of the viewed buffer, or ""."""
        return self.memory.argument or self.memory.life.name

    @property
    def data(self) -> "NkiTensor":
        """The tensor itself; for a grid of tiles, `data` is the grid's tensor."""
        return self

    def broadcast(self, dim: int, size: int) -> "NkiTensor":
        """Return a view that repeats a dimension of size 1."""
        return self.broadcast_to(*self.shape[:dim], size, *self.shape[dim + 1 :])

    def expand_dim(self, dim: int) -> "NkiTensor":
        """Return a view with a new dimension of size 1."""
        return self.expand_dims(dim)

    def squeeze_dim(self, dim: int) -> "NkiTensor":
        """Return a view without a dimension of size 1."""
        if self.shape[dim] != 1:
            raise NkiError(f"dimension {dim} has {self.shape[dim]} elements, not one")
        return self.reshape(*self.shape[:dim], *self.shape[dim + 1 :])

    def reshape_dim(self, dim: int, shape: Any) -> "NkiTensor":
        """Return a view with one dimension split into the sizes of `shape`; one may be -1."""
        sizes = [int(size) for size in shape]
        if -1 in sizes:
            product = 1
            for size in sizes:
                product *= size if size > 0 else 1
            sizes[sizes.index(-1)] = self.shape[dim] // product
        return self.reshape(*self.shape[:dim], *sizes, *self.shape[dim + 1 :])

    def flatten_dims(self, start_dim: int, end_dim: int) -> "NkiTensor":
        """Return a view with the dimensions `start_dim` to `end_dim` joined into one."""
        joined_size = 1
        for size in self.shape[start_dim : end_dim + 1]:
            joined_size *= size
        return self.reshape(*self.shape[:start_dim], joined_size, *self.shape[end_dim + 1 :])

    def rearrange(self, src_pattern: Any, dst_pattern: Any, fixed_sizes: Any = None) -> "NkiTensor":
        """Return a view with dimensions split, reordered and joined by name.

        A pattern has a name, or a tuple of names, for each dimension of this tensor, and of the
        result. `fixed_sizes` has the sizes of names; one name of each tuple may be missing.

        Raises:
            NkiError: the patterns do not name the same dimensions, or do not fit the shape.
        """
        source = [part if isinstance(part, tuple | list) else (part,) for part in src_pattern]
        target = [part if isinstance(part, tuple | list) else (part,) for part in dst_pattern]
        source_names = [name for part in source for name in part]
        target_names = [name for part in target for name in part]
        if (
            len(source) != self.ndim
            or sorted(source_names) != sorted(target_names)
            or len({*source_names}) < len(source_names)
        ):
            raise NkiError(
                f"{src_pattern} and {dst_pattern} do not name dimensions of {self.shape}"
            )
        sizes = dict(fixed_sizes or {})
        for part, size in zip(source, self.shape, strict=True):
            unsized = [name for name in part if name not in sizes]
            product = size_of(tuple(int(sizes[name]) for name in part if name in sizes))
            if len(unsized) > 1 or size % product or (not unsized and product != size):
                raise NkiError(f"dimensions {tuple(part)} do not multiply to {size} elements")
            sizes |= dict.fromkeys(unsized, size // product)
        split = self.reshape(*(int(sizes[name]) for name in source_names))
        permuted = split.permute(*(source_names.index(name) for name in target_names))
        target_sizes = (size_of(tuple(int(sizes[name]) for name in part)) for part in target)
        return permuted.reshape(*target_sizes)

    def is_contiguous(self) -> bool:
        """Return whether the elements are contiguous, on chip within each partition."""
        pairs = list(zip(self.shape, self.strides, strict=True))[1 if self.on_chip else 0 :]
        step = 1
        for size, stride in reversed(pairs):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    def is_indirect(self) -> bool:
        """Return whether indices in a tensor select the elements."""
        return self.selection is not None and self.selection.from_data

    def get_pattern(self) -> list[list[int]]:
        """Return the view's access pattern: `[step, count]` for each dimension."""
        return [[step, size] for step, size in zip(self.strides, self.shape, strict=True)]
