"""The newer interface's tensors: views by slices and by access patterns, and nothing else."""

from typing import Any, ClassVar, NoReturn

from kvtrace.nki.errors import NkiError
from kvtrace.nki.indices import Index
from kvtrace.nki.tensors import Tensor


class NkiTensor(Tensor):
    """A tensor of `nki`."""

    __slots__ = ()
    integer_partitions: ClassVar[bool] = False

    def __getitem__(self, key: Any) -> "NkiTensor":
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, Index) for part in parts):
            raise NkiError("index expressions index no tensor of this interface; use slices")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NkiError(
            "a tensor of this interface cannot be assigned to; name it as dst of an instruction"
        )

    def _no_operator(self, *others: Any) -> NoReturn:
        del others
        raise NkiError(
            "tensors of this interface have no operators; use an instruction, as nisa.tensor_tensor"
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
        """Return a part of one dimension."""
        parts: list[Any] = [slice(None)] * self.ndim
        parts[dim] = slice(start, end, step)
        return self[tuple(parts)]

    def select(self, dim: int, index: int) -> "NkiTensor":
        """Return one place of a dimension, which goes."""
        parts: list[Any] = [slice(None)] * self.ndim
        parts[dim] = index
        return self[tuple(parts)]

    def broadcast(self, dim: int, size: int) -> "NkiTensor":
        """Repeat a dimension of one element."""
        return self.broadcast_to(*self.shape[:dim], size, *self.shape[dim + 1 :])

    def expand_dim(self, dim: int) -> "NkiTensor":
        """Return a view with a new dimension of one element."""
        return self.expand_dims(dim)

    def squeeze_dim(self, dim: int) -> "NkiTensor":
        """Return a view without a dimension of one element."""
        if self.shape[dim] != 1:
            raise NkiError(f"dimension {dim} has {self.shape[dim]} elements, not one")
        return self.reshape(*self.shape[:dim], *self.shape[dim + 1 :])

    def reshape_dim(self, dim: int, shape: Any) -> "NkiTensor":
        """Return a view with one dimension as several; one of them may be -1."""
        sizes = [int(size) for size in shape]
        if -1 in sizes:
            known = 1
            for size in sizes:
                known *= size if size > 0 else 1
            sizes[sizes.index(-1)] = self.shape[dim] // known
        return self.reshape(*self.shape[:dim], *sizes, *self.shape[dim + 1 :])

    def flatten_dims(self, start_dim: int, end_dim: int) -> "NkiTensor":
        """Return a view with some neighbouring dimensions as one."""
        total = 1
        for size in self.shape[start_dim : end_dim + 1]:
            total *= size
        return self.reshape(*self.shape[:start_dim], total, *self.shape[end_dim + 1 :])

    def get_pattern(self) -> list[list[int]]:
        """Return the view as `[step, count]` for each dimension."""
        return [[step, size] for step, size in zip(self.strides, self.shape, strict=True)]
