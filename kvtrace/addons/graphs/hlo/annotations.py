"""Annotations of parameters: `tensor[float32, (N, 4)]`, `tensor[mutable, float32, (N,)]`.

Annotations are read when a function is traced, and checked against the arguments. An extent is an
integer; or any other object (a string, a TypeVar), which represents one extent throughout a call;
or None or `...`, which fit everything. A parameter annotated without `mutable` cannot be written
to. An annotation whose extents are all integers is also an argument of `specialize`.
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
    """A word in annotations, such as `mutable`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: In an annotation: the function writes to the parameter.
mutable: Final = _Marker("mutable")

#: In an annotation: the function does not write to the parameter, as without any word.
immutable: Final = _Marker("immutable")


@dataclass(frozen=True, slots=True)
class TensorAnnotation:
    """Required type and shape of a parameter; None allows anything."""

    dtype: Dtype | None = None
    shape: tuple[Any, ...] | None = None
    mutable: bool = False

    def __call__(self) -> None:
        """Raise an error; `Optional[...]` of typing accepts only callable objects."""
        raise TypeError("an annotation is not a function")

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007 - the implementation of |

    def check(
        self, name: str, shape: tuple[int, ...], dtype: Dtype, extents: dict[Any, int]
    ) -> None:
        """Compare an argument with the annotation; `extents` has the values of this call's symbols.

        Raises:
            SignatureMismatch: The argument does not fit the annotation.

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
        for axis, (annotated, extent) in enumerate(zip(self.shape, shape, strict=True)):
            if annotated is None or annotated is ...:
                continue
            required = (
                annotated if isinstance(annotated, int) else extents.setdefault(annotated, extent)
            )
            if required != extent:
                label = "" if isinstance(annotated, int) else f" ({annotated})"
                raise SignatureMismatch.here(
                    f"the parameter {name} is annotated with {required} elements{label} on axis "
                    f"{axis}, and its argument has {extent}; give an array of that extent"
                )


class tensor:  # noqa: N801 - as written in annotations
    """The annotation of a tensor: `tensor`, `tensor[float32, (N, 4)]`, `tensor[mutable, …]`."""

    _mutable = False

    def __class_getitem__(cls, content: Any) -> TensorAnnotation:
        """Return the annotation for words, an element type and a shape, in any order."""
        from kvtrace.addons.graphs.hlo.arguments import dtype_of

        dtype: Dtype | None = None
        shape: tuple[Any, ...] | None = None
        is_mutable = cls._mutable
        for part in (
            content if isinstance(content, tuple) and not _is_shape(content) else (content,)
        ):
            if isinstance(part, _Marker):
                is_mutable = part is mutable
            elif isinstance(part, tuple | list):
                shape = tuple(part)
            elif dtype is None:
                dtype = dtype_of(part)
            else:
                raise BadArgument(
                    f"the annotation of a tensor has {part!r} after its element type; "
                    "put extents in parentheses."
                )
        return TensorAnnotation(dtype, shape, is_mutable)


class mutable_tensor(tensor):  # noqa: N801 - as written in annotations
    """The annotation of a tensor that the function writes to."""

    _mutable = True


def _is_shape(parts: tuple[Any, ...]) -> bool:
    return all(isinstance(part, int) for part in parts)


def annotations_of(function: Callable[..., Any]) -> dict[str, TensorAnnotation]:
    """Return the tensor annotations of a function's parameters, by name."""
    try:
        raw = inspect.get_annotations(function)
    except (TypeError, NameError):
        return {}
    names = dict(getattr(function, "__globals__", {}))
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # a variable that is assigned later
    annotations: dict[str, TensorAnnotation] = {}
    for name, annotation_or_text in raw.items():
        annotation = _read(_evaluated(annotation_or_text, names))
        if annotation is not None and name != "return":
            annotations[name] = annotation
    return annotations


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return an annotation that `from __future__ import annotations` has left as text."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # noqa: S307 - the program's own annotation, as typing does
    except GraphError:
        raise  # an invalid annotation of kvtrace's is an error, as it is without text
    except Exception:  # noqa: BLE001 - an annotation of something else, which may be anything
        return None


def _read(annotation: Any) -> TensorAnnotation | None:
    if isinstance(annotation, TensorAnnotation):
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, tensor):
        # Without brackets nothing is required, and writing is allowed.
        return TensorAnnotation(mutable=True)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next(
            (parsed for part in typing.get_args(annotation) if (parsed := _read(part))), None
        )
    return None
