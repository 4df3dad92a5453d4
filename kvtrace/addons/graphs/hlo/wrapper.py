"""The wrapper that represents an array while its function is traced.

It has a shape and an element type, and no values. NumPy passes function calls to it
(`__array_function__`, `__array_ufunc__`); operators and methods go to the same builders. An
assignment in place makes the wrapper represent another op; a view writes through to its base, and
is read again after writes to the base (`views.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from kvtrace.addons.graphs.hlo.builder import Builder, current
from kvtrace.addons.graphs.hlo.builders import (
    AT,
    FUNCTIONS,
    METHODS,
    REFUSED,
    REFUSED_METHODS,
    name_of,
)
from kvtrace.addons.graphs.hlo.dtypes import BOOL, Dtype, is_float, is_integer
from kvtrace.addons.graphs.hlo.errors import (
    BadArgument,
    DataDependent,
    GraphError,
    RefusedMutation,
    ShapeMismatch,
    UnsupportedFunction,
    UnsupportedMethod,
)

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo.views import View


class Tensor(NDArrayOperatorsMixin):
    """A value of a graph that is being traced: a shape and an element type, without data."""

    __slots__ = (
        "_builder",
        "_dtype",
        "_index",
        "_permuted",
        "_shape",
        "_version",
        "_view",
        "_write_refusal",
    )

    #: Higher than NumPy's arrays and scalars in mixed operations.
    __array_priority__ = 1000.0

    def __init__(self, builder: Builder, index: int, shape: tuple[int, ...], dtype: Dtype) -> None:
        self._builder = builder
        self._index = index
        self._shape = shape
        self._dtype = dtype
        self._version = 0
        self._view: View | None = None
        self._write_refusal: str | None = None
        #: NumPy may store the elements in another order than row-major.
        self._permuted = False

    # -- facts ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape, of Python integers."""
        return self._shape

    @property
    def dtype(self) -> Dtype:
        """The tensor's element type."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> "Tensor":  # noqa: N802 - as NumPy's
        """The tensor with its axes in reverse order."""
        result: Tensor = FUNCTIONS[np.transpose](self)
        return result

    @property
    def mT(self) -> "Tensor":  # noqa: N802 - as NumPy's
        """The tensor with its last two axes swapped."""
        result: Tensor = FUNCTIONS[np.swapaxes](self, -1, -2)
        return result

    def __repr__(self) -> str:
        return f"<traced {self.dtype.name}{list(self.shape)} in {self._builder.name}>"

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeMismatch.here("a tensor without axes has no length; use its shape")
        return self.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        take = METHODS["__getitem__"]
        return iter([take(self, row) for row in range(len(self))])

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED_METHODS:
            return REFUSED_METHODS[name]
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise UnsupportedMethod.here(
                f"the array method or attribute {name} has no form as graph ops; write it with "
                "methods and functions that have one (docs/hlo.md lists them)"
            )
        raise AttributeError(f"a traced tensor has no attribute {name!r}")

    def _call_kernel(self, *call: Any, written: "Sequence[Tensor]" = ()) -> "tuple[Tensor, ...]":
        """Append a call of a kernel with this tensor as an argument; return its results.

        `call` has the arguments of `primitives.call_kernel`. The last results of the kernel are
        assigned to the `written` tensors, and not returned.
        """
        from kvtrace.addons.graphs.hlo.primitives import call_kernel

        results = call_kernel(*call)
        returned = len(results) - len(written)
        for tensor, value in zip(written, results[returned:], strict=True):
            tensor.assign(value)
        return results[:returned]

    # -- NumPy's functions ------------------------------------------------------------------

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        builder = FUNCTIONS.get(function) or REFUSED.get(function)
        if builder is None:
            raise _unsupported(name_of(function))
        try:
            return builder(*args, **kwargs)
        except TypeError as error:
            raise _call_error(name_of(function), error) from error

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        builders = {"__call__": FUNCTIONS, "at": AT}.get(method, {})
        builder = builders.get(ufunc)
        if builder is None:
            suffix = "" if method == "__call__" else f".{method}"
            raise _unsupported(f"{name_of(ufunc)}{suffix}")
        if method == "at":
            return builder(*inputs)
        return _call_ufunc(builder, ufunc, inputs, kwargs)

    # -- assignment -------------------------------------------------------------------------

    def assign(self, value: "Tensor") -> None:
        """Set the value of the tensor, and so of its base and of its views; small types convert.

        Raises:
            ShapeMismatch: The value has another shape.
            BadArgument: The value's element type is of a higher kind, as float is over integer.
            RefusedMutation: The tensor cannot be written to.

        """
        if value.shape != self.shape:
            raise ShapeMismatch.here(
                f"a result of shape {list(value.shape)} cannot be written into a tensor of shape "
                f"{list(self.shape)}; give both the same shape"
            )
        if _kind_rank(value.dtype) > _kind_rank(self.dtype):
            raise BadArgument.here(
                f"a result of type {value.dtype.name} cannot be written in place into "
                f"{self.dtype.name}; convert it with astype first"
            )
        self._become(METHODS["astype"](value, self.dtype, copy=False))

    def _become(self, value: "Tensor") -> None:
        """Make this tensor represent `value`, of its shape and type; a view writes to its base."""
        builder = current()
        index = builder.index_of(value)  # before the write: the value may be a view of this tensor
        if self._view is not None:
            self._follow_base()
            self._view.write_back(Tensor(builder, index, self._shape, self._dtype))
        elif self._write_refusal is not None:
            raise RefusedMutation.here(self._write_refusal)
        elif self._builder is not builder:
            raise RefusedMutation.here(
                "a tensor of another trace is written to; return it from the traced function, or "
                "pass it as an argument"
            )
        self._index = index
        self._builder = builder
        self._version += 1
        if self._view is not None:
            self._view.version = self._view.base._version

    def _follow_base(self) -> None:
        """Read a view's value again if its base has been written to since the last read."""
        view = self._view
        assert view is not None
        if view.base._view is not None:
            view.base._follow_base()
        if view.version == view.base._version:
            return
        with view.base._builder.active() as builder:
            value = view.read_again()
            self._index = builder.index_of(value)
            self._builder = builder
        view.version = view.base._version
        self._version += 1


Builder.tensor_class = Tensor

#: Method that needs values, of which none exist while tracing → the problem, and the advice.
_NEEDS_VALUES: Final = {
    "__bool__": (
        "a branch depends on a traced value",
        "use np.where to choose by element",
    ),
    "__index__": (
        "a traced value is used as a Python integer, as range and slices take",
        "make it an argument that is not an array",
    ),
    "__int__": ("a traced value is turned into a Python int", "use astype(np.int32)"),
    "__float__": ("a traced value is turned into a Python float", "use astype(np.float32)"),
    "__complex__": ("a traced value is turned into a Python number", "keep it a tensor"),
    "item": ("item() needs a value, and none exists while tracing", "keep it a tensor"),
    "tolist": ("tolist() needs values, and none exist while tracing", "keep it a tensor"),
    "__contains__": (
        "'in' needs values, and none exist while tracing",
        "use np.any(x == value)",
    ),
    "__array__": (
        "NumPy needs the values of a traced tensor, as in np.array and np.asarray, and as an "
        "index of an array or written into an array",
        "use the tensor itself, np.stack to join several, or kvtrace.hlo.ops.constant to make "
        "the array a tensor",
    ),
}


def _refusal(problem: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(tensor: Tensor, *_: Any, **__: Any) -> NoReturn:
        value = f"{tensor.dtype.name}{list(tensor.shape)}"
        raise DataDependent.here(f"{problem} ({value}); {advice}")

    return refuse


for _name, _texts in _NEEDS_VALUES.items():
    setattr(Tensor, _name, _refusal(*_texts))


def _kind_rank(dtype: Dtype) -> int:
    """Return the rank of a type's kind: 0 bool, 1 integer, 2 float, 3 other.

    A value may be written in place into a tensor of the same or a higher rank.
    """
    if dtype == BOOL:
        return 0
    return 1 if is_integer(dtype) else 2 if is_float(dtype) else 3


def _call_ufunc(
    builder: Callable[..., Any], ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    out = kwargs.pop("out", None)
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    if kwargs:
        raise BadArgument.here(
            f"{name_of(ufunc)} has no argument {next(iter(kwargs))} in a graph; leave it out"
        )
    if dtype is not None:
        astype = METHODS["astype"]
        inputs = tuple(astype(value, dtype) for value in inputs)
    result = builder(*inputs)
    if out is not None and isinstance(result, tuple):
        return tuple(into(target, value) for target, value in zip(out, result, strict=True))
    return result if out is None else into(out[0], result)


def into(out: Any, result: Tensor) -> Tensor:
    """Write a result into the tensor `out`, and return `out`; without `out`, return the result.

    Raises:
        RefusedMutation: `out` is not a tensor of the graph.

    """
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise RefusedMutation.here(
            "a traced value is written into a NumPy array that is not a tensor of the graph; "
            "make the array with np.zeros_like of a tensor, or kvtrace.hlo.ops.zeros"
        )
    out.assign(result)
    return out


def _unsupported(name: str) -> GraphError:
    return UnsupportedFunction.here(
        f"{name} has no form as graph ops; write it with functions that have one "
        "(docs/hlo.md lists them), or add it as kvtrace/addons/graphs/hlo/builders.py says"
    )


def _call_error(name: str, error: TypeError) -> Exception:
    """Return BadArgument if the arguments do not fit the builder, else the error unchanged."""
    traceback = error.__traceback__
    builder_frame = traceback.tb_next if traceback is not None else None
    if builder_frame is not None:
        return error
    reason = str(error).rpartition("() ")[2]  # without the builder's name, which users do not know
    return BadArgument.here(
        f"{name} does not have these arguments in a graph ({reason}); see docs/hlo.md"
    )
