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
from typing import Any, Final

from msgspec import Struct

from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.errors import BadArgument, GraphError, SignatureMismatch


class _AnnotationWord:
    """A word in annotations, such as `mutable`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: In an annotation: the function writes to the parameter.
mutable: Final = _AnnotationWord("mutable")

#: In an annotation: the function does not write to the parameter, as without any word.
immutable: Final = _AnnotationWord("immutable")


class TensorAnnotation(Struct, frozen=True):
    """Type (None: any), shape (None: any) and mutability required of a parameter."""

    dtype: Dtype | None = None
    shape: tuple[Any, ...] | None = None
    mutable: bool = False

    def __call__(self) -> None:
        """Raise TypeError; the method exists as `typing.Optional` accepts only callable objects."""
        raise TypeError("an annotation is not a function")

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007 - the implementation of |

    def check(
        self, name: str, shape: tuple[int, ...], dtype: Dtype, extents: dict[Any, int]
    ) -> None:
        """Raise an error unless an argument fits; new symbolic extents are added to `extents`.

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
        """Return the annotation of `mutable`, an element type and a shape, in any order."""
        from kvtrace.addons.graphs.hlo.arguments import dtype_of

        dtype: Dtype | None = None
        shape: tuple[Any, ...] | None = None
        is_mutable = cls._mutable
        for item in (
            content if isinstance(content, tuple) and not _is_shape(content) else (content,)
        ):
            if isinstance(item, _AnnotationWord):
                is_mutable = item is mutable
            elif isinstance(item, tuple | list):
                shape = tuple(item)
            elif dtype is None:
                dtype = dtype_of(item)
            else:
                raise BadArgument(
                    f"the annotation of a tensor has {item!r} after its element type; "
                    "put extents in parentheses."
                )
        return TensorAnnotation(dtype, shape, is_mutable)


class mutable_tensor(tensor):  # noqa: N801 - as written in annotations
    """The annotation of a tensor that the function writes to."""

    _mutable = True


def _is_shape(parts: tuple[Any, ...]) -> bool:
    return all(isinstance(part, int) for part in parts)


def annotations_of(function: Callable[..., Any]) -> dict[str, TensorAnnotation]:
    """Return a function's tensor annotations by parameter; annotations that are text count."""
    try:
        annotations_by_name = inspect.get_annotations(function)
    except (TypeError, NameError):
        return {}
    namespace = dict(getattr(function, "__globals__", {}))
    free_names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(free_names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            namespace[name] = cell.cell_contents
        except ValueError:
            continue  # a variable that is assigned later
    annotations: dict[str, TensorAnnotation] = {}
    for name, annotation_or_text in annotations_by_name.items():
        annotation = _parsed(_evaluated(annotation_or_text, namespace))
        if annotation is not None and name != "return":
            annotations[name] = annotation
    return annotations


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return the annotation; text is evaluated with `names`, and is None if that fails."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # noqa: S307 - the program's own annotation, as typing does
    except GraphError:
        raise  # an invalid annotation of kvtrace's is an error, as it is without text
    except Exception:  # noqa: BLE001 - an annotation of something else, which may be anything
        return None


def _parsed(annotation: Any) -> TensorAnnotation | None:
    if isinstance(annotation, TensorAnnotation):
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, tensor):
        # Without brackets nothing is required, and writing is allowed.
        return TensorAnnotation(mutable=True)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next(
            (parsed for part in typing.get_args(annotation) if (parsed := _parsed(part))),
            None,
        )
    return None
