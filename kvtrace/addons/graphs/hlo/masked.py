"""Elements that a traced mask selects: their number is unknown, so all elements are kept.

`x[mask] *= 2` and `x[mask].mean()` need no number: functions are applied to all elements, and the
mask decides which are written back, or counted. Operations that need the number are refused.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from kvtrace.addons.graphs.hlo.builders import FUNCTIONS, METHODS, name_of
from kvtrace.addons.graphs.hlo.dtypes import highest, lowest
from kvtrace.addons.graphs.hlo.errors import DataDependent
from kvtrace.addons.graphs.hlo.wrapper import Tensor

#: Reductions that take a mask as `where`.
_REDUCTIONS: Final = (np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all, np.max, np.min)

_ADVICE: Final = "use np.where, or a reduction with where="


class MaskedElements(NDArrayOperatorsMixin):
    """The elements that a traced mask selects, as the values of all elements and the mask."""

    def __init__(self, values: Tensor, mask: Tensor) -> None:
        self.values = values
        self.mask = mask

    @property
    def dtype(self) -> Any:
        """The element type of the values."""
        return self.values.dtype

    def __repr__(self) -> str:
        return f"<elements of {self.values!r} where a mask holds>"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        builder = FUNCTIONS.get(ufunc)
        out = kwargs.pop("out", None)
        if builder is None or method != "__call__" or kwargs:
            self._refuse(name_of(ufunc))
        result = builder(*(self._operand(value, name_of(ufunc)) for value in inputs))
        if out is None:
            return MaskedElements(result, self.mask)
        self.values = FUNCTIONS[np.positive](result.astype(self.values.dtype))
        return self

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function not in _REDUCTIONS or len(args) != 1 or kwargs:
            self._refuse(name_of(function))
        return self._reduced(function)

    def _reduced(self, function: Any) -> Any:
        settings: dict[str, Any] = {"where": self.mask}
        if function in (np.max, np.min):
            bound = lowest if function is np.max else highest
            settings["initial"] = bound(self.values.dtype)
        return FUNCTIONS[function](self.values, **settings)

    def astype(self, dtype: Any) -> "MaskedElements":
        """Return the selected elements converted to another type."""
        return MaskedElements(METHODS["astype"](self.values, dtype), self.mask)

    def __getattr__(self, name: str) -> Callable[[], Any]:
        function = getattr(np, name, None)
        if function in _REDUCTIONS:
            return lambda: self._reduced(function)
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"elements under a mask have no attribute {name!r}")
        return self._refuse(name)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("NumPy's conversion to an array")

    def __len__(self) -> int:
        self._refuse("len()")

    def __bool__(self) -> bool:
        self._refuse("a branch")

    def values_under(self, mask: Tensor) -> Tensor:
        """Return the values of all elements, for a mask equal to this object's.

        Raises:
            DataDependent: The mask differs.

        """
        if mask._builder is not self.mask._builder or not _are_equal(mask, self.mask):
            self._refuse("an assignment of elements under two masks")
        return self.values

    def _operand(self, value: Any, function_name: str) -> Any:
        """Return a scalar unchanged, and elements under this mask as values of all elements."""
        if isinstance(value, MaskedElements):
            return value.values_under(self.mask)
        if np.ndim(value) == 0:
            return value
        return self._refuse(f"{function_name} with an array")

    def refuse_return(self) -> NoReturn:
        """Raise the error of a result with an unknown number of elements.

        Raises:
            DataDependent: Always.

        """
        self._refuse("a result of the traced function")

    def _refuse(self, operation: str) -> NoReturn:
        raise DataDependent.here(
            f"the number of elements that a traced mask selects depends on data, but {operation} "
            f"needs the number; {_ADVICE}"
        )


def _are_equal(mask: Tensor, other: Tensor) -> bool:
    """Return whether two masks have equal values: one op, or equal ops of equal operands."""
    ops = mask._builder.ops
    mask_op, other_op = ops[mask._index], ops[other._index]
    if mask._index == other._index:
        return True
    return (
        mask_op.opcode == other_op.opcode
        and mask_op.opcode in ("broadcast_in_dim", "reshape", "compare")
        and mask_op.shape == other_op.shape
        and mask_op.attributes == other_op.attributes
        and all(
            _are_equal(_as_tensor(mask, a), _as_tensor(mask, b))
            for a, b in zip(mask_op.operands, other_op.operands, strict=True)
        )
    )


def _as_tensor(sibling: Tensor, index: int) -> Tensor:
    op = sibling._builder.ops[index]
    assert op.dtype is not None
    return Tensor(sibling._builder, index, op.shape, op.dtype)
