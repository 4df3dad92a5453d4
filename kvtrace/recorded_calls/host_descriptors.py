"""Tensor descriptors created on the host, as parameters of the IR function.

A descriptor parameter becomes several parameters of the IR function. If the target has
descriptors: the descriptor, its shape, its strides. If not, the compiler lowers the descriptor to:
pointer, shape, strides, one or two flags (padding with NaN; rounding to tf32, from Triton 3.7 on),
shape, strides.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.ir.types import IntegerType, PointerType, Type
from kvtrace.schema.errors import KvtraceError

_NAN: Final = "padding='nan'"
_ROUNDING: Final = re.compile(r"round_f32_to_tf32=(True|False)")

#: The text in which capture records a descriptor's shape and strides.
_FORM: Final = re.compile(r"shape=(?P<shape>\([^)]*\)) strides=(?P<strides>\([^)]*\))")


class UnreadableDescriptor(KvtraceError):
    """The error of a descriptor's record without readable shape and strides."""

    slug = "unreadable-descriptor"


def descriptor_arguments(
    arg: dict[str, Any], storage: Storage, parameters: Sequence[Type]
) -> list[Argument]:
    """Return the IR function's arguments for one descriptor parameter.

    `parameters` has the types of the IR function's parameters, beginning with the descriptor's
    first.
    """
    name = arg["name"]
    match = _FORM.search(arg["scalar"] or "")
    if match is None:
        raise UnreadableDescriptor(f"the record of descriptor {name} has no shape and strides")
    try:
        shape, strides = (_integers(match[field]) for field in ("shape", "strides"))
    except ValueError as error:
        raise UnreadableDescriptor(
            f"the record of descriptor {name} has a shape or strides that are not numbers"
        ) from error
    is_lowered = isinstance(parameters[0], PointerType)
    tensor = TensorArgument(
        name=name,
        storage=storage,
        offset_bytes=arg["offset_bytes"],
        dtype=arg["dtype"],
        shape=tuple(arg["shape"]) if is_lowered else shape,
        strides=tuple(arg["strides"]) if is_lowered else strides,
        padding_nan=_NAN in arg["scalar"],
    )
    extents = [
        *(ScalarArgument(f"{name}.shape.{axis}", size) for axis, size in enumerate(shape)),
        *(ScalarArgument(f"{name}.stride.{axis}", stride) for axis, stride in enumerate(strides)),
    ]
    if not is_lowered:
        return [tensor, *extents]
    later_types = parameters[1 + len(extents) :]
    flags = takewhile(
        lambda type_: isinstance(type_, IntegerType) and type_.width == 1, later_types
    )
    rounding = _ROUNDING.search(arg["scalar"])
    # flags affect values, but no address; not all were recorded
    recorded = (
        tensor.padding_nan if "padding=" in arg["scalar"] else None,
        None if rounding is None else rounding[1] == "True",
    )
    flag_arguments = [
        ScalarArgument(f"{name}.flag.{flag_index}", flag)
        for flag_index, (flag, _) in enumerate(zip(recorded, flags, strict=False))
    ]
    return [tensor, *extents, *flag_arguments, *extents]


def _integers(text: str) -> tuple[int, ...]:
    """Return the integers of the `repr` of a tuple, without `ast` (see `recorded.py`)."""
    inner = text.strip("()").rstrip(",")
    return tuple(map(int, inner.split(","))) if inner else ()
