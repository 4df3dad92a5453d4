"""Annotations of parameters: `tensor[float32, (N, 4)]`, `tensor[mutable, float32, (N,)]`.

They are read when a function is traced, and checked against what it is given. An extent is an
integer; or any other object (a string, a TypeVar), which represents one extent throughout a call;
or None or `...`, which fit everything. A parameter that is annotated without `mutable` cannot be
written to. With extents that are all integers, an annotation is also an argument of `specialize`.
"""

import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.errors import BadArgument, GraphError, SignatureMismatch


class _Marker:
    """A word of annotations."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: In an annotation: the function writes to the parameter.
mutable: Final = _Marker("mutable")

#: In an annotation: it does not, which is so without the word as well.
immutable: Final = _Marker("immutable")


@dataclass(frozen=True, slots=True)
class TensorAnnotation:
    """What is known of a parameter; None: anything."""

    dtype: Dtype | None = None
    shape: tuple[Any, ...] | None = None
    mutable: bool = False

    def __call__(self) -> None:
        """Make typing's `Optional[...]` take it for a type."""
        raise TypeError("an annotation is not a function")

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007 - what | is made of

    def check(
        self, name: str, shape: tuple[int, ...], dtype: Dtype, extents: dict[Any, int]
    ) -> None:
        """Compare an argument; `extents` holds what symbols of this call represent.

        Raises:
            SignatureMismatch: it does not fit.

        """
        if self.dtype is not None and dtype != self.dtype:
            raise SignatureMismatch.here(
                f"the parameter {name} is annotated {self.dtype.name}, and its argument is "
                f"{dtype.name}; convert it with astype"
            )
        if self.shape is None:
            return
        if len(shape) != len(self.shape):
            raise SignatureMismatch.here(
                f"the parameter {name} is annotated with {len(self.shape)} axes, and its argument "
                f"has shape {list(shape)}; give an array of that many axes"
            )
        for axis, (wanted, extent) in enumerate(zip(self.shape, shape, strict=True)):
            if wanted is None or wanted is ...:
                continue
            meant = wanted if isinstance(wanted, int) else extents.setdefault(wanted, extent)
            if meant != extent:
                label = "" if isinstance(wanted, int) else f" ({wanted})"
                raise SignatureMismatch.here(
                    f"the parameter {name} is annotated with {meant} elements{label} on axis "
                    f"{axis}, and its argument has {extent}; give an array of that extent"
                )


class tensor:  # noqa: N801 - as written in annotations
    """The annotation of a tensor: `tensor`, `tensor[float32, (N, 4)]`, `tensor[mutable, …]`."""

    _mutable = False

    def __class_getitem__(cls, given: Any) -> TensorAnnotation:
        """Read what is in the brackets: words, an element type and a shape, in any order."""
        from kvtrace.addons.graphs.hlo.arguments import dtype_of

        dtype: Dtype | None = None
        shape: tuple[Any, ...] | None = None
        changes = cls._mutable
        for part in given if isinstance(given, tuple) and not _is_shape(given) else (given,):
            if isinstance(part, _Marker):
                changes = part is mutable
            elif isinstance(part, tuple | list):
                shape = tuple(part)
            elif dtype is None:
                dtype = dtype_of(part)
            else:
                raise BadArgument(
                    f"the annotation of a tensor has {part!r} after its element type; "
                    "put extents in parentheses."
                )
        return TensorAnnotation(dtype, shape, changes)


class mutable_tensor(tensor):  # noqa: N801 - as written in annotations
    """The annotation of a tensor that the function writes to."""

    _mutable = True


def _is_shape(given: tuple[Any, ...]) -> bool:
    return all(isinstance(part, int) for part in given)


def annotations_of(function: Callable[..., Any]) -> dict[str, TensorAnnotation]:
    """The annotated tensors among a function's parameters."""
    try:
        found = inspect.get_annotations(function)
    except (TypeError, NameError):
        return {}
    names = dict(getattr(function, "__globals__", {}))
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # a variable that is assigned later
    read: dict[str, TensorAnnotation] = {}
    for name, given in found.items():
        annotation = _read(_evaluated(given, names))
        if annotation is not None and name != "return":
            read[name] = annotation
    return read


def _evaluated(given: Any, names: dict[str, Any]) -> Any:
    """An annotation that `from __future__ import annotations` has left as text."""
    if not isinstance(given, str):
        return given
    try:
        return eval(given, names)  # noqa: S307 - the program's own annotation, as typing does
    except GraphError:
        raise  # an invalid annotation of kvtrace's reports it, also where it is not text
    except Exception:  # noqa: BLE001 - an annotation of something else, which may be anything
        return None


def _read(given: Any) -> TensorAnnotation | None:
    if isinstance(given, TensorAnnotation):
        return given
    if isinstance(given, type) and issubclass(given, tensor):
        # Without brackets nothing is required, and so nothing is refused except by `tensor[...]`.
        return TensorAnnotation(mutable=True)
    if typing.get_origin(given) in (typing.Union, types.UnionType):
        return next((found for part in typing.get_args(given) if (found := _read(part))), None)
    return None
